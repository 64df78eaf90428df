//! A schema as it was written, before any meaning is attached.

mod from_json;
mod interned;
mod reader;

use std::borrow::Cow;
use std::ops::Deref;

/// A value in a schema document. Texts are borrowed from what was read wherever that is possible:
/// compiling a schema is mostly a matter of how little is allocated.
#[derive(Clone, Debug, PartialEq)]
pub enum Source<'t> {
    /// `null`.
    Null,
    /// `undefined`.
    Undefined,
    /// A boolean.
    Bool(bool),
    /// A number, `NaN` and infinities included.
    Number(f64),
    /// A string.
    String(Cow<'t, str>),
    /// A bigint in decimal digits.
    BigInt(Cow<'t, str>),
    /// A Date in milliseconds.
    Date(f64),
    /// A live value that only JavaScript can read.
    Slot(u32),
    /// An array.
    Array(Vec<Source<'t>>),
    /// An object.
    Object(ObjectBox<'t>),
}

/// Where an object of a schema document lives.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectBox<'t> {
    /// On its own.
    Own(Box<SourceObject<'t>>),
    /// One of those that schemas are full of (`Type.String()` without options), which exist once.
    Interned(&'static SourceObject<'static>),
}

impl<'t> Deref for ObjectBox<'t> {
    type Target = SourceObject<'t>;

    fn deref(&self) -> &SourceObject<'t> {
        match self {
            Self::Own(object) => object,
            Self::Interned(object) => object,
        }
    }
}

impl<'t> From<SourceObject<'t>> for ObjectBox<'t> {
    fn from(object: SourceObject<'t>) -> Self {
        Self::Own(Box::new(object))
    }
}

/// An object in a schema document.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SourceObject<'t> {
    /// TypeBox's kind, where it has one.
    pub kind: Option<Cow<'t, str>>,
    /// What TypeBox says about the object beside its kind.
    pub flags: Flags,
    /// The live object, where JavaScript may need it.
    pub slot: Option<u32>,
    /// Own enumerable string keys in order.
    pub entries: Vec<(Cow<'t, str>, Source<'t>)>,
}

/// The flag bits of an encoded object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// TypeBox's optional marker.
    pub const OPTIONAL: Self = Self(1);
    /// JSON Schema semantics although a kind is present (what `FromSchema` made).
    pub const JSON_SCHEMA: Self = Self(2);
    /// TypeBox's readonly marker.
    pub const READONLY: Self = Self(4);
    /// The schema carries a transform.
    pub const TRANSFORM: Self = Self(8);
    /// The encoding has the slot of the live object after the flags.
    pub const SLOT: Self = Self(16);

    /// Whether a flag is set.
    #[must_use]
    pub fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }
}

impl<'t> SourceObject<'t> {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Source<'t>> {
        self.entries
            .iter()
            .find(|(name, _)| &**name == key)
            .map(|(_, value)| value)
    }

    /// The value of a key, where `undefined` counts as absent.
    #[must_use]
    pub fn defined(&self, key: &str) -> Option<&Source<'t>> {
        self.get(key)
            .filter(|value| !matches!(value, Source::Undefined))
    }

    /// The string behind a key.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Source::as_str)
    }
}

impl<'t> Source<'t> {
    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if it is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&SourceObject<'t>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Source<'t>]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}
