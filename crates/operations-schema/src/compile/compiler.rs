//! The queue of schema locations.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::CompileOptions;
use super::documents::{Documents, is_json_schema};
use super::place::{PlaceMap, place_of};
use super::typebox_scope::{ROOT_SCOPE, Scopes};
use crate::bounds::MAX_NODES;
use crate::ir::{Const, ConstId, Meta, Node, NodeId, Program, ProgramBuilder, Shape};
use crate::pointer::escape;
use crate::problem::{Result, SchemaError};
use crate::source::{Source, SourceObject};

/// What the inside of a schema is read in.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// The JSON Schema resource, where there is one around.
    pub(super) resource: Option<u32>,
    /// The TypeBox scope.
    pub(super) scope: u32,
}

/// One step of a path in the schema.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Start,
    Keyword(&'static str),
    Key(&'static str, &'a str),
    Index(&'static str, usize),
    /// Reached through a reference: the path is not the place in the document.
    Reference(&'a str),
}

/// Room for the nodes of a schema of ordinary size, so that the lists need not grow on the way.
const INITIAL_NODES: usize = 24;

struct Task<'a> {
    id: NodeId,
    source: &'a Source<'a>,
    context: Context,
}

/// A compilation under way.
pub(super) struct Compiler<'a> {
    pub(super) options: &'a CompileOptions,
    pub(super) documents: Documents<'a>,
    pub(super) scopes: Scopes<'a>,
    pub(super) tables: ProgramBuilder<'a>,
    nodes: Vec<Node>,
    steps: Vec<(NodeId, Step<'a>)>,
    places: PlaceMap<NodeId>,
    queue: Vec<Task<'a>>,
    /// Names of dynamic anchors that a reference looks for, by number.
    anchor_names: Vec<&'a str>,
    broken: Option<NodeId>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(root: &'a Source<'a>, options: &'a CompileOptions) -> Self {
        Self {
            options,
            documents: Documents::new(options),
            scopes: Scopes::new(root),
            tables: ProgramBuilder::default(),
            nodes: Vec::with_capacity(INITIAL_NODES),
            steps: Vec::with_capacity(INITIAL_NODES),
            places: PlaceMap::with_capacity_and_hasher(
                INITIAL_NODES,
                BuildHasherDefault::default(),
            ),
            queue: Vec::with_capacity(INITIAL_NODES),
            anchor_names: Vec::new(),
            broken: None,
        }
    }

    pub(super) fn run(mut self, source: &'a Source<'a>) -> Result<Program> {
        let context = Context {
            resource: None,
            scope: ROOT_SCOPE,
        };
        let root = self.child(source, context, NodeId(0), Step::Start)?;
        self.drain()?;
        let anchors = self.dynamic_anchors()?;
        self.refuse_empty_loops()?;
        let dynamic = !self.anchor_names.is_empty();
        Ok(self.tables.finish(self.nodes, root, anchors, dynamic))
    }

    fn drain(&mut self) -> Result<()> {
        while let Some(task) = self.queue.pop() {
            let node = self.node(&task)?;
            if let Some(place) = self.nodes.get_mut(task.id.index()) {
                *place = node;
            }
        }
        Ok(())
    }

    /// Compiles every target that a dynamic reference can reach, and what those bring in.
    fn dynamic_anchors(&mut self) -> Result<HashMap<(u32, u32), NodeId>> {
        let mut found = HashMap::new();
        let mut known = (0, 0);
        while known != (self.anchor_names.len(), self.documents.resources.len()) {
            known = (self.anchor_names.len(), self.documents.resources.len());
            for (number, name) in self.anchor_names.clone().into_iter().enumerate() {
                for position in 0..self.documents.resources.len() {
                    let (Ok(number), Ok(owner)) = (u32::try_from(number), u32::try_from(position))
                    else {
                        return Err(SchemaError::TooLarge);
                    };
                    let resource = self.documents.resource(owner);
                    let target = resource.and_then(|it| it.dynamic_anchors.get(name).copied());
                    if let Some(target) = target {
                        let context = Context {
                            resource: Some(owner),
                            scope: ROOT_SCOPE,
                        };
                        let id = self.child(target, context, NodeId(0), Step::Reference(name))?;
                        found.insert((owner, number), id);
                    }
                }
            }
            self.drain()?;
        }
        Ok(found)
    }

    /// The number of a dynamic anchor's name.
    pub(super) fn anchor_number(&mut self, name: &'a str) -> u32 {
        let position = self.anchor_names.iter().position(|known| *known == name);
        let position = position.unwrap_or_else(|| {
            self.anchor_names.push(name);
            self.anchor_names.len() - 1
        });
        u32::try_from(position).unwrap_or(u32::MAX)
    }

    /// The node for a schema location; compiled later if it is new.
    pub(super) fn child(
        &mut self,
        source: &'a Source<'a>,
        context: Context,
        parent: NodeId,
        step: Step<'a>,
    ) -> Result<NodeId> {
        let place = place_of(source);
        if let Some(id) = self.places.get(&place) {
            return Ok(*id);
        }
        let id = self.reserve(parent, step)?;
        self.places.insert(place, id);
        self.queue.push(Task {
            id,
            source,
            context,
        });
        Ok(id)
    }

    fn reserve(&mut self, parent: NodeId, step: Step<'a>) -> Result<NodeId> {
        if self.nodes.len() >= MAX_NODES {
            return Err(SchemaError::TooLarge);
        }
        let id = NodeId(u32::try_from(self.nodes.len()).map_err(|_| SchemaError::TooLarge)?);
        self.nodes.push(Shape::Never.into());
        self.steps.push((parent, step));
        Ok(id)
    }

    /// A node that no value passes because TypeBox would throw on it.
    pub(super) fn broken(&mut self) -> Result<NodeId> {
        if let Some(id) = self.broken {
            return Ok(id);
        }
        let id = self.reserve(NodeId(0), Step::Start)?;
        if let Some(node) = self.nodes.get_mut(id.index()) {
            node.shape = Shape::Broken("a schema is missing".into());
        }
        self.broken = Some(id);
        Ok(id)
    }

    fn node(&mut self, task: &Task<'a>) -> Result<Node> {
        let object = match task.source {
            Source::Bool(value) => return Ok(Shape::JsonBoolean(*value).into()),
            Source::Object(object) => object,
            _ => return Ok(Shape::Broken("this is not a schema".into()).into()),
        };
        let mut meta = self.meta(object);
        let shape = if is_json_schema(object) {
            meta.needs_presence = true;
            let starts = self.documents.starting_at(task.source);
            let resource = match starts.or(task.context.resource) {
                Some(resource) => resource,
                None => self.documents.add_root(task.source),
            };
            let context = Context {
                resource: Some(resource),
                scope: task.context.scope,
            };
            self.json_schema(task.id, object, context, resource)?
        } else {
            meta.needs_presence = super::key_pattern::needs_presence(object);
            self.typebox(task.id, task.source, object, task.context)?
        };
        Ok(Node { shape, meta })
    }

    fn meta(&mut self, object: &SourceObject<'_>) -> Meta {
        Meta {
            default: object.defined("default").map(|value| self.constant(value)),
            needs_presence: false,
            slot: object.slot,
        }
    }

    pub(super) fn constant(&mut self, source: &Source<'_>) -> ConstId {
        self.tables.constant(to_const(source))
    }

    /// The JSON Pointer of a node in the schema, as far as references allow.
    pub(super) fn path(&self, id: NodeId) -> String {
        let mut segments = Vec::new();
        let mut at = id;
        // Every node's parent was there before it, so the walk ends.
        while let Some((parent, step)) = self.steps.get(at.index()) {
            match step {
                Step::Start => break,
                Step::Keyword(keyword) => segments.push((*keyword).to_owned()),
                Step::Key(keyword, key) => {
                    segments.push(format!("{keyword}/{}", escape(key)));
                }
                Step::Index(keyword, index) => segments.push(format!("{keyword}/{index}")),
                Step::Reference(reference) => {
                    segments.push(format!("({reference})"));
                    break;
                }
            }
            at = *parent;
        }
        segments
            .iter()
            .rev()
            .fold(String::new(), |path, segment| path + "/" + segment)
    }

    pub(super) fn unresolved(&self, id: NodeId, reference: &str) -> SchemaError {
        SchemaError::Unresolved {
            reference: reference.to_owned(),
            at: self.path(id),
        }
    }

    /// References that only lead to each other have no meaning.
    fn refuse_empty_loops(&self) -> Result<()> {
        let mut seen = vec![0_u32; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let round = u32::try_from(start + 1).unwrap_or(u32::MAX);
            let mut at = start;
            while let Some(next) = self
                .nodes
                .get(at)
                .and_then(|node| bare_reference(&node.shape))
            {
                let Some(mark) = seen.get_mut(at) else { break };
                if *mark == round {
                    let id = NodeId(u32::try_from(at).unwrap_or(u32::MAX));
                    return Err(SchemaError::Circular { at: self.path(id) });
                }
                if *mark != 0 {
                    break;
                }
                *mark = round;
                at = next.index();
            }
        }
        Ok(())
    }
}

/// The target of a node that is nothing but a reference.
fn bare_reference(shape: &Shape) -> Option<NodeId> {
    match shape {
        Shape::Ref(target) | Shape::Import(target) => Some(*target),
        Shape::Json(schema) => schema.logic.as_ref().and_then(|logic| logic.reference),
        _ => None,
    }
}

fn to_const(source: &Source<'_>) -> Const {
    match source {
        Source::Null => Const::Null,
        Source::Undefined => Const::Undefined,
        Source::Bool(value) => Const::Bool(*value),
        Source::Number(number) => Const::Number(*number),
        Source::String(text) => Const::String(text.as_ref().into()),
        Source::BigInt(digits) => Const::BigInt(digits.as_ref().into()),
        Source::Date(time) => Const::Date(*time),
        Source::Slot(slot) => Const::Slot(*slot),
        Source::Array(items) => Const::Array(items.iter().map(to_const).collect()),
        Source::Object(object) => {
            let entries = object.entries.iter();
            let entries = entries.map(|(key, value)| (key.as_ref().into(), to_const(value)));
            Const::Object(entries.collect())
        }
    }
}
