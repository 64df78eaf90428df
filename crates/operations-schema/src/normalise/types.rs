//! The types that a place allows, as a set that can be intersected and united.

use crate::check::Walk;
use crate::ir::{Const, JsonSchema, NodeId, Program, Shape, TypeSet};
use crate::value_access::{Class, Result, ValueAccess};

/// A set of types. Every value has exactly one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(pub(super) u16);

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const UNDEFINED: Self = Self(1);
    pub(super) const NULL: Self = Self(1 << 1);
    pub(super) const BOOLEAN: Self = Self(1 << 2);
    /// A finite number without a fraction.
    pub(super) const INTEGER: Self = Self(1 << 3);
    /// A finite number with a fraction.
    pub(super) const FRACTION: Self = Self(1 << 4);
    /// `NaN` and the infinities: numbers in JavaScript, but of no declared type.
    pub(super) const NOT_FINITE: Self = Self(1 << 5);
    pub(super) const BIGINT: Self = Self(1 << 6);
    pub(super) const STRING: Self = Self(1 << 7);
    pub(super) const SYMBOL: Self = Self(1 << 8);
    pub(super) const FUNCTION: Self = Self(1 << 9);
    pub(super) const ARRAY: Self = Self(1 << 10);
    /// A Date with a time.
    pub(super) const DATE: Self = Self(1 << 11);
    /// A `Uint8Array`.
    pub(super) const BYTES: Self = Self(1 << 12);
    /// Every other object.
    pub(super) const PLAIN: Self = Self(1 << 13);
    /// A Date without a time.
    pub(super) const NO_DATE: Self = Self(1 << 14);

    pub(super) const ALL: Self = Self((1 << 15) - 1);
    pub(super) const NUMBER: Self = Self(Self::INTEGER.0 | Self::FRACTION.0);
    /// Whatever is an object and no array.
    pub(super) const OBJECT: Self =
        Self(Self::PLAIN.0 | Self::DATE.0 | Self::BYTES.0 | Self::NO_DATE.0);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Whether a value has one of the types. Questions about objects cost a call into JavaScript each,
/// so they are asked only where the answer matters.
pub(super) fn has_type<A: ValueAccess>(
    walk: &mut Walk<'_, '_, A>,
    value: A::Value,
    class: Class,
    types: Types,
) -> Result<bool> {
    let own = match class {
        Class::Undefined => Types::UNDEFINED,
        Class::Null => Types::NULL,
        Class::Bool(_) => Types::BOOLEAN,
        Class::Number(number) => number_type(number),
        Class::BigInt => Types::BIGINT,
        Class::String => Types::STRING,
        Class::Symbol => Types::SYMBOL,
        Class::Function => Types::FUNCTION,
        Class::Array => Types::ARRAY,
        Class::Object if types.covers(Types::OBJECT) => return Ok(true),
        Class::Object if !types.meets(Types::OBJECT) => return Ok(false),
        Class::Object => object_type(walk, value)?,
    };
    Ok(types.meets(own))
}

fn number_type(number: f64) -> Types {
    if !number.is_finite() {
        Types::NOT_FINITE
    } else if number.fract() == 0.0 {
        Types::INTEGER
    } else {
        Types::FRACTION
    }
}

fn object_type<A: ValueAccess>(walk: &mut Walk<'_, '_, A>, value: A::Value) -> Result<Types> {
    if let Some(time) = walk.date(value)? {
        return Ok(if time.is_finite() {
            Types::DATE
        } else {
            Types::NO_DATE
        });
    }
    Ok(if walk.uint8_array(value)?.is_some() {
        Types::BYTES
    } else {
        Types::PLAIN
    })
}

/// The type of a constant.
pub(super) fn of_constant(constant: &Const) -> Types {
    match constant {
        Const::Undefined => Types::UNDEFINED,
        Const::Null => Types::NULL,
        Const::Bool(_) => Types::BOOLEAN,
        Const::Number(number) => number_type(*number),
        Const::String(_) => Types::STRING,
        Const::BigInt(_) => Types::BIGINT,
        Const::Date(_) => Types::DATE,
        Const::Array(_) => Types::ARRAY,
        Const::Object(_) => Types::PLAIN,
        Const::Slot(_) => Types::ALL,
    }
}

/// The types behind JSON Schema's `type`.
pub(super) fn of_type_set(set: TypeSet) -> Types {
    if set == TypeSet(u8::MAX) {
        // The word "any" of old documents.
        return Types::ALL;
    }
    [
        (TypeSet::NULL, Types::NULL),
        (TypeSet::BOOLEAN, Types::BOOLEAN),
        (TypeSet::INTEGER, Types::INTEGER),
        (TypeSet::NUMBER, Types::NUMBER),
        (TypeSet::STRING, Types::STRING),
        (TypeSet::ARRAY, Types::ARRAY),
        (TypeSet::OBJECT, Types::OBJECT),
    ]
    .into_iter()
    .filter(|(word, _)| set.has(*word))
    .fold(Types::NONE, |all, (_, types)| all.or(types))
}

/// The types that the rule of one node allows by itself, without the nodes that it refers to.
/// `None` for nodes that only refer to others, and for those whose check must be asked.
pub(super) fn of_shape(program: &Program, shape: &Shape) -> Option<Types> {
    Some(match shape {
        Shape::Any | Shape::Argument | Shape::Unknown | Shape::JsonBoolean(true) => Types::ALL,
        Shape::Array(_) | Shape::Tuple(_) => Types::ARRAY,
        Shape::BigInt(_) => Types::BIGINT,
        Shape::Boolean => Types::BOOLEAN,
        Shape::Date(_) => Types::DATE,
        Shape::Function => Types::FUNCTION,
        Shape::Integer(_) => Types::INTEGER,
        Shape::Literal(id) => literal_type(of_constant(program.constant(*id))),
        Shape::Null => Types::NULL,
        Shape::Number(_) => Types::NUMBER,
        Shape::Object(_) => Types::OBJECT,
        Shape::Record(_) => Types::PLAIN,
        Shape::String(_) | Shape::TemplateLiteral(_) => Types::STRING,
        Shape::Symbol => Types::SYMBOL,
        Shape::Undefined | Shape::Void => Types::UNDEFINED,
        Shape::Uint8Array(_) => Types::BYTES,
        Shape::Json(_)
        | Shape::AsyncIterator
        | Shape::Constructor(_)
        | Shape::Import(_)
        | Shape::Intersect(_)
        | Shape::Iterator
        | Shape::Never
        | Shape::Not(_)
        | Shape::Promise
        | Shape::Ref(_)
        | Shape::RegExp(_)
        | Shape::Union(_)
        | Shape::Kind(_)
        | Shape::Broken(_)
        | Shape::JsonBoolean(false) => return None,
    })
}

/// A number is of the type of any literal number: 1.5 for the literal 1 is a different number, not
/// another type.
pub(super) fn literal_type(types: Types) -> Types {
    if types.meets(Types::NUMBER) {
        types.or(Types::NUMBER)
    } else {
        types
    }
}

/// How many references and combinations are followed to learn the types of a variant. Beyond that
/// a variant counts as allowing everything, which only makes normalisation keep more.
const MAX_NESTING: u32 = 24;

/// How many nodes are looked at for the same purpose: references can fan out.
const MAX_LOOKS: u32 = 4096;

/// The types that a node allows whatever the value is, and how many nodes were looked at for that.
pub(super) fn of_node(program: &Program, id: NodeId) -> (Types, u64) {
    let mut inference = TypeInference {
        program,
        looks: MAX_LOOKS,
    };
    let types = inference.node(id, MAX_NESTING);
    (types, u64::from(MAX_LOOKS - inference.looks))
}

struct TypeInference<'p> {
    program: &'p Program,
    looks: u32,
}

impl TypeInference<'_> {
    fn node(&mut self, id: NodeId, nesting: u32) -> Types {
        let (Some(looks), Some(below)) = (self.looks.checked_sub(1), nesting.checked_sub(1)) else {
            return Types::ALL;
        };
        self.looks = looks;
        let shape = self.program.shape(id);
        if let Some(types) = of_shape(self.program, shape) {
            return types;
        }
        match shape {
            Shape::Ref(target) | Shape::Import(target) => self.node(*target, below),
            Shape::Union(variants) => self.any(variants, below),
            Shape::Intersect(intersect) => self.all(&intersect.all_of, below),
            Shape::Never | Shape::JsonBoolean(false) | Shape::Broken(_) => Types::NONE,
            Shape::Promise => Types::OBJECT,
            Shape::Iterator | Shape::AsyncIterator => Types::OBJECT.or(Types::ARRAY),
            Shape::Json(json) => self.json(json, below),
            _ => Types::ALL,
        }
    }

    fn json(&mut self, json: &JsonSchema, below: u32) -> Types {
        let mut types = of_keywords(self.program, json);
        if let Some(logic) = &json.logic {
            types = types.and(self.all(&logic.all_of, below));
            if let Some(target) = logic.reference {
                types = types.and(self.node(target, below));
            }
            for variants in [&logic.any_of, &logic.one_of].into_iter().flatten() {
                types = types.and(self.any(variants, below));
            }
        }
        if json.nullable {
            types = types.or(Types::NULL);
        }
        types
    }

    fn all(&mut self, ids: &[NodeId], below: u32) -> Types {
        ids.iter()
            .fold(Types::ALL, |types, id| types.and(self.node(*id, below)))
    }

    fn any(&mut self, ids: &[NodeId], below: u32) -> Types {
        ids.iter()
            .fold(Types::NONE, |types, id| types.or(self.node(*id, below)))
    }
}

/// What `type`, `const` and `enum` of a JSON Schema allow.
pub(super) fn of_keywords(program: &Program, json: &JsonSchema) -> Types {
    let declared = json.types.map_or(Types::ALL, of_type_set);
    let mut listed = Types::ALL;
    if let Some(members) = &json.enumeration {
        listed = members
            .iter()
            .map(|id| literal_type(of_constant(program.constant(*id))))
            .fold(
                if json.nullable {
                    Types::NULL
                } else {
                    Types::NONE
                },
                Types::or,
            );
    }
    if let Some(id) = json.constant {
        listed = listed.and(literal_type(of_constant(program.constant(id))));
    }
    // A list that contradicts `type` says nothing useful about types.
    let both = declared.and(listed);
    if both == Types::NONE { declared } else { both }
}
