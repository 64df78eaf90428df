//! A schema within the rules of a target.
//!
//! Targets that read all of JSON Schema get nearly all of it ([`whole`]). Those with a dialect of their
//! own get what the dialect can say ([`subset`]): maps as lists of pairs, tuples as objects, anything
//! at all as JSON text, each with a step that restores the original shape.

mod array;
mod object;
mod reference;
mod root;
mod scalar;
mod subset;
mod union;
mod whole;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::canonical::Canonical;
use crate::lossy::{Loss, LossKind};
use crate::measure::Size;
use crate::plan::{PlanId, Plans};
use crate::targets::{References, Rules, Subset, Target};

/// A schema for a target, and the way back.
#[derive(Debug)]
pub struct Projection {
    /// The schema.
    pub schema: Value,
    /// What was lost.
    pub losses: Vec<Loss>,
    plans: Plans,
    root: PlanId,
}

impl Projection {
    /// Whether [`Projection::restore`] ever changes anything.
    #[must_use]
    pub fn restores(&self) -> bool {
        self.plans.is_active(self.root)
    }

    /// Whether the original takes no value at all, which JSON cannot say: `restore` then gives null.
    #[must_use]
    pub fn takes_nothing(&self) -> bool {
        self.plans.is_nothing(self.root)
    }

    /// A value in the shape of the projection, in the shape of the original.
    #[must_use]
    pub fn restore(&self, value: Value) -> Value {
        self.plans.restore(self.root, value)
    }
}

/// Why a schema cannot be said at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// A JSON Pointer into the original schema.
    pub path: String,
    /// In words.
    pub reason: String,
}

/// Writes a schema within the rules of a target.
///
/// # Errors
/// When no value that the target can express fits the schema.
pub fn project_schema(schema: &Value, target: Target) -> Result<Projection, Unusable> {
    let source = Canonical::of(schema);
    let rules = target.rules();
    for effort in efforts(rules) {
        let mut projector = Projector::new(rules, &source, effort);
        let outcome = projector.root().and_then(|root| {
            projector.waiting_definitions()?;
            Ok(root)
        });
        match outcome {
            Ok((root, plan)) => {
                if let Some(projection) = projector.finish(root, plan) {
                    return Ok(projection);
                }
            }
            Err(Refusal::Nothing { at, reason }) => return Err(Unusable { path: at, reason }),
            Err(Refusal::TooLarge) => {}
        }
    }
    Err(Unusable {
        path: String::new(),
        reason: format!("it is too large for {}", target.as_str()),
    })
}

/// How much of a schema is attempted. Schemas that are too large for their target are tried again with
/// less below.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// Definitions are written out where they are used.
    inline: bool,
    /// Levels below which JSON text stands for a structure.
    depth: usize,
    /// Properties in all.
    properties: usize,
    /// Values that an enumeration may have.
    enum_values: usize,
}

fn efforts(rules: &Rules) -> Vec<Effort> {
    let Some(subset) = rules.subset else {
        let all = Effort {
            inline: false,
            depth: usize::MAX,
            properties: usize::MAX,
            enum_values: usize::MAX,
        };
        return vec![all];
    };
    let bounds = subset.bounds;
    let inlined = (2..=bounds.depth).rev().map(|depth| Effort {
        inline: true,
        depth,
        properties: bounds.properties.min(WRITTEN_OUT),
        enum_values: bounds.enum_values,
    });
    let hoisted = (rules.references == References::Definitions).then_some(Effort {
        inline: false,
        depth: bounds.depth,
        properties: bounds.properties,
        enum_values: bounds.enum_values,
    });
    // What is still too large at two levels has too many names or too long lists of values.
    let last = [50, 0].map(|enum_values| Effort {
        inline: true,
        depth: 2,
        properties: bounds.properties,
        enum_values,
    });
    hoisted.into_iter().chain(inlined).chain(last).collect()
}

/// Why a part of a schema has no projection.
#[derive(Debug)]
enum Refusal {
    /// No value that the target can express fits.
    Nothing { at: String, reason: String },
    /// The attempt has become too large.
    TooLarge,
}

impl Refusal {
    fn nothing(at: &str, reason: impl Into<String>) -> Self {
        Self::Nothing {
            at: at.to_owned(),
            reason: reason.into(),
        }
    }
}

/// A part of a schema in the target's dialect, and the step that restores its values.
#[derive(Debug)]
struct Projected {
    schema: Map<String, Value>,
    plan: PlanId,
}

impl Projected {
    fn new(schema: Map<String, Value>, plan: PlanId) -> Self {
        Self { schema, plan }
    }
}

type Outcome = Result<Projected, Refusal>;

/// Schemas that are written in one attempt: more than any target takes.
const MAX_NODES: usize = 200_000;
/// Schemas in schemas in one attempt: what the stack has room for.
const MAX_LEVEL: usize = 300;
/// Levels from which on definitions get a place of their own, so that the stack stays small.
const HOIST_LEVEL: usize = 100;
/// Properties of a schema whose definitions are written out: the same structure again and again, of
/// which a prompt should not be full, even where the target would take more.
const WRITTEN_OUT: usize = 1_000;
/// Schemas that are written for each property, about.
const NODES_PER_PROPERTY: usize = 4;

struct Projector<'s> {
    rules: &'static Rules,
    source: &'s Canonical,
    effort: Effort,
    losses: Vec<Loss>,
    seen: HashSet<(LossKind, String)>,
    definitions: Map<String, Value>,
    plans: Plans,
    /// The steps of the definitions that were walked, or are being walked.
    definition_plans: HashMap<String, PlanId>,
    /// The definitions that are being written out around here.
    open: Vec<String>,
    nodes_left: usize,
    /// The definitions that go into `$defs`, in the order of their first use.
    waiting: Vec<String>,
    /// Calls on the stack.
    level: usize,
}

impl<'s> Projector<'s> {
    fn new(rules: &'static Rules, source: &'s Canonical, effort: Effort) -> Self {
        let nodes = effort.properties.saturating_mul(NODES_PER_PROPERTY);
        Self {
            rules,
            source,
            effort,
            losses: Vec::new(),
            seen: HashSet::new(),
            definitions: Map::new(),
            plans: Plans::default(),
            definition_plans: HashMap::new(),
            open: Vec::new(),
            nodes_left: nodes.min(MAX_NODES),
            waiting: Vec::new(),
            level: 0,
        }
    }

    fn subset_rules(&self) -> Option<&'static Subset> {
        self.rules.subset.as_ref()
    }

    fn lose(&mut self, kind: LossKind, at: &str, message: impl Into<String>) {
        if self.seen.insert((kind, at.to_owned())) {
            self.losses.push(Loss::new(kind, at, message));
        }
    }

    /// Counts a schema that is about to be written.
    fn spend(&mut self) -> Result<(), Refusal> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(Refusal::TooLarge)?;
        Ok(())
    }

    /// A part of the schema in the target's dialect.
    fn walk(&mut self, schema: &Value, at: &str, depth: usize) -> Outcome {
        if self.level >= MAX_LEVEL {
            return Err(Refusal::TooLarge);
        }
        self.level += 1;
        let outcome = if self.rules.subset.is_some() {
            self.subset(schema, at, depth)
        } else {
            self.whole(schema, at)
        };
        self.level -= 1;
        outcome
    }

    /// The result, unless it is too large.
    fn finish(mut self, mut root: Map<String, Value>, plan: PlanId) -> Option<Projection> {
        if let Some(subset) = self.rules.subset {
            let size = Size::of(&root, &self.definitions);
            if !size.is_within(&subset.bounds) || size.properties > self.effort.properties {
                return None;
            }
        }
        self.plans.settle();
        let source = self.source;
        self.plans
            .keep_definitions(&self.definitions, || source.to_defs());
        if !self.definitions.is_empty() {
            root.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        let mut losses = source.losses.clone();
        losses.append(&mut self.losses);
        Some(Projection {
            schema: Value::Object(root),
            losses,
            plans: self.plans,
            root: plan,
        })
    }
}
