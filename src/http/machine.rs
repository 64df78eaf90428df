//! A call or a stream that JavaScript drives, with a `fetch` of the user's
//! (`facade/openapi/fetch-driver.ts`). What to do, and what the answers mean, is said here.

use std::sync::Arc;
use std::time::Instant;

use napi::bindgen_prelude::{Either, Either3, Env, Null, Uint8Array};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_http::machine::{Input, Machine, NetworkError, Output, Step};
use operations_http::message::ResponseHead;
use operations_http::{Failure, Fetched, Reply};
use serde_json::{Map, Value, json};

use super::outcome::{Taken, fetched_item, reply_item};
use crate::interop::bridge::Bridge;
use crate::interop::mailbox::{JsBatch, to_js};

/// A running call or stream.
#[napi]
pub struct HttpMachine {
    bridge: Arc<Bridge>,
    machine: Machine,
    taken: Taken,
}

impl HttpMachine {
    pub(super) fn new(bridge: &Arc<Bridge>, machine: Machine) -> Self {
        Self {
            bridge: Arc::clone(bridge),
            machine,
            taken: Taken::default(),
        }
    }

    fn handle(&mut self, env: &Env, input: Input<'_>) -> napi::Result<u32> {
        let step = self
            .bridge
            .run(env, || Ok(self.machine.handle(input, Instant::now())))?;
        Ok(code(step))
    }

    fn result(&mut self) -> Result<Reply, Failure> {
        match self.machine.take() {
            Some(Output::Reply(reply)) => Ok(reply),
            Some(Output::Failed(failure)) => Err(failure),
            _ => Err(CallError::unknown("The call is not over").into()),
        }
    }
}

/// The numbers of the steps (`STEP` in `facade/openapi/fetch-driver.ts`).
fn code(step: Step) -> u32 {
    match step {
        Step::Send => 0,
        Step::Read => 1,
        Step::Sleep => 2,
        Step::Deliver => 3,
        Step::Done => 4,
    }
}

#[napi]
impl HttpMachine {
    /// What to do next.
    #[napi(catch_unwind)]
    pub fn step(&self) -> u32 {
        code(self.machine.step())
    }

    /// Milliseconds until `tick` is to be called, whatever else happens; nothing for never.
    #[napi(catch_unwind)]
    pub fn wait(&self) -> Option<f64> {
        let deadline = self.machine.deadline()?;
        let left = deadline.saturating_duration_since(Instant::now());
        Some((left.as_secs_f64() * 1000.0).ceil())
    }

    /// The request, as JSON: method, url, headers.
    #[napi(catch_unwind)]
    pub fn request(&self) -> String {
        let request = self.machine.outgoing().request();
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_owned(), Value::from(value)));
        json!({
            "method": request.method,
            "url": request.url.as_str(),
            "headers": headers.collect::<Map<_, _>>(),
        })
        .to_string()
    }

    /// Its body: a text, bytes, or nothing.
    #[napi(catch_unwind)]
    pub fn body(&self) -> Either3<String, Uint8Array, Null> {
        let outgoing = self.machine.outgoing();
        match (outgoing.body_text(), outgoing.body()) {
            (Some(text), _) => Either3::A(text.to_owned()),
            (None, Some(bytes)) => Either3::B(bytes.to_vec().into()),
            (None, None) => Either3::C(Null),
        }
    }

    /// A response has begun; `headers` is a JSON list of pairs.
    #[napi(catch_unwind)]
    pub fn head(
        &mut self,
        env: Env,
        status: u32,
        reason: String,
        headers: String,
    ) -> napi::Result<u32> {
        let head = self.bridge.run(&env, || {
            let pairs: Vec<(String, String)> = serde_json::from_str(&headers).map_err(|error| {
                CallError::failed(format!(
                    "The headers of the response cannot be read: {error}"
                ))
            })?;
            let pairs = pairs.iter();
            let pairs = pairs.map(|(name, value)| (name.as_str(), value.as_str()));
            let status = u16::try_from(status).unwrap_or_default();
            let mut head = ResponseHead::new(status, Some(&reason), pairs);
            let is_decoded = head.forget_coding();
            let has_body = self.machine.outgoing().request().method != "HEAD";
            let announced = head.announced().filter(|_| has_body && !is_decoded);
            Ok(Input::Head { head, announced })
        })?;
        self.handle(&env, head)
    }

    /// A piece of its body.
    #[napi(catch_unwind)]
    pub fn chunk(&mut self, env: Env, piece: Uint8Array) -> napi::Result<u32> {
        self.handle(&env, Input::Chunk(&piece))
    }

    /// The end of its body.
    #[napi(catch_unwind)]
    pub fn end(&mut self, env: Env) -> napi::Result<u32> {
        self.handle(&env, Input::End)
    }

    /// The network has failed, as far as is known. How far the request got is not known, so the
    /// worst is assumed.
    #[napi(catch_unwind)]
    pub fn failed(&mut self, env: Env, why: String, code: Option<String>) -> napi::Result<u32> {
        let error = NetworkError {
            never_connected: false,
            why,
            code,
        };
        self.handle(&env, Input::Failed(error))
    }

    /// The time of `wait` is over.
    #[napi(catch_unwind)]
    pub fn tick(&mut self, env: Env) -> napi::Result<u32> {
        self.handle(&env, Input::Tick)
    }

    /// The caller has gone.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, env: Env) -> napi::Result<u32> {
        self.handle(&env, Input::Cancel)
    }

    /// The result of a call, as a mailbox would have it.
    #[napi(
        ts_return_type = "string | [string, ...(string | ArrayBuffer)[]]",
        catch_unwind
    )]
    pub fn outcome<'env>(&mut self, env: &'env Env) -> napi::Result<JsBatch<'env>> {
        to_js(env, reply_item(0, self.result()).into_batch())
    }

    /// The result of a call for a document, in the same way.
    #[napi(
        ts_return_type = "string | [string, ...(string | ArrayBuffer)[]]",
        catch_unwind
    )]
    pub fn text_outcome<'env>(&mut self, env: &'env Env) -> napi::Result<JsBatch<'env>> {
        let fetched = self.result().map(|reply| Fetched {
            text: reply.into_text(),
            url: self.machine.outgoing().request().url.to_string(),
        });
        to_js(env, fetched_item(0, fetched).into_batch())
    }

    /// What comes next of a stream: a batch, or a number that says what else.
    #[napi(catch_unwind)]
    pub fn take(&mut self) -> Either<String, u32> {
        self.taken.answer(self.machine.take())
    }

    /// After `take`: what an envelope says about the response, as JSON.
    #[napi(catch_unwind)]
    pub fn taken_head(&mut self) -> String {
        self.taken.head()
    }

    /// After `take`: why the stream has failed.
    #[napi(
        ts_return_type = "string | [string, ...(string | ArrayBuffer)[]] | null",
        catch_unwind
    )]
    pub fn taken_failure<'env>(&mut self, env: &'env Env) -> napi::Result<Option<JsBatch<'env>>> {
        self.taken.failure(env)
    }
}
