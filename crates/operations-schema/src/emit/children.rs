//! The sub-schemas of a node, and whether they look at the same value or at a part of it.

use crate::ir::{
    Additional, ArrayRules, JsonSchema, LogicRules, NodeId, ObjectRules, Program, Shape,
};

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
        Shape::Array(array) => {
            list.down(array.items);
            list.down_all(array.contains);
        }
        Shape::Constructor(constructor) => list.down(constructor.returns),
        Shape::Import(target) | Shape::Ref(target) | Shape::Not(target) => list.same(*target),
        Shape::Intersect(intersect) => {
            list.same_all(intersect.all_of.iter().copied());
            list.down_all(intersect.unevaluated.and_then(|keys| keys.schema));
        }
        Shape::Object(object) => {
            list.down_all(object.properties.iter().map(|property| property.node));
            list.additional(object.additional);
        }
        Shape::Record(record) => {
            list.down(record.values);
            list.additional(record.additional);
        }
        Shape::Tuple(tuple) => list.down_all(tuple.items.iter().flatten().copied()),
        Shape::Union(variants) => list.same_all(variants.iter().copied()),
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
    fn push(&mut self, node: NodeId, step: Step) {
        let node = self.program.resolve(node);
        self.found.push(Child { node, step });
    }

    fn same(&mut self, node: NodeId) {
        self.push(node, Step::Same);
    }

    fn same_all(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        for node in nodes {
            self.same(node);
        }
    }

    fn down(&mut self, node: NodeId) {
        self.push(node, Step::Down);
    }

    fn down_all(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        for node in nodes {
            self.down(node);
        }
    }

    fn additional(&mut self, additional: Additional) {
        if let Additional::Schema(node) = additional {
            self.down(node);
        }
    }

    fn json(&mut self, schema: &JsonSchema) {
        if let Some(array) = &schema.array {
            self.array_rules(array);
        }
        if let Some(object) = &schema.object {
            self.object_rules(object);
        }
        if let Some(logic) = &schema.logic {
            self.logic_rules(logic);
        }
        if let Some(unevaluated) = &schema.unevaluated {
            self.down_all(unevaluated.items);
            self.down_all(unevaluated.properties);
        }
    }

    fn array_rules(&mut self, array: &ArrayRules) {
        self.down_all(array.prefix.iter().copied());
        self.down_all(array.rest);
        self.down_all(array.contains);
    }

    fn object_rules(&mut self, object: &ObjectRules) {
        self.down_all(object.properties.iter().map(|property| property.node));
        self.down_all(object.patterns.iter().map(|pattern| pattern.node));
        self.additional(object.additional);
        self.down_all(object.names);
        self.same_all(
            object
                .dependencies
                .iter()
                .filter_map(|dependency| dependency.node),
        );
    }

    fn logic_rules(&mut self, logic: &LogicRules) {
        self.same_all(logic.reference);
        self.same_all(logic.dynamic.map(|dynamic| dynamic.initial));
        self.same_all(logic.all_of.iter().copied());
        self.same_all(logic.any_of.iter().flatten().copied());
        self.same_all(logic.one_of.iter().flatten().copied());
        self.same_all(logic.not);
        self.same_all(logic.condition);
        self.same_all(logic.then);
        self.same_all(logic.otherwise);
    }
}
