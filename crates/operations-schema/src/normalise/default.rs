//! Filling what is missing, and defaults, which are values like any other: they come from the
//! schema's author and need not fit the schema.

use super::Mode;
use super::normaliser::{Normaliser, Remedy};
use super::notes::What;
use super::object::is_json_schema;
use crate::ir::{ConstId, NodeId};
use crate::value_access::{Result, ValueBuilder};

impl<A: ValueBuilder> Normaliser<'_, '_, A> {
    /// The value for a place that is required and missing: the default, else `undefined` where the
    /// schema accepts it, else the empty value of the type. None when there is no such value.
    #[inline(never)]
    pub(super) fn fill(&mut self, nodes: &[NodeId]) -> Result<Option<A::Value>> {
        if nodes.is_empty() {
            return Ok(None);
        }
        if self.default_of(nodes)?.is_some() {
            return self.make(nodes);
        }
        let undefined = self.walk.access.undefined();
        if !self.walk.passes_all(nodes, undefined)? {
            return self.make_up(nodes);
        }
        // `undefined` is fine. Where it cannot be stored, being missing is the same thing; and a
        // JSON Schema that accepts everything names no type to make an empty value of.
        let program = self.walk.program;
        if nodes
            .iter()
            .any(|node| is_json_schema(program.shape(*node)))
        {
            return Ok(None);
        }
        if self.mode == Mode::Strict {
            return Ok(None);
        }
        let stored = self.walk.access.stored_undefined();
        // It is noted all the same: the value did not have it, and JSON will leave it out again.
        if stored.is_some() && self.making == 0 {
            self.notes.add(What::NotFilled);
        }
        Ok(stored)
    }

    /// The empty value for a place that is missing and has no default.
    fn make_up(&mut self, nodes: &[NodeId]) -> Result<Option<A::Value>> {
        if self.mode == Mode::Strict {
            return Ok(None);
        }
        let made = self.make(nodes)?;
        // Within something that is made up, or within a default, there is one note for the whole.
        if made.is_some() && self.making == 0 {
            self.notes.add(What::MadeUp);
        }
        Ok(made)
    }

    /// A copy of a default, brought into the declared shape: it is converted, stripped and filled
    /// like any value, so that normalising the result again changes nothing. Where it is of the
    /// wrong type altogether it stays as it is.
    pub(super) fn make_default(
        &mut self,
        nodes: &[NodeId],
        id: ConstId,
    ) -> Result<Option<A::Value>> {
        if self.settling.contains(&id) {
            // Completing the default takes the default again, and so on without an end.
            self.endless = true;
            return Ok(None);
        }
        let Some(value) = self.make_constant(id)? else {
            return Ok(None);
        };
        let mark = self.notes.mark();
        self.settling.push(id);
        let outcome = self.visit(nodes, value, Remedy::Keep);
        self.settling.pop();
        let outcome = outcome?;
        if self.endless {
            self.notes.go_back(mark);
            self.endless = !self.settling.is_empty();
            return Ok(None);
        }
        Ok(Some(outcome.value))
    }
}
