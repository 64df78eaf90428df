//! How the two sides agree on a revision of the protocol.
//!
//! A server is asked first what it can do in the stateless revision (`server/discover`). One that does not
//! understand the question, or whose answer we do not understand, is greeted in the older way (`initialize`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Request};
use super::requests::Patience;
use crate::error::Failure;
use crate::transport::message;
use crate::transport::{Kind, Outgoing, STATELESS};

/// The newest revision that has a handshake.
const WITH_HANDSHAKE: &str = "2025-11-25";
/// Errors of servers that do speak the stateless revision, and do not want us as we are.
const OF_STATELESS_SERVERS: [i64; 2] = [-32020, -32021];
/// The error of a server that does not speak the revision which it was asked in; its data names those that it does.
const OTHER_REVISION: i64 = -32022;

/// What a server says about itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) version: String,
    pub(crate) info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

impl Facts {
    /// Whether it speaks the revision without a handshake.
    pub(crate) fn is_stateless(&self) -> bool {
        self.version == STATELESS
    }

    /// Whether it announces changes of its tools.
    pub(crate) fn announces_tools(&self) -> bool {
        self.capabilities.pointer("/tools/listChanged") == Some(&Value::Bool(true))
    }
}

/// What we say about ourselves with each request of the stateless revision: the members of a `_meta`.
fn about_us(connection: &Connection) -> String {
    let capabilities = connection.conversation.server_requests.capabilities(true);
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"{STATELESS}","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{capabilities}"#,
        us()
    )
}

fn us() -> Value {
    json!({ "name": "@alkdev/operations", "version": env!("CARGO_PKG_VERSION") })
}

/// Which question comes first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum First {
    /// `server/discover`; how long the server may ponder it.
    Discover(Option<Duration>),
    /// `initialize`, because the server is older than the other.
    Initialize,
}

/// Agrees with the server.
pub(crate) async fn agree(connection: &mut Connection, first: First) -> Result<(), Failure> {
    let transport = connection.transport.clone();
    if let First::Discover(patience) = first
        && discover(connection, patience).await?
    {
        return transport.agreed(STATELESS, None).await;
    }
    match initialize(connection).await {
        Ok(facts) => connection.facts = facts,
        // It speaks the newer revision alone, and started too slowly to say so in time.
        Err(Failure::Refused(error)) if speaks_stateless(connection, &error) => {
            return if discover(connection, None).await? {
                transport.agreed(STATELESS, None).await
            } else {
                Err(Failure::Refused(error))
            };
        }
        Err(failure) => return Err(failure),
    }
    let method = "notifications/initialized";
    let initialized = Outgoing {
        kind: Kind::Notification { method },
        text: message::notification(method, ""),
    };
    let version = connection.facts.version.clone();
    transport.agreed(&version, Some(initialized)).await
}

/// Whether a server that refuses `initialize` says that it speaks the stateless revision.
fn speaks_stateless(connection: &Connection, refusal: &message::RpcError) -> bool {
    (refusal.code == OTHER_REVISION && names_ours(refusal.data.as_ref()))
        || connection.conversation.requests.answered_late()
}

/// Uses the stateless revision from now on, if the server speaks it.
async fn discover(
    connection: &mut Connection,
    patience: Option<Duration>,
) -> Result<bool, Failure> {
    connection.meta = about_us(connection);
    let Some(facts) = ask_for_facts(connection, patience).await? else {
        connection.meta.clear();
        return Ok(false);
    };
    let is_stateless = &connection.conversation.is_stateless;
    is_stateless.store(true, Ordering::Release);
    connection.facts = facts;
    Ok(true)
}

/// What the server is in the stateless revision, if it speaks that.
async fn ask_for_facts(
    connection: &Connection,
    patience: Option<Duration>,
) -> Result<Option<Facts>, Failure> {
    let request = Request::new("server/discover");
    let mut answer = match patience {
        Some(patience) => match connection.request_within(&request, patience).await {
            Some(answer) => answer,
            None => return Ok(None),
        },
        None => ask(connection, &request).await,
    };
    if let Err(Failure::Refused(error)) = &answer
        && error.code == OTHER_REVISION
        && names_ours(error.data.as_ref())
    {
        answer = ask(connection, &request).await;
    }
    match answer {
        Ok(result) => Ok(understood(&result)),
        Err(Failure::Refused(error)) if OF_STATELESS_SERVERS.contains(&error.code) => {
            Err(Failure::Refused(error))
        }
        Err(
            Failure::Refused(_)
            | Failure::Odd(_)
            | Failure::TooLarge(_)
            | Failure::Transport { answered: true, .. },
        ) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Whether a list of revisions names the one that we have asked in after all.
fn names_ours(data: Option<&Value>) -> bool {
    let supported = data.and_then(|data| data.get("supported")?.as_array());
    supported.is_some_and(|versions| versions.iter().any(|version| version == STATELESS))
}

fn understood(result: &str) -> Option<Facts> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: Value,
        instructions: Option<String>,
        /// Where it used to be.
        server_info: Option<Value>,
        #[serde(rename = "_meta", default)]
        meta: Value,
    }
    let found: Discovered = serde_json::from_str(result).ok()?;
    if !found
        .supported_versions
        .iter()
        .any(|version| version == STATELESS)
    {
        return None;
    }
    let in_meta = found
        .meta
        .get("io.modelcontextprotocol/serverInfo")
        .cloned();
    Some(Facts {
        version: STATELESS.to_owned(),
        info: in_meta.or(found.server_info).unwrap_or_default(),
        capabilities: found.capabilities,
        instructions: found.instructions,
    })
}

async fn initialize(connection: &Connection) -> Result<Facts, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(default)]
        capabilities: Value,
        #[serde(default)]
        server_info: Value,
        instructions: Option<String>,
    }
    let capabilities = connection.conversation.server_requests.capabilities(false);
    let mut request = Request::new("initialize");
    request.params = format!(
        r#""protocolVersion":"{WITH_HANDSHAKE}","capabilities":{capabilities},"clientInfo":{}"#,
        us()
    );
    let result = ask(connection, &request).await?;
    let found: Initialized = serde_json::from_str(&result).map_err(|error| {
        Failure::Odd(format!(
            "its answer to `initialize` is not what the protocol prescribes ({error})"
        ))
    })?;
    Ok(Facts {
        version: found.protocol_version,
        info: found.server_info,
        capabilities: found.capabilities,
        instructions: found.instructions,
    })
}

async fn ask(connection: &Connection, request: &Request) -> Result<String, Failure> {
    let patience = Patience::of(connection.config().connect_timeout);
    let cancel = CancellationToken::new();
    connection.request(request, patience, None, &cancel).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_names_our_revision_is_asked_again() {
        let data = |versions: &[&str]| json!({ "supported": versions });
        assert!(names_ours(Some(&data(&["2025-11-25", STATELESS]))));
        for other in [data(&["2025-11-25"]), data(&[]), json!({}), json!(7)] {
            assert!(!names_ours(Some(&other)), "{other}");
        }
        assert!(!names_ours(None));
    }

    #[test]
    fn only_an_answer_that_names_the_revision_is_understood() {
        let full = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},
            "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a"}}}"#;
        let server = understood(full).unwrap();
        assert!(server.is_stateless() && server.announces_tools());
        assert_eq!(server.info["name"], "a");
        for other in [
            "{}",
            "[]",
            "7",
            r#"{"supportedVersions":[]}"#,
            r#"{"supportedVersions":["2025-11-25"]}"#,
        ] {
            assert!(understood(other).is_none(), "{other}");
        }
    }
}
