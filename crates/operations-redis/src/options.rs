//! What a user configures. Names and types are checked by the facade, which knows what was meant; here is what they mean.
//!
//! The messages name the field and never quote the value: a URL holds a password, a key is a secret.

use std::fmt;
use std::time::Duration;

use operations_core::error::CallError;
use redis::{ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};
use serde::Deserialize;
use serde_json::json;

/// Where Redis is and how it is spoken to.
#[derive(Clone)]
pub struct Options {
    pub(crate) address: Address,
    pub(crate) login: RedisConnectionInfo,
    pub(crate) tls: Option<Tls>,
    pub(crate) prefix: String,
    pub(crate) max_message_bytes: usize,
    pub(crate) publish_timeout: Duration,
    pub(crate) require_receiver: bool,
}

/// Where the server listens.
#[derive(Clone)]
pub(crate) enum Address {
    Tcp {
        host: String,
        port: u16,
    },
    #[cfg(unix)]
    Unix(std::path::PathBuf),
}

/// Certificates in PEM form. Without an authority the system's certificates are trusted.
#[derive(Clone, Default)]
pub(crate) struct Tls {
    pub(crate) authority: Option<String>,
    pub(crate) identity: Option<(String, String)>,
}

/// The options of `createRedisEventTarget`, whose names and types the facade has checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    url: String,
    #[serde(default)]
    prefix: String,
    #[serde(default = "default_message_bytes")]
    max_message_bytes: usize,
    #[serde(default = "default_publish_timeout")]
    publish_timeout: u64,
    #[serde(default = "yes")]
    require_receiver: bool,
    tls: Option<GivenTls>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenTls {
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
}

/// A field, and what is wrong with it.
type Flaw = (&'static str, &'static str);

/// The largest message: 16 MiB.
const fn default_message_bytes() -> usize {
    16 * 1024 * 1024
}

/// How long a message waits for a lost connection to come back, in milliseconds.
const fn default_publish_timeout() -> u64 {
    5_000
}

const fn yes() -> bool {
    true
}

impl Options {
    /// Reads the options of `createRedisEventTarget`, as JSON.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR`, naming the field that cannot be used.
    pub fn from_json(text: &str) -> Result<Self, CallError> {
        Self::named("createRedisEventTarget: ", text)
    }

    /// The same for others who connect to a Redis: `who` is what their refusals begin with.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR`, naming the field that cannot be used.
    pub fn named(who: &str, text: &str) -> Result<Self, CallError> {
        Self::read(text).map_err(|(field, problem)| {
            CallError::invalid(format!("{who}{field} {problem}"))
                .with_details(json!({ "field": field }))
        })
    }

    fn read(text: &str) -> Result<Self, Flaw> {
        // The parser would quote what it found; a secret in the wrong place must not be shown.
        let given: Given = serde_json::from_str(text).map_err(|_| {
            (
                "options",
                "have an unknown name or a value of the wrong type",
            )
        })?;
        let info = given.url.into_connection_info().map_err(|_| {
            (
                "url",
                "must look like redis://user:password@host:6379, rediss:// for TLS, or redis+unix:///path",
            )
        })?;
        let (address, is_encrypted) = address(info.addr())?;
        let tls = given.tls.map(tls).transpose()?;
        if tls.is_some() && !is_encrypted {
            return Err(("tls", "needs a URL that begins with rediss://"));
        }
        Ok(Self {
            address,
            login: info
                .redis_settings()
                .clone()
                .set_protocol(ProtocolVersion::RESP2),
            tls: is_encrypted.then(|| tls.unwrap_or_default()),
            prefix: given.prefix,
            max_message_bytes: given.max_message_bytes,
            publish_timeout: Duration::from_millis(given.publish_timeout),
            require_receiver: given.require_receiver,
        })
    }

    /// The server, for messages: never with credentials.
    pub(crate) fn server(&self) -> String {
        match &self.address {
            Address::Tcp { host, port } => format!("{host}:{port}"),
            #[cfg(unix)]
            Address::Unix(path) => path.display().to_string(),
        }
    }

    /// What must appear in no message.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.login.password().into_iter()
    }

    /// The channel of an event type.
    pub(crate) fn channel(&self, event_type: &str) -> String {
        format!("{}{event_type}", self.prefix)
    }
}

/// Without credentials.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("server", &self.server())
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

fn address(address: &ConnectionAddr) -> Result<(Address, bool), Flaw> {
    match address {
        ConnectionAddr::Tcp(host, port) => Ok((tcp(host, *port), false)),
        ConnectionAddr::TcpTls { insecure: true, .. } => Err((
            "url",
            "asks for TLS without verification, which is not offered; hand in the certificate of your authority as tls.ca",
        )),
        ConnectionAddr::TcpTls { host, port, .. } => Ok((tcp(host, *port), true)),
        #[cfg(unix)]
        ConnectionAddr::Unix(path) => Ok((Address::Unix(path.clone()), false)),
        _ => Err((
            "url",
            "names a kind of address that this platform does not have",
        )),
    }
}

fn tcp(host: &str, port: u16) -> Address {
    Address::Tcp {
        host: host.to_owned(),
        port,
    }
}

fn tls(given: GivenTls) -> Result<Tls, Flaw> {
    let identity = match (given.cert, given.key) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(("tls", "needs both cert and key, or neither")),
    };
    Ok(Tls {
        authority: given.ca,
        identity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Options::from_json(text).expect_err("refused").message
    }

    #[test]
    fn a_url_is_enough() {
        let options =
            Options::from_json(r#"{"url":"redis://u:s3cret@example:7000/2"}"#).expect("fine");
        assert_eq!(options.server(), "example:7000");
        assert_eq!(options.secrets().collect::<Vec<_>>(), ["s3cret"]);
        assert_eq!(options.channel("call.error"), "call.error");
        assert!(options.tls.is_none() && options.require_receiver);
    }

    #[test]
    fn tls_needs_its_scheme() {
        let options = Options::from_json(r#"{"url":"rediss://h","tls":{"ca":"x"}}"#).expect("fine");
        assert!(options.tls.is_some_and(|tls| tls.authority.is_some()));
        assert!(refusal(r#"{"url":"redis://h","tls":{"ca":"x"}}"#).contains("rediss://"));
        assert!(refusal(r#"{"url":"rediss://h","tls":{"cert":"x"}}"#).contains("both"));
        assert!(refusal(r#"{"url":"rediss://h/#insecure"}"#).contains("tls.ca"));
    }

    #[test]
    fn bad_fields_are_named_and_never_quoted() {
        for (text, field) in [
            ("[]", "options"),
            (r#"{"url":"http://s3cret@host"}"#, "url"),
            (r#"{"url":"s3cret"}"#, "url"),
            (
                r#"{"url":"redis://h","publishTimeout":"s3cret"}"#,
                "options",
            ),
            (r#"{"url":"rediss://h","tls":"s3cret"}"#, "options"),
            (r#"{"url":"redis://h","uri":"redis://s3cret"}"#, "options"),
        ] {
            let message = refusal(text);
            assert!(message.contains(field), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
