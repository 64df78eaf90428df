//! What is known about a server before it is connected.

use std::collections::BTreeMap;
use std::time::Duration;

use operations_core::clock;
use operations_core::error::CallError;
use operations_http::oauth::assertion::Algorithm;
use serde::Deserialize;
use serde_json::json;

use crate::secrets::Secrets;

/// How long a server may take from its start to its tool list.
const CONNECT_TIMEOUT: u64 = 30_000;
/// How long a tool may take.
const CALL_TIMEOUT: u64 = 60_000;
const TASK_TIMEOUT: u64 = 3_600_000;
/// The largest message that is read: a result of 50 MB and what surrounds it.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;
/// How many tools are taken from a server.
const MAX_TOOLS: usize = 2_000;

/// One server, as the facade describes it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings that users turn on and off"
)]
struct Description {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    inherit_env: bool,
    /// The environment of the host program, out of which a child inherits.
    host_env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    oauth: Option<OAuth>,
    timeout: Option<f64>,
    task_timeout: Option<f64>,
    connect_timeout: Option<f64>,
    reset_timeout_on_progress: bool,
    max_result_bytes: Option<f64>,
    max_tools: Option<usize>,
    #[serde(default = "yes")]
    reconnect: bool,
    answers_elicitation: bool,
    answers_sampling: bool,
    answers_roots: bool,
    idle: Option<f64>,
    transport: HttpKind,
    parses_json_text: bool,
    throws_tool_errors: bool,
    /// Texts that must not appear in messages and log lines.
    secrets: Vec<String>,
}

fn yes() -> bool {
    true
}

/// One server: where it is, and how to treat it.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings that users turn on and off"
)]
pub struct ServerConfig {
    /// What the user calls it.
    pub name: String,
    /// Where it is.
    pub target: Target,
    /// From the start to the tool list.
    pub connect_timeout: Duration,
    /// For each call.
    pub timeout: Duration,
    /// For a call that the server makes a task of.
    pub task_timeout: Duration,
    /// Whether a sign of progress starts the time of a call anew.
    pub reset_timeout_on_progress: bool,
    /// The largest message that is read, in bytes.
    pub max_message_bytes: usize,
    /// How many tools are taken.
    pub max_tools: usize,
    /// Whether a lost server is connected again by the next call.
    pub reconnect: bool,
    /// Whether elicitation requests of the server are answered.
    pub answers_elicitation: bool,
    /// Whether sampling requests of the server are answered.
    pub answers_sampling: bool,
    /// Whether the server may know the roots.
    pub answers_roots: bool,
    /// After how long without a call it is stopped.
    pub idle: Option<Duration>,
    /// Whether a result that is one text with a JSON object or array in it is that value.
    pub parses_json_text: bool,
    /// Whether a result with `isError` is an error, and not an envelope.
    pub throws_tool_errors: bool,
    /// What must not be shown.
    pub secrets: Secrets,
}

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Target {
    /// A child process that speaks over its standard streams.
    Stdio(Stdio),
    /// A streamable HTTP endpoint.
    Http(Http),
}

/// A child process.
#[derive(Debug, Clone)]
pub struct Stdio {
    /// A program in `PATH`, or the path of one.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Its working directory; by default that of the host.
    pub cwd: Option<String>,
}

/// An endpoint.
#[derive(Debug, Clone)]
pub struct Http {
    /// The URL of the endpoint.
    pub url: String,
    /// Sent with every request.
    pub headers: BTreeMap<String, String>,
    /// How to get a token, for servers that want one.
    pub oauth: Option<Box<OAuth>>,
    /// How it speaks.
    pub kind: HttpKind,
}

/// How an endpoint speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpKind {
    /// Streamable HTTP; if it does not answer that, HTTP+SSE.
    #[default]
    Either,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// How to get a token from the server's authorization server.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OAuth {
    /// A client that was registered by hand; otherwise one is registered when needed.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<String>,
    /// What the user is asked to allow; what the server names when there are none.
    pub scopes: Vec<String>,
    /// Where the browser is sent afterwards; by default a port of this machine.
    pub redirect_url: Option<String>,
    /// The name that the authorization server shows to the user.
    pub client_name: Option<String>,
    /// Where the description of the client can be read, for authorization servers that take that for a registration.
    pub client_metadata_url: Option<String>,
    /// What a program without a user shows instead.
    pub client_credentials: Option<ClientCredentials>,
    /// A program that its platform vouches for.
    pub workload: Option<Workload>,
    /// A user whose company vouches for them.
    pub enterprise: Option<Enterprise>,
    /// Whether tokens are bound to a key of this client (RFC 9449).
    pub dpop: bool,
}

/// A program that its platform vouches for.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The name that it is known by to the authorization server.
    pub client_id: String,
}

/// A user whose company vouches for them.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Enterprise {
    /// The name of the program at the authorization server of the tools.
    pub client_id: String,
    /// Its secret there, if it has one.
    pub client_secret: Option<String>,
    /// The company's identity provider.
    pub idp: IdentityProvider,
}

/// The identity provider of a company.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// Who it is.
    pub issuer: String,
    /// Where it hands out tokens.
    pub token_endpoint: String,
    /// The name of the program there.
    pub client_id: String,
    /// Its secret there, if it has one.
    pub client_secret: Option<String>,
}

impl std::fmt::Debug for Enterprise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Enterprise({} at {})", self.client_id, self.idp.issuer)
    }
}

/// A program that asks for a token in its own name. It has a secret or a key.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCredentials {
    /// The name that it is registered under.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Option<String>,
    /// Its private key: PKCS #8 as PEM.
    pub private_key: Option<String>,
    /// How it signs with the key.
    #[serde(default)]
    pub algorithm: Algorithm,
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientCredentials({})", self.client_id)
    }
}

impl ServerConfig {
    /// Reads the facade's description.
    ///
    /// # Errors
    ///
    /// When a field has the wrong type or value, or when the description says neither how to start
    /// the server nor where it is.
    pub fn from_json(name: &str, text: &str) -> Result<Self, CallError> {
        let given: Description = serde_json::from_str(text).map_err(|error| {
            invalid(
                name,
                &format!("it does not have the declared shape ({error})"),
            )
        })?;
        let secrets = Secrets::new(given.secrets);
        let target = match (given.url, given.command) {
            (Some(url), _) => Target::Http(Http {
                url: endpoint(name, &url)?,
                headers: given.headers,
                oauth: given.oauth.map(Box::new),
                kind: given.transport,
            }),
            (None, Some(command)) => {
                if command.is_empty() {
                    return Err(invalid(name, "'command' is empty"));
                }
                Target::Stdio(Stdio {
                    command,
                    args: given.args,
                    env: crate::process::environment::for_child(
                        given.host_env,
                        given.env,
                        given.inherit_env,
                    ),
                    cwd: given.cwd,
                })
            }
            (None, None) => {
                return Err(CallError::failed(format!(
                    "MCP server '{name}' must have either 'url' or 'command'"
                )));
            }
        };
        Ok(Self {
            target,
            connect_timeout: milliseconds(
                name,
                "connectTimeout",
                given.connect_timeout,
                CONNECT_TIMEOUT,
            )?,
            timeout: milliseconds(name, "timeout", given.timeout, CALL_TIMEOUT)?,
            task_timeout: milliseconds(name, "taskTimeout", given.task_timeout, TASK_TIMEOUT)?,
            reset_timeout_on_progress: given.reset_timeout_on_progress,
            max_message_bytes: bytes(name, given.max_result_bytes)?,
            max_tools: given.max_tools.unwrap_or(MAX_TOOLS),
            reconnect: given.reconnect,
            answers_elicitation: given.answers_elicitation,
            answers_sampling: given.answers_sampling,
            answers_roots: given.answers_roots,
            idle: given.idle.map(clock::milliseconds),
            parses_json_text: given.parses_json_text,
            throws_tool_errors: given.throws_tool_errors,
            secrets,
            name: name.to_owned(),
        })
    }
}

fn invalid(name: &str, what: &str) -> CallError {
    CallError::invalid(format!(
        "The configuration of MCP server '{name}' cannot be used: {what}"
    ))
}

fn endpoint(name: &str, text: &str) -> Result<String, CallError> {
    let refused = |what: &str| invalid(name, what).with_details(json!({ "field": "url" }));
    let url =
        url::Url::parse(text).map_err(|error| refused(&format!("'url' is not a URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refused("'url' must be an http or https URL"));
    }
    Ok(url.into())
}

/// A time limit. Infinity is the longest limit there is.
fn milliseconds(
    name: &str,
    field: &str,
    given: Option<f64>,
    default: u64,
) -> Result<Duration, CallError> {
    let Some(given) = given else {
        return Ok(Duration::from_millis(default));
    };
    if given.is_nan() || given <= 0.0 {
        let what = format!("'{field}' must be a number of milliseconds above 0, and is {given}");
        return Err(invalid(name, &what));
    }
    Ok(clock::milliseconds(given))
}

fn bytes(name: &str, given: Option<f64>) -> Result<usize, CallError> {
    /// Node's longest string is a little above 512 MiB.
    const MOST: f64 = 512.0 * 1024.0 * 1024.0;
    let Some(given) = given else {
        return Ok(MAX_MESSAGE);
    };
    if given.is_nan() || !(1024.0..=MOST).contains(&given) {
        let what = format!("'maxResultBytes' must be between 1024 and {MOST}, and is {given}");
        return Err(invalid(name, &what));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked above"
    )]
    let bytes = given as usize;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use operations_core::error::InfrastructureErrorCode;

    fn read(text: &str) -> Result<ServerConfig, CallError> {
        ServerConfig::from_json("demo", text)
    }

    #[test]
    fn a_description_without_a_target_says_what_is_missing() {
        let error = read("{}").unwrap_err();
        assert!(error.is(InfrastructureErrorCode::ExecutionError));
        assert!(
            error
                .message
                .contains("must have either 'url' or 'command'")
        );
    }

    #[test]
    fn wrong_values_name_their_field() {
        for (text, field) in [
            (r#"{"command":"x","args":"y"}"#, "declared shape"),
            (r#"{"command":""}"#, "command"),
            (r#"{"command":"x","timeout":0}"#, "timeout"),
            (r#"{"command":"x","connectTimeout":-1}"#, "connectTimeout"),
            (r#"{"command":"x","maxResultBytes":3}"#, "maxResultBytes"),
            (r#"{"url":"nowhere"}"#, "url"),
            (r#"{"url":"file:///etc/passwd"}"#, "url"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.is(InfrastructureErrorCode::ValidationError), "{text}");
            assert!(error.message.contains(field), "{text}: {}", error.message);
        }
    }

    #[test]
    fn limits_have_defaults_and_are_bounded() {
        let config = read(r#"{"command":"x"}"#).unwrap();
        assert_eq!(config.connect_timeout, Duration::from_secs(30));
        assert_eq!(config.timeout, Duration::from_secs(60));
        assert!(config.reconnect);
        let config = read(r#"{"command":"x","timeout":1e300}"#).unwrap();
        assert_eq!(config.timeout, clock::milliseconds(f64::INFINITY));
    }
}
