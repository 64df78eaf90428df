//! JSON Schema: keywords that combine other schemas of the same value.

use super::keys::Declared;
use super::writer::{Jump, Local, Mode, Scope, Writer};
use crate::ir::{JsonSchema, LogicRules, NodeId};

/// A group of alternatives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'p> {
    /// At least one passes.
    AnyOf(&'p [NodeId]),
    /// Exactly one passes.
    OneOf(&'p [NodeId]),
}

impl Writer<'_> {
    /// Writes the applicators, except `choice`, which the caller writes with the shape in mind.
    pub(super) fn logic_rules(
        &mut self,
        logic: &LogicRules,
        choice: Option<Choice<'_>>,
        v: Local,
        scope: Scope,
    ) {
        for node in logic.reference.iter().chain(&logic.all_of) {
            self.visit(*node, v, scope.member());
        }
        if let Some(variants) = &logic.any_of
            && !matches!(choice, Some(Choice::AnyOf(_)))
        {
            self.alternatives(Choice::AnyOf(variants), v, None, scope.member());
        }
        if let Some(variants) = &logic.one_of
            && !matches!(choice, Some(Choice::OneOf(_)))
        {
            self.alternatives(Choice::OneOf(variants), v, None, scope.member());
        }
        if let Some(inner) = logic.not {
            self.not(inner, v, scope);
        }
        if let Some(condition) = logic.condition {
            self.condition(condition, logic, v, scope);
        }
    }

    /// Writes a group of alternatives. `outer` is what the schemas beside it declare.
    pub(super) fn alternatives(
        &mut self,
        choice: Choice<'_>,
        v: Local,
        outer: Option<&Declared>,
        scope: Scope,
    ) {
        match choice {
            Choice::AnyOf(variants) => self.union(variants, v, outer, scope),
            Choice::OneOf(variants) => self.one_of(variants, v, outer, scope),
        }
    }

    /// The one group of alternatives that gives the value its shape, if there is exactly one.
    pub(super) fn only_json_choice<'s>(
        &self,
        schema: &'s JsonSchema,
        mode: Mode,
    ) -> Option<Choice<'s>> {
        let logic = schema.logic.as_ref().filter(|_| mode == Mode::Exact)?;
        let shapes = |variants: &&'s Vec<NodeId>| !variants.iter().all(|id| self.is_plain(*id));
        let any_of = logic.any_of.as_ref().filter(shapes);
        let one_of = logic.one_of.as_ref().filter(shapes);
        match (any_of, one_of) {
            (Some(variants), None) => Some(Choice::AnyOf(variants)),
            (None, Some(variants)) => Some(Choice::OneOf(variants)),
            _ => None,
        }
    }

    fn one_of(&mut self, variants: &[NodeId], v: Local, outer: Option<&Declared>, scope: Scope) {
        let count = self.mark();
        self.put(format_args!("let {count}=0;"));
        for (position, variant) in variants.iter().enumerate() {
            if scope.mode != Mode::Check && !self.is_plain(*variant) {
                self.shaping_variant(*variant, v, outer, scope, &format!("{count}++;"));
            } else {
                self.counted_variant(
                    *variant,
                    v,
                    outer.filter(|_| scope.mode != Mode::Check),
                    scope,
                    &count,
                );
            }
            if position > 0 && position + 1 < variants.len() {
                self.put(format_args!("if({count}>1){{{}}}", scope.fail));
            }
        }
        self.require(&format!("{count}===1"), scope);
    }

    fn counted_variant(
        &mut self,
        variant: NodeId,
        v: Local,
        outer: Option<&Declared>,
        scope: Scope,
        count: &impl std::fmt::Display,
    ) {
        let label = self.mark();
        self.put(format_args!("{label}:{{"));
        let inner = scope.checking(Jump::Break(label));
        self.charged(|writer| writer.visit(variant, v, inner));
        self.put(format_args!("{count}++;"));
        if let Some(outer) = outer {
            self.undeclared_if_object(outer, v, scope);
        }
        self.put(format_args!("}}"));
    }

    fn condition(&mut self, condition: NodeId, logic: &LogicRules, v: Local, scope: Scope) {
        // What matches the condition is shaped by it too.
        if scope.mode != Mode::Check && !self.is_plain(condition) {
            self.put(format_args!("{}", scope.inexact));
        }
        if logic.then.is_none() && logic.otherwise.is_none() {
            return;
        }
        let met = if let Some(leaf) = self.expression(condition, v, scope.depth) {
            leaf.into_test()
        } else {
            let (met, label) = (self.mark(), self.mark());
            self.put(format_args!("let {met}=false;{label}:{{"));
            self.visit(condition, v, scope.checking(Jump::Break(label)));
            self.put(format_args!("{met}=true;}}"));
            met.to_string()
        };
        self.put(format_args!("if({met}){{"));
        if let Some(then) = logic.then {
            self.charged(|writer| writer.visit(then, v, scope.member()));
        }
        self.put(format_args!("}}else{{"));
        if let Some(otherwise) = logic.otherwise {
            self.charged(|writer| writer.visit(otherwise, v, scope.member()));
        }
        self.put(format_args!("}}"));
    }
}
