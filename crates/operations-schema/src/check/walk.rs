//! The state of a walk: what it may cost, and the way from a node to its rule.

use crate::bounds::{MAX_COUNTED_VALUES, MAX_OPEN_RULES, MAX_VALUE_DEPTH, WORK_PER_VALUE};
use crate::host::{Host, Interrupt, Limit, Result};
use crate::ir::{NodeId, Program, Shape};
use crate::work::Budget;

/// A walk over one value.
///
/// The host is asked through the methods of `access`, which pay for each answer.
pub(crate) struct Walk<'p, 'h, H: Host> {
    pub(crate) program: &'p Program,
    pub(crate) host: &'h mut H,
    pub(crate) budget: Budget,
    /// The value whose size may earn more work; none when no more is to be had.
    root: Option<H::Value>,
    pub(crate) depth: u32,
    open_rules: u32,
    /// The schema resources on the way here; kept only for programs with dynamic references.
    resources: Vec<u32>,
}

impl<'p, 'h, H: Host> Walk<'p, 'h, H> {
    /// A walk with an allowance of its own: a schema from outside gets a fixed one. One of the
    /// user's own gets more for a large value, once the base is used up.
    pub(crate) fn new(
        program: &'p Program,
        host: &'h mut H,
        root: H::Value,
        budget: Budget,
    ) -> Self {
        Self {
            program,
            host,
            budget,
            root: (!program.is_from_outside()).then_some(root),
            depth: 0,
            open_rules: 0,
            resources: Vec::new(),
        }
    }

    /// Pays for work.
    pub(crate) fn spend(&mut self, units: u64) -> Result<()> {
        match self.budget.spend(units) {
            Ok(()) => Ok(()),
            Err(_) => self.earn(units),
        }
    }

    /// A large value may cost more than the base; only now is it worth counting.
    #[cold]
    fn earn(&mut self, units: u64) -> Result<()> {
        let Some(root) = self.root.take() else {
            return Err(Limit::Work.into());
        };
        let values = self.host.count_nodes(root, MAX_COUNTED_VALUES)?;
        let worth = values.saturating_mul(WORK_PER_VALUE);
        self.budget.grant(worth.saturating_sub(self.budget.spent()));
        Ok(self.budget.spend(units)?)
    }

    /// Whether a value passes a node.
    ///
    /// This is the one function that the walk recurses through, so what it and the rules keep on
    /// the stack is the price of a level; references cost none.
    pub(crate) fn visit(&mut self, id: NodeId, value: H::Value) -> Result<bool> {
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
            Shape::Union(variants) => self.matches_any(variants, value),
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
            Shape::Json(schema) if !self.program.has_dynamic_references() => schema.alias(),
            _ => None,
        }
    }

    pub(crate) fn open_rule(&mut self) -> Result<()> {
        self.spend(H::PRICES.rule)?;
        self.open_rules += 1;
        if self.open_rules > MAX_OPEN_RULES {
            return Err(Limit::Rules.into());
        }
        Ok(())
    }

    pub(crate) fn close_rule(&mut self) {
        self.open_rules -= 1;
    }

    /// Asks about a node in the middle of another walk. What TypeBox throws on is a no, and leaves
    /// no rule open.
    pub(crate) fn passes(&mut self, node: NodeId, value: H::Value) -> Result<bool> {
        let open_rules = self.open_rules;
        let verdict = super::verdict(self.visit(node, value));
        self.open_rules = open_rules;
        verdict
    }

    /// The same about several, of which all must pass.
    pub(crate) fn passes_all(&mut self, nodes: &[NodeId], value: H::Value) -> Result<bool> {
        for node in nodes {
            if !self.passes(*node, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes one level down into the value. Everything that opens a scope closes it, also when the
    /// walk is interrupted, so there is a pair of calls and no closure: a closure would cost stack.
    pub(crate) fn descend(&mut self) -> Result<H::Scope> {
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
    pub(crate) fn inside<R>(&mut self, visit: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
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
    ) -> Result<bool> {
        let scope = self.descend()?;
        let result = match self.element(array, index) {
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
    pub(crate) fn dynamic_target(
        &mut self,
        reference: crate::ir::DynamicReference,
    ) -> Result<NodeId> {
        let Some(anchor) = reference.anchor else {
            return Ok(reference.initial);
        };
        self.spend(self.resources.len() as u64)?;
        let mut outermost_first = self.resources.iter();
        Ok(outermost_first
            .find_map(|resource| self.program.dynamic_anchor(*resource, anchor))
            .unwrap_or(reference.initial))
    }
}
