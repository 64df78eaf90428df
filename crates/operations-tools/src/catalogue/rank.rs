//! How well an operation answers a query: BM25 over weighted fields, where words that mean the same
//! count as one, and a name that says nothing but what was asked for counts more.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::index::{FIELDS, Index, Posting, Weight};
use super::synonyms::{Intent, intent_of, synonyms_of};
use super::words::{each_word, is_filler, stem};

/// What a word is worth in each field, in the order of [`Field`].
const WEIGHTS: [f32; FIELDS] = [3.0, 0.6, 2.5, 1.2, 1.6, 0.6, 0.6, 0.2];
/// How much a field's length counts against its words.
const LENGTHS: [f32; FIELDS] = [0.5, 0.5, 0.5, 0.3, 0.5, 0.7, 0.6, 0.7];
/// Where more of the same word stops to count.
const SATURATION: f32 = 1.4;
/// What other words than those of the query are worth.
const SYNONYM: f32 = 0.55;
const BEGINNING: f32 = 0.6;
const TYPO: f32 = 0.4;
const JOINED: f32 = 0.9;
/// What it is worth if the name says nothing but what was asked for.
const NAME_COVERED: f32 = 0.35;
/// What is left to an operation that does nothing of what was asked for.
const UNCOVERED: f32 = 0.35;
/// What is left to one that changes something when the query asks to read something, or the reverse.
const OTHER_INTENT: f32 = 0.8;
/// Words of one query that are looked for; other words with the same beginning.
const MAX_WORDS: usize = 32;
const MAX_BEGINNINGS: usize = 24;

/// A word of a query: the terms that stand for it, and what each is worth.
struct QueryWord {
    terms: Vec<(u32, f32)>,
    /// How much the word counts.
    rarity: f32,
}

/// Numbers and scores of the operations that answer a query, the best first. `is_query` says of a
/// number whether its operation only reads, `order` which of two that answer equally well comes first.
pub(super) fn rank(
    index: &Index,
    query: &str,
    limit: usize,
    is_query: impl Fn(u32) -> bool,
    order: impl Fn(u32, u32) -> Ordering,
) -> Vec<(u32, f32)> {
    let (query_words, intent) = query_words(index, query);
    if query_words.is_empty() {
        return Vec::new();
    }
    let averages = index.averages();
    let total: f32 = query_words.iter().map(|word| word.rarity).sum();
    let mut scores = vec![0.0_f32; index.numbers()];
    let mut covered = vec![0.0_f32; index.numbers()];
    let mut of_word: Vec<f32> = vec![0.0; index.numbers()];
    let mut touched: Vec<u32> = Vec::new();
    let mut all: Vec<u32> = Vec::new();
    for word in &query_words {
        for (term, worth) in &word.terms {
            let weights = index.weights(*term, |postings| weighed(index, postings, &averages));
            for Weight { number, found } in weights {
                if let Some(best) = of_word.get_mut(*number as usize) {
                    if *best == 0.0 {
                        touched.push(*number);
                    }
                    *best = best.max(worth * found);
                }
            }
        }
        for number in touched.drain(..) {
            let at = number as usize;
            let (Some(best), Some(score), Some(share)) =
                (of_word.get_mut(at), scores.get_mut(at), covered.get_mut(at))
            else {
                continue;
            };
            if *score == 0.0 {
                all.push(number);
            }
            *score += word.rarity * *best;
            *share += word.rarity * (*best * 2.0).min(1.0);
            *best = 0.0;
        }
    }
    let mut likely: Vec<(u32, f32)> = all
        .into_iter()
        .filter_map(|number| {
            let at = number as usize;
            let share = covered.get(at)? / total;
            let score = scores.get(at)? * (UNCOVERED + (1.0 - UNCOVERED) * share);
            Some((number, score))
        })
        .collect();
    keep_likely(&mut likely, limit);
    let worth_of = worths(&query_words);
    let mut ranked: Vec<(u32, f32)> = likely
        .into_iter()
        .filter_map(|(number, score)| {
            let member = index.member(number)?;
            let mut score =
                score * (1.0 + NAME_COVERED * name_covered(index, &member.name, &worth_of));
            let reads = is_query(number);
            if intent.is_some_and(|intent| (intent == Intent::Read) != reads) {
                score *= OTHER_INTENT;
            }
            Some((number, score))
        })
        .collect();
    let order = |one: &(u32, f32), other: &(u32, f32)| {
        let by_score = other.1.total_cmp(&one.1);
        by_score.then_with(|| order(one.0, other.0))
    };
    if limit < ranked.len() {
        ranked.select_nth_unstable_by(limit, order);
        ranked.truncate(limit);
    }
    ranked.sort_unstable_by(order);
    ranked
}

/// Drops those that cannot be among the best, whatever their names say and whether they read or write.
fn keep_likely(likely: &mut Vec<(u32, f32)>, limit: usize) {
    if limit == 0 || limit >= likely.len() {
        return;
    }
    let by_score = |one: &(u32, f32), other: &(u32, f32)| other.1.total_cmp(&one.1);
    let (_, last, _) = likely.select_nth_unstable_by(limit - 1, by_score);
    // At least so many have at least this. A hair less, because numbers are rounded.
    let floor = last.1 * OTHER_INTENT * 0.999;
    likely.retain(|(_, score)| score * (1.0 + NAME_COVERED) >= floor);
}

/// How well each operation that has a term is described by it.
fn weighed(index: &Index, postings: &[Posting], averages: &[f32; FIELDS]) -> Box<[Weight]> {
    let mut weights = Vec::new();
    for same in postings.chunk_by(|one, other| one.number == other.number) {
        let Some(number) = same.first().map(|posting| posting.number) else {
            continue;
        };
        let Some(member) = index.member(number) else {
            continue;
        };
        let mut sum = 0.0;
        for posting in same {
            let field = posting.field as usize;
            let (Some(weight), Some(b), Some(average), Some(length)) = (
                WEIGHTS.get(field),
                LENGTHS.get(field),
                averages.get(field),
                member.lengths.get(field),
            ) else {
                continue;
            };
            let normal = 1.0 - b + b * f32::from(*length) / average;
            sum += weight * f32::from(posting.count) / normal;
        }
        let found = sum / (SATURATION + sum);
        weights.push(Weight { number, found });
    }
    weights.into_boxed_slice()
}

/// What each term of a query is worth, at the best.
fn worths(query_words: &[QueryWord]) -> HashMap<u32, f32> {
    let mut worths: HashMap<u32, f32> = HashMap::new();
    for (term, worth) in query_words.iter().flat_map(|word| &word.terms) {
        let best = worths.entry(*term).or_default();
        *best = best.max(*worth);
    }
    worths
}

/// The share of a name's words that were asked for, by how much they count.
fn name_covered(index: &Index, name: &[u32], worths: &HashMap<u32, f32>) -> f32 {
    let mut found = 0.0;
    let mut total = 0.0;
    for term in name {
        let rarity = rarity(index, *term);
        total += rarity;
        found += rarity * worths.get(term).copied().unwrap_or(0.0);
    }
    if total > 0.0 { found / total } else { 0.0 }
}

/// How much a term counts: the fewer operations have it, the more.
fn rarity(index: &Index, term: u32) -> f32 {
    let having = index
        .terms
        .get(term as usize)
        .map_or(0.0, |term| term.operations as f32);
    let all = index.present() as f32;
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// The words of a query, and what it wants.
fn query_words(index: &Index, query: &str) -> (Vec<QueryWord>, Option<Intent>) {
    let mut words: Vec<String> = Vec::new();
    let mut intent = None;
    each_word(query, |word| {
        if intent.is_none() {
            intent = intent_of(word);
        }
        if words.len() < MAX_WORDS && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    });
    if words.iter().any(|word| !is_filler(word)) {
        words.retain(|word| !is_filler(word));
    }
    let mut found: Vec<QueryWord> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let mut terms = terms_for(index, word);
        // `web hook` is a webhook.
        let beside = [
            at.checked_sub(1)
                .and_then(|before| words.get(before))
                .map(|before| format!("{before}{word}")),
            words.get(at + 1).map(|next| format!("{word}{next}")),
        ];
        for joined in beside.into_iter().flatten() {
            if let Some(term) = index.find(&joined) {
                push(&mut terms, term, JOINED);
            }
        }
        let Some(rarity) = weighted_rarity(index, &terms) else {
            continue;
        };
        found.push(QueryWord { terms, rarity });
    }
    (found, intent)
}

/// How much a word counts: as much as the best that stands for it.
fn weighted_rarity(index: &Index, terms: &[(u32, f32)]) -> Option<f32> {
    let best = terms.iter().map(|(_, worth)| *worth).fold(0.0, f32::max);
    terms
        .iter()
        .filter(|(_, worth)| *worth >= best)
        .map(|(term, _)| rarity(index, *term))
        .reduce(f32::min)
}

/// The terms that stand for a word.
fn terms_for(index: &Index, word: &str) -> Vec<(u32, f32)> {
    let mut terms = Vec::new();
    let exact = index.find(word);
    if let Some(term) = exact {
        terms.push((term, 1.0));
    }
    let stemmed = stem(word);
    for synonym in synonyms_of(word).chain(synonyms_of(&stemmed)) {
        if let Some(term) = index.find(synonym) {
            push(&mut terms, term, SYNONYM);
        }
    }
    if stemmed.chars().count() >= 3 {
        let begun = index.beginning_with(&stemmed);
        for (_, term) in begun
            .filter(|(stem, _)| *stem != stemmed)
            .take(MAX_BEGINNINGS)
        {
            push(
                &mut terms,
                term,
                if exact.is_some() { 0.3 } else { BEGINNING },
            );
        }
    }
    if terms.is_empty() && stemmed.chars().count() >= 4 {
        for term in similar(index, &stemmed) {
            push(&mut terms, term, TYPO);
        }
    }
    terms.retain(|(term, _)| {
        index
            .terms
            .get(*term as usize)
            .is_some_and(|term| term.operations > 0)
    });
    terms
}

fn push(terms: &mut Vec<(u32, f32)>, term: u32, worth: f32) {
    if !terms.iter().any(|(known, _)| *known == term) {
        terms.push((term, worth));
    }
}

/// Terms that differ by one letter, or by two that changed places, from the second letter on.
fn similar(index: &Index, word: &str) -> Vec<u32> {
    let Some(first) = word.chars().next() else {
        return Vec::new();
    };
    let letters: Vec<char> = word.chars().collect();
    let mut start = [0_u8; 4];
    let start: &str = first.encode_utf8(&mut start);
    index
        .beginning_with(start)
        .filter(|(stem, _)| is_similar(&letters, stem))
        .map(|(_, term)| term)
        .take(MAX_BEGINNINGS)
        .collect()
}

fn is_similar(letters: &[char], word: &str) -> bool {
    let given: Vec<char> = word.chars().collect();
    if given.len().abs_diff(letters.len()) > 1 {
        return false;
    }
    let same = letters
        .iter()
        .zip(&given)
        .take_while(|(one, other)| one == other)
        .count();
    let (one, other) = (
        letters.get(same..).unwrap_or(&[]),
        given.get(same..).unwrap_or(&[]),
    );
    let after = |list: &[char], count: usize| list.get(count..).unwrap_or(&[]).to_vec();
    let swapped = one.len() >= 2
        && other.len() >= 2
        && one.first() == other.get(1)
        && one.get(1) == other.first()
        && after(one, 2) == after(other, 2);
    swapped
        || (one.len() == other.len() && after(one, 1) == after(other, 1))
        || after(one, 1) == other
        || one == after(other, 1)
}
