//! The meta-schemas of the drafts: `$ref` may name them without any document being passed.
//!
//! The documents are those of json-schema.org (see `metaschemas/README.md`).

use std::sync::OnceLock;

use crate::source::Source;

macro_rules! documents {
    ($($uri:literal => $file:literal,)*) => {
        [$(($uri, include_str!(concat!("metaschemas/", $file)))),*]
    };
}

const DOCUMENTS: [(&str, &str); 19] = documents! {
    "http://json-schema.org/draft-04/schema" => "draft4.json",
    "http://json-schema.org/draft-06/schema" => "draft6.json",
    "http://json-schema.org/draft-07/schema" => "draft7.json",
    "https://json-schema.org/draft/2019-09/schema" => "draft2019-09.json",
    "https://json-schema.org/draft/2019-09/meta/applicator" => "draft2019-09-applicator.json",
    "https://json-schema.org/draft/2019-09/meta/content" => "draft2019-09-content.json",
    "https://json-schema.org/draft/2019-09/meta/core" => "draft2019-09-core.json",
    "https://json-schema.org/draft/2019-09/meta/format" => "draft2019-09-format.json",
    "https://json-schema.org/draft/2019-09/meta/meta-data" => "draft2019-09-meta-data.json",
    "https://json-schema.org/draft/2019-09/meta/validation" => "draft2019-09-validation.json",
    "https://json-schema.org/draft/2020-12/schema" => "draft2020-12.json",
    "https://json-schema.org/draft/2020-12/meta/applicator" => "draft2020-12-applicator.json",
    "https://json-schema.org/draft/2020-12/meta/content" => "draft2020-12-content.json",
    "https://json-schema.org/draft/2020-12/meta/core" => "draft2020-12-core.json",
    "https://json-schema.org/draft/2020-12/meta/format-annotation" => "draft2020-12-format-annotation.json",
    "https://json-schema.org/draft/2020-12/meta/format-assertion" => "draft2020-12-format-assertion.json",
    "https://json-schema.org/draft/2020-12/meta/meta-data" => "draft2020-12-meta-data.json",
    "https://json-schema.org/draft/2020-12/meta/unevaluated" => "draft2020-12-unevaluated.json",
    "https://json-schema.org/draft/2020-12/meta/validation" => "draft2020-12-validation.json",
};

static PARSED: [OnceLock<Option<Source<'static>>>; DOCUMENTS.len()] =
    [const { OnceLock::new() }; DOCUMENTS.len()];

/// The meta-schema document with this URI (without fragment).
pub(super) fn find(uri: &str) -> Option<&'static Source<'static>> {
    let position = DOCUMENTS.iter().position(|(known, _)| *known == uri)?;
    let (_, text) = DOCUMENTS.get(position)?;
    let parse = || {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        Source::try_from(&value).ok()
    };
    PARSED.get(position)?.get_or_init(parse).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_readable() {
        for (uri, _) in DOCUMENTS {
            assert!(find(uri).is_some(), "{uri}");
        }
    }
}
