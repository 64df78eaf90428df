//! Random values, and values that come close to what a schema describes.

use operations_fuzz::random::Random;
use serde_json::{Map, Number, Value, json};

const DEEPEST: usize = 5;

pub(crate) const NAMES: [&str; 7] = ["a", "b", "ab", "foo", "__proto__", "0", "a/b~c"];

const TEXTS: [&str; 16] = [
    "",
    "a",
    "b",
    "ab",
    "aab",
    "abc",
    "0",
    "42",
    " ",
    "foo",
    "Ä",
    "é",
    "\u{1f600}",
    "\u{2028}",
    "\n",
    "null",
];

const WHOLE: [i64; 9] = [0, 1, 2, 3, 4, 6, 42, -1, -3];
const FRACTIONS: [f64; 8] = [0.5, 1.5, -0.5, 0.01, 2.25, 1e10, 1e-7, 3.3];

pub(crate) fn number(random: &mut Random) -> Value {
    match random.below(10) {
        0..=5 => Value::from(*random.pick(&WHOLE)),
        // The same numbers with a fraction of zero.
        6 => Value::from(f64::from(
            i8::try_from(*random.pick(&WHOLE)).unwrap_or_default(),
        )),
        _ => Value::from(*random.pick(&FRACTIONS)),
    }
}

/// Something small that a schema can name.
pub(crate) fn constant(random: &mut Random) -> Value {
    any(random, 3)
}

/// Any value.
pub(crate) fn any(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth < DEEPEST { 7 } else { 4 }) {
        0 => Value::Null,
        1 => random.chance(50).into(),
        2 => number(random),
        3 => (*random.pick(&TEXTS)).into(),
        4 | 5 => (0..random.below(4))
            .map(|_| any(random, depth + 1))
            .collect(),
        _ => {
            let entries = (0..random.below(4))
                .map(|_| ((*random.pick(&NAMES)).to_owned(), any(random, depth + 1)));
            entries.collect::<Map<_, _>>().into()
        }
    }
}

/// A value that has a good chance to pass, and one to fail by a hair.
pub(crate) fn near(schema: &Value, root: &Value, random: &mut Random, depth: usize) -> Value {
    let Value::Object(words) = schema else {
        return any(random, depth);
    };
    if depth > DEEPEST || random.chance(8) {
        return any(random, depth);
    }
    if let Some(constant) = words.get("const") {
        return constant.clone();
    }
    if let Some(Value::Array(constants)) = words.get("enum")
        && random.chance(80)
    {
        return random.pick(constants).clone();
    }
    let elsewhere: Vec<&Value> = ["$ref", "$dynamicRef", "$recursiveRef"]
        .iter()
        .filter_map(|word| words.get(*word)?.as_str())
        .filter_map(|reference| root.pointer(reference.strip_prefix('#')?))
        .chain(
            ["allOf", "anyOf", "oneOf"]
                .iter()
                .filter_map(|word| words.get(*word)?.as_array())
                .flatten(),
        )
        .chain(
            ["if", "then", "else"]
                .iter()
                .filter_map(|word| words.get(*word)),
        )
        .collect();
    if !elsewhere.is_empty() && random.chance(50) {
        let schema: &Value = random.pick::<&Value>(&elsewhere);
        return near(schema, root, random, depth + 1);
    }
    match kind(words, random) {
        "object" => object(words, root, random, depth),
        "array" => array(words, root, random, depth),
        "string" => (*random.pick(&TEXTS)).into(),
        "number" | "integer" => bounded(words, random),
        "boolean" => random.chance(50).into(),
        "null" => Value::Null,
        _ => any(random, depth),
    }
}

/// The type that a schema asks for, or that its keywords are about.
fn kind<'a>(words: &'a Map<String, Value>, random: &mut Random) -> &'a str {
    match words.get("type") {
        Some(Value::String(one)) => return one,
        Some(Value::Array(several)) => return random.pick(several).as_str().unwrap_or_default(),
        _ => {}
    }
    let about: Vec<&str> = words
        .keys()
        .filter_map(|word| match word.as_str() {
            "properties"
            | "patternProperties"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "propertyNames"
            | "additionalProperties"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => Some("object"),
            "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems"
            | "unevaluatedItems" => Some("array"),
            "minLength" | "maxLength" | "pattern" => Some("string"),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                Some("number")
            }
            _ => None,
        })
        .collect();
    if about.is_empty() {
        ""
    } else {
        random.pick::<&str>(&about)
    }
}

fn object(words: &Map<String, Value>, root: &Value, random: &mut Random, depth: usize) -> Value {
    let mut entries = Map::new();
    if let Some(Value::Object(properties)) = words.get("properties") {
        for (name, property) in properties {
            if random.chance(70) {
                entries.insert(name.clone(), near(property, root, random, depth + 1));
            }
        }
    }
    for name in words
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = name.as_str().unwrap_or_default();
        if !entries.contains_key(name) && random.chance(90) {
            entries.insert(name.to_owned(), any(random, depth + 1));
        }
    }
    for _ in 0..random.below(3) {
        entries.insert((*random.pick(&NAMES)).to_owned(), any(random, depth + 1));
    }
    entries.into()
}

fn array(words: &Map<String, Value>, root: &Value, random: &mut Random, depth: usize) -> Value {
    let mut items = Vec::new();
    let listed = ["prefixItems", "items"]
        .iter()
        .filter_map(|word| words.get(*word)?.as_array())
        .flatten();
    for item in listed {
        if random.chance(85) {
            items.push(near(item, root, random, depth + 1));
        }
    }
    for _ in 0..random.below(4) {
        let word = *random.pick(&["items", "contains", ""]);
        let item = words.get(word).unwrap_or(&Value::Null);
        items.push(near(item, root, random, depth + 1));
    }
    if let Some(first) = items.first()
        && random.chance(20)
    {
        items.push(first.clone());
    }
    items.into()
}

/// A number at a bound, or near it.
fn bounded(words: &Map<String, Value>, random: &mut Random) -> Value {
    let bounds: Vec<f64> = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]
    .iter()
    .filter_map(|word| words.get(*word)?.as_f64())
    .collect();
    if bounds.is_empty() || random.chance(30) {
        return number(random);
    }
    let near = random.pick(&bounds) + random.pick(&[0.0, 1.0, -1.0, 0.5]);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "whole numbers of this size are the same"
    )]
    if near.fract() == 0.0 && near.abs() < 1e15 && random.chance(80) {
        return json!(near as i64);
    }
    Number::from_f64(near).map_or(Value::Null, Value::Number)
}
