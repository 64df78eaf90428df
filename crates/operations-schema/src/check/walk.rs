//! The state of a walk: what it may cost, and the way from a node to its rule.

use super::failure::{Errors, FailFast, OnFailure, Step, Verdict, passed, throws_is_no};
use crate::bounds::{MAX_COUNTED_VALUES, MAX_OPEN_RULES, MAX_VALUE_DEPTH, WORK_PER_VALUE};
use crate::ir::{NodeId, Program, Shape};
use crate::value_access::{Interrupt, Limit, Result, ValueAccess};
use crate::work::Budget;

/// A walk over one value.
///
/// Values are read through the methods of `access`, which pay for each read.
pub(crate) struct Walk<'p, 'h, A: ValueAccess> {
    pub(crate) program: &'p Program,
    pub(crate) access: &'h mut A,
    pub(crate) budget: Budget,
    /// The value whose size may earn more work; none when no more is to be had.
    root: Option<A::Value>,
    pub(crate) depth: u32,
    open_rules: u32,
    /// The schema resources on the way here; kept only for programs with dynamic references.
    resources: Vec<u32>,
    /// What is wrong so far; only where errors are collected.
    pub(super) errors: Errors,
}

impl<'p, 'h, A: ValueAccess> Walk<'p, 'h, A> {
    /// A walk with an allowance of its own: a schema from outside gets a fixed one. One of the
    /// user's own gets more for a large value, once the base is used up.
    pub(crate) fn new(
        program: &'p Program,
        access: &'h mut A,
        root: A::Value,
        budget: Budget,
    ) -> Self {
        Self {
            program,
            access,
            budget,
            root: (!program.is_from_outside()).then_some(root),
            depth: 0,
            open_rules: 0,
            resources: Vec::new(),
            errors: Errors::default(),
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
        let values = self.access.count_nodes(root, MAX_COUNTED_VALUES)?;
        let worth = values.saturating_mul(WORK_PER_VALUE);
        self.budget.grant(worth.saturating_sub(self.budget.spent()));
        Ok(self.budget.spend(units)?)
    }

    /// Checks a value against a node.
    ///
    /// This is the one function that the walk recurses through, so what it and the rules keep on
    /// the stack is the price of a level; references cost none. Rules that need much of it are
    /// `#[inline(never)]`, so that a level pays only for what it uses.
    pub(super) fn visit<F: OnFailure>(&mut self, id: NodeId, value: A::Value) -> Verdict {
        let program = self.program;
        let mut shape = program.shape(id);
        while let Some(target) = self.bare_target(shape) {
            self.spend(1)?;
            shape = program.shape(target);
        }
        self.open_rule()?;
        let verdict = match shape {
            Shape::Any | Shape::Argument | Shape::Unknown | Shape::JsonBoolean(true) => Ok(()),
            Shape::Never | Shape::JsonBoolean(false) => self.fail::<F>("Never"),
            Shape::Broken(reason) if F::COLLECTS => {
                self.fail::<F>(format_args!("Unknown type: {reason}"))
            }
            Shape::Broken(_) => Err(Interrupt::TypeBoxThrows.into()),
            Shape::Object(node) => self.object::<F>(node, value),
            Shape::Array(node) => self.array::<F>(node, value),
            Shape::Tuple(node) => self.tuple::<F>(node, value),
            Shape::Record(node) => self.record::<F>(node, value),
            Shape::Intersect(node) => self.intersect::<F>(node, value),
            Shape::Union(variants) => self.union::<F>(variants, value),
            Shape::Not(target) => self.not::<F>(*target, value),
            Shape::Constructor(node) => self.constructor::<F>(*node, value),
            Shape::Json(schema) => self.json::<F>(schema, value),
            other => self.leaf::<F>(other, value),
        };
        self.close_rule();
        verdict
    }

    /// Whether a value passes a node.
    pub(super) fn accepts(&mut self, id: NodeId, value: A::Value) -> Result<bool> {
        passed(self.visit::<FailFast>(id, value))
    }

    /// The target of a node that is nothing but a reference. Where the dynamic scope matters, the
    /// node is visited like any other.
    fn bare_target(&self, shape: &Shape) -> Option<NodeId> {
        match shape {
            Shape::Ref(target) | Shape::Import(target) => Some(*target),
            Shape::Json(schema) if !self.program.has_dynamic_references() => schema.alias(),
            _ => None,
        }
    }

    pub(crate) fn open_rule(&mut self) -> Result<()> {
        self.spend(A::PRICES.rule)?;
        self.open_rules += 1;
        if self.open_rules > MAX_OPEN_RULES {
            return Err(Limit::Rules.into());
        }
        Ok(())
    }

    pub(crate) fn close_rule(&mut self) {
        self.open_rules -= 1;
    }

    /// Whether a value passes a node, for other walks: what TypeBox throws on does not pass.
    pub(crate) fn passes(&mut self, node: NodeId, value: A::Value) -> Result<bool> {
        throws_is_no(self.accepts(node, value))
    }

    /// The same about several, of which all must pass.
    pub(crate) fn passes_all(&mut self, nodes: &[NodeId], value: A::Value) -> Result<bool> {
        for node in nodes {
            if !self.passes(*node, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes one level down into the value. Everything that opens a scope closes it, also when the
    /// walk is interrupted, so there is a pair of calls and no closure: a closure would cost stack.
    pub(crate) fn descend(&mut self) -> Result<A::Scope> {
        if self.depth >= MAX_VALUE_DEPTH {
            return Err(Limit::Depth.into());
        }
        let scope = self.access.enter()?;
        self.depth += 1;
        Ok(scope)
    }

    /// Comes back from one level down.
    pub(crate) fn ascend(&mut self, scope: A::Scope) {
        self.access.leave(scope);
        self.depth -= 1;
    }

    /// [`Walk::descend`] and [`Walk::ascend`] around something that does not nest deeply.
    pub(crate) fn inside<R, E: From<Interrupt>>(
        &mut self,
        visit: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let scope = self.descend()?;
        let result = visit(self);
        self.ascend(scope);
        result
    }

    /// Visits an element of an array.
    #[inline]
    pub(super) fn visit_element<F: OnFailure>(
        &mut self,
        node: NodeId,
        array: A::Value,
        index: usize,
    ) -> Verdict {
        let scope = self.descend()?;
        let verdict = match self.element(array, index) {
            Ok(element) => self.at::<F>(Step::Index(index), |walk| walk.visit::<F>(node, element)),
            Err(interrupt) => Err(interrupt.into()),
        };
        self.ascend(scope);
        verdict
    }

    /// Whether an element of an array passes a node.
    pub(super) fn accepts_element(
        &mut self,
        node: NodeId,
        array: A::Value,
        index: usize,
    ) -> Result<bool> {
        passed(self.visit_element::<FailFast>(node, array, index))
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
