//! The sub-schemas of a node, and whether they look at the same value or at a part of it.

use crate::ir::{JsonSchema, LogicRules, NodeId, Program, Shape};

/// How a sub-schema relates to the value of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It looks at the same value.
    Same,
    /// It looks at a property, an element or a name.
    Down,
}

/// A sub-schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) node: NodeId,
    pub(super) step: Step,
}

/// All sub-schemas of a node, references followed.
pub(super) fn children(program: &Program, id: NodeId) -> Vec<Child> {
    let mut list = List {
        program,
        found: Vec::new(),
    };
    match program.shape(id) {
        Shape::Array(array) => list.down([array.items].into_iter().chain(array.contains)),
        Shape::Constructor(constructor) => list.down([constructor.returns]),
        Shape::Import(target) | Shape::Ref(target) | Shape::Not(target) => list.same([*target]),
        Shape::Intersect(intersect) => {
            list.same(intersect.all_of.iter().copied());
            list.down(intersect.unevaluated.and_then(|keys| keys.schema));
        }
        Shape::Object(object) => {
            list.down(object.properties.iter().map(|property| property.node));
            list.down(object.additional.schema());
        }
        Shape::Record(record) => {
            list.down([record.values]);
            list.down(record.additional.schema());
        }
        Shape::Tuple(tuple) => list.down(tuple.items.iter().flatten().copied()),
        Shape::Union(variants) => list.same(variants.iter().copied()),
        Shape::Json(schema) => list.json(schema),
        _ => {}
    }
    list.found
}

struct List<'p> {
    program: &'p Program,
    found: Vec<Child>,
}

impl List<'_> {
    fn same(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.add(Step::Same, nodes);
    }

    fn down(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.add(Step::Down, nodes);
    }

    fn add(&mut self, step: Step, nodes: impl IntoIterator<Item = NodeId>) {
        self.found.extend(nodes.into_iter().map(|node| Child {
            node: self.program.resolve(node),
            step,
        }));
    }

    fn json(&mut self, schema: &JsonSchema) {
        if let Some(array) = &schema.array {
            self.down(array.prefix.iter().copied());
            self.down(array.rest.into_iter().chain(array.contains));
        }
        if let Some(object) = &schema.object {
            self.down(object.properties.iter().map(|property| property.node));
            self.down(object.patterns.iter().map(|pattern| pattern.node));
            self.down(object.additional.schema().into_iter().chain(object.names));
            self.same(object.dependencies.iter().filter_map(|one| one.node));
        }
        if let Some(logic) = &schema.logic {
            self.logic(logic);
        }
        if let Some(unevaluated) = &schema.unevaluated {
            self.down(unevaluated.items.into_iter().chain(unevaluated.properties));
        }
    }

    fn logic(&mut self, logic: &LogicRules) {
        let dynamic = logic.dynamic.map(|dynamic| dynamic.initial);
        self.same(logic.reference.into_iter().chain(dynamic));
        self.same(logic.all_of.iter().copied());
        self.same(logic.any_of.iter().flatten().copied());
        self.same(logic.one_of.iter().flatten().copied());
        let others = [logic.not, logic.condition, logic.then, logic.otherwise];
        self.same(others.into_iter().flatten());
    }
}
