//! A path of a document and what stands below it.

use super::document::{At, Document};
use super::pointer;
use super::report::{Problem, Reason};
use operations_http::message::headers::is_token;

/// A path item. One that refers to another may still say things itself, which then count.
pub(super) struct PathItem<'d> {
    pub(super) path: &'d str,
    /// Where it stands in the document's `paths`.
    pub(super) pointer: String,
    own: At<'d>,
    shared: Option<At<'d>>,
}

impl<'d> PathItem<'d> {
    pub(super) fn read(document: &'d Document, path: &'d str, at: At<'d>) -> Result<Self, Problem> {
        if !at.value.is_object() {
            return Err(Problem::new(
                Reason::Malformed,
                &at.pointer,
                "the path item is not an object",
            ));
        }
        let shared = match at.string("$ref") {
            None => None,
            Some(_) => match document.follow(at.clone()) {
                Ok(target) if target.value.is_object() => Some(target),
                Ok(_) => {
                    return Err(Problem::new(
                        Reason::Reference,
                        &at.pointer,
                        "the reference does not lead to a path item",
                    ));
                }
                Err(reason) => return Err(Problem::new(Reason::Reference, &at.pointer, reason)),
            },
        };
        Ok(Self {
            path,
            pointer: at.pointer.clone(),
            own: at,
            shared,
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<At<'d>> {
        self.own.get(key).or_else(|| self.shared.as_ref()?.get(key))
    }

    /// The operations by the key that they have, in the document's order.
    pub(super) fn operations(&self) -> Vec<Keyed<'d>> {
        let mut found: Vec<Keyed<'d>> = Vec::new();
        for holder in [Some(&self.own), self.shared.as_ref()]
            .into_iter()
            .flatten()
        {
            for (key, at) in holder.entries() {
                let method = key.to_ascii_uppercase();
                if is_known(key) && !found.iter().any(|known| known.method == method) {
                    let pointer = pointer::join(&self.pointer, key);
                    found.push(Keyed {
                        method,
                        pointer,
                        is_additional: false,
                        at,
                    });
                }
            }
        }
        // OpenAPI 3.2's operations with methods of their own.
        let additional = self.get("additionalOperations");
        for (key, at) in additional
            .iter()
            .flat_map(At::entries)
            .take(MAX_ADDITIONAL_OPERATIONS)
        {
            found.push(Keyed {
                method: key.to_owned(),
                pointer: at.pointer.clone(),
                is_additional: true,
                at,
            });
        }
        found
    }

    /// Those that have one of the methods, without what is wrong with the others.
    pub(super) fn wanted(&self, methods: &[String]) -> impl Iterator<Item = (String, At<'d>)> {
        self.operations()
            .into_iter()
            .filter(|keyed| keyed.misuse().is_none() && keyed.is_one_of(methods))
            .map(|keyed| (keyed.method, keyed.at))
    }
}

/// Operations with methods of their own that one path may have.
const MAX_ADDITIONAL_OPERATIONS: usize = 64;

/// An operation and the method it stands under.
pub(super) struct Keyed<'d> {
    /// In upper case if it is one of HTTP's own, else as the document writes it.
    pub(super) method: String,
    /// Where it stands in the document's own `paths`.
    pub(super) pointer: String,
    is_additional: bool,
    pub(super) at: At<'d>,
}

impl Keyed<'_> {
    pub(super) fn is_one_of(&self, methods: &[String]) -> bool {
        methods.iter().any(|one| {
            if is_known(&self.method) {
                one.eq_ignore_ascii_case(&self.method)
            } else {
                *one == self.method
            }
        })
    }

    /// What is wrong with the method, if anything is.
    pub(super) fn misuse(&self) -> Option<&'static str> {
        if self.is_additional && is_known(&self.method) {
            return Some("\"additionalOperations\" is not the place for this method");
        }
        (!is_token(&self.method)).then_some("this is not a method that HTTP can carry")
    }
}

/// The methods that have a key of their own in a path item.
const KNOWN_METHODS: [&str; 9] = [
    "get", "post", "put", "patch", "delete", "head", "options", "trace", "query",
];

fn is_known(key: &str) -> bool {
    KNOWN_METHODS
        .iter()
        .any(|method| method.eq_ignore_ascii_case(key))
}
