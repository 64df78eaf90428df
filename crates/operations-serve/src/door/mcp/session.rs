//! What is known of older clients between their requests. Most is in the name of the session itself; what a client says later
//! (which log lines it wants, which resources it watches, that it is gone) is kept for as many as there is room for.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use indexmap::{IndexMap, IndexSet};
use operations_core::lock::locked;
use uuid::Uuid;

use super::client::Abilities;
use super::logging::Level;

/// Sessions of which something is kept. Beyond it the oldest are forgotten.
const MOST_SESSIONS: usize = 10_000;
/// The longest name, in bytes. Ours have 37 at most.
const LONGEST_NAME: usize = 128;
/// Resources that one client watches.
const MOST_WATCHED: usize = 1_000;

/// The name of a new session.
pub(super) fn name(abilities: Abilities) -> String {
    format!("{}.{}", Uuid::new_v4().simple(), abilities.letters())
}

/// What the client of a session can do.
pub(super) fn abilities(session: &str) -> Abilities {
    let letters = session.split_once('.').map(|(_, letters)| letters);
    Abilities::of_letters(letters.unwrap_or_default())
}

/// Whether no session has such a name: what strangers make up is not kept.
pub(super) fn is_too_long(session: &str) -> bool {
    session.len() > LONGEST_NAME
}

#[derive(Debug, Default)]
struct Session {
    level: Option<Level>,
    watched: HashSet<String>,
}

#[derive(Debug, Default)]
struct Known {
    /// By caller and name. Each belongs to a caller, so that no caller can use another's.
    open: HashMap<String, IndexMap<String, Session>>,
    /// How many of them there are.
    count: usize,
    /// Those that have ended, apart from the others: a client that ends many sessions pushes out no open one.
    over: IndexSet<(String, String)>,
}

impl Known {
    /// Makes room for a session of a caller: those who have the most lose their oldest.
    fn make_room(&mut self) {
        if self.count < MOST_SESSIONS {
            return;
        }
        let most = self.open.iter_mut().max_by_key(|(_, own)| own.len());
        let emptied = most.and_then(|(caller, own)| {
            own.shift_remove_index(0);
            own.is_empty().then(|| caller.clone())
        });
        if let Some(caller) = emptied {
            self.open.remove(&caller);
        }
        self.count -= 1;
    }
}

/// The sessions of which something is kept.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<Known>);

impl Sessions {
    fn change<T>(&self, session: &str, caller: &str, change: impl FnOnce(&mut Session) -> T) -> T {
        let mut known = locked(&self.0);
        let is_known = known
            .open
            .get(caller)
            .is_some_and(|own| own.contains_key(session));
        if !is_known {
            known.make_room();
            known.count += 1;
        }
        let own = known.open.entry(caller.to_owned()).or_default();
        change(own.entry(session.to_owned()).or_default())
    }

    fn read<T>(&self, session: &str, caller: &str, read: impl FnOnce(&Session) -> T) -> Option<T> {
        let known = locked(&self.0);
        known.open.get(caller)?.get(session).map(read)
    }

    pub(super) fn set_level(&self, session: &str, caller: &str, level: Level) {
        self.change(session, caller, |known| known.level = Some(level));
    }

    pub(super) fn level(&self, session: &str, caller: &str) -> Option<Level> {
        self.read(session, caller, |known| known.level)?
    }

    /// Returns whether there was room.
    pub(super) fn watch(&self, session: &str, caller: &str, uri: &str) -> bool {
        self.change(session, caller, |known| {
            let has_room = known.watched.len() < MOST_WATCHED;
            if has_room {
                known.watched.insert(uri.to_owned());
            }
            has_room
        })
    }

    pub(super) fn unwatch(&self, session: &str, caller: &str, uri: &str) {
        let mut known = locked(&self.0);
        let session = known
            .open
            .get_mut(caller)
            .and_then(|own| own.get_mut(session));
        if let Some(session) = session {
            session.watched.remove(uri);
        }
    }

    pub(super) fn watched(&self, session: &str, caller: &str) -> HashSet<String> {
        self.read(session, caller, |known| known.watched.clone())
            .unwrap_or_default()
    }

    /// The client ends its session.
    pub(super) fn end(&self, session: &str, caller: &str) {
        let mut known = locked(&self.0);
        let known = &mut *known;
        if let Some(own) = known.open.get_mut(caller) {
            known.count -= usize::from(own.shift_remove(session).is_some());
            if own.is_empty() {
                known.open.remove(caller);
            }
        }
        known.over.insert((session.to_owned(), caller.to_owned()));
        if known.over.len() > MOST_SESSIONS {
            known.over.shift_remove_index(0);
        }
    }

    pub(super) fn is_over(&self, session: &str, caller: &str) -> bool {
        let known = locked(&self.0);
        !known.over.is_empty()
            && known
                .over
                .contains(&(session.to_owned(), caller.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_client_can_do() {
        let able = Abilities::of_letters("er");
        assert_eq!(abilities(&name(able)), able);
        assert_eq!(abilities("anything"), Abilities::default());
    }

    #[test]
    fn sessions_are_kept_apart_by_caller() {
        let sessions = Sessions::default();
        sessions.set_level("s", "ada", Level::Debug);
        assert_eq!(sessions.level("s", "ada"), Some(Level::Debug));
        assert_eq!(sessions.level("s", "bob"), None);
        assert!(sessions.watch("s", "ada", "a://b"));
        assert!(sessions.watched("s", "ada").contains("a://b"));
        sessions.unwatch("s", "ada", "a://b");
        assert!(sessions.watched("s", "ada").is_empty());
        sessions.end("s", "ada");
        assert!(sessions.is_over("s", "ada") && !sessions.is_over("s", "bob"));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let sessions = Sessions::default();
        for number in 0..=MOST_SESSIONS {
            sessions.end(&number.to_string(), "");
        }
        assert!(!sessions.is_over("0", ""));
        assert!(sessions.is_over("1", ""));
        assert!(sessions.is_over(&MOST_SESSIONS.to_string(), ""));
    }

    #[test]
    fn anonymous_callers_push_out_each_other_only() {
        let sessions = Sessions::default();
        sessions.set_level("s", "ada", Level::Debug);
        sessions.set_level("first", "", Level::Debug);
        for number in 0..MOST_SESSIONS {
            sessions.end(&format!("over {number}"), "");
        }
        assert_eq!(sessions.level("first", ""), Some(Level::Debug));
        for number in 0..=MOST_SESSIONS {
            sessions.set_level(&format!("open {number}"), "", Level::Info);
        }
        assert_eq!(sessions.level("first", ""), None);
        assert_eq!(sessions.level("s", "ada"), Some(Level::Debug));
        let known = locked(&sessions.0);
        let kept: usize = known.open.values().map(IndexMap::len).sum();
        assert_eq!((known.count, kept), (MOST_SESSIONS, MOST_SESSIONS));
    }

    #[test]
    fn a_session_that_is_over_leaves_nothing_behind() {
        let sessions = Sessions::default();
        sessions.set_level("s", "ada", Level::Debug);
        sessions.end("s", "ada");
        let known = locked(&sessions.0);
        assert_eq!((known.count, known.open.len()), (0, 0));
    }
}
