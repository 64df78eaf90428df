//! Which nodes can be written as JavaScript, and which of them make normalisation remove things.

use crate::ir::{Additional, Const, JsonSchema, NodeId, Program, Property, Shape};

/// How deep unions inside unions are looked into.
pub(super) const UNION_LEVELS: u32 = 4;

/// Whether the emitter covers a node itself (its sub-schemas are asked separately).
pub(super) fn is_covered(program: &Program, id: NodeId) -> bool {
    match program.shape(id) {
        Shape::BigInt(bounds) => [
            bounds.exclusive_maximum,
            bounds.exclusive_minimum,
            bounds.maximum,
            bounds.minimum,
        ]
        .into_iter()
        .flatten()
        .all(|bound| matches!(program.constant(bound), Const::BigInt(_) | Const::Number(_))),
        // What counts as evaluated depends on the verdicts of everything beside it.
        Shape::Json(schema) => {
            // With `type`, null is one more type; alone, it is an exception to every other rule.
            (!schema.nullable || is_nullable_type(schema))
                && schema.unevaluated.is_none()
                && schema
                    .logic
                    .as_ref()
                    .is_none_or(|logic| logic.dynamic.is_none())
        }
        _ => true,
    }
}

/// Whether null passes by the type alone: nothing beside it concerns null.
fn is_nullable_type(schema: &JsonSchema) -> bool {
    schema.types.is_some() && schema.constant.is_none() && schema.logic.is_none()
}

/// Whether TypeBox can throw on a node, which makes the whole value invalid.
pub(super) fn may_throw(program: &Program, id: NodeId) -> bool {
    match program.shape(id) {
        Shape::Broken(_) | Shape::Constructor(_) | Shape::Kind(_) | Shape::RegExp(_) => true,
        Shape::Array(array) => array.unique,
        Shape::BigInt(bounds) => bounds.multiple_of.is_some(),
        Shape::Intersect(intersect) => intersect.unevaluated.is_some(),
        _ => false,
    }
}

/// Whether normalisation may remove properties from a value that passes the node, or add some (apart
/// from what its sub-schemas do).
pub(super) fn may_change(program: &Program, id: NodeId) -> bool {
    match program.shape(id) {
        Shape::Object(object) => {
            let fills = |property: &Property| {
                property.required
                    && !program.node(property.node).meta.needs_presence
                    && !refuses_undefined(program, property.node, UNION_LEVELS)
            };
            matches!(
                object.additional,
                Additional::Unspecified | Additional::Forbidden
            ) || object.properties.iter().any(fills)
        }
        // What the check takes for evaluated, by pattern, need not be what is declared.
        Shape::Intersect(intersect) => intersect
            .unevaluated
            .is_some_and(|keys| keys.schema.is_none()),
        Shape::Json(schema) => json_may_change(schema),
        _ => false,
    }
}

/// [`may_change`] for a JSON Schema. Without `properties` and the like it says nothing about names.
pub(super) fn json_may_change(schema: &JsonSchema) -> bool {
    schema
        .object
        .as_ref()
        .is_some_and(|object| match object.additional {
            Additional::Forbidden => true,
            Additional::Unspecified => object.declares_properties || !object.patterns.is_empty(),
            Additional::Allowed | Additional::Schema(_) => false,
        })
}

/// Whether `undefined` certainly does not pass a node. Unions are looked into a few levels deep.
pub(super) fn refuses_undefined(program: &Program, id: NodeId, levels: u32) -> bool {
    match program.shape(program.resolve(id)) {
        Shape::Array(_)
        | Shape::BigInt(_)
        | Shape::Boolean
        | Shape::Date(_)
        | Shape::Function
        | Shape::Integer(_)
        | Shape::Never
        | Shape::Null
        | Shape::Number(_)
        | Shape::Object(_)
        | Shape::Record(_)
        | Shape::String(_)
        | Shape::TemplateLiteral(_)
        | Shape::Tuple(_)
        | Shape::Uint8Array(_) => true,
        Shape::Literal(constant) => !matches!(
            program.constant(*constant),
            Const::Undefined | Const::Slot(_)
        ),
        Shape::Union(variants) => {
            levels > 0
                && variants
                    .iter()
                    .all(|variant| refuses_undefined(program, *variant, levels - 1))
        }
        Shape::Json(schema) => schema.types.is_some(),
        _ => false,
    }
}
