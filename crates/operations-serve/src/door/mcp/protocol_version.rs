//! The two kinds of protocol versions. The older one begins with `initialize`; in the newer one each request says about
//! its client what there is to say, and nothing is kept between requests.

use http::{HeaderMap, StatusCode};
use operations_core::json::Object;
use operations_http::message::mirrored;
use serde_json::json;

use super::message::{INVALID_PARAMS, INVALID_REQUEST, Refusal};

/// The revision without a handshake.
pub(super) const STATELESS: &str = "2026-07-28";
/// Those with one, the newest first.
pub(super) const WITH_HANDSHAKE: [&str; 4] =
    ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const HEADER_MISMATCH: i64 = -32020;
const OTHER_REVISION: i64 = -32022;

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// How a request is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolVersion {
    /// Begins with a handshake.
    Handshake,
    /// Each request is complete by itself.
    Stateless,
}

/// The protocol version of a request; `headers` are those of HTTP, if it came that way.
pub(super) fn of(
    method: &str,
    params: &Object<'_>,
    headers: Option<&HeaderMap>,
) -> Result<ProtocolVersion, Refusal> {
    let meta = params.object("_meta").unwrap_or_default();
    let header = headers.and_then(|headers| headers.get(VERSION_HEADER)?.to_str().ok());
    let Some(claimed) = meta.get(VERSION_KEY) else {
        return without_claim(method, header);
    };
    let claimed = meta.string(VERSION_KEY).ok_or_else(|| {
        let message = format!("_meta[\"{VERSION_KEY}\"] must be a string, not {claimed}");
        Refusal::new(INVALID_PARAMS, message).with_status(StatusCode::BAD_REQUEST)
    })?;
    if let Some(header) = header
        && header != claimed
    {
        let message = format!(
            "The {VERSION_HEADER} header says {header}, and the _meta of the request {claimed}"
        );
        return Err(mismatch(message));
    }
    if claimed != STATELESS {
        let refusal = Refusal::new(
            OTHER_REVISION,
            format!("Revision {claimed} is not supported"),
        );
        let data = json!({ "supported": [STATELESS], "requested": claimed });
        return Err(refusal.with_status(StatusCode::BAD_REQUEST).with_data(data));
    }
    if meta.object(CAPABILITIES_KEY).is_none() {
        let message = format!("_meta[\"{CAPABILITIES_KEY}\"] is missing");
        return Err(Refusal::new(INVALID_PARAMS, message).with_status(StatusCode::BAD_REQUEST));
    }
    if let Some(headers) = headers {
        check_headers(method, params, headers)?;
    }
    Ok(ProtocolVersion::Stateless)
}

fn without_claim(method: &str, header: Option<&str>) -> Result<ProtocolVersion, Refusal> {
    match header {
        None => Ok(ProtocolVersion::Handshake),
        Some(header) if WITH_HANDSHAKE.contains(&header) => Ok(ProtocolVersion::Handshake),
        Some(STATELESS) if method == "initialize" => Err(mismatch(format!(
            "Revision {STATELESS}, which the {VERSION_HEADER} header names, has no initialize"
        ))),
        Some(STATELESS) => {
            let message =
                format!("_meta[\"{VERSION_KEY}\"] and _meta[\"{CAPABILITIES_KEY}\"] are missing");
            Err(Refusal::new(INVALID_PARAMS, message).with_status(StatusCode::BAD_REQUEST))
        }
        // The answer will say which revisions there are.
        Some(_) if method == "initialize" => Ok(ProtocolVersion::Handshake),
        Some(other) => {
            let message = format!(
                "Revision {other}, which the {VERSION_HEADER} header names, is not supported"
            );
            Err(Refusal::new(INVALID_REQUEST, message).with_status(StatusCode::BAD_REQUEST))
        }
    }
}

/// Proxies route by headers; they must match the message.
fn check_headers(method: &str, params: &Object<'_>, headers: &HeaderMap) -> Result<(), Refusal> {
    let one = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if one(VERSION_HEADER).is_none() {
        return Err(mismatch(format!("The {VERSION_HEADER} header is missing")));
    }
    match one(METHOD_HEADER) {
        Some(named) if named == method => {}
        Some(named) => {
            return Err(mismatch(format!(
                "The {METHOD_HEADER} header says {named}, and the request {method}"
            )));
        }
        None => return Err(mismatch(format!("The {METHOD_HEADER} header is missing"))),
    }
    let source = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    let Some(name) = params.string(source) else {
        return Ok(());
    };
    match one(NAME_HEADER).map(mirrored::decode) {
        Some(Some(named)) if named == name => Ok(()),
        Some(Some(_)) => Err(mismatch(format!(
            "The {NAME_HEADER} header and params.{source} differ"
        ))),
        Some(None) => Err(mismatch(format!(
            "The {NAME_HEADER} header is not encoded correctly"
        ))),
        None => Err(mismatch(format!("The {NAME_HEADER} header is missing"))),
    }
}

pub(super) fn mismatch(message: String) -> Refusal {
    Refusal::new(HEADER_MISMATCH, message).with_status(StatusCode::BAD_REQUEST)
}

/// The revision after a handshake: the client's, or the newest if that is unknown.
pub(super) fn agreed(params: &Object<'_>) -> &'static str {
    let asked = params.string("protocolVersion").unwrap_or_default();
    WITH_HANDSHAKE
        .into_iter()
        .find(|known| *known == asked)
        .unwrap_or(WITH_HANDSHAKE[0])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use http::HeaderValue;

    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in list {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        headers
    }

    const CLAIM: &str = r#"{"name":"a_b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;

    fn ask(
        method: &str,
        params: &str,
        given: Option<&[(&'static str, &'static str)]>,
    ) -> Result<ProtocolVersion, i64> {
        let params = Object::read(params).expect("an object");
        let given = given.map(headers);
        of(method, &params, given.as_ref()).map_err(|refusal| refusal.code)
    }

    #[test]
    fn a_request_says_which_protocol_version_it_is_of() {
        assert_eq!(
            ask("tools/call", CLAIM, None),
            Ok(ProtocolVersion::Stateless)
        );
        assert_eq!(
            ask("tools/call", "{}", None),
            Ok(ProtocolVersion::Handshake)
        );
        let all = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?YV9i?="),
        ];
        assert_eq!(
            ask("tools/call", CLAIM, Some(&all)),
            Ok(ProtocolVersion::Stateless)
        );
        let [version, method, name] = all;
        for given in [
            vec![version],
            vec![version, method],
            vec![("mcp-protocol-version", "2025-11-25")],
            vec![method, name],
            vec![version, method, ("mcp-name", "other")],
            vec![version, method, ("mcp-name", "=?base64?*?=")],
            vec![version, ("mcp-method", "tools/list"), name],
        ] {
            let found = ask("tools/call", CLAIM, Some(&given));
            assert_eq!(found, Err(HEADER_MISMATCH), "{given:?}");
        }
        let claim = |version: &str| {
            format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":{version}}}}}"#)
        };
        assert_eq!(
            ask("tools/list", &claim("\"2030-01-01\""), None),
            Err(OTHER_REVISION)
        );
        assert_eq!(ask("tools/list", &claim("7"), None), Err(INVALID_PARAMS));
        assert_eq!(
            ask("tools/list", &claim("\"2026-07-28\""), None),
            Err(INVALID_PARAMS)
        );
    }

    #[test]
    fn headers_alone_are_no_claim() {
        let version = |version| [("mcp-protocol-version", version)];
        for (given, method, expected) in [
            ("2025-06-18", "tools/list", Ok(ProtocolVersion::Handshake)),
            ("2026-07-28", "tools/list", Err(INVALID_PARAMS)),
            ("2026-07-28", "initialize", Err(HEADER_MISMATCH)),
            ("1999-01-01", "tools/list", Err(INVALID_REQUEST)),
            ("1999-01-01", "initialize", Ok(ProtocolVersion::Handshake)),
        ] {
            assert_eq!(
                ask(method, "{}", Some(&version(given))),
                expected,
                "{given}"
            );
        }
    }

    #[test]
    fn a_handshake_agrees_on_what_both_speak() {
        for (asked, agreed_on) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let params = format!(r#"{{"protocolVersion":"{asked}"}}"#);
            assert_eq!(
                agreed(&Object::read(&params).expect("an object")),
                agreed_on
            );
        }
    }
}
