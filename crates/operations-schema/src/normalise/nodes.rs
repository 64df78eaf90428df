//! A short list of nodes that apply to one place together.

use crate::ir::NodeId;

/// How many nodes fit without an allocation: more than one applies only to intersections.
const INLINE: usize = 4;

/// Nodes that apply to one place together.
#[derive(Clone, Debug)]
pub(super) struct NodeList {
    inline: [NodeId; INLINE],
    length: usize,
    all: Vec<NodeId>,
}

impl Default for NodeList {
    fn default() -> Self {
        Self {
            inline: [NodeId(0); INLINE],
            length: 0,
            all: Vec::new(),
        }
    }
}

impl NodeList {
    pub(super) fn push(&mut self, node: NodeId) {
        if self.as_slice().contains(&node) {
            return;
        }
        if !self.all.is_empty() {
            self.all.push(node);
        } else if let Some(slot) = self.inline.get_mut(self.length) {
            *slot = node;
        } else {
            self.all = self.inline.to_vec();
            self.all.push(node);
        }
        self.length += 1;
    }

    pub(super) fn as_slice(&self) -> &[NodeId] {
        if self.all.is_empty() {
            self.inline.get(..self.length).unwrap_or_default()
        } else {
            &self.all
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }
}
