//! Ids into the tables of a program, and the entries of those tables.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use crate::formats::KnownFormat;

use super::Program;
use super::node::Property;

macro_rules! table_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the table.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

table_id!(
    /// A node of a program.
    NodeId
);
table_id!(
    /// A property name that the program reads.
    KeyId
);
table_id!(
    /// A regular expression of the program.
    PatternId
);
table_id!(
    /// A constant of the program.
    ConstId
);
table_id!(
    /// A `format` word of the program.
    FormatId
);

/// The names that every ordinary JavaScript object inherits. They count only as own properties:
/// otherwise `{}` would have a `constructor`.
pub const OBJECT_PROTOTYPE_NAMES: [&str; 12] = [
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Whether a name lives on `Object.prototype`.
#[must_use]
pub fn lives_on_object_prototype(name: &str) -> bool {
    // All of these have at least seven letters; most names are shorter.
    name.len() >= 7 && OBJECT_PROTOTYPE_NAMES.binary_search(&name).is_ok()
}

/// A property name that the program reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name itself.
    pub text: Box<str>,
    /// The name lives on `Object.prototype`, so only an own property of that name counts.
    pub own_only: bool,
}

impl Key {
    /// The key for a name.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            own_only: lives_on_object_prototype(text),
        }
    }
}

/// A `format` word and what this engine knows about it.
#[derive(Clone, Debug)]
pub struct Format {
    /// The word in the schema.
    pub name: Box<str>,
    /// The checker behind it, if it is one of the formats that are asserted.
    pub known: Option<KnownFormat>,
}

/// Finds a declared property by name: a scan for few names, a map for many. The map is made when it is
/// first needed, because most schemas never look a name up.
#[derive(Clone, Debug, Default)]
pub struct PropertyIndex {
    map: OnceLock<HashMap<Box<str>, u32, RandomState>>,
}

/// Up to this many names a scan is faster than hashing.
const SCAN_LIMIT: usize = 8;

impl PropertyIndex {
    /// The property of that name among those that are indexed.
    pub(super) fn property<'p>(
        &self,
        properties: &'p [Property],
        program: &Program,
        name: &str,
    ) -> Option<&'p Property> {
        let nth = |position: usize| {
            properties
                .get(position)
                .map_or("", |property| program.key_text(property.key))
        };
        properties.get(self.find(name, properties.len(), nth)?)
    }

    /// The position of `name`; `nth` gives the name at a position of the indexed list of `len`. The
    /// first of equal names wins.
    fn find<'a>(&self, name: &str, len: usize, nth: impl Fn(usize) -> &'a str) -> Option<usize> {
        if len <= SCAN_LIMIT {
            return (0..len).find(|position| nth(*position) == name);
        }
        let map = self.map.get_or_init(|| {
            let mut map = HashMap::with_capacity_and_hasher(len, RandomState::default());
            for position in 0..len {
                map.entry(Box::from(nth(position)))
                    .or_insert(u32::try_from(position).unwrap_or(u32::MAX));
            }
            map
        });
        map.get(name).map(|position| *position as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prototype_names_are_sorted_for_the_search() {
        assert!(OBJECT_PROTOTYPE_NAMES.is_sorted());
        assert!(OBJECT_PROTOTYPE_NAMES.iter().all(|name| name.len() >= 7));
        assert!(Key::new("constructor").own_only);
        assert!(!Key::new("prototype").own_only);
    }

    #[test]
    fn the_index_finds_among_few_and_among_many() {
        for count in [3_usize, 40] {
            let names: Vec<String> = (0..count).map(|number| format!("name{number}")).collect();
            let index = PropertyIndex::default();
            let find = |name: &str| index.find(name, names.len(), |position| &names[position]);
            assert_eq!(find("name2"), Some(2));
            assert_eq!(find("nowhere"), None);
        }
    }
}
