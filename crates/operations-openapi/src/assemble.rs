//! One operation, put together from its object and its path.

use super::document::{At, Document};
use super::operation::Draft;
use super::origin::{Input, Origin};
use super::path_item::PathItem;
use super::recipe::{InputRecipe, Source};
use super::{body, parameters, responses};
use operations_core::spec::OperationType;
use operations_http::message::{RequestPlan, ResponseKind};
use serde_json::Map;

/// An operation object and what is around it.
pub(super) struct Spot<'i, 'd> {
    pub(super) item: &'i PathItem<'d>,
    pub(super) operation: At<'d>,
    pub(super) method: String,
    /// Where the operation stands in the document's own `paths`.
    pub(super) pointer: String,
}

/// The parts of an operation that are read from its object.
pub(super) struct Assembly<'a, 'd> {
    pub(super) document: &'d Document,
    pub(super) base_path: &'a str,
    pub(super) spot: &'a Spot<'a, 'd>,
    pub(super) prefer_json: bool,
}

pub(super) struct Assembled {
    pub(super) operation_type: OperationType,
    pub(super) summary: Option<String>,
    pub(super) description: String,
    pub(super) request: RequestPlan,
    pub(super) response: ResponseKind,
    pub(super) input: InputRecipe,
    pub(super) output: Source,
}

impl<'d> Assembly<'_, 'd> {
    pub(super) fn run(&self, draft: &mut Draft<'_, 'd>) -> Assembled {
        let Spot {
            item,
            operation,
            method,
            ..
        } = self.spot;
        let text = |key: &str| {
            let own = operation
                .string(key)
                .map(str::trim)
                .filter(|text| !text.is_empty());
            own.map(str::to_owned)
        };
        let summary = text("summary");
        let path = format!("{}{}", self.base_path, slashed(item.path));
        let description = text("description")
            .or_else(|| summary.clone())
            .unwrap_or_else(|| format!("{method} {}", item.path));
        draft.charge(description.len() + path.len());
        let lists = [item.get("parameters"), operation.get("parameters")];
        let declared = parameters::gather(self.document, lists, draft);
        let body = body::plan(self.document, operation, &declared, draft);
        let (parameters, mut parts) = parameters::plan(&declared, &path, body.is_some(), draft);
        let binary_is_free = body
            .as_ref()
            .is_some_and(|(plan, _)| body::carries_bytes(plan));
        let origin = Origin::of(operation);
        let input = origin.as_ref().map_or(Input::Parts, |origin| origin.input);
        let mut is_body = false;
        let body = body.map(|(mut plan, part)| {
            is_body = matches!(input, Input::Body) && plan.notation() == "json";
            plan.is_input = is_body;
            parts.push(part);
            plan
        });
        let keywords = match input {
            Input::Object(keywords) => keywords.to_map(),
            _ => Map::new(),
        };
        let prefer_json = self.prefer_json;
        let mut answer = responses::read(
            self.document,
            operation,
            prefer_json,
            origin.is_some(),
            draft,
        );
        if origin.is_some() && answer.kind != ResponseKind::Binary {
            Origin::accept(&mut answer.accept);
        }
        draft.charge(
            parts
                .iter()
                .map(|part| part.description.as_ref().map_or(0, String::len))
                .sum(),
        );
        draft.charge(answer.accept.iter().map(|one| one.len() + 24).sum());
        let found = match method.as_str() {
            _ if answer.kind.is_stream() => OperationType::Subscription,
            "GET" => OperationType::Query,
            _ => OperationType::Mutation,
        };
        Assembled {
            operation_type: origin
                .as_ref()
                .map_or(found, |origin| origin.operation_type(found)),
            summary,
            description,
            request: RequestPlan {
                method: method.clone(),
                path,
                parameters,
                body,
                accept: answer.accept,
                statuses: answer.statuses,
            },
            response: answer.kind,
            input: InputRecipe {
                parts,
                binary_is_free,
                is_body,
                keywords,
            },
            output: answer.source,
        }
    }
}

fn slashed(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}
