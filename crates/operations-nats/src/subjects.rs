//! Names as subjects. Any operation id becomes one valid token, and no two become the same.

use operations_core::error::CallError;
use serde_json::json;

use crate::limits::SUBJECT_TOKEN;

/// The last token of the subject that all answers to a connection share; the message names its request. A broker remembers who
/// listens to the subjects that it has seen. With a new subject for each answer it would look for the listeners every time, which
/// costs it more than anything else about a call.
pub const ANSWERS: &str = "answers";

/// The subjects that many may read. What stands in a message has to agree with where it was sent: the broker's
/// permissions are about subjects alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Public<'a> {
    /// A request for the operation with this token.
    Call(&'a str),
    /// A question for slots, for the operation with this token.
    Who(&'a str),
    /// A worker has come.
    Hello,
    /// A question who serves what.
    Discover,
}

/// The subjects of one prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    prefix: String,
}

impl Subjects {
    /// The subjects below a prefix, which may have several tokens.
    ///
    /// # Errors
    ///
    /// When it cannot be a subject.
    pub fn new(prefix: &str) -> Result<Self, CallError> {
        if prefix.split('.').all(is_token) && prefix.len() <= 128 {
            Ok(Self {
                prefix: prefix.to_owned(),
            })
        } else {
            Err(invalid("prefix", prefix))
        }
    }

    /// Where an operation is asked for: one of its workers gets the message.
    #[must_use]
    pub fn call(&self, token: &str) -> String {
        [&self.prefix, ".call.", token].concat()
    }

    /// Where all workers of an operation are asked for a free slot.
    #[must_use]
    pub fn who(&self, token: &str) -> String {
        format!("{}.who.{token}", self.prefix)
    }

    /// Where workers say that they have come.
    #[must_use]
    pub fn hello(&self) -> String {
        format!("{}.hello", self.prefix)
    }

    /// Where all workers are asked what they serve.
    #[must_use]
    pub fn discover(&self) -> String {
        format!("{}.discover", self.prefix)
    }

    /// What a message on a subject for many is about, if it is one of ours.
    #[must_use]
    pub fn about<'a>(&self, subject: &'a str) -> Option<Public<'a>> {
        let rest = subject.strip_prefix(&*self.prefix)?.strip_prefix('.')?;
        match rest.split_once('.') {
            Some(("call", token)) => Some(Public::Call(token)),
            Some(("who", token)) => Some(Public::Who(token)),
            None if rest == "hello" => Some(Public::Hello),
            None if rest == "discover" => Some(Public::Discover),
            _ => None,
        }
    }

    /// Where the broker says that a connection is not there any more.
    #[must_use]
    pub fn gone(&self, me: &str, peer: &str) -> String {
        self.to_peer(me, &format!("gone-{}", peer.replace('.', "=2E")))
    }

    /// Everything that is for one connection.
    #[must_use]
    pub fn inbox(&self, peer: &str) -> String {
        format!("{}.peer.{peer}.*", self.prefix)
    }

    /// The connection that a message is for, if it is for one.
    #[must_use]
    pub fn peer_of<'a>(&self, subject: &'a str) -> Option<&'a str> {
        let rest = subject.strip_prefix(&*self.prefix)?;
        let (peer, _) = rest.strip_prefix(".peer.")?.rsplit_once('.')?;
        Some(peer)
    }

    /// One message for one connection. What it is about is the last token.
    #[must_use]
    pub fn to_peer(&self, peer: &str, about: &str) -> String {
        [&self.prefix, ".peer.", peer, ".", about].concat()
    }
}

/// An operation id as one token: letters, digits, `_` and `-` as they are, every other byte as `=` and two
/// hexadecimal digits.
///
/// # Errors
///
/// When the id is too long for a subject.
pub fn token_of(operation_id: &str) -> Result<String, CallError> {
    let mut token = String::with_capacity(operation_id.len() + 8);
    for byte in operation_id.bytes() {
        if stands_for_itself(byte) {
            token.push(char::from(byte));
        } else {
            token.push('=');
            token.extend(hexadecimal(byte).map(char::from));
        }
    }
    if token.is_empty() {
        // The empty id: `=` alone stands for nothing else.
        token.push('=');
    }
    if token.len() > SUBJECT_TOKEN {
        return Err(CallError::invalid(format!(
            "An operation id of {} bytes is too long for a NATS subject (escaped {}, at most {SUBJECT_TOKEN})",
            operation_id.len(),
            token.len()
        )));
    }
    Ok(token)
}

/// Whether a token is that of an operation. One that is too long belongs to none.
pub(crate) fn is_token_of(token: &str, operation_id: &str) -> bool {
    // Most bytes stand for themselves: those are compared without writing a token.
    let mut rest = token.as_bytes();
    for &byte in operation_id.as_bytes() {
        let is_next = match rest {
            [first, others @ ..] if stands_for_itself(byte) => {
                rest = others;
                *first == byte
            }
            [b'=', high, low, others @ ..] if !stands_for_itself(byte) => {
                rest = others;
                [*high, *low] == hexadecimal(byte)
            }
            _ => false,
        };
        if !is_next {
            return false;
        }
    }
    if operation_id.is_empty() {
        return token == "=";
    }
    rest.is_empty() && token.len() <= SUBJECT_TOKEN
}

const fn stands_for_itself(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

const fn hexadecimal(byte: u8) -> [u8; 2] {
    const fn digit(value: u8) -> u8 {
        if value < 10 {
            b'0' + value
        } else {
            b'A' + value - 10
        }
    }
    [digit(byte >> 4), digit(byte & 0xf)]
}

/// Whether a text from outside may be put into a subject.
#[must_use]
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.bytes().all(stands_for_itself)
}

/// Whether a peer may be called so in subjects: one token, or the name of an inbox and one token.
#[must_use]
pub fn is_peer(text: &str) -> bool {
    match text.split_once('.') {
        Some((inbox, id)) => is_token(inbox) && is_token(id),
        None => is_token(text),
    }
}

/// Which peer a message about an absent peer is about ([`Subjects::gone`]).
#[must_use]
pub fn peer_gone(about: &str) -> Option<String> {
    Some(about.strip_prefix("gone-")?.replace("=2E", "."))
}

/// The error for a name of the user's that cannot be part of a subject.
pub(crate) fn invalid(option: &str, value: &str) -> CallError {
    CallError::invalid(format!(
            "connectNats: {option} must consist of letters, digits, \"_\" and \"-\" (a prefix also of \".\" between them), not {value:?}"
        ),
    )
    .with_details(json!({ "field": option }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_is_one_token_and_no_two_are_the_same() {
        for (id, token) in [
            ("tasks.create", "tasks=2Ecreate"),
            ("a b>*.\t", "a=20b=3E=2A=2E=09"),
            ("=2E", "=3D2E"),
            ("", "="),
            ("ünïcode", "=C3=BCn=C3=AFcode"),
        ] {
            assert_eq!(token_of(id).unwrap(), token);
            for other in [
                "",
                "=",
                "=2E",
                "tasks.create",
                "tasks=2Ecreate",
                "=2Etasks=2Ecreate",
                "=C3=BCn=C3=AFcode",
            ] {
                assert_eq!(is_token_of(other, id), other == token, "{other} {id}");
            }
        }
        assert!(!is_token_of(&"x".repeat(2_000), &"x".repeat(2_000)));
        assert!(token_of(&"x".repeat(2_000)).is_err());
    }

    #[test]
    fn peers_are_checked() {
        for good in ["x", "ada.x"] {
            assert!(is_peer(good), "{good}");
        }
        for bad in ["", ".", "a.", ".x", "a.b.c", "a.*", "a.b c"] {
            assert!(!is_peer(bad), "{bad}");
        }
    }

    #[test]
    fn prefixes_are_checked() {
        assert!(Subjects::new("acme.operations").is_ok());
        for bad in ["", "a..b", "a.*", ">", "a b", ".a"] {
            assert!(Subjects::new(bad).is_err(), "{bad}");
        }
        let subjects = Subjects::new("p").unwrap();
        assert_eq!(subjects.to_peer("x", "y"), "p.peer.x.y");
        assert_eq!(subjects.peer_of("p.peer.x.y"), Some("x"));
        assert_eq!(subjects.peer_of("p.peer.ada.x.y"), Some("ada.x"));
        assert_eq!(subjects.peer_of("p.call.x"), None);
        assert_eq!(subjects.gone("x", "ada.z"), "p.peer.x.gone-ada=2Ez");
        assert_eq!(peer_gone("gone-ada=2Ez").as_deref(), Some("ada.z"));
        assert_eq!(peer_gone("note"), None);
        assert_eq!(subjects.about("p.call.x"), Some(Public::Call("x")));
        assert_eq!(subjects.about("p.who.x"), Some(Public::Who("x")));
        assert_eq!(subjects.about("p.hello"), Some(Public::Hello));
        assert_eq!(subjects.about("p.discover"), Some(Public::Discover));
        for other in ["p.peer.x.y", "q.call.x", "pq.call.x", "p.call"] {
            assert_eq!(subjects.about(other), None, "{other}");
        }
    }
}
