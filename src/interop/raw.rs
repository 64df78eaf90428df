//! Direct Node-API calls: the walks over live JavaScript values make millions of them, and the safe
//! wrappers allocate, copy or lose a user's thrown value on the way.
//!
//! **Why it is sound.** [`Raw`] is made from the environment of the call that we are in, and lives no
//! longer than that call. A [`Handle`] comes from a method of [`Raw`] or from an argument of the call, and
//! is used while the handle scope in which it was made is open: walks open a scope before they visit
//! children, close it afterwards, and let no child handle out (see `leave`). All out-pointers are locals.
//! Every block below relies on just that.
//!
//! **Exceptions** stay pending in the environment; the caller stops and returns [`Pending::into_error`],
//! and JavaScript sees the very value that was thrown.

use std::ptr;

use napi::bindgen_prelude::{Env, FromNapiValue, JsValue, Unknown};
use napi::{Status, sys};

/// Names with fewer bytes than this are read without an allocation.
const SHORT_NAME: usize = 64;

/// A JavaScript value in an open handle scope.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle(sys::napi_value);

/// JavaScript threw, or Node-API refused: nothing more can be done in this call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending(sys::napi_status);

impl Pending {
    /// Whether Node-API wanted an array, and no exception is pending.
    pub(crate) fn wants_array(self) -> bool {
        self.0 == sys::Status::napi_array_expected
    }

    /// The error that makes the wrapper leave a pending exception where it is.
    pub(crate) fn into_error(self) -> napi::Error {
        napi::Error::from_status(Status::from(self.0))
    }
}

/// An open handle scope.
pub(crate) struct Scope(sys::napi_handle_scope);

/// An open handle scope out of which one handle may be taken.
pub(crate) struct Escapable(sys::napi_escapable_handle_scope);

/// What `typeof` says, with `null` as a type of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeOf {
    Undefined,
    Null,
    Boolean,
    Number,
    BigInt,
    String,
    Symbol,
    Function,
    Object,
}

/// The environment of the call that we are in.
#[derive(Clone, Copy)]
pub(crate) struct Raw(sys::napi_env);

fn ok(status: sys::napi_status) -> Result<(), Pending> {
    if status == sys::Status::napi_ok {
        Ok(())
    } else {
        Err(Pending(status))
    }
}

/// One Node-API call with an out-pointer: `out!(function(arguments) -> initial value)`.
macro_rules! out {
    ($function:ident($($argument:expr),*) -> $initial:expr) => {{
        let mut result = $initial;
        // SAFETY: see the module's documentation.
        ok(unsafe { sys::$function($($argument,)* &raw mut result) })?;
        result
    }};
}

impl Raw {
    pub(crate) fn new(env: &Env) -> Self {
        Self(env.raw())
    }

    /// The handle of an argument.
    pub(crate) fn handle<'env>(self, value: &impl JsValue<'env>) -> Handle {
        Handle(value.raw())
    }

    /// A handle as a result of the call.
    pub(crate) fn into_unknown<'env>(self, handle: Handle) -> napi::Result<Unknown<'env>> {
        // SAFETY: see the module's documentation.
        unsafe { Unknown::from_napi_value(self.0, handle.0) }
    }

    pub(crate) fn undefined(self) -> Result<Handle, Pending> {
        Ok(Handle(out!(napi_get_undefined(self.0) -> ptr::null_mut())))
    }

    pub(crate) fn null(self) -> Result<Handle, Pending> {
        Ok(Handle(out!(napi_get_null(self.0) -> ptr::null_mut())))
    }

    pub(crate) fn boolean(self, value: bool) -> Result<Handle, Pending> {
        Ok(Handle(
            out!(napi_get_boolean(self.0, value) -> ptr::null_mut()),
        ))
    }

    pub(crate) fn number(self, value: f64) -> Result<Handle, Pending> {
        Ok(Handle(
            out!(napi_create_double(self.0, value) -> ptr::null_mut()),
        ))
    }

    pub(crate) fn string(self, text: &str) -> Result<Handle, Pending> {
        let length = text.len().cast_signed();
        Ok(Handle(
            out!(napi_create_string_utf8(self.0, text.as_ptr().cast(), length) -> ptr::null_mut()),
        ))
    }

    pub(crate) fn object(self) -> Result<Handle, Pending> {
        Ok(Handle(out!(napi_create_object(self.0) -> ptr::null_mut())))
    }

    pub(crate) fn array(self, length: usize) -> Result<Handle, Pending> {
        Ok(Handle(
            out!(napi_create_array_with_length(self.0, length) -> ptr::null_mut()),
        ))
    }

    pub(crate) fn type_of(self, value: Handle) -> Result<TypeOf, Pending> {
        let kind = out!(napi_typeof(self.0, value.0) -> sys::ValueType::napi_undefined);
        Ok(match kind {
            sys::ValueType::napi_null => TypeOf::Null,
            sys::ValueType::napi_boolean => TypeOf::Boolean,
            sys::ValueType::napi_number => TypeOf::Number,
            sys::ValueType::napi_bigint => TypeOf::BigInt,
            sys::ValueType::napi_string => TypeOf::String,
            sys::ValueType::napi_symbol => TypeOf::Symbol,
            sys::ValueType::napi_function => TypeOf::Function,
            // An external is an object to JavaScript.
            sys::ValueType::napi_object | sys::ValueType::napi_external => TypeOf::Object,
            _ => TypeOf::Undefined,
        })
    }

    pub(crate) fn is_array(self, value: Handle) -> Result<bool, Pending> {
        Ok(out!(napi_is_array(self.0, value.0) -> false))
    }

    pub(crate) fn bool_value(self, value: Handle) -> Result<bool, Pending> {
        Ok(out!(napi_get_value_bool(self.0, value.0) -> false))
    }

    pub(crate) fn number_value(self, value: Handle) -> Result<f64, Pending> {
        Ok(out!(napi_get_value_double(self.0, value.0) -> 0.0))
    }

    /// The length of a string in UTF-16 units, without copying it.
    pub(crate) fn utf16_length(self, string: Handle) -> Result<usize, Pending> {
        Ok(out!(napi_get_value_string_utf16(self.0, string.0, ptr::null_mut(), 0) -> 0))
    }

    /// The text of a string, in `buffer`. A surrogate without its partner reads as U+FFFD.
    pub(crate) fn read_string(self, string: Handle, buffer: &mut Vec<u8>) -> Result<(), Pending> {
        buffer.clear();
        // Three bytes for each UTF-16 unit are always enough, and one more for the final NUL.
        let units = self.utf16_length(string)?;
        buffer.resize(units.saturating_mul(3).saturating_add(1), 0);
        let written = out!(napi_get_value_string_utf8(
            self.0,
            string.0,
            buffer.as_mut_ptr().cast(),
            buffer.len()
        ) -> 0);
        buffer.truncate(written);
        Ok(())
    }

    pub(crate) fn array_length(self, array: Handle) -> Result<usize, Pending> {
        Ok(out!(napi_get_array_length(self.0, array.0) -> 0_u32) as usize)
    }

    pub(crate) fn element(self, array: Handle, index: usize) -> Result<Handle, Pending> {
        // Array lengths are below 2^32.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        Ok(Handle(
            out!(napi_get_element(self.0, array.0, index) -> ptr::null_mut()),
        ))
    }

    pub(crate) fn set_element(
        self,
        array: Handle,
        index: usize,
        value: Handle,
    ) -> Result<(), Pending> {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        // SAFETY: see the module's documentation.
        ok(unsafe { sys::napi_set_element(self.0, array.0, index, value.0) })
    }

    pub(crate) fn get(self, object: Handle, key: Handle) -> Result<Handle, Pending> {
        Ok(Handle(
            out!(napi_get_property(self.0, object.0, key.0) -> ptr::null_mut()),
        ))
    }

    /// `object[name]`, for a name that is known at compile time or in the program.
    pub(crate) fn get_named(self, object: Handle, name: &str) -> Result<Handle, Pending> {
        // A name ends with a NUL here. Short ones are copied to the stack: no allocation for each read.
        let mut short = [0_u8; SHORT_NAME];
        let name_has_nul = name.as_bytes().contains(&0);
        if let Some(place) = short.get_mut(..name.len())
            && name.len() < SHORT_NAME
            && !name_has_nul
        {
            place.copy_from_slice(name.as_bytes());
            return Ok(Handle(
                out!(napi_get_named_property(self.0, object.0, short.as_ptr().cast()) -> ptr::null_mut()),
            ));
        }
        self.get(object, self.string(name)?)
    }

    pub(crate) fn has(self, object: Handle, key: Handle) -> Result<bool, Pending> {
        Ok(out!(napi_has_property(self.0, object.0, key.0) -> false))
    }

    pub(crate) fn has_own(self, object: Handle, key: Handle) -> Result<bool, Pending> {
        Ok(out!(napi_has_own_property(self.0, object.0, key.0) -> false))
    }

    /// Defines an own, enumerable, writable property: `__proto__` is a name like any other.
    pub(crate) fn define(self, object: Handle, key: Handle, value: Handle) -> Result<(), Pending> {
        let property = sys::napi_property_descriptor {
            utf8name: ptr::null(),
            name: key.0,
            method: None,
            getter: None,
            setter: None,
            value: value.0,
            attributes: sys::PropertyAttributes::writable
                | sys::PropertyAttributes::enumerable
                | sys::PropertyAttributes::configurable,
            data: ptr::null_mut(),
        };
        // SAFETY: see the module's documentation; Node-API copies the descriptor.
        ok(unsafe { sys::napi_define_properties(self.0, object.0, 1, &raw const property) })
    }

    /// The own string keys of an object, as an array of strings.
    pub(crate) fn own_keys(self, object: Handle, enumerable_only: bool) -> Result<Handle, Pending> {
        let filter = if enumerable_only {
            sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols
        } else {
            sys::KeyFilter::skip_symbols
        };
        Ok(Handle(out!(napi_get_all_property_names(
            self.0,
            object.0,
            sys::KeyCollectionMode::own_only,
            filter,
            sys::KeyConversion::numbers_to_strings
        ) -> ptr::null_mut())))
    }

    pub(crate) fn strict_equals(self, left: Handle, right: Handle) -> Result<bool, Pending> {
        Ok(out!(napi_strict_equals(self.0, left.0, right.0) -> false))
    }

    pub(crate) fn call(
        self,
        receiver: Handle,
        function: Handle,
        arguments: &[Handle],
    ) -> Result<Handle, Pending> {
        let values: Vec<sys::napi_value> = arguments.iter().map(|argument| argument.0).collect();
        Ok(Handle(out!(napi_call_function(
            self.0,
            receiver.0,
            function.0,
            values.len(),
            values.as_ptr()
        ) -> ptr::null_mut())))
    }

    pub(crate) fn open_scope(self) -> Result<Scope, Pending> {
        Ok(Scope(
            out!(napi_open_handle_scope(self.0) -> ptr::null_mut()),
        ))
    }

    /// Closes a scope; also works while an exception is pending.
    pub(crate) fn close_scope(self, scope: Scope) {
        // SAFETY: see the module's documentation; scopes are closed in the reverse order of opening.
        let _ = unsafe { sys::napi_close_handle_scope(self.0, scope.0) };
    }

    pub(crate) fn open_escapable(self) -> Result<Escapable, Pending> {
        Ok(Escapable(
            out!(napi_open_escapable_handle_scope(self.0) -> ptr::null_mut()),
        ))
    }

    /// Closes a scope and takes one handle out of it.
    pub(crate) fn close_escapable(
        self,
        scope: Escapable,
        survivor: Option<Handle>,
    ) -> Result<Option<Handle>, Pending> {
        let mut escaped = ptr::null_mut();
        let status = match survivor {
            // SAFETY: see the module's documentation; a scope lets one handle out, once.
            Some(value) => unsafe {
                sys::napi_escape_handle(self.0, scope.0, value.0, &raw mut escaped)
            },
            None => sys::Status::napi_ok,
        };
        // SAFETY: see the module's documentation; scopes are closed in the reverse order of opening.
        let _ = unsafe { sys::napi_close_escapable_handle_scope(self.0, scope.0) };
        ok(status)?;
        Ok(survivor.map(|_| Handle(escaped)))
    }
}
