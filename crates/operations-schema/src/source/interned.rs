//! Schemas without options, which most nodes of most schemas are: they are written in a short form and
//! exist once in the process.

use std::sync::LazyLock;

use super::{Flags, Source, SourceObject};

/// The kinds that have a short form, and what `type` says in them. The facade's encoder has the same
/// table.
const KINDS: [(&str, Option<&str>); 7] = [
    ("String", Some("string")),
    ("Number", Some("number")),
    ("Integer", Some("integer")),
    ("Boolean", Some("boolean")),
    ("Null", Some("null")),
    ("Any", None),
    ("Unknown", None),
];

/// For each kind the plain schema and the optional one.
static OBJECTS: LazyLock<Vec<[SourceObject<'static>; 2]>> = LazyLock::new(|| {
    let each = KINDS.iter();
    each.map(|(kind, word)| {
        [Flags::default(), Flags::OPTIONAL].map(|flags| object(kind, *word, flags))
    })
    .collect()
});

fn object(kind: &'static str, word: Option<&'static str>, flags: Flags) -> SourceObject<'static> {
    SourceObject {
        kind: Some(kind.into()),
        flags,
        slot: None,
        entries: word
            .map(|word| ("type".into(), Source::String(word.into())))
            .into_iter()
            .collect(),
    }
}

/// The schema of a kind without options; none where there is no short form.
pub(super) fn interned(kind: &str, flags: u32) -> Option<&'static SourceObject<'static>> {
    let position = KINDS.iter().position(|(known, _)| *known == kind)?;
    OBJECTS.get(position)?.get(flags as usize)
}
