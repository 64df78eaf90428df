//! The way into a node, and the kinds that combine verdicts about one value.

use super::keys::Declared;
use super::leaf::Leaf;
use super::writer::{Jump, Local, Mark, Mode, Scope, Writer};
use crate::ir::{IntersectNode, NodeId, Shape};

impl Writer<'_> {
    /// Writes statements that go on when the value passes and jump when it does not.
    pub(super) fn visit(&mut self, id: NodeId, v: Local, scope: Scope) {
        if self.is_too_long() {
            return;
        }
        let id = self.program.resolve(id);
        let facts = self.plan.facts(id);
        let scope = if facts.plain { scope.check() } else { scope };
        if facts.walk {
            let walk = self.walk(id, v);
            self.require(&walk, scope);
            if scope.mode != Mode::Check {
                self.put(format_args!("{}", scope.inexact));
            }
        } else if facts.function {
            self.visit_function(id, v, scope);
        } else {
            self.inline(id, v, scope);
        }
    }

    /// Writes a node here, whether or not it also is a function.
    pub(super) fn inline(&mut self, id: NodeId, v: Local, scope: Scope) {
        if let Some(leaf) = self.leaf(id, v) {
            match leaf {
                Leaf::Always => {}
                Leaf::Never => self.put(format_args!("{}", scope.fail)),
                Leaf::Test(test) => self.require(&test, scope),
            }
            return;
        }
        let program = self.program;
        match program.shape(id) {
            Shape::Array(array) => self.array(array, v, scope),
            Shape::Constructor(node) => self.constructor(node.returns, node.prototype, v, scope),
            Shape::Intersect(intersect) => self.intersect(id, intersect, v, scope),
            Shape::Not(inner) => self.not(*inner, v, scope),
            Shape::Object(object) => self.object(id, object, v, scope),
            Shape::Record(record) => self.record(record, v, scope),
            Shape::Tuple(tuple) => self.tuple(tuple, v, scope),
            Shape::Union(variants) => self.union(variants, v, None, scope),
            Shape::Json(schema) => self.json(id, schema, v, scope),
            // References are followed before; every other shape is a leaf.
            _ => self.put(format_args!("{}", scope.fail)),
        }
    }

    fn visit_function(&mut self, id: NodeId, v: Local, scope: Scope) {
        let call = self.call(id, scope.mode, v, scope.depth);
        if scope.mode == Mode::Check {
            self.require(&call, scope);
        } else if scope.fail == scope.inexact {
            self.put(format_args!("if({call}!==1){{{}}}", scope.fail));
        } else {
            let verdict = self.mark();
            self.put(format_args!(
                "const {verdict}={call};if({verdict}!==1){{if({verdict}===0){{{}}}{}}}",
                scope.fail, scope.inexact
            ));
        }
    }

    /// Writes the jump for when an expression is false.
    pub(super) fn require(&mut self, test: &str, scope: Scope) {
        self.put(format_args!("if(!({test})){{{}}}", scope.fail));
    }

    /// Whether every value passes, so that nothing need be written.
    pub(super) fn accepts_all(&self, id: NodeId) -> bool {
        let id = self.program.resolve(id);
        self.program.shape(id).accepts_all()
    }

    /// The expression for a node, where it is one.
    pub(super) fn expression(&mut self, id: NodeId, v: Local, depth: u32) -> Option<Leaf> {
        let id = self.program.resolve(id);
        let facts = self.plan.facts(id);
        if facts.walk {
            return Some(Leaf::Test(self.walk(id, v)));
        }
        if facts.function {
            return Some(Leaf::Test(self.call(id, Mode::Check, v, depth)));
        }
        self.leaf(id, v)
    }

    /// At least one variant passes. When normalisation matters every variant that passes must be
    /// exact, whichever of them it would choose. `outer` is what the schemas beside it declare.
    pub(super) fn union(
        &mut self,
        variants: &[NodeId],
        v: Local,
        outer: Option<&Declared>,
        scope: Scope,
    ) {
        // Beside other declarations even a variant that declares nothing gives a shape.
        let shapes = |id: &NodeId| outer.is_some() || !self.is_plain(*id);
        let (shaping, plain): (Vec<NodeId>, Vec<NodeId>) = if scope.mode == Mode::Check {
            (Vec::new(), variants.to_vec())
        } else {
            variants.iter().copied().partition(shapes)
        };
        if shaping.is_empty() {
            self.any_of(&plain, v, scope);
            return;
        }
        if self.plan.may_throw {
            // Below, variants are tried out of their order and beyond the first that passes.
            self.any_of(variants, v, scope);
        }
        let (found, end) = (self.mark(), self.mark());
        self.put(format_args!("let {found}=false;"));
        for variant in &shaping {
            self.shaping_variant(*variant, v, outer, scope, &format!("{found}=true;"));
        }
        self.put(format_args!("{end}:{{if({found})break {end};"));
        self.any_of(&plain, v, scope);
        self.put(format_args!("}}"));
    }

    /// One variant that normalisation may shape, in a block of its own: `passed` runs if it passes.
    pub(super) fn shaping_variant(
        &mut self,
        variant: NodeId,
        v: Local,
        outer: Option<&Declared>,
        scope: Scope,
        passed: &str,
    ) {
        let (label, doubt) = (self.mark(), self.mark());
        self.put(format_args!("{label}:{{let {doubt}=false;"));
        let inner = Scope {
            fail: Jump::Break(label),
            inexact: Jump::Set(doubt),
            mode: if outer.is_some() {
                Mode::Part
            } else {
                scope.mode
            },
            depth: scope.depth,
        };
        self.charged(|writer| {
            writer.visit(variant, v, inner);
            if let Some(outer) = outer {
                let mut declared = Declared::by(writer.program, variant);
                declared.merge(outer);
                writer.undeclared_if_object(&declared, v, inner);
            }
        });
        self.put(format_args!("if({doubt}){{{}}}{passed}}}", scope.inexact));
    }

    /// At least one of the nodes passes; nothing else is asked. They are tried in their order.
    pub(super) fn any_of(&mut self, nodes: &[NodeId], v: Local, scope: Scope) {
        let mut tests = Vec::with_capacity(nodes.len());
        let mut end = None;
        for node in nodes {
            match self.expression(*node, v, scope.depth) {
                Some(Leaf::Always) => tests.push("true".to_owned()),
                Some(Leaf::Never) => {}
                Some(Leaf::Test(test)) => tests.push(format!("({test})")),
                None => {
                    let end = *end.get_or_insert_with(|| self.open_block());
                    if !tests.is_empty() {
                        self.put(format_args!("if({})break {end};", tests.join("||")));
                        tests.clear();
                    }
                    let label = self.open_block();
                    let inner = scope.checking(Jump::Break(label));
                    self.charged(|writer| writer.visit(*node, v, inner));
                    self.put(format_args!("break {end};}}"));
                }
            }
        }
        if tests.is_empty() {
            self.put(format_args!("{}", scope.fail));
        } else {
            self.require(&tests.join("||"), scope);
        }
        if end.is_some() {
            self.put(format_args!("}}"));
        }
    }

    /// Begins a block that can be left by its label; the caller closes it.
    fn open_block(&mut self) -> Mark {
        let label = self.mark();
        self.put(format_args!("{label}:{{"));
        label
    }

    /// The node must not pass.
    pub(super) fn not(&mut self, inner: NodeId, v: Local, scope: Scope) {
        match self.expression(inner, v, scope.depth) {
            Some(Leaf::Always) => self.put(format_args!("{}", scope.fail)),
            Some(Leaf::Never) => {}
            Some(Leaf::Test(test)) => {
                self.put(format_args!("if({test}){{{}}}", scope.fail));
            }
            None => {
                let label = self.mark();
                self.put(format_args!("{label}:{{"));
                self.visit(inner, v, scope.checking(Jump::Break(label)));
                self.put(format_args!("{}}}", scope.fail));
            }
        }
    }

    fn intersect(&mut self, id: NodeId, intersect: &IntersectNode, v: Local, scope: Scope) {
        let Some(keys) = intersect.unevaluated else {
            self.members(id, &intersect.all_of, v, scope);
            return;
        };
        self.throw_on_nothing(v);
        if keys.schema.is_none() {
            self.members(id, &intersect.all_of, v, scope);
            self.unevaluated_keys(keys, v, scope);
            return;
        }
        // TypeBox looks at the keys even when a member has failed, and may throw there.
        let all = self.mark();
        self.put(format_args!("let {all}=false;"));
        let label = self.open_block();
        self.members(id, &intersect.all_of, v, scope.failing(Jump::Break(label)));
        self.put(format_args!("{all}=true;}}"));
        self.unevaluated_keys(keys, v, scope);
        self.require(&all.to_string(), scope);
    }

    /// All members of an Intersect pass.
    fn members(&mut self, id: NodeId, members: &[NodeId], v: Local, scope: Scope) {
        let choice = self.only_choice(members, scope.mode);
        for member in members {
            if choice != Some(*member) {
                self.visit(*member, v, scope.member());
            }
        }
        if let Some(choice) = choice {
            let mut outer = Declared::default();
            outer.removes = true;
            for member in members.iter().filter(|member| **member != choice) {
                outer.add(self.program, *member);
            }
            let program = self.program;
            if let Shape::Union(variants) = program.shape(program.resolve(choice)) {
                self.union(variants, v, Some(&outer), scope);
            }
        } else if scope.mode == Mode::Exact {
            let declared = Declared::by(self.program, id);
            self.undeclared_if_object(&declared, v, scope);
        }
    }

    /// The one member that is a union of shapes, if there is exactly one.
    fn only_choice(&self, members: &[NodeId], mode: Mode) -> Option<NodeId> {
        let mut choices = members.iter().copied().filter(|member| {
            let id = self.program.resolve(*member);
            let facts = self.plan.facts(id);
            matches!(self.program.shape(id), Shape::Union(_)) && !facts.plain
        });
        let only = choices.next().filter(|_| mode == Mode::Exact)?;
        // One that is a function may contain this very place, so it is not written out here.
        let inline = !self.plan.facts(self.program.resolve(only)).function;
        (inline && choices.next().is_none()).then_some(only)
    }

    /// Whether normalisation never changes what passes a node.
    pub(super) fn is_plain(&self, id: NodeId) -> bool {
        self.plan.facts(self.program.resolve(id)).plain
    }
}
