//! How the bytes of an input are read.
//!
//! An input is either text or a list of choices:
//!
//! * text: the first line holds letters that set options, the last line the value (JSON), and everything
//!   between is the schema, so that seeds can be written and crashes be read by hand;
//! * after a leading `!` every byte is a choice from which a schema and a value are made, so that the
//!   fuzzer gets past the parser and deep into the engine at once.

use arbitrary::Unstructured;
use operations_schema::compile::{Draft, Registry};
use operations_schema::{CompileOptions, Program, SchemaError, Source, compile};
use serde_json::{Value, json};

use crate::generate::Generator;

/// What schemas of an input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// JSON Schema documents.
    Json,
    /// The facade's encoding of TypeBox schemas.
    Encoded,
}

/// An input that could be read.
#[derive(Debug)]
pub struct Case {
    schema: Schema,
    /// How to compile it.
    options: CompileOptions,
    /// A value to check.
    pub value: Value,
}

/// A schema as it is kept: what is read from an encoding borrows its text.
#[derive(Debug)]
enum Schema {
    Json(Value),
    Encoded(String),
}

impl Case {
    /// Compiles the schema.
    ///
    /// # Errors
    /// When it is not one.
    pub fn compile(&self) -> Result<Program, SchemaError> {
        let source = match &self.schema {
            Schema::Json(schema) => Source::try_from(schema)?,
            Schema::Encoded(text) => Source::from_encoded(text)?,
        };
        compile(&source, &self.options)
    }

    /// Reads an input; nothing when it holds no schema.
    #[must_use]
    pub fn read(bytes: &[u8], language: Language) -> Option<Self> {
        match bytes.split_first()? {
            (b'!', choices) => Self::from_choices(choices, language),
            _ => Self::from_text(std::str::from_utf8(bytes).ok()?, language),
        }
    }

    fn from_choices(choices: &[u8], language: Language) -> Option<Self> {
        let mut choices = Unstructured::new(choices);
        let letters: [u8; 3] = choices.arbitrary().ok()?;
        let options = options(letters.into_iter().map(|byte| char::from(b'a' + byte % 16)));
        let mut generator = Generator::new(choices, language);
        // The value first: a long schema must not use up all choices.
        let value = generator.value();
        let schema = generator.schema();
        let schema = match language {
            Language::Json => Schema::Json(schema.to_json()),
            Language::Encoded => {
                let text = schema.to_encoding();
                // What is written like the facade writes it can be read.
                if let Err(error) = Source::from_encoded(&text) {
                    panic!("{error} in {text}");
                }
                Schema::Encoded(text)
            }
        };
        Some(Self {
            schema,
            options,
            value,
        })
    }

    fn from_text(text: &str, language: Language) -> Option<Self> {
        let (letters, rest) = text.split_once('\n')?;
        let (schema, value) = rest.trim_end().rsplit_once('\n')?;
        let schema = match language {
            Language::Json => Schema::Json(serde_json::from_str(schema).ok()?),
            Language::Encoded => Schema::Encoded(schema.to_owned()),
        };
        Some(Self {
            schema,
            options: options(letters.chars()),
            value: serde_json::from_str(value).ok()?,
        })
    }
}

/// The options that a line of letters means; a letter without a meaning says nothing.
fn options(letters: impl Iterator<Item = char>) -> CompileOptions {
    let mut options = CompileOptions::default();
    for letter in letters {
        match letter {
            'a' => options.default_draft = Draft::Draft4,
            'b' => options.default_draft = Draft::Draft6,
            'c' => options.default_draft = Draft::Draft7,
            'd' => options.default_draft = Draft::Draft201909,
            'e' => options.openapi = true,
            'f' => options.assert_formats = false,
            'g' => options.untrusted = true,
            'h' => options.documents = documents(),
            _ => {}
        }
    }
    options
}

/// Documents beside the schema, one of which leads on to the other and one back into itself.
fn documents() -> Registry {
    [
        (
            "doc:one",
            json!({ "$defs": { "a": { "$ref": "doc:two#here" } }, "anyOf": [{ "$ref": "#/$defs/a" }, { "type": "null" }] }),
        ),
        (
            "doc:two",
            json!({ "$anchor": "here", "properties": { "a": { "$ref": "#" } }, "required": ["b"] }),
        ),
    ]
    .into_iter()
    .filter_map(|(uri, document)| Some((uri.to_owned(), Source::try_from(&document).ok()?)))
    .collect()
}
