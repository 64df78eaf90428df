//! Which word is where: an inverted index that operations join and leave one by one.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::words::{each_word, stem};

/// Where a word was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Name,
    Namespace,
    Title,
    Tags,
    /// The first sentence of the description.
    Summary,
    Description,
    Parameters,
    ParameterDescriptions,
}

/// How many fields there are.
pub(super) const FIELDS: usize = 8;

const ALL_FIELDS: [Field; FIELDS] = [
    Field::Name,
    Field::Namespace,
    Field::Title,
    Field::Tags,
    Field::Summary,
    Field::Description,
    Field::Parameters,
    Field::ParameterDescriptions,
];

/// A word in one field of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    pub(super) number: u32,
    pub(super) field: Field,
    pub(super) count: u8,
}

/// A word without its endings.
#[derive(Debug, Default)]
pub(super) struct Term {
    pub(super) postings: Vec<Posting>,
    /// In how many operations it is, not counting those that left.
    pub(super) operations: u32,
    /// How often it is in each field of the operation that is being taken in.
    counts: [u8; FIELDS],
    /// What the postings come to, once there was a search: the search reads thousands of them.
    weights: OnceCell<Box<[Weight]>>,
}

/// How well an operation is described by a term, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub(super) number: u32,
    pub(super) found: f32,
}

/// What the index knows of an operation.
#[derive(Debug)]
pub(super) struct Member {
    /// Words in each field.
    pub(super) lengths: [u16; FIELDS],
    terms: Vec<u32>,
    /// The words of the name, for comparing it as a whole.
    pub(super) name: Vec<u32>,
}

/// What was found in an operation so far.
#[derive(Default)]
struct Taken {
    lengths: [u16; FIELDS],
    terms: Vec<u32>,
    name: Vec<u32>,
}

/// The index. Operations have numbers, which are used again once nothing is noted under them any more.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Words as they were written, to the number of their stem.
    known: Words,
    stems: Words,
    repeated: Repeated,
    pub(super) terms: Vec<Term>,
    /// All stems in the order of the alphabet, made for the first search by prefix.
    sorted: Vec<(Box<str>, u32)>,
    members: Vec<Option<Member>>,
    /// Numbers of operations that left and of which something is noted still, and numbers that are free.
    left: Vec<u32>,
    free: Vec<u32>,
    /// Words in each field, over all operations.
    totals: [u64; FIELDS],
    present: u32,
    /// Whether any term has them.
    has_weights: Cell<bool>,
}

/// Numbers by words. Looked up for every word of every description, so the hashes are quick ones.
type Words = HashMap<Box<str>, u32, RandomState>;

/// What was said before in the same words: `owner` means the same in a thousand operations.
#[derive(Debug, Default)]
struct Repeated {
    texts: HashMap<Box<str>, Range<usize>, RandomState>,
    /// The terms of all texts, one text after the other.
    terms: Vec<u32>,
}

/// Texts that are kept, in the hope that they come again, until the first search.
const MAX_REPEATED: usize = 10_000;

/// Operations that left before anything is done about it.
const MAX_LEFT: usize = 256;
/// How often a word may count in one field.
const MAX_COUNT: u8 = 8;

impl Index {
    /// Takes an operation in, and gives its number.
    pub(super) fn add(&mut self, fields: &[(Field, &str)]) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.members.push(None);
            u32::try_from(self.members.len() - 1).unwrap_or(u32::MAX)
        });
        let mut taken = Taken::default();
        for (field, text) in fields {
            if matches!(field, Field::Parameters | Field::ParameterDescriptions) {
                let terms = self.repeated(text);
                for at in terms {
                    if let Some(term) = self.repeated.terms.get(at).copied() {
                        self.take(*field, term, &mut taken);
                    }
                }
            } else {
                each_word(text, |word| {
                    let term = self.term(word);
                    self.take(*field, term, &mut taken);
                });
            }
        }
        let Taken {
            lengths,
            terms,
            name,
        } = taken;
        for term in &terms {
            let Some(entry) = self.terms.get_mut(*term as usize) else {
                continue;
            };
            let counts = std::mem::replace(&mut entry.counts, [0; FIELDS]);
            let found = ALL_FIELDS.iter().zip(counts);
            let found = found.filter(|(_, count)| *count > 0);
            entry.postings.extend(found.map(|(field, count)| Posting {
                number,
                field: *field,
                count,
            }));
            entry.operations += 1;
        }
        self.forget_weights();
        for (total, length) in self.totals.iter_mut().zip(lengths) {
            *total += u64::from(length);
        }
        self.present += 1;
        if let Some(place) = self.members.get_mut(number as usize) {
            *place = Some(Member {
                lengths,
                terms,
                name,
            });
        }
        number
    }

    /// Notes a word of a field of the operation that is being taken in.
    fn take(&mut self, field: Field, term: u32, taken: &mut Taken) {
        let at = field as usize;
        if let Some(length) = taken.lengths.get_mut(at) {
            *length = length.saturating_add(1);
        }
        let Some(entry) = self.terms.get_mut(term as usize) else {
            return;
        };
        if entry.counts == [0; FIELDS] {
            taken.terms.push(term);
        }
        if let Some(count) = entry.counts.get_mut(at) {
            if field == Field::Name && *count == 0 {
                taken.name.push(term);
            }
            *count = count.saturating_add(1).min(MAX_COUNT);
        }
    }

    /// Where the terms of a text are that may have been there before.
    fn repeated(&mut self, text: &str) -> Range<usize> {
        if let Some(found) = self.repeated.texts.get(text) {
            return found.clone();
        }
        if self.repeated.texts.len() >= MAX_REPEATED {
            self.repeated = Repeated::default();
        }
        let start = self.repeated.terms.len();
        each_word(text, |word| {
            let term = self.term(word);
            self.repeated.terms.push(term);
        });
        let terms = start..self.repeated.terms.len();
        self.repeated.texts.insert(text.into(), terms.clone());
        terms
    }

    /// Forgets an operation. What was noted of it stays, unseen, until there is much of that.
    pub(super) fn remove(&mut self, number: u32) {
        let Some(gone) = self.members.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        self.forget_weights();
        self.present -= 1;
        for (total, length) in self.totals.iter_mut().zip(gone.lengths) {
            *total -= u64::from(length);
        }
        for term in gone.terms {
            if let Some(term) = self.terms.get_mut(term as usize) {
                term.operations = term.operations.saturating_sub(1);
            }
        }
        self.left.push(number);
        if self.left.len() > MAX_LEFT.max(self.present as usize / 4) {
            self.sweep();
        }
    }

    /// Drops what is noted of operations that left.
    fn sweep(&mut self) {
        let members = &self.members;
        let is_there = |number: u32| members.get(number as usize).is_some_and(Option::is_some);
        for term in &mut self.terms {
            term.postings.retain(|posting| is_there(posting.number));
        }
        self.free.append(&mut self.left);
        self.forget_words();
    }

    /// Drops words that no operation has any more, and gives the others new numbers.
    fn forget_words(&mut self) {
        let mut next = 0;
        let numbers: Vec<Option<u32>> = self
            .terms
            .iter()
            .map(|term| {
                (term.operations > 0).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        let number = |old: u32| numbers.get(old as usize).copied().flatten();
        self.terms.retain(|term| term.operations > 0);
        for words in [&mut self.known, &mut self.stems] {
            words.retain(|_, term| number(*term).is_some());
            for term in words.values_mut() {
                *term = number(*term).unwrap_or_default();
            }
            words.shrink_to_fit();
        }
        for member in self.members.iter_mut().flatten() {
            for term in member.terms.iter_mut().chain(&mut member.name) {
                *term = number(*term).unwrap_or_default();
            }
        }
        self.terms.shrink_to_fit();
        self.sorted = Vec::new();
        self.repeated = Repeated::default();
    }

    /// What a term's postings come to. `weigh` makes it of them; it is kept until something changes.
    pub(super) fn weights(
        &self,
        term: u32,
        weigh: impl FnOnce(&[Posting]) -> Box<[Weight]>,
    ) -> &[Weight] {
        let Some(term) = self.terms.get(term as usize) else {
            return &[];
        };
        term.weights.get_or_init(|| {
            self.has_weights.set(true);
            weigh(&term.postings)
        })
    }

    /// They depend on the usual length of a field, and so on every operation.
    fn forget_weights(&mut self) {
        if self.has_weights.replace(false) {
            for term in &mut self.terms {
                term.weights = OnceCell::new();
            }
        }
    }

    fn term(&mut self, word: &str) -> u32 {
        if let Some(term) = self.known.get(word) {
            return *term;
        }
        let stem = stem(word);
        let term = if let Some(term) = self.stems.get(stem.as_str()) {
            *term
        } else {
            let term = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
            self.terms.push(Term::default());
            self.stems.insert(stem.into_boxed_str(), term);
            self.sorted.clear();
            term
        };
        self.known.insert(word.into(), term);
        term
    }

    /// The number of a word's stem, if any operation has it.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        let term = match self.known.get(word) {
            Some(term) => *term,
            None => *self.stems.get(stem(word).as_str())?,
        };
        (self.terms.get(term as usize)?.operations > 0).then_some(term)
    }

    /// Must be called before words are looked for by their beginning.
    pub(super) fn sort(&mut self) {
        self.repeated = Repeated::default();
        if self.sorted.len() == self.stems.len() {
            return;
        }
        self.sorted = self
            .stems
            .iter()
            .map(|(stem, term)| (stem.clone(), *term))
            .collect();
        self.sorted.sort_unstable();
    }

    /// Stems that begin so, and their numbers.
    pub(super) fn beginning_with<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a str, u32)> {
        let first = self.sorted.partition_point(|(stem, _)| &**stem < start);
        self.sorted
            .iter()
            .skip(first)
            .take_while(move |(stem, _)| stem.starts_with(start))
            .map(|(stem, term)| (&**stem, *term))
    }

    pub(super) fn member(&self, number: u32) -> Option<&Member> {
        self.members.get(number as usize)?.as_ref()
    }

    /// How many operations there are.
    pub(super) fn present(&self) -> u32 {
        self.present
    }

    /// How many numbers are in use, or were.
    pub(super) fn numbers(&self) -> usize {
        self.members.len()
    }

    /// The usual number of words in each field.
    pub(super) fn averages(&self) -> [f32; FIELDS] {
        let count = f64::from(self.present.max(1));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an average of small numbers"
        )]
        self.totals
            .map(|total| ((total as f64 / count) as f32).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_operations_that_left_are_forgotten() {
        let mut index = Index::default();
        let kept = index.add(&[(Field::Name, "merge"), (Field::Summary, "joins branches")]);
        for round in 0..20 * MAX_LEFT {
            // Letters, so that each is a word of its own.
            let word: String = format!("{round:06}")
                .chars()
                .map(|digit| char::from(b'a' + u8::try_from(digit as u32 - 48).unwrap_or(0)))
                .collect();
            let number = index.add(&[(Field::Name, &word)]);
            assert!(index.find(&word).is_some());
            index.remove(number);
            assert_eq!(index.find(&word), None);
        }
        let most = 2 * MAX_LEFT;
        assert!(index.terms.len() < most, "{} terms", index.terms.len());
        assert!(index.known.len() < most && index.stems.len() < most);
        assert!(index.numbers() < most);
        // Those that are left are found under their new numbers.
        index.sort();
        for word in ["merge", "joins", "branches"] {
            let term = index
                .find(word)
                .and_then(|term| index.terms.get(term as usize));
            let found = term.map(|term| term.postings.iter().map(|posting| posting.number));
            assert_eq!(found.map(Iterator::collect), Some(vec![kept]), "{word}");
            assert!(index.beginning_with(&word[..3]).count() > 0);
        }
        let name = index.member(kept).map(|member| member.name.clone());
        assert_eq!(name, index.find("merge").map(|term| vec![term]));
    }
}
