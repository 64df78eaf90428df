//! What the tests about OpenAPI share.

use operations_openapi::{Document, Import, ImportChoices, ImportedOperation, import};
use serde_json::{Value, json};

/// A document in JSON with these members and the usual ones.
pub(crate) fn document(members: &Value) -> String {
    let mut document = json!({ "openapi": "3.0.3", "info": { "title": "t", "version": "1.2.3" } });
    for (key, value) in members.as_object().expect("an object") {
        document[key] = value.clone();
    }
    document.to_string()
}

/// A document with these paths.
pub(crate) fn with_paths(paths: &Value) -> String {
    document(&json!({ "paths": paths }))
}

/// What an import makes of a text when nothing is chosen.
pub(crate) fn import_all(text: &str) -> Import {
    import_with(text, &ImportChoices::default())
}

/// What an import with these choices makes of a text.
pub(crate) fn import_with(text: &str, choices: &ImportChoices) -> Import {
    import(&Document::parse(text).expect("a document"), choices)
}

/// The one operation of a document.
pub(crate) fn only(text: &str) -> ImportedOperation {
    let mut operations = import_all(text).operations;
    assert_eq!(operations.len(), 1);
    operations.remove(0)
}
