//! Having the host make values, and paying for it.

use super::walk::Walker;
use crate::host::{BuildHost, EntryName, Host, Result};
use crate::ir::ConstId;

impl<H: BuildHost> Walker<'_, '_, H> {
    pub(super) fn make_string(&mut self, text: &str) -> Result<H::Value> {
        self.walk.spend(H::PRICES.read + text.len() as u64 / 16)?;
        self.walk.host.make_string(text)
    }

    pub(super) fn make_array(&mut self, elements: &[H::Value]) -> Result<H::Value> {
        self.pay_for_parts(elements.len())?;
        self.walk.host.make_array(elements)
    }

    pub(super) fn make_object(
        &mut self,
        entries: &[(EntryName<'_, H::Key>, H::Value)],
    ) -> Result<H::Value> {
        self.pay_for_parts(entries.len() * 2)?;
        self.walk.host.make_object(entries)
    }

    pub(super) fn make_constant(&mut self, id: ConstId) -> Result<Option<H::Value>> {
        let constant = self.walk.program.constant(id);
        self.pay_for_parts(constant.size())?;
        self.walk.host.make_constant(id, constant)
    }

    fn pay_for_parts(&mut self, parts: usize) -> Result<()> {
        self.walk
            .spend((parts as u64 + 1).saturating_mul(<H as Host>::PRICES.read + 2))
    }
}
