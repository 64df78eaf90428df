//! Making JSON values in the arena.

use num_bigint::BigInt;

use super::made::{Made, MadeObject};
use super::{JsonAccess, JsonKey, JsonRef};
use crate::ir::{Const, ConstId};
use crate::value_access::{EntryName, Result, Special, ValueBuilder};

impl<'a> ValueBuilder for JsonAccess<'a> {
    type Region = ();

    fn open_region(&mut self) -> Result<()> {
        Ok(())
    }

    fn close_region(&mut self, (): (), survivor: Option<JsonRef<'a>>) -> Option<JsonRef<'a>> {
        survivor
    }

    /// Written as JavaScript writes it: left out of an object, `null` in an array.
    fn stored_undefined(&mut self) -> Option<JsonRef<'a>> {
        Some(JsonRef::Undefined)
    }

    fn make_null(&mut self) -> JsonRef<'a> {
        JsonRef::Null
    }

    fn make_bool(&mut self, value: bool) -> JsonRef<'a> {
        JsonRef::Bool(value)
    }

    fn make_number(&mut self, number: f64) -> Option<JsonRef<'a>> {
        number.is_finite().then_some(JsonRef::Number(number))
    }

    fn make_string(&mut self, text: &str) -> Result<JsonRef<'a>> {
        Ok(self.keep(Made::Text(text.into())))
    }

    fn make_bigint(&mut self, _: &BigInt) -> Result<Option<JsonRef<'a>>> {
        Ok(None)
    }

    fn make_array(&mut self, elements: &[JsonRef<'a>]) -> Result<JsonRef<'a>> {
        Ok(self.keep(Made::Array(elements.to_vec())))
    }

    fn make_object(
        &mut self,
        entries: &[(EntryName<'_, JsonKey<'a>>, JsonRef<'a>)],
    ) -> Result<JsonRef<'a>> {
        let entries = entries
            .iter()
            .map(|(name, part)| {
                let text = match name {
                    EntryName::Program(name) => &*name.key.text,
                    EntryName::Own(key) => self.key_text(*key),
                };
                (Box::from(text), *part)
            })
            .collect();
        Ok(self.keep(Made::Object(MadeObject::new(entries))))
    }

    fn make_constant(&mut self, _: ConstId, constant: &Const) -> Result<Option<JsonRef<'a>>> {
        Ok(self.constant(constant))
    }

    fn make_special(&mut self, _: Special) -> Result<Option<JsonRef<'a>>> {
        Ok(None)
    }
}

impl<'a> JsonAccess<'a> {
    /// Takes a constant into the arena; nothing where a part of it has no form in JSON. Constants of a schema are as
    /// deep as a schema may be, which bounds the recursion.
    fn constant(&mut self, constant: &Const) -> Option<JsonRef<'a>> {
        Some(match constant {
            Const::Null => self.make_null(),
            Const::Bool(value) => self.make_bool(*value),
            Const::Number(number) => self.make_number(*number)?,
            Const::String(text) => self.keep(Made::Text(text.clone())),
            Const::Array(items) => {
                let parts = items.iter().map(|item| self.constant(item));
                let parts = parts.collect::<Option<_>>()?;
                self.keep(Made::Array(parts))
            }
            Const::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, item)| Some(((**key).into(), self.constant(item)?)));
                let entries = entries.collect::<Option<_>>()?;
                self.keep(Made::Object(MadeObject::new(entries)))
            }
            Const::Undefined | Const::BigInt(_) | Const::Date(_) | Const::Slot(_) => return None,
        })
    }
}
