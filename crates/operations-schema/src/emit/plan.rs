//! Looks at the whole program once and decides how its nodes are laid out in the emitted code:
//! which become functions of their own, which are written where they are used, which are left to
//! the walk, and whether work must be counted.

use super::children::{Child, Step};
use super::coverage;
use super::traversal::{PerNode, Traversal};
use crate::bounds::MAX_VALUE_DEPTH;
use crate::ir::{NodeId, Program};

/// A function with more inlined nodes than this is split: engines do not optimise huge functions.
const HEAVIEST_FUNCTION: u32 = 160;

/// Inlined nodes nest no deeper than this within one function.
pub(super) const DEEPEST_NESTING: u32 = 12;

/// A shared node up to this weight is repeated instead of called.
const CHEAP_TO_REPEAT: u32 = 2;

/// What is known about one reachable node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// It is a function of its own.
    pub(super) function: bool,
    /// The native walk decides about it.
    pub(super) walk: bool,
    /// Normalisation never changes a value that passes it.
    pub(super) plain: bool,
}

/// The layout of a program.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a program"
)]
pub(super) struct Plan {
    facts: PerNode<Facts>,
    /// A value can be as deep as the bound allows: functions carry its depth.
    pub(super) tracks_depth: bool,
    /// Some node can make the whole value invalid, so the order of variants matters.
    pub(super) may_throw: bool,
    /// A schema of the user's own may visit the same value very often: functions count their calls.
    pub(super) counts_calls: bool,
    /// The schema may come from outside: every block of the text pays for itself.
    pub(super) charges: bool,
}

/// What a node adds to the function in which it is written.
#[derive(Clone, Copy, Debug)]
struct Weight {
    nodes: u32,
    nesting: u32,
}

/// A call of another function weighs little, and so does a node on a cycle, which becomes one.
impl Default for Weight {
    fn default() -> Self {
        Self {
            nodes: 1,
            nesting: 0,
        }
    }
}

impl Plan {
    /// Lays out `program`, or nothing when it is too large.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let root = program.resolve(program.root());
        let traversal = Traversal::through(program, root)?;
        let endless = traversal.endless_on_one_value();
        let mut facts = traversal.per_node::<Facts>();
        let mut weights = traversal.per_node::<Weight>();
        for &node in traversal.order() {
            let walk = endless.get(node) || !coverage::is_covered(program, node);
            let weight = if walk {
                Weight::default()
            } else {
                weigh(traversal.children(node), &weights)
            };
            let shared = traversal.uses(node) > 1 && weight.nodes > CHEAP_TO_REPEAT;
            let large = weight.nodes > HEAVIEST_FUNCTION || weight.nesting > DEEPEST_NESTING;
            let function = node == root || traversal.repeats(node) || (!walk && (shared || large));
            if !function {
                weights.set(node, weight);
            }
            facts.set(
                node,
                Facts {
                    function,
                    walk,
                    plain: true,
                },
            );
        }
        mark_changing(program, &traversal, &mut facts);
        let recursive = traversal.is_recursive();
        let charges = program.is_from_outside();
        Some(Self {
            tracks_depth: recursive || is_deep(&traversal),
            may_throw: traversal
                .order()
                .iter()
                .any(|node| coverage::may_throw(program, *node)),
            counts_calls: !charges && (recursive || fans_out(&traversal, &facts)),
            charges,
            facts,
        })
    }

    /// What is known about a node.
    pub(super) fn facts(&self, node: NodeId) -> Facts {
        self.facts.get(node)
    }
}

fn weigh(children: &[Child], weights: &PerNode<Weight>) -> Weight {
    let mut total = Weight {
        nodes: 1,
        nesting: 1,
    };
    for child in children {
        let weight = weights.get(child.node);
        total.nodes = total.nodes.saturating_add(weight.nodes);
        total.nesting = total.nesting.max(weight.nesting.saturating_add(1));
    }
    total
}

/// Marks the nodes below which something may be changed. A node on a cycle counts as plain only
/// when nothing on the cycle says otherwise, so doubt spreads from the nodes that change to all
/// that contain them until nothing is new.
fn mark_changing(program: &Program, traversal: &Traversal, facts: &mut PerNode<Facts>) {
    let mut doubtful: Vec<NodeId> = traversal
        .order()
        .iter()
        .copied()
        .filter(|node| coverage::may_change(program, *node))
        .collect();
    if doubtful.is_empty() {
        return;
    }
    let mut parents = traversal.per_node::<Vec<NodeId>>();
    for &node in traversal.order() {
        for child in traversal.children(node) {
            parents.update(child.node, |list| list.push(node));
        }
    }
    while let Some(node) = doubtful.pop() {
        let fact = facts.get(node);
        if fact.plain {
            facts.set(
                node,
                Facts {
                    plain: false,
                    ..fact
                },
            );
            doubtful.extend_from_slice(parents.get_ref(node).map_or(&[], Vec::as_slice));
        }
    }
}

/// Whether a schema without recursion describes values that come near the bound on their depth.
fn is_deep(traversal: &Traversal) -> bool {
    let mut levels = traversal.per_node::<u32>();
    let mut deepest = 0;
    for &node in traversal.order() {
        let below = traversal
            .children(node)
            .iter()
            .map(|child| levels.get(child.node) + u32::from(child.step == Step::Down))
            .max()
            .unwrap_or(0);
        levels.set(node, below);
        deepest = deepest.max(below);
    }
    deepest > MAX_VALUE_DEPTH / 2
}

/// Whether shared functions multiply: `allOf` of two references to an `allOf` of two references...
fn fans_out(traversal: &Traversal, facts: &PerNode<Facts>) -> bool {
    let mut calls = traversal.per_node::<u64>();
    let mut functions = 0_u64;
    let mut largest = 0_u64;
    // Children come before their parents in the order.
    for &node in traversal.order() {
        let is_function = u64::from(facts.get(node).function);
        let total = traversal
            .children(node)
            .iter()
            .map(|child| calls.get(child.node))
            .fold(is_function, u64::saturating_add);
        functions += is_function;
        largest = largest.max(total);
        calls.set(node, total);
    }
    largest > functions.saturating_mul(4).saturating_add(64)
}
