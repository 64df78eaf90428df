//! A JSON Schema location: keywords in groups, absent groups cost one pointer.

use super::Program;
use super::node::{Additional, Bounds, MinMax, Property, StringRules};
use super::tables::{ConstId, KeyId, NodeId, PatternId, PropertyIndex};

/// The set of types that `type` allows (`nullable` included).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TypeSet(pub u8);

impl TypeSet {
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `boolean`.
    pub const BOOLEAN: Self = Self(2);
    /// `integer`: a number without a fraction.
    pub const INTEGER: Self = Self(4);
    /// `number`.
    pub const NUMBER: Self = Self(8);
    /// `string`.
    pub const STRING: Self = Self(16);
    /// `array`.
    pub const ARRAY: Self = Self(32);
    /// `object`.
    pub const OBJECT: Self = Self(64);

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets share a type.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The type behind a word of the `type` keyword.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    /// The words of the set in a fixed order.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        [
            "null", "boolean", "integer", "number", "string", "array", "object",
        ]
        .into_iter()
        .filter(move |word| Self::from_word(word).is_some_and(|one| self.has(one)))
    }
}

/// A JSON Schema that is an object.
#[derive(Clone, Debug, Default)]
pub struct JsonSchema {
    /// The schema resource that the location belongs to: the dynamic scope is made of these.
    pub resource: u32,
    /// The schema is a `$ref` and nothing else that matters.
    pub only_reference: bool,
    /// `type`.
    pub types: Option<TypeSet>,
    /// `const`, by deep equality.
    pub constant: Option<ConstId>,
    /// `enum`, by deep equality.
    pub enumeration: Option<Vec<ConstId>>,
    /// OpenAPI's `nullable: true`: null passes, whatever else the schema says. (OpenAPI's text ties it
    /// to `type`; documents write it beside `$ref` and `allOf` just as often, and mean it.)
    pub nullable: bool,
    /// Keywords about numbers. Draft 4's boolean `exclusiveMinimum` is already folded in.
    pub number: Option<Box<Bounds<f64>>>,
    /// Keywords about strings.
    pub string: Option<Box<StringRules>>,
    /// Keywords about arrays.
    pub array: Option<Box<ArrayRules>>,
    /// Keywords about objects.
    pub object: Option<Box<ObjectRules>>,
    /// Applicators that stay on the same value, `$ref` included.
    pub logic: Option<Box<LogicRules>>,
    /// `unevaluatedItems` and `unevaluatedProperties`.
    pub unevaluated: Option<Box<Unevaluated>>,
}

impl JsonSchema {
    /// Whether it says nothing about the value itself: all that may be there combines other schemas.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.types.is_none()
            && self.constant.is_none()
            && self.enumeration.is_none()
            && self.number.is_none()
            && self.string.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && self.unevaluated.is_none()
    }

    /// The target of a schema that is nothing but a reference.
    #[must_use]
    pub fn alias(&self) -> Option<NodeId> {
        let logic = self.logic.as_ref().filter(|_| self.only_reference)?;
        logic.reference
    }
}

/// Keywords about arrays.
#[derive(Clone, Debug)]
pub struct ArrayRules {
    /// `prefixItems`, or `items` as an array in older drafts.
    pub prefix: Vec<NodeId>,
    /// The schema of the elements after `prefix` (`items` after `prefixItems`, `additionalItems`, or plain `items`).
    pub rest: Option<NodeId>,
    /// `minItems` and `maxItems`.
    pub length: MinMax,
    /// `uniqueItems`.
    pub unique: bool,
    /// `contains`.
    pub contains: Option<NodeId>,
    /// `minContains` (1 where it is not given) and `maxContains`.
    pub matching: MinMax,
    /// `contains` marks what it matched as evaluated (2020-12).
    pub contains_evaluates: bool,
}

impl ArrayRules {
    /// The schema of the element at a position.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<NodeId> {
        self.prefix.get(index).copied().or(self.rest)
    }
}

/// A member of `patternProperties`.
#[derive(Clone, Copy, Debug)]
pub struct PatternProperty {
    /// The pattern of the names.
    pub pattern: PatternId,
    /// The schema of the values.
    pub node: NodeId,
}

/// What follows from the presence of a property.
#[derive(Clone, Debug)]
pub struct Dependency {
    /// The property whose presence matters.
    pub key: KeyId,
    /// These must be present too.
    pub required: Vec<KeyId>,
    /// The whole object must match this too.
    pub node: Option<NodeId>,
}

/// Keywords about objects.
#[derive(Clone, Debug)]
pub struct ObjectRules {
    /// `properties` in their order.
    pub properties: Vec<Property>,
    /// Finds a declared property by name.
    pub index: PropertyIndex,
    /// `required`, all of them, in their order.
    pub required: Vec<KeyId>,
    /// `patternProperties`.
    pub patterns: Vec<PatternProperty>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// `propertyNames`.
    pub names: Option<NodeId>,
    /// `minProperties` and `maxProperties`.
    pub size: MinMax,
    /// `dependencies`, `dependentRequired` and `dependentSchemas`.
    pub dependencies: Vec<Dependency>,
    /// The schema has the keyword `properties` (perhaps empty).
    pub declares_properties: bool,
}

impl ObjectRules {
    /// The declared property of that name.
    #[must_use]
    pub fn find(&self, program: &Program, name: &str) -> Option<&Property> {
        self.index.property(&self.properties, program, name)
    }
}

/// `$dynamicRef` and `$recursiveRef`.
#[derive(Clone, Copy, Debug)]
pub struct DynamicReference {
    /// Where it points without a dynamic scope.
    pub initial: NodeId,
    /// The dynamic anchor to look for in the dynamic scope, outermost resource first; none when it
    /// behaves like a plain `$ref`.
    pub anchor: Option<u32>,
}

/// Applicators that stay on the same value.
#[derive(Clone, Debug, Default)]
pub struct LogicRules {
    /// `$ref`.
    pub reference: Option<NodeId>,
    /// `$dynamicRef` or `$recursiveRef`.
    pub dynamic: Option<DynamicReference>,
    /// `allOf`.
    pub all_of: Vec<NodeId>,
    /// `anyOf`.
    pub any_of: Option<Vec<NodeId>>,
    /// `oneOf`.
    pub one_of: Option<Vec<NodeId>>,
    /// `not`.
    pub not: Option<NodeId>,
    /// `if`.
    pub condition: Option<NodeId>,
    /// `then`.
    pub then: Option<NodeId>,
    /// `else`.
    pub otherwise: Option<NodeId>,
}

/// Keywords that depend on what the other keywords evaluated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unevaluated {
    /// `unevaluatedItems`.
    pub items: Option<NodeId>,
    /// `unevaluatedProperties`.
    pub properties: Option<NodeId>,
}
