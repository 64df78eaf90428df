//! Names that a target takes: of tools, which lead back to their operations, and of properties.

use std::collections::{HashMap, HashSet};

use crate::targets::{PropertyNames, Rules};

/// Characters of the hash that distinguishes two names.
const HASH: usize = 8;

/// A name for each operation id (or for each name that the user chose instead): letters, digits, `_`
/// and `-`, no longer than the target allows, each of its own. A name depends on what is named and on
/// what it would be confused with, never on the order. Ids must differ.
#[must_use]
pub fn tool_names(ids: &[(&str, Option<&str>)], rules: &Rules) -> Vec<String> {
    let plain: Vec<String> = ids
        .iter()
        .map(|(id, chosen)| plain_name(chosen.unwrap_or(id)))
        .collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *uses.entry(name).or_default() += 1;
    }
    let is_free = |name: &str| uses.get(name).is_none_or(|count| *count <= 1);
    let mut taken: HashSet<String> = plain
        .iter()
        .filter(|name| fits(name, rules) && is_free(name))
        .cloned()
        .collect();
    // In the order of the ids, so that even two equal hashes are resolved in the same way each time.
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|index| ids.get(*index).map(|(id, _)| *id));
    let mut names = plain.clone();
    for index in order {
        let (Some((id, _)), Some(name)) = (ids.get(index), names.get_mut(index)) else {
            continue;
        };
        if fits(name, rules) && is_free(name) {
            continue;
        }
        let mut salt = 0;
        loop {
            let candidate = hashed(name, id, salt, rules.tool_name);
            if taken.insert(candidate.clone()) {
                *name = candidate;
                break;
            }
            salt += 1;
        }
    }
    names
}

fn fits(name: &str, rules: &Rules) -> bool {
    name.len() <= rules.tool_name
}

/// The id in the alphabet that all targets share. It starts with a letter or an underscore, as Gemini
/// demands.
fn plain_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len() + 1);
    for character in id.chars() {
        let known = character.is_ascii_alphanumeric() || character == '-' || character == '_';
        name.push(if known { character } else { '_' });
    }
    if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        name.insert(0, '_');
    }
    name
}

fn hashed(name: &str, id: &str, salt: u64, max: usize) -> String {
    let start: String = name.chars().take(max.saturating_sub(HASH + 1)).collect();
    format!("{start}_{}", short_hash(id, salt))
}

/// FNV-1a, 40 bits of it, in base 32.
fn short_hash(text: &str, salt: u64) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325 ^ salt;
    for byte in text.bytes() {
        hash ^= u64::from(byte);
        hash = hash.wrapping_mul(0x0100_0000_01b3);
    }
    // The low bits alone vary little between texts that differ in their last letter.
    hash ^= hash >> 32;
    (0..HASH)
        .filter_map(|place| {
            let digit = (hash >> (place * 5)) & 31;
            LETTERS
                .get(usize::try_from(digit).ok()?)
                .map(|letter| char::from(*letter))
        })
        .collect()
}

/// Names for the properties of one object: what is allowed stays, the others are changed, each into
/// one of its own. Nothing where no name has to change.
pub(crate) fn property_names<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    rule: &PropertyNames,
) -> Option<HashMap<&'n str, String>> {
    if names.clone().all(|name| is_allowed(name, rule)) {
        return None;
    }
    let mut taken: HashSet<String> = names
        .clone()
        .filter(|name| is_allowed(name, rule))
        .map(str::to_owned)
        .collect();
    let mut changed = HashMap::new();
    for name in names.filter(|name| !is_allowed(name, rule)) {
        let base = allowed_form(name, rule);
        let mut candidate = base.clone();
        let mut number = 1;
        while !taken.insert(candidate.clone()) {
            number += 1;
            let tail = format!("_{number}");
            let start: String = base
                .chars()
                .take(rule.max.saturating_sub(tail.len()))
                .collect();
            candidate = start + &tail;
        }
        changed.insert(name, candidate);
    }
    Some(changed)
}

fn is_allowed(name: &str, rule: &PropertyNames) -> bool {
    !name.is_empty()
        && name.len() <= rule.max
        && name.chars().all(|c| is_allowed_character(c, rule))
        && (rule.free_start || name.starts_with(starts_well))
}

fn is_allowed_character(character: char, rule: &PropertyNames) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || rule.more.contains(character)
}

fn starts_well(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_'
}

/// `filter[name]` becomes `filter_name`.
fn allowed_form(name: &str, rule: &PropertyNames) -> String {
    let mut made = String::new();
    for character in name.chars() {
        if is_allowed_character(character, rule) {
            made.push(character);
        } else if !made.is_empty() && !made.ends_with('_') {
            made.push('_');
        }
    }
    let mut made = made.trim_end_matches('_').to_owned();
    if made.is_empty() || (!rule.free_start && !made.starts_with(starts_well)) {
        made.insert(0, '_');
    }
    made.chars().take(rule.max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Target;

    fn names(ids: &[&str]) -> Vec<String> {
        let ids: Vec<(&str, Option<&str>)> = ids.iter().map(|id| (*id, None)).collect();
        tool_names(&ids, Target::OpenAi.rules())
    }

    #[test]
    fn an_id_becomes_a_name() {
        assert_eq!(names(&["files.read"]), ["files_read"]);
        assert_eq!(
            names(&["github.repos/list-tags"]),
            ["github_repos_list-tags"]
        );
        assert_eq!(names(&["7z.pack"]), ["_7z_pack"]);
        assert_eq!(names(&["städte.größe"]), ["st_dte_gr__e"]);
    }

    #[test]
    fn confusable_ids_differ_whatever_the_order() {
        let one = names(&["a.b_c", "a_b.c", "x.y"]);
        let other = names(&["x.y", "a_b.c", "a.b_c"]);
        assert_eq!(one[0], other[2]);
        assert_eq!(one[1], other[1]);
        assert_ne!(one[0], one[1]);
        assert!(one[0].starts_with("a_b_c_") && one[0].len() == "a_b_c_".len() + HASH);
        assert_eq!(one[2], "x_y");
    }

    #[test]
    fn long_ids_are_cut_and_keep_their_hash() {
        let first = format!("github.{}-one", "long-".repeat(20));
        let second = format!("github.{}-two", "long-".repeat(20));
        let made = names(&[&first, &second]);
        assert!(made.iter().all(|name| name.len() == 64));
        assert_ne!(made[0], made[1]);
        assert_eq!(names(&[&first])[0], made[0], "alone or not");
    }

    #[test]
    fn chosen_names_are_made_to_fit() {
        let ids = [
            ("a.b", Some("do it!")),
            ("a.c", Some("do it?")),
            ("a.d", None),
        ];
        let made = tool_names(&ids, Target::Gemini.rules());
        assert!(made[0].starts_with("do_it__") && made[1].starts_with("do_it__"));
        assert_ne!(made[0], made[1]);
        assert_eq!(made[2], "a_d");
    }

    #[test]
    fn properties_get_names_of_their_own() {
        let rule = Target::Anthropic.rules().property_names.unwrap();
        assert!(property_names(["a", "b.c"].into_iter(), &rule).is_none());
        let made = property_names(
            ["filter[name]", "filter_name", "$top", "🦀"].into_iter(),
            &rule,
        )
        .unwrap();
        assert_eq!(made["filter[name]"], "filter_name_2");
        assert_eq!(made["$top"], "top");
        assert_eq!(made["🦀"], "_");
        assert!(!made.contains_key("filter_name"));
        let rule = Target::Gemini.rules().property_names.unwrap();
        let made = property_names(["x-request-id", "2nd"].into_iter(), &rule).unwrap();
        assert_eq!(made["x-request-id"], "x_request_id");
        assert_eq!(made["2nd"], "_2nd");
    }
}
