//! From what a handler produced to what the caller gets: detect, wrap, normalise, check.

use std::fmt::Write as _;

use operations_schema::host::JsonRef;
use operations_schema::json::{Document, Json, push_string};
use operations_schema::{Interrupt, Mode, Program};
use serde_json::{Value, json};

use super::MAX_ERRORS;
use super::handler::{Envelope, Produced};
use super::operation::OutputMode;
use super::warnings::{Remark, Warnings};
use crate::call::{wire_bytes, wire_text};
use crate::clock;
use crate::envelope::EnvelopeParts;
use crate::error::{CallError, InfrastructureErrorCode};

/// What happens to the outputs of one operation.
pub(super) struct Shaping<'a> {
    pub(super) operation_id: &'a str,
    pub(super) program: Option<&'a Program>,
    pub(super) mode: OutputMode,
    pub(super) warnings: &'a Warnings,
}

impl Shaping<'_> {
    /// The envelope, as it travels. It fails where JSON cannot hold it, and in `strict` mode: elsewhere what cannot be
    /// made right is kept, noted and reported.
    pub(super) fn envelope(&self, produced: Produced) -> Result<String, CallError> {
        let json = match produced {
            Produced::Bytes(bytes, meta) => {
                let json = format!(r#"{{"data":{},"meta":{meta}}}"#, wire_bytes(&bytes));
                self.refuse_undeclared(&meta, || json.clone())?;
                return Ok(json);
            }
            Produced::Envelope(envelope) => self.known(&envelope),
            Produced::Value(None) => self.local(JsonRef::Undefined),
            Produced::Value(Some(document)) => match EnvelopeParts::of(document.root()) {
                Some(parts) => self.detected(document.root(), &parts),
                None => self.local((&document).into()),
            },
        }?;
        wire_text(json, "The answer cannot be sent")
    }

    fn known(
        &self,
        Envelope {
            data,
            meta,
            is_declared,
        }: &Envelope,
    ) -> Result<String, CallError> {
        let data = JsonRef::from(data.as_ref());
        if !is_declared {
            self.refuse_undeclared(meta, || {
                wire_text(written(data, None, meta), "").unwrap_or_default()
            })?;
        }
        let shaped = self.shaped_if(*is_declared, data, || written(data, None, meta))?;
        Ok(match shaped.meta(meta) {
            Some(meta) => written(data, shaped.replacement, &meta),
            None => written(data, shaped.replacement, meta),
        })
    }

    fn local(&self, data: JsonRef<'_>) -> Result<String, CallError> {
        let mut meta = String::from(r#"{"source":"local","operationId":"#);
        push_string(&mut meta, self.operation_id);
        // Writing to a string cannot fail.
        let _ = write!(meta, r#","timestamp":{}}}"#, clock::now().trunc());
        let shaped = self.shaped_if(true, data, || written(data, None, &meta))?;
        let meta = shaped.meta(&meta).unwrap_or(meta);
        Ok(written(data, shaped.replacement, &meta))
    }

    /// An envelope of the handler's own, with whatever else it holds.
    fn detected(&self, whole: Json<'_>, parts: &EnvelopeParts<'_>) -> Result<String, CallError> {
        let unchanged = || {
            let mut json = String::with_capacity(whole.text().len());
            whole.push_to(&mut json);
            json
        };
        let data = JsonRef::Value(parts.data);
        let shaped = self.shaped_if(parts.is_declared(), data, unchanged)?;
        if shaped.replacement.is_none() && shaped.notes.is_empty() {
            return Ok(unchanged());
        }
        let mut json = String::with_capacity(whole.text().len());
        json.push('{');
        let members = (0..).map_while(|index| whole.member(index));
        for (index, (name, value)) in members.enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(name.text());
            json.push(':');
            let replacement = match name.as_str() {
                Some("data") => shaped.replacement.clone(),
                Some("meta") => shaped.meta(value.text()),
                _ => None,
            };
            match replacement {
                Some(replacement) => json.push_str(&replacement),
                None => value.push_to(&mut json),
            }
        }
        json.push('}');
        Ok(json)
    }

    /// What becomes of the data; `envelope` is how it came, for the error of `strict` mode.
    fn shaped_if(
        &self,
        is_declared: bool,
        data: JsonRef<'_>,
        envelope: impl FnOnce() -> String,
    ) -> Result<Shaped, CallError> {
        let Some(program) = self.program.filter(|_| is_declared) else {
            return Ok(Shaped::default());
        };
        let shaped = self.try_shape(program, data).unwrap_or_else(|interrupt| {
            let remark = Remark {
                path: String::new(),
                message: interrupt.to_string(),
            };
            Shaped::left(vec![remark])
        });
        if self.mode == OutputMode::Strict && !shaped.notes.is_empty() {
            return Err(self.refusal(&shaped.notes, &envelope()));
        }
        if !shaped.notes.is_empty() {
            let what = if shaped.left { LEFT } else { "" };
            self.warnings
                .about(self.operation_id, shaped.notes.clone(), what);
        }
        Ok(shaped)
    }

    fn try_shape(&self, program: &Program, data: JsonRef<'_>) -> Result<Shaped, Interrupt> {
        let mode = match self.mode {
            OutputMode::Normalise => Mode::Normalise,
            OutputMode::Keep => Mode::Keep,
            OutputMode::Strict => Mode::Strict,
            OutputMode::Off if program.check_json(data)? => return Ok(Shaped::default()),
            OutputMode::Off => {
                let errors = program.errors_json(data, MAX_ERRORS)?;
                let remarks = errors.into_iter().map(|error| Remark {
                    path: error.path,
                    message: error.message,
                });
                return Ok(Shaped::left(remarks.collect()));
            }
        };
        let done = program.normalise_json(data, mode)?;
        let notes = done.notes.into_iter().map(|note| Remark {
            message: note.what.to_string(),
            path: note.path,
        });
        Ok(Shaped {
            replacement: done.replacement,
            notes: notes.collect(),
            left: false,
        })
    }

    /// Fails in `strict` mode where the source has noted that this is nothing that it declares.
    fn refuse_undeclared(
        &self,
        meta: &str,
        envelope: impl FnOnce() -> String,
    ) -> Result<(), CallError> {
        if self.mode != OutputMode::Strict {
            return Ok(());
        }
        let meta = Document::parse(meta).map(|meta| meta.root().to_value());
        let notes = &meta.unwrap_or_default()["notes"];
        let Some(note) = notes[0]["message"].as_str() else {
            return Ok(());
        };
        let id = self.operation_id;
        let message = format!("Operation {id} was not answered as declared: {note}");
        let details = json!({
            "operationId": id, "errors": notes, "envelope": value_of(&envelope()),
            "reason": "undeclared-type", "delivery": "done",
        });
        Err(CallError::new(InfrastructureErrorCode::ExecutionError, message).with_details(details))
    }

    /// What the caller is told when nothing may be made up. Worded as in `facade/registry/output.ts`.
    fn refusal(&self, notes: &[Remark], envelope: &str) -> CallError {
        let id = self.operation_id;
        let lines: Vec<String> = notes
            .iter()
            .map(|note| format!("  - {}: {}", note.path, note.message))
            .collect();
        let errors: Value = notes
            .iter()
            .map(|note| json!({ "path": note.path, "message": note.message }))
            .collect();
        let message = format!(
            "Validation failed for output of operation {id}:\n{}",
            lines.join("\n")
        );
        // An infinite number is `null` in the details of an error.
        let envelope = Document::parse(envelope).map(|envelope| envelope.root().stringify());
        let envelope = wire_text(envelope.unwrap_or_default(), "").unwrap_or_default();
        CallError::new(InfrastructureErrorCode::ValidationError, message)
            .with_details(json!({ "errors": errors, "envelope": value_of(&envelope) }))
    }
}

/// An envelope, for the details of an error. It is as it travels already.
fn value_of(envelope: &str) -> Value {
    let envelope = Document::parse(envelope).map(|envelope| envelope.root().to_value());
    envelope.unwrap_or_default()
}

/// What became of the data of an envelope.
#[derive(Default)]
struct Shaped {
    /// What takes the place of the data, if anything does.
    replacement: Option<String>,
    /// What was made up or replaced, or is still wrong.
    notes: Vec<Remark>,
    /// Nothing was tried.
    left: bool,
}

impl Shaped {
    fn left(notes: Vec<Remark>) -> Self {
        Self {
            replacement: None,
            notes,
            left: true,
        }
    }

    /// `meta` with the notes behind those that it has; nothing when there are no new ones.
    fn meta(&self, meta: &str) -> Option<String> {
        if self.notes.is_empty() {
            return None;
        }
        let document = Document::parse(meta.to_owned()).ok()?;
        let mut json = String::from("{");
        let mut notes = String::new();
        for (name, value) in (0..).map_while(|index| document.root().member(index)) {
            if name.as_str() == Some("notes") {
                for index in 0.. {
                    let Some(note) = value.element(index) else {
                        break;
                    };
                    note.push_to(&mut notes);
                    notes.push(',');
                }
                continue;
            }
            json.push_str(name.text());
            json.push(':');
            value.push_to(&mut json);
            json.push(',');
        }
        json.push_str("\"notes\":[");
        json.push_str(&notes);
        for (index, note) in self.notes.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str("{\"path\":");
            push_string(&mut json, &note.path);
            json.push_str(",\"message\":");
            push_string(&mut json, &note.message);
            json.push('}');
        }
        json.push_str("]}");
        Some(json)
    }
}

/// What is said of an output that nothing was done to.
const LEFT: &str = " and was left as it is";

fn written(data: JsonRef<'_>, replacement: Option<String>, meta: &str) -> String {
    let mut json = String::from("{");
    match (replacement, data) {
        (Some(replacement), _) => {
            json.push_str("\"data\":");
            json.push_str(&replacement);
            json.push(',');
        }
        (None, JsonRef::Value(data)) => {
            json.reserve(data.text().len() + meta.len() + 24);
            json.push_str("\"data\":");
            data.push_to(&mut json);
            json.push(',');
        }
        // JSON has no word for `undefined`: it is left out.
        (None, _) => {}
    }
    json.push_str("\"meta\":");
    json.push_str(meta);
    json.push('}');
    json
}
