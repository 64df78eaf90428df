//! Making a value from nothing: the default, else the empty value of the declared type, as
//! TypeBox's `Value.Create` has it. What it would throw on cannot be made.

use super::array::nodes_at;
use super::nodes::NodeList;
use super::normaliser::Normaliser;
use super::types::{self, Types};
use super::view::{ArrayRule, ObjectRule, Pending, View, view_keywords, view_kind};
use crate::ir::{ConstId, FormatId, JsonSchema, KeyId, NodeId, Shape};
use crate::patterns::Pattern;
use crate::value_access::{EntryName, Name, Result, Special, ValueBuilder};

/// How many values may be in the making inside each other.
const MAX_MAKING: u32 = 48;

/// How many values are made for one place: a schema can fan out, or ask for a billion elements.
const MAX_MADE: u32 = 10_000;

/// The longest string and the most bytes that are made.
const MAX_LENGTH: f64 = 1_048_576.0;

/// What is made where several types are allowed: what says most, `null` after everything else.
const ORDER: [Types; 12] = [
    Types::STRING,
    Types::NUMBER,
    Types::BOOLEAN,
    Types::PLAIN,
    Types::ARRAY,
    Types::BIGINT,
    Types::DATE,
    Types::BYTES,
    Types::SYMBOL,
    Types::FUNCTION,
    Types::NULL,
    Types::UNDEFINED,
];

/// What is known about a value that is to be made.
#[derive(Default)]
struct Plan<'p> {
    view: View<'p>,
    default: Option<ConstId>,
    /// Nodes that combine others: their parts may not fit together.
    combined: Vec<NodeId>,
    special: Option<Special>,
    impossible: bool,
    /// `minimum` of a number or a Date.
    minimum: Option<f64>,
    /// `minLength` of a string, or `minByteLength`.
    min_length: f64,
    /// The text of a template literal.
    text: Option<String>,
    /// Formats that only the user's registry may know.
    formats: Vec<FormatId>,
}

impl<'p, A: ValueBuilder> Normaliser<'p, '_, A> {
    /// A value that has the shape of all of `nodes`; none when the schema gives no such value.
    #[inline(never)]
    pub(super) fn make(&mut self, nodes: &[NodeId]) -> Result<Option<A::Value>> {
        self.walk.spend(1)?;
        if self.making == 0 {
            self.made = 0;
        }
        self.made += 1;
        if self.making >= MAX_MAKING || self.made > MAX_MADE {
            // A default that could be completed only in part would be completed further each time.
            self.endless |= !self.settling.is_empty();
            return Ok(None);
        }
        // What is made follows the first variants and no conditions; the next pass looks at it as at
        // any other value.
        self.chose = true;
        self.making += 1;
        let made = self.make_planned(nodes);
        self.making -= 1;
        made
    }

    fn make_planned(&mut self, nodes: &[NodeId]) -> Result<Option<A::Value>> {
        let plan = self.plan(nodes)?;
        if let Some(default) = plan.default {
            return self.make_default(nodes, default);
        }
        let Some(first) = nodes.first().map(|node| self.walk.program.resolve(*node)) else {
            return self.make_object(&[]).map(Some);
        };
        // A value that needs another of its own kind inside would never be finished.
        if plan.impossible || self.making_for.contains(&first) {
            return Ok(None);
        }
        self.making_for.push(first);
        let made = self.make_of_type(&plan);
        self.making_for.pop();
        let Some(made) = made? else { return Ok(None) };
        let fits = self.walk.passes_all(&plan.combined, made)?;
        Ok(fits.then_some(made))
    }

    /// The default that the schemas of a place have, if any.
    pub(super) fn default_of(&mut self, nodes: &[NodeId]) -> Result<Option<ConstId>> {
        Ok(self.plan(nodes)?.default)
    }

    /// Lays all that the nodes say side by side, without a value: of a union the first variant.
    fn plan(&mut self, nodes: &[NodeId]) -> Result<Box<Plan<'p>>> {
        let program = self.walk.program;
        let mut plan = Box::<Plan<'p>>::default();
        let mut pending = Pending::new(nodes);
        while let Some((id, _)) = pending.next() {
            self.walk.spend(1 + pending.effort() as u64 / 16)?;
            let node = program.node(id);
            plan.default = plan.default.or(node.meta.default);
            if let Some(types) = types::of_shape(program, &node.shape) {
                plan.view.types = plan.view.types.and(types);
            }
            if let Shape::Json(json) = &node.shape {
                self.plan_json(id, json, &mut plan, &mut pending);
            } else {
                self.plan_kind(id, &node.shape, &mut plan, &mut pending);
            }
        }
        Ok(plan)
    }

    fn plan_kind(&self, id: NodeId, shape: &'p Shape, plan: &mut Plan<'p>, pending: &mut Pending) {
        view_kind(self.walk.program, shape, &mut plan.view, pending);
        match shape {
            Shape::Union(variants) => match variants.first() {
                Some(first) => pending.push(*first, true),
                None => plan.impossible = true,
            },
            Shape::Intersect(_) => plan.combined.push(id),
            Shape::Number(rules) | Shape::Integer(rules) | Shape::Date(rules) => {
                plan.raise_minimum(rules.minimum);
            }
            Shape::Uint8Array(rules) => plan.raise_length(rules.min),
            Shape::String(rules) => {
                plan.raise_length(rules.length.min);
                plan.impossible |= rules.pattern.is_some();
                self.plan_format(rules.format, plan);
            }
            Shape::TemplateLiteral(pattern) => {
                plan.text = self
                    .walk
                    .program
                    .pattern(*pattern)
                    .and_then(Pattern::first_text);
                plan.impossible |= plan.text.is_none();
            }
            Shape::Promise => plan.special = Some(Special::Promise),
            Shape::Iterator => plan.special = Some(Special::Iterator),
            Shape::AsyncIterator => plan.special = Some(Special::AsyncIterator),
            Shape::Never
            | Shape::Not(_)
            | Shape::RegExp(_)
            | Shape::Constructor(_)
            | Shape::Kind(_)
            | Shape::Broken(_)
            | Shape::JsonBoolean(false) => plan.impossible = true,
            _ => {}
        }
    }

    fn plan_json(
        &self,
        id: NodeId,
        json: &'p JsonSchema,
        plan: &mut Plan<'p>,
        pending: &mut Pending,
    ) {
        view_keywords(self.walk.program, json, &mut plan.view);
        if let Some(rules) = &json.number {
            plan.raise_minimum(rules.minimum);
        }
        if let Some(rules) = &json.string {
            plan.raise_length(rules.length.min);
            plan.impossible |= rules.pattern.is_some();
            self.plan_format(rules.format, plan);
        }
        let Some(logic) = &json.logic else { return };
        if !logic.all_of.is_empty() || logic.not.is_some() || logic.condition.is_some() {
            plan.combined.push(id);
        }
        for variants in [&logic.any_of, &logic.one_of].into_iter().flatten() {
            match variants.first() {
                Some(first) => pending.push(*first, true),
                None => plan.impossible = true,
            }
        }
        pending.push_all(&logic.all_of, true);
        pending.extend(logic.reference, true);
        pending.extend(logic.dynamic.map(|dynamic| dynamic.initial), true);
    }

    fn plan_format(&self, format: Option<FormatId>, plan: &mut Plan<'p>) {
        let Some(id) = format else { return };
        match self.walk.program.format(id) {
            Some(format) if format.known.is_some() => plan.impossible = true,
            _ => plan.formats.push(id),
        }
    }

    fn make_of_type(&mut self, plan: &Plan<'p>) -> Result<Option<A::Value>> {
        if let Some(special) = plan.special {
            return self.walk.access.make_special(special);
        }
        if !plan.view.literals.is_empty() {
            return self.make_literal(plan);
        }
        let allowed = plan.view.types;
        let types = if allowed == Types::ALL {
            if plan.view.objects.is_empty() && !plan.view.arrays.is_empty() {
                Types::ARRAY
            } else {
                Types::PLAIN
            }
        } else {
            ORDER
                .into_iter()
                .find(|types| allowed.meets(*types))
                .unwrap_or(Types::NONE)
        };
        let access = &mut *self.walk.access;
        match types {
            Types::STRING => self.make_text(plan),
            Types::NUMBER => Ok(access.make_number(plan.minimum.unwrap_or(0.0))),
            Types::BOOLEAN => Ok(Some(access.make_bool(false))),
            Types::PLAIN => self.make_properties(plan),
            Types::ARRAY => self.make_elements(plan),
            Types::BIGINT => access.make_bigint(&0.into()),
            Types::DATE => access.make_special(Special::Date(plan.minimum)),
            Types::BYTES => match bounded(plan.min_length) {
                Some(length) => access.make_special(Special::Bytes(length)),
                None => Ok(None),
            },
            Types::SYMBOL => access.make_special(Special::Symbol),
            Types::FUNCTION => access.make_special(Special::Function),
            Types::NULL => Ok(Some(access.make_null())),
            Types::UNDEFINED => Ok(access.stored_undefined()),
            _ => Ok(None),
        }
    }

    /// The first constant that is of an allowed type.
    fn make_literal(&mut self, plan: &Plan<'p>) -> Result<Option<A::Value>> {
        let program = self.walk.program;
        let fits = |id: &&ConstId| {
            plan.view
                .types
                .meets(types::of_constant(program.constant(**id)))
        };
        match plan.view.literals.iter().find(fits) {
            Some(id) => self.make_constant(*id),
            None => Ok(None),
        }
    }

    fn make_text(&mut self, plan: &Plan<'p>) -> Result<Option<A::Value>> {
        let text = match &plan.text {
            Some(text) => text.clone(),
            None => match bounded(plan.min_length) {
                Some(length) => " ".repeat(length),
                None => return Ok(None),
            },
        };
        let made = self.make_string(&text)?;
        for id in &plan.formats {
            if let Some(format) = self.walk.program.format(*id)
                && self.walk.access.custom_format(made, *id, format)?.is_some()
            {
                // A format of the user's own: as with the known ones, only a default can satisfy it.
                return Ok(None);
            }
        }
        Ok(Some(made))
    }

    /// An object with its required properties.
    fn make_properties(&mut self, plan: &Plan<'p>) -> Result<Option<A::Value>> {
        let mut entries: Vec<(EntryName<'p, A::Key>, A::Value)> = Vec::new();
        let mut done: Vec<KeyId> = Vec::new();
        for rule in &plan.view.objects {
            let required: Vec<KeyId> = match rule {
                ObjectRule::Object(rules) => rules
                    .properties
                    .iter()
                    .filter(|property| property.required)
                    .map(|property| property.key)
                    .collect(),
                ObjectRule::Json(rules) => rules.required.clone(),
                ObjectRule::Record(_) | ObjectRule::Rest(..) | ObjectRule::NoRest => continue,
            };
            for key in required {
                let Err(position) = done.binary_search(&key) else {
                    continue;
                };
                done.insert(position, key);
                let name = self.walk.name(key);
                let Some(value) = self.make_property(plan, name)? else {
                    return Ok(None);
                };
                entries.push((EntryName::Program(name), value));
            }
        }
        self.make_object(&entries).map(Some)
    }

    fn make_property(&mut self, plan: &Plan<'p>, name: Name<'p>) -> Result<Option<A::Value>> {
        let disposition = self.disposition_of(&plan.view, &name.key.text, None, &mut None)?;
        let before = self.notes.step_into_property(&name.key.text);
        let made = self.make(disposition.nodes.as_slice())?;
        self.notes.step_out(before);
        Ok(made)
    }

    /// An array with as many elements as it must have.
    fn make_elements(&mut self, plan: &Plan<'p>) -> Result<Option<A::Value>> {
        let mut least: f64 = 0.0;
        let mut unique = false;
        for rule in &plan.view.arrays {
            let (needed, contains) = match rule {
                ArrayRule::Array(array) => {
                    unique |= array.unique;
                    (array.length.min.unwrap_or(0.0), array.counts())
                }
                ArrayRule::Tuple(tuple) => (tuple.items.as_ref().map_or(0, Vec::len) as f64, false),
                ArrayRule::Json(array) => {
                    unique |= array.unique;
                    let counts = array.contains.is_some() && array.matching.min > Some(0.0);
                    (array.length.min.unwrap_or(0.0), counts)
                }
            };
            if contains {
                return Ok(None);
            }
            least = least.max(needed);
        }
        // Elements that are made are all alike.
        if (unique && least > 1.0) || least > f64::from(MAX_MADE) {
            return Ok(None);
        }
        let Some(count) = bounded(least) else {
            return Ok(None);
        };
        let mut elements = Vec::with_capacity(count);
        for index in 0..count {
            let nodes: NodeList = nodes_at(&plan.view, index);
            let before = self.notes.step_into_element(index);
            let made = self.make(nodes.as_slice())?;
            self.notes.step_out(before);
            let Some(made) = made else { return Ok(None) };
            elements.push(made);
        }
        self.make_array(&elements).map(Some)
    }
}

impl Plan<'_> {
    /// Of several minimums the highest one satisfies all.
    fn raise_minimum(&mut self, minimum: Option<f64>) {
        self.minimum = match (self.minimum, minimum) {
            (Some(one), Some(two)) => Some(one.max(two)),
            (one, two) => one.or(two),
        };
    }

    fn raise_length(&mut self, length: Option<f64>) {
        self.min_length = self.min_length.max(length.unwrap_or(0.0));
    }
}

/// A length that is not too large to be made; a fraction counts as the next whole one.
fn bounded(length: f64) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the bound"
    )]
    (0.0..=MAX_LENGTH)
        .contains(&length)
        .then_some(length.ceil() as usize)
}
