//! Words as they are compared: parts of names, lower case, without endings.

/// The longest word that is kept; the rest of a longer one says nothing more.
const MAX_WORD: usize = 40;

/// The parts of a text: `listPullRequests` and `list_pull_requests` have three. They are in lower case.
/// Where a name has several parts, each pair that follows one another comes joined as well, because
/// people write `configmap` for `ConfigMap`.
pub(super) fn each_word(text: &str, mut take: impl FnMut(&str)) {
    // Kept from word to word, because there are millions of them.
    let mut parts = Parts::default();
    if !text.is_ascii() {
        for name in text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'') {
            parts.each(before_apostrophe(name), &mut take);
        }
        return;
    }
    for name in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '\'') {
        let name = before_apostrophe(name);
        if is_plain(name) {
            take(name);
        } else {
            parts.each(name, &mut take);
        }
    }
}

/// `user's` is about a user.
fn before_apostrophe(name: &str) -> &str {
    name.split('\'').next().unwrap_or_default()
}

/// Whether a name is a word as it stands. Most are.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=MAX_WORD).contains(&name.len()) && name.bytes().all(is_plain)
}

/// The words of names, one after the other.
#[derive(Default)]
struct Parts {
    word: String,
    joined: String,
}

impl Parts {
    fn each(&mut self, name: &str, take: &mut impl FnMut(&str)) {
        let Self { word, joined } = self;
        joined.clear();
        let mut rest = name;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_end(rest));
            rest = after;
            word.clear();
            word.extend(part.chars().flat_map(char::to_lowercase).take(MAX_WORD));
            take(word);
            if !joined.is_empty() {
                joined.push_str(word);
                take(joined);
            }
            joined.clone_from(word);
        }
    }
}

/// Where the first part of a name ends: before a capital that follows a small letter or a digit, and
/// before the last capital of several if a small letter follows (`HTTPServer`).
fn part_end(name: &str) -> usize {
    let mut letters = name.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, letter)) = letters.next() {
        if let Some(previous) = before
            && letter.is_uppercase()
        {
            let is_start = letters.peek().is_some_and(|(_, next)| next.is_lowercase());
            if !previous.is_uppercase() || is_start {
                return at;
            }
        }
        before = Some(letter);
    }
    name.len()
}

/// A word without its endings, so that `merged`, `merging` and `merges` are one word. A few rules for
/// English; what they do not know stays as it is, on both sides.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = without_plural(word);
    for ending in ["ing", "ed"] {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= 3
            && has_vowel(rest)
        {
            stem = undoubled(rest).to_owned();
            break;
        }
    }
    for (ending, min) in ENDINGS {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.len() >= *min
        {
            stem = undoubled(rest).to_owned();
            break;
        }
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    if stem.len() > 2 && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

/// Endings, and how many letters must be left without them.
const ENDINGS: &[(&str, usize)] = &[
    ("ization", 4),
    ("ation", 4),
    ("ment", 4),
    ("ion", 4),
    ("ator", 5),
    ("or", 5),
    ("ee", 4),
    ("er", 4),
    ("ate", 5),
];

fn without_plural(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies")
        && rest.len() > 2
    {
        return format!("{rest}y");
    }
    for ending in ["sses", "shes", "ches", "xes"] {
        if word.ends_with(ending) {
            return word.trim_end_matches("es").to_owned();
        }
    }
    let is_plural =
        word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    word.get(..word.len() - usize::from(is_plural))
        .unwrap_or(word)
        .to_owned()
}

/// `runn` is `run`.
fn undoubled(stem: &str) -> &str {
    let mut ends = stem.bytes().rev();
    match (ends.next(), ends.next()) {
        (Some(last), Some(before)) if last == before && !b"lsz".contains(&last) => {
            stem.get(..stem.len() - 1).unwrap_or(stem)
        }
        _ => stem,
    }
}

fn has_vowel(text: &str) -> bool {
    text.bytes().any(|byte| b"aeiouy".contains(&byte))
}

/// Words of a question that say nothing about what is wanted.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.binary_search(&word).is_ok()
}

/// In the order of the alphabet.
const FILLERS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could",
    "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "let", "like", "may", "me", "my", "need", "no", "not", "of",
    "on", "or", "our", "please", "she", "should", "so", "some", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "to", "us", "want", "was", "we",
    "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_word(text, |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn names_have_parts() {
        assert_eq!(words("list_pull-requests"), ["list", "pull", "requests"]);
        assert_eq!(
            words("getHTTPServer"),
            ["get", "http", "gethttp", "server", "httpserver"]
        );
        assert_eq!(
            words("createCoreV1Pod"),
            [
                "create",
                "core",
                "createcore",
                "v1",
                "corev1",
                "pod",
                "v1pod"
            ]
        );
        assert_eq!(words("the user's Größe"), ["the", "user", "größe"]);
        assert_eq!(words("--- ''"), [] as [&str; 0]);
    }

    #[test]
    fn endings_do_not_matter() {
        for group in [
            &["merge", "merged", "merging", "merges"][..],
            &["create", "created", "creating", "creation", "creates"],
            &["repository", "repositories"],
            &["delete", "deletion", "deleted"],
            &["run", "runs", "running"],
            &["review", "reviewer", "reviewers"],
            &["assign", "assignee", "assigned"],
            &["branch", "branches"],
            &["deploy", "deployment", "deployments"],
        ] {
            let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
            assert!(
                stems.iter().all(|each| *each == stems[0]),
                "{group:?} {stems:?}"
            );
        }
    }

    #[test]
    fn other_words_stay_apart() {
        for (one, other) in [
            ("status", "state"),
            ("user", "use"),
            ("comment", "commit"),
            ("access", "accept"),
        ] {
            assert_ne!(stem(one), stem(other));
        }
    }

    #[test]
    fn fillers_are_in_order() {
        assert!(FILLERS.is_sorted());
        assert!(is_filler("the") && !is_filler("list"));
    }
}
