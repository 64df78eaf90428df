//! The program: the arena and its tables.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::constant::Const;
use super::node::{Node, Shape};
use super::tables::{ConstId, Format, FormatId, Key, KeyId, NodeId, PatternId};
use crate::bounds::{WORK_FROM_OUTSIDE, WORK_OF_OWN};
use crate::formats::KnownFormat;
use crate::patterns::{Dialect, Pattern};
use crate::work::Budget;

/// A compiled schema.
#[derive(Debug)]
pub struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
    pub(crate) keys: Vec<Key>,
    pub(crate) consts: Vec<Const>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) formats: Vec<Format>,
    pub(crate) dynamic_anchors: HashMap<(u32, u32), NodeId>,
    pub(crate) has_dynamic_references: bool,
    pub(crate) from_outside: bool,
    pub(crate) fallback: Node,
}

impl Program {
    /// The node that stands for the whole schema.
    #[must_use]
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// A node. Ids come from the program itself, so an unknown one cannot happen; it reads as a
    /// schema that nothing matches.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.index()).unwrap_or(&self.fallback)
    }

    /// The shape of a node.
    #[must_use]
    pub fn shape(&self, id: NodeId) -> &Shape {
        &self.node(id).shape
    }

    /// All nodes in id order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The interned property names in id order.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The text of a property name.
    #[must_use]
    pub fn key_text(&self, id: KeyId) -> &str {
        self.keys.get(id.index()).map_or("", |key| &key.text)
    }

    /// The constants in id order.
    #[must_use]
    pub fn consts(&self) -> &[Const] {
        &self.consts
    }

    /// A constant.
    #[must_use]
    pub fn constant(&self, id: ConstId) -> &Const {
        self.consts.get(id.index()).unwrap_or(&Const::Undefined)
    }

    /// The patterns in id order.
    #[must_use]
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// A pattern.
    #[must_use]
    pub fn pattern(&self, id: PatternId) -> Option<&Pattern> {
        self.patterns.get(id.index())
    }

    /// The formats in id order.
    #[must_use]
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// A format.
    #[must_use]
    pub fn format(&self, id: FormatId) -> Option<&Format> {
        self.formats.get(id.index())
    }

    /// Whether the verdict of a node can depend on how it was reached (`$dynamicRef`,
    /// `$recursiveRef`): then a walk must start at the root.
    #[must_use]
    pub fn has_dynamic_references(&self) -> bool {
        self.has_dynamic_references
    }

    /// Whether any part of it is a JSON Schema. Such a part may come from a document or a server, and
    /// then it decides nothing about how long the process stands still.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        self.from_outside
    }

    /// What one check against it may cost.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget::new(if self.from_outside {
            WORK_FROM_OUTSIDE
        } else {
            WORK_OF_OWN
        })
    }

    /// The node with this dynamic anchor in this resource.
    #[must_use]
    pub fn dynamic_anchor(&self, resource: u32, anchor: u32) -> Option<NodeId> {
        self.dynamic_anchors.get(&(resource, anchor)).copied()
    }

    /// Follows `Ref`, `This` and `Import` to the node behind them.
    #[must_use]
    pub fn resolve(&self, id: NodeId) -> NodeId {
        let mut at = id;
        // A chain of references without an end is a compile error; the bound is a second lock.
        for _ in 0..=self.nodes.len() {
            match self.shape(at) {
                Shape::Ref(next) | Shape::Import(next) => at = *next,
                _ => break,
            }
        }
        at
    }
}

/// Fills a [`Program`]: interning of everything that nodes refer to by id.
#[derive(Debug, Default)]
pub(crate) struct ProgramBuilder<'a> {
    keys: Vec<Key>,
    key_ids: HashMap<&'a str, KeyId, RandomState>,
    consts: Vec<Const>,
    patterns: Vec<Pattern>,
    pattern_ids: HashMap<(Box<str>, Box<str>, Dialect), PatternId>,
    formats: Vec<Format>,
    format_ids: HashMap<Box<str>, FormatId>,
}

fn next_id(len: usize) -> u32 {
    // The limit on schema size keeps tables far below 2^32 entries.
    u32::try_from(len).unwrap_or(u32::MAX)
}

impl<'a> ProgramBuilder<'a> {
    pub(crate) fn key(&mut self, text: &'a str) -> KeyId {
        if let Some(id) = self.key_ids.get(text) {
            return *id;
        }
        let id = KeyId(next_id(self.keys.len()));
        self.keys.push(Key::new(text));
        self.key_ids.insert(text, id);
        id
    }

    pub(crate) fn constant(&mut self, value: Const) -> ConstId {
        let id = ConstId(next_id(self.consts.len()));
        self.consts.push(value);
        id
    }

    pub(crate) fn pattern(&mut self, source: &str, flags: &str, dialect: Dialect) -> PatternId {
        let name = (Box::from(source), Box::from(flags), dialect);
        if let Some(id) = self.pattern_ids.get(&name) {
            return *id;
        }
        let id = PatternId(next_id(self.patterns.len()));
        self.patterns.push(Pattern::new(source, flags, dialect));
        self.pattern_ids.insert(name, id);
        id
    }

    pub(crate) fn pattern_entry(&self, id: PatternId) -> Option<&Pattern> {
        self.patterns.get(id.index())
    }

    pub(crate) fn format(&mut self, name: &str) -> FormatId {
        if let Some(id) = self.format_ids.get(name) {
            return *id;
        }
        let id = FormatId(next_id(self.formats.len()));
        self.formats.push(Format {
            name: name.into(),
            known: KnownFormat::from_name(name),
        });
        self.format_ids.insert(name.into(), id);
        id
    }

    pub(crate) fn finish(
        self,
        nodes: Vec<Node>,
        root: NodeId,
        dynamic_anchors: HashMap<(u32, u32), NodeId>,
        has_dynamic_references: bool,
    ) -> Program {
        Program {
            from_outside: nodes
                .iter()
                .any(|node| matches!(node.shape, Shape::Json(_))),
            nodes,
            root,
            keys: self.keys,
            consts: self.consts,
            patterns: self.patterns,
            formats: self.formats,
            dynamic_anchors,
            has_dynamic_references,
            fallback: Shape::Never.into(),
        }
    }
}
