//! The parameters of an operation: those of its path and its own, each with a place in the input.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::document::{At, Document};
use super::operation::Draft;
use super::recipe::{InputPart, Source};
use super::report::Reason;
use super::tree::{Members, Tree};
use super::version::Version;
use operations_http::message::{Location, Parameter, Style};

/// The parameter objects that count for an operation, sorted by what they become.
#[derive(Default)]
pub(super) struct Declared<'d> {
    /// In path, query, headers and cookies.
    pub(super) plain: IndexMap<(Location, String), At<'d>>,
    /// Swagger 2.0's `in: body`.
    pub(super) body: Option<At<'d>>,
    /// Swagger 2.0's `in: formData`.
    pub(super) form: IndexMap<String, At<'d>>,
}

/// Gathers the parameters of the path and of the operation; the latter replace the former.
pub(super) fn gather<'d>(
    document: &'d Document,
    lists: [Option<At<'d>>; 2],
    draft: &mut Draft<'_, 'd>,
) -> Declared<'d> {
    let mut declared = Declared::default();
    for list in lists.into_iter().flatten() {
        if !list.value.is_array() {
            draft.degrade(
                Reason::Malformed,
                &list,
                "\"parameters\" is not a list; it was left out",
            );
            continue;
        }
        for item in list.items() {
            if !draft.charge_parameter() {
                return declared;
            }
            match document.follow(item.clone()) {
                Ok(parameter) => sort_in(&mut declared, parameter, &item, draft),
                Err(reason) => draft.degrade(
                    Reason::Reference,
                    &item,
                    format!("the parameter was left out: {reason}"),
                ),
            }
        }
    }
    declared
}

fn sort_in<'d>(
    declared: &mut Declared<'d>,
    parameter: At<'d>,
    item: &At<'d>,
    draft: &mut Draft<'_, 'd>,
) {
    let Some(place) = parameter.string("in") else {
        draft.degrade(
            Reason::Parameter,
            item,
            "the parameter was left out: it does not say where it goes (\"in\")",
        );
        return;
    };
    if place == "body" && draft.version == Version::Swagger2 {
        declared.body = Some(parameter);
        return;
    }
    let Some(name) = parameter.string("name").filter(|name| !name.is_empty()) else {
        draft.degrade(
            Reason::Parameter,
            item,
            "the parameter was left out: it has no name",
        );
        return;
    };
    if place == "formData" && draft.version == Version::Swagger2 {
        declared.form.insert(name.to_owned(), parameter);
        return;
    }
    let Some(location) = Location::from_word(place) else {
        draft.degrade(
            Reason::Parameter,
            item,
            format!("the parameter {name:?} was left out: {place:?} is not a place it can go to"),
        );
        return;
    };
    // The specification says that these three are described elsewhere.
    let elsewhere = ["accept", "content-type", "authorization"];
    if location == Location::Header
        && draft.version != Version::Swagger2
        && elsewhere.contains(&name.to_ascii_lowercase().as_str())
    {
        return;
    }
    declared
        .plain
        .insert((location, name.to_owned()), parameter);
}

/// Turns the gathered parameters into a plan and the parts of an input.
pub(super) fn plan<'d>(
    declared: &Declared<'d>,
    path: &str,
    has_body: bool,
    draft: &mut Draft<'_, 'd>,
) -> (Vec<Parameter>, Vec<InputPart>) {
    let mut taken: HashSet<String> = HashSet::new();
    if has_body {
        taken.insert("body".to_owned());
    }
    let slots = template_names(path);
    let mut parameters = Vec::new();
    let mut parts = Vec::new();
    for ((location, name), at) in &declared.plain {
        if *location == Location::Path && !slots.contains(&name.as_str()) {
            draft.degrade(
                Reason::Parameter,
                at,
                format!("the path has no place for the parameter {name:?}; it was left out"),
            );
            continue;
        }
        let mut parameter = describe(name, *location, at, draft);
        parameter.input = input_name(name, *location, &mut taken);
        parts.push(InputPart {
            name: parameter.input.clone(),
            source: schema_of(at, &mut parameter, draft),
            required: parameter.required,
            description: at.string("description").map(str::to_owned),
            deprecated: at.flag("deprecated"),
        });
        parameters.push(parameter);
    }
    for slot in slots {
        let known = parameters
            .iter()
            .any(|known| known.location == Location::Path && known.name == slot);
        if known || !draft.charge_parameter() {
            continue;
        }
        draft.degrade_here(
            Reason::Parameter,
            format!("the path parameter {slot:?} is not declared; it is taken as a string"),
        );
        let mut parameter = Parameter::new(slot, Location::Path);
        parameter.input = input_name(slot, Location::Path, &mut taken);
        parts.push(InputPart {
            name: parameter.input.clone(),
            source: Source::made(&json!({ "type": "string" }), 0),
            required: true,
            description: None,
            deprecated: false,
        });
        parameters.push(parameter);
    }
    (parameters, parts)
}

/// The property of the input that holds a parameter: its name, with its place before it when the
/// name is taken.
fn input_name(name: &str, location: Location, taken: &mut HashSet<String>) -> String {
    if taken.insert(name.to_owned()) {
        return name.to_owned();
    }
    let mut candidate = format!("{}_{name}", location.as_str());
    while !taken.insert(candidate.clone()) {
        candidate.push('_');
    }
    candidate
}

/// The names in the braces of a path, each once.
fn template_names(path: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        if !name.is_empty() && seen.insert(name) {
            names.push(name);
        }
        rest = after;
    }
    names
}

/// How a parameter is written.
fn describe<'d>(
    name: &str,
    location: Location,
    at: &At<'d>,
    draft: &mut Draft<'_, 'd>,
) -> Parameter {
    let mut parameter = Parameter::new(name, location);
    parameter.required = location == Location::Path || at.flag("required");
    parameter.allow_reserved = at.flag("allowReserved");
    if draft.version == Version::Swagger2 {
        return parameter.with_collection_format(at.string("collectionFormat").unwrap_or("csv"));
    }
    if let Some(word) = at.string("style") {
        match Style::from_word(word).filter(|style| suits(*style, location)) {
            Some(style) => parameter = parameter.with_style(style),
            None => draft.degrade(
                Reason::Parameter,
                at,
                format!(
                    "the style {word:?} is not one for a {} parameter; the usual one is used",
                    location.as_str()
                ),
            ),
        }
    }
    match at.object().and_then(|object| object.get("explode")) {
        Some(Tree::Bool(explode)) => parameter.with_explode(*explode),
        _ => parameter,
    }
}

fn suits(style: Style, location: Location) -> bool {
    match style {
        Style::Matrix | Style::Label => location == Location::Path,
        Style::Simple => matches!(location, Location::Path | Location::Header),
        Style::Form => matches!(location, Location::Query | Location::Cookie),
        Style::Cookie => location == Location::Cookie,
        Style::SpaceDelimited | Style::PipeDelimited | Style::TabDelimited | Style::DeepObject => {
            location == Location::Query
        }
    }
}

/// Where the schema of a parameter is. One that is described by `content` gets its media type here.
fn schema_of<'d>(at: &At<'d>, parameter: &mut Parameter, draft: &mut Draft<'_, 'd>) -> Source {
    if draft.version == Version::Swagger2 {
        if let Some(items) = at.get("items") {
            draft.uses(items);
        }
        return Source::made(&bare_schema(at.value), at.part);
    }
    let schema = at.get("schema").or_else(|| {
        let content = at.get("content")?;
        let (media_type, described) = content.entries().next()?;
        parameter.content = Some(media_type.to_owned());
        described.get("schema")
    });
    draft.source_of(
        schema,
        "what stands in the place of the parameter's schema is not a schema; any value is accepted",
    )
}

/// What of a Swagger 2.0 parameter is a schema.
pub(super) fn bare_schema(parameter: &Tree) -> Value {
    let kept: Map<String, Value> = parameter
        .as_object()
        .into_iter()
        .flat_map(Members::iter)
        .filter(|(key, _)| {
            !matches!(
                *key,
                "name" | "in" | "required" | "collectionFormat" | "allowEmptyValue" | "schema"
            )
        })
        .map(|(key, value)| (key.to_owned(), value.to_value()))
        .collect();
    Value::Object(kept)
}
