//! Random schemas and values: whatever they are, normalisation keeps its promises.
//!
//! `OPERATIONS_SEED` repeats a run, `OPERATIONS_CASES` makes it longer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use crate::normalise_support::{Done, short, try_run, typebox};
use operations_schema::json::Document;
use operations_schema::{CompileOptions, JsonAccess, Mode, Note, Program, What, check, compile};
use serde_json::{Map, Value, json};

/// A small generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

const NAMES: [&str; 6] = ["a", "b", "c", "k", "__proto__", "x-1"];
const TEXTS: [&str; 9] = [
    "",
    "a",
    "b",
    "42",
    "007",
    "true",
    "1.5",
    "2024-01-31",
    "null",
];
const NUMBERS: [f64; 6] = [0.0, 1.0, 2.0, 42.0, 1.5, -1.0];

fn scalar(random: &mut Random) -> Value {
    match random.below(5) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 => json!(random.pick(&NUMBERS)),
        _ => json!(random.pick(&TEXTS)),
    }
}

fn value(random: &mut Random, depth: u32) -> Value {
    match if depth == 0 { 0 } else { random.below(4) } {
        0 | 1 => scalar(random),
        2 => (0..random.below(4))
            .map(|_| value(random, depth - 1))
            .collect(),
        _ => {
            let mut map = Map::new();
            for _ in 0..random.below(5) {
                map.insert((*random.pick(&NAMES)).to_owned(), value(random, depth - 1));
            }
            Value::Object(map)
        }
    }
}

/// A TypeBox kind, now and then a JSON Schema.
fn schema(random: &mut Random, depth: u32) -> Value {
    if random.chance(15) {
        return json_schema(random, depth);
    }
    let mut schema = match random.below(if depth == 0 { 9 } else { 15 }) {
        0 => json!({ "~": "String" }),
        1 => json!({ "~": "String", "minLength": random.below(3) }),
        2 => json!({ "~": "Number", "minimum": random.pick(&NUMBERS) }),
        3 => json!({ "~": "Integer" }),
        4 => json!({ "~": "Boolean" }),
        5 => json!({ "~": "Null" }),
        6 => json!({ "~": "Literal", "const": random.pick(&TEXTS) }),
        // Not `Undefined`: an `undefined` that was made is not seen in JSON, so that the promises cannot be checked here.
        7 => json!({ "~": random.pick(&["Unknown", "Any", "Never", "Unheard"]) }),
        8 => json!({ "~": "String", "pattern": "^[a-c]+$" }),
        9 | 10 => object(random, depth),
        11 => {
            let mut array = json!({ "~": "Array", "items": schema(random, depth - 1) });
            if random.chance(30) {
                array["minItems"] = json!(random.below(3));
            }
            if random.chance(20) {
                array["uniqueItems"] = json!(true);
            }
            array
        }
        12 => {
            let items = several(random, depth - 1, schema);
            json!({ "~": "Tuple", "minItems": items.len(), "maxItems": items.len(), "items": items })
        }
        13 => json!({ "~": "Union", "anyOf": several(random, depth - 1, schema) }),
        _ => json!({ "~": "Intersect", "allOf": several(random, depth - 1, |random, depth| {
            if depth == 0 { schema(random, depth) } else { object(random, depth) }
        }) }),
    };
    if random.chance(12) {
        schema["default"] = value(random, 2);
    }
    schema
}

fn several(random: &mut Random, depth: u32, make: fn(&mut Random, u32) -> Value) -> Vec<Value> {
    (0..=random.below(3)).map(|_| make(random, depth)).collect()
}

fn object(random: &mut Random, depth: u32) -> Value {
    let below = depth.saturating_sub(1);
    if random.chance(15) {
        let mut record = json!({
            "~": "Record", "patternProperties": { "^[a-c]$": schema(random, below) }
        });
        if random.chance(40) {
            record["additionalProperties"] = json!(random.chance(50));
        }
        return record;
    }
    let mut properties = Map::new();
    let mut required = Vec::new();
    for _ in 0..random.below(4) {
        let name = (*random.pick(&NAMES)).to_owned();
        let mut property = schema(random, below);
        if random.chance(60) {
            if !required.contains(&name) {
                required.push(name.clone());
            }
        } else if property.is_object() {
            required.retain(|other| *other != name);
            property["~?"] = json!(true);
        }
        properties.insert(name, property);
    }
    let mut object = json!({ "~": "Object", "properties": properties, "required": required });
    match random.below(6) {
        0 => object["additionalProperties"] = json!(false),
        1 => object["additionalProperties"] = json!(true),
        2 => object["additionalProperties"] = schema(random, below),
        _ => {}
    }
    object
}

fn json_schema(random: &mut Random, depth: u32) -> Value {
    let mut out = Map::new();
    let types = [
        "string", "number", "integer", "boolean", "null", "array", "object",
    ];
    if random.chance(60) {
        let word = random.pick(&types);
        let other = random.pick(&types);
        let list = random.chance(25);
        out.insert(
            "type".into(),
            if list && word != other {
                json!([word, other])
            } else {
                json!(word)
            },
        );
    }
    if random.chance(15) {
        out.insert("enum".into(), json!([scalar(random)]));
    }
    if random.chance(10) {
        out.insert("const".into(), scalar(random));
    }
    if random.chance(10) {
        out.insert("default".into(), value(random, 2));
    }
    if random.chance(10) {
        out.insert("minimum".into(), json!(random.pick(&NUMBERS)));
    }
    if depth > 0 {
        json_containers(random, depth - 1, &mut out);
    }
    Value::Object(out)
}

fn json_containers(random: &mut Random, below: u32, out: &mut Map<String, Value>) {
    if random.chance(40) {
        let mut properties = Map::new();
        for _ in 0..random.below(4) {
            properties.insert(
                (*random.pick(&NAMES)).to_owned(),
                json_schema(random, below),
            );
        }
        out.insert("properties".into(), properties.into());
    }
    if random.chance(20) {
        out.insert("required".into(), json!([random.pick(&NAMES)]));
    }
    if random.chance(20) {
        let additional = if random.chance(50) {
            json!(random.chance(50))
        } else {
            json_schema(random, below)
        };
        out.insert("additionalProperties".into(), additional);
    }
    if random.chance(15) {
        out.insert(
            "patternProperties".into(),
            json!({ "^x-": json_schema(random, below) }),
        );
    }
    if random.chance(20) {
        out.insert("items".into(), json_schema(random, below));
    }
    for word in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        if random.chance(12) {
            out.insert(word.into(), several(random, below, json_schema).into());
        }
    }
    if random.chance(8) {
        for word in ["if", "then", "else"] {
            out.insert(word.into(), json_schema(random, below));
        }
    }
    if random.chance(8) {
        out.insert("not".into(), json_schema(random, below));
    }
    if random.chance(8) {
        out.insert("unevaluatedProperties".into(), json!(random.chance(50)));
    }
    if random.chance(8) {
        let name = *random.pick(&NAMES);
        out.insert(
            "dependentSchemas".into(),
            json!({ name: json_schema(random, below) }),
        );
        out.insert(
            "dependentRequired".into(),
            json!({ name: [random.pick(&NAMES)] }),
        );
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

struct Case<'c> {
    label: String,
    program: &'c Program,
    value: &'c Value,
    mode: Mode,
}

impl Case<'_> {
    fn hold_promises(&self) -> Done {
        let Self {
            label,
            program,
            value,
            mode,
        } = self;
        let done =
            try_run(program, value, *mode).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(
            done.same, !done.changed,
            "{label}: the same value, or a changed one"
        );
        let result = done.value.clone().expect("JSON gives JSON");
        if !done.changed {
            // As JavaScript has it: `0.0` is `0`.
            let canonical = |value: &Value| Document::from(value).root().stringify();
            assert_eq!(canonical(&result), canonical(value), "{label}");
        }
        let passes = |value: &Value| {
            let document = Document::from(value);
            check(program, &mut JsonAccess::new(), (&document).into()).unwrap()
        };
        // A required property that accepts anything is filled with `undefined`: fine, and not there in JSON. A note says
        // so, except within what was made up or replaced, or stood in a default.
        let accepts_anything = ["\"Unknown\"", "\"Any\""]
            .iter()
            .any(|kind| label.contains(kind));
        let is_made = |note: &Note| matches!(note.what, What::MadeUp | What::Replaced { .. });
        let may_hold_undefined = done.notes.iter().any(|note| note.what == What::NotFilled)
            || accepts_anything
                && (label.contains("\"default\"") || done.notes.iter().any(is_made));
        if may_hold_undefined {
            assert!(
                done.valid || !passes(&result),
                "{label}: better than reported"
            );
        } else {
            assert_eq!(passes(&result), done.valid, "{label}");
        }
        assert!(
            done.valid || !done.notes.is_empty(),
            "{label}: invalid without a note"
        );
        if passes(value) && *mode == Mode::Keep {
            assert!(done.same, "{label}: a valid value was changed to {result}");
            assert!(done.notes.is_empty(), "{label}: {:?}", done.notes);
        }
        let again = try_run(program, &result, *mode).expect("a second time");
        let notes: Vec<String> = done.notes.iter().map(short).collect();
        assert_eq!(
            again.value.as_ref(),
            Some(&result),
            "{label}: not stable, {notes:?}"
        );
        done
    }
}

#[test]
fn normalisation_keeps_its_promises() {
    let seed = number_from("OPERATIONS_SEED").unwrap_or_else(|| {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |elapsed| {
                u64::from(elapsed.subsec_nanos()) + elapsed.as_secs()
            })
    });
    let cases = number_from("OPERATIONS_CASES").unwrap_or(4_000);
    println!("normalise: seed {seed}, {cases} schemas");
    let mut random = Random(seed.max(1));
    let (mut changed, mut invalid, mut total) = (0, 0, 0);
    for number in 0..cases {
        let schema = if random.chance(60) {
            schema(&mut random, 3)
        } else {
            json_schema(&mut random, 3)
        };
        let Ok(program) = compile(&typebox(&schema), &CompileOptions::default()) else {
            continue;
        };
        let mut value = value(&mut random, 3);
        for round in 0..6 {
            let mode = if round % 3 == 2 {
                Mode::Keep
            } else {
                Mode::Normalise
            };
            let label = format!("seed {seed}, schema {number}, {mode:?}: {schema} on {value}");
            let done = Case {
                label,
                program: &program,
                value: &value,
                mode,
            }
            .hold_promises();
            total += 1;
            changed += u32::from(done.changed);
            invalid += u32::from(!done.valid);
            // Go on from what came out, a little damaged: values that nearly fit say most.
            value = done.value.unwrap_or_default();
            damage(&mut random, &mut value);
        }
    }
    println!("normalise: {total} runs, {changed} changed the value, {invalid} left it invalid");
}

/// Changes something somewhere in a value.
fn damage(random: &mut Random, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() && random.chance(80) => {
            let index = usize::try_from(random.below(items.len() as u64)).unwrap();
            damage(random, &mut items[index]);
        }
        Value::Object(map) if random.chance(80) => {
            let names: Vec<String> = map.keys().cloned().collect();
            match random.below(3) {
                0 if !names.is_empty() => {
                    map.remove(random.pick(&names));
                }
                1 => {
                    map.insert((*random.pick(&NAMES)).to_owned(), self::value(random, 1));
                }
                _ if !names.is_empty() => {
                    if let Some(inner) = map.get_mut(random.pick(&names)) {
                        damage(random, inner);
                    }
                }
                _ => {}
            }
        }
        other => *other = self::value(random, 1),
    }
}
