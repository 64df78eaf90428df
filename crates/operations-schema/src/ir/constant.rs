//! Constants in schemas: `const`, `enum`, `default`.

/// A constant value. What JSON cannot carry is either spelled out or a slot of the live values.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number, `NaN` and infinities included.
    Number(f64),
    /// A string.
    String(Box<str>),
    /// A bigint in decimal digits.
    BigInt(Box<str>),
    /// A Date in milliseconds.
    Date(f64),
    /// An array.
    Array(Vec<Const>),
    /// An object: own enumerable string keys in order.
    Object(Vec<(Box<str>, Const)>),
    /// A live value that only JavaScript can read (a function, a class instance, a symbol).
    Slot(u32),
}

impl Const {
    /// How many values it consists of, a long text counting as several.
    #[must_use]
    pub fn size(&self) -> usize {
        1 + match self {
            Self::String(text) => text.len() / 64,
            Self::Array(items) => items.iter().map(Self::size).sum(),
            Self::Object(entries) => entries.iter().map(|(_, item)| 1 + item.size()).sum(),
            _ => 0,
        }
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}
