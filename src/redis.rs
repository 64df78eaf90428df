//! The channels of Redis, for the facade's event target.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, spawn};
use napi_derive::napi;
use operations_redis::{Options, RedisBus as Bus};

use crate::interop::bridge::Bridge;
use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;

/// Publishes events to the channels of a Redis, and listens to them. The connections end when it is closed or
/// collected; they do not keep the process alive.
#[napi]
pub struct RedisBus {
    bridge: Arc<Bridge>,
    bus: Bus,
}

#[napi]
impl RedisBus {
    /// `options` are those of `createRedisEventTarget`, as JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        runtime: &Runtime,
        mailbox: &Mailbox,
        options: String,
    ) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let options = bridge.run(&env, || Options::from_json(&options))?;
        let mailbox = Arc::clone(&mailbox.inner);
        let (bus, work) = Bus::new(options, bridge.logger().clone(), mailbox);
        spawn(work);
        Ok(Self { bridge, bus })
    }

    /// Events of this type have a listener from now on.
    #[napi(catch_unwind)]
    pub fn listen(&self, event_type: String) {
        self.bus.listen(&event_type);
    }

    /// Events of this type have no listeners any more.
    #[napi(catch_unwind)]
    pub fn unlisten(&self, event_type: String) {
        self.bus.unlisten(&event_type);
    }

    /// Sends an event. With a request id, a failure to do so goes to the mailbox.
    #[napi(catch_unwind)]
    pub fn publish(
        &self,
        env: Env,
        event_type: String,
        detail: String,
        request_id: Option<String>,
    ) -> napi::Result<()> {
        self.bridge
            .run(&env, || self.bus.publish(&event_type, detail, request_id))
    }

    /// Ends the connections.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.bus.close();
    }
}
