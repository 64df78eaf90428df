//! The compiled form of a schema: an arena of nodes that refer to each other by id.
//!
//! Names, constants, patterns and formats are interned in tables of the [`Program`]; nodes hold
//! ids. Access to live values can therefore prepare a handle per id once.

mod constant;
mod json_schema;
mod node;
mod program;
mod tables;

pub use constant::Const;
pub use json_schema::{
    ArrayRules, Dependency, DynamicReference, JsonSchema, LogicRules, ObjectRules, PatternProperty,
    TypeSet, Unevaluated,
};
pub use node::{
    Additional, ArrayNode, Bounds, ConstructorNode, IntersectNode, KindNode, Meta, MinMax, Node,
    ObjectNode, Property, RecordNode, RegExpNode, Shape, StringRules, TupleNode, UnevaluatedKeys,
};
pub use program::Program;
pub(crate) use program::ProgramBuilder;
pub use tables::{ConstId, Format, FormatId, Key, KeyId, NodeId, PatternId, PropertyIndex};
pub use tables::{OBJECT_PROTOTYPE_NAMES, lives_on_object_prototype};
