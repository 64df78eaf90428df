//! Undeclared properties: who declares what on one object, and the loop that finds the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::coverage::{json_may_change, may_change};
use super::literal;
use super::object::is_object;
use super::writer::{Local, Scope, Writer};
use crate::ir::{JsonSchema, KeyId, NodeId, PatternId, Program, Shape};

/// Beyond this many names a loop looks at the length of a name first.
const FEW_NAMES: usize = 16;

/// References followed at most while collecting declarations for one object.
const MOST_PARTS: usize = 256;

/// What the schemas that apply to one object declare together.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    /// The names of properties.
    pub(super) names: BTreeSet<KeyId>,
    /// Patterns of names.
    pub(super) patterns: BTreeSet<PatternId>,
    /// Something undeclared would be removed.
    pub(super) removes: bool,
    /// Some declarations depend on the value and are not in here.
    pub(super) depends: bool,
    parts: usize,
}

impl Declared {
    /// What a node declares for its value, whatever the value is.
    pub(super) fn by(program: &Program, id: NodeId) -> Self {
        let mut declared = Self::default();
        declared.add(program, id);
        declared
    }

    /// Adds what another node declares for the same value.
    pub(super) fn add(&mut self, program: &Program, id: NodeId) {
        let id = program.resolve(id);
        self.parts += 1;
        if self.parts > MOST_PARTS {
            self.depends = true;
            self.removes = true;
            return;
        }
        self.removes |= may_change(program, id);
        match program.shape(id) {
            Shape::Object(object) => {
                self.names
                    .extend(object.properties.iter().map(|property| property.key));
            }
            Shape::Intersect(intersect) => {
                for part in &intersect.all_of {
                    self.add(program, *part);
                }
            }
            Shape::Union(variants) => self.add_conditional(program, variants),
            Shape::Json(schema) => {
                self.add_json_always(program, schema);
                if let Some(logic) = &schema.logic {
                    for variants in logic.any_of.iter().chain(&logic.one_of) {
                        self.add_conditional(program, variants);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds what a JSON Schema declares apart from its `anyOf` and `oneOf`.
    pub(super) fn add_json_always(&mut self, program: &Program, schema: &JsonSchema) {
        self.removes |= json_may_change(schema);
        if let Some(object) = &schema.object {
            self.names
                .extend(object.properties.iter().map(|property| property.key));
            // A name that is required is declared, with or without a schema.
            self.names.extend(&object.required);
            self.patterns
                .extend(object.patterns.iter().map(|pattern| pattern.pattern));
            for dependency in &object.dependencies {
                self.add_conditional(program, dependency.node.as_slice());
            }
        }
        if let Some(logic) = &schema.logic {
            for part in logic.reference.iter().chain(&logic.all_of) {
                self.add(program, *part);
            }
            for part in [logic.condition, logic.then, logic.otherwise]
                .iter()
                .flatten()
            {
                self.add_conditional(program, &[*part]);
            }
        }
    }

    /// Notes that these declare something only when they match.
    fn add_conditional(&mut self, program: &Program, nodes: &[NodeId]) {
        for node in nodes {
            let mut inner = Self {
                parts: self.parts,
                ..Self::default()
            };
            inner.add(program, *node);
            self.parts = inner.parts;
            if inner.removes || inner.depends {
                self.removes = true;
                self.depends = true;
            }
        }
    }

    /// Takes over what another set declares.
    pub(super) fn merge(&mut self, other: &Self) {
        self.names.extend(&other.names);
        self.patterns.extend(&other.patterns);
        self.removes |= other.removes;
        self.depends |= other.depends;
    }
}

impl Writer<'_> {
    /// As [`Self::undeclared`] for a value that need not be an object.
    pub(super) fn undeclared_if_object(&mut self, declared: &Declared, v: Local, scope: Scope) {
        if declared.removes {
            self.put(format_args!("if({}){{", is_object(v)));
            self.undeclared(declared, v, scope);
            self.put(format_args!("}}"));
        }
    }

    /// Writes the loop that finds properties which normalisation would remove from an object.
    pub(super) fn undeclared(&mut self, declared: &Declared, v: Local, scope: Scope) {
        if !declared.removes {
            return;
        }
        if declared.depends {
            self.put(format_args!("{}", scope.inexact));
            return;
        }
        // `for in` is the cheapest way through the names. It shows inherited ones too: the answer
        // is then "perhaps", and normalisation finds out.
        let key = self.mark();
        let known = self.is_declared(declared, &key.to_string());
        if self.plan.charges {
            // It lists all names before the first, though, and then their number must be known.
            self.put(format_args!("for(const {key} of keysOf({v})){{"));
        } else {
            self.put(format_args!("for(const {key} in {v}){{"));
        }
        self.charged(|writer| {
            writer.put(format_args!("if(!({known})){{{}}}", scope.inexact));
        });
        self.put(format_args!("}}"));
    }

    /// The expression that says whether the string in `key` is a declared name.
    pub(super) fn is_declared(&mut self, declared: &Declared, key: &str) -> String {
        let program = self.program;
        let names: Vec<&str> = declared
            .names
            .iter()
            .map(|id| program.key_text(*id))
            .collect();
        let mut test = one_of_names(&names, key);
        for pattern in &declared.patterns {
            let matches = self.matches(*pattern, key);
            let _ = write!(test, "||{matches}");
        }
        test
    }
}

/// The expression that says whether the string in `key` is one of the names.
pub(super) fn one_of_names(names: &[&str], key: &str) -> String {
    if names.is_empty() {
        return "false".to_owned();
    }
    let equal = |name: &str| format!("{key}==={}", literal::string(name));
    if names.len() <= FEW_NAMES {
        return names
            .iter()
            .map(|name| equal(name))
            .collect::<Vec<_>>()
            .join("||");
    }
    let mut by_length: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for name in names {
        by_length
            .entry(name.encode_utf16().count())
            .or_default()
            .push(name);
    }
    let groups: Vec<String> = by_length
        .into_iter()
        .map(|(length, names)| {
            let equals: Vec<String> = names.into_iter().map(equal).collect();
            format!("{key}.length==={length}&&({})", equals.join("||"))
        })
        .collect();
    groups.join("||")
}
