//! Questions that only JavaScript can answer: which regular expression matches, what the user's
//! registries say, whether something is an instance of a class. The facade passes one object with these
//! functions into each call, so that native code holds no reference to a user's schema.

use operations_schema::Interrupt;

use super::host::LiveHost;
use crate::border::raw::{Handle, TypeOf};

impl LiveHost<'_> {
    /// Calls a function of the callbacks object.
    pub(super) fn ask(&mut self, name: &str, arguments: &[Handle]) -> Result<Handle, Interrupt> {
        let function = self.raw.get_named(self.callbacks, name);
        let function = self.keep(function)?;
        let answer = self.raw.call(self.callbacks, function, arguments);
        self.keep(answer)
    }

    /// An answer that is a boolean, or nothing.
    pub(super) fn ask_bool(
        &mut self,
        name: &str,
        arguments: &[Handle],
    ) -> Result<Option<bool>, Interrupt> {
        let answer = self.ask(name, arguments)?;
        let raw = self.raw;
        let outcome = match raw.type_of(answer) {
            Ok(TypeOf::Boolean) => raw.bool_value(answer).map(Some),
            Ok(_) => Ok(None),
            Err(pending) => Err(pending),
        };
        self.keep(outcome)
    }

    /// An answer that is a number, or nothing.
    pub(super) fn ask_number(
        &mut self,
        name: &str,
        arguments: &[Handle],
    ) -> Result<Option<f64>, Interrupt> {
        let answer = self.ask(name, arguments)?;
        let raw = self.raw;
        let outcome = match raw.type_of(answer) {
            Ok(TypeOf::Number) => raw.number_value(answer).map(Some),
            Ok(_) => Ok(None),
            Err(pending) => Err(pending),
        };
        self.keep(outcome)
    }

    /// An answer that is a string, or nothing.
    pub(super) fn ask_string(
        &mut self,
        name: &str,
        arguments: &[Handle],
    ) -> Result<Option<String>, Interrupt> {
        let answer = self.ask(name, arguments)?;
        let kind = self.raw.type_of(answer);
        if self.keep(kind)? != TypeOf::String {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        let outcome = self.raw.read_string(answer, &mut buffer);
        self.keep(outcome)?;
        Ok(Some(String::from_utf8_lossy(&buffer).into_owned()))
    }

    pub(super) fn id(&mut self, id: u32) -> Result<Handle, Interrupt> {
        let handle = self.raw.number(f64::from(id));
        self.keep(handle)
    }
}
