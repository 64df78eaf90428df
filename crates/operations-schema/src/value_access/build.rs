//! Making values of one representation: what normalisation needs beyond reading.

use num_bigint::BigInt;

use super::{Name, Result, ValueAccess};
use crate::ir::{Const, ConstId};

/// The name of a property that is being written.
#[derive(Clone, Copy, Debug)]
pub enum EntryName<'p, K> {
    /// A name of the program.
    Program(Name<'p>),
    /// A name that came from a live object.
    Own(K),
}

/// Values that JSON does not have and that TypeBox's `Value.Create` makes from nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    /// A Date at these milliseconds, or the present time.
    Date(Option<f64>),
    /// A `Uint8Array` of that many zeros.
    Bytes(usize),
    /// A fresh symbol.
    Symbol,
    /// A promise that is already resolved.
    Promise,
    /// An iterator without elements.
    Iterator,
    /// An asynchronous iterator without elements.
    AsyncIterator,
    /// A function that does nothing.
    Function,
}

/// Access that can also make values.
///
/// Nothing here changes a value that already exists: objects and arrays are made complete, from
/// parts that may be shared with the original. What a representation cannot hold is `None`, and the
/// caller then keeps what it had.
pub trait ValueBuilder: ValueAccess {
    /// A region in which handles may be opened freely.
    type Region;

    /// Opens a region. Regions nest like blocks.
    ///
    /// # Errors
    /// When the representation cannot open one.
    fn open_region(&mut self) -> Result<Self::Region>;

    /// Closes a region. Of everything that was made or read inside it only `survivor` may be used
    /// afterwards, through the handle that is returned. Called also when the walk was interrupted,
    /// then without a survivor.
    fn close_region(
        &mut self,
        region: Self::Region,
        survivor: Option<Self::Value>,
    ) -> Option<Self::Value>;

    /// `undefined` as a value that can be stored in a property or element.
    fn stored_undefined(&mut self) -> Option<Self::Value>;

    /// `null`.
    fn make_null(&mut self) -> Self::Value;

    /// A boolean.
    fn make_bool(&mut self, value: bool) -> Self::Value;

    /// A number.
    fn make_number(&mut self, number: f64) -> Option<Self::Value>;

    /// A string.
    ///
    /// # Errors
    /// When the representation cannot make one.
    fn make_string(&mut self, text: &str) -> Result<Self::Value>;

    /// A bigint.
    ///
    /// # Errors
    /// When the representation cannot make one.
    fn make_bigint(&mut self, number: &BigInt) -> Result<Option<Self::Value>>;

    /// A plain array with these elements.
    ///
    /// # Errors
    /// When the representation cannot make one.
    fn make_array(&mut self, elements: &[Self::Value]) -> Result<Self::Value>;

    /// A plain object with these own, writable, enumerable properties, in this order. Names are
    /// data: `__proto__` becomes a property like any other and sets no prototype.
    ///
    /// # Errors
    /// When the representation cannot make one.
    fn make_object(
        &mut self,
        entries: &[(EntryName<'_, Self::Key>, Self::Value)],
    ) -> Result<Self::Value>;

    /// A fresh copy of a constant of the program, shared with nothing. For a [`Const::Slot`] (a
    /// live value of the schema) as TypeBox treats a `default`: a function is called and its result
    /// taken, anything else is cloned deeply. `None` when the copy cannot be made (the function
    /// throws, the representation has no such value).
    ///
    /// # Errors
    /// When the representation cannot make the value.
    fn make_constant(&mut self, id: ConstId, constant: &Const) -> Result<Option<Self::Value>>;

    /// A value that JSON does not have; `None` where the representation has none either.
    ///
    /// # Errors
    /// When the representation cannot make it.
    fn make_special(&mut self, special: Special) -> Result<Option<Self::Value>>;
}
