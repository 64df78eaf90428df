//! From a JSON document in Rust: no kinds, no flags.

use serde_json::Value;

use super::{Source, SourceObject};
use crate::bounds::MAX_SCHEMA_DEPTH;
use crate::problem::{Result, SchemaError};

impl TryFrom<&Value> for Source<'static> {
    type Error = SchemaError;

    fn try_from(value: &Value) -> Result<Self> {
        convert(value, MAX_SCHEMA_DEPTH)
    }
}

fn convert(value: &Value, depth_left: u32) -> Result<Source<'static>> {
    let Some(below) = depth_left.checked_sub(1) else {
        return Err(SchemaError::TooDeep);
    };
    Ok(match value {
        Value::Null => Source::Null,
        Value::Bool(value) => Source::Bool(*value),
        Value::Number(number) => Source::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Source::String(text.clone().into()),
        Value::Array(items) => {
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.push(convert(item, below)?);
            }
            Source::Array(list)
        }
        Value::Object(map) => {
            let mut object = SourceObject::default();
            object.entries.reserve(map.len());
            for (key, item) in map {
                object
                    .entries
                    .push((key.clone().into(), convert(item, below)?));
            }
            Source::Object(object.into())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_too_deep_is_refused() {
        let mut value = Value::Null;
        for _ in 0..MAX_SCHEMA_DEPTH {
            value = Value::Array(vec![value]);
        }
        assert_eq!(Source::try_from(&value), Err(SchemaError::TooDeep));
    }
}
