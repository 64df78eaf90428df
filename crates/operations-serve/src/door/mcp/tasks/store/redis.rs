//! Tasks in Redis. Everything ends by itself, when its task is kept no longer. A process that works on tasks says every few
//! seconds that it is there; one that has said nothing for a while has ended.
//!
//! | key | what it is |
//! |---|---|
//! | `task:<id>` | a record, as JSON |
//! | `result:<id>` | a result, as JSON |
//! | `all`, `of:<caller>` | the tasks, and those of a caller, by the time until which they are kept |
//! | `sizes`, `bytes` | the bytes of each result, and of all |
//! | `owner:<instance>` | is there while a process is |

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use operations_core::clock;
use operations_core::error::CallError;
use operations_redis::{Answer, Options, RedisCommands};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Backend, Limits, NoRoom, Record, Saved, Status};
use crate::door::mcp::tasks::Secret;

/// How long a process is believed to be there after it has said so.
const LEASE: Duration = Duration::from_secs(15);
/// How often it says so. Several may be missed: a busy machine, a Redis that restarts.
const RENEWAL: Duration = Duration::from_secs(3);

/// Forgets the sizes of results that are kept no longer. What scripts begin with: `all`, `sizes` and `bytes` are their first
/// keys, the time is their first argument.
const SWEEP: &str = "
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[1], 'LIMIT', 0, 1000)
for _, id in ipairs(old) do
  local size = redis.call('HGET', KEYS[2], id)
  if size then
    redis.call('DECRBY', KEYS[3], size)
    redis.call('HDEL', KEYS[2], id)
  end
  redis.call('ZREM', KEYS[1], id)
end
local function keep(key, time)
  if redis.call('PTTL', key) < tonumber(time) then redis.call('PEXPIRE', key, time) end
end
";

/// Keys: then the tasks of the caller, the record, the owner. Arguments: then the id, until when and how long it is kept, the
/// record, the most tasks, the most of one caller, how long the owner is believed.
const ADD: &str = "
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', '(' .. ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[6]) then return 0 end
if redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[7]) then return 0 end
redis.call('SET', KEYS[5], ARGV[5], 'PX', ARGV[4])
redis.call('SET', KEYS[6], '1', 'PX', ARGV[8])
for _, key in ipairs({ KEYS[1], KEYS[4] }) do
  redis.call('ZADD', key, ARGV[3], ARGV[2])
  keep(key, ARGV[4])
end
return 1
";

/// Keys: then the record, the result. Arguments: then the id, the record, whether there is a result, the result, the most
/// bytes of all results.
const END: &str = "
local known = redis.call('GET', KEYS[4])
if known == ARGV[3] then return 1 end
if not known then return 3 end
if cjson.decode(known).status ~= 'working' then return 0 end
local time = redis.call('PTTL', KEYS[4])
if time < 1 then return 0 end
if ARGV[4] == '1' then
  local size = string.len(ARGV[5])
  local taken = tonumber(redis.call('GET', KEYS[3]) or '0')
  if taken + size > tonumber(ARGV[6]) then return 2 end
  redis.call('SET', KEYS[5], ARGV[5], 'PX', time)
  redis.call('HSET', KEYS[2], ARGV[2], size)
  redis.call('INCRBY', KEYS[3], size)
  keep(KEYS[2], time)
  keep(KEYS[3], time)
end
redis.call('SET', KEYS[4], ARGV[3], 'PX', time)
return 1
";

/// What [`END`] returns if the record is not there.
const GONE: i64 = 3;

/// Keys: then the tasks of the caller, the record. Arguments: then the id.
const REMOVE: &str = "
redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[4], ARGV[2])
redis.call('DEL', KEYS[5])
return 1
";

/// The tasks in a Redis.
#[derive(Debug)]
pub(super) struct Redis {
    commands: Arc<RedisCommands>,
    instance: Uuid,
    limits: Limits,
    /// Whether it is said now and then that this process is there.
    is_known: AtomicBool,
}

impl Redis {
    /// `options` say where it is; nothing is connected yet.
    pub(super) fn new(options: &Secret, instance: Uuid, limits: Limits) -> Result<Self, CallError> {
        let options = Options::named("serve: doors.mcp.tasks.redis: ", options.0.get())?;
        Ok(Self {
            commands: Arc::new(RedisCommands::new(options)),
            instance,
            limits,
            is_known: AtomicBool::new(false),
        })
    }

    /// Runs a script on the keys that all have and `more`; returns the number that it returns.
    async fn run(
        &self,
        script: &str,
        more: &[String],
        arguments: &[&str],
    ) -> Result<i64, CallError> {
        let script = format!("{SWEEP}{script}");
        let keys = ["all", "sizes", "bytes"];
        let keys = keys.iter().map(|name| (*name).to_owned());
        let keys: Vec<String> = keys
            .chain(more.iter().cloned())
            .map(|name| self.commands.key(&name))
            .collect();
        let count = keys.len().to_string();
        let now = clock::now().floor().to_string();
        let mut parts = vec!["EVAL", &script, &count];
        parts.extend(keys.iter().map(String::as_str));
        parts.push(&now);
        parts.extend(arguments);
        let parts: Vec<&[u8]> = parts.into_iter().map(str::as_bytes).collect();
        match self.commands.run(&parts).await? {
            Answer::Number(number) => Ok(number),
            _ => Err(CallError::failed("Redis sent an unexpected reply")),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<String>, CallError> {
        let key = self.commands.key(name);
        match self.commands.run(&[b"GET", key.as_bytes()]).await? {
            Answer::Nothing => Ok(None),
            Answer::Text(text) => Ok(Some(text)),
            Answer::Number(number) => Ok(Some(number.to_string())),
        }
    }

    /// From now on, other processes see that this one is alive, for as long as it uses this.
    fn be_known(&self) {
        if !self.is_known.swap(true, Ordering::Relaxed) {
            let commands = Arc::downgrade(&self.commands);
            tokio::spawn(renew(commands, owner_key(self.instance)));
        }
    }
}

async fn renew(commands: Weak<RedisCommands>, name: String) {
    let lease = LEASE.as_millis().to_string();
    loop {
        tokio::time::sleep(RENEWAL).await;
        let Some(commands) = commands.upgrade() else {
            return;
        };
        let key = commands.key(&name);
        let parts = ["SET", &key, "1", "PX", &lease];
        // If Redis is unreachable, requests for tasks fail.
        let _ = commands.run(&parts.map(str::as_bytes)).await;
    }
}

fn owner_key(instance: Uuid) -> String {
    format!("owner:{instance}")
}

fn record_key(id: Uuid) -> String {
    format!("task:{id}")
}

fn result_key(id: Uuid) -> String {
    format!("result:{id}")
}

/// Callers' names can be long, and are private.
fn caller_key(caller: Option<&str>) -> String {
    let name = caller.map(|caller| format!("{:x}", Sha256::digest(caller)));
    format!("of:{}", name.as_deref().unwrap_or("nobody"))
}

/// A number of milliseconds that Redis takes, which are whole and above zero.
fn whole(milliseconds: f64) -> String {
    milliseconds.ceil().max(1.0).to_string()
}

fn written(record: &Record) -> Result<String, CallError> {
    serde_json::to_string(record).map_err(|error| CallError::unknown(error.to_string()))
}

impl Backend for Redis {
    fn add<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, Result<(), NoRoom>> {
        async move {
            let keys = [
                caller_key(record.caller.as_deref()),
                record_key(record.id),
                owner_key(self.instance),
            ];
            let arguments = [
                &record.id.to_string(),
                &whole(record.until()),
                &whole(record.until() - clock::now()),
                &written(record)?,
                &self.limits.tasks.to_string(),
                &self.limits.of_one.to_string(),
                &LEASE.as_millis().to_string(),
            ];
            let added = self.run(ADD, &keys, &arguments.map(String::as_str)).await?;
            self.be_known();
            if added == 1 {
                Ok(())
            } else {
                Err(NoRoom::Full)
            }
        }
        .boxed()
    }

    fn read(&self, id: Uuid) -> BoxFuture<'_, Result<Option<Record>, CallError>> {
        async move {
            let Some(text) = self.get(&record_key(id)).await? else {
                return Ok(None);
            };
            let record = serde_json::from_str(&text);
            record.map(Some).map_err(|error| {
                CallError::failed(format!("What Redis has of a task cannot be read: {error}"))
            })
        }
        .boxed()
    }

    fn result(&self, id: Uuid) -> BoxFuture<'_, Result<String, CallError>> {
        async move {
            let result = self.get(&result_key(id)).await?;
            result.ok_or_else(|| {
                CallError::failed("Redis does not have the result of a task any more")
            })
        }
        .boxed()
    }

    fn end<'a>(
        &'a self,
        record: &'a Record,
        result: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Saved, CallError>> {
        async move {
            let most = self.commands.max_bytes();
            if result.is_some_and(|result| result.len() > most) {
                return Ok(Saved::TooLarge(most));
            }
            let keys = [record_key(record.id), result_key(record.id)];
            let (id, written) = (record.id.to_string(), written(record)?);
            let room = self.limits.bytes.to_string();
            let has_result = if result.is_some() { "1" } else { "0" };
            let arguments = [&id, &written, has_result, result.unwrap_or_default(), &room];
            let mut saved = self.run(END, &keys, &arguments).await?;
            let is_due = record.owner == self.instance && record.until() > clock::now();
            if saved == GONE && is_due {
                // A Redis that came back without its data. The client knows the id: the task is added again.
                let working = Record {
                    status: Status::Working,
                    ..record.clone()
                };
                match self.add(&working).await {
                    Ok(()) => saved = self.run(END, &keys, &arguments).await?,
                    Err(NoRoom::Full) => return Ok(Saved::Over),
                    Err(NoRoom::Broken(error)) => return Err(error),
                }
            }
            Ok(match saved {
                0 | GONE => Saved::Over,
                1 => Saved::Yes,
                _ => Saved::NoRoom,
            })
        }
        .boxed()
    }

    fn remove<'a>(&'a self, record: &'a Record) -> BoxFuture<'a, ()> {
        async move {
            let keys = [caller_key(record.caller.as_deref()), record_key(record.id)];
            // Whatever cannot be removed goes with its time.
            let _ = self.run(REMOVE, &keys, &[&record.id.to_string()]).await;
        }
        .boxed()
    }

    fn is_alive(&self, owner: Uuid) -> BoxFuture<'_, Result<bool, CallError>> {
        async move { Ok(self.get(&owner_key(owner)).await?.is_some()) }.boxed()
    }
}
