//! What is made of JavaScript's descriptions of its operations, kept until they change. JavaScript describes anew only what has
//! changed (`facade/serve/description-log.ts`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::lock::{reading, writing};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio::time::timeout;
use uuid::Uuid;

use crate::js_bridge::Expect;
use crate::service::Shared;

/// How long JavaScript may take to describe its operations.
const PATIENCE: Duration = Duration::from_secs(60);

/// Something that is made of descriptions.
pub(crate) trait FromDescription: Sized + Send + Sync + 'static {
    /// What is made of one description, whatever the others are.
    type Item: Send + Sync + 'static;

    /// Which descriptions JavaScript is asked for, as JSON.
    const KIND: &'static str;

    /// Reads a description.
    fn item(text: &str) -> Result<Self::Item, serde_json::Error>;

    /// Puts them together. `revision` is how often what is served had changed before.
    fn of(items: &[Arc<Self::Item>], revision: u64) -> Self;

    /// That number.
    fn revision(&self) -> u64;
}

/// The newest that is known.
pub(crate) struct Cached<T: FromDescription> {
    newest: RwLock<Option<Arc<T>>>,
    /// The first that finds it outdated asks JavaScript; the others wait for that.
    known: Mutex<Known<T::Item>>,
    /// How many there were.
    made: AtomicU64,
}

/// What JavaScript has described so far.
struct Known<I> {
    /// As JavaScript counts its answers. With 0, it does not remember what it has described.
    version: u64,
    items: Vec<Arc<I>>,
}

/// An answer: operations, or their positions in the answer before. A list alone has all of them.
#[derive(Deserialize)]
struct Described<'a> {
    version: u64,
    #[serde(borrow)]
    operations: Vec<&'a RawValue>,
}

impl<T: FromDescription> std::fmt::Debug for Cached<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached").finish_non_exhaustive()
    }
}

impl<T: FromDescription> Default for Cached<T> {
    fn default() -> Self {
        Self {
            newest: RwLock::default(),
            known: Mutex::new(Known {
                version: 0,
                items: Vec::new(),
            }),
            made: AtomicU64::new(0),
        }
    }
}

impl<T: FromDescription> Cached<T> {
    /// As it is now.
    pub(crate) async fn current(&self, shared: &Shared) -> Result<Arc<T>, CallError> {
        if let Some(newest) = self.newest(shared) {
            return Ok(newest);
        }
        let mut known = self.known.lock().await;
        if let Some(newest) = self.newest(shared) {
            return Ok(newest);
        }
        // What changes while it is described makes it outdated.
        let revision = shared.calls.revision();
        let id: Arc<str> = Uuid::new_v4().to_string().into();
        let about = "the list of operations";
        let since = match known.version {
            0 => String::new(),
            version => format!(r#","known":{version}"#),
        };
        let request = |_: &str| format!(r#"{{"describe":{}{since}}}"#, T::KIND);
        let answers = shared.js.request(&id, about, Expect::One, None, request)?;
        let text = timeout(PATIENCE, answers.first())
            .await
            .map_err(|_| CallError::new(Code::Timeout, "Listing the operations took too long"))??;
        let before = std::mem::take(&mut known.items);
        // If reading fails, JavaScript describes everything anew.
        known.version = 0;
        let made = tokio::task::spawn_blocking(move || {
            let (version, items) = read::<T>(&text, &before)?;
            let made = Arc::new(T::of(&items, revision));
            Ok::<_, CallError>((Known { version, items }, made))
        });
        let made = made
            .await
            .map_err(|error| CallError::unknown(error.to_string()))?;
        let (now_known, made) = made?;
        *known = now_known;
        self.made.fetch_add(1, Ordering::AcqRel);
        *writing(&self.newest) = Some(Arc::clone(&made));
        Ok(made)
    }

    /// How many there were so far.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// The same, if it is known.
    pub(crate) fn newest(&self, shared: &Shared) -> Option<Arc<T>> {
        let revision = shared.calls.revision();
        let newest = reading(&self.newest);
        newest
            .as_ref()
            .filter(|newest| newest.revision() == revision)
            .map(Arc::clone)
    }
}

/// What is described, shared with the description before.
type Items<T> = Vec<Arc<<T as FromDescription>::Item>>;

/// Reads an answer of JavaScript, with what it described before.
fn read<T: FromDescription>(
    text: &str,
    before: &[Arc<T::Item>],
) -> Result<(u64, Items<T>), CallError> {
    let unreadable = |error: serde_json::Error| {
        CallError::unknown(format!("The list of operations cannot be read: {error}"))
    };
    let described = if text.starts_with('[') {
        serde_json::from_str(text).map(|operations| Described {
            version: 0,
            operations,
        })
    } else {
        serde_json::from_str(text)
    };
    let described = described.map_err(unreadable)?;
    let items = described.operations.into_iter().map(|each| {
        let text = each.get();
        match text.parse::<usize>() {
            Ok(position) => before.get(position).map(Arc::clone).ok_or_else(|| {
                CallError::unknown("The list of operations refers to one that is not known")
            }),
            Err(_) => T::item(text).map(Arc::new).map_err(unreadable),
        }
    });
    let items = items.collect::<Result<_, _>>()?;
    Ok((described.version, items))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests: a failure should stop them")]

    use super::*;

    #[derive(Debug)]
    struct Texts;

    impl FromDescription for Texts {
        type Item = String;
        const KIND: &'static str = "true";

        fn item(text: &str) -> Result<String, serde_json::Error> {
            serde_json::from_str(text)
        }

        fn of(_: &[Arc<String>], _: u64) -> Self {
            Self
        }

        fn revision(&self) -> u64 {
            0
        }
    }

    #[test]
    fn what_was_described_before_is_taken_over_by_its_position() {
        assert_eq!(read::<Texts>(r#"["a"]"#, &[]).unwrap().0, 0);
        let first = r#"{"version":1,"operations":["a","b","c"]}"#;
        let (version, before) = read::<Texts>(first, &[]).unwrap();
        let second = r#"{"version":2,"operations":[2,"d",0]}"#;
        let (next, now) = read::<Texts>(second, &before).unwrap();
        assert_eq!((version, next), (1, 2));
        let texts: Vec<&str> = now.iter().map(|each| each.as_str()).collect();
        assert_eq!(texts, ["c", "d", "a"]);
        assert!(
            before
                .last()
                .is_some_and(|last| Arc::ptr_eq(last, now.first().unwrap()))
        );
        assert!(read::<Texts>(second, &now[..1]).is_err());
        assert!(read::<Texts>(r#"{"version":3,"operations":[{}]}"#, &now).is_err());
    }
}
