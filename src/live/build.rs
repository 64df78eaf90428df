//! Making live values.

use num_bigint::BigInt;
use operations_schema::ir::{Const, ConstId};
use operations_schema::value_access::{EntryName, Result, Special, ValueBuilder};

use super::access::LiveAccess;
use crate::interop::raw::{Escapable, Handle, TypeOf};

impl LiveAccess<'_> {
    fn entry_name(&mut self, name: EntryName<'_, Handle>) -> Result<Handle> {
        match name {
            EntryName::Program(name) => self.make_string(&name.key.text),
            EntryName::Own(key) => Ok(key),
        }
    }

    /// A constant of the schema; depth is bounded by that of schemas.
    fn constant(&mut self, constant: &Const) -> Result<Option<Handle>> {
        Ok(Some(match constant {
            Const::Undefined => return Ok(self.stored_undefined()),
            Const::Null => self.make_null(),
            Const::Bool(value) => self.make_bool(*value),
            Const::Number(value) => return Ok(self.make_number(*value)),
            Const::String(text) => self.make_string(text)?,
            Const::BigInt(digits) => {
                let digits = self.make_string(digits)?;
                self.ask("bigint", &[digits])?
            }
            Const::Date(time) => return self.make_special(Special::Date(Some(*time))),
            Const::Array(items) => {
                let mut elements = Vec::with_capacity(items.len());
                for item in items {
                    let Some(element) = self.constant(item)? else {
                        return Ok(None);
                    };
                    elements.push(element);
                }
                self.make_array(&elements)?
            }
            Const::Object(entries) => {
                let object = self.raw.object();
                let object = self.keep(object)?;
                for (name, value) in entries {
                    let Some(value) = self.constant(value)? else {
                        return Ok(None);
                    };
                    let key = self.make_string(name)?;
                    let defined = self.raw.define(object, key, value);
                    self.keep(defined)?;
                }
                object
            }
            Const::Slot(slot) => {
                // Wrapped in an array, so that "no value" and "it is undefined" differ.
                let slot = self.id(*slot)?;
                let made = self.ask("cloneDefault", &[slot])?;
                let kind = self.raw.type_of(made);
                if self.keep(kind)? == TypeOf::Undefined {
                    return Ok(None);
                }
                let element = self.raw.element(made, 0);
                self.keep(element)?
            }
        }))
    }
}

impl ValueBuilder for LiveAccess<'_> {
    type Region = Escapable;

    fn open_region(&mut self) -> Result<Escapable> {
        let region = self.raw.open_escapable();
        self.keep(region)
    }

    fn close_region(&mut self, region: Escapable, survivor: Option<Handle>) -> Option<Handle> {
        let escaped = self.raw.close_escapable(region, survivor);
        self.keep(escaped).ok().flatten()
    }

    fn stored_undefined(&mut self) -> Option<Handle> {
        self.raw.undefined().ok()
    }

    fn make_null(&mut self) -> Handle {
        self.raw.null().unwrap_or_else(|_| self.undefined_handle())
    }

    fn make_bool(&mut self, value: bool) -> Handle {
        self.raw
            .boolean(value)
            .unwrap_or_else(|_| self.undefined_handle())
    }

    fn make_number(&mut self, number: f64) -> Option<Handle> {
        self.raw.number(number).ok()
    }

    fn make_string(&mut self, text: &str) -> Result<Handle> {
        let made = self.raw.string(text);
        self.keep(made)
    }

    fn make_bigint(&mut self, number: &BigInt) -> Result<Option<Handle>> {
        let digits = self.make_string(&number.to_string())?;
        self.ask("bigint", &[digits]).map(Some)
    }

    fn make_array(&mut self, elements: &[Handle]) -> Result<Handle> {
        let raw = self.raw;
        let made = raw.array(elements.len()).and_then(|array| {
            for (index, element) in elements.iter().enumerate() {
                raw.set_element(array, index, *element)?;
            }
            Ok(array)
        });
        self.keep(made)
    }

    fn make_object(&mut self, entries: &[(EntryName<'_, Handle>, Handle)]) -> Result<Handle> {
        let object = self.raw.object();
        let object = self.keep(object)?;
        for (name, value) in entries {
            let key = self.entry_name(*name)?;
            let defined = self.raw.define(object, key, *value);
            self.keep(defined)?;
        }
        Ok(object)
    }

    fn make_constant(&mut self, _: ConstId, constant: &Const) -> Result<Option<Handle>> {
        self.constant(constant)
    }

    fn make_special(&mut self, special: Special) -> Result<Option<Handle>> {
        let (word, argument) = match special {
            Special::Date(time) => ("date", time),
            Special::Bytes(length) => ("bytes", Some(length as f64)),
            Special::Symbol => ("symbol", None),
            Special::Promise => ("promise", None),
            Special::Iterator => ("iterator", None),
            Special::AsyncIterator => ("asyncIterator", None),
            Special::Function => ("function", None),
        };
        let word = self.make_string(word)?;
        let argument = match argument {
            Some(number) => self.make_number(number),
            None => self.stored_undefined(),
        };
        let arguments: Vec<Handle> = std::iter::once(word).chain(argument).collect();
        self.ask("makeSpecial", &arguments).map(Some)
    }
}
