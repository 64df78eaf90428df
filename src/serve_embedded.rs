//! Requests that JavaScript brings to a registry that is served, for `facade/serve/handler.ts`.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw, Uint8Array};
use napi_derive::napi;
use operations_serve::embedded::{Exchange, Incoming};

use crate::interop::bridge::Bridge;

/// A request and its answer. It is given up when it is collected, at the latest.
#[napi]
pub struct ServedExchange {
    bridge: Arc<Bridge>,
    exchange: Arc<Exchange>,
}

impl ServedExchange {
    pub(crate) fn new(bridge: Arc<Bridge>, exchange: Exchange) -> Self {
        Self {
            bridge,
            exchange: Arc::new(exchange),
        }
    }
}

impl Drop for ServedExchange {
    fn drop(&mut self) {
        self.exchange.cancel();
    }
}

#[napi]
impl ServedExchange {
    /// Brings the request: its head as JSON, and its body, or nothing if that comes in pieces. Resolves to the head of the answer
    /// as JSON.
    #[napi(catch_unwind)]
    pub fn send<'env>(
        &self,
        env: &'env Env,
        head: String,
        body: Option<Uint8Array>,
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let exchange = Arc::clone(&self.exchange);
        let body = match body {
            Some(bytes) => Incoming::Whole(bytes.to_vec().into()),
            None => Incoming::Pieces,
        };
        self.bridge.spawn(
            env,
            async move { exchange.send(&head, body).await },
            |_, head| Ok(head),
        )
    }

    /// A piece of the request. Resolves when another may come, to whether it is wanted.
    #[napi(catch_unwind)]
    pub fn push<'env>(
        &self,
        env: &'env Env,
        piece: Uint8Array,
    ) -> napi::Result<PromiseRaw<'env, bool>> {
        let exchange = Arc::clone(&self.exchange);
        let piece = piece.to_vec();
        self.bridge.spawn(
            env,
            async move { Ok(exchange.push(piece.into()).await) },
            |_, is_wanted| Ok(is_wanted),
        )
    }

    /// The request as a whole.
    #[napi(catch_unwind)]
    pub fn finish(&self, body: Uint8Array) {
        self.exchange.finish(body.to_vec().into());
    }

    /// Nothing more of the request comes; it is there as a whole, or not.
    #[napi(catch_unwind)]
    pub fn end(&self, is_whole: bool) {
        self.exchange.end(is_whole);
    }

    /// The body of an answer that does not come in pieces.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn whole(&self) -> Option<Uint8Array> {
        self.exchange.whole().map(|bytes| Vec::from(bytes).into())
    }

    /// The next piece of the answer; nothing at its end.
    #[napi(ts_return_type = "Promise<Uint8Array | null>", catch_unwind)]
    pub fn next<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<Uint8Array>>> {
        let exchange = Arc::clone(&self.exchange);
        self.bridge
            .spawn(env, async move { exchange.next().await }, |_, piece| {
                Ok(piece.map(|bytes| Vec::from(bytes).into()))
            })
    }

    /// The caller does not wait for the answer any more.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.exchange.cancel();
    }
}
