//! The walk through a value: what stays, what is mended, where it goes on.

use super::Mode;
use super::array::ArrayParts;
use super::notes::{Notes, What};
use super::object::ObjectParts;
use super::types::{self, Types, has_type};
use super::view::View;
use crate::bounds::{DEFAULT_MAX_ERRORS, MAX_VALUE_DEPTH};
use crate::check::Walk;
use crate::ir::{ConstId, NodeId};
use crate::value_access::{Class, Limit, Result, ValueBuilder};

/// The result of one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome<V> {
    pub(super) value: V,
    pub(super) changed: bool,
}

impl<V> Outcome<V> {
    pub(super) fn same(value: V) -> Self {
        Self {
            value,
            changed: false,
        }
    }

    pub(super) fn new(value: V) -> Self {
        Self {
            value,
            changed: true,
        }
    }
}

/// What may be done about a value of the wrong type that cannot be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Put another value in its place.
    Replace,
    /// Nothing: it is the schema's own default.
    Keep,
}

/// A container whose parts are being visited.
pub(super) struct Frame<'p, A: ValueBuilder> {
    view: Box<View<'p>>,
    value: A::Value,
    region: A::Region,
    parts: Parts<'p, A>,
}

enum Parts<'p, A: ValueBuilder> {
    Object(ObjectParts<'p, A>),
    Array(ArrayParts<A>),
}

/// What looking at a value led to, and what a container does next.
pub(super) enum Step<'p, A: ValueBuilder> {
    Into(Box<Frame<'p, A>>),
    Finished(Outcome<A::Value>),
}

/// The state of one normalisation.
pub(super) struct Normaliser<'p, 'h, A: ValueBuilder> {
    /// Checks on the way, with the same allowance and as deep as this is.
    pub(super) walk: Walk<'p, 'h, A>,
    pub(super) mode: Mode,
    /// A value whose root is of the wrong kind is not replaced.
    keeps_root: bool,
    pub(super) notes: Notes,
    /// Something about the value decided which schemas apply, or a value was made: walking again may
    /// lead elsewhere.
    pub(super) chose: bool,
    /// How many values are being made inside each other.
    pub(super) making: u32,
    /// How many values were made from nothing for the present place.
    pub(super) made: u32,
    /// Nodes for which a value is being made right now.
    pub(super) making_for: Vec<NodeId>,
    /// Defaults that are being fitted to their own schema right now.
    pub(super) settling: Vec<ConstId>,
    /// A default needed itself to be complete.
    pub(super) endless: bool,
    /// The text of the key at hand.
    pub(super) text: String,
}

impl<'p, 'h, A: ValueBuilder> Normaliser<'p, 'h, A> {
    pub(super) fn new(walk: Walk<'p, 'h, A>, mode: Mode, keeps_root: bool) -> Self {
        Self {
            walk,
            mode,
            keeps_root,
            notes: Notes::new(DEFAULT_MAX_ERRORS),
            chose: false,
            making: 0,
            made: 0,
            making_for: Vec::new(),
            settling: Vec::new(),
            endless: false,
            text: String::new(),
        }
    }

    /// Walks the whole value.
    pub(super) fn whole(&mut self, value: A::Value) -> Result<Outcome<A::Value>> {
        self.visit(&[self.walk.program.root()], value, Remedy::Replace)
    }

    /// Brings a value into the shape that all of `nodes` declare together.
    ///
    /// Containers that are open wait in a list, not on the stack: how deep a value may be does not
    /// depend on how much stack the thread has.
    pub(super) fn visit(
        &mut self,
        nodes: &[NodeId],
        value: A::Value,
        remedy: Remedy,
    ) -> Result<Outcome<A::Value>> {
        let mut open: Vec<Box<Frame<'p, A>>> = Vec::new();
        let mut next = self.enter(nodes, value, remedy)?;
        loop {
            match next {
                Step::Into(frame) => open.push(frame),
                Step::Finished(outcome) => {
                    let Some(frame) = open.pop() else {
                        return Ok(outcome);
                    };
                    let outcome = self.close(*frame, outcome);
                    match open.last_mut() {
                        Some(parent) => self.accept(parent, outcome),
                        None => return Ok(outcome),
                    }
                }
            }
            let Some(frame) = open.last_mut() else {
                return Ok(Outcome::same(value));
            };
            next = match self.advance(frame) {
                Ok(step) => step,
                Err(interrupt) => {
                    while let Some(frame) = open.pop() {
                        self.walk.access.close_region(frame.region, None);
                    }
                    return Err(interrupt);
                }
            };
        }
    }

    /// Looks at one value: it is done, or its parts come next.
    pub(super) fn enter(
        &mut self,
        nodes: &[NodeId],
        value: A::Value,
        remedy: Remedy,
    ) -> Result<Step<'p, A>> {
        self.walk.spend(1)?;
        let class = self.walk.class(value)?;
        if self.is_settled(nodes, value, class)? {
            return Ok(Step::Finished(Outcome::same(value)));
        }
        let view = self.view(nodes, value, class)?;
        if !self.is_of_type(&view, value, class)? {
            return self
                .mend(nodes, &view, value, class, remedy)
                .map(Step::Finished);
        }
        // An instance may pass a kind that a copy of its properties does not.
        self.chose |= !view.asked.is_empty();
        match class {
            // A Date or an array of bytes that is asked for as such has no parts: a copy would be
            // an ordinary object.
            Class::Object if !view.objects.is_empty() && view.types.meets(Types::PLAIN) => {
                self.open(view, value, class)
            }
            Class::Array if !view.arrays.is_empty() => self.open(view, value, class),
            _ => Ok(Step::Finished(Outcome::same(value))),
        }
    }

    /// Goes into a container. Handles that are opened in there are closed again, so that a long
    /// array does not keep the handles of all its elements.
    fn open(&mut self, view: Box<View<'p>>, value: A::Value, class: Class) -> Result<Step<'p, A>> {
        if self.walk.depth >= MAX_VALUE_DEPTH {
            return Err(Limit::Depth.into());
        }
        let region = self.walk.access.open_region()?;
        let parts = if class == Class::Array {
            self.open_array(&view, value).map(Parts::Array)
        } else {
            self.open_object(&view, value).map(Parts::Object)
        };
        match parts {
            Ok(parts) => {
                self.walk.depth += 1;
                Ok(Step::Into(Box::new(Frame {
                    view,
                    value,
                    region,
                    parts,
                })))
            }
            Err(interrupt) => {
                self.walk.access.close_region(region, None);
                Err(interrupt)
            }
        }
    }

    /// Leaves a container; of everything in there only a changed copy survives.
    fn close(&mut self, frame: Frame<'p, A>, outcome: Outcome<A::Value>) -> Outcome<A::Value> {
        self.walk.depth -= 1;
        let survivor = outcome.changed.then_some(outcome.value);
        match self.walk.access.close_region(frame.region, survivor) {
            Some(value) => Outcome::new(value),
            None => Outcome::same(frame.value),
        }
    }

    fn advance(&mut self, frame: &mut Frame<'p, A>) -> Result<Step<'p, A>> {
        match &mut frame.parts {
            Parts::Object(parts) => self.next_property(&frame.view, frame.value, parts),
            Parts::Array(parts) => self.next_element(&frame.view, frame.value, parts),
        }
    }

    /// Takes the result of the part that a container waits for.
    fn accept(&mut self, frame: &mut Frame<'p, A>, outcome: Outcome<A::Value>) {
        let before = match &mut frame.parts {
            Parts::Object(parts) => parts.accept(outcome),
            Parts::Array(parts) => parts.accept(outcome),
        };
        if let Some(before) = before {
            self.notes.step_out(before);
        }
    }

    /// The frequent cases that need no view: a value without parts under one plain schema.
    fn is_settled(&mut self, nodes: &[NodeId], value: A::Value, class: Class) -> Result<bool> {
        let [node] = nodes else {
            return Ok(nodes.is_empty());
        };
        let shape = self.walk.program.shape(*node);
        if shape.accepts_all() {
            return Ok(true);
        }
        if matches!(class, Class::Object | Class::Array) {
            return Ok(false);
        }
        match types::of_shape(self.walk.program, shape) {
            Some(types) => has_type(&mut self.walk, value, class, types),
            None => Ok(false),
        }
    }

    fn is_of_type(&mut self, view: &View<'p>, value: A::Value, class: Class) -> Result<bool> {
        Ok(has_type(&mut self.walk, value, class, view.types)?
            && self.walk.passes_all(&view.asked, value)?)
    }

    /// A value of the wrong type: converted, or replaced, or kept with a note.
    #[inline(never)]
    fn mend(
        &mut self,
        nodes: &[NodeId],
        view: &View<'p>,
        value: A::Value,
        class: Class,
        remedy: Remedy,
    ) -> Result<Outcome<A::Value>> {
        if !has_type(&mut self.walk, value, class, view.types)?
            && let Some(converted) = self.convert(view, value, class)?
            && self.walk.passes_all(&view.asked, converted)?
        {
            return Ok(Outcome::new(converted));
        }
        if remedy == Remedy::Keep {
            self.notes.add(What::UnfitDefault);
            return Ok(Outcome::same(value));
        }
        let found = name_of(class);
        if self.mode == Mode::Strict {
            return Ok(Outcome::same(value));
        }
        if self.keeps_root && self.making == 0 && self.notes.is_at_root() {
            // A declared default for nothing at all is not made up.
            if class != Class::Undefined || self.default_of(nodes)?.is_none() {
                self.notes.add(What::OtherRoot { found });
                return Ok(Outcome::same(value));
            }
        }
        let Some(created) = self.make(nodes)? else {
            self.notes.add(What::NotReplaced { found });
            return Ok(Outcome::same(value));
        };
        if self.is_same_scalar(value, class, created)? {
            // The schema's own default is of the wrong type, and the value is that default.
            return Ok(Outcome::same(value));
        }
        self.notes.add(What::Replaced { found });
        Ok(Outcome::new(created))
    }

    /// Whether what was made is the value that it would replace, as far as values without parts go.
    fn is_same_scalar(&mut self, value: A::Value, class: Class, created: A::Value) -> Result<bool> {
        if self.walk.class(created)? != class {
            return Ok(false);
        }
        Ok(match class {
            Class::Undefined | Class::Null | Class::Bool(_) | Class::Number(_) => true,
            Class::String => {
                let text = self.walk.text(created, str::to_owned)?;
                self.walk.text(value, |own| own == text)?
            }
            Class::BigInt => self.walk.bigint_value(created)? == self.walk.bigint_value(value)?,
            _ => false,
        })
    }

    /// Whether undeclared parts are removed.
    pub(super) fn removes(&self) -> bool {
        self.mode != Mode::Keep
    }
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Undefined => "undefined",
        Class::Null => "null",
        Class::Bool(_) => "boolean",
        Class::Number(_) => "number",
        Class::BigInt => "bigint",
        Class::String => "string",
        Class::Symbol => "symbol",
        Class::Function => "function",
        Class::Array => "array",
        Class::Object => "object",
    }
}
