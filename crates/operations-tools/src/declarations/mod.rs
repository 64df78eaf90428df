//! TypeScript declarations of operations, for a prompt: as many as a number of tokens allows, each in as
//! much detail as its share allows. Types that schemas name are declared once, above the operations.
//!
//! ```ts
//! type Issue = { id: number; title: string };
//! interface Operations {
//!   /** Create an issue */
//!   "github.issues/create"(input: { owner: string; repo: string; body: { title: string } }): Promise<Issue>;
//! }
//! ```

mod names;
mod schema;
mod scope;
mod texts;
mod tokens;

use std::fmt::Write as _;

use names::TypeNames;
use schema::{Detail, Writer};
pub use scope::SchemaText;
use scope::Scope;
use texts::{is_identifier, one_line};
pub use tokens::estimated_tokens;

/// What is declared of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    /// The id: namespace, dot, name.
    pub id: &'a str,
    /// What it does.
    pub description: &'a str,
    /// Whether it yields many results.
    pub is_stream: bool,
    /// The input schema.
    pub input: &'a SchemaText,
    /// The output schema.
    pub output: &'a SchemaText,
}

/// How much is said of an operation; tried in turn until it fits into its share.
const LEVELS: [Level; 6] = [
    Level::new(Detail::new(8, 5, 200), Detail::new(5, 3, 80), 400),
    Level::new(Detail::new(6, 3, 60), Detail::new(4, 2, 40), 300),
    Level::new(Detail::new(4, 2, 40), Detail::new(3, 1, 24), 200),
    Level::new(Detail::new(3, 1, 24), Detail::new(2, 0, 16), 160),
    Level::new(Detail::new(2, 0, 16), Detail::new(1, 0, 8), 120),
    Level::new(Detail::new(1, 0, 12), Detail::new(0, 0, 0), 80),
];

#[derive(Debug, Clone, Copy)]
struct Level {
    input: Detail,
    output: Detail,
    /// Characters of the description.
    description: usize,
}

impl Level {
    const fn new(input: Detail, output: Detail, description: usize) -> Self {
        Self {
            input,
            output,
            description,
        }
    }
}

/// An operation gets this part of all tokens, or this many.
const SHARE: usize = 12;
const MIN_SHARE: usize = 90;

/// Characters of a token, at the most: what is longer than that many times its share does not fit.
const MAX_CHARACTERS: usize = 8;

const BEFORE: &str = "interface Operations {\n";
const AFTER: &str = "}\n";
/// What the last line about those that are not shown may take.
const LINE_LEFT_OUT: usize = 24;

/// Declarations within a number of tokens.
#[derive(Debug)]
pub struct Declarations {
    budget: usize,
    used: usize,
    /// Whether one operation may use all there is, and says what its parameters mean.
    is_thorough: bool,
    types: TypeNames,
    operations: Vec<String>,
}

impl Declarations {
    /// None yet. With `is_thorough` an operation may use all the tokens, and its parameters are explained.
    #[must_use]
    pub fn new(budget: usize, is_thorough: bool) -> Self {
        Self {
            budget,
            used: estimated_tokens(BEFORE) + estimated_tokens(AFTER) + LINE_LEFT_OUT,
            is_thorough,
            types: TypeNames::default(),
            operations: Vec::new(),
        }
    }

    /// Adds an operation. Returns whether there was room for it.
    pub fn add(&mut self, operation: &Described<'_>) -> bool {
        let room = self.budget.saturating_sub(self.used);
        let share = if self.is_thorough {
            room
        } else {
            room.min((self.budget / SHARE).max(MIN_SHARE))
        };
        let namespace = operation.id.rsplit_once('.').map_or("", |(space, _)| space);
        let (input, output) = (
            Scope::new(operation.input, namespace),
            Scope::new(operation.output, namespace),
        );
        let name = operation
            .id
            .rsplit_once('.')
            .map_or(operation.id, |(_, name)| name);
        let fallback = format!("{name}-type");
        for (at, level) in LEVELS.iter().enumerate() {
            let is_last = at + 1 == LEVELS.len();
            let limit = if is_last { room } else { share };
            let mut types = self.types.begin();
            let text = self.declared(operation, *level, &input, &output, limit, &mut types);
            let (short, names) = types.shortened(text.clone());
            let added: usize = types.added().map(estimated_tokens).sum();
            let tokens = estimated_tokens(&short) + estimated_tokens(&names) + added;
            if tokens <= limit {
                let finished = types.finish(&text);
                for (object, name) in self.types.commit(finished, &fallback) {
                    for earlier in &mut self.operations {
                        *earlier = earlier.replace(&object, &name);
                    }
                }
                self.operations.push(short);
                self.used += tokens;
                return true;
            }
        }
        false
    }

    fn declared(
        &self,
        operation: &Described<'_>,
        level: Level,
        input: &Scope<'_>,
        output: &Scope<'_>,
        limit: usize,
        types: &mut names::Trial<'_>,
    ) -> String {
        let room = limit.saturating_mul(MAX_CHARACTERS).max(2_000);
        let mut text = String::new();
        let description = one_line(operation.description, level.description);
        if !description.is_empty() {
            text.push_str("  /** ");
            text.push_str(&description);
            text.push_str(" */\n");
        }
        text.push_str("  ");
        if is_identifier(operation.id) {
            text.push_str(operation.id);
        } else {
            text.push_str(&serde_json::Value::from(operation.id).to_string());
        }
        text.push('(');
        Writer::new(input, level.input, types, self.is_thorough, room).parameter(&mut text);
        text.push_str("): ");
        text.push_str(if operation.is_stream {
            "AsyncIterable<"
        } else {
            "Promise<"
        });
        Writer::new(output, level.output, types, false, room).root(&mut text);
        text.push_str(">;\n");
        text
    }

    /// The declarations, with a line about how many more operations there are.
    #[must_use]
    pub fn text(&self, left_out: usize) -> String {
        let mut text = String::new();
        for declared in self.types.texts() {
            text.push_str(declared);
        }
        text.push_str(BEFORE);
        for operation in &self.operations {
            text.push_str(operation);
        }
        if left_out > 0 {
            let _ = writeln!(text, "  // {left_out} more operations are not shown");
        }
        text.push_str(AFTER);
        text
    }
}
