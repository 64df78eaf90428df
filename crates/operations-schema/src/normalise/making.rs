//! Making values, and paying for it.

use super::normaliser::Normaliser;
use crate::ir::ConstId;
use crate::value_access::{EntryName, Result, ValueAccess, ValueBuilder};

impl<A: ValueBuilder> Normaliser<'_, '_, A> {
    pub(super) fn make_string(&mut self, text: &str) -> Result<A::Value> {
        self.walk.spend(A::PRICES.read + text.len() as u64 / 16)?;
        self.walk.access.make_string(text)
    }

    pub(super) fn make_array(&mut self, elements: &[A::Value]) -> Result<A::Value> {
        self.pay_for_parts(elements.len())?;
        self.walk.access.make_array(elements)
    }

    pub(super) fn make_object(
        &mut self,
        entries: &[(EntryName<'_, A::Key>, A::Value)],
    ) -> Result<A::Value> {
        self.pay_for_parts(entries.len() * 2)?;
        self.walk.access.make_object(entries)
    }

    pub(super) fn make_constant(&mut self, id: ConstId) -> Result<Option<A::Value>> {
        let constant = self.walk.program.constant(id);
        self.pay_for_parts(constant.size())?;
        self.walk.access.make_constant(id, constant)
    }

    fn pay_for_parts(&mut self, parts: usize) -> Result<()> {
        self.walk
            .spend((parts as u64 + 1).saturating_mul(<A as ValueAccess>::PRICES.read + 2))
    }
}
