//! Making JSON values in the arena.

use num_bigint::BigInt;
use serde_json::{Number, Value};

use super::super::build::{BuildHost, EntryName, Special};
use super::{JsonBuilder, JsonPart, JsonPartKey, JsonRef, Made, MadeObject};
use crate::host::Interrupt;
use crate::ir::{Const, ConstId};

static NULL: Value = Value::Null;
static TRUE: Value = Value::Bool(true);
static FALSE: Value = Value::Bool(false);

impl<'a> BuildHost for JsonBuilder<'a> {
    type Region = ();

    fn open_region(&mut self) -> Result<(), Interrupt> {
        Ok(())
    }

    fn close_region(&mut self, (): (), survivor: Option<JsonPart<'a>>) -> Option<JsonPart<'a>> {
        survivor
    }

    fn stored_undefined(&mut self) -> Option<JsonPart<'a>> {
        None
    }

    fn make_null(&mut self) -> JsonPart<'a> {
        JsonPart::Document(JsonRef::Value(&NULL))
    }

    fn make_bool(&mut self, value: bool) -> JsonPart<'a> {
        JsonPart::Document(JsonRef::Value(if value { &TRUE } else { &FALSE }))
    }

    fn make_number(&mut self, number: f64) -> Option<JsonPart<'a>> {
        json_number(number).map(|number| self.plain(Value::Number(number)))
    }

    fn make_string(&mut self, text: &str) -> Result<JsonPart<'a>, Interrupt> {
        Ok(self.plain(Value::String(text.to_owned())))
    }

    fn make_bigint(&mut self, _: &BigInt) -> Result<Option<JsonPart<'a>>, Interrupt> {
        Ok(None)
    }

    fn make_array(&mut self, elements: &[JsonPart<'a>]) -> Result<JsonPart<'a>, Interrupt> {
        Ok(self.keep(Made::Array(elements.to_vec())))
    }

    fn make_object(
        &mut self,
        entries: &[(EntryName<'_, JsonPartKey<'a>>, JsonPart<'a>)],
    ) -> Result<JsonPart<'a>, Interrupt> {
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

    fn make_constant(
        &mut self,
        _: ConstId,
        constant: &Const,
    ) -> Result<Option<JsonPart<'a>>, Interrupt> {
        let value = const_to_json(constant);
        Ok(value.map(|value| self.adopt(value)))
    }

    fn make_special(&mut self, _: Special) -> Result<Option<JsonPart<'a>>, Interrupt> {
        Ok(None)
    }
}

impl<'a> JsonBuilder<'a> {
    /// Takes a whole document into the arena. Constants of a schema are as deep as a schema may be,
    /// which bounds the recursion.
    fn adopt(&mut self, value: Value) -> JsonPart<'a> {
        match value {
            Value::Array(items) => {
                let parts = items.into_iter().map(|item| self.adopt(item)).collect();
                self.keep(Made::Array(parts))
            }
            Value::Object(map) => {
                let entries = map
                    .into_iter()
                    .map(|(key, item)| (key.into_boxed_str(), self.adopt(item)))
                    .collect();
                self.keep(Made::Object(MadeObject::new(entries)))
            }
            plain => self.plain(plain),
        }
    }
}

/// The JSON form of a constant; none where a part of it has none.
fn const_to_json(constant: &Const) -> Option<Value> {
    Some(match constant {
        Const::Null => Value::Null,
        Const::Bool(value) => Value::Bool(*value),
        Const::Number(number) => Value::Number(json_number(*number)?),
        Const::String(text) => Value::String(text.to_string()),
        Const::Array(items) => {
            Value::Array(items.iter().map(const_to_json).collect::<Option<_>>()?)
        }
        Const::Object(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, item)| Some((key.to_string(), const_to_json(item)?)))
                .collect::<Option<_>>()?,
        ),
        Const::Undefined | Const::BigInt(_) | Const::Date(_) | Const::Slot(_) => return None,
    })
}

/// Whole numbers are written without a fraction, as JavaScript does.
fn json_number(number: f64) -> Option<Number> {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if number.fract() == 0.0
        && number.abs() <= SAFE
        && !(number == 0.0 && number.is_sign_negative())
    {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within the safe range"
        )]
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}
