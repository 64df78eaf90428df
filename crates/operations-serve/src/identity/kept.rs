//! Answers of the host that may be kept. One holds for every request that agrees with the one it was given for in all that
//! the host has looked at.

use std::sync::Arc;

use http::request::Parts;
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use super::Caller;

/// Ways of looking at requests that are remembered. A host has one or two.
const WAYS: usize = 8;
/// Callers that are remembered for each way; beyond it the oldest are forgotten.
const CALLERS: usize = 10_000;

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    ways: Vec<Way>,
}

#[derive(Debug)]
struct Way {
    /// What was looked at, in order.
    names: Vec<String>,
    /// By the digest of what was found there; until when it holds, in Unix milliseconds.
    callers: IndexMap<[u8; 32], (Arc<Caller>, f64)>,
}

impl Kept {
    /// Who sent a request, if that is known.
    pub(super) fn find(&self, head: &Parts, now: f64) -> Option<Arc<Caller>> {
        self.ways.iter().find_map(|way| {
            let (caller, until) = way.callers.get(&digest(head, &way.names))?;
            (now < *until).then(|| Arc::clone(caller))
        })
    }

    /// Keeps an answer.
    pub(super) fn keep(
        &mut self,
        head: &Parts,
        mut names: Vec<String>,
        caller: &Arc<Caller>,
        now: f64,
        until: f64,
    ) {
        names.sort_unstable();
        names.dedup();
        let key = digest(head, &names);
        let at = self.ways.iter().position(|way| way.names == names);
        let at = at.unwrap_or_else(|| {
            if self.ways.len() >= WAYS {
                self.ways.remove(0);
            }
            self.ways.push(Way {
                names,
                callers: IndexMap::new(),
            });
            self.ways.len() - 1
        });
        let Some(way) = self.ways.get_mut(at) else {
            return;
        };
        way.callers.shift_remove(&key);
        way.callers.insert(key, (Arc::clone(caller), until));
        if way.callers.len() > CALLERS {
            way.callers.retain(|_, (_, until)| now < *until);
            if way.callers.len() > CALLERS {
                way.callers.shift_remove_index(0);
            }
        }
    }
}

/// What a request has under these names. Each part has its length in front, so that no two requests look alike by where
/// one part ends and the next begins.
fn digest(head: &Parts, names: &[String]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    };
    for name in names {
        add(name.as_bytes());
        match name.as_str() {
            ":method" => add(head.method.as_str().as_bytes()),
            ":url" => add(head.uri.to_string().as_bytes()),
            ":headers" => {
                for (name, value) in &head.headers {
                    add(name.as_str().as_bytes());
                    add(value.as_bytes());
                }
            }
            header => {
                let values = head.headers.get_all(header);
                // How many there are, too: a value can look like the name of another header.
                add(&values.iter().count().to_be_bytes());
                for value in values {
                    add(value.as_bytes());
                }
            }
        }
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use http::Request;

    use super::*;

    fn head(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/a?b");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_answer_holds_for_what_it_was_given_for_and_for_its_time() {
        let mut kept = Kept::default();
        let caller = Arc::new(Caller::of(r#"{"id":"ada","scopes":[]}"#).expect("an identity"));
        let first = head("GET", &[("authorization", "a"), ("accept", "x")]);
        kept.keep(
            &first,
            names(&["authorization", ":method"]),
            &caller,
            0.0,
            10.0,
        );
        assert!(kept.find(&first, 9.9).is_some());
        assert!(kept.find(&first, 10.0).is_none());
        let other_accept = head("GET", &[("authorization", "a"), ("accept", "y")]);
        assert!(kept.find(&other_accept, 5.0).is_some());
        for other in [
            head("POST", &[("authorization", "a")]),
            head("GET", &[("authorization", "b")]),
            head("GET", &[("authorization", "a"), ("authorization", "")]),
            head("GET", &[]),
        ] {
            assert!(kept.find(&other, 5.0).is_none(), "{other:?}");
        }
    }

    #[test]
    fn who_looks_at_all_headers_is_asked_again_for_any_other() {
        let mut kept = Kept::default();
        let first = head("GET", &[("a", "1")]);
        kept.keep(&first, names(&[":headers"]), &Arc::default(), 0.0, 10.0);
        assert!(kept.find(&first, 1.0).is_some());
        assert!(
            kept.find(&head("GET", &[("a", "1"), ("b", "")]), 1.0)
                .is_none()
        );
        assert!(kept.find(&head("GET", &[("a1", "")]), 1.0).is_none());
    }

    #[test]
    fn a_value_is_not_taken_for_the_name_of_another_header() {
        let mut kept = Kept::default();
        let admin = head("GET", &[("x-b", "x-b")]);
        let by = names(&["x-a", "x-b"]);
        kept.keep(&admin, by, &Arc::default(), 0.0, 10.0);
        assert!(kept.find(&admin, 1.0).is_some());
        let forged = head("GET", &[("x-a", "x-b")]);
        assert!(kept.find(&forged, 1.0).is_none());
    }

    #[test]
    fn not_everything_is_kept() {
        let mut kept = Kept::default();
        let by = names(&["a"]);
        for number in 0..=CALLERS {
            let head = head("GET", &[("a", &number.to_string())]);
            kept.keep(&head, by.clone(), &Arc::default(), 0.0, 10.0);
        }
        assert!(kept.find(&head("GET", &[("a", "0")]), 1.0).is_none());
        assert!(kept.find(&head("GET", &[("a", "1")]), 1.0).is_some());
        for number in 0..WAYS {
            let by = vec![format!("x{number}")];
            kept.keep(&head("GET", &[]), by, &Arc::default(), 0.0, 10.0);
        }
        assert_eq!(kept.ways.len(), WAYS);
        assert!(
            kept.find(&head("GET", &[("a", "1")]), 1.0).is_some(),
            "it has none of them"
        );
    }
}
