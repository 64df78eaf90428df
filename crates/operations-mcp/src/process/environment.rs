//! The environment of a child: not the host's, which holds secrets of all kinds, but what a program
//! needs to run at all, and what the user names.

use std::collections::BTreeMap;

/// What a program needs in order to find its files, its user and its terminal.
#[cfg(not(windows))]
const SAFE: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// Without some of these a Windows program cannot even open a socket.
#[cfg(windows)]
const SAFE: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// The host's environment, or the safe part of it, with the user's entries on top.
pub(crate) fn for_child(
    host: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
    inherit_all: bool,
) -> BTreeMap<String, String> {
    let mut env: BTreeMap<String, String> = host
        .into_iter()
        .filter(|(name, value)| inherit_all || (is_safe(name) && !is_function(value)))
        .collect();
    for (name, value) in own {
        // Windows has one variable for all spellings of a name.
        if cfg!(windows) {
            env.retain(|known, _| !known.eq_ignore_ascii_case(&name));
        }
        env.insert(name, value);
    }
    env
}

fn is_safe(name: &str) -> bool {
    SAFE.iter().any(|safe| {
        if cfg!(windows) {
            safe.eq_ignore_ascii_case(name)
        } else {
            *safe == name
        }
    })
}

/// Shells export functions as variables: code that a child's own shell would run.
fn is_function(value: &str) -> bool {
    value.starts_with("()")
}

#[cfg(all(test, not(windows)))]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn only_the_safe_part_is_inherited() {
        let host = map(&[
            ("PATH", "/bin"),
            ("AWS_SECRET", "x"),
            ("SHELL", "() { :; }"),
        ]);
        let own = map(&[("TOKEN", "t")]);
        assert_eq!(
            for_child(host, own, false),
            map(&[("PATH", "/bin"), ("TOKEN", "t")])
        );
    }

    #[test]
    fn all_of_it_is_inherited_when_asked_for() {
        let host = map(&[("PATH", "/bin"), ("AWS_SECRET", "x")]);
        let own = map(&[("PATH", "/mine")]);
        assert_eq!(
            for_child(host, own, true),
            map(&[("PATH", "/mine"), ("AWS_SECRET", "x")])
        );
    }
}
