//! Words that mean the same where operations are concerned. Only what holds for any API is in here.

/// Each line is a group. A word may be in several.
const GROUPS: &[&[&str]] = &[
    // What is done.
    &[
        "create", "add", "make", "new", "insert", "open", "post", "register", "put",
    ],
    &["create", "start", "launch", "initiate"],
    &["create", "write", "store", "save", "upload"],
    &["add", "attach", "link", "give", "grant", "assign"],
    &[
        "delete", "remove", "destroy", "drop", "erase", "revoke", "clear",
    ],
    &[
        "get",
        "read",
        "show",
        "fetch",
        "view",
        "retrieve",
        "see",
        "display",
        "detail",
        "information",
        "content",
    ],
    &["list", "show", "all", "every", "enumerate", "get"],
    &[
        "update", "change", "edit", "modify", "patch", "set", "replace", "alter", "put", "adjust",
        "close",
    ],
    &["search", "find", "look", "query", "discover"],
    &["cancel", "stop", "abort", "terminate", "interrupt", "end"],
    &[
        "run", "start", "trigger", "execute", "exec", "dispatch", "launch", "invoke",
    ],
    &["retry", "rerun", "repeat", "again", "redeliver"],
    &["check", "verify", "test", "whether", "validate"],
    &["download", "export", "archive"],
    &["send", "deliver", "submit", "post"],
    &["subscribe", "watch", "follow", "listen"],
    &["enable", "activate", "allow", "online"],
    &[
        "disable",
        "deactivate",
        "block",
        "forbid",
        "offline",
        "unpublish",
    ],
    &["render", "convert", "turn", "transform"],
    &["undo", "revert", "rollback", "restore", "previous"],
    &["backup", "snapshot", "dump"],
    &["propose", "suggest", "request"],
    &["ask", "request"],
    // Who and what it is about.
    &[
        "user", "person", "people", "account", "somebody", "someone", "anybody", "member",
    ],
    &[
        "member",
        "teammate",
        "colleague",
        "collaborator",
        "participant",
    ],
    &["organization", "org", "company", "workspace"],
    &["team", "group"],
    &["repository", "repo", "project"],
    &["image", "picture", "photo", "png", "jpeg"],
    &["folder", "directory"],
    &["file", "document"],
    &["documentation", "docs", "content", "page"],
    &["message", "comment", "note"],
    &["log", "audit", "trail", "history", "activity"],
    &["config", "configuration", "setting", "preference"],
    &["permission", "access", "right", "authorization", "role"],
    &["auth", "authentication", "login"],
    &["me", "authenticated", "myself", "own", "current", "logged"],
    &["newest", "latest", "recent", "last"],
    &["count", "number", "many"],
    &["limit", "quota", "left"],
    &["id", "identifier"],
    &["price", "cost", "payment", "paid", "billing", "pay"],
    &["mail", "email"],
    &["bug", "issue", "problem", "report"],
    &["env", "environment"],
    &["param", "parameter", "argument"],
    &["db", "database"],
    &["key", "credential", "token"],
];

/// The groups' words for a word, itself not among them.
pub(super) fn synonyms_of(word: &str) -> impl Iterator<Item = &'static str> {
    GROUPS
        .iter()
        .filter(move |group| group.contains(&word))
        .flat_map(|group| group.iter().copied())
}

/// What a question wants to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Intent {
    /// To learn something.
    Read,
    /// To change something.
    Write,
}

/// The intent that a word of a question shows, if it shows one.
pub(super) fn intent_of(word: &str) -> Option<Intent> {
    match word {
        "get" | "read" | "show" | "fetch" | "view" | "list" | "find" | "search" | "see"
        | "which" | "who" | "what" | "how" | "where" | "when" | "whose" | "download" | "check"
        | "count" => Some(Intent::Read),
        "create" | "add" | "make" | "new" | "delete" | "remove" | "update" | "change" | "edit"
        | "set" | "write" | "put" | "rename" | "replace" | "patch" | "upload" | "store"
        | "cancel" | "stop" | "start" | "merge" | "close" | "open" | "invite" | "enable"
        | "disable" | "scale" => Some(Intent::Write),
        _ => None,
    }
}
