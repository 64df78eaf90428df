//! A stream whose bytes JavaScript reads and native code parses.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, Uint8Array};
use napi_derive::napi;
use operations_http::{Feed, StreamKind};

use crate::border::bridge::Bridge;

/// Bytes of a stream in, batches out.
#[napi]
pub struct StreamFeed {
    bridge: Arc<Bridge>,
    feed: Feed,
    kind: StreamKind,
    about: String,
}

impl StreamFeed {
    pub(super) fn new(bridge: &Arc<Bridge>, feed: Feed, kind: StreamKind, about: String) -> Self {
        Self {
            bridge: Arc::clone(bridge),
            feed,
            kind,
            about,
        }
    }

    pub(super) fn reconnection_time(&self) -> Option<u64> {
        self.feed.reconnection_time()
    }
}

#[napi]
impl StreamFeed {
    /// Whether its members are events; otherwise they are lines.
    #[napi]
    pub fn has_events(&self) -> bool {
        self.kind == StreamKind::Events
    }

    /// What an envelope says about the response, as JSON.
    #[napi]
    pub fn head(&self) -> String {
        self.about.clone()
    }

    /// The id of the last event.
    #[napi]
    pub fn last_event_id(&self) -> String {
        self.feed.last_event_id().to_owned()
    }

    /// Reads a piece and gives what is ready.
    #[napi]
    pub fn push(&mut self, env: Env, piece: Uint8Array) -> napi::Result<Option<String>> {
        self.bridge.run(&env, || {
            self.feed.push(&piece);
            Ok(self.feed.take())
        })
    }

    /// The stream has ended: what is left.
    #[napi]
    pub fn finish(&mut self, env: Env) -> napi::Result<Option<String>> {
        self.bridge.run(&env, || {
            self.feed.finish();
            Ok(self.feed.take())
        })
    }

    /// Throws if the stream cannot be read on. To be asked when everything before it is handed over.
    #[napi]
    pub fn check(&mut self, env: Env) -> napi::Result<()> {
        self.bridge.run(&env, || {
            let failure = self.feed.take_failure();
            failure.map_or(Ok(()), Err)
        })
    }
}
