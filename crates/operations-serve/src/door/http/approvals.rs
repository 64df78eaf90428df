//! Approvals, below the door: `GET .approvals` lists those that the caller made or may decide, `GET .approvals/<id>` says how one
//! stands, and `POST .approvals/<id>` decides it. JavaScript has them.

use std::sync::Arc;

use http::header::LOCATION;
use http::{HeaderValue, Method, Response, StatusCode};
use operations_core::error::CallError;
use serde_json::{Value, json};
use uuid::Uuid;

use super::request::{self, Part};
use super::{problem, shown};
use crate::body::Body;
use crate::failure::{self, Outcome};
use crate::js_bridge::Expect;
use crate::service::{Answered, Exchange, Shared};

/// No namespace begins with a dot.
const BELOW: &str = "/.approvals";

/// The id of the approval that a path is for; it is empty for all of them.
pub(super) fn id(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(BELOW)?;
    if rest.is_empty() {
        return Some(rest);
    }
    rest.strip_prefix('/')
}

/// The answer to a call that needs an approval: what was requested, and where its state is.
pub(super) fn requested(error: &CallError, door: &str) -> Option<Response<Body>> {
    let approval = failure::approval(error)?;
    let id = approval.get("id")?.as_str()?;
    // Another server's, where the call was handed on to one.
    let url = approval.get("url").and_then(Value::as_str);
    let location = url.map_or_else(|| format!("{door}{BELOW}/{id}"), ToOwned::to_owned);
    let location = HeaderValue::try_from(location).ok()?;
    let mut response = shown(json!({ "approval": approval }).to_string().into());
    *response.status_mut() = StatusCode::ACCEPTED;
    response.headers_mut().insert(LOCATION, location);
    Some(response)
}

/// Answers a request about approvals.
pub(super) async fn serve(shared: &Arc<Shared>, exchange: Exchange, id: &str) -> Answered {
    let request_id = Arc::clone(&exchange.request_id);
    let is_decision = exchange.head.method == Method::POST && !id.is_empty();
    if !is_decision && exchange.head.method != Method::GET {
        return Ok(problem::wrong_method_of(&[Method::GET], &request_id));
    }
    let identity = exchange.caller.text.clone();
    let decision = if is_decision {
        match request::input(shared, exchange, BELOW, Part::Input).await {
            Ok(text) => text.unwrap_or_default(),
            Err(refusal) => return Ok(*refusal),
        }
    } else {
        String::new()
    };
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let question = json!({ "approvals": {
        "id": id,
        "identity": identity.as_deref().and_then(read),
        // What is no object is refused there.
        "decision": is_decision.then(|| read(&decision).filter(Value::is_object).unwrap_or(json!(false))),
    } });
    Ok(match asked(shared, &question).await {
        Ok(answer) if answer == "null" => problem::not_found(&request_id),
        Ok(answer) => shown(answer.into()),
        Err(error) => {
            let status = match failure::outcome(&error, None, identity.is_some()) {
                Outcome::Answer(status) => status,
                Outcome::Closed => StatusCode::INTERNAL_SERVER_ERROR,
            };
            problem::of(&failure::masked(error, false), status, &request_id)
        }
    })
}

async fn asked(shared: &Shared, question: &Value) -> Result<String, CallError> {
    let id: Arc<str> = Uuid::new_v4().to_string().into();
    let text = |_: &str| question.to_string();
    let answers = (shared.js).request(&id, "approvals", Expect::One, None, text)?;
    answers.first().await
}
