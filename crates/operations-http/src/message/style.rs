//! The styles of OpenAPI, cell by cell as its tables print them (RFC 6570 underneath).
//!
//! Three cases that the tables leave open are settled here: a primitive in a style for lists is
//! written as in `form`; a list inside a deep object gets its indexes (`a[0]=x`), which is what
//! servers that know deep objects read; and a value nested in a style that has no notation for it is
//! JSON.

use super::escape::Escape;
use super::plan::Style;
use super::value::{InputValue, MAX_DEPTH};
use operations_core::error::CallError;

/// The three kinds of value that the tables tell apart, in plain text.
enum Shape {
    /// Nothing is written.
    Absent,
    /// A string, a number, a boolean.
    Primitive(String),
    /// The elements of an array.
    List(Vec<String>),
    /// The properties of an object.
    Pairs(Vec<(String, String)>),
}

impl Shape {
    fn of(value: &InputValue) -> Result<Self, CallError> {
        let value = value.parsed()?;
        Ok(match value.as_ref() {
            absent if absent.is_absent() => Self::Absent,
            InputValue::Array(elements) => Self::List(
                elements
                    .iter()
                    .filter(|element| !element.is_nothing())
                    .map(|element| Ok(element.to_plain_text()?.into_owned()))
                    .collect::<Result<_, CallError>>()?,
            ),
            InputValue::Object(members) => Self::Pairs(
                members
                    .iter()
                    .filter(|(_, member)| !member.is_nothing())
                    .map(|(key, member)| Ok((key.clone(), member.to_plain_text()?.into_owned())))
                    .collect::<Result<_, CallError>>()?,
            ),
            primitive => Self::Primitive(primitive.to_plain_text()?.into_owned()),
        })
    }
}

/// Names and values, escaped, in the order in which they are written.
pub type Pairs = Vec<(String, String)>;

/// A value for a query, a cookie or a form, as `name=value` pairs. None at all when it is absent.
///
/// # Errors
/// `VALIDATION_ERROR` when the value is nested too deeply.
pub fn pairs(
    name: &str,
    value: &InputValue,
    style: Style,
    explode: bool,
    escape: Escape,
) -> Result<Pairs, CallError> {
    if style == Style::DeepObject {
        let value = value.parsed()?;
        let mut out = Vec::new();
        deep_object(
            escape.of_name().apply(name).into_owned(),
            &value,
            escape,
            &mut out,
            0,
        )?;
        return Ok(out);
    }
    let escaped = |text: &str| escape.apply(text).into_owned();
    let named = |text: &str| escape.of_name().apply(text).into_owned();
    let shape = Shape::of(value)?;
    Ok(match shape {
        Shape::Absent => Vec::new(),
        Shape::Primitive(text) => vec![(named(name), escaped(&text))],
        Shape::List(elements) if explode => elements
            .iter()
            .map(|element| (named(name), escaped(element)))
            .collect(),
        Shape::Pairs(members) if explode => members
            .iter()
            .map(|(key, member)| (named(key), escaped(member)))
            .collect(),
        listed => vec![(
            named(name),
            joined(&listed, delimiter(style, escape), escape),
        )],
    })
}

/// A value for a path, where the style writes the name as well if it writes one.
///
/// # Errors
/// `VALIDATION_ERROR` when the value is nested too deeply.
pub fn path(
    name: &str,
    value: &InputValue,
    style: Style,
    explode: bool,
    escape: Escape,
) -> Result<String, CallError> {
    let shape = Shape::of(value)?;
    Ok(match style {
        Style::Matrix => matrix(name, &shape, explode, escape),
        Style::Label => label(&shape, explode, escape),
        _ => simple(&shape, style, explode, escape),
    })
}

/// A value for a header: as `simple`, and as it stands, since headers are not percent-encoded.
///
/// # Errors
/// `VALIDATION_ERROR` when the value is nested too deeply.
pub fn header(value: &InputValue, style: Style, explode: bool) -> Result<String, CallError> {
    Ok(simple(&Shape::of(value)?, style, explode, Escape::None))
}

const fn delimiter(style: Style, escape: Escape) -> &'static str {
    match (style, escape) {
        (Style::SpaceDelimited, Escape::None) => " ",
        (Style::SpaceDelimited, _) => "%20",
        (Style::PipeDelimited, Escape::None) => "|",
        (Style::PipeDelimited, _) => "%7C",
        (Style::TabDelimited, Escape::None) => "\t",
        (Style::TabDelimited, _) => "%09",
        _ => ",",
    }
}

/// Elements, or keys and values in turn, with one delimiter between all of them.
fn joined(shape: &Shape, delimiter: &str, escape: Escape) -> String {
    let mut words: Vec<_> = Vec::new();
    match shape {
        Shape::Absent => {}
        Shape::Primitive(text) => words.push(escape.apply(text)),
        Shape::List(elements) => words.extend(elements.iter().map(|text| escape.apply(text))),
        Shape::Pairs(members) => words.extend(
            members
                .iter()
                .flat_map(|(key, member)| [escape.apply(key), escape.apply(member)]),
        ),
    }
    words.join(delimiter)
}

/// `key=value` with one delimiter between them.
fn assignments(members: &[(String, String)], delimiter: &str, escape: Escape) -> String {
    let words: Vec<_> = members
        .iter()
        .map(|(key, member)| format!("{}={}", escape.apply(key), escape.apply(member)))
        .collect();
    words.join(delimiter)
}

fn simple(shape: &Shape, style: Style, explode: bool, escape: Escape) -> String {
    match shape {
        Shape::Pairs(members) if explode => assignments(members, ",", escape),
        _ => joined(shape, delimiter(style, escape), escape),
    }
}

fn label(shape: &Shape, explode: bool, escape: Escape) -> String {
    let text = match shape {
        Shape::Absent => return String::new(),
        Shape::Pairs(members) if explode => assignments(members, ".", escape),
        _ if explode => joined(shape, ".", escape),
        _ => joined(shape, ",", escape),
    };
    format!(".{text}")
}

fn matrix(name: &str, shape: &Shape, explode: bool, escape: Escape) -> String {
    // RFC 6570 writes no `=` after the name of an empty value in this style.
    let entry = |name: &str, value: &str| {
        if value.is_empty() {
            format!(";{}", escape.apply(name))
        } else {
            format!(";{}={value}", escape.apply(name))
        }
    };
    match shape {
        Shape::Absent => String::new(),
        Shape::List(elements) if explode => elements
            .iter()
            .map(|element| entry(name, &escape.apply(element)))
            .collect(),
        Shape::Pairs(members) if explode => members
            .iter()
            .map(|(key, member)| entry(key, &escape.apply(member)))
            .collect(),
        _ => entry(name, &joined(shape, ",", escape)),
    }
}

fn deep_object(
    name: String,
    value: &InputValue,
    escape: Escape,
    out: &mut Pairs,
    depth: usize,
) -> Result<(), CallError> {
    // Each level repeats the names of all levels above it, so deep nesting costs its square.
    if depth > MAX_DEPTH / 8 {
        return Err(CallError::invalid(
            "The value of a deepObject parameter is nested too deeply",
        ));
    }
    let (open, close) = if escape == Escape::None {
        ("[", "]")
    } else {
        ("%5B", "%5D")
    };
    match value {
        absent if absent.is_absent() => {}
        InputValue::Object(members) => {
            for (key, member) in members {
                let key = escape.of_name().apply(key);
                let name = format!("{name}{open}{key}{close}");
                deep_object(name, member, escape, out, depth + 1)?;
            }
        }
        InputValue::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let name = format!("{name}{open}{index}{close}");
                deep_object(name, element, escape, out, depth + 1)?;
            }
        }
        primitive => {
            let text = primitive.to_plain_text()?;
            out.push((name, escape.apply(&text).into_owned()));
        }
    }
    Ok(())
}
