//! The channels of Redis, for the facade's event target.

use std::sync::Arc;

use napi::bindgen_prelude::{Env, PromiseRaw, spawn};
use napi_derive::napi;
use operations_core::error::CallError;
use operations_redis::{Answer, Options, RedisBus as Bus, RedisCommands};

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

/// A Redis in which something is kept. It is connected when it is first used.
#[napi]
pub struct RedisStore {
    bridge: Arc<Bridge>,
    commands: Arc<RedisCommands>,
}

#[napi]
impl RedisStore {
    /// `options` are those of `createRedisEventTarget`, as JSON; `who` is what refusals begin with.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, runtime: &Runtime, who: String, options: String) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let options = bridge.run(&env, || Options::named(&who, &options))?;
        let commands = Arc::new(RedisCommands::new(options));
        Ok(Self { bridge, commands })
    }

    /// Runs a script that returns a text or nothing. The prefix is put before each key.
    #[napi(catch_unwind)]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        script: String,
        keys: Vec<String>,
        arguments: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, Option<String>>> {
        let commands = Arc::clone(&self.commands);
        let work = async move {
            let keys: Vec<String> = keys.iter().map(|name| commands.key(name)).collect();
            let count = keys.len().to_string();
            let words = ["EVAL", &script, &count].into_iter();
            let words = words.chain(keys.iter().chain(&arguments).map(String::as_str));
            let parts: Vec<&[u8]> = words.map(str::as_bytes).collect();
            match commands.run(&parts).await? {
                Answer::Nothing => Ok(None),
                Answer::Text(text) => Ok(Some(text)),
                Answer::Number(_) => Err(CallError::failed("Redis sent an unexpected reply")),
            }
        };
        self.bridge.spawn(env, work, |_, text| Ok(text))
    }
}
