//! Access to values of one representation.
//!
//! The walks are generic over [`ValueAccess`] and compiled once per representation, so there is no dynamic
//! dispatch. A call into a live JavaScript engine costs 15 to 130 ns; the trait is shaped so that a
//! node needs few of them: what a value is comes in one answer ([`Class`]) with the value of
//! booleans and numbers, and questions that only some kinds ask (is it a Date?) are separate.

mod build;
mod json;

pub use build::{EntryName, Special, ValueBuilder};
pub use json::{JsonAccess, JsonKey, JsonKeys, JsonRef, MadeId};

use num_bigint::BigInt;

use crate::ir::{Const, ConstId, Format, FormatId, Key, KeyId, KindNode, PatternId};
use crate::number::same_number;
use crate::patterns::Pattern;
use crate::work::Budget;

/// What access or a walk gives, unless it is interrupted.
pub type Result<T, E = Interrupt> = std::result::Result<T, E>;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A bigint.
    BigInt,
    /// A string.
    String,
    /// A symbol.
    Symbol,
    /// A function or class.
    Function,
    /// An array, but not an array view.
    Array,
    /// Any other object.
    Object,
}

/// Why a walk ended before it had an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupt {
    /// The user's code (a getter, a proxy, a registered check) threw; the implementation keeps what.
    #[error("the value's own code threw")]
    Thrown,
    /// TypeBox's own check throws on this value and schema: the value as a whole is invalid. Access
    /// may answer so (`new RegExp` of something that is no pattern); [`crate::check()`] turns it
    /// into `false`.
    #[error("TypeBox cannot check this value")]
    TypeBoxThrows,
    /// A bound was reached.
    #[error(transparent)]
    Limit(#[from] Limit),
}

/// The bounds of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// The value is nested too deeply (or is a cycle).
    #[error(
        "the value is nested more than {} levels deep",
        crate::bounds::MAX_VALUE_DEPTH
    )]
    Depth,
    /// Too many rules are open at once: the schema refers to itself without descending.
    #[error("the schema's references are nested too deeply on one value")]
    Rules,
    /// Too many rules were visited in total.
    #[error(
        "checking this value against this schema takes too much work: simplify the schema, or send less"
    )]
    Work,
    /// A pattern backtracked too much.
    #[error("a pattern of the schema takes too much work on this string")]
    Backtracking,
    /// A pattern is valid JavaScript, but this engine cannot run it.
    #[error("a pattern of the schema can only be run by JavaScript")]
    Pattern,
}

/// Which own properties of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnKeys {
    /// As `Object.getOwnPropertyNames`.
    Names,
    /// As `Object.keys`.
    Enumerable,
}

/// A property name of the program: the id, for access with prepared handles, and the text.
#[derive(Clone, Copy, Debug)]
pub struct Name<'p> {
    /// The id in the program.
    pub id: KeyId,
    /// The name.
    pub key: &'p Key,
}

/// What access costs, in units of work ([`crate::work::Budget`]).
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// Visiting a rule of the schema.
    pub rule: u64,
    /// Telling what a value is.
    pub classify: u64,
    /// Reading a property, an element or a key.
    pub read: u64,
    /// Listing the keys of an object, for each of them.
    pub list: u64,
    /// Reading a text, for each 64 bytes.
    pub text: u64,
    /// A question that only the user's side can answer.
    pub ask: u64,
}

/// Access to values of one representation. What only JavaScript has (dates, bigints, the user's own checks) is answered
/// here for representations that have none of it.
pub trait ValueAccess {
    /// What its answers cost.
    const PRICES: Prices;

    /// A value, or a handle to one.
    type Value: Copy;
    /// A key of a live object.
    type Key: Copy;
    /// The own keys of an object while they are walked over.
    type Keys;
    /// What [`ValueAccess::enter`] opened.
    type Scope;

    /// What the value is.
    ///
    /// # Errors
    /// When the user's code throws.
    fn classify(&mut self, value: Self::Value) -> Result<Class>;

    /// The value `undefined`.
    fn undefined(&mut self) -> Self::Value;

    /// Whether a value is `undefined`.
    ///
    /// # Errors
    /// When the user's code throws.
    fn is_undefined(&mut self, value: Self::Value) -> Result<bool> {
        Ok(self.classify(value)? == Class::Undefined)
    }

    /// The length of a string in UTF-16 units.
    ///
    /// # Errors
    /// When the representation cannot read the string.
    fn utf16_length(&mut self, string: Self::Value) -> Result<usize>;

    /// Lends the text of a string. A surrogate without its partner reads as U+FFFD.
    ///
    /// # Errors
    /// When the representation cannot read the string.
    fn with_str<R>(&mut self, string: Self::Value, read: impl FnOnce(&str) -> R) -> Result<R>;

    /// The length of an array.
    ///
    /// # Errors
    /// When the user's code throws.
    fn array_length(&mut self, array: Self::Value) -> Result<usize>;

    /// An element of an array; `undefined` beyond its end.
    ///
    /// # Errors
    /// When the user's code throws.
    fn element(&mut self, array: Self::Value, index: usize) -> Result<Self::Value>;

    /// Reads a property of any value except `undefined` and `null`, through the prototype chain,
    /// but of names with `own_only` only an own property. `undefined` when there is none.
    ///
    /// # Errors
    /// When the user's code throws.
    fn get(&mut self, value: Self::Value, name: Name<'_>) -> Result<Self::Value>;

    /// Whether an object has a property (JavaScript's `in`, with the same rule for `own_only`).
    ///
    /// # Errors
    /// When the user's code throws.
    fn has(&mut self, object: Self::Value, name: Name<'_>) -> Result<bool>;

    /// Whether an object has an own property of that name; only errors ask.
    ///
    /// # Errors
    /// When the user's code throws.
    fn has_own(&mut self, object: Self::Value, name: Name<'_>) -> Result<bool> {
        self.has(object, name)
    }

    /// The own string keys of an object (or array, or function).
    ///
    /// # Errors
    /// When the user's code throws.
    fn own_keys(&mut self, object: Self::Value, which: OwnKeys) -> Result<Self::Keys>;

    /// How many keys were listed.
    #[must_use]
    fn listed(_: &Self::Keys) -> usize {
        0
    }

    /// How many own string keys an object has.
    ///
    /// # Errors
    /// When the user's code throws.
    fn count_keys(&mut self, object: Self::Value, which: OwnKeys) -> Result<usize>;

    /// The next of the keys.
    ///
    /// # Errors
    /// When the representation cannot read the key.
    fn next_key(&mut self, keys: &mut Self::Keys) -> Result<Option<Self::Key>>;

    /// Lends the text of a key.
    ///
    /// # Errors
    /// When the representation cannot read the key.
    fn with_key<R>(&mut self, key: Self::Key, read: impl FnOnce(&str) -> R) -> Result<R>;

    /// The key as a string value (for `propertyNames` and patterns).
    fn key_value(&mut self, key: Self::Key) -> Self::Value;

    /// The value of an own property of the object that the key came from.
    ///
    /// # Errors
    /// When the user's code throws.
    fn get_by_key(&mut self, object: Self::Value, key: Self::Key) -> Result<Self::Value>;

    /// The own property of another object under the same key, if it has one.
    ///
    /// # Errors
    /// When the user's code throws.
    fn own_by_key(&mut self, other: Self::Value, key: Self::Key) -> Result<Option<Self::Value>>;

    /// The time of an object that is an instance of Date (`NaN` for an invalid one).
    ///
    /// # Errors
    /// When the user's code throws.
    fn date(&mut self, _: Self::Value) -> Result<Option<f64>> {
        Ok(None)
    }

    /// The length of an object that is an instance of `Uint8Array`.
    ///
    /// # Errors
    /// When the user's code throws.
    fn uint8_array(&mut self, _: Self::Value) -> Result<Option<usize>> {
        Ok(None)
    }

    /// Whether an object is an instance of Promise.
    ///
    /// # Errors
    /// When the user's code throws.
    fn is_promise(&mut self, _: Self::Value) -> Result<bool> {
        Ok(false)
    }

    /// Whether `Symbol.iterator` (or `Symbol.asyncIterator`) is in an object or array.
    ///
    /// # Errors
    /// When the user's code throws.
    fn is_iterable(&mut self, object: Self::Value, asynchronous: bool) -> Result<bool> {
        Ok(!asynchronous && self.classify(object)? == Class::Array)
    }

    /// A bigint's value.
    ///
    /// # Errors
    /// When the representation cannot read it.
    fn bigint(&mut self, _: Self::Value) -> Result<BigInt> {
        Ok(BigInt::default())
    }

    /// A symbol's description.
    ///
    /// # Errors
    /// When the representation cannot read it.
    fn symbol_description(&mut self, _: Self::Value) -> Result<Option<String>> {
        Ok(None)
    }

    /// Strict equality (`===`) with a constant of the program.
    ///
    /// # Errors
    /// When the representation cannot read the value.
    fn same(&mut self, value: Self::Value, id: ConstId, constant: &Const) -> Result<bool> {
        let _ = id;
        Ok(match (constant, self.classify(value)?) {
            (Const::Undefined, Class::Undefined) | (Const::Null, Class::Null) => true,
            (Const::Bool(wanted), Class::Bool(found)) => *wanted == found,
            (Const::Number(wanted), Class::Number(found)) => same_number(*wanted, found),
            (Const::String(wanted), Class::String) => {
                self.with_str(value, |text| text == &**wanted)?
            }
            (Const::BigInt(wanted), Class::BigInt) => wanted
                .parse::<BigInt>()
                .is_ok_and(|wanted| self.bigint(value).is_ok_and(|found| found == wanted)),
            (Const::Slot(slot), _) => self.same_slot(value, *slot)?,
            // Arrays, objects and dates of the schema are never the value itself.
            _ => false,
        })
    }

    /// Strict equality with a live value of the schema.
    ///
    /// # Errors
    /// When the representation cannot read the value.
    fn same_slot(&mut self, _: Self::Value, _: u32) -> Result<bool> {
        Ok(false)
    }

    /// Whether a pattern of the program matches a value. The value is a string or key, except for
    /// `Type.RegExp`, where it is whatever the user passed and JavaScript's conversion applies.
    ///
    /// # Errors
    /// When the pattern takes more work than is left, or the conversion to a string throws user code.
    fn matches(
        &mut self,
        value: Self::Value,
        id: PatternId,
        pattern: &Pattern,
        budget: &mut Budget,
    ) -> Result<bool>;

    /// Asks the registered formats of the user; none when this one is not registered.
    ///
    /// # Errors
    /// When the user's code throws.
    fn custom_format(&mut self, _: Self::Value, _: FormatId, _: &Format) -> Result<Option<bool>> {
        Ok(None)
    }

    /// Asks the registered kinds of the user; none when this one is not registered.
    ///
    /// # Errors
    /// When the user's code throws.
    fn custom_kind(&mut self, _: Self::Value, _: &KindNode) -> Result<Option<bool>> {
        Ok(None)
    }

    /// How many values a value consists of, itself included, counting no further than `limit`.
    /// Must not recurse on the stack without a bound.
    ///
    /// # Errors
    /// When the user's code throws.
    fn count_nodes(&mut self, value: Self::Value, limit: u64) -> Result<u64>;

    /// Called before the children of a container are visited: an implementation can open a handle scope.
    ///
    /// # Errors
    /// When the representation cannot open a scope.
    fn enter(&mut self) -> Result<Self::Scope>;

    /// Called afterwards, also when the walk was interrupted.
    fn leave(&mut self, scope: Self::Scope);
}
