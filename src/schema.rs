//! Compiled schemas, as the facade sees them.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, Object, Unknown};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_core::number::whole;
use operations_schema::bounds::{EMITTED_UNITS, WORK_FROM_OUTSIDE};
use operations_schema::check::{Part, check_part, check_within, errors_of_refused};
use operations_schema::compile::Draft;
use operations_schema::emit::{self, Emitted};
use operations_schema::formats::KnownFormat;
use operations_schema::ir::{Const, ConstId, FormatId, PatternId};
use operations_schema::json::Document;
use operations_schema::normalise::{Mode, normalise, shape_output};
use operations_schema::number;
use operations_schema::patterns::{Dialect, Pattern};
use operations_schema::work::Budget;
use operations_schema::{
    CompileOptions, Interrupt, Limit, NodeId, Program, Source, ValueError, collect_errors, compile,
};
use serde_json::{Value, json};

use crate::interop::bridge::Bridge;
use crate::interop::raw::{Handle, Pending, Raw};
use crate::interop::runtime::Runtime;
use crate::live::LiveAccess;

/// A compiled schema. It holds no reference to anything in JavaScript: what it needs of the user's
/// schema is passed into each call as `callbacks`.
#[napi]
pub struct Schema {
    bridge: Arc<Bridge>,
    program: Arc<Program>,
}

/// Reads the options of a compilation, as `CompileOptions` in `facade/schema/compiled.ts` has them.
fn options(text: &str) -> Result<CompileOptions, CallError> {
    let wanted = parse(text)?;
    let flag = |name: &str, default| wanted.get(name).and_then(Value::as_bool).unwrap_or(default);
    let mut options = CompileOptions {
        assert_formats: flag("assertFormats", true),
        openapi: flag("openapi", false),
        untrusted: flag("untrusted", false),
        ..CompileOptions::default()
    };
    let draft = wanted.get("draft").and_then(Value::as_str);
    if let Some(draft) = draft.and_then(Draft::from_meta_schema) {
        options.default_draft = draft;
    }
    for (uri, document) in wanted
        .get("documents")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let source =
            Source::try_from(document).map_err(|error| CallError::invalid(error.to_string()))?;
        options.documents.insert(uri.clone(), source);
    }
    Ok(options)
}

#[napi]
impl Schema {
    /// Compiles a schema in the facade's encoding; the options, if any, are JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        encoded: String,
        options_json: Option<String>,
    ) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let program = bridge.run(&env, || {
            let options = options_json
                .map_or_else(|| Ok(CompileOptions::default()), |text| options(&text))?;
            Source::from_encoded(&encoded)
                .and_then(|source| compile(&source, &options))
                .map_err(|error| CallError::invalid(error.to_string()))
        })?;
        Ok(Self {
            bridge,
            program: Arc::new(program),
        })
    }

    /// Whether a live value passes, as a cost in steps: negative when it does not pass, never zero.
    /// With `quickly`, a schema that may come from outside gets only a part of its allowance.
    #[napi(catch_unwind)]
    pub fn check(
        &self,
        env: &Env,
        value: Unknown<'_>,
        callbacks: Object<'_>,
        quickly: bool,
    ) -> napi::Result<i32> {
        let mut budget = self.program.budget();
        if quickly && self.program.is_from_outside() {
            budget = Budget::new(QUICK_WORK);
        }
        let passes = self.walk(env, &value, &callbacks, |program, host, value| {
            check_within(program, host, value, &mut budget)
        })?;
        Ok(cost(passes, budget.spent() / UNITS_PER_STEP))
    }

    /// Whether a live value passes one node of the schema, as a cost.
    #[napi(catch_unwind)]
    pub fn check_part(
        &self,
        env: &Env,
        value: Unknown<'_>,
        callbacks: Object<'_>,
        node: u32,
        work: Option<f64>,
    ) -> napi::Result<i32> {
        self.part(env, &value, &callbacks, work, Part::Node(NodeId(node)))
    }

    /// TypeBox's `uniqueItems`, as a cost.
    #[napi(catch_unwind)]
    pub fn is_unique(
        &self,
        env: &Env,
        array: Unknown<'_>,
        callbacks: Object<'_>,
        work: Option<f64>,
    ) -> napi::Result<i32> {
        self.part(env, &array, &callbacks, work, Part::Unique)
    }

    /// JSON Schema's `uniqueItems`, as a cost.
    #[napi(catch_unwind)]
    pub fn is_distinct(
        &self,
        env: &Env,
        array: Unknown<'_>,
        callbacks: Object<'_>,
        work: Option<f64>,
    ) -> napi::Result<i32> {
        self.part(env, &array, &callbacks, work, Part::Distinct)
    }

    /// JSON Schema's equality with a constant of the schema, by its id, as a cost.
    #[napi(catch_unwind)]
    pub fn equals(
        &self,
        env: &Env,
        value: Unknown<'_>,
        callbacks: Object<'_>,
        id: u32,
        work: Option<f64>,
    ) -> napi::Result<i32> {
        self.part(env, &value, &callbacks, work, Part::Equals(ConstId(id)))
    }

    /// What is wrong with a live value: a JSON list of paths and messages in turn. `refused` says that it
    /// is known not to pass.
    #[napi(catch_unwind)]
    pub fn errors(
        &self,
        env: &Env,
        value: Unknown<'_>,
        callbacks: Object<'_>,
        max: u32,
        refused: bool,
    ) -> napi::Result<String> {
        let found = self.walk(env, &value, &callbacks, |program, host, value| {
            if refused {
                errors_of_refused(program, host, value, max as usize)
            } else {
                collect_errors(program, host, value, max as usize)
            }
        })?;
        Ok(report(&found))
    }

    /// A live value in the declared shape: `[value, notes, steps]`, `notes` being JSON: a list of paths and
    /// sentences in turn, `steps` the work of checking the result. Where there is nothing to change and nothing to say,
    /// which is the usual case, `steps` alone.
    #[napi(ts_return_type = "number | [unknown, string, number]", catch_unwind)]
    pub fn normalise<'env>(
        &self,
        env: &'env Env,
        value: Unknown<'env>,
        callbacks: Object<'env>,
        #[napi(ts_arg_type = "'normalise' | 'keep' | 'strict'")] mode: String,
        keeps_root: bool,
    ) -> napi::Result<Unknown<'env>> {
        let mode = match mode.as_str() {
            "keep" => Mode::Keep,
            "strict" => Mode::Strict,
            _ => Mode::Normalise,
        };
        let raw = Raw::new(env);
        let result = self.walk(env, &value, &callbacks, |program, host, value| {
            if keeps_root {
                shape_output(program, host, value, mode)
            } else {
                normalise(program, host, value, mode)
            }
        })?;
        let steps = raw.number((result.work / UNITS_PER_STEP) as f64);
        if !result.changed && result.notes.is_empty() {
            return raw.into_unknown(steps.map_err(Pending::into_error)?);
        }
        let notes = result
            .notes
            .iter()
            .flat_map(|note| [note.path.clone(), note.what.to_string()]);
        let text = notes.collect::<Value>().to_string();
        let parts = raw.array(3).and_then(|parts| {
            raw.set_element(parts, 0, result.value)?;
            raw.set_element(parts, 1, raw.string(&text)?)?;
            raw.set_element(parts, 2, steps?)?;
            Ok(parts)
        });
        raw.into_unknown(parts.map_err(Pending::into_error)?)
    }

    /// JavaScript for the check (`"check"`) or for "has exactly the declared shape" (`"exact"`), with
    /// what it must be given, as JSON. Nothing when the walk must serve.
    #[napi(catch_unwind)]
    pub fn emit(
        &self,
        env: Env,
        #[napi(ts_arg_type = "'check' | 'exact'")] what: String,
    ) -> napi::Result<Option<String>> {
        self.bridge.run(&env, || {
            let emitted = match what.as_str() {
                "exact" => emit::exact_source(&self.program),
                _ => emit::check_source(&self.program),
            };
            Ok(emitted
                .ok()
                .map(|emitted| self.describe(&emitted).to_string()))
        })
    }

    /// The fast check of the schema, as JSON for `facade/schema/fast-check.ts`. Nothing if it has none.
    #[napi(catch_unwind)]
    pub fn fast_check(&self) -> Option<String> {
        emit::fast_check(&self.program)
    }

    /// The name of a format by its id.
    #[napi(catch_unwind)]
    pub fn format(&self, id: u32) -> Option<String> {
        self.program
            .format(FormatId(id))
            .map(|format| format.name.to_string())
    }

    /// The source and the flags of a pattern by its id, as JSON.
    #[napi(catch_unwind)]
    pub fn pattern(&self, id: u32) -> Option<String> {
        self.program
            .pattern(PatternId(id))
            .map(|pattern| regular_expression(pattern).to_string())
    }

    /// Whether a pattern, by its id, matches a text, as a cost.
    #[napi(catch_unwind)]
    pub fn matches(&self, env: Env, id: u32, text: String, work: Option<f64>) -> napi::Result<i32> {
        self.counted(&env, work, |program, budget| {
            program
                .pattern(PatternId(id))
                .map_or(Ok(false), |pattern| pattern.matches(&text, budget))
        })
    }

    /// Whether a text has a format, by its id, as a cost. A format that the engine does not know says
    /// nothing.
    #[napi(catch_unwind)]
    pub fn has_format(
        &self,
        env: Env,
        id: u32,
        text: String,
        work: Option<f64>,
    ) -> napi::Result<i32> {
        self.counted(&env, work, |program, budget| {
            let known = program.format(FormatId(id)).and_then(|format| format.known);
            known.map_or(Ok(true), |known| known.accepts_within(&text, budget))
        })
    }

    /// What is thrown when emitted code has used up its allowance.
    #[napi(ts_return_type = "never", catch_unwind)]
    pub fn too_much_work(&self, env: Env) -> napi::Result<()> {
        self.bridge
            .run(&env, || Err(Interrupt::from(Limit::Work).into()))
    }

    /// Whether JSON text passes: the same schema on the other representation.
    #[napi(catch_unwind)]
    pub fn check_json(&self, env: Env, text: String) -> napi::Result<bool> {
        self.bridge.run(&env, || {
            let document = document(text)?;
            self.program.check_json(&document).map_err(CallError::from)
        })
    }

    /// What is wrong with JSON text, as `errors` returns it.
    #[napi(catch_unwind)]
    pub fn errors_json(&self, env: Env, text: String, max: u32) -> napi::Result<String> {
        self.bridge.run(&env, || {
            let document = document(text)?;
            self.program
                .errors_json(&document, max as usize)
                .map(|found| report(&found))
                .map_err(CallError::from)
        })
    }
}

impl Schema {
    #[cfg(feature = "test-hooks")]
    pub(crate) fn compiled(bridge: &Arc<Bridge>, program: Arc<Program>) -> Self {
        let bridge = Arc::clone(bridge);
        Self { bridge, program }
    }

    pub(crate) fn program(&self) -> Arc<Program> {
        Arc::clone(&self.program)
    }

    /// What emitted code may still spend, in the engine's own units.
    fn left(&self, work: Option<f64>) -> Budget {
        work.map_or_else(
            || self.program.budget(),
            |work| Budget::new(whole(work) / EMITTED_UNITS),
        )
    }

    /// A part of a check, for emitted code: a verdict as a cost, 0 where TypeBox would throw.
    fn part<'env>(
        &self,
        env: &Env,
        value: &Unknown<'env>,
        callbacks: &Object<'env>,
        work: Option<f64>,
        part: Part,
    ) -> napi::Result<i32> {
        let mut budget = self.left(work);
        self.walk(
            env,
            value,
            callbacks,
            |program, host, value| match check_part(program, host, part, value, &mut budget) {
                Err(Interrupt::TypeBoxThrows) => Ok(0),
                other => other.map(|passes| cost(passes, budget.spent() * EMITTED_UNITS)),
            },
        )
    }

    /// The same for a check of text alone.
    fn counted(
        &self,
        env: &Env,
        work: Option<f64>,
        check: impl FnOnce(&Program, &mut Budget) -> Result<bool, Limit>,
    ) -> napi::Result<i32> {
        self.bridge.run(env, || {
            let mut budget = self.left(work);
            let verdict = check(&self.program, &mut budget);
            verdict
                .map(|passes| cost(passes, budget.spent() * EMITTED_UNITS))
                .map_err(|limit| Interrupt::from(limit).into())
        })
    }

    /// Runs a walk over a live value; a value thrown by the user's code reaches JavaScript as it is.
    fn walk<'env, T>(
        &self,
        env: &Env,
        value: &Unknown<'env>,
        callbacks: &Object<'env>,
        work: impl FnOnce(&Program, &mut LiveAccess<'env>, Handle) -> Result<T, Interrupt>,
    ) -> napi::Result<T> {
        let raw = Raw::new(env);
        let mut host = LiveAccess::new(raw, raw.handle(callbacks)).map_err(Pending::into_error)?;
        let outcome = self.bridge.run(env, || {
            match work(&self.program, &mut host, raw.handle(value)) {
                Err(Interrupt::Thrown) => Ok(None),
                outcome => outcome.map(Some).map_err(CallError::from),
            }
        })?;
        match (outcome, host.take_pending()) {
            (Some(result), _) => Ok(result),
            (None, Some(pending)) => Err(pending.into_error()),
            (None, None) => Err(self.bridge.error(env, Interrupt::Thrown.into())),
        }
    }

    /// What emitted code must be given, as `facade/schema/emitted.ts` reads it.
    fn describe(&self, emitted: &Emitted) -> Value {
        let program = &self.program;
        json!({
            "body": emitted.body,
            "patterns": emitted.patterns.iter().map(|id| program.pattern(*id).map(regular_expression)).collect::<Vec<_>>(),
            "formats": emitted.formats.iter().map(|id| (id.0, program.format(*id).map(|format| &*format.name))).collect::<Vec<_>>(),
            "kinds": emitted.kinds.iter().map(|id| program.node(*id).meta.slot).collect::<Vec<_>>(),
            "consts": emitted.consts.iter().map(|id| constant(*id, program.constant(*id))).collect::<Vec<_>>(),
        })
    }
}

/// How many units of work are one of the steps that the facade counts.
const UNITS_PER_STEP: u64 = 64;

/// What a walk may cost where emitted code can take over: a fifth of what it may cost in all.
const QUICK_WORK: u64 = WORK_FROM_OUTSIDE / 5;

/// A verdict and what it took in one number: negative for a no, never zero.
fn cost(passes: bool, work: u64) -> i32 {
    let work = i32::try_from(work).unwrap_or(i32::MAX - 1) + 1;
    if passes { work } else { -work }
}

/// What JavaScript makes a `RegExp` of.
fn regular_expression(pattern: &Pattern) -> Value {
    let unicode = pattern.dialect() == Dialect::JsonSchema && !pattern.flags().contains('u');
    json!([
        pattern.source(),
        format!("{}{}", pattern.flags(), if unicode { "u" } else { "" })
    ])
}

/// A constant for emitted code: what it compares by `===`, or the id of what it leaves to `equals`.
fn constant(id: ConstId, constant: &Const) -> Value {
    match constant {
        Const::Slot(slot) => json!(["slot", slot]),
        Const::BigInt(digits) => json!(["bigint", digits]),
        Const::Number(number) => json!(["number", number::to_js_string(*number)]),
        Const::Undefined => json!(["undefined"]),
        Const::Null => json!(["value", null]),
        Const::Bool(value) => json!(["value", value]),
        Const::String(text) => json!(["value", text]),
        Const::Array(_) | Const::Object(_) | Const::Date(_) => json!(["id", id.0]),
    }
}

/// Whether a text has a format that the engine knows; nothing when it does not know it.
#[napi(catch_unwind)]
pub(crate) fn check_format(name: String, text: String) -> Option<bool> {
    KnownFormat::from_name(&name).map(|format| format.accepts(&text))
}

/// JSON Schema's `multipleOf`, exact in decimals.
#[napi(catch_unwind)]
pub(crate) fn is_multiple(value: f64, divisor: f64) -> bool {
    number::is_decimal_multiple(value, divisor)
}

/// The names of the formats that the engine knows.
#[napi(catch_unwind)]
pub(crate) fn known_formats() -> Vec<String> {
    KnownFormat::names().map(str::to_owned).collect()
}

fn report(found: &[ValueError]) -> String {
    let lines: Vec<&str> = found
        .iter()
        .flat_map(|error| [error.path.as_str(), error.message.as_str()])
        .collect();
    Value::from(lines).to_string()
}

fn document(text: String) -> Result<Document, CallError> {
    Document::parse(text).map_err(|why| CallError::invalid(format!("not JSON: {why}")))
}

fn parse(text: &str) -> Result<Value, CallError> {
    serde_json::from_str(text).map_err(|error| CallError::invalid(format!("not JSON: {error}")))
}
