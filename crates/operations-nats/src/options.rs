//! What a user may say about a connection. Secrets go into it and never come out: not in an error, not in a log
//! line, not through `Debug`.

use std::fmt;
use std::future::ready;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_nats::{ConnectErrorKind, ConnectOptions, ServerAddr};
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::lock::locked;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;

use crate::credentials;
use crate::limits::WAITING;
use crate::subjects::{Subjects, invalid, is_token};

const DEFAULT_PREFIX: &str = "operations";
const DEFAULT_QUEUE: &str = "workers";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the broker is asked for a sign of life: a connection that was cut silently is noticed by this.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const LONGEST_RETRY: Duration = Duration::from_millis(500);
/// After this long without an attempt, the next one is made at once.
const CALM: Duration = Duration::from_secs(5);

/// The options of `connectNats`, as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    servers: Vec<String>,
    name: String,
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    queue_group: Option<String>,
    #[serde(default)]
    inbox: Option<String>,
    #[serde(default)]
    tls: Option<Tls>,
    #[serde(default)]
    auth: Option<Auth>,
    #[serde(default)]
    max_waiting: Option<usize>,
    #[serde(default)]
    wait_on_first_connect: Option<bool>,
}

/// TLS of our own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tls {
    #[serde(default)]
    ca_file: Option<PathBuf>,
    #[serde(default)]
    cert_file: Option<PathBuf>,
    #[serde(default)]
    key_file: Option<PathBuf>,
    #[serde(default)]
    first: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Auth {
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    password: Option<String>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    nkey: Option<String>,
    #[serde(default)]
    credentials: Option<String>,
    #[serde(default)]
    credentials_file: Option<PathBuf>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a connection needs to know of its options.
pub(crate) struct Plan {
    pub(crate) subjects: Subjects,
    pub(crate) name: String,
    pub(crate) queue: String,
    pub(crate) servers: Vec<ServerAddr>,
    pub(crate) connect: ConnectOptions,
    pub(crate) max_waiting: usize,
    pub(crate) inbox: Option<String>,
}

/// When the next attempt to connect is due. The client counts attempts anew whenever a server has taken the connection,
/// also when it then refuses the credentials; this does not.
#[derive(Debug, Default)]
struct Pace(Mutex<Option<(Instant, u32)>>);

impl Pace {
    fn delay(&self, now: Instant) -> Duration {
        let mut last = locked(&self.0);
        let attempts = match *last {
            Some((at, attempts)) if now.saturating_duration_since(at) < CALM => attempts + 1,
            _ => 0,
        };
        *last = Some((now, attempts));
        if attempts == 0 {
            return Duration::ZERO;
        }
        Duration::from_millis(10 << attempts.min(10)).min(LONGEST_RETRY)
    }
}

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    ///
    /// When a field is missing, unknown or of the wrong type. Values are not repeated in the message.
    pub fn read(json: &str) -> Result<Self, CallError> {
        // The parser would quote what it found; a secret in the wrong place must not be shown.
        serde_json::from_str(json).map_err(|_| {
            problem(
                "connectNats: an option is missing, unknown or of the wrong type (there are servers, name, prefix, queueGroup, inbox, \
                 tls: { caFile, certFile, keyFile, first } and \
                 auth: { user, password, token, nkey, credentials, credentialsFile })",
            )
        })
    }

    /// Checks what only this crate can check.
    pub(crate) fn plan(self) -> Result<Plan, CallError> {
        let subjects = Subjects::new(self.prefix.as_deref().unwrap_or(DEFAULT_PREFIX))?;
        let queue = self.queue_group.unwrap_or_else(|| DEFAULT_QUEUE.to_owned());
        if !is_token(&queue) {
            return Err(invalid("queueGroup", &queue));
        }
        if let Some(inbox) = self.inbox.as_deref().filter(|inbox| !is_token(inbox)) {
            return Err(invalid("inbox", inbox));
        }
        let pace = Pace::default();
        let file = self
            .auth
            .as_ref()
            .and_then(|auth| auth.credentials_file.clone());
        let mut connect = match file {
            Some(file) => read_at_each_connection(file)?,
            None => ConnectOptions::new(),
        };
        connect = connect
            .name(&self.name)
            .connection_timeout(CONNECT_TIMEOUT)
            .ping_interval(PING_INTERVAL)
            .request_timeout(None)
            .skip_subject_validation(true)
            .reconnect_delay_callback(move |_| pace.delay(Instant::now()));
        if self.wait_on_first_connect == Some(true) {
            connect = connect.retry_on_initial_connect();
        }
        let mut servers = Vec::with_capacity(self.servers.len());
        for (place, server) in self.servers.iter().enumerate() {
            let (server, auth) = parse_server(server, place)?;
            servers.push(server);
            connect = match auth {
                Some(UrlAuth::Token(token)) => connect.token(token),
                Some(UrlAuth::User(user, password)) => connect.user_and_password(user, password),
                None => connect,
            };
        }
        if servers.is_empty() {
            return Err(refused("servers", "must name at least one server"));
        }
        if let Some(auth) = self.auth {
            connect = auth.apply(connect)?;
        }
        if let Some(tls) = self.tls {
            connect = tls.apply(connect);
        }
        Ok(Plan {
            subjects,
            name: self.name,
            queue,
            servers,
            connect,
            max_waiting: self.max_waiting.unwrap_or(WAITING),
            inbox: self.inbox,
        })
    }
}

enum UrlAuth {
    Token(String),
    User(String, String),
}

/// A server's address without its credentials, and these. Nothing of the text is quoted when it is wrong: it may
/// hold a password.
fn parse_server(text: &str, place: usize) -> Result<(ServerAddr, Option<UrlAuth>), CallError> {
    let wrong = || {
        refused(
            &format!("servers[{place}]"),
            "is no NATS address (nats://host:port, tls://host:port or host:port)",
        )
    };
    let parsed: ServerAddr = text.parse().map_err(|_| wrong())?;
    let mut url = parsed.into_inner();
    if !matches!(url.scheme(), "nats" | "tls") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong());
    }
    let decode = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let auth = match (url.username(), url.password()) {
        ("", None) => None,
        (token, None) => Some(UrlAuth::Token(decode(token))),
        (user, Some(password)) => Some(UrlAuth::User(decode(user), decode(password))),
    };
    if auth.is_some() {
        url.set_username("").map_err(|()| wrong())?;
        url.set_password(None).map_err(|()| wrong())?;
    }
    let server = ServerAddr::from_url(url).map_err(|_| wrong())?;
    Ok((server, auth))
}

/// Options whose credentials are in a file.
fn read_at_each_connection(file: PathBuf) -> Result<ConnectOptions, CallError> {
    // An invalid value is reported at once, with the option's name.
    credentials::sign(&file, &[])
        .map_err(|error| problem(&format!("connectNats: auth.credentialsFile: {error}")))?;
    Ok(ConnectOptions::with_auth_callback(move |nonce| {
        ready(credentials::sign(&file, &nonce))
    }))
}

impl Auth {
    fn apply(self, mut connect: ConnectOptions) -> Result<ConnectOptions, CallError> {
        if let Some(user) = self.user {
            connect = connect.user_and_password(user, self.password.unwrap_or_default());
        } else if self.password.is_some() {
            return Err(refused("auth.password", "needs auth.user"));
        }
        if let Some(token) = self.token {
            connect = connect.token(token);
        }
        if let Some(seed) = self.nkey {
            connect = connect.nkey(seed);
        }
        if let Some(credentials) = self.credentials {
            connect = connect.credentials(&credentials).map_err(|_| {
                refused("auth.credentials", "is not the text of a credentials file")
            })?;
        }
        Ok(connect)
    }
}

impl Tls {
    fn apply(self, mut connect: ConnectOptions) -> ConnectOptions {
        connect = connect.require_tls(true);
        if let Some(file) = self.ca_file {
            connect = connect.add_root_certificates(file);
        }
        if let (Some(cert), Some(key)) = (self.cert_file, self.key_file) {
            connect = connect.add_client_certificate(cert, key);
        }
        if self.first {
            connect = connect.tls_first();
        }
        connect
    }
}

fn problem(message: &str) -> CallError {
    CallError::invalid(message)
}

/// One option cannot be used.
fn refused(field: &str, why: &str) -> CallError {
    problem(&format!("connectNats: {field} {why}")).with_details(json!({ "field": field }))
}

/// Why there is no connection. The servers are named by host and port only.
pub(crate) fn connect_failure(
    error: &async_nats::ConnectError,
    servers: &[ServerAddr],
) -> CallError {
    let hosts: Vec<String> = servers
        .iter()
        .map(|server| format!("{}:{}", server.host(), server.port()))
        .collect();
    let hosts = hosts.join(", ");
    let why = match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            "the server refused the credentials".to_owned()
        }
        ConnectErrorKind::Dns => "the name cannot be resolved".to_owned(),
        ConnectErrorKind::TimedOut => "it did not answer in time".to_owned(),
        ConnectErrorKind::Tls => format!("TLS failed ({error})"),
        _ => error.to_string(),
    };
    let code = match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            InfrastructureErrorCode::AccessDenied
        }
        ConnectErrorKind::TimedOut => InfrastructureErrorCode::Timeout,
        _ => InfrastructureErrorCode::ExecutionError,
    };
    CallError::new(code, format!("Cannot connect to NATS at {hosts}: {why}"))
        .with_details(json!({ "servers": hosts }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_is_shown() {
        for json in [
            r#"{"servers":["nats://u:hunter2@h"],"name":1}"#,
            r#"{"servers":["x"],"name":"n","auth":{"token":{"hunter2":1}}}"#,
            r#"{"servers":["x"],"name":"n","hunter2":1}"#,
            r#"{"hunter2"#,
        ] {
            let error = Options::read(json).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let options = Options::read(r#"{"servers":["nats://u:hunter2@h"],"name":"n"}"#).unwrap();
        assert!(!format!("{options:?}").contains("hunter2"));
        for server in [
            "http://u:hunter2@h",
            "nats://u:hunter2@",
            "nats://u:hunter2@h:99999",
        ] {
            let Err(error) = parse_server(server, 0) else {
                panic!("{server} was accepted");
            };
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn attempts_that_follow_each_other_are_spaced_out() {
        let (pace, start) = (Pace::default(), Instant::now());
        let mut now = start;
        let mut attempts = 0;
        while now.saturating_duration_since(start) < Duration::from_secs(10) {
            now += pace.delay(now) + Duration::from_millis(1);
            attempts += 1;
        }
        assert!(attempts < 30, "{attempts}");
        assert_eq!(pace.delay(now + CALM), Duration::ZERO);
    }

    #[test]
    fn credentials_leave_the_url() {
        let Ok((server, Some(UrlAuth::User(user, password)))) =
            parse_server("nats://al%20k:p%40ss@example:4333", 0)
        else {
            panic!("not read");
        };
        assert_eq!((&*user, &*password), ("al k", "p@ss"));
        assert_eq!(server.as_url_str(), "nats://example:4333");
        let Ok((_, Some(UrlAuth::Token(token)))) = parse_server("nats://s3cret@h", 0) else {
            panic!("not read");
        };
        assert_eq!(token, "s3cret");
        assert!(matches!(parse_server("127.0.0.1:4222", 0), Ok((_, None))));
    }
}
