//! A schema as data, for code that is the same for all schemas.
//!
//! JavaScript that is written for one schema pays for itself after some tens of values. Until then, and where a process
//! forbids code generation, one function in JavaScript goes through the fast check and the value side by side
//! (`facade/schema/fast-check.ts`). It is hot after a few schemas, and reading a live value costs it a tenth of what it costs
//! the walk.
//!
//! Only what is frequent and simple has a fast check: schemas of a user's own, without references, patterns, formats or
//! alternatives of objects. Its answer is "it passes" or "perhaps", and the walk decides about the latter. So
//! what is left out here costs time, and never a wrong verdict.
//!
//! The fast check is JSON:
//!
//! | form | passes |
//! |---|---|
//! | a number, see [`Simple`] | what has that type |
//! | `[0, names, parts, optional, others]` | an object; `optional` has 1 where a property may be missing; see [`Others`] |
//! | `[1, part, least, greatest]` | a list of that length |
//! | `[2, constant, ...]` | what is equal to one of them |
//! | `[3, part, ...]` | what passes one of these, none of which is an object or a list |
//! | `[4, least, greatest]` | a string of that length |
//! | `[5, simple, minimum, maximum, exclusive minimum, exclusive maximum]` | a number or an integer within these |
//!
//! Bounds that are not given are `null`.

use serde_json::{Value, json};

use crate::ir::{
    Additional, ArrayNode, Bounds, Const, MinMax, NodeId, ObjectNode, Program, Shape,
    lives_on_object_prototype,
};

/// How deep a value may be for which there is a fast check.
const MAX_DEPTH: usize = 16;

/// How many parts a schema may have for which there is a fast check: who goes through it does not count what it does.
const MAX_PARTS: usize = 1_000;

/// Types that need no parameters.
#[derive(Clone, Copy)]
enum Simple {
    Anything = 0,
    String = 1,
    Number = 2,
    Integer = 3,
    Boolean = 4,
    Null = 5,
}

/// What an object may have besides its declared properties.
#[derive(Clone, Copy)]
enum Others {
    /// They are removed by normalisation.
    Removed = 0,
    Allowed = 1,
    Forbidden = 2,
}

/// The fast check of a program, as JSON. Nothing for a program that only the walk, or code of its own, can decide.
#[must_use]
pub fn fast_check(program: &Program) -> Option<String> {
    if program.is_from_outside() || program.nodes().len() > MAX_PARTS {
        return None;
    }
    // Without references, no part is in two places.
    Some(part(program, program.root(), MAX_DEPTH)?.to_string())
}

fn part(program: &Program, id: NodeId, depth: usize) -> Option<Value> {
    match program.shape(id) {
        Shape::Object(shape) => object(program, shape, depth.checked_sub(1)?),
        Shape::Array(shape) => array(program, shape, depth.checked_sub(1)?),
        _ => scalar(program, id),
    }
}

fn object(program: &Program, shape: &ObjectNode, depth: usize) -> Option<Value> {
    let others = match shape.additional {
        Additional::Unspecified => Others::Removed,
        Additional::Allowed => Others::Allowed,
        Additional::Forbidden => Others::Forbidden,
        Additional::Schema(_) => return None,
    };
    if shape.size.is_given() {
        return None;
    }
    let (mut names, mut inner, mut optional) = (Vec::new(), Vec::new(), Vec::new());
    for property in &shape.properties {
        let name = program.key_text(property.key);
        if lives_on_object_prototype(name) {
            return None;
        }
        names.push(name);
        inner.push(part(program, property.node, depth)?);
        optional.push(u8::from(!property.required));
    }
    Some(json!([0, names, inner, optional, others as u8]))
}

fn array(program: &Program, shape: &ArrayNode, depth: usize) -> Option<Value> {
    if shape.unique || shape.counts() {
        return None;
    }
    let items = part(program, shape.items, depth)?;
    let [least, greatest] = size(shape.length)?;
    Some(json!([1, items, least, greatest]))
}

/// What is neither an object nor a list.
fn scalar(program: &Program, id: NodeId) -> Option<Value> {
    Some(match program.shape(id) {
        Shape::Any | Shape::Unknown => json!(Simple::Anything as u8),
        Shape::Boolean => json!(Simple::Boolean as u8),
        Shape::Null => json!(Simple::Null as u8),
        Shape::Number(bounds) => number(Simple::Number, bounds)?,
        Shape::Integer(bounds) => number(Simple::Integer, bounds)?,
        Shape::String(rules) if rules.pattern.is_none() && rules.format.is_none() => {
            let [least, greatest] = size(rules.length)?;
            if least.is_null() && greatest.is_null() {
                return Some(json!(Simple::String as u8));
            }
            json!([4, least, greatest])
        }
        Shape::Literal(id) => json!([2, constant(program.constant(*id))?]),
        Shape::Union(variants) => union(program, variants)?,
        _ => return None,
    })
}

/// One list where all are constants, which is what an enumeration is.
fn union(program: &Program, variants: &[NodeId]) -> Option<Value> {
    let mut constants = vec![json!(2)];
    for variant in variants {
        if let Shape::Literal(id) = program.shape(*variant) {
            constants.push(constant(program.constant(*id))?);
        }
    }
    if constants.len() > variants.len() {
        return Some(constants.into());
    }
    let mut parts = vec![json!(3)];
    for variant in variants {
        // A value with parts may be meant to be another variant than the first that it passes.
        let shape = program.shape(*variant);
        if shape.accepts_all() || matches!(shape, Shape::Union(_)) {
            return None;
        }
        parts.push(scalar(program, *variant)?);
    }
    Some(parts.into())
}

fn number(simple: Simple, bounds: &Bounds<f64>) -> Option<Value> {
    if bounds.multiple_of.is_some() {
        return None;
    }
    let given = [
        bounds.minimum,
        bounds.maximum,
        bounds.exclusive_minimum,
        bounds.exclusive_maximum,
    ];
    if given.iter().all(Option::is_none) {
        return Some(json!(simple as u8));
    }
    let mut form = vec![json!(5), json!(simple as u8)];
    for one in given {
        form.push(bound(one)?);
    }
    Some(form.into())
}

fn size(size: MinMax) -> Option<[Value; 2]> {
    Some([bound(size.min)?, bound(size.max)?])
}

/// JSON has neither infinities nor `NaN`.
fn bound(bound: Option<f64>) -> Option<Value> {
    match bound {
        None => Some(Value::Null),
        Some(bound) if bound.is_finite() => Some(json!(bound)),
        Some(_) => None,
    }
}

/// What JavaScript compares by `===`, and JSON can write.
fn constant(constant: &Const) -> Option<Value> {
    match constant {
        Const::Null => Some(Value::Null),
        Const::Bool(value) => Some(json!(value)),
        Const::Number(value) if value.is_finite() => Some(json!(value)),
        Const::String(text) => Some(json!(text)),
        _ => None,
    }
}
