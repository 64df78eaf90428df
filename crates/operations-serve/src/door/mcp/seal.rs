//! State that a client carries for us from one request to the next. It is sealed: a client can neither read nor change it,
//! and it is good for the same call, with the same arguments, by the same caller only.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use operations_core::clock;
use operations_core::error::CallError;
use operations_core::json::{Document, Json, Kind};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// How long a client may take to answer, in milliseconds.
const GOOD_FOR: f64 = 3_600_000.0;

/// What is carried.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// Unix milliseconds.
    until: f64,
    answers: Map<String, Value>,
}

/// Seals and opens.
pub(super) struct Seal(LessSafeKey);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

/// Whose state it is, and for what.
pub(super) struct Binding<'a> {
    pub(super) method: &'a str,
    /// The tool, prompt or resource.
    pub(super) target: &'a str,
    /// The id of the operation: a name may be given to another one meanwhile.
    pub(super) operation: String,
    /// What the operation takes, as JSON: an answer about one thing is no answer about another.
    pub(super) input: Option<String>,
    pub(super) caller: &'a str,
}

/// JSON in the one form of all texts that mean the same: members in the order of their names, numbers and strings as
/// `JSON.stringify` writes them. A text that cannot be read stays as it is.
fn canonical(text: &str) -> String {
    let mut canonical = String::with_capacity(text.len());
    match Document::parse(text) {
        Ok(document) => push_canonical(&mut canonical, document.root()),
        Err(_) => canonical.push_str(text),
    }
    canonical
}

fn push_canonical(text: &mut String, value: Json<'_>) {
    match value.kind() {
        Kind::Object(_) => {
            // Of members with the same name the last one counts, as in `JSON.parse`.
            let members: BTreeMap<_, _> = value
                .members()
                .map(|(name, value)| (name.stringify(), value))
                .collect();
            text.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&name);
                text.push(':');
                push_canonical(text, value);
            }
            text.push('}');
        }
        Kind::Array(_) => {
            text.push('[');
            for (at, value) in value.elements().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                push_canonical(text, value);
            }
            text.push(']');
        }
        _ => text.push_str(&value.stringify()),
    }
}

impl Binding<'_> {
    fn bytes(&self) -> Vec<u8> {
        let input = self.input.as_deref().map(canonical).unwrap_or_default();
        [
            self.method,
            self.target,
            &self.operation,
            &input,
            self.caller,
        ]
        .iter()
        .flat_map(|part| {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            [&length.to_le_bytes()[..], part.as_bytes()].concat()
        })
        .collect()
    }
}

impl Seal {
    /// A seal that others who have the same secret can open; without one, it is good for this process only.
    ///
    /// # Errors
    ///
    /// When the system has no random numbers.
    pub(super) fn new(secret: Option<&str>) -> Result<Self, CallError> {
        let mut key = [0; 32];
        match secret {
            Some(secret) => key.copy_from_slice(&Sha256::digest(secret)),
            None => SystemRandom::new()
                .fill(&mut key)
                .map_err(|_| no_random())?,
        }
        let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| no_random())?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// The state as a text. `None` if the system has no random numbers.
    pub(super) fn close(
        &self,
        binding: &Binding<'_>,
        answers: &Map<String, Value>,
    ) -> Option<String> {
        let state = State {
            until: clock::now() + GOOD_FOR,
            answers: answers.clone(),
        };
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = serde_json::to_vec(&state).ok()?;
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(binding.bytes()),
                &mut sealed,
            )
            .ok()?;
        let whole = [&nonce[..], &sealed].concat();
        Some(URL_SAFE_NO_PAD.encode(whole))
    }

    /// The answers in a state; `None` if it is not ours, of another request, or too old.
    pub(super) fn open(&self, binding: &Binding<'_>, text: &str) -> Option<Map<String, Value>> {
        let mut whole = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = whole.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self
            .0
            .open_in_place(nonce, Aad::from(binding.bytes()), sealed)
            .ok()?;
        let state: State = serde_json::from_slice(opened).ok()?;
        (state.until > clock::now()).then_some(state.answers)
    }
}

fn no_random() -> CallError {
    CallError::failed("serve: the system has no random numbers for a key")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use serde_json::json;

    use super::*;

    type Change = fn(&mut Binding<'static>);

    fn binding() -> Binding<'static> {
        Binding {
            method: "tools/call",
            target: "a_b",
            operation: "a.b".to_owned(),
            input: Some(r#"{"file":"x","n":[1,{"a":1,"b":2}]}"#.to_owned()),
            caller: "ada",
        }
    }

    fn answers() -> Map<String, Value> {
        Map::from_iter([("name".to_owned(), json!({ "action": "accept" }))])
    }

    #[test]
    fn only_the_same_call_of_the_same_caller_opens_it() {
        let seal = Seal::new(Some("a secret")).expect("a seal");
        let text = seal.close(&binding(), &answers()).expect("a text");
        assert_eq!(seal.open(&binding(), &text), Some(answers()));
        let others: [Change; 7] = [
            |binding| binding.method = "prompts/get",
            |binding| binding.target = "a_c",
            |binding| binding.caller = "bob",
            |binding| (binding.method, binding.target) = ("tools/calla", "_b"),
            |binding| binding.operation = "a.c".to_owned(),
            |binding| binding.input = None,
            |binding| binding.input = Some(r#"{"file":"y","n":[1,{"a":1,"b":2}]}"#.to_owned()),
        ];
        for change in others {
            let mut other = binding();
            change(&mut other);
            assert_eq!(seal.open(&other, &text), None);
        }
        let mut same = binding();
        same.input = Some(r#"{ "n": [1.0, {"b": 2, "a": 1e0}], "file": "\u0078" }"#.to_owned());
        assert_eq!(seal.open(&same, &text), Some(answers()));
    }

    #[test]
    fn what_was_changed_is_not_opened() {
        let seal = Seal::new(None).expect("a seal");
        let text = seal.close(&binding(), &answers()).expect("a text");
        for odd in ["", "AAAA", &format!("{text}A"), &format!("A{text}"), "*"] {
            assert_eq!(seal.open(&binding(), odd), None, "{odd}");
        }
        let other = Seal::new(None).expect("a seal");
        assert_eq!(other.open(&binding(), &text), None);
        let one = Seal::new(Some("x")).expect("a seal");
        let text = one.close(&binding(), &answers()).expect("a text");
        let same = Seal::new(Some("x")).expect("a seal");
        assert!(same.open(&binding(), &text).is_some());
    }
}
