//! Schemas that outlive the text that they were read from.

use std::borrow::Cow;

use super::{ObjectBox, Source, SourceObject};

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl Source<'_> {
    /// The same schema with copies of the texts that it borrowed. The depth of schemas is bounded, so
    /// the recursion is.
    #[must_use]
    pub fn into_owned(self) -> Source<'static> {
        match self {
            Self::Null => Source::Null,
            Self::Undefined => Source::Undefined,
            Self::Bool(value) => Source::Bool(value),
            Self::Number(number) => Source::Number(number),
            Self::String(text) => Source::String(own(text)),
            Self::BigInt(digits) => Source::BigInt(own(digits)),
            Self::Date(time) => Source::Date(time),
            Self::Slot(slot) => Source::Slot(slot),
            Self::Array(items) => {
                Source::Array(items.into_iter().map(Source::into_owned).collect())
            }
            Self::Object(ObjectBox::Usual(object)) => Source::Object(ObjectBox::Usual(object)),
            Self::Object(ObjectBox::Own(object)) => {
                let entries = object.entries.into_iter();
                Source::Object(ObjectBox::from(SourceObject {
                    kind: object.kind.map(own),
                    flags: object.flags,
                    slot: object.slot,
                    entries: entries
                        .map(|(key, value)| (own(key), value.into_owned()))
                        .collect(),
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_equal() {
        let text = r#"["o","Mine",17,3,"a",["a",null,true,1,"s",["u"],["n","1"],["d",1],["s",0],["l","Any",1]]]"#;
        let source = Source::from_encoded(text).unwrap();
        assert_eq!(source.clone().into_owned(), source);
    }
}
