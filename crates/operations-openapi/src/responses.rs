//! What an operation answers when all goes well.

use super::body::media_list;
use super::document::{At, Document};
use super::events;
use super::operation::Draft;
use super::recipe::Source;
use super::report::Reason;
use super::tree::{Members, Tree};
use super::version::Version;
use operations_http::message::{RELAYED_STATUSES, ResponseKind};

/// What is known about the answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) kind: ResponseKind,
    pub(super) source: Source,
    /// Media types in the order in which they are asked for.
    pub(super) accept: Vec<String>,
    /// Which of [`RELAYED_STATUSES`] are declared.
    pub(super) statuses: Vec<u16>,
}

/// One media type of a response and its schema.
struct Offer<'d> {
    media_type: String,
    kind: ResponseKind,
    described: Option<At<'d>>,
}

/// Reads the responses of an operation.
pub(super) fn read<'d>(
    document: &'d Document,
    operation: &At<'d>,
    prefer_json: bool,
    is_served: bool,
    draft: &mut Draft<'_, 'd>,
) -> Answer {
    let responses = operation.get("responses");
    let success = responses.as_ref().and_then(success_response);
    let mut offers = match success {
        None => Vec::new(),
        Some(at) => match document.follow(at.clone()) {
            Ok(response) => offers_of(document, operation, &response),
            Err(reason) => {
                let reason = format!("the output is unknown: {reason}");
                draft.degrade(Reason::Reference, &at, reason);
                Vec::new()
            }
        },
    };
    let has_json = offers.iter().any(|offer| offer.kind == ResponseKind::Json);
    if prefer_json && has_json {
        offers.retain(|offer| !offer.kind.is_stream());
    }
    let chosen = choose(&offers);
    let mut accept: Vec<String> = Vec::new();
    if let Some(kind) = chosen.map(|offer| offer.kind) {
        // What is wanted comes first: servers tend to take the first that they can give.
        let (wanted, others): (Vec<&Offer<'_>>, Vec<_>) =
            offers.iter().partition(|offer| offer.kind == kind);
        accept.extend(
            wanted
                .iter()
                .chain(&others)
                .map(|offer| offer.media_type.clone()),
        );
    }
    let excluded = |kind: ResponseKind| prefer_json && has_json && kind.is_stream();
    for media_type in other_media_types(document, responses.as_ref()) {
        if !accept.contains(&media_type) && !excluded(ResponseKind::of_media_type(&media_type)) {
            accept.push(media_type);
        }
        if accept.len() >= 64 {
            break;
        }
    }
    let (kind, source) = match chosen {
        None => (ResponseKind::Empty, Source::Unknown),
        Some(offer) => (offer.kind, output_of(document, offer, is_served, draft)),
    };
    let is_declared = |status: &u16| {
        let keys = [status.to_string(), "4XX".to_owned(), "4xx".to_owned()];
        let declared = responses.as_ref();
        declared.is_some_and(|declared| keys.iter().any(|key| declared.get(key).is_some()))
    };
    Answer {
        kind,
        source,
        accept,
        statuses: RELAYED_STATUSES.into_iter().filter(is_declared).collect(),
    }
}

/// `200`, `201`, any other 2XX in the document's order, `default`.
fn success_response<'d>(responses: &At<'d>) -> Option<At<'d>> {
    let is_success = |key: &str| key.len() == 3 && key.starts_with('2');
    responses
        .get("200")
        .or_else(|| responses.get("201"))
        .or_else(|| {
            let found = responses.entries().find(|(key, _)| is_success(key));
            found.map(|(_, at)| at)
        })
        .or_else(|| responses.get("default"))
}

fn offers_of<'d>(document: &'d Document, operation: &At<'d>, response: &At<'d>) -> Vec<Offer<'d>> {
    if document.version() != Version::Swagger2 {
        return response
            .get("content")
            .iter()
            .flat_map(At::entries)
            .take(64)
            .map(|(media_type, described)| Offer {
                media_type: media_type.to_owned(),
                kind: ResponseKind::of_media_type(media_type),
                described: document.follow(described).ok(),
            })
            .collect();
    }
    let produces = media_list(document, operation, "produces");
    let streams = |media_type: &String| ResponseKind::of_media_type(media_type).is_stream();
    if response.get("schema").is_none() && !produces.iter().any(streams) {
        return Vec::new();
    }
    let file = response
        .get("schema")
        .is_some_and(|schema| schema.string("type") == Some("file"));
    if produces.is_empty() {
        return vec![Offer {
            media_type: if file { "*/*" } else { "application/json" }.to_owned(),
            kind: if file {
                ResponseKind::Binary
            } else {
                ResponseKind::Json
            },
            described: Some(response.clone()),
        }];
    }
    produces
        .into_iter()
        .take(64)
        .map(|media_type| Offer {
            kind: match ResponseKind::of_media_type(&media_type) {
                ResponseKind::Json if file => ResponseKind::Binary,
                kind => kind,
            },
            media_type,
            described: Some(response.clone()),
        })
        .collect()
}

/// A stream before JSON before whatever comes first.
fn choose<'o, 'd>(offers: &'o [Offer<'d>]) -> Option<&'o Offer<'d>> {
    let of = |kind: ResponseKind| offers.iter().find(move |offer| offer.kind == kind);
    of(ResponseKind::Sse)
        .or_else(|| of(ResponseKind::Ndjson))
        .or_else(|| of(ResponseKind::Json))
        .or_else(|| offers.first())
}

/// The media types of all responses: errors have theirs too.
fn other_media_types<'d>(document: &'d Document, responses: Option<&At<'d>>) -> Vec<String> {
    if document.version() == Version::Swagger2 {
        return Vec::new();
    }
    responses
        .iter()
        .flat_map(|responses| responses.entries())
        .take(64)
        .filter_map(|(_, at)| document.follow(at).ok()?.get("content"))
        .flat_map(|content| {
            let keys = content
                .object()
                .into_iter()
                .flat_map(Members::keys)
                .take(16);
            keys.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

/// The schema of what a caller gets, which is not always what the document describes.
fn output_of<'d>(
    document: &'d Document,
    offer: &Offer<'d>,
    is_served: bool,
    draft: &mut Draft<'_, 'd>,
) -> Source {
    let Some(described) = &offer.described else {
        return Source::Unknown;
    };
    let schema = match offer.kind {
        // Bytes and nothing have no JSON shape.
        ResponseKind::Binary | ResponseKind::Empty => None,
        // Our own servers leave no doubt.
        ResponseKind::Sse if is_served && described.get("schema").is_some() => {
            described.get("schema")
        }
        ResponseKind::Sse => events::of_event(document, described),
        ResponseKind::Ndjson => events::of_line(document, described),
        ResponseKind::Text => described
            .get("schema")
            .filter(|schema| is_scalar(document, schema)),
        ResponseKind::Json => described.get("schema"),
    };
    draft.source_of(
        schema,
        "what stands in the place of the response's schema is not a schema; the output is unknown",
    )
}

/// Whether a text can have the type that the schema demands.
fn is_scalar<'d>(document: &'d Document, schema: &At<'d>) -> bool {
    let Ok(schema) = document.follow(schema.clone()) else {
        return false;
    };
    match schema.value.get("type") {
        Some(Tree::String(word)) => !matches!(&**word, "object" | "array" | "file"),
        _ => false,
    }
}
