//! A traversal through the nodes that can be reached from the root.

use super::children::{Child, Step, children};
use crate::ir::{NodeId, Program};

/// Programs with more nodes than this would not fit into the size limit of the emitted text.
const MOST_NODES: usize = 20_000;

/// A value for each node of a program.
#[derive(Debug)]
pub(super) struct PerNode<T>(Vec<T>);

impl<T: Default + Clone> PerNode<T> {
    fn new(count: usize) -> Self {
        Self(vec![T::default(); count])
    }

    /// The value, or the default for a node that is not the program's.
    pub(super) fn get(&self, node: NodeId) -> T {
        self.get_ref(node).cloned().unwrap_or_default()
    }

    pub(super) fn get_ref(&self, node: NodeId) -> Option<&T> {
        self.0.get(node.index())
    }

    pub(super) fn set(&mut self, node: NodeId, value: T) {
        self.update(node, |place| *place = value);
    }

    pub(super) fn update(&mut self, node: NodeId, change: impl FnOnce(&mut T)) {
        if let Some(place) = self.0.get_mut(node.index()) {
            change(place);
        }
    }
}

/// Where a depth-first traversal stands with a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Open,
    Done,
}

/// The nodes that can be reached from the root, and how they hang together.
#[derive(Debug)]
pub(super) struct Traversal {
    order: Vec<NodeId>,
    edges: PerNode<Vec<Child>>,
    uses: PerNode<u32>,
    repeats: PerNode<bool>,
    recursive: bool,
}

impl Traversal {
    /// Walks through a program; nothing when it is too large.
    pub(super) fn through(program: &Program, root: NodeId) -> Option<Self> {
        let count = program.nodes().len();
        if count > MOST_NODES {
            return None;
        }
        let mut traversal = Self {
            order: Vec::with_capacity(count),
            edges: PerNode::new(count),
            uses: PerNode::new(count),
            repeats: PerNode::new(count),
            recursive: false,
        };
        let mut states = PerNode::<State>::new(count);
        states.set(root, State::Open);
        traversal.edges.set(root, children(program, root));
        let mut stack = vec![(root, 0_usize)];
        while let Some((node, next)) = stack.last_mut() {
            let Some(child) = traversal.children(*node).get(*next).copied() else {
                states.set(*node, State::Done);
                traversal.order.push(*node);
                stack.pop();
                continue;
            };
            *next += 1;
            traversal
                .uses
                .update(child.node, |uses| *uses = uses.saturating_add(1));
            match states.get(child.node) {
                State::Open => {
                    traversal.repeats.set(child.node, true);
                    traversal.recursive = true;
                }
                State::Done => {}
                State::New => {
                    states.set(child.node, State::Open);
                    traversal
                        .edges
                        .set(child.node, children(program, child.node));
                    stack.push((child.node, 0));
                }
            }
        }
        Some(traversal)
    }

    /// The nodes, each after all its children except those it is nested in.
    pub(super) fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// The sub-schemas of a node.
    pub(super) fn children(&self, node: NodeId) -> &[Child] {
        self.edges.get_ref(node).map_or(&[], Vec::as_slice)
    }

    /// How many places refer to a node.
    pub(super) fn uses(&self, node: NodeId) -> u32 {
        self.uses.get(node)
    }

    /// Whether a node contains itself; at least one of each cycle says yes.
    pub(super) fn repeats(&self, node: NodeId) -> bool {
        self.repeats.get(node)
    }

    /// Whether any node contains itself.
    pub(super) fn is_recursive(&self) -> bool {
        self.recursive
    }

    /// Room for a value for each node.
    pub(super) fn per_node<T: Default + Clone>(&self) -> PerNode<T> {
        PerNode::new(self.edges.0.len())
    }

    /// Nodes that come back to themselves on the same value, one at least for each such cycle:
    /// emitted code would never return from them, the walk has a bound.
    pub(super) fn endless_on_one_value(&self) -> PerNode<bool> {
        let mut endless = self.per_node::<bool>();
        if !self.recursive {
            return endless;
        }
        let mut states = self.per_node::<State>();
        for &start in &self.order {
            if states.get(start) != State::New {
                continue;
            }
            states.set(start, State::Open);
            let mut stack = vec![(start, 0_usize)];
            while let Some((node, next)) = stack.last_mut() {
                let Some(child) = self.children(*node).get(*next).copied() else {
                    states.set(*node, State::Done);
                    stack.pop();
                    continue;
                };
                *next += 1;
                if child.step == Step::Down {
                    continue;
                }
                match states.get(child.node) {
                    State::Open => endless.set(child.node, true),
                    State::Done => {}
                    State::New => {
                        states.set(child.node, State::Open);
                        stack.push((child.node, 0));
                    }
                }
            }
        }
        endless
    }
}
