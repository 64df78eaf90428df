//! From what a handler produced to what the caller gets: detect, wrap, normalise, check.

use std::fmt::Write as _;

use operations_schema::json::{Document, Json, push_string};
use operations_schema::value_access::JsonRef;
use operations_schema::{Interrupt, Mode, Program, ValueError};
use serde_json::{Value, json};

use super::handler::{Envelope, Produced};
use super::operation::OutputMode;
use super::warnings::Warnings;
use super::{MAX_ERRORS, format_errors};
use crate::call::{OUTPUT_REFUSED, is_wire_text, wire_bytes, wire_text};
use crate::clock;
use crate::envelope::{EnvelopeParts, ResponseEnvelope};
use crate::error::CallError;

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
    pub(super) fn envelope(&self, produced: Produced) -> Result<ResponseEnvelope, CallError> {
        let envelope = match produced {
            Produced::Bytes(bytes, meta) => {
                let data = wire_bytes(&bytes).to_string();
                let envelope = ResponseEnvelope::new(Some(&data), &meta);
                self.refuse_undeclared(&meta, || Some(envelope.text().to_owned()))?;
                return Ok(envelope);
            }
            Produced::Envelope(envelope) => self.known(&envelope)?,
            Produced::Value(None) => self.local(JsonRef::Undefined)?,
            Produced::Value(Some(document)) => match EnvelopeParts::of(document.root()) {
                Some(parts) => self.detected(document.root(), &parts)?.into(),
                None => self.local((&document).into())?,
            },
        };
        if is_wire_text(envelope.text()) {
            return Ok(envelope);
        }
        wire_text(envelope.into_text(), OUTPUT_REFUSED).map(ResponseEnvelope::from)
    }

    fn known(
        &self,
        Envelope {
            data,
            meta,
            is_declared,
        }: &Envelope,
    ) -> Result<ResponseEnvelope, CallError> {
        let data = JsonRef::from(data.as_ref());
        self.report_notes(meta);
        if !is_declared {
            self.refuse_undeclared(meta, || {
                wire_text(written(data, None, meta).into_text(), "").ok()
            })?;
        }
        let shaped =
            self.shaped_if(*is_declared, data, || written(data, None, meta).into_text())?;
        Ok(match shaped.meta(meta) {
            Some(meta) => written(data, shaped.replacement, &meta),
            None => written(data, shaped.replacement, meta),
        })
    }

    fn local(&self, data: JsonRef<'_>) -> Result<ResponseEnvelope, CallError> {
        let mut meta = String::from(r#"{"source":"local","operationId":"#);
        push_string(&mut meta, self.operation_id);
        // Writing to a string cannot fail.
        let _ = write!(meta, r#","timestamp":{}}}"#, clock::now().trunc());
        let shaped = self.shaped_if(true, data, || written(data, None, &meta).into_text())?;
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
        for (index, (name, value)) in whole.members().enumerate() {
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
            let remark = ValueError {
                path: String::new(),
                message: interrupt.to_string(),
            };
            Shaped::left(vec![remark])
        });
        if self.mode == OutputMode::Strict && !shaped.notes.is_empty() {
            return Err(self.refusal(&shaped.notes, &envelope()));
        }
        if !shaped.notes.is_empty() {
            let what = if shaped.left { LEFT } else { MISMATCH };
            self.warnings
                .about(self.operation_id, shaped.notes.clone(), what);
        }
        if let Some(hole) = &shaped.hole {
            return Err(CallError::invalid(format!(
                "The answer cannot be sent, because it cannot be written as JSON: /data{hole} is undefined"
            )));
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
                return Ok(Shaped::left(program.errors_json(data, MAX_ERRORS)?));
            }
        };
        let done = program.normalise_json(data, mode)?;
        let notes = done.notes.into_iter().map(|note| ValueError {
            message: note.what.to_string(),
            path: note.path,
        });
        Ok(Shaped {
            replacement: done.replacement,
            hole: done.hole,
            notes: notes.collect(),
            left: false,
        })
    }

    /// Logs what the source has noted.
    fn report_notes(&self, meta: &str) {
        if !meta.contains(r#""notes":["#) {
            return;
        }
        let meta = value_of(meta);
        let word = |note: &Value, name: &str| {
            let word = note.get(name).and_then(Value::as_str);
            word.unwrap_or_default().to_owned()
        };
        let notes = meta.get("notes").and_then(Value::as_array);
        let remarks: Vec<ValueError> = notes
            .into_iter()
            .flatten()
            .map(|note| ValueError {
                path: word(note, "path"),
                message: word(note, "message"),
            })
            .collect();
        if !remarks.is_empty() {
            self.warnings.about(self.operation_id, remarks, NOTED);
        }
    }

    /// Fails in `strict` mode where the source has noted that this is nothing that it declares. An envelope that cannot
    /// travel is left out.
    fn refuse_undeclared(
        &self,
        meta: &str,
        envelope: impl FnOnce() -> Option<String>,
    ) -> Result<(), CallError> {
        if self.mode != OutputMode::Strict {
            return Ok(());
        }
        let meta = value_of(meta);
        // The beginning of a body that went to a file is not the declared shape, and is not meant to be.
        if meta.get("spill").is_some() {
            return Ok(());
        }
        let first = meta.pointer("/notes/0/message").and_then(Value::as_str);
        let (Some(notes), Some(note)) = (meta.get("notes"), first) else {
            return Ok(());
        };
        let id = self.operation_id;
        let message = format!("Operation {id} answered differently than declared: {note}");
        let mut details = json!({
            "operationId": id, "errors": notes, "reason": "undeclared-type", "delivery": "done",
        });
        if let (Some(envelope), Some(details)) = (envelope(), details.as_object_mut()) {
            details.insert("envelope".to_owned(), value_of(&envelope));
        }
        Err(CallError::failed(message).with_details(details))
    }

    /// The caller's error for an output that does not match its schema. Worded as in `facade/registry/output.ts`.
    fn refusal(&self, notes: &[ValueError], envelope: &str) -> CallError {
        let id = self.operation_id;
        let (lines, errors) = format_errors(notes);
        let message = format!("Validation failed for output of operation {id}:\n{lines}");
        // An infinite number is `null` in the details of an error.
        let envelope = Document::parse(envelope).map(|envelope| envelope.root().stringify());
        let envelope = wire_text(envelope.unwrap_or_default(), "").unwrap_or_default();
        CallError::invalid(message)
            .with_details(json!({ "errors": errors, "envelope": value_of(&envelope) }))
    }
}

/// What a text that is JSON says.
fn value_of(json: &str) -> Value {
    Document::parse(json)
        .map(|document| document.root().to_value())
        .unwrap_or_default()
}

/// What became of the data of an envelope.
#[derive(Default)]
struct Shaped {
    /// What takes the place of the data, if anything does.
    replacement: Option<String>,
    /// Where it has `undefined` in a list, which no wire can carry.
    hole: Option<String>,
    /// What was made up or replaced, or is still wrong.
    notes: Vec<ValueError>,
    /// Nothing was tried.
    left: bool,
}

impl Shaped {
    fn left(notes: Vec<ValueError>) -> Self {
        Self {
            replacement: None,
            hole: None,
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
        for (name, value) in document.root().members() {
            if name.as_str() == Some("notes") {
                for note in value.elements() {
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
        json.push_str(
            format_errors(&self.notes)
                .1
                .to_string()
                .trim_start_matches('['),
        );
        json.push('}');
        Some(json)
    }
}

/// What is said of an output that had to be changed; of one that nothing was done to; and of one that its source has noted
/// something about.
const MISMATCH: &str = "does not match its outputSchema";
const LEFT: &str = "does not match its outputSchema and was left as it is";
const NOTED: &str = "comes with notes";

fn written(data: JsonRef<'_>, replacement: Option<String>, meta: &str) -> ResponseEnvelope {
    let data = match (replacement, data) {
        (Some(replacement), _) => Some(replacement.into()),
        (None, JsonRef::Value(data)) => Some(data.canonical()),
        // JSON has no word for `undefined`: it is left out.
        (None, _) => None,
    };
    ResponseEnvelope::new(data.as_deref(), meta)
}
