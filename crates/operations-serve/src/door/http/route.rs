//! How an operation is called over HTTP: its method, its path, and where the parts of its input are. The router and the
//! document both go by this.
//!
//! * An operation that was imported keeps its method and path, where every part of its input can be read back from them.
//! * A QUERY whose input is flat is a GET with query parameters.
//! * Everything else is a POST with the input as its body.

use http::{HeaderMap, Method};
use operations_core::spec::OperationType;
use operations_http::message::{Location, RequestPlan, Style};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::descriptor::OperationDescriptor;
use super::text::{self, Scalar};

/// What may stand in a path as it is (RFC 3986).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Whether a header may hold what a client shows to us, or to what is in between, and to no one else. A document must not be
/// able to have it sent on by declaring it as a parameter.
fn may_be_a_credential(name: &str) -> bool {
    const PARTS: [&str; 13] = [
        "access-key",
        "api-key",
        "apikey",
        "auth",
        "cookie",
        "credential",
        "forwarded",
        "jwt",
        "password",
        "proxy",
        "secret",
        "session",
        "token",
    ];
    PARTS.iter().any(|part| name.contains(part))
}

/// Headers that mean something to the server itself, or to what is in between.
const OWN_HEADERS: [&str; 17] = [
    "accept",
    "approval",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "last-event-id",
    "origin",
    "prefer",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// How an operation is called.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Route {
    pub(super) method: Method,
    /// As the document has it: below the door, with `{name}` for parameters.
    pub(super) path: String,
    pub(super) segments: Vec<Segment>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Takes,
}

/// What the body of a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// The input.
    Input,
    /// One property of the input.
    Property {
        name: String,
        is_required: bool,
        media_type: String,
    },
}

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// This very text, decoded.
    Literal(String),
    /// A parameter, between two texts.
    Variable {
        before: String,
        name: String,
        after: String,
    },
}

/// A part of the input outside the body that cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// Which, and why.
    pub(super) what: String,
    /// The JSON pointer to it in the input, where that is known.
    pub(super) path: Option<String>,
}

impl Unreadable {
    /// About a property.
    pub(super) fn of(property: &str, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            path: Some(format!("/{}", escape(property))),
        }
    }

    /// The same where what was read is a property of the input.
    pub(super) fn below(mut self, property: Option<&str>) -> Self {
        if let (Some(property), Some(path)) = (property, &self.path) {
            self.path = Some(format!("/{}{path}", escape(property)));
        }
        self
    }
}

/// A part of the input that stands outside the body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameter {
    /// The name in the request.
    pub(super) name: String,
    /// The property of the input.
    pub(super) property: String,
    pub(super) location: Location,
    pub(super) scalar: Scalar,
    /// `None` for a single value. Of a list, whether its elements are repeated, or stand in one text with commas.
    pub(super) is_repeated: Option<bool>,
    pub(super) is_required: bool,
}

impl Route {
    /// `POST <namespace>/<name>`, which every operation has.
    pub(super) fn plain(operation: &OperationDescriptor) -> Self {
        let OperationDescriptor {
            namespace, name, ..
        } = operation;
        let segment = |text| utf8_percent_encode(text, SEGMENT);
        Self {
            method: Method::POST,
            path: format!("/{}/{}", segment(namespace), segment(name)),
            segments: [namespace, name]
                .map(|text| Segment::Literal(text.clone()))
                .into(),
            parameters: Vec::new(),
            body: Takes::Input,
        }
    }

    /// With query parameters, if the operation is a QUERY whose input is flat.
    pub(super) fn flat(operation: &OperationDescriptor) -> Option<Self> {
        if operation.operation_type != OperationType::Query {
            return None;
        }
        let schema = &OperationDescriptor::schema(operation.input.as_deref())?;
        let parameters = text::flat(schema)?
            .iter()
            .filter_map(|(name, property)| {
                Some(Parameter {
                    name: name.clone(),
                    property: name.clone(),
                    location: Location::Query,
                    scalar: Scalar::of(property)?,
                    is_repeated: None,
                    is_required: is_required(schema, name),
                })
            })
            .collect();
        Some(Self {
            method: Method::GET,
            parameters,
            body: Takes::Nothing,
            ..Self::plain(operation)
        })
    }

    /// As it was imported, if every part of its input can be read back.
    pub(super) fn imported(operation: &OperationDescriptor) -> Option<Self> {
        let plan = operation.request.as_ref()?;
        let schema = &OperationDescriptor::schema(operation.input.as_deref())?;
        let method = Method::from_bytes(plan.method.as_bytes()).ok()?;
        let known = [
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ];
        if !known.contains(&method) {
            return None;
        }
        let parameters: Option<Vec<Parameter>> = plan
            .parameters
            .iter()
            .map(|parameter| imported_parameter(parameter, schema))
            .collect();
        let parameters = parameters?;
        let body = match &plan.body {
            None => Takes::Nothing,
            Some(body) => Takes::Property {
                name: Some(&body.input)
                    .filter(|_| ["json", "parts"].contains(&body.notation()))
                    .filter(|_| method != Method::GET)?
                    .clone(),
                is_required: body.required,
                media_type: body.media_type.clone(),
            },
        };
        let segments = segments(plan, &parameters)?;
        Some(Self {
            method,
            path: plan.path.clone(),
            segments,
            parameters,
            body,
        })
    }

    /// What makes its path unique: names of variables do not.
    pub(super) fn shape(&self) -> String {
        let mut shape = String::new();
        for segment in &self.segments {
            shape.push('/');
            match segment {
                Segment::Literal(text) => shape.extend(utf8_percent_encode(text, SEGMENT)),
                Segment::Variable { before, after, .. } => {
                    shape.extend(utf8_percent_encode(before, SEGMENT));
                    shape.push_str("{}");
                    shape.extend(utf8_percent_encode(after, SEGMENT));
                }
            }
        }
        shape
    }

    /// The raw values of its variables, if a path is this one.
    pub(super) fn variables<'p>(&self, path: &[&'p str]) -> Option<Vec<(&str, &'p str)>> {
        if path.len() != self.segments.len() {
            return None;
        }
        let mut variables = Vec::new();
        for (segment, text) in self.segments.iter().zip(path) {
            match segment {
                Segment::Literal(literal) => {
                    let decoded = percent_decode_str(text).decode_utf8().ok()?;
                    if decoded != *literal {
                        return None;
                    }
                }
                Segment::Variable {
                    before,
                    name,
                    after,
                } => {
                    let rest = text.strip_prefix(before.as_str())?;
                    let value = rest.strip_suffix(after.as_str())?;
                    if value.is_empty() {
                        return None;
                    }
                    variables.push((name.as_str(), value));
                }
            }
        }
        Some(variables)
    }

    /// The input that a request stands for, but for its body: members of a JSON object, in the order of their declaration.
    /// Fails if a text is not UTF-8.
    pub(super) fn members(
        &self,
        variables: &[(&str, &str)],
        query: &str,
        headers: &HeaderMap,
    ) -> Result<Vec<(String, Value)>, Unreadable> {
        let pairs: Vec<(String, &str)> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Ok((form_decoded(name)?, value))
            })
            .collect::<Result<_, Unreadable>>()?;
        let mut members = Vec::new();
        for parameter in &self.parameters {
            let raw: Vec<&str> = match parameter.location {
                Location::Path => variables
                    .iter()
                    .filter(|(name, _)| *name == parameter.name)
                    .map(|(_, value)| *value)
                    .collect(),
                Location::Header => headers
                    .get_all(&parameter.name)
                    .iter()
                    .map(|value| value.to_str().map_err(|_| not_text(&parameter.name)))
                    .collect::<Result<_, _>>()?,
                _ => pairs
                    .iter()
                    .filter(|(name, _)| *name == parameter.name)
                    .map(|(_, value)| *value)
                    .collect(),
            };
            if let Some(value) = parameter.value(&raw)? {
                members.push((parameter.property.clone(), value));
            }
        }
        self.undeclared(&pairs, &mut members)?;
        Ok(members)
    }

    /// What is not declared is handed on as text: the schema says whether it may be there.
    fn undeclared(
        &self,
        pairs: &[(String, &str)],
        members: &mut Vec<(String, Value)>,
    ) -> Result<(), Unreadable> {
        if self.body != Takes::Nothing || self.method != Method::GET {
            return Ok(());
        }
        let first_undeclared = members.len();
        for (name, value) in pairs {
            let is_declared = self.parameters.iter().any(|parameter| {
                parameter.property == *name
                    || (parameter.name == *name && parameter.location == Location::Query)
            });
            if is_declared {
                continue;
            }
            let value = Value::from(form_decoded(value)?);
            let known = members.iter_mut().skip(first_undeclared);
            match known.into_iter().find(|(known, _)| known == name) {
                Some((_, Value::Array(list))) => list.push(value),
                Some((_, single)) => *single = Value::from(vec![single.take(), value]),
                None => members.push((name.clone(), value)),
            }
        }
        Ok(())
    }
}

impl Parameter {
    fn value(&self, raw: &[&str]) -> Result<Option<Value>, Unreadable> {
        let decoded = |text: &str| match self.location {
            Location::Query => form_decoded(text),
            Location::Path => decoded(text),
            _ => Ok(text.trim().to_owned()),
        };
        let read = |text: &str| {
            let read = self.scalar.read(&decoded(text)?);
            read.map_err(|what| Unreadable::of(&self.property, what))
        };
        let Some(first) = raw.first() else {
            return Ok(None);
        };
        Ok(Some(match self.is_repeated {
            None if raw.len() == 1 => read(first)?,
            None => {
                let (name, count) = (&self.name, raw.len());
                let what =
                    format!("the parameter {name:?} is there {count} times, and takes one value");
                return Err(Unreadable::of(&self.property, what));
            }
            Some(true) => Value::Array(
                raw.iter()
                    .map(|text| read(text))
                    .collect::<Result<_, Unreadable>>()?,
            ),
            Some(false) => Value::Array(
                raw.iter()
                    .flat_map(|text| text.split(','))
                    .map(read)
                    .collect::<Result<_, Unreadable>>()?,
            ),
        }))
    }
}

fn decoded(text: &str) -> Result<String, Unreadable> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| not_text(text))
}

/// A name as a part of a JSON Pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn not_text(what: &str) -> Unreadable {
    Unreadable {
        what: format!("{what:?} is not UTF-8"),
        path: None,
    }
}

/// Forms, and the `URLSearchParams` of JavaScript, write `+` for a space.
fn form_decoded(text: &str) -> Result<String, Unreadable> {
    decoded(&text.replace('+', " "))
}

fn is_required(schema: &Value, property: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == property))
}

fn imported_parameter(
    parameter: &operations_http::message::Parameter,
    schema: &Value,
) -> Option<Parameter> {
    let is_readable = match (parameter.location, parameter.style) {
        (Location::Path, Style::Simple) | (Location::Query, Style::Form) => true,
        (Location::Header, Style::Simple) => {
            let name = parameter.name.to_ascii_lowercase();
            !OWN_HEADERS.contains(&name.as_str()) && !may_be_a_credential(&name)
        }
        _ => false,
    };
    if !is_readable || parameter.content.is_some() {
        return None;
    }
    let property = schema.get("properties")?.get(&parameter.input)?;
    let (scalar, is_list) = readable(schema, property)?;
    Some(Parameter {
        name: parameter.name.clone(),
        property: parameter.input.clone(),
        location: parameter.location,
        scalar,
        is_repeated: is_list.then_some(parameter.explode && parameter.location == Location::Query),
        is_required: parameter.required,
    })
}

/// What texts for an imported parameter are read as, and whether it is a list. It is written as text again, so that a text will
/// do wherever one is allowed.
pub(super) fn readable(root: &Value, schema: &Value) -> Option<(Scalar, bool)> {
    let schema = resolved(root, schema)?;
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => {
            let says_nothing = ["const", "enum", "anyOf", "oneOf", "allOf", "not", "if"]
                .iter()
                .all(|keyword| schema.get(keyword).is_none());
            let scalar = if says_nothing {
                Some(Scalar::Text)
            } else {
                Scalar::of(schema)
            };
            return Some((scalar?, false));
        }
    };
    if types.contains(&"array") {
        let items = match schema.get("items") {
            None | Some(Value::Bool(true)) => return Some((Scalar::Text, true)),
            Some(items) => items,
        };
        let (scalar, is_list) = readable(root, items)?;
        return (types.len() == 1 && !is_list).then_some((scalar, true));
    }
    if types.contains(&"object") {
        return None;
    }
    let scalar = if types.contains(&"string") {
        Scalar::Text
    } else if types.contains(&"number") || types.contains(&"integer") {
        Scalar::Number
    } else if types.contains(&"boolean") {
        Scalar::Boolean
    } else {
        return None;
    };
    Some((scalar, false))
}

/// The schema behind references within another.
pub(super) fn resolved<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut schema = schema;
    for _ in 0..16 {
        let Some(reference) = schema.get("$ref") else {
            return Some(schema);
        };
        schema = root.pointer(reference.as_str()?.strip_prefix('#')?)?;
    }
    None
}

/// The parts of a path whose variables are all declared.
fn segments(plan: &RequestPlan, parameters: &[Parameter]) -> Option<Vec<Segment>> {
    if plan.path.contains(['?', '#']) {
        return None;
    }
    let is_declared = |name: &str| {
        let mut declared = parameters.iter();
        declared.any(|parameter| parameter.location == Location::Path && parameter.name == name)
    };
    let path = plan.path.strip_prefix('/')?;
    let mut count = 0;
    let segments: Option<Vec<Segment>> = path
        .split('/')
        .map(|text| {
            let Some((before, rest)) = text.split_once('{') else {
                return Some(Segment::Literal(decoded(text).ok()?));
            };
            let (name, after) = rest.split_once('}')?;
            count += 1;
            let is_single = !after.contains(['{', '}']) && !before.contains('}');
            (is_single && is_declared(name)).then(|| Segment::Variable {
                before: before.to_owned(),
                name: name.to_owned(),
                after: after.to_owned(),
            })
        })
        .collect();
    let of_path = parameters
        .iter()
        .filter(|parameter| parameter.location == Location::Path);
    segments.filter(|_| of_path.count() == count)
}
