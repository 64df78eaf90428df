//! What is known of older clients between their requests. Most is in the name of the session itself; what a client says later
//! (which log lines it wants, which resources it watches, that it is gone) is kept for as many as there is room for.

use std::collections::HashSet;
use std::sync::Mutex;

use indexmap::IndexMap;
use operations_core::lock::locked;
use uuid::Uuid;

use super::client::Abilities;
use super::level::Level;

/// Sessions of which something is kept. Beyond it the oldest are forgotten.
const MOST_SESSIONS: usize = 10_000;
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

#[derive(Debug, Default)]
struct Session {
    level: Option<Level>,
    watched: HashSet<String>,
    is_over: bool,
}

/// The sessions of which something is kept. Each belongs to a caller, so that nobody speaks for another.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<IndexMap<(String, String), Session>>);

impl Sessions {
    fn change<T>(&self, session: &str, caller: &str, change: impl FnOnce(&mut Session) -> T) -> T {
        let mut all = locked(&self.0);
        let key = (session.to_owned(), caller.to_owned());
        if all.len() >= MOST_SESSIONS && !all.contains_key(&key) {
            all.shift_remove_index(0);
        }
        change(all.entry(key).or_default())
    }

    fn look<T>(&self, session: &str, caller: &str, look: impl FnOnce(&Session) -> T) -> Option<T> {
        let all = locked(&self.0);
        if all.is_empty() {
            return None;
        }
        all.get(&(session.to_owned(), caller.to_owned())).map(look)
    }

    pub(super) fn set_level(&self, session: &str, caller: &str, level: Level) {
        self.change(session, caller, |known| known.level = Some(level));
    }

    pub(super) fn level(&self, session: &str, caller: &str) -> Option<Level> {
        self.look(session, caller, |known| known.level)?
    }

    /// Says whether there was room.
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
        self.change(session, caller, |known| known.watched.remove(uri));
    }

    pub(super) fn watched(&self, session: &str, caller: &str) -> HashSet<String> {
        self.look(session, caller, |known| known.watched.clone())
            .unwrap_or_default()
    }

    /// The client says goodbye.
    pub(super) fn end(&self, session: &str, caller: &str) {
        self.change(session, caller, |known| {
            *known = Session {
                is_over: true,
                ..Session::default()
            };
        });
    }

    pub(super) fn is_over(&self, session: &str, caller: &str) -> bool {
        self.look(session, caller, |known| known.is_over)
            .unwrap_or_default()
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
}
