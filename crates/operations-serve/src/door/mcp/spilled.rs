//! Large results: a link in the place of the data, and a resource to be read in parts.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use operations_core::envelope::ResponseEnvelope;
use operations_core::json::Object;
use operations_spill::Range;
use serde_json::{Map, Value, json};

use super::catalog::Output;
use super::message::{INVALID_PARAMS, Refusal};
use super::protocol_version::ProtocolVersion;
use super::request::{Reply, RequestContext};
use super::resources;
use super::result::{Draft, META_KEY};
use crate::identity::Caller;
use crate::service::Shared;
use crate::spilled::Download;

/// The address of a large result begins with it.
const SCHEME: &str = "spilled:///";
/// What is read at once where nothing is said, and the most that is.
const PART: u64 = 1024 * 1024;
/// What the `_meta` of a part says about the whole.
const RANGE_KEY: &str = "alkdev.operations/range";

/// The file that an envelope names, for the caller.
pub(super) fn offered(
    shared: &Shared,
    envelope: &ResponseEnvelope,
    caller: &Caller,
) -> Option<Arc<Download>> {
    shared.downloads.offer(&envelope.meta_members(), caller)
}

/// The result of a call whose data is in a file: its beginning, and a link to all of it.
pub(super) fn draft(
    envelope: &ResponseEnvelope,
    id: &str,
    output: Output,
    file: &Download,
) -> Draft {
    let uri = format!("{SCHEME}{}", file.token);
    let spill = file.to_json(("uri", &uri));
    let mut text = String::from("\"content\":[");
    if let Some(preview) = envelope.data().filter(|data| data.starts_with('"')) {
        text.push_str("{\"type\":\"text\",\"text\":");
        text.push_str(preview);
        text.push_str("},");
    }
    let description = format!(
        "The whole result, {} bytes. Read it in parts: add ?offset=<bytes>&length=<bytes> to the address",
        file.bytes()
    );
    let link = json!({
        "type": "resource_link",
        "uri": uri,
        "name": id,
        "description": description,
        "mimeType": file.content_type,
        "size": file.bytes(),
    });
    text.push_str(&link.to_string());
    text.push(']');
    if output != Output::Undeclared {
        text.push_str(",\"structuredContent\":");
        text.push_str(&json!({ "spilled": spill }).to_string());
    }
    Draft {
        text,
        meta: Map::from_iter([(META_KEY.to_owned(), json!({ "spill": spill }))]),
    }
}

/// The schema of what stands in the place of an output.
pub(super) fn link_schema() -> Value {
    json!({
        "type": "object",
        "description": "The output is large and is read as a resource",
        "properties": { "spilled": {
            "type": "object",
            "properties": {
                "uri": { "type": "string" },
                "bytes": { "type": "integer" },
                "sha256": { "type": "string" },
                "contentType": { "type": "string" },
            },
            "required": ["uri", "bytes", "sha256", "contentType"],
        } },
        "required": ["spilled"],
        "additionalProperties": false,
    })
}

/// Whether a request is for a large result.
pub(super) fn is_address(params: &Object<'_>) -> bool {
    params
        .string("uri")
        .is_some_and(|uri| uri.starts_with(SCHEME))
}

/// A part of a large result, for its caller. Without an offset and a length, the beginning.
pub(super) async fn read(shared: &Shared, context: &RequestContext, params: &Object<'_>) -> Reply {
    let uri = params.string("uri").unwrap_or_default();
    let (token, query) = uri.split_once('?').unwrap_or((&uri, ""));
    let token = token.strip_prefix(SCHEME).unwrap_or_default();
    let Some(file) = shared.downloads.find(token, &context.caller) else {
        return Reply::Refused(resources::not_found(&uri, context.protocol));
    };
    let Some(range) = part(query, file.bytes()) else {
        let message = format!(
            "\"offset\" and \"length\" must be whole numbers, and the offset below {}",
            file.bytes()
        );
        return Reply::Refused(Refusal::new(INVALID_PARAMS, message));
    };
    let Ok(bytes) = file.part(range).await else {
        return Reply::Refused(resources::not_found(&uri, context.protocol));
    };
    let result = contents(&uri, &file, range, bytes);
    let caching = match context.protocol {
        ProtocolVersion::Handshake => "",
        ProtocolVersion::Stateless => r#","ttlMs":0,"cacheScope":"private""#,
    };
    let result = format!(r#"{{"contents":[{result}]{caching}{}}}"#, context.about());
    Reply::Result(result.into())
}

/// The part that a query asks for; `None` where it makes no sense.
fn part(query: &str, bytes: u64) -> Option<Range> {
    let (mut start, mut length) = (0, PART);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value: u64 = value.parse().ok()?;
        match name {
            "offset" => start = value,
            "length" => length = value.min(PART),
            _ => return None,
        }
    }
    let end = start.saturating_add(length).min(bytes);
    (start < end).then_some(Range { start, end })
}

/// What was read, as the content of a resource. A text ends with a whole letter, unless it has none.
fn contents(uri: &str, file: &Download, range: Range, mut bytes: Vec<u8>) -> Value {
    let mut end = range.end;
    if file.is_text() && end < file.bytes() {
        let whole = whole_letters(&bytes);
        if whole > 0 {
            end -= (bytes.len() - whole) as u64;
            bytes.truncate(whole);
        }
    }
    let (name, body) = if file.is_text() {
        ("text", String::from_utf8_lossy(&bytes).into_owned())
    } else {
        ("blob", STANDARD.encode(&bytes))
    };
    let mut about = json!({ "start": range.start, "end": end, "bytes": file.bytes() });
    if let (true, Some(about)) = (end < file.bytes(), about.as_object_mut()) {
        let next = format!("{SCHEME}{}?offset={end}", file.token);
        about.insert("next".to_owned(), json!(next));
    }
    json!({ "uri": uri, "mimeType": file.content_type, name: body, "_meta": { RANGE_KEY: about } })
}

/// How many bytes there are before a letter that was cut in two.
fn whole_letters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // It is not UTF-8 at all, or all of it is.
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_which_part_is_read() {
        let of = |query| part(query, 5_000_000);
        let is = |start, end| Some(Range { start, end });
        assert_eq!(of(""), is(0, PART));
        assert_eq!(of("offset=10&length=5"), is(10, 15));
        assert_eq!(of("offset=4999999"), is(4_999_999, 5_000_000));
        assert_eq!(of("length=99999999"), is(0, PART));
        for odd in [
            "offset=5000000",
            "length=0",
            "offset=-1",
            "offset=x",
            "page=1",
            "offset",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_letter_is_not_cut_in_two() {
        assert_eq!(whole_letters("aä".as_bytes()), 3);
        assert_eq!(whole_letters(&[b'a', 0xc3]), 1);
        assert_eq!(whole_letters(&[0xff, 0xff]), 2);
    }
}
