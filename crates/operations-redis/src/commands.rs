//! A connection for commands, whose replies are awaited.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use operations_core::error::CallError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Value};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::connect::open;
use crate::options::Options;
use crate::problem::Problem;
use crate::resp_filter::TOO_LONG;

/// How long a command may take, including a new connection if needed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What Redis answers to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// There is nothing of this name.
    Nothing,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// Gives commands to a Redis. Connects with the first one, and again after a loss. A command that fails is not repeated:
/// only the caller knows whether that does harm.
pub struct RedisCommands {
    options: Options,
    connection: Mutex<Option<Arc<Connection>>>,
}

struct Connection {
    commands: MultiplexedConnection,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl fmt::Debug for RedisCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCommands")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl RedisCommands {
    /// Commands for this Redis; nothing is connected yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            connection: Mutex::default(),
        }
    }

    /// The name of a key: it begins with the prefix.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        self.options.channel(name)
    }

    /// The largest text that can be read back.
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        self.options.max_message_bytes
    }

    /// Gives a command: its name and its arguments.
    ///
    /// # Errors
    ///
    /// If Redis cannot be reached, refuses, or does not answer within five seconds.
    pub async fn run(&self, parts: &[&[u8]]) -> Result<Answer, CallError> {
        let mut command = Cmd::new();
        for part in parts {
            command.arg(*part);
        }
        let end = Instant::now() + PATIENCE;
        let answer = match timeout_at(end, self.connected()).await {
            Err(_) => Err(Problem::too_slow(&self.options)),
            Ok(Err(problem)) => Err(problem),
            Ok(Ok(connection)) => self.answer(&connection, &command, end).await,
        };
        answer.map_err(|problem| {
            CallError::failed(problem.reason)
                .with_details(json!({ "server": self.options.server() }))
        })
    }

    async fn connected(&self) -> Result<Arc<Connection>, Problem> {
        let mut held = self.connection.lock().await;
        if let Some(connection) = held.as_ref().filter(|held| !held.driver.is_finished()) {
            return Ok(Arc::clone(connection));
        }
        let socket = open(&self.options, None).await?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(PATIENCE))
            .set_connection_timeout(None);
        let (commands, driver) =
            MultiplexedConnection::new_with_config(&self.options.login, socket, config)
                .await
                .map_err(|error| Problem::of(&error, &self.options))?;
        let connection = Arc::new(Connection {
            commands,
            driver: tokio::spawn(driver),
        });
        *held = Some(Arc::clone(&connection));
        Ok(connection)
    }

    async fn answer(
        &self,
        connection: &Arc<Connection>,
        command: &Cmd,
        end: Instant,
    ) -> Result<Answer, Problem> {
        let mut commands = connection.commands.clone();
        match timeout_at(end, command.query_async(&mut commands)).await {
            Ok(Ok(value)) => self.read(value),
            // It has refused the command, and is well otherwise.
            Ok(Err(error)) if error.code().is_some() => Err(Problem::of(&error, &self.options)),
            failed => {
                let mut held = self.connection.lock().await;
                if held
                    .as_ref()
                    .is_some_and(|held| Arc::ptr_eq(held, connection))
                {
                    *held = None;
                }
                Err(match failed {
                    Ok(Err(error)) => Problem::of(&error, &self.options),
                    _ => Problem::passing(format!(
                        "Redis at {} does not answer",
                        self.options.server()
                    )),
                })
            }
        }
    }

    fn read(&self, value: Value) -> Result<Answer, Problem> {
        let odd = |what: &str| {
            let server = self.options.server();
            Problem::passing(format!("Redis at {server} answers {what}"))
        };
        match value {
            Value::Nil => Ok(Answer::Nothing),
            Value::Int(number) => Ok(Answer::Number(number)),
            Value::Okay => Ok(Answer::Text("OK".to_owned())),
            Value::SimpleString(text) => Ok(Answer::Text(text)),
            Value::BulkString(bytes) if bytes == TOO_LONG => Err(odd("with more than can be read")),
            Value::BulkString(bytes) => {
                let text =
                    String::from_utf8(bytes).map_err(|_| odd("with something that is no text"))?;
                Ok(Answer::Text(text))
            }
            _ => Err(odd("with something else than was asked for")),
        }
    }
}
