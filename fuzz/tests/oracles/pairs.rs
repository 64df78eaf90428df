//! The schema engine over JSON and the crate `jsonschema`, on random schemas and values of every draft.
//!
//! Left out, because there the two promise different things: `nullable` (we honour it everywhere), `format` (the official
//! suite judges that), and schemas that are not well formed.

use jsonschema::{Draft as Theirs, Validator};
use operations_fuzz::random::{Random, seed, setting};
use operations_schema::compile::Draft;
use operations_schema::json::Document;
use operations_schema::{CompileOptions, Program, Source, compile};
use serde_json::{Map, Value, json};

use crate::schemas::Schemas;
use crate::tally::Tally;
use crate::values::{any, near};

const VALUES_PER_SCHEMA: u64 = 10;

const DRAFTS: [(Draft, Theirs); 5] = [
    (Draft::Draft4, Theirs::Draft4),
    (Draft::Draft6, Theirs::Draft6),
    (Draft::Draft7, Theirs::Draft7),
    (Draft::Draft201909, Theirs::Draft201909),
    (Draft::Draft202012, Theirs::Draft202012),
];

#[test]
fn jsonschema_agrees() {
    let seed = seed();
    let wanted = setting("OPERATIONS_PAIRS").unwrap_or(10_000);
    println!("seed {seed}, {wanted} pairs");
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    for _ in 0..wanted.div_ceil(VALUES_PER_SCHEMA) {
        let drafts = *random.pick(&DRAFTS);
        let schema = Schemas::new(&mut random, drafts.0).document();
        let (ours, theirs) = (ours(&schema, drafts.0), theirs(&schema, drafts.1));
        for _ in 0..VALUES_PER_SCHEMA {
            let value = if random.chance(75) {
                near(&schema, &schema, &mut random, 0)
            } else {
                any(&mut random, 2)
            };
            compare(&ours, &theirs, &(drafts, &schema, value), &mut tally);
        }
    }
    tally.settle(&format!("schemas and values, seed {seed}"));
    for verdict in ["pass", "fail"] {
        assert!(
            tally.counted(verdict) as u64 * 4 > wanted,
            "hardly any value is a {verdict}"
        );
    }
}

/// Counts a pair, and looks for the reason if the two disagree on it.
fn compare(
    ours: &Result<Program, String>,
    theirs: &Result<Validator, String>,
    (drafts, schema, value): &((Draft, Theirs), &Value, Value),
    tally: &mut Tally,
) {
    let verdict = |theirs: &Result<Validator, String>, value: &Value| match theirs {
        Ok(validator) => Ok(validator.is_valid(value)),
        Err(error) => Err(error.clone()),
    };
    let ours = match ours {
        Ok(program) => program
            .check_json(&Document::from(value))
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.clone()),
    };
    let theirs = verdict(theirs, value);
    match ours {
        Ok(true) => tally.count("pass"),
        Ok(false) => tally.count("fail"),
        Err(_) => {}
    }
    if ours == theirs && ours.is_ok() {
        return;
    }
    let explains = |corrections: &[Correction]| {
        let (mut schema, mut value) = ((*schema).clone(), value.clone());
        for (_, correct) in corrections {
            correct(drafts.0, &mut schema, &mut value);
        }
        verdict(&self::theirs(&schema, drafts.1), &value) == ours
    };
    let single = CORRECTIONS
        .iter()
        .find(|correction| explains(&[**correction]));
    if let Some((name, _)) = single {
        tally.count(name);
    } else if explains(&CORRECTIONS) {
        tally.count("several of these");
    } else {
        let draft = drafts.0;
        tally.unexplained(format!(
            "{draft:?}: {schema} on {value}: ours {ours:?}, theirs {theirs:?}"
        ));
    }
}

fn ours(schema: &Value, draft: Draft) -> Result<Program, String> {
    let options = CompileOptions {
        default_draft: draft,
        assert_formats: false,
        ..CompileOptions::default()
    };
    let source = Source::try_from(schema).map_err(|error| error.to_string())?;
    compile(&source, &options).map_err(|error| error.to_string())
}

fn theirs(schema: &Value, draft: Theirs) -> Result<Validator, String> {
    let options = jsonschema::options()
        .with_draft(draft)
        .should_validate_formats(false);
    options.build(schema).map_err(|error| error.to_string())
}

/// Why the crate judges some pairs differently, and how they are written so that it does not. Once that is taken out of
/// the way, the two have to agree.
type Correction = (&'static str, fn(Draft, &mut Value, &mut Value));

const CORRECTIONS: [Correction; 3] = [
    (
        "explained: to the crate a dot matches U+2028 and U+2029; to ECMAScript these end a line",
        |_, schema, _| replace_dots(schema),
    ),
    (
        "explained: 1.0 is no integer to the crate in draft 4; JavaScript cannot tell it from 1",
        |draft, _, value| {
            if draft == Draft::Draft4 {
                whole_numbers(value);
            }
        },
    ),
    (
        "explained: in 2019-09 the crate takes what `contains` found for evaluated; that came with 2020-12",
        |draft, schema, _| {
            if draft == Draft::Draft201909 {
                hide_contains(schema);
            }
        },
    ),
];

/// Writes out what a dot means.
fn replace_dots(schema: &mut Value) {
    let written_out = |pattern: &str| pattern.replace('.', "[^\\n\\r\u{2028}\u{2029}]");
    each_object(schema, &mut |words| {
        if let Some(Value::String(pattern)) = words.get_mut("pattern") {
            *pattern = written_out(pattern);
        }
        if let Some(Value::Object(patterns)) = words.get_mut("patternProperties") {
            let replaced = std::mem::take(patterns).into_iter();
            *patterns = replaced
                .map(|(pattern, schema)| (written_out(&pattern), schema))
                .collect();
        }
    });
}

/// Writes numbers without a fraction of zero.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "whole numbers of this size are the same"
            )]
            if let Some(float) = number.as_f64()
                && float.fract() == 0.0
                && float.abs() < 1e15
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(entries) => entries.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Puts `contains` behind two negations, which change no verdict and hide what it found.
fn hide_contains(schema: &mut Value) {
    each_object(schema, &mut |words| {
        let moved = ["contains", "minContains", "maxContains"].into_iter();
        let moved: Map<_, _> = moved.filter_map(|word| words.remove_entry(word)).collect();
        if moved.is_empty() {
            return;
        }
        let hidden = json!({ "not": { "not": moved } });
        match words.get_mut("allOf") {
            Some(Value::Array(all)) => all.push(hidden),
            _ => _ = words.insert("allOf".to_owned(), json!([hidden])),
        }
    });
}

fn each_object(value: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        Value::Object(entries) => {
            entries
                .values_mut()
                .for_each(|entry| each_object(entry, change));
            change(entries);
        }
        _ => {}
    }
}
