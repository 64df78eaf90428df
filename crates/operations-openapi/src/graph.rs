//! Which schemas lead to trouble. Each schema of a document is visited once, however many
//! operations use it, and trouble is carried backwards along the references, so the cost is that of
//! the document.

use std::collections::HashMap;
use std::rc::Rc;

use super::document::{At, Document};
use super::read::shorten;
use super::report::{Problem, Reason};
use super::scope::{Scope, Sink, identity, walk};
use super::tree::Tree;

/// The schemas that operations use and the references between them.
pub(super) struct Graph<'d> {
    document: &'d Document,
    ids: HashMap<usize, usize>,
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    leads_to: Vec<usize>,
    problem: Option<Problem>,
}

/// What one schema contains.
struct Finding<'s, 'd> {
    scope: &'s Scope<'d>,
    targets: Vec<At<'d>>,
    problem: Option<Problem>,
}

impl Sink for Finding<'_, '_> {
    fn reference(&mut self, reference: &str, pointer: &str) {
        match self.scope.resolve(reference) {
            Ok(target) => self.targets.push(target),
            Err(reason) => {
                self.problem.get_or_insert_with(|| {
                    let reason =
                        format!("a schema refers to {reason}; any value is accepted there");
                    Problem::new(Reason::Reference, pointer, reason)
                });
            }
        }
    }

    fn malformed(&mut self, keyword: &str, pointer: &str) {
        self.problem.get_or_insert_with(|| {
            let reason = format!(
                "\"{keyword}\" has a value that it cannot have; it was repaired or left out"
            );
            Problem::new(Reason::Schema, pointer, reason)
        });
    }

    fn pattern(&mut self, pattern: &str, pointer: &str) {
        if self.problem.is_some() || self.scope.can_run(pattern) {
            return;
        }
        let pattern = shorten(pattern, 80);
        let reason =
            format!("the pattern {pattern:?} cannot be run; any text is accepted where it stands");
        self.problem = Some(Problem::new(Reason::Schema, pointer, reason));
    }
}

impl<'d> Graph<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self {
            document,
            ids: HashMap::new(),
            nodes: Vec::new(),
        }
    }

    /// The number of a schema of the document. It is visited now if it was not before.
    pub(super) fn add(&mut self, at: At<'d>) -> usize {
        let (id, new) = self.number(at.value);
        let mut waiting = Vec::new();
        if new {
            waiting.push((id, at));
        }
        while let Some((id, at)) = waiting.pop() {
            let (finding, targets) = self.look_at(at);
            let mut leads_to = Vec::with_capacity(targets.len());
            for target in targets {
                let (target_id, new) = self.number(target.value);
                leads_to.push(target_id);
                if new {
                    waiting.push((target_id, target));
                }
            }
            if let Some(node) = self.nodes.get_mut(id) {
                *node = Node {
                    leads_to,
                    problem: finding,
                };
            }
        }
        id
    }

    fn look_at(&self, at: At<'d>) -> (Option<Problem>, Vec<At<'d>>) {
        let value = at.value;
        let mut pointer = self.document.locate(&at);
        let scope = Scope::new(self.document, at);
        let mut finding = Finding {
            scope: &scope,
            targets: Vec::new(),
            problem: None,
        };
        walk(value, scope.siblings_count(), &mut pointer, &mut finding);
        (finding.problem, finding.targets)
    }

    fn number(&mut self, value: &Tree) -> (usize, bool) {
        let next = self.nodes.len();
        let id = *self.ids.entry(identity(value)).or_insert(next);
        if id == next {
            self.nodes.push(Node::default());
        }
        (id, id == next)
    }

    /// For each schema, a problem that it or one behind it has.
    pub(super) fn problems(self) -> Vec<Option<Rc<Problem>>> {
        let mut led_from: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            for target in &node.leads_to {
                if let Some(list) = led_from.get_mut(*target) {
                    list.push(id);
                }
            }
        }
        let mut problems: Vec<Option<Rc<Problem>>> = self
            .nodes
            .into_iter()
            .map(|node| node.problem.map(Rc::new))
            .collect();
        let mut waiting: Vec<usize> = (0..problems.len())
            .filter(|id| problems.get(*id).is_some_and(Option::is_some))
            .collect();
        while let Some(id) = waiting.pop() {
            let problem = problems.get(id).cloned().flatten();
            for from in led_from.get(id).into_iter().flatten() {
                if let Some(slot @ None) = problems.get_mut(*from) {
                    slot.clone_from(&problem);
                    waiting.push(*from);
                }
            }
        }
        problems
    }
}
