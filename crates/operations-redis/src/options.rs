//! What a user configures, checked field by field.
//!
//! The messages name the field and never quote the value: a URL holds a password, a key is a secret.

use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode};
use redis::{
    ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
};
use serde_json::{Map, Value, json};

/// The largest message, unless told.
const DEFAULT_MESSAGE_BYTES: u64 = 16 * 1024 * 1024;
/// How long a message waits for a lost connection to come back, unless told.
const DEFAULT_PUBLISH_TIMEOUT: u64 = 5_000;
/// Redis itself takes no longer strings.
const LARGEST_MESSAGE_BYTES: u64 = 512 * 1024 * 1024;

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

const FIELDS: [&str; 6] = [
    "url",
    "prefix",
    "maxMessageBytes",
    "publishTimeout",
    "requireReceiver",
    "tls",
];

impl Options {
    /// Reads the options of `createRedisEventTarget`, as JSON.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR`, naming the field that cannot be used.
    pub fn from_json(text: &str) -> Result<Self, CallError> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
            return Err(invalid(
                "options",
                "must be an object such as { url: \"redis://localhost:6379\" }",
            ));
        };
        if let Some(unknown) = fields
            .keys()
            .find(|field| !FIELDS.contains(&field.as_str()))
        {
            return Err(invalid(unknown, "is not an option"));
        }
        let info = connection_info(&fields)?;
        let (address, is_encrypted) = address(info.addr())?;
        let tls = tls(&fields)?;
        if tls.is_some() && !is_encrypted {
            return Err(invalid("tls", "needs a URL that begins with rediss://"));
        }
        Ok(Self {
            address,
            login: info
                .redis_settings()
                .clone()
                .set_protocol(ProtocolVersion::RESP2),
            tls: is_encrypted.then(|| tls.unwrap_or_default()),
            prefix: text_field(&fields, "prefix")?.unwrap_or_default(),
            max_message_bytes: usize::try_from(
                number_field(&fields, "maxMessageBytes", LARGEST_MESSAGE_BYTES)?
                    .unwrap_or(DEFAULT_MESSAGE_BYTES),
            )
            .unwrap_or(usize::MAX),
            publish_timeout: Duration::from_millis(
                number_field(&fields, "publishTimeout", u64::from(u32::MAX))?
                    .unwrap_or(DEFAULT_PUBLISH_TIMEOUT),
            ),
            require_receiver: bool_field(&fields, "requireReceiver")?.unwrap_or(true),
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

fn connection_info(fields: &Map<String, Value>) -> Result<ConnectionInfo, CallError> {
    let url = text_field(fields, "url")?.ok_or_else(|| {
        invalid(
            "url",
            "is missing; it looks like redis://user:password@host:6379",
        )
    })?;
    url.into_connection_info().map_err(|_| {
        invalid(
            "url",
            "must look like redis://user:password@host:6379, rediss:// for TLS, or redis+unix:///path",
        )
    })
}

fn address(address: &ConnectionAddr) -> Result<(Address, bool), CallError> {
    match address {
        ConnectionAddr::Tcp(host, port) => Ok((tcp(host, *port), false)),
        ConnectionAddr::TcpTls { insecure: true, .. } => Err(invalid(
            "url",
            "asks for TLS without verification, which is not offered; hand in the certificate of your authority as tls.ca",
        )),
        ConnectionAddr::TcpTls { host, port, .. } => Ok((tcp(host, *port), true)),
        #[cfg(unix)]
        ConnectionAddr::Unix(path) => Ok((Address::Unix(path.clone()), false)),
        _ => Err(invalid(
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

fn tls(fields: &Map<String, Value>) -> Result<Option<Tls>, CallError> {
    let tls = match fields.get("tls") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(tls)) => tls,
        Some(_) => return Err(invalid("tls", "must be an object with ca, cert and key")),
    };
    if let Some(unknown) = tls
        .keys()
        .find(|field| !["ca", "cert", "key"].contains(&field.as_str()))
    {
        return Err(invalid(&format!("tls.{unknown}"), "is not an option"));
    }
    let part = |name: &str| match tls.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(pem)) => Ok(Some(pem.clone())),
        Some(_) => Err(invalid(
            &format!("tls.{name}"),
            "must be a string in PEM form",
        )),
    };
    let identity = match (part("cert")?, part("key")?) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err(invalid("tls", "needs both cert and key, or neither")),
    };
    Ok(Some(Tls {
        authority: part("ca")?,
        identity,
    }))
}

fn text_field(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, CallError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(name, "must be a string")),
    }
}

fn bool_field(fields: &Map<String, Value>, name: &str) -> Result<Option<bool>, CallError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(invalid(name, "must be true or false")),
    }
}

fn number_field(
    fields: &Map<String, Value>,
    name: &str,
    largest: u64,
) -> Result<Option<u64>, CallError> {
    match fields.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) if (1..=largest).contains(&number) => Ok(Some(number)),
            _ => Err(invalid(
                name,
                &format!("must be a whole number from 1 to {largest}"),
            )),
        },
    }
}

fn invalid(field: &str, problem: &str) -> CallError {
    // A field's name is the user's own text: enough of it to recognise, no more.
    let field: String = field.chars().take(64).collect();
    CallError::new(
        InfrastructureErrorCode::ValidationError,
        format!("createRedisEventTarget: {field} {problem}"),
    )
    .with_details(json!({ "field": field }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Options::from_json(text).err().expect("refused").message
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
            ("{}", "url"),
            (r#"{"url":7}"#, "url"),
            (r#"{"url":"http://s3cret@host"}"#, "url"),
            (r#"{"url":"s3cret"}"#, "url"),
            (r#"{"url":"redis://h","prefix":7}"#, "prefix"),
            (
                r#"{"url":"redis://h","maxMessageBytes":0}"#,
                "maxMessageBytes",
            ),
            (
                r#"{"url":"redis://h","maxMessageBytes":1.5}"#,
                "maxMessageBytes",
            ),
            (
                r#"{"url":"redis://h","publishTimeout":"s3cret"}"#,
                "publishTimeout",
            ),
            (
                r#"{"url":"redis://h","requireReceiver":1}"#,
                "requireReceiver",
            ),
            (r#"{"url":"rediss://h","tls":"s3cret"}"#, "tls"),
            (r#"{"url":"rediss://h","tls":{"ca":["s3cret"]}}"#, "tls.ca"),
            (r#"{"url":"redis://h","uri":"redis://s3cret"}"#, "uri"),
        ] {
            let message = refusal(text);
            assert!(message.contains(field), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
