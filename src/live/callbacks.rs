//! Questions that only JavaScript can answer: which regular expression matches, what the user's
//! registries say, whether something is an instance of a class. The facade passes one object with these
//! functions into each call, so that native code holds no reference to a user's schema.

use operations_schema::value_access::Result;

use super::access::LiveAccess;
use crate::interop::raw::{Handle, Pending, Raw, TypeOf};

impl LiveAccess<'_> {
    /// Calls a function of the callbacks object.
    pub(super) fn ask(&mut self, name: &str, arguments: &[Handle]) -> Result<Handle> {
        let function = self.raw.get_named(self.callbacks, name);
        let function = self.keep(function)?;
        let answer = self.raw.call(self.callbacks, function, arguments);
        self.keep(answer)
    }

    /// An answer that is a boolean, or nothing.
    pub(super) fn ask_bool(&mut self, name: &str, arguments: &[Handle]) -> Result<Option<bool>> {
        self.ask_for(TypeOf::Boolean, name, arguments, Raw::bool_value)
    }

    /// An answer that is a number, or nothing.
    pub(super) fn ask_number(&mut self, name: &str, arguments: &[Handle]) -> Result<Option<f64>> {
        self.ask_for(TypeOf::Number, name, arguments, Raw::number_value)
    }

    /// An answer that is a string, or nothing.
    pub(super) fn ask_string(
        &mut self,
        name: &str,
        arguments: &[Handle],
    ) -> Result<Option<String>> {
        self.ask_for(TypeOf::String, name, arguments, |raw, answer| {
            let mut buffer = Vec::new();
            raw.read_string(answer, &mut buffer)?;
            Ok(String::from_utf8_lossy(&buffer).into_owned())
        })
    }

    /// An answer of one type, or nothing.
    fn ask_for<T>(
        &mut self,
        kind: TypeOf,
        name: &str,
        arguments: &[Handle],
        read: fn(Raw, Handle) -> Result<T, Pending>,
    ) -> Result<Option<T>> {
        let answer = self.ask(name, arguments)?;
        let raw = self.raw;
        let found = raw.type_of(answer);
        if self.keep(found)? != kind {
            return Ok(None);
        }
        self.keep(read(raw, answer)).map(Some)
    }

    pub(super) fn id(&mut self, id: u32) -> Result<Handle> {
        let handle = self.raw.number(f64::from(id));
        self.keep(handle)
    }
}
