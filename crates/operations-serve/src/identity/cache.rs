//! Identities that JavaScript allows to be cached. One holds for every request that agrees with the one it was given for in all that
//! JavaScript has looked at.

use std::sync::Arc;

use http::request::Parts;
use indexmap::IndexMap;
use sha2::{Digest, Sha256};

use super::Caller;

/// Sets of inspected headers that are remembered. A program has one or two.
const LOOKUPS: usize = 8;
/// Callers that are remembered for each way; beyond it the oldest are forgotten.
const CALLERS: usize = 10_000;

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct IdentityCache {
    lookups: Vec<Lookup>,
}

#[derive(Debug)]
struct Lookup {
    /// What was looked at, in order.
    names: Vec<String>,
    /// By the digest of what was found there.
    callers: Callers,
}

/// Callers by a digest; until when each is known, in Unix milliseconds.
#[derive(Debug, Default)]
pub(super) struct Callers(IndexMap<[u8; 32], (Arc<Caller>, f64)>);

impl Callers {
    pub(super) fn find(&self, key: &[u8; 32], now: f64) -> Option<Arc<Caller>> {
        let (caller, until) = self.0.get(key)?;
        (now < *until).then(|| Arc::clone(caller))
    }

    pub(super) fn keep(&mut self, key: [u8; 32], caller: &Arc<Caller>, now: f64, until: f64) {
        self.0.shift_remove(&key);
        self.0.insert(key, (Arc::clone(caller), until));
        if self.0.len() > CALLERS {
            self.0.retain(|_, (_, until)| now < *until);
            if self.0.len() > CALLERS {
                self.0.shift_remove_index(0);
            }
        }
    }
}

impl IdentityCache {
    /// Who sent a request, if that is known.
    pub(super) fn find(&self, head: &Parts, now: f64) -> Option<Arc<Caller>> {
        self.lookups.iter().find_map(|lookup| {
            let key = digest(head, &lookup.names);
            lookup.callers.find(&key, now)
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
        let at = self.lookups.iter().position(|lookup| lookup.names == names);
        let at = at.unwrap_or_else(|| {
            if self.lookups.len() >= LOOKUPS {
                self.lookups.remove(0);
            }
            self.lookups.push(Lookup {
                names,
                callers: Callers::default(),
            });
            self.lookups.len() - 1
        });
        if let Some(lookup) = self.lookups.get_mut(at) {
            lookup.callers.keep(key, caller, now, until);
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
        let mut cache = IdentityCache::default();
        let caller = Arc::new(Caller::of(r#"{"id":"ada","scopes":[]}"#).expect("an identity"));
        let first = head("GET", &[("authorization", "a"), ("accept", "x")]);
        cache.keep(
            &first,
            names(&["authorization", ":method"]),
            &caller,
            0.0,
            10.0,
        );
        assert!(cache.find(&first, 9.9).is_some());
        assert!(cache.find(&first, 10.0).is_none());
        let other_accept = head("GET", &[("authorization", "a"), ("accept", "y")]);
        assert!(cache.find(&other_accept, 5.0).is_some());
        for other in [
            head("POST", &[("authorization", "a")]),
            head("GET", &[("authorization", "b")]),
            head("GET", &[("authorization", "a"), ("authorization", "")]),
            head("GET", &[]),
        ] {
            assert!(cache.find(&other, 5.0).is_none(), "{other:?}");
        }
    }

    #[test]
    fn who_looks_at_all_headers_is_asked_again_for_any_other() {
        let mut cache = IdentityCache::default();
        let first = head("GET", &[("a", "1")]);
        cache.keep(&first, names(&[":headers"]), &Arc::default(), 0.0, 10.0);
        assert!(cache.find(&first, 1.0).is_some());
        assert!(
            cache
                .find(&head("GET", &[("a", "1"), ("b", "")]), 1.0)
                .is_none()
        );
        assert!(cache.find(&head("GET", &[("a1", "")]), 1.0).is_none());
    }

    #[test]
    fn a_value_is_not_taken_for_the_name_of_another_header() {
        let mut cache = IdentityCache::default();
        let admin = head("GET", &[("x-b", "x-b")]);
        let by = names(&["x-a", "x-b"]);
        cache.keep(&admin, by, &Arc::default(), 0.0, 10.0);
        assert!(cache.find(&admin, 1.0).is_some());
        let forged = head("GET", &[("x-a", "x-b")]);
        assert!(cache.find(&forged, 1.0).is_none());
    }

    #[test]
    fn not_everything_is_kept() {
        let mut cache = IdentityCache::default();
        let by = names(&["a"]);
        for number in 0..=CALLERS {
            let head = head("GET", &[("a", &number.to_string())]);
            cache.keep(&head, by.clone(), &Arc::default(), 0.0, 10.0);
        }
        assert!(cache.find(&head("GET", &[("a", "0")]), 1.0).is_none());
        assert!(cache.find(&head("GET", &[("a", "1")]), 1.0).is_some());
        for number in 0..LOOKUPS {
            let by = vec![format!("x{number}")];
            cache.keep(&head("GET", &[]), by, &Arc::default(), 0.0, 10.0);
        }
        assert_eq!(cache.lookups.len(), LOOKUPS);
        assert!(
            cache.find(&head("GET", &[("a", "1")]), 1.0).is_some(),
            "it has none of them"
        );
    }
}
