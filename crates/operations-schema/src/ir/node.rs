//! Nodes: what a schema location means.

use std::cmp::Ordering;

use super::tables::{ConstId, FormatId, KeyId, NodeId, PatternId, PropertyIndex};
use super::{JsonSchema, Program};

/// One schema location.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it accepts.
    pub shape: Shape,
    /// What stands beside it.
    pub meta: Meta,
}

impl From<Shape> for Node {
    fn from(shape: Shape) -> Self {
        let meta = Meta::default();
        Self { shape, meta }
    }
}

/// What stands beside the rule itself and matters to errors and normalisation.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// The `default` keyword.
    pub default: Option<ConstId>,
    /// TypeBox's `ExtendsUndefinedCheck`, or the kind is Any or Unknown: as a required property it
    /// must be present although `undefined` would pass.
    pub needs_presence: bool,
    /// The live schema object, where JavaScript may need it (custom kinds).
    pub slot: Option<u32>,
}

/// The rule of a node: one variant per TypeBox kind, and JSON Schema.
///
/// TypeBox's `Ref` and `This` are resolved while compiling: a property that is a `Ref` holds a
/// [`Shape::Ref`] node with the target's id.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Everything passes.
    Any,
    /// `Type.Argument`: everything passes.
    Argument,
    /// `Type.Array`.
    Array(Box<ArrayNode>),
    /// `Type.AsyncIterator`.
    AsyncIterator,
    /// `Type.BigInt`.
    BigInt(Box<Bounds<ConstId>>),
    /// `Type.Boolean`.
    Boolean,
    /// `Type.Constructor`: `value.prototype` is checked against the instance type.
    Constructor(ConstructorNode),
    /// `Type.Date`.
    Date(Box<Bounds<f64>>),
    /// `Type.Function`.
    Function,
    /// `Module.Import`: the imported definition.
    Import(NodeId),
    /// `Type.Integer`.
    Integer(Box<Bounds<f64>>),
    /// `Type.Intersect`.
    Intersect(Box<IntersectNode>),
    /// `Type.Iterator`.
    Iterator,
    /// `Type.Literal`: strict equality.
    Literal(ConstId),
    /// `Type.Never`.
    Never,
    /// `Type.Not`.
    Not(NodeId),
    /// `Type.Null`.
    Null,
    /// `Type.Number`.
    Number(Box<Bounds<f64>>),
    /// `Type.Object`.
    Object(Box<ObjectNode>),
    /// `Type.Promise`.
    Promise,
    /// `Type.Record`.
    Record(Box<RecordNode>),
    /// `Type.Ref` or `Type.This`, resolved.
    Ref(NodeId),
    /// `Type.RegExp`.
    RegExp(Box<RegExpNode>),
    /// `Type.String`.
    String(Box<StringRules>),
    /// `Type.Symbol`.
    Symbol,
    /// `Type.TemplateLiteral`.
    TemplateLiteral(PatternId),
    /// `Type.Tuple`.
    Tuple(Box<TupleNode>),
    /// `Type.Undefined`.
    Undefined,
    /// `Type.Union`.
    Union(Vec<NodeId>),
    /// `Type.Uint8Array`.
    Uint8Array(MinMax),
    /// `Type.Unknown`.
    Unknown,
    /// `Type.Void`.
    Void,
    /// A kind that is not TypeBox's own; a `TypeRegistry` entry of the user decides, and without
    /// one no value passes.
    Kind(KindNode),
    /// What TypeBox would throw on (a missing `items`, say): no value passes.
    Broken(Box<str>),
    /// The JSON Schemas `true` and `false`.
    JsonBoolean(bool),
    /// A JSON Schema.
    Json(Box<JsonSchema>),
}

impl Shape {
    /// Whether every value passes.
    #[must_use]
    pub fn accepts_all(&self) -> bool {
        matches!(
            self,
            Self::Any | Self::Argument | Self::Unknown | Self::JsonBoolean(true)
        )
    }
}

/// `Type.Array`.
#[derive(Clone, Debug)]
pub struct ArrayNode {
    /// The schema of every element.
    pub items: NodeId,
    /// `minItems` and `maxItems`.
    pub length: MinMax,
    /// `uniqueItems: true`, by TypeBox's hash.
    pub unique: bool,
    /// `contains`. TypeBox counts with `Never` when only a bound on the count is there.
    pub contains: Option<NodeId>,
    /// `minContains` and `maxContains`.
    pub matching: MinMax,
}

impl ArrayNode {
    /// Whether matching elements are counted at all.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.contains.is_some() || self.matching.is_given()
    }
}

/// The least and the greatest size of a value: of its text, its elements or its properties.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinMax {
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

impl MinMax {
    /// Whether there is any bound.
    #[must_use]
    pub fn is_given(self) -> bool {
        self.min.is_some() || self.max.is_some()
    }

    /// Whether a size is within the bounds. One that is `NaN` allows nothing.
    #[must_use]
    pub fn allows(self, size: f64) -> bool {
        self.min.is_none_or(|min| size >= min) && self.max.is_none_or(|max| size <= max)
    }

    /// The least size, where this one is smaller.
    #[must_use]
    pub fn broken_min(self, size: f64) -> Option<f64> {
        self.min.filter(|min| size < *min || min.is_nan())
    }

    /// The greatest size, where this one is larger.
    #[must_use]
    pub fn broken_max(self, size: f64) -> Option<f64> {
        self.max.filter(|max| size > *max || max.is_nan())
    }
}

/// What numbers, bigints (by constants) and dates (by milliseconds) are held against.
#[derive(Clone, Debug, Default)]
pub struct Bounds<T> {
    /// `exclusiveMaximum`.
    pub exclusive_maximum: Option<T>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: Option<T>,
    /// `maximum`.
    pub maximum: Option<T>,
    /// `minimum`.
    pub minimum: Option<T>,
    /// `multipleOf`: JavaScript's `%` in TypeBox, exact in decimals in JSON Schema.
    pub multiple_of: Option<T>,
}

impl<T> Bounds<T> {
    /// Reads the five keywords.
    pub fn read(mut keyword: impl FnMut(&str) -> Option<T>) -> Self {
        Self {
            exclusive_maximum: keyword("exclusiveMaximum"),
            exclusive_minimum: keyword("exclusiveMinimum"),
            maximum: keyword("maximum"),
            minimum: keyword("minimum"),
            multiple_of: keyword("multipleOf"),
        }
    }
}

impl<T: Copy> Bounds<T> {
    /// What [`Bounds::broken`] calls `multipleOf`.
    pub(crate) const MULTIPLE: &'static str = "a multiple of";

    /// The bounds that a value does not keep to, each with what it should have been, in TypeBox's order.
    /// `compare` says how the value compares with one.
    pub(crate) fn broken(
        &self,
        compare: impl Fn(T) -> Option<Ordering>,
        is_multiple: impl Fn(T) -> bool,
    ) -> impl Iterator<Item = (&'static str, T)> {
        let holds = [
            (
                "less than",
                self.exclusive_maximum,
                Ordering::is_lt as fn(Ordering) -> bool,
            ),
            ("greater than", self.exclusive_minimum, Ordering::is_gt),
            ("less or equal to", self.maximum, Ordering::is_le),
            ("greater or equal to", self.minimum, Ordering::is_ge),
        ];
        let compared = holds.into_iter().filter_map(move |(words, bound, holds)| {
            let bound = bound.filter(|bound| !compare(*bound).is_some_and(holds))?;
            Some((words, bound))
        });
        let divisor = self.multiple_of.into_iter();
        let divisor = divisor.filter(move |divisor| !is_multiple(*divisor));
        compared.chain(divisor.map(|divisor| (Self::MULTIPLE, divisor)))
    }
}

impl Bounds<f64> {
    /// Whether a number keeps to them, false for `NaN`. `is_multiple` says what a multiple is.
    #[must_use]
    pub fn hold(&self, value: f64, is_multiple: fn(f64, f64) -> bool) -> bool {
        self.exclusive_maximum.is_none_or(|bound| value < bound)
            && self.exclusive_minimum.is_none_or(|bound| value > bound)
            && self.maximum.is_none_or(|bound| value <= bound)
            && self.minimum.is_none_or(|bound| value >= bound)
            && self
                .multiple_of
                .is_none_or(|divisor| is_multiple(value, divisor))
    }
}

/// `Type.Constructor`.
#[derive(Clone, Copy, Debug)]
pub struct ConstructorNode {
    /// The schema of the instance.
    pub returns: NodeId,
    /// The name `prototype`.
    pub prototype: KeyId,
}

/// `Type.Intersect`.
#[derive(Clone, Debug)]
pub struct IntersectNode {
    /// All of these must pass.
    pub all_of: Vec<NodeId>,
    /// `unevaluatedProperties`, where it is `false` or a schema.
    pub unevaluated: Option<UnevaluatedKeys>,
}

/// `unevaluatedProperties` of an Intersect.
#[derive(Clone, Copy, Debug)]
pub struct UnevaluatedKeys {
    /// TypeBox's `KeyOfPattern` of the intersection: the keys that count as evaluated.
    pub known: PatternId,
    /// The schema of every other key; none means no other key may exist.
    pub schema: Option<NodeId>,
}

/// What happens to properties that are not declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Additional {
    /// Nothing was said.
    Unspecified,
    /// `additionalProperties: true`.
    Allowed,
    /// `additionalProperties: false`.
    Forbidden,
    /// `additionalProperties` is a schema.
    Schema(NodeId),
}

impl Additional {
    /// The schema of the other properties, if there is one.
    #[must_use]
    pub fn schema(self) -> Option<NodeId> {
        match self {
            Self::Schema(node) => Some(node),
            _ => None,
        }
    }
}

/// A declared property.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The name.
    pub key: KeyId,
    /// The schema.
    pub node: NodeId,
    /// Listed in `required`.
    pub required: bool,
}

/// `Type.Object`.
#[derive(Clone, Debug)]
pub struct ObjectNode {
    /// Declared properties in their order.
    pub properties: Vec<Property>,
    /// Finds a declared property by name.
    pub index: PropertyIndex,
    /// The names in `required`, in their order, with those that are not declared: TypeBox's errors
    /// (not its check) look at them all.
    pub required: Vec<KeyId>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// `minProperties` and `maxProperties`.
    pub size: MinMax,
}

impl ObjectNode {
    /// The declared property of that name.
    #[must_use]
    pub fn find(&self, program: &Program, name: &str) -> Option<&Property> {
        self.index.property(&self.properties, program, name)
    }
}

/// `Type.Record`.
#[derive(Clone, Debug)]
pub struct RecordNode {
    /// The pattern of the keys.
    pub pattern: PatternId,
    /// The schema of values whose key matches.
    pub values: NodeId,
    /// `additionalProperties`: what happens to keys that do not match.
    pub additional: Additional,
    /// `minProperties` and `maxProperties`.
    pub size: MinMax,
}

/// `Type.RegExp`.
#[derive(Clone, Copy, Debug)]
pub struct RegExpNode {
    /// Source and flags.
    pub pattern: PatternId,
    /// `minLength` and `maxLength` in UTF-16 units.
    pub length: MinMax,
    /// The name `length`: TypeBox reads it from whatever the value is.
    pub length_key: KeyId,
}

/// What strings are held against. Lengths count UTF-16 units in TypeBox, code points in JSON Schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct StringRules {
    /// `minLength` and `maxLength`.
    pub length: MinMax,
    /// `pattern`.
    pub pattern: Option<PatternId>,
    /// `format`, where it is asserted.
    pub format: Option<FormatId>,
}

/// `Type.Tuple`.
#[derive(Clone, Debug)]
pub struct TupleNode {
    /// The schemas by position; none when `items` is missing.
    pub items: Option<Vec<NodeId>>,
    /// `maxItems`, which is the length; a tuple without it accepts no array.
    pub length: Option<f64>,
}

/// A kind that a `TypeRegistry` may know.
#[derive(Clone, Debug)]
pub struct KindNode {
    /// The kind's name.
    pub name: Box<str>,
    /// The live schema object that the registered function wants.
    pub slot: Option<u32>,
}
