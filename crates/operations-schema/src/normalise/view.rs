//! What the schema says about one value, with everything that only combines other schemas resolved.
//!
//! Intersections, references, conditions and the chosen variants of unions all apply to a value at
//! the same time. Laid side by side they say which types the value may have and which of its
//! properties and elements are declared. Working on all of them together, instead of one after the
//! other, is what keeps one branch from removing what another declares.

use super::normaliser::Normaliser;
use super::types::{self, Types};
use crate::ir::{
    ArrayNode, ArrayRules, ConstId, JsonSchema, KeyId, LogicRules, NodeId, ObjectNode, ObjectRules,
    PatternId, Program, RecordNode, Shape, TupleNode,
};
use crate::value_access::{Class, Result, ValueBuilder};

/// A rule about the properties of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum ObjectRule<'p> {
    /// `Type.Object`.
    Object(&'p ObjectNode),
    /// `Type.Record`.
    Record(&'p RecordNode),
    /// Keywords of a JSON Schema.
    Json(&'p ObjectRules),
    /// `unevaluatedProperties` with a schema. In an Intersect it spares the names that match a pattern
    /// of what TypeBox holds to be the known ones, which can be more than are declared.
    Rest(NodeId, Option<PatternId>),
    /// `unevaluatedProperties: false`.
    NoRest,
}

/// A rule about the elements of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArrayRule<'p> {
    /// `Type.Array`.
    Array(&'p ArrayNode),
    /// `Type.Tuple`.
    Tuple(&'p TupleNode),
    /// Keywords of a JSON Schema.
    Json(&'p ArrayRules),
}

/// What the schema says about one value.
#[derive(Debug)]
pub(super) struct View<'p> {
    /// The types that all rules allow.
    pub(super) types: Types,
    /// The types of union variants in their order: what to convert to first.
    pub(super) preferred: Vec<Types>,
    /// Constants that the value may be.
    pub(super) literals: Vec<ConstId>,
    /// Rules about properties.
    pub(super) objects: Vec<ObjectRule<'p>>,
    /// Rules that do not apply to this value, but whose property names are declared all the same:
    /// the branch of a condition that was not taken.
    pub(super) names: Vec<&'p ObjectRules>,
    /// Names that must be there because others are: `dependentRequired`.
    pub(super) dependents: Vec<KeyId>,
    /// Rules about elements.
    pub(super) arrays: Vec<ArrayRule<'p>>,
    /// Nodes of which only their own check can tell whether the value is of their type.
    pub(super) asked: Vec<NodeId>,
    /// Something applies that is known only on the way through the whole schema: nothing is removed.
    pub(super) removes_nothing: bool,
}

impl Default for View<'_> {
    /// Nothing is said.
    fn default() -> Self {
        Self {
            types: Types::ALL,
            preferred: Vec::new(),
            literals: Vec::new(),
            objects: Vec::new(),
            names: Vec::new(),
            dependents: Vec::new(),
            arrays: Vec::new(),
            asked: Vec::new(),
            removes_nothing: false,
        }
    }
}

/// Nodes still to be merged into the view.
pub(super) struct Pending {
    open: Vec<(NodeId, bool)>,
    seen: Vec<(NodeId, bool)>,
}

impl Pending {
    pub(super) fn new(nodes: &[NodeId]) -> Self {
        let mut pending = Self {
            open: Vec::with_capacity(nodes.len()),
            seen: Vec::new(),
        };
        pending.push_all(nodes, true);
        pending
    }

    pub(super) fn push(&mut self, node: NodeId, applies: bool) {
        self.open.push((node, applies));
    }

    /// A node that may be absent.
    pub(super) fn extend(&mut self, node: Option<NodeId>, applies: bool) {
        self.open.extend(node.map(|node| (node, applies)));
    }

    /// In reverse, because the last one pushed is the next one taken.
    pub(super) fn push_all(&mut self, nodes: &[NodeId], applies: bool) {
        self.open
            .extend(nodes.iter().rev().map(|node| (*node, applies)));
    }

    /// The next node, and whether it applies or only lends its names. None is given twice, so a
    /// schema that refers to itself on the same value ends.
    pub(super) fn next(&mut self) -> Option<(NodeId, bool)> {
        while let Some(entry) = self.open.pop() {
            if !self.seen.contains(&entry) {
                self.seen.push(entry);
                return Some(entry);
            }
        }
        None
    }

    /// How many nodes were looked through to tell whether one is new.
    pub(super) fn effort(&self) -> usize {
        self.seen.len()
    }
}

impl<'p, A: ValueBuilder> Normaliser<'p, '_, A> {
    /// Everything that `nodes`, all at once, say about a value.
    pub(super) fn view(
        &mut self,
        nodes: &[NodeId],
        value: A::Value,
        class: Class,
    ) -> Result<Box<View<'p>>> {
        let program = self.walk.program;
        let mut view = Box::<View<'p>>::default();
        let mut pending = Pending::new(nodes);
        while let Some((id, applies)) = pending.next() {
            self.walk.spend(1 + pending.effort() as u64 / 16)?;
            let shape = program.shape(id);
            if !applies {
                declare_names(shape, &mut view, &mut pending);
                continue;
            }
            match shape {
                Shape::Union(variants) => {
                    self.view_variants(id, variants, value, class, &mut view, &mut pending)?;
                }
                Shape::Json(json) if json.nullable && class == Class::Null => continue,
                Shape::Json(json) => {
                    let listed = json.enumeration.as_ref().map_or(0, Vec::len);
                    self.walk.spend(listed as u64)?;
                    view_keywords(program, json, &mut view);
                    self.view_applicators(id, json, value, class, &mut view, &mut pending)?;
                }
                kind => view_kind(program, kind, &mut view, &mut pending),
            }
            match types::of_shape(program, shape) {
                Some(types) => view.types = view.types.and(types),
                None if must_be_asked(shape) => view.asked.push(id),
                None => {}
            }
        }
        Ok(view)
    }

    /// A union: for objects and arrays one variant is chosen and applies like any other schema.
    /// Other values have no parts, so the types of all variants count together.
    fn view_variants(
        &mut self,
        union: NodeId,
        variants: &[NodeId],
        value: A::Value,
        class: Class,
        view: &mut View<'p>,
        pending: &mut Pending,
    ) -> Result<()> {
        self.walk.spend(variants.len() as u64)?;
        let has_parts = matches!(class, Class::Object | Class::Array);
        if has_parts && !self.are_plain(variants) {
            match self.choose(variants, value, class)? {
                Some(variant) => pending.push(variant, true),
                None => view.asked.push(union),
            }
            return Ok(());
        }
        let mut all = Types::NONE;
        for variant in variants {
            let (types, looks) = types::of_node(self.walk.program, *variant);
            self.walk.spend(looks)?;
            all = all.or(types);
            view.preferred.push(types);
            self.list_literals(*variant, view);
        }
        view.types = view.types.and(all);
        Ok(())
    }

    /// Whether no variant has anything to say about properties or elements.
    fn are_plain(&self, variants: &[NodeId]) -> bool {
        variants.iter().all(|variant| {
            types::of_shape(self.walk.program, self.walk.program.shape(*variant))
                .is_some_and(|types| !types.meets(Types::OBJECT.or(Types::ARRAY)))
        })
    }

    fn list_literals(&self, variant: NodeId, view: &mut View<'p>) {
        match self.walk.program.shape(self.walk.program.resolve(variant)) {
            Shape::Literal(constant) => view.literals.push(*constant),
            Shape::Json(json) => view_listed(json, view),
            _ => {}
        }
    }

    fn view_applicators(
        &mut self,
        id: NodeId,
        json: &'p JsonSchema,
        value: A::Value,
        class: Class,
        view: &mut View<'p>,
        pending: &mut Pending,
    ) -> Result<()> {
        if let Some(unevaluated) = &json.unevaluated
            && let Some(rest) = unevaluated.properties
        {
            view.objects
                .push(rest_rule(self.walk.program, Some(rest), None));
        }
        if class == Class::Object
            && let Some(object) = &json.object
        {
            self.view_dependencies(object, value, view, pending)?;
        }
        let Some(logic) = &json.logic else {
            return Ok(());
        };
        for variants in [&logic.any_of, &logic.one_of].into_iter().flatten() {
            self.view_variants(id, variants, value, class, view, pending)?;
        }
        self.view_condition(logic, value, pending)?;
        pending.push_all(&logic.all_of, true);
        pending.extend(logic.reference, true);
        if let Some(dynamic) = &logic.dynamic {
            if dynamic.anchor.is_none() {
                pending.push(dynamic.initial, true);
            } else {
                view.removes_nothing = true;
            }
        }
        Ok(())
    }

    fn view_condition(
        &mut self,
        logic: &LogicRules,
        value: A::Value,
        pending: &mut Pending,
    ) -> Result<()> {
        let Some(condition) = logic.condition else {
            return Ok(());
        };
        self.chose = true;
        let met = self.walk.passes(condition, value)?;
        pending.push(condition, met);
        pending.extend(logic.then, met);
        pending.extend(logic.otherwise, !met);
        Ok(())
    }

    fn view_dependencies(
        &mut self,
        object: &'p ObjectRules,
        value: A::Value,
        view: &mut View<'p>,
        pending: &mut Pending,
    ) -> Result<()> {
        for dependency in &object.dependencies {
            self.chose = true;
            let present = self.walk.is_present(value, dependency.key)?;
            pending.extend(dependency.node, present);
            if present {
                view.dependents.extend(&dependency.required);
            }
        }
        Ok(())
    }
}

/// What a TypeBox kind says that needs no value to be understood.
pub(super) fn view_kind<'p>(
    program: &Program,
    kind: &'p Shape,
    view: &mut View<'p>,
    pending: &mut Pending,
) {
    match kind {
        Shape::Ref(target) | Shape::Import(target) => pending.push(*target, true),
        Shape::Intersect(intersect) => {
            pending.push_all(&intersect.all_of, true);
            if let Some(unevaluated) = intersect.unevaluated {
                let known = Some(unevaluated.known);
                view.objects
                    .push(rest_rule(program, unevaluated.schema, known));
            }
        }
        Shape::Object(object) => view.objects.push(ObjectRule::Object(object)),
        Shape::Record(record) => view.objects.push(ObjectRule::Record(record)),
        Shape::Array(array) => view.arrays.push(ArrayRule::Array(array)),
        Shape::Tuple(tuple) => view.arrays.push(ArrayRule::Tuple(tuple)),
        Shape::Literal(constant) => view.literals.push(*constant),
        _ => {}
    }
}

/// The keywords of a JSON Schema that need no value to be understood.
pub(super) fn view_keywords<'p>(program: &'p Program, json: &'p JsonSchema, view: &mut View<'p>) {
    view.types = view.types.and(types::of_keywords(program, json));
    view_listed(json, view);
    if let Some(object) = &json.object {
        view.objects.push(ObjectRule::Json(object));
    }
    if let Some(array) = &json.array {
        view.arrays.push(ArrayRule::Json(array));
    }
}

fn view_listed(json: &JsonSchema, view: &mut View<'_>) {
    view.literals.extend(json.constant);
    view.literals.extend(json.enumeration.iter().flatten());
}

/// `unevaluatedProperties`: a schema, or none for `false`.
fn rest_rule<'p>(
    program: &Program,
    schema: Option<NodeId>,
    known: Option<PatternId>,
) -> ObjectRule<'p> {
    match schema {
        Some(node) if !matches!(program.shape(node), Shape::JsonBoolean(false)) => {
            ObjectRule::Rest(node, known)
        }
        _ => ObjectRule::NoRest,
    }
}

/// Whether only the node's own check can tell if a value is of its type.
fn must_be_asked(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::AsyncIterator
            | Shape::Constructor(_)
            | Shape::Iterator
            | Shape::Never
            | Shape::Not(_)
            | Shape::Promise
            | Shape::RegExp(_)
            | Shape::Kind(_)
            | Shape::Broken(_)
            | Shape::JsonBoolean(false)
    )
}

/// The names that a schema declares although it does not apply to the present value.
fn declare_names<'p>(shape: &'p Shape, view: &mut View<'p>, pending: &mut Pending) {
    match shape {
        Shape::Ref(target) | Shape::Import(target) => pending.push(*target, false),
        Shape::Intersect(intersect) => pending.push_all(&intersect.all_of, false),
        Shape::Union(variants) => pending.push_all(variants, false),
        Shape::Json(json) => {
            view.names.extend(json.object.as_deref());
            let Some(logic) = &json.logic else { return };
            pending.push_all(&logic.all_of, false);
            for variants in [&logic.any_of, &logic.one_of].into_iter().flatten() {
                pending.push_all(variants, false);
            }
            pending.extend(logic.reference, false);
            pending.extend(logic.condition, false);
            pending.extend(logic.then, false);
            pending.extend(logic.otherwise, false);
            view.removes_nothing |= logic.dynamic.is_some();
        }
        // A TypeBox kind inside a condition of a JSON Schema: nothing is known about its names
        // without a value, so nothing is removed.
        Shape::Object(_) | Shape::Record(_) => view.removes_nothing = true,
        _ => {}
    }
}
