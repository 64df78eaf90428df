//! The result of a tool as an envelope, for calls that are served without the host. `facade/mcp/result.ts` and
//! `facade/mcp/content-blocks.ts` do the same for calls that begin in JavaScript; `__test__/nats/native-mcp.test.mjs`
//! holds the two together.

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::json::{Document, Json, Kind, push_string};
use operations_core::registry::{APPROVAL, Envelope};
use serde_json::{Value, json};

use crate::config::ServerConfig;
use crate::error::{About, Delivery};

const APPROVAL_REQUIRED: &str = "APPROVAL_REQUIRED";
/// What a server of ours says of a failure (`facade/mcp/origin.ts`).
const ERROR_KEY: &str = "alkdev.operations/error";

/// The result, which is JSON as the server wrote it.
pub(super) fn envelope(
    config: &ServerConfig,
    tool: &str,
    result: String,
) -> Result<Envelope, CallError> {
    let result = document(config, tool, result)?;
    let root = result.root();
    if !matches!(root.kind(), Kind::Object(_)) {
        return Err(odd(config, tool));
    }
    let present = |name| root.get(name).filter(|value| value.kind() != Kind::Null);
    let is_error = root.get("isError").map(Json::kind) == Some(Kind::Bool(true));
    if let Some(error) = present("_meta").and_then(|meta| approval_required(is_error, meta)) {
        return Err(error);
    }
    let content = Content::of(root.get("content"));
    let structured = present("structuredContent");

    let mut meta = format!(r#"{{"isError":{is_error},"content":{}"#, content.json);
    for (name, value) in [
        ("structuredContent", structured),
        ("_meta", present("_meta")),
    ] {
        if let Some(value) = value {
            push_member(&mut meta, name);
            value.push_to(&mut meta);
        }
    }
    meta.push_str(r#","source":"mcp"}"#);

    if is_error && config.throws_tool_errors {
        let data = structured.map_or(content.json.clone(), Json::stringify);
        return Err(tool_error(config, tool, &content, &data, &meta));
    }
    let data = match structured {
        Some(value) => document(config, tool, value.text().to_owned())?,
        None => match content.value(is_error, config) {
            Some(value) => value,
            None => document(config, tool, content.json)?,
        },
    };
    Ok(Envelope {
        data: Some(data),
        meta,
        is_declared: !is_error,
    })
}

/// What a server of ours says of a call that needs an approval there.
fn approval_required(is_error: bool, meta: Json<'_>) -> Option<CallError> {
    meta.get(APPROVAL).filter(|_| is_error)?.as_str()?;
    let failure: Value = serde_json::from_str(&meta.get(ERROR_KEY)?.stringify()).ok()?;
    let message = failure.get("message")?.as_str()?;
    let details = failure.get("details")?;
    let is_required = failure.get("code")?.as_str()? == APPROVAL_REQUIRED;
    is_required.then(|| CallError::new(APPROVAL_REQUIRED, message).with_details(details.clone()))
}

fn document(config: &ServerConfig, tool: &str, text: String) -> Result<Document, CallError> {
    Document::parse(text).map_err(|_| odd(config, tool))
}

fn odd(config: &ServerConfig, tool: &str) -> CallError {
    let what = "the result is not what the protocol prescribes; the call was carried out";
    About::tool(config, tool).error(Code::ExecutionError, "odd-answer", Delivery::Done, what)
}

fn tool_error(
    config: &ServerConfig,
    tool: &str,
    content: &Content,
    data: &str,
    meta: &str,
) -> CallError {
    let server = &config.name;
    let words = content.words.join("\n");
    let colon = if words.is_empty() { "" } else { ": " };
    let message = format!("MCP server '{server}', tool '{tool}' failed{colon}{words}");
    let envelope = format!(r#"{{"data":{data},"meta":{meta}}}"#);
    // Details cannot hold a lone surrogate.
    let envelope: Value = serde_json::from_str(&envelope).unwrap_or_default();
    CallError::failed(message).with_details(json!({
        "server": server,
        "tool": tool,
        "reason": "tool-failed",
        "delivery": Delivery::Done.as_str(),
        "envelope": envelope,
    }))
}

/// Content blocks, each of a kind that the package declares.
struct Content {
    /// A JSON array.
    json: String,
    count: usize,
    /// What the text blocks among them say.
    words: Vec<String>,
}

impl Content {
    fn of(blocks: Option<Json<'_>>) -> Self {
        let mut content = Self {
            json: "[".to_owned(),
            count: 0,
            words: Vec::new(),
        };
        for block in blocks.into_iter().flat_map(Json::elements) {
            if content.count > 0 {
                content.json.push(',');
            }
            content.count += 1;
            if let Some(json) = known(block) {
                content.json.push_str(&json);
                if block.get("type").and_then(Json::as_str) == Some("text") {
                    let text = block.get("text").and_then(Json::as_str);
                    content.words.extend(text.map(ToOwned::to_owned));
                }
            } else {
                // Another kind, or one that lacks what its kind requires.
                let text = block.stringify();
                content.json.push_str(r#"{"type":"text","text":"#);
                push_string(&mut content.json, &text);
                content.json.push('}');
                content.words.push(text);
            }
        }
        content.json.push(']');
        content
    }

    /// The value, if it is one text with a JSON object or array in it, and if that is wanted.
    fn value(&self, is_error: bool, config: &ServerConfig) -> Option<Document> {
        let [text] = self.words.as_slice() else {
            return None;
        };
        if !config.parses_json_text || is_error || self.count != 1 {
            return None;
        }
        let value = Document::parse(text.as_str()).ok()?;
        matches!(value.root().kind(), Kind::Object(_) | Kind::Array(_)).then_some(value)
    }
}

#[derive(Clone, Copy)]
enum Field {
    Text,
    Number,
    /// An array is one too, for JavaScript.
    Object,
}

impl Field {
    fn fits(self, value: Json<'_>) -> bool {
        matches!(
            (self, value.kind()),
            (Self::Text, Kind::String(_))
                | (Self::Number, Kind::Number(_))
                | (Self::Object, Kind::Object(_) | Kind::Array(_))
        )
    }
}

type Fields = [(&'static str, Field)];

const ABOUT: &Fields = &[("annotations", Field::Object), ("_meta", Field::Object)];
const MEDIA: &Fields = &[("data", Field::Text), ("mimeType", Field::Text)];
const LINK: &Fields = &[("uri", Field::Text), ("name", Field::Text)];
const OF_LINK: &Fields = &[
    ("title", Field::Text),
    ("description", Field::Text),
    ("mimeType", Field::Text),
    ("size", Field::Number),
    ("annotations", Field::Object),
    ("_meta", Field::Object),
];
const OF_RESOURCE: &Fields = &[
    ("mimeType", Field::Text),
    ("text", Field::Text),
    ("blob", Field::Text),
    ("_meta", Field::Object),
];

/// A block of a kind that the protocol has, field by field.
fn known(block: Json<'_>) -> Option<String> {
    let kind = block.get("type")?.as_str()?;
    let (required, optional): (&Fields, &Fields) = match kind {
        "text" => (&[("text", Field::Text)], ABOUT),
        "image" | "audio" => (MEDIA, ABOUT),
        "resource" => (&[("resource", Field::Object)], ABOUT),
        "resource_link" => (LINK, OF_LINK),
        _ => return None,
    };
    let mut json = format!(r#"{{"type":"{kind}""#);
    for (name, field) in required {
        let value = block.get(name).filter(|value| field.fits(*value))?;
        push_member(&mut json, name);
        if kind == "resource" {
            resource(value, &mut json)?;
        } else {
            value.push_to(&mut json);
        }
    }
    push_optional(&mut json, block, optional);
    json.push('}');
    Some(json)
}

fn resource(resource: Json<'_>, json: &mut String) -> Option<()> {
    let uri = resource
        .get("uri")
        .filter(|value| Field::Text.fits(*value))?;
    json.push_str(r#"{"uri":"#);
    uri.push_to(json);
    push_optional(json, resource, OF_RESOURCE);
    json.push('}');
    Some(())
}

fn push_optional(json: &mut String, source: Json<'_>, fields: &Fields) {
    for (name, field) in fields {
        if let Some(value) = source.get(name).filter(|value| field.fits(*value)) {
            push_member(json, name);
            value.push_to(json);
        }
    }
}

fn push_member(json: &mut String, name: &str) {
    json.push_str(",\"");
    json.push_str(name);
    json.push_str("\":");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &str) -> ServerConfig {
        ServerConfig::from_json("demo", settings).unwrap()
    }

    fn made(result: &str, settings: &str) -> (String, String, bool) {
        let made = envelope(&config(settings), "tool", result.to_owned()).unwrap();
        (
            made.data.unwrap().root().stringify(),
            made.meta,
            made.is_declared,
        )
    }

    const PLAIN: &str = r#"{"command":"x"}"#;
    const PARSING: &str = r#"{"command":"x","parsesJsonText":true}"#;

    #[test]
    fn the_five_kinds_are_taken_over_field_by_field() {
        let content = |block: &str| {
            let (data, ..) = made(&format!(r#"{{"content":[{block}]}}"#), PLAIN);
            data
        };
        for block in [
            r#"{"type":"text","text":"a\ud800","annotations":{"x":1},"_meta":{}}"#,
            r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#,
            r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","mimeType":"t","text":"x","blob":"y","_meta":{}},"_meta":{}}"#,
            r#"{"type":"resource_link","uri":"a:b","name":"n","title":"t","size":3}"#,
        ] {
            assert_eq!(content(block), format!("[{block}]"));
        }
        assert_eq!(
            content(r#"{"other":1,"text":"a","annotations":7,"type":"text"}"#),
            r#"[{"type":"text","text":"a"}]"#
        );
        for odd in [
            r#"{"type":"text"}"#,
            r#"{"type":"resource","resource":{}}"#,
            r#"{"type":"video","n":1}"#,
            "7",
            "null",
        ] {
            let text = serde_json::to_string(odd).unwrap();
            assert_eq!(
                content(odd),
                format!(r#"[{{"type":"text","text":{text}}}]"#)
            );
        }
    }

    #[test]
    fn content_that_is_no_list_is_an_empty_one() {
        for result in ["{}", r#"{"content":null}"#, r#"{"content":{"0":1}}"#] {
            let (data, meta, is_declared) = made(result, PLAIN);
            assert_eq!(data, "[]");
            assert_eq!(meta, r#"{"isError":false,"content":[],"source":"mcp"}"#);
            assert!(is_declared);
        }
    }

    #[test]
    fn a_single_text_is_parsed_where_that_is_wanted() {
        let text = r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#;
        assert_eq!(made(text, PARSING).0, r#"{"a":1}"#);
        assert_eq!(
            made(text, PLAIN).0,
            r#"[{"type":"text","text":"{\"a\":1}"}]"#
        );
        for other in [
            r#"{"content":[{"type":"text","text":"7"}]}"#,
            r#"{"content":[{"type":"text","text":"{"}]}"#,
            r#"{"content":[{"type":"text","text":"[]"},{"type":"text","text":"[]"}]}"#,
            r#"{"content":[{"type":"text","text":"[]"}],"isError":true}"#,
        ] {
            assert!(made(other, PARSING).0.starts_with(r#"[{"type":"text""#));
        }
        let structured = r#"{"content":[{"type":"text","text":"[1]"}],"structuredContent":[2]}"#;
        assert_eq!(made(structured, PARSING).0, "[2]");
    }

    #[test]
    fn what_is_no_object_is_no_result() {
        for odd in ["7", "[]", "null", "\"x\""] {
            let error = envelope(&config(PLAIN), "tool", odd.to_owned()).unwrap_err();
            assert!(error.message.contains("not what the protocol prescribes"));
        }
    }
}
