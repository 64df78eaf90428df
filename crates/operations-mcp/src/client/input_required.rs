//! A result that is a request for input: a server of 2026-07-28 answers with it, and is called again with our response.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::connection::Connection;
use crate::error::Failure;
use crate::transport::message;

/// A member that every request for input has, and hardly any other result.
pub(super) const MARK: &str = "input_required";

/// A result that is a request for input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Incomplete<'a> {
    result_type: String,
    #[serde(borrow, default)]
    pub(super) input_requests: HashMap<String, InputRequest<'a>>,
    #[serde(borrow)]
    pub(super) request_state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct InputRequest<'a> {
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl InputRequest<'_> {
    /// Our answer, as JSON.
    pub(super) async fn answer(&self, connection: &Connection) -> Result<String, Failure> {
        let server_requests = &connection.conversation.server_requests;
        let params = self.params.map(RawValue::get);
        let answer = server_requests.answer(&self.method, params).await;
        answer.map_err(Failure::Refused)
    }
}

impl<'a> Incomplete<'a> {
    /// The request for input in a result, if it is one.
    pub(super) fn read(result: &'a str) -> Option<Self> {
        let read: Self = serde_json::from_str(result).ok()?;
        (read.result_type == MARK).then_some(read)
    }

    /// Our answers, as further members of the parameters.
    pub(super) async fn answers(&self, connection: &Connection) -> Result<String, Failure> {
        let mut answers = Vec::new();
        for (key, request) in &self.input_requests {
            let answer = request.answer(connection).await?;
            answers.push(format!("{}:{answer}", message::text(key)));
        }
        let mut members = String::new();
        if !answers.is_empty() {
            members = format!(r#","inputResponses":{{{}}}"#, answers.join(","));
        }
        if let Some(state) = self.request_state {
            members.push_str(r#","requestState":"#);
            members.push_str(state.get());
        }
        Ok(members)
    }
}
