//! From what a handler produced to what the caller gets: detect, wrap, normalise, check.

use std::fmt::Write as _;

use operations_schema::host::JsonRef;
use operations_schema::json::{Json, push_string};
use operations_schema::{Interrupt, Mode, Program};

use super::MAX_ERRORS;
use super::handler::{Envelope, Produced};
use super::operation::OutputMode;
use super::warnings::{Remark, Warnings};
use crate::clock;
use crate::envelope::EnvelopeParts;

/// What happens to the outputs of one operation.
pub(super) struct Shaping<'a> {
    pub(super) operation_id: &'a str,
    pub(super) program: Option<&'a Program>,
    pub(super) mode: OutputMode,
    pub(super) warnings: &'a Warnings,
}

impl Shaping<'_> {
    /// The envelope, as JSON. This does not fail: what cannot be made right is kept and reported.
    pub(super) fn envelope(&self, produced: Produced) -> String {
        match produced {
            Produced::Envelope(envelope) => self.known(&envelope),
            Produced::Value(None) => self.local(JsonRef::Undefined),
            Produced::Value(Some(document)) => match EnvelopeParts::of(document.root()) {
                Some(parts) => self.detected(document.root(), &parts),
                None => self.local((&document).into()),
            },
        }
    }

    fn known(
        &self,
        Envelope {
            data,
            meta,
            is_declared,
        }: &Envelope,
    ) -> String {
        let data = JsonRef::from(data.as_ref());
        let replacement = if *is_declared {
            self.shaped(data)
        } else {
            None
        };
        written(data, replacement, meta)
    }

    fn local(&self, data: JsonRef<'_>) -> String {
        let mut meta = String::from(r#"{"source":"local","operationId":"#);
        push_string(&mut meta, self.operation_id);
        // Writing to a string cannot fail.
        let _ = write!(meta, r#","timestamp":{}}}"#, clock::now().trunc());
        written(data, self.shaped(data), &meta)
    }

    /// An envelope of the handler's own, with whatever else it holds.
    fn detected(&self, whole: Json<'_>, parts: &EnvelopeParts<'_>) -> String {
        let replacement = if parts.is_declared() {
            self.shaped(JsonRef::Value(parts.data))
        } else {
            None
        };
        let mut json = String::with_capacity(whole.text().len());
        let Some(replacement) = replacement else {
            whole.push_to(&mut json);
            return json;
        };
        json.push('{');
        let members = (0..).map_while(|index| whole.member(index));
        for (index, (name, value)) in members.enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(name.text());
            json.push(':');
            if name.as_str() == Some("data") {
                json.push_str(&replacement);
            } else {
                value.push_to(&mut json);
            }
        }
        json.push('}');
        json
    }

    /// What takes the place of the data, if anything does.
    fn shaped(&self, data: JsonRef<'_>) -> Option<String> {
        let program = self.program?;
        match self.try_shape(program, data) {
            Ok(replacement) => replacement,
            Err(interrupt) => {
                let remark = Remark {
                    path: String::new(),
                    message: interrupt.to_string(),
                };
                self.warn(vec![remark], LEFT);
                None
            }
        }
    }

    fn try_shape(&self, program: &Program, data: JsonRef<'_>) -> Result<Option<String>, Interrupt> {
        let mode = match self.mode {
            OutputMode::Normalise => Mode::Normalise,
            OutputMode::Keep => Mode::Keep,
            OutputMode::Off => {
                if !program.check_json(data)? {
                    let errors = program.errors_json(data, MAX_ERRORS)?;
                    let remarks = errors.into_iter().map(|error| Remark {
                        path: error.path,
                        message: error.message,
                    });
                    self.warn(remarks.collect(), LEFT);
                }
                return Ok(None);
            }
        };
        let done = program.normalise_json(data, mode)?;
        let remarks = done.notes.into_iter().map(|note| Remark {
            message: note.what.to_string(),
            path: note.path,
        });
        self.warn(remarks.collect(), "");
        Ok(done.replacement)
    }

    fn warn(&self, remarks: Vec<Remark>, what: &str) {
        if !remarks.is_empty() {
            self.warnings.about(self.operation_id, remarks, what);
        }
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
