//! From a request to a connection (RFC 6455, section 4.2).

use http::header::{
    AUTHORIZATION, CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use operations_core::error::CallError;
use operations_websocket::derive_accept_key;
use operations_websocket::options::{INSTANCE, SUBPROTOCOL};
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::body::{self, Body};
use crate::door::http::problem;

/// A page cannot send headers with a WebSocket, but it can name protocols: one that begins like this holds its token.
const TOKEN_PROTOCOL: &str = "operations.bearer.";
/// A spoke's name is cut to this many characters in what is shown.
const LONGEST_NAME: usize = 128;
/// How long what a spoke shows to be known again may be.
const INSTANCE_LENGTH: std::ops::RangeInclusive<usize> = 16..=128;

/// The words in a header that is a list.
fn words<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// A token that is shown as a protocol is put where all others are.
pub(crate) fn show_token(headers: &mut HeaderMap) {
    if headers.contains_key(AUTHORIZATION) {
        return;
    }
    let shown = words(headers, &SEC_WEBSOCKET_PROTOCOL)
        .find_map(|protocol| protocol.strip_prefix(TOKEN_PROTOCOL))
        .and_then(|token| HeaderValue::try_from(format!("Bearer {token}")).ok());
    if let Some(mut shown) = shown {
        shown.set_sensitive(true);
        headers.insert(AUTHORIZATION, shown);
    }
}

/// The answer to a request for a WebSocket; what is wrong with it, if it is not one.
pub(super) fn answer(head: &Parts) -> Result<Response<Body>, &'static str> {
    let headers = &head.headers;
    let has = |name: &HeaderName, word: &str| {
        words(headers, name).any(|given| given.eq_ignore_ascii_case(word))
    };
    if head.method != Method::GET || !has(&UPGRADE, "websocket") || !has(&CONNECTION, "upgrade") {
        return Err("This is the hub: connect with a WebSocket");
    }
    if !has(&SEC_WEBSOCKET_VERSION, "13") {
        return Err("The version of the WebSocket protocol must be 13");
    }
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .filter(|key| key.len() == 24)
        .ok_or("The header Sec-WebSocket-Key is missing or invalid")?;
    let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()))
        .map_err(|_| "The header Sec-WebSocket-Key is invalid")?;
    let mut response = Response::new(body::full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answered = response.headers_mut();
    answered.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answered.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    answered.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if has(&SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
        let ours = HeaderValue::from_static(SUBPROTOCOL);
        answered.insert(SEC_WEBSOCKET_PROTOCOL, ours);
    }
    Ok(response)
}

/// The answer to a request that asks for no WebSocket.
pub(super) fn required(why: &str, request_id: &str) -> Response<Body> {
    let error =
        CallError::invalid(why).with_details(json!({ "reason": "no-upgrade", "delivery": "none" }));
    let mut response = problem::of(&error, StatusCode::UPGRADE_REQUIRED, request_id);
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    response
}

/// What a spoke shows to be known again; `None` where it shows nothing that could not be guessed.
pub(super) fn instance_of(headers: &HeaderMap) -> Option<String> {
    let shown = headers.get(INSTANCE)?.to_str().ok()?;
    (INSTANCE_LENGTH.contains(&shown.len())).then(|| shown.to_owned())
}

/// How a spoke calls itself: `?name=`.
pub(super) fn name_of(query: Option<&str>) -> String {
    let given = query
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("name="))
        .unwrap_or_default()
        .replace('+', " ");
    let name = percent_decode_str(&given).decode_utf8_lossy();
    name.chars()
        .filter(|character| !character.is_control())
        .take(LONGEST_NAME)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use http::Request;

    use super::*;

    fn head(change: impl FnOnce(&mut HeaderMap)) -> Parts {
        let request = Request::get("/hub")
            .header("upgrade", "WebSocket")
            .header("connection", "keep-alive, Upgrade")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let (mut head, ()) = request.body(()).expect("a request").into_parts();
        change(&mut head.headers);
        head
    }

    #[test]
    fn the_key_of_the_specification_gets_its_answer() {
        let answer = answer(&head(|_| ())).expect("an answer");
        assert_eq!(answer.status(), 101);
        assert_eq!(
            answer.headers()["sec-websocket-accept"],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert!(!answer.headers().contains_key("sec-websocket-protocol"));
    }

    #[test]
    fn what_is_no_request_for_a_websocket_is_refused() {
        for name in [
            "upgrade",
            "connection",
            "sec-websocket-version",
            "sec-websocket-key",
        ] {
            let without = head(|headers| drop(headers.remove(name)));
            assert!(answer(&without).is_err(), "without {name}");
        }
    }

    #[test]
    fn a_page_shows_its_token_as_a_protocol_and_it_is_not_echoed() {
        let shown = HeaderValue::from_static("operations.v1, operations.bearer.abc");
        let mut head = head(|headers| drop(headers.insert(SEC_WEBSOCKET_PROTOCOL, shown)));
        show_token(&mut head.headers);
        assert_eq!(head.headers[AUTHORIZATION], "Bearer abc");
        let answer = answer(&head).expect("an answer");
        assert_eq!(answer.headers()[SEC_WEBSOCKET_PROTOCOL], "operations.v1");
    }

    #[test]
    fn a_name_is_read_from_the_query() {
        assert_eq!(name_of(Some("a=1&name=my%20laptop%0a")), "my laptop");
        assert_eq!(name_of(Some("name=one+two&name=three")), "one two");
        assert_eq!(name_of(None), "");
        assert_eq!(
            name_of(Some(&format!("name={}", "x".repeat(999)))).len(),
            128
        );
    }
}
