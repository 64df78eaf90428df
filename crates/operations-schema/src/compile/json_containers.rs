//! JSON Schema keywords about arrays and objects.

use super::compiler::{Compiler, Step};
use super::draft::Draft;
use super::json::Site;
use super::required::RequiredNames;
use crate::ir::{
    Additional, ArrayRules, Dependency, MinMax, NodeId, ObjectRules, PatternProperty, Property,
    PropertyIndex,
};
use crate::problem::Result;
use crate::source::Source;

/// `items` and its relatives.
pub(super) fn array<'a>(
    compiler: &mut Compiler<'a>,
    site: &Site<'a>,
) -> Result<Option<ArrayRules>> {
    let mut rules = ArrayRules {
        prefix: Vec::new(),
        rest: None,
        length: site.min_max("minItems", "maxItems"),
        unique: site.validates && site.object.get("uniqueItems") == Some(&Source::Bool(true)),
        contains: None,
        matching: MinMax::default(),
        contains_evaluates: site.draft == Draft::Draft202012,
    };
    rules.rest = items(compiler, site, &mut rules)?;
    if site.draft > Draft::Draft4 {
        rules.contains = compiler.optional_schema(site, "contains")?;
    }
    if site.draft.is_modern() {
        rules.matching = site.min_max("minContains", "maxContains");
    }
    rules.matching.min.get_or_insert(1.0);
    let says_something = rules.rest.is_some()
        || !rules.prefix.is_empty()
        || rules.length.is_given()
        || rules.unique
        || rules.contains.is_some();
    Ok(says_something.then_some(rules))
}

/// The positional schemas go to `rules.prefix`; gives the schema of the others.
fn items<'a>(
    compiler: &mut Compiler<'a>,
    site: &Site<'a>,
    rules: &mut ArrayRules,
) -> Result<Option<NodeId>> {
    if site.draft == Draft::Draft202012 {
        rules.prefix = compiler
            .schema_list(site, "prefixItems")?
            .unwrap_or_default();
    }
    if matches!(site.object.get("items"), Some(Source::Array(_))) && rules.prefix.is_empty() {
        // Documents without `$schema` are often written for an older draft.
        rules.prefix = compiler.schema_list(site, "items")?.unwrap_or_default();
        return compiler.optional_schema(site, "additionalItems");
    }
    compiler.optional_schema(site, "items")
}

/// `properties` and its relatives.
pub(super) fn object<'a>(
    compiler: &mut Compiler<'a>,
    site: &Site<'a>,
) -> Result<Option<ObjectRules>> {
    let declared = map(compiler, site, "properties")?;
    let required = if site.validates {
        required(compiler, site, "required")?
    } else {
        Vec::new()
    };
    let mut properties = Vec::with_capacity(declared.map_or(0, <[_]>::len));
    let mut required = RequiredNames::new(required);
    for (name, source) in declared.unwrap_or_default() {
        let step = Step::Key("properties", name);
        properties.push(Property {
            key: compiler.tables.key(name),
            node: compiler.member(site, source, "properties", step)?,
            required: required.contains(name),
        });
    }
    let mut patterns = Vec::new();
    for (pattern, source) in map(compiler, site, "patternProperties")?.unwrap_or_default() {
        let step = Step::Key("patternProperties", pattern);
        patterns.push(PatternProperty {
            pattern: compiler.json_pattern(site, pattern)?,
            node: compiler.member(site, source, "patternProperties", step)?,
        });
    }
    let additional = match site.object.get("additionalProperties") {
        Some(Source::Bool(true)) => Additional::Allowed,
        Some(Source::Bool(false)) => Additional::Forbidden,
        _ => compiler
            .optional_schema(site, "additionalProperties")?
            .map_or(Additional::Unspecified, Additional::Schema),
    };
    let names_node = if site.draft > Draft::Draft4 {
        compiler.optional_schema(site, "propertyNames")?
    } else {
        None
    };
    let rules = ObjectRules {
        properties,
        index: PropertyIndex::default(),
        required: required
            .names()
            .iter()
            .map(|name| compiler.tables.key(name))
            .collect(),
        patterns,
        additional,
        names: names_node,
        size: site.min_max("minProperties", "maxProperties"),
        dependencies: dependencies(compiler, site)?,
        declares_properties: declared.is_some(),
    };
    let says_something = rules.declares_properties
        || !rules.required.is_empty()
        || !rules.patterns.is_empty()
        || rules.additional != Additional::Unspecified
        || rules.names.is_some()
        || rules.size.is_given()
        || !rules.dependencies.is_empty();
    Ok(says_something.then_some(rules))
}

type Entries<'a> = [(std::borrow::Cow<'a, str>, Source<'a>)];

/// A keyword that holds an object.
fn map<'a>(
    compiler: &Compiler<'a>,
    site: &Site<'a>,
    keyword: &'static str,
) -> Result<Option<&'a Entries<'a>>> {
    match site.object.defined(keyword) {
        None => Ok(None),
        Some(Source::Object(object)) => Ok(Some(&object.entries)),
        Some(_) => compiler.wrong(site, keyword, "an object"),
    }
}

/// A keyword that holds an array of names. Draft 3's boolean `required` has no meaning here.
fn required<'a>(
    compiler: &Compiler<'a>,
    site: &Site<'a>,
    keyword: &'static str,
) -> Result<Vec<&'a str>> {
    match site.object.defined(keyword) {
        None | Some(Source::Bool(_)) => Ok(Vec::new()),
        Some(Source::Array(items)) if items.iter().all(|item| item.as_str().is_some()) => {
            Ok(items.iter().filter_map(Source::as_str).collect())
        }
        Some(_) => compiler.wrong(site, keyword, "an array of strings"),
    }
}

fn dependencies<'a>(compiler: &mut Compiler<'a>, site: &Site<'a>) -> Result<Vec<Dependency>> {
    let mut found = Vec::new();
    let mut keywords = vec!["dependencies"];
    if site.draft.is_modern() {
        keywords.extend(["dependentRequired", "dependentSchemas"]);
    }
    for keyword in keywords {
        for (name, source) in map(compiler, site, keyword)?.unwrap_or_default() {
            let key = compiler.tables.key(name);
            found.push(match source {
                Source::Array(names) => Dependency {
                    key,
                    required: names
                        .iter()
                        .filter_map(Source::as_str)
                        .map(|name| compiler.tables.key(name))
                        .collect(),
                    node: None,
                },
                _ => Dependency {
                    key,
                    required: Vec::new(),
                    node: Some(compiler.member(site, source, keyword, Step::Key(keyword, name))?),
                },
            });
        }
    }
    Ok(found)
}
