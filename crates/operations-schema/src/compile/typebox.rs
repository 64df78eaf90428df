//! TypeBox kinds: which keywords each of them reads.

use super::compiler::{Compiler, Context, Step};
use super::key_pattern::key_pattern;
use super::required::RequiredNames;
use crate::ir::{
    Additional, ArrayNode, Bounds, ConstructorNode, IntersectNode, KindNode, MinMax, NodeId,
    ObjectNode, Property, PropertyIndex, RecordNode, RegExpNode, Shape, StringRules, TupleNode,
    UnevaluatedKeys,
};
use crate::patterns::Dialect;
use crate::problem::Result;
use crate::source::{Source, SourceObject};

/// A number as JavaScript compares with it; what is no number compares as `NaN`, so nothing passes.
fn bound(object: &SourceObject<'_>, keyword: &str) -> Option<f64> {
    Some(match object.defined(keyword)? {
        Source::Number(number) | Source::Date(number) => *number,
        Source::BigInt(digits) => digits.parse().unwrap_or(f64::NAN),
        Source::String(text) => text.trim().parse().unwrap_or(f64::NAN),
        Source::Null | Source::Bool(false) => 0.0,
        Source::Bool(true) => 1.0,
        _ => f64::NAN,
    })
}

/// Two bounds on a size.
fn min_max(object: &SourceObject<'_>, min: &str, max: &str) -> MinMax {
    MinMax {
        min: bound(object, min),
        max: bound(object, max),
    }
}

/// A keyword that TypeBox only reads when it is a number.
fn number(object: &SourceObject<'_>, keyword: &str) -> Option<f64> {
    object.get(keyword).and_then(Source::as_number)
}

fn broken(reason: &str) -> Shape {
    Shape::Broken(reason.into())
}

/// A schema of a TypeBox kind, and where it is.
#[derive(Clone, Copy)]
struct Kind<'a> {
    id: NodeId,
    object: &'a SourceObject<'a>,
    context: Context,
}

impl Kind<'_> {
    /// The same, where names mean what they mean in this scope.
    fn within(self, scope: u32) -> Self {
        let context = Context {
            scope,
            ..self.context
        };
        Self { context, ..self }
    }
}

impl<'a> Compiler<'a> {
    pub(super) fn typebox(
        &mut self,
        id: NodeId,
        source: &'a Source<'a>,
        object: &'a SourceObject<'a>,
        context: Context,
    ) -> Result<Shape> {
        let kind = object.kind.as_deref().unwrap_or_default();
        let at = Kind {
            id,
            object,
            context,
        };
        // The arms are tried in order: the kinds that schemas mostly consist of come first.
        Ok(match kind {
            "String" => self.string(id, object)?,
            "Object" => self.object(at)?,
            "Number" => Shape::Number(Box::new(numeric(object))),
            "Integer" => Shape::Integer(Box::new(numeric(object))),
            "Boolean" => Shape::Boolean,
            "Array" => self.array(at)?,
            "Any" => Shape::Any,
            "Argument" => Shape::Argument,
            "AsyncIterator" => Shape::AsyncIterator,
            "Function" => Shape::Function,
            "Iterator" => Shape::Iterator,
            "Never" => Shape::Never,
            "Null" => Shape::Null,
            "Promise" => Shape::Promise,
            "Symbol" => Shape::Symbol,
            "Undefined" => Shape::Undefined,
            "Unknown" => Shape::Unknown,
            "Void" => Shape::Void,
            "BigInt" => self.bigint(object),
            "Constructor" => Shape::Constructor(ConstructorNode {
                returns: self.schema(at, "returns")?,
                prototype: self.tables.key("prototype"),
            }),
            "Date" => Shape::Date(Box::new(Bounds::read(|keyword| {
                bound(object, &format!("{keyword}Timestamp"))
            }))),
            "Import" => self.import(at, source)?,
            "Intersect" => self.intersect(at)?,
            "Literal" => {
                let constant = object.get("const").unwrap_or(&Source::Undefined);
                Shape::Literal(self.constant(constant))
            }
            "Not" => Shape::Not(self.schema(at, "not")?),
            "Record" => self.record(at)?,
            "Ref" | "This" => self.reference(at)?,
            "RegExp" => self.reg_exp(id, object)?,
            "TemplateLiteral" => match object.string("pattern") {
                Some(pattern) => Shape::TemplateLiteral(self.pattern(id, pattern, "")?),
                None => broken("the pattern is missing"),
            },
            "Tuple" => self.tuple(at)?,
            "Union" => match self.schemas(at, "anyOf")? {
                Some(variants) => Shape::Union(variants),
                None => broken("anyOf is missing"),
            },
            "Uint8Array" => Shape::Uint8Array(min_max(object, "minByteLength", "maxByteLength")),
            other => Shape::Kind(KindNode {
                name: other.into(),
                slot: object.slot,
            }),
        })
    }

    /// The schema behind a keyword; one that is missing makes TypeBox throw when it gets there.
    fn schema(&mut self, at: Kind<'a>, keyword: &'static str) -> Result<NodeId> {
        match at.object.defined(keyword) {
            Some(source) => self.part(at, source, Step::Keyword(keyword)),
            None => self.broken(),
        }
    }

    /// A schema inside this one.
    fn part(&mut self, at: Kind<'a>, source: &'a Source<'a>, step: Step<'a>) -> Result<NodeId> {
        self.child(source, at.context, at.id, step)
    }

    /// The list of schemas behind a keyword, if it is one.
    fn schemas(&mut self, at: Kind<'a>, keyword: &'static str) -> Result<Option<Vec<NodeId>>> {
        let Some(list) = at.object.get(keyword).and_then(Source::as_array) else {
            return Ok(None);
        };
        let each = list.iter().enumerate();
        each.map(|(index, item)| self.part(at, item, Step::Index(keyword, index)))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn pattern(&mut self, id: NodeId, source: &str, flags: &str) -> Result<crate::ir::PatternId> {
        let pattern = self.tables.pattern(source, flags, Dialect::TypeBox);
        if self.options.untrusted {
            self.require_pattern(id, pattern)?;
        }
        Ok(pattern)
    }

    fn array(&mut self, at: Kind<'a>) -> Result<Shape> {
        let Kind { object, .. } = at;
        let contains = match object.defined("contains") {
            Some(_) => Some(self.schema(at, "contains")?),
            None => None,
        };
        Ok(Shape::Array(Box::new(ArrayNode {
            items: self.schema(at, "items")?,
            length: min_max(object, "minItems", "maxItems"),
            unique: object.get("uniqueItems") == Some(&Source::Bool(true)),
            contains,
            matching: MinMax {
                min: number(object, "minContains"),
                max: number(object, "maxContains"),
            },
        })))
    }

    fn bigint(&mut self, object: &SourceObject<'_>) -> Shape {
        Shape::BigInt(Box::new(Bounds::read(|keyword| {
            object.defined(keyword).map(|value| self.constant(value))
        })))
    }

    fn import(&mut self, at: Kind<'a>, source: &'a Source<'a>) -> Result<Shape> {
        let name = at.object.string("$ref").unwrap_or_default();
        let target = at
            .object
            .get("$defs")
            .and_then(Source::as_object)
            .and_then(|it| it.get(name));
        let target = target.ok_or_else(|| self.unresolved(at.id, name))?;
        let scope = self.scopes.enter_import(source, at.context.scope);
        let target = self.part(at.within(scope), target, Step::Key("$defs", name))?;
        Ok(Shape::Import(target))
    }

    fn reference(&mut self, at: Kind<'a>) -> Result<Shape> {
        let name = at.object.string("$ref").unwrap_or_default();
        let Some((target, scope)) = self.scopes.find(name, at.context.scope) else {
            return Err(self.unresolved(at.id, name));
        };
        let target = self.part(at.within(scope), target, Step::Reference(name))?;
        Ok(Shape::Ref(target))
    }

    fn intersect(&mut self, at: Kind<'a>) -> Result<Shape> {
        let Some(all_of) = self.schemas(at, "allOf")? else {
            return Ok(broken("allOf is missing"));
        };
        let schema = match at.object.get("unevaluatedProperties") {
            Some(Source::Bool(false)) => Some(None),
            Some(Source::Object(_)) => Some(Some(self.schema(at, "unevaluatedProperties")?)),
            _ => None,
        };
        let unevaluated = match schema {
            Some(schema) => {
                let known = self.pattern(at.id, &key_pattern(at.object), "")?;
                Some(UnevaluatedKeys { known, schema })
            }
            None => None,
        };
        Ok(Shape::Intersect(Box::new(IntersectNode {
            all_of,
            unevaluated,
        })))
    }

    fn additional(&mut self, at: Kind<'a>) -> Result<Additional> {
        Ok(match at.object.get("additionalProperties") {
            Some(Source::Bool(false)) => Additional::Forbidden,
            Some(Source::Bool(true)) => Additional::Allowed,
            Some(Source::Object(_) | Source::Array(_) | Source::Null) => {
                Additional::Schema(self.schema(at, "additionalProperties")?)
            }
            _ => Additional::Unspecified,
        })
    }

    fn object(&mut self, at: Kind<'a>) -> Result<Shape> {
        let Kind { object, .. } = at;
        let Some(declared) = object.get("properties").and_then(Source::as_object) else {
            return Ok(broken("properties is missing"));
        };
        let required = object.get("required").and_then(Source::as_array);
        let required = required.unwrap_or_default().iter();
        let mut required = RequiredNames::new(required.filter_map(Source::as_str).collect());
        let mut properties = Vec::with_capacity(declared.entries.len());
        for (name, source) in &declared.entries {
            properties.push(Property {
                key: self.tables.key(name),
                node: self.part(at, source, Step::Key("properties", name))?,
                required: required.contains(name),
            });
        }
        let keys = required.names().iter().map(|name| self.tables.key(name));
        Ok(Shape::Object(Box::new(ObjectNode {
            properties,
            index: PropertyIndex::default(),
            required: keys.collect(),
            additional: self.additional(at)?,
            size: min_max(object, "minProperties", "maxProperties"),
        })))
    }

    fn record(&mut self, at: Kind<'a>) -> Result<Shape> {
        let Kind { object, .. } = at;
        let first = object
            .get("patternProperties")
            .and_then(Source::as_object)
            .and_then(|patterns| patterns.entries.first());
        let Some((pattern, source)) = first else {
            return Ok(broken("patternProperties is missing"));
        };
        Ok(Shape::Record(Box::new(RecordNode {
            pattern: self.pattern(at.id, pattern, "")?,
            values: self.part(at, source, Step::Key("patternProperties", pattern))?,
            additional: self.additional(at)?,
            size: min_max(object, "minProperties", "maxProperties"),
        })))
    }

    fn reg_exp(&mut self, id: NodeId, object: &SourceObject<'_>) -> Result<Shape> {
        let (Some(source), flags) = (object.string("source"), object.string("flags")) else {
            return Ok(broken("the source of the regular expression is missing"));
        };
        Ok(Shape::RegExp(Box::new(RegExpNode {
            pattern: self.pattern(id, source, flags.unwrap_or_default())?,
            length: min_max(object, "minLength", "maxLength"),
            length_key: self.tables.key("length"),
        })))
    }

    fn string(&mut self, id: NodeId, object: &SourceObject<'_>) -> Result<Shape> {
        let pattern = match object.defined("pattern") {
            Some(Source::String(pattern)) => Some(self.pattern(id, pattern, "")?),
            Some(_) => return Ok(broken("the pattern is not a string")),
            None => None,
        };
        Ok(Shape::String(Box::new(StringRules {
            length: min_max(object, "minLength", "maxLength"),
            pattern,
            format: object
                .string("format")
                .map(|format| self.tables.format(format)),
        })))
    }

    fn tuple(&mut self, at: Kind<'a>) -> Result<Shape> {
        Ok(Shape::Tuple(Box::new(TupleNode {
            items: self.schemas(at, "items")?,
            length: number(at.object, "maxItems"),
        })))
    }
}

fn numeric(object: &SourceObject<'_>) -> Bounds<f64> {
    Bounds::read(|keyword| bound(object, keyword))
}
