//! The name that was probably meant. `facade/interop/nearest-name.ts` has the same rule; `tests/cases/nearest.json` holds the
//! two together.

use std::collections::BTreeSet;

/// Longer names are not compared: they come from somewhere else than a keyboard.
const MAX_LENGTH: usize = 200;

/// Of some names, the one that is nearest to one that is not among them, if any is near. One letter in four may differ, and
/// three at most; of shorter names one, if it only changes places or is doubled (`gti`, `gitt`).
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters: Vec<char> = wanted.chars().collect();
    if letters.is_empty() || letters.len() > MAX_LENGTH {
        return None;
    }
    let plain = simplified(wanted);
    let mut best = usize::MAX;
    let mut nearest = None;
    for name in names {
        let others: Vec<char> = name.chars().collect();
        let limit = best.min(slips(&letters, &others) + 1);
        let distance = if plain == simplified(name) {
            0
        } else {
            distance_below(limit, &letters, &others)
        };
        if distance < limit {
            best = distance;
            nearest = Some(name);
        }
    }
    nearest
}

/// The same among ids, `namespace.name`: also the only one of this name, where the namespace was forgotten.
#[must_use]
pub fn nearest_id<'n>(wanted: &str, ids: &[&'n str]) -> Option<&'n str> {
    nearest(wanted, ids.iter().copied()).or_else(|| {
        let ends = |id: &&&str| {
            id.strip_suffix(wanted)
                .is_some_and(|rest| rest.ends_with('.'))
        };
        let mut found = ids.iter().filter(ends);
        let only = found.next()?;
        found.next().is_none().then_some(*only)
    })
}

/// How many letters may differ between two names that are meant to be one.
fn slips(wanted: &[char], name: &[char]) -> usize {
    let in_four = (wanted.len().max(name.len()) / 4).min(3);
    let letters = |text: &[char]| -> BTreeSet<char> { text.iter().copied().collect() };
    if in_four == 0 && letters(wanted) == letters(name) {
        1
    } else {
        in_four
    }
}

/// `Demo/greet`, `demo_greet` and `demo.greet` are one word to people.
fn simplified(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in name.to_lowercase().chars() {
        if letter.is_ascii_lowercase() || letter.is_ascii_digit() {
            plain.push(letter);
        } else if !plain.ends_with('.') {
            plain.push('.');
        }
    }
    plain
}

/// How many characters have to be added, removed, replaced or swapped with their neighbour; `limit` if that many.
fn distance_below(limit: usize, from: &[char], to: &[char]) -> usize {
    if from.len().abs_diff(to.len()) >= limit {
        return limit;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous: Option<char> = None;
    for (row_index, one) in from.iter().enumerate() {
        let mut row = vec![row_index + 1];
        let mut left: Option<char> = None;
        for (column, other) in to.iter().enumerate() {
            let at = |list: &[usize], column: usize| list.get(column).copied().unwrap_or(limit);
            let replaced = at(&last, column) + usize::from(one != other);
            let mut cost = (at(&last, column + 1) + 1)
                .min(at(&row, column) + 1)
                .min(replaced);
            if column > 0 && previous == Some(*other) && left == Some(*one) {
                cost = cost.min(at(&before_last, column - 1) + 1);
            }
            row.push(cost);
            left = Some(*other);
        }
        if row.iter().all(|cost| *cost >= limit) {
            return limit;
        }
        previous = Some(*one);
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(limit).min(limit)
}
