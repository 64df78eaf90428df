//! Answers of a server of our own (`operations-serve`): envelopes, and errors that have kept their codes. An operation that was
//! imported from such a server then gives what it gives there.

use operations_core::error::{CallError, Failure};
use operations_core::json::Object;
use serde_json::{Value, json};
use url::Url;

use super::integers::Note;
use super::media::essence;
use super::reply::Reply;
use super::response::{Decoded, ResponseHead};

/// The media type of envelopes.
pub const ENVELOPE: &str = "application/vnd.alkdev.envelope+json";

/// The parts of an envelope, for making another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// JSON; nothing for `undefined`.
    pub(crate) data: Option<String>,
    /// What the server says about the data. With notes, it is as good as the server could make it.
    pub(crate) notes: Vec<Note>,
}

/// Opens an envelope, if the text is one.
pub(crate) fn opened(text: &str) -> Option<Opened> {
    let members = Object::read(text).ok()?;
    let meta = members.object("meta")?;
    let mut notes: Vec<Note> = meta
        .get("notes")
        .and_then(|notes| serde_json::from_str(notes).ok())
        .unwrap_or_default();
    notes.extend(meta.object("spill").and_then(|spill| beginning(&spill)));
    Some(Opened {
        data: members.get("data").map(str::to_owned),
        notes,
    })
}

/// What is said of a result that is so large that the server sent its beginning, and where the rest of it is.
fn beginning(spill: &Object<'_>) -> Option<Note> {
    let (bytes, url) = (spill.number("bytes")?, spill.string("url")?);
    Some(Note {
        path: String::new(),
        message: format!(
            "This is the beginning. The whole result, {bytes} bytes, is at {url} of the server"
        ),
    })
}

/// Takes the data out of a reply that is an envelope.
pub(crate) fn open(reply: &mut Reply) {
    if essence(&reply.head.content_type) != ENVELOPE {
        return;
    }
    let Decoded::Json(text) = &reply.body else {
        return;
    };
    if let Some(Opened { data, notes }) = opened(text) {
        reply.body = data.map_or(Decoded::Empty, Decoded::Json);
        // Whatever could not be made right there cannot be made right here.
        reply.head.is_undeclared = !notes.is_empty();
        reply.head.notes.extend(notes);
    }
}

/// What a server of ours answers to a call that needs an approval: 202, the request for it, and where its state is. `url` is
/// that of the request.
pub(crate) fn approval_required(head: &ResponseHead, body: &[u8], url: &Url) -> Option<CallError> {
    let location = head.headers.get("location").and_then(Value::as_str);
    let location = location.filter(|_| head.status == 202)?;
    let mut body: Value = serde_json::from_slice(body).ok()?;
    let mut approval = body.get_mut("approval")?.take();
    let id = approval.get("id")?.as_str()?;
    let message = format!(
        "The call needs an approval, and nothing was done. Once approval {id} is granted, repeat the same call with it"
    );
    if let (Some(members), Ok(url)) = (approval.as_object_mut(), url.join(location)) {
        members.insert("url".to_owned(), url.as_str().into());
    }
    let details = json!({ "approval": approval, "delivery": "none" });
    Some(CallError::new("APPROVAL_REQUIRED", message).with_details(details))
}

/// The error that the server reports, in place of one about its response.
pub(crate) fn prefer_reported(failure: Failure) -> Failure {
    let details = failure.error.details.as_ref();
    let is_problem = details
        .and_then(|details| details.get("contentType")?.as_str())
        .is_some_and(|media_type| essence(media_type) == "application/problem+json");
    let reported = details
        .filter(|_| is_problem)
        .and_then(|details| problem(details.get("body")?));
    match reported {
        None => failure,
        Some(mut error) => {
            if let (Some(Value::Object(details)), Some(status)) = (
                &mut error.details,
                failure
                    .error
                    .details
                    .as_ref()
                    .and_then(|details| details.get("statusCode")),
            ) {
                details.entry("statusCode").or_insert(status.clone());
            }
            error.into()
        }
    }
}

/// The error that a problem document describes (RFC 9457, with `code`, `details` and `mayHaveRun`).
pub(crate) fn problem(problem: &Value) -> Option<CallError> {
    let code = problem.get("code")?.as_str()?.to_owned();
    let message = problem
        .get("detail")
        .and_then(Value::as_str)
        .unwrap_or(&code);
    let mut error = CallError::new(code.clone(), message);
    let mut details = match problem.get("details") {
        Some(Value::Object(details)) => details.clone(),
        None => serde_json::Map::new(),
        Some(_) => return Some(error.with_details(problem.get("details").cloned()?)),
    };
    let may_have_run = problem.get("mayHaveRun").and_then(Value::as_bool);
    let delivery = if may_have_run == Some(false) {
        "none"
    } else {
        "done"
    };
    details.entry("delivery").or_insert(json!(delivery));
    if let Some(id) = problem.get("requestId") {
        details.entry("requestId").or_insert(id.clone());
    }
    error.details = Some(Value::Object(details));
    Some(error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    #[test]
    fn an_envelope_is_opened() {
        let text =
            r#"{"data":[1.0],"meta":{"source":"local","notes":[{"path":"/0","message":"m"}]}}"#;
        let found = opened(text).expect("an envelope");
        assert_eq!(found.data.as_deref(), Some("[1.0]"));
        assert_eq!(found.notes.len(), 1);
        assert_eq!(opened(r#"{"meta":{}}"#).expect("an envelope").data, None);
        assert_eq!(opened("[]"), None);
    }

    #[test]
    fn an_answer_that_asks_for_an_approval_is_an_error() {
        let url = Url::parse("https://h/api/files/remove?a=1").expect("a URL");
        let body = br#"{"approval":{"id":"a","expires":7}}"#;
        let of = |status, headers: &[(&str, &str)], body: &[u8]| {
            let head = ResponseHead::new(status, None, headers.iter().copied());
            approval_required(&head, body, &url)
        };
        let location = [("location", "/api/.approvals/a")];
        let error = of(202, &location, body).expect("an error");
        assert_eq!(error.code, "APPROVAL_REQUIRED");
        let approval = json!({ "id": "a", "expires": 7, "url": "https://h/api/.approvals/a" });
        assert_eq!(
            error.details,
            Some(json!({ "approval": approval, "delivery": "none" }))
        );
        assert!(of(200, &location, body).is_none());
        assert!(of(202, &[], body).is_none());
        assert!(of(202, &location, b"{\"approval\":1}").is_none());
        assert!(of(202, &location, b"[").is_none());
    }

    #[test]
    fn a_problem_is_the_error_that_it_tells_of() {
        let error = problem(&json!({
            "code": "NO_TASK", "detail": "no such task", "details": { "id": 7 }, "mayHaveRun": true, "requestId": "r",
        }))
        .expect("an error");
        assert_eq!((&*error.code, &*error.message), ("NO_TASK", "no such task"));
        assert_eq!(
            error.details,
            Some(json!({ "id": 7, "delivery": "done", "requestId": "r" }))
        );
        assert!(problem(&json!({ "title": "Not Found" })).is_none());
    }
}
