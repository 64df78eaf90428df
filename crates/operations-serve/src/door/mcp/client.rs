//! What the client of a request can do.

use http::StatusCode;
use operations_core::json::Object;
use serde_json::{Map, Value, json};

use super::logging::Level;
use super::message::Refusal;
use super::protocol_version::{CAPABILITIES_KEY, ProtocolVersion};
use super::tasks::EXTENSION;

/// The client cannot do what the request needs.
const MISSING_CAPABILITY: i64 = -32021;
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The requests that a client supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "capabilities, each of which a client has or has not"
)]
pub(super) struct Abilities {
    pub(super) elicitation: bool,
    /// Whether it can open an address for its user.
    pub(super) urls: bool,
    /// Whether that is all it can be asked for.
    pub(super) urls_only: bool,
    pub(super) sampling: bool,
    pub(super) roots: bool,
    /// Whether it knows tasks, as an extension.
    pub(super) tasks: bool,
}

impl Abilities {
    /// What a client says about itself: its capabilities.
    pub(super) fn read(capabilities: Option<&Object<'_>>) -> Self {
        let has = |name| {
            let member = capabilities.and_then(|all| all.get(name));
            member.is_some_and(|member| member.starts_with('{'))
        };
        let elicitation = capabilities.and_then(|all| all.object("elicitation"));
        let elicits = |mode| {
            let member = elicitation.as_ref().and_then(|all| all.get(mode));
            member.is_some_and(|member| member.starts_with('{'))
        };
        Self {
            elicitation: has("elicitation"),
            urls: elicits("url"),
            urls_only: elicits("url") && !elicits("form"),
            sampling: has("sampling"),
            roots: has("roots"),
            tasks: capabilities
                .and_then(|all| all.object("extensions"))
                .is_some_and(|all| all.object(EXTENSION).is_some()),
        }
    }

    /// What a client of the stateless protocol says in each request.
    pub(super) fn of_request(params: &Object<'_>) -> Self {
        let meta = params.object("_meta");
        Self::read(meta.and_then(|meta| meta.object(CAPABILITIES_KEY)).as_ref())
    }

    /// A letter for each, so that the name of a session can have them.
    pub(super) fn letters(self) -> String {
        let all = [
            ('e', self.elicitation),
            ('u', self.urls),
            ('o', self.urls_only),
            ('s', self.sampling),
            ('r', self.roots),
        ];
        all.iter()
            .filter(|(_, has)| *has)
            .map(|(it, _)| it)
            .collect()
    }

    pub(super) fn of_letters(letters: &str) -> Self {
        Self {
            elicitation: letters.contains('e'),
            urls: letters.contains('u'),
            urls_only: letters.contains('o'),
            sampling: letters.contains('s'),
            roots: letters.contains('r'),
            // Only clients that say it in each request have the extension.
            tasks: false,
        }
    }

    pub(super) fn any(self) -> bool {
        self.request_kinds().iter().any(|(_, is_able)| *is_able)
    }

    /// The kinds of requests by the handlers' names for them, and whether the client supports them.
    pub(super) fn request_kinds(self) -> [(&'static str, bool); 3] {
        [
            ("elicit", self.elicitation),
            ("sample", self.sampling),
            ("roots", self.roots),
        ]
    }

    /// Why a request is refused that needs more than the client can do; `None` where it can.
    pub(super) fn lacks(self, needed: &[String], protocol: ProtocolVersion) -> Option<Refusal> {
        let lacking: Vec<&str> = needed
            .iter()
            .map(String::as_str)
            .filter(|name| match *name {
                "elicitation" => !self.elicitation,
                "sampling" => !self.sampling,
                "roots" => !self.roots,
                _ => false,
            })
            .collect();
        if lacking.is_empty() {
            return None;
        }
        let message = format!("This needs a client with {}", lacking.join(" and "));
        let required: Map<String, Value> = lacking
            .iter()
            .map(|name| ((*name).to_owned(), json!({})))
            .collect();
        Some(missing(&message, &Value::Object(required), protocol))
    }
}

/// Why a request is refused whose client cannot do what it needs: `required` is what the client should have declared.
pub(super) fn missing(message: &str, required: &Value, protocol: ProtocolVersion) -> Refusal {
    let refusal = Refusal::new(MISSING_CAPABILITY, message)
        .with_data(json!({ "requiredCapabilities": required }));
    match protocol {
        ProtocolVersion::Stateless => refusal.with_status(StatusCode::BAD_REQUEST),
        ProtocolVersion::Handshake => refusal,
    }
}

/// The log lines that a client of the stateless protocol wants to see of this request.
pub(super) fn level_of_request(params: &Object<'_>) -> Option<Level> {
    let meta = params.object("_meta")?;
    Level::read(&meta.string(LEVEL_KEY)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    #[test]
    fn a_session_can_carry_what_its_client_can_do() {
        let capabilities = Object::read(r#"{"elicitation":{},"roots":{},"sampling":null}"#);
        let abilities = Abilities::read(capabilities.ok().as_ref());
        assert!(abilities.elicitation && abilities.roots && !abilities.sampling);
        assert_eq!(Abilities::of_letters(&abilities.letters()), abilities);
        assert!(!Abilities::default().any());
        for (declared, urls, urls_only) in [
            ("{}", false, false),
            (r#"{"form":{}}"#, false, false),
            (r#"{"form":{},"url":{}}"#, true, false),
            (r#"{"url":{}}"#, true, true),
        ] {
            let declared = format!(r#"{{"elicitation":{declared}}}"#);
            let abilities = Abilities::read(Object::read(&declared).ok().as_ref());
            assert!(abilities.elicitation);
            assert_eq!((abilities.urls, abilities.urls_only), (urls, urls_only));
            assert_eq!(Abilities::of_letters(&abilities.letters()), abilities);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let needed = ["sampling".to_owned(), "elicitation".to_owned()];
        let able = Abilities::of_letters("e");
        let refusal = able
            .lacks(&needed, ProtocolVersion::Stateless)
            .expect("a refusal");
        assert_eq!(refusal.code, MISSING_CAPABILITY);
        assert_eq!(
            refusal.data,
            Some(json!({ "requiredCapabilities": { "sampling": {} } }))
        );
        assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
        let able = Abilities::of_letters("es");
        assert_eq!(able.lacks(&needed, ProtocolVersion::Handshake), None);
    }
}
