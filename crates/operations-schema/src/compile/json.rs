//! JSON Schema keywords, by draft.

use super::compiler::{Compiler, Context, Step};
use super::documents::RECURSIVE;
use super::draft::Draft;
use super::json_containers as containers;
use super::uri::split_fragment;
use crate::ir::{
    Bounds, DynamicReference, JsonSchema, LogicRules, MinMax, NodeId, PatternId, Shape,
    StringRules, TypeSet, Unevaluated,
};
use crate::patterns::Dialect;
use crate::problem::{Result, SchemaError};
use crate::source::{Source, SourceObject};

/// Where a JSON Schema is being read.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) id: NodeId,
    pub(super) object: &'a SourceObject<'a>,
    pub(super) context: Context,
    pub(super) resource: u32,
    pub(super) draft: Draft,
    /// The vocabulary of types and bounds is in use.
    pub(super) validates: bool,
}

impl<'a> Site<'a> {
    /// A number keyword, where the vocabulary is in use.
    pub(super) fn bound(&self, keyword: &str) -> Option<f64> {
        self.object
            .get(keyword)
            .and_then(Source::as_number)
            .filter(|_| self.validates)
    }

    /// Two of them that bound a size.
    pub(super) fn min_max(&self, min: &str, max: &str) -> MinMax {
        MinMax {
            min: self.bound(min),
            max: self.bound(max),
        }
    }

    fn keyword(&self, keyword: &str) -> Option<&'a Source<'a>> {
        self.object.defined(keyword)
    }
}

impl<'a> Compiler<'a> {
    pub(super) fn json_schema(
        &mut self,
        id: NodeId,
        object: &'a SourceObject<'a>,
        context: Context,
        resource: u32,
    ) -> Result<Shape> {
        let draft = self.documents.draft(resource);
        let validates = self
            .documents
            .resource(resource)
            .is_none_or(|it| it.validates);
        let site = Site {
            id,
            object,
            context,
            resource,
            draft,
            validates,
        };
        let mut schema = JsonSchema {
            resource,
            ..JsonSchema::default()
        };
        let alone = draft.reference_stands_alone() && object.string("$ref").is_some();
        schema.logic = self.logic(&site, alone)?.map(Box::new);
        schema.nullable = object.get("nullable") == Some(&Source::Bool(true));
        if alone {
            schema.only_reference = !schema.nullable;
            return Ok(Shape::Json(Box::new(schema)));
        }
        if validates {
            self.any_value(&site, &mut schema)?;
        }
        schema.number = number(&site).map(Box::new);
        schema.string = self.json_string(&site)?.map(Box::new);
        schema.array = containers::array(self, &site)?.map(Box::new);
        schema.object = containers::object(self, &site)?.map(Box::new);
        if draft.is_modern() {
            let unevaluated = Unevaluated {
                items: self.optional_schema(&site, "unevaluatedItems")?,
                properties: self.optional_schema(&site, "unevaluatedProperties")?,
            };
            if unevaluated.items.is_some() || unevaluated.properties.is_some() {
                schema.unevaluated = Some(Box::new(unevaluated));
            }
        }
        schema.only_reference = is_only_reference(&schema);
        Ok(Shape::Json(Box::new(schema)))
    }

    pub(super) fn wrong<T>(
        &self,
        site: &Site<'_>,
        keyword: &'static str,
        expected: &'static str,
    ) -> Result<T> {
        Err(SchemaError::Keyword {
            keyword,
            at: self.path(site.id),
            expected,
        })
    }

    /// A keyword that holds one schema.
    pub(super) fn optional_schema(
        &mut self,
        site: &Site<'a>,
        keyword: &'static str,
    ) -> Result<Option<NodeId>> {
        match site.keyword(keyword) {
            None => Ok(None),
            Some(source @ (Source::Object(_) | Source::Bool(_))) => self
                .child(source, site.context, site.id, Step::Keyword(keyword))
                .map(Some),
            Some(_) => self.wrong(site, keyword, "a schema"),
        }
    }

    /// A keyword that holds an array of schemas.
    pub(super) fn schema_list(
        &mut self,
        site: &Site<'a>,
        keyword: &'static str,
    ) -> Result<Option<Vec<NodeId>>> {
        match site.keyword(keyword) {
            None => Ok(None),
            Some(Source::Array(items)) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(self.member(site, item, keyword, Step::Index(keyword, index))?);
                }
                Ok(Some(list))
            }
            Some(_) => self.wrong(site, keyword, "an array of schemas"),
        }
    }

    /// A schema inside the value of a keyword.
    pub(super) fn member(
        &mut self,
        site: &Site<'a>,
        source: &'a Source<'a>,
        keyword: &'static str,
        step: Step<'a>,
    ) -> Result<NodeId> {
        match source {
            Source::Object(_) | Source::Bool(_) => self.child(source, site.context, site.id, step),
            _ => self.wrong(site, keyword, "made of schemas"),
        }
    }

    /// A pattern of a JSON Schema must be usable.
    pub(super) fn json_pattern(&mut self, site: &Site<'_>, source: &str) -> Result<PatternId> {
        let pattern = self.tables.pattern(source, "", Dialect::JsonSchema);
        self.require_pattern(site.id, pattern)?;
        Ok(pattern)
    }

    pub(super) fn require_pattern(&self, id: NodeId, pattern: PatternId) -> Result<()> {
        let Some(entry) = self.tables.pattern_entry(pattern) else {
            return Ok(());
        };
        match entry.failure() {
            None => Ok(()),
            Some(failure) => Err(SchemaError::Pattern {
                pattern: crate::check::shorten(entry.source()).into_owned(),
                at: self.path(id),
                reason: failure.to_string(),
            }),
        }
    }

    /// `type`, `const` and `enum`.
    fn any_value(&mut self, site: &Site<'a>, schema: &mut JsonSchema) -> Result<()> {
        let words = match site.keyword("type") {
            None => None,
            Some(Source::Array(words)) => Some(words.as_slice()),
            Some(word) => Some(std::slice::from_ref(word)),
        };
        if let Some(words) = words {
            let mut types = TypeSet::default();
            for word in words {
                match word.as_str().and_then(TypeSet::from_word) {
                    Some(one) => types = types.with(one),
                    // OpenAPI documents of a sort write `any`, and draft 3 did too.
                    None if word.as_str() == Some("any") => types = TypeSet(u8::MAX),
                    None => return self.wrong(site, "type", "the name of a JSON type, or several"),
                }
            }
            schema.types = Some(if schema.nullable {
                types.with(TypeSet::NULL)
            } else {
                types
            });
        }
        if site.draft > Draft::Draft4 {
            schema.constant = site.object.get("const").map(|value| self.constant(value));
        }
        match site.keyword("enum") {
            None => {}
            Some(Source::Array(items)) => {
                schema.enumeration = Some(items.iter().map(|item| self.constant(item)).collect());
            }
            Some(_) => return self.wrong(site, "enum", "an array"),
        }
        Ok(())
    }

    fn json_string(&mut self, site: &Site<'a>) -> Result<Option<StringRules>> {
        let mut rules = StringRules {
            length: site.min_max("minLength", "maxLength"),
            ..StringRules::default()
        };
        match site.keyword("pattern") {
            Some(Source::String(pattern)) if site.validates => {
                rules.pattern = Some(self.json_pattern(site, pattern)?);
            }
            Some(Source::String(_)) | None => {}
            Some(_) => return self.wrong(site, "pattern", "a string"),
        }
        if self.options.assert_formats {
            rules.format = site
                .object
                .string("format")
                .map(|format| self.tables.format(format));
        }
        let says_something =
            rules.length.is_given() || rules.pattern.is_some() || rules.format.is_some();
        Ok(says_something.then_some(rules))
    }

    /// Applicators that stay on the value. With `alone`, only the reference.
    fn logic(&mut self, site: &Site<'a>, alone: bool) -> Result<Option<LogicRules>> {
        let mut rules = LogicRules::default();
        let mut any = false;
        if let Some(reference) = site.object.string("$ref") {
            rules.reference = Some(self.json_reference(site, reference)?.0);
            any = true;
        }
        if alone {
            return Ok(Some(rules));
        }
        rules.dynamic = self.dynamic_reference(site)?;
        rules.all_of = self.schema_list(site, "allOf")?.unwrap_or_default();
        rules.any_of = self.schema_list(site, "anyOf")?;
        rules.one_of = self.schema_list(site, "oneOf")?;
        rules.not = self.optional_schema(site, "not")?;
        if site.draft >= Draft::Draft7 {
            rules.condition = self.optional_schema(site, "if")?;
            if rules.condition.is_some() {
                rules.then = self.optional_schema(site, "then")?;
                rules.otherwise = self.optional_schema(site, "else")?;
            }
        }
        any |= rules.dynamic.is_some() || !rules.all_of.is_empty() || rules.any_of.is_some();
        any |= rules.one_of.is_some() || rules.not.is_some() || rules.condition.is_some();
        Ok(any.then_some(rules))
    }

    fn json_reference(&mut self, site: &Site<'a>, reference: &'a str) -> Result<(NodeId, u32)> {
        let found = self.documents.resolve(reference, site.resource);
        let Some((target @ (Source::Object(_) | Source::Bool(_)), resource)) = found else {
            return Err(self.unresolved(site.id, reference));
        };
        let context = Context {
            resource: Some(resource),
            ..site.context
        };
        let id = self.child(target, context, site.id, Step::Reference(reference))?;
        Ok((id, resource))
    }

    fn dynamic_reference(&mut self, site: &Site<'a>) -> Result<Option<DynamicReference>> {
        let (reference, recursive) = match site.draft {
            Draft::Draft202012 => (site.object.string("$dynamicRef"), false),
            Draft::Draft201909 => (site.object.string("$recursiveRef"), true),
            _ => (None, false),
        };
        let Some(reference) = reference else {
            return Ok(None);
        };
        let (initial, resource) = self.json_reference(site, reference)?;
        let name = if recursive {
            RECURSIVE
        } else {
            split_fragment(reference).1
        };
        // Only a target that is itself a dynamic anchor opens the search.
        let known = self.documents.resource(resource);
        let dynamic = known.is_some_and(|resource| resource.dynamic_anchors.contains_key(name));
        let anchor = if dynamic {
            Some(self.anchor_number(name))
        } else {
            None
        };
        Ok(Some(DynamicReference { initial, anchor }))
    }
}

fn is_only_reference(schema: &JsonSchema) -> bool {
    let only = |logic: &LogicRules| {
        logic.reference.is_some()
            && logic.dynamic.is_none()
            && logic.all_of.is_empty()
            && logic.any_of.is_none()
            && logic.one_of.is_none()
            && logic.not.is_none()
            && logic.condition.is_none()
    };
    !schema.nullable && schema.logic.as_deref().is_some_and(only) && schema.is_bare()
}

fn number(site: &Site<'_>) -> Option<Bounds<f64>> {
    let mut rules = Bounds::read(|keyword| site.bound(keyword));
    // Draft 4 and OpenAPI 3.0: a boolean makes the plain bound exclusive.
    if site.object.get("exclusiveMinimum") == Some(&Source::Bool(true)) {
        rules.exclusive_minimum = rules.minimum.take();
    }
    if site.object.get("exclusiveMaximum") == Some(&Source::Bool(true)) {
        rules.exclusive_maximum = rules.maximum.take();
    }
    let all = [
        rules.minimum,
        rules.maximum,
        rules.exclusive_minimum,
        rules.exclusive_maximum,
        rules.multiple_of,
    ];
    all.iter().any(Option::is_some).then_some(rules)
}
