//! Two properties that TypeBox derives from schemas, not from values.

use crate::source::{Source, SourceObject};

fn schemas<'a>(
    object: &'a SourceObject<'a>,
    keyword: &str,
) -> impl Iterator<Item = &'a SourceObject<'a>> {
    let list = object
        .get(keyword)
        .and_then(Source::as_array)
        .unwrap_or_default();
    list.iter().filter_map(Source::as_object)
}

/// Whether a required property of this schema must be present although `undefined` may pass.
pub(super) fn needs_presence(object: &SourceObject<'_>) -> bool {
    matches!(object.kind.as_deref(), Some("Any" | "Unknown")) || extends_undefined(object)
}

/// TypeBox's quick test for types that include `undefined`.
fn extends_undefined(object: &SourceObject<'_>) -> bool {
    match object.kind.as_deref() {
        Some("Undefined") => true,
        Some("Intersect") => schemas(object, "allOf").all(extends_undefined),
        Some("Union") => schemas(object, "anyOf").any(extends_undefined),
        Some("Not") => object
            .get("not")
            .and_then(Source::as_object)
            .is_some_and(|not| !extends_undefined(not)),
        _ => false,
    }
}

/// The pattern of the keys that an Intersect knows. Names are not escaped: TypeBox does not either.
pub(super) fn key_pattern(object: &SourceObject<'_>) -> String {
    let keys: Vec<String> = keys(object).iter().map(|key| format!("({key})")).collect();
    format!("^({})$", keys.join("|"))
}

fn keys(object: &SourceObject<'_>) -> Vec<String> {
    match object.kind.as_deref() {
        Some("Intersect") => schemas(object, "allOf").flat_map(keys).collect(),
        Some("Union") => {
            let mut variants = schemas(object, "anyOf").map(keys);
            let first = variants.next().unwrap_or_default();
            variants.fold(first, |common, other| {
                common
                    .into_iter()
                    .filter(|key| other.contains(key))
                    .collect()
            })
        }
        Some("Tuple") => {
            let items = object
                .get("items")
                .and_then(Source::as_array)
                .unwrap_or_default();
            (0..items.len()).map(|index| index.to_string()).collect()
        }
        Some("Array") => vec!["[number]".to_owned()],
        Some("Object") => names(object, "properties").map(str::to_owned).collect(),
        Some("Record") => names(object, "patternProperties")
            .map(|key| {
                let inner = key.strip_prefix('^').and_then(|key| key.strip_suffix('$'));
                inner.unwrap_or(key).to_owned()
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn names<'a>(object: &'a SourceObject<'a>, keyword: &str) -> impl Iterator<Item = &'a str> {
    let map = object.get(keyword).and_then(Source::as_object);
    map.into_iter()
        .flat_map(|map| map.entries.iter().map(|(key, _)| &**key))
}
