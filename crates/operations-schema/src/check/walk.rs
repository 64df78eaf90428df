//! The state of a walk: bounds, and the way from a node to its rule.

use crate::bounds::{
    BASE_STEPS, MAX_COUNTED_VALUE_NODES, MAX_OPEN_RULES, MAX_VALUE_DEPTH, STEPS_PER_VALUE_NODE,
};
use crate::host::{Class, Host, Interrupt, Limit, Name};
use crate::ir::{ConstId, FormatId, Key, KeyId, NodeId, PatternId, Program, Shape};

/// A walk over one value.
pub(crate) struct Walk<'p, 'h, H: Host> {
    pub(crate) program: &'p Program,
    pub(crate) host: &'h mut H,
    root: H::Value,
    steps_left: u64,
    extended: bool,
    depth: u32,
    open_rules: u32,
    /// The schema resources on the way here; kept only for programs with dynamic references.
    resources: Vec<u32>,
}

impl<'p, 'h, H: Host> Walk<'p, 'h, H> {
    pub(crate) fn new(program: &'p Program, host: &'h mut H, root: H::Value) -> Self {
        Self {
            program,
            host,
            root,
            steps_left: BASE_STEPS,
            extended: false,
            depth: 0,
            open_rules: 0,
            resources: Vec::new(),
        }
    }

    /// Goes on inside a value that another walk has entered: with the work that it has left, and as
    /// deep as it is, so that both together stay within the bounds.
    pub(crate) fn resuming(mut self, steps: u64, depth: u32) -> Self {
        self.steps_left = steps;
        self.extended = true;
        self.depth = depth;
        self
    }

    /// What is left of the work that is allowed.
    pub(crate) fn steps_left(&self) -> u64 {
        self.steps_left
    }

    /// What was spent so far; of a walk that needed more than the base, no more than the base.
    pub(crate) fn steps_spent(&self) -> u64 {
        if self.extended {
            return BASE_STEPS;
        }
        BASE_STEPS.saturating_sub(self.steps_left)
    }

    /// Pays for work.
    pub(crate) fn spend(&mut self, steps: u64) -> Result<(), Interrupt> {
        if let Some(left) = self.steps_left.checked_sub(steps) {
            self.steps_left = left;
            return Ok(());
        }
        self.extend(steps)
    }

    /// A large value may cost more than the base; only now is it worth counting.
    #[cold]
    fn extend(&mut self, steps: u64) -> Result<(), Interrupt> {
        if self.extended {
            return Err(Limit::Work.into());
        }
        self.extended = true;
        let nodes = self.host.count_nodes(self.root, MAX_COUNTED_VALUE_NODES)?;
        let allowed = nodes
            .saturating_mul(STEPS_PER_VALUE_NODE)
            .saturating_sub(BASE_STEPS);
        self.steps_left = allowed;
        match self.steps_left.checked_sub(steps) {
            Some(left) => self.steps_left = left,
            None => return Err(Limit::Work.into()),
        }
        Ok(())
    }

    /// Whether a value passes a node.
    ///
    /// This is the one function that the walk recurses through, so what it and the rules keep on
    /// the stack is the price of a level; references cost none.
    pub(crate) fn visit(&mut self, id: NodeId, value: H::Value) -> Result<bool, Interrupt> {
        let program = self.program;
        let mut id = id;
        let mut shape = program.shape(id);
        while let Some(target) = self.bare_target(shape) {
            self.spend(1)?;
            id = target;
            shape = program.shape(id);
        }
        self.open_rule()?;
        let passes = match shape {
            Shape::Any | Shape::Argument | Shape::Unknown | Shape::JsonBoolean(true) => Ok(true),
            Shape::Never | Shape::JsonBoolean(false) => Ok(false),
            Shape::Broken(_) => Err(Interrupt::TypeBoxThrows),
            Shape::Object(node) => self.object(node, value),
            Shape::Array(node) => self.array(node, value),
            Shape::Tuple(node) => self.tuple(node, value),
            Shape::Record(node) => self.record(node, value),
            Shape::Intersect(node) => self.intersect(node, value),
            Shape::Union(variants) => self.union(variants, value),
            Shape::Not(target) => self.visit(*target, value).map(|passes| !passes),
            Shape::Constructor(node) => self.constructor(*node, value),
            Shape::Json(schema) => self.json(schema, value),
            other => self.leaf(other, value),
        };
        self.close_rule();
        passes
    }

    /// The target of a node that is nothing but a reference. Where the dynamic scope matters, the
    /// node is visited like any other.
    pub(crate) fn bare_target(&self, shape: &Shape) -> Option<NodeId> {
        match shape {
            Shape::Ref(target) | Shape::Import(target) => Some(*target),
            Shape::Json(schema)
                if schema.only_reference && !self.program.has_dynamic_references() =>
            {
                schema.logic.as_ref().and_then(|logic| logic.reference)
            }
            _ => None,
        }
    }

    fn union(&mut self, variants: &[NodeId], value: H::Value) -> Result<bool, Interrupt> {
        for variant in variants {
            if self.visit(*variant, value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn open_rule(&mut self) -> Result<(), Interrupt> {
        self.spend(1)?;
        self.open_rules += 1;
        if self.open_rules > MAX_OPEN_RULES {
            return Err(Limit::Rules.into());
        }
        Ok(())
    }

    pub(crate) fn close_rule(&mut self) {
        self.open_rules -= 1;
    }

    /// Goes one level down into the value. Everything that opens a scope closes it, also when the
    /// walk is interrupted, so there is a pair of calls and no closure: a closure would cost stack.
    pub(crate) fn descend(&mut self) -> Result<H::Scope, Interrupt> {
        if self.depth >= MAX_VALUE_DEPTH {
            return Err(Limit::Depth.into());
        }
        let scope = self.host.enter()?;
        self.depth += 1;
        Ok(scope)
    }

    /// Comes back from one level down.
    pub(crate) fn ascend(&mut self, scope: H::Scope) {
        self.host.leave(scope);
        self.depth -= 1;
    }

    /// [`Walk::descend`] and [`Walk::ascend`] around something that does not nest deeply.
    pub(crate) fn inside<R>(
        &mut self,
        visit: impl FnOnce(&mut Self) -> Result<R, Interrupt>,
    ) -> Result<R, Interrupt> {
        let scope = self.descend()?;
        let result = visit(self);
        self.ascend(scope);
        result
    }

    /// Visits an element of an array.
    pub(crate) fn visit_element(
        &mut self,
        node: NodeId,
        array: H::Value,
        index: usize,
    ) -> Result<bool, Interrupt> {
        let scope = self.descend()?;
        let result = match self.host.element(array, index) {
            Ok(element) => self.visit(node, element),
            Err(interrupt) => Err(interrupt),
        };
        self.ascend(scope);
        result
    }

    /// Whether a resource was added to the dynamic scope.
    pub(crate) fn enter_resource(&mut self, resource: u32) -> bool {
        let new = self.program.has_dynamic_references() && self.resources.last() != Some(&resource);
        if new {
            self.resources.push(resource);
        }
        new
    }

    pub(crate) fn leave_resource(&mut self, entered: bool) {
        if entered {
            self.resources.pop();
        }
    }

    /// The target of a dynamic reference here.
    pub(crate) fn dynamic_target(&self, reference: crate::ir::DynamicReference) -> NodeId {
        let Some(anchor) = reference.anchor else {
            return reference.initial;
        };
        let mut outermost_first = self.resources.iter();
        outermost_first
            .find_map(|resource| self.program.dynamic_anchor(*resource, anchor))
            .unwrap_or(reference.initial)
    }

    pub(crate) fn name(&self, id: KeyId) -> Name<'p> {
        static NOTHING: std::sync::LazyLock<Key> = std::sync::LazyLock::new(|| Key::new(""));
        Name {
            id,
            key: self.program.keys().get(id.index()).unwrap_or(&NOTHING),
        }
    }

    pub(crate) fn get(&mut self, value: H::Value, key: KeyId) -> Result<H::Value, Interrupt> {
        let name = self.name(key);
        self.host.get(value, name)
    }

    pub(crate) fn has(&mut self, value: H::Value, key: KeyId) -> Result<bool, Interrupt> {
        let name = self.name(key);
        self.host.has(value, name)
    }

    pub(crate) fn matches(&mut self, value: H::Value, id: PatternId) -> Result<bool, Interrupt> {
        let program = self.program;
        match program.pattern(id) {
            Some(pattern) => self.host.matches(value, id, pattern),
            None => Ok(false),
        }
    }

    pub(crate) fn same(&mut self, value: H::Value, id: ConstId) -> Result<bool, Interrupt> {
        let program = self.program;
        self.host.same(value, id, program.constant(id))
    }

    /// Whether a string has a format: the user's registered formats decide first, then ours, and
    /// an unknown format says nothing.
    pub(crate) fn has_format(&mut self, value: H::Value, id: FormatId) -> Result<bool, Interrupt> {
        let program = self.program;
        let Some(format) = program.format(id) else {
            return Ok(true);
        };
        if let Some(answer) = self.host.custom_format(value, id, format)? {
            return Ok(answer);
        }
        match format.known {
            Some(known) => self.host.with_str(value, |text| known.accepts(text)),
            None => Ok(true),
        }
    }

    pub(crate) fn class(&mut self, value: H::Value) -> Result<Class, Interrupt> {
        self.host.classify(value)
    }
}
