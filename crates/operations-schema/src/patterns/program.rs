//! From a pattern that has been read to instructions for the engine that backtracks.

use super::ast::{Ast, Parsed, Repeat, Set};

/// A set of characters that is quick to ask.
#[derive(Clone, Debug)]
pub(super) struct CharSet {
    ascii: u128,
    beyond: Box<[(char, char)]>,
}

impl CharSet {
    fn new(set: &Set) -> Self {
        let mut ascii = 0;
        let mut beyond = Vec::new();
        for range in set.ranges() {
            for found in range.start()..=range.end().min('\u{7F}') {
                ascii |= 1_u128 << u32::from(found);
            }
            if range.end() > '\u{7F}' {
                beyond.push((range.start(), range.end()));
            }
        }
        Self {
            ascii,
            beyond: beyond.into(),
        }
    }

    pub(super) fn has(&self, found: char) -> bool {
        if found.is_ascii() {
            return self.ascii >> u32::from(found) & 1 == 1;
        }
        self.beyond
            .binary_search_by(|(first, last)| {
                if *last < found {
                    std::cmp::Ordering::Less
                } else if *first > found {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
    }
}

/// One character or one of a set.
#[derive(Clone, Debug)]
pub(super) enum One {
    Char(char),
    Set(CharSet),
}

impl One {
    fn of(ast: &Ast) -> Option<Self> {
        match ast {
            Ast::Char(found) => Some(Self::Char(*found)),
            Ast::Set(set) => Some(Self::Set(CharSet::new(set))),
            _ => None,
        }
    }

    pub(super) fn is(&self, found: char) -> bool {
        match self {
            Self::Char(wanted) => *wanted == found,
            Self::Set(set) => set.has(found),
        }
    }
}

/// How often something repeats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) least: u32,
    pub(super) most: u32,
    pub(super) greedy: bool,
}

impl Times {
    fn of(repeat: &Repeat) -> Self {
        Self {
            least: repeat.least,
            most: repeat.most.unwrap_or(u32::MAX),
            greedy: repeat.greedy,
        }
    }
}

/// An instruction. Those that read have a direction: a look behind reads backwards.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Reads one character.
    One {
        one: One,
        back: bool,
    },
    /// Reads as many characters of one sort as `times` says.
    Run {
        one: One,
        times: Times,
        back: bool,
    },
    /// Goes on at the next step, and if that leads nowhere, at `other`.
    Try {
        other: usize,
    },
    /// Goes on elsewhere.
    Jump(usize),
    /// Remembers where a group begins or ends.
    Mark(usize),
    /// Begins a loop: no rounds so far.
    Begin {
        counter: usize,
    },
    /// Decides whether a loop goes on, in the next step, or ends, at `exit`.
    Again {
        counter: usize,
        times: Times,
        exit: usize,
    },
    /// Begins a round of a loop; the groups inside are unset.
    Round {
        counter: usize,
        groups: (usize, usize),
    },
    /// The ends of the text or of a line.
    Start,
    End,
    LineStart,
    LineEnd,
    Boundary {
        inside: bool,
    },
    /// Reads what a group matched.
    Same {
        group: usize,
        back: bool,
    },
    /// Looks around with the steps up to `next`.
    Look {
        negative: bool,
        next: usize,
    },
    /// A match.
    Accept,
}

/// A pattern as instructions.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    pub(super) groups: usize,
    pub(super) counters: usize,
    /// Only a match at the start of the text is one.
    pub(super) anchored: bool,
    pub(super) ignore_case: bool,
}

impl Program {
    pub(super) fn new(parsed: &Parsed) -> Self {
        let mut program = Self {
            steps: Vec::new(),
            groups: parsed.groups + 1,
            counters: 0,
            anchored: parsed.sticky || begins_at_start(&parsed.root),
            ignore_case: parsed.ignore_case,
        };
        program.add(&parsed.root, false);
        program.steps.push(Step::Accept);
        program
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    fn put(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Adds a step; gives its place.
    fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(at) {
            *place = step;
        }
    }

    fn add(&mut self, ast: &Ast, back: bool) {
        if let Some(one) = One::of(ast) {
            self.put(Step::One { one, back });
            return;
        }
        match ast {
            Ast::Empty | Ast::Char(_) | Ast::Set(_) => {}
            Ast::Concat(parts) if back => parts.iter().rev().for_each(|part| self.add(part, back)),
            Ast::Concat(parts) => parts.iter().for_each(|part| self.add(part, back)),
            Ast::Alternate(parts) => self.alternatives(parts, back),
            Ast::Repeat(repeat) => self.repeat(repeat, back),
            Ast::Capture(number, inner) => {
                let (first, last) = if back { (1, 0) } else { (0, 1) };
                self.put(Step::Mark(number * 2 + first));
                self.add(inner, back);
                self.put(Step::Mark(number * 2 + last));
            }
            Ast::Start => self.put(Step::Start),
            Ast::End => self.put(Step::End),
            Ast::LineStart => self.put(Step::LineStart),
            Ast::LineEnd => self.put(Step::LineEnd),
            Ast::Boundary { inside } => self.put(Step::Boundary { inside: *inside }),
            Ast::Look(look) => {
                let place = self.push(Step::Accept);
                self.add(&look.inner, !look.ahead);
                self.put(Step::Accept);
                let next = self.here();
                let negative = look.negative;
                self.set(place, Step::Look { negative, next });
            }
            Ast::BackReference(group) => {
                self.put(Step::Same {
                    group: *group,
                    back,
                });
            }
        }
    }

    fn alternatives(&mut self, parts: &[Ast], back: bool) {
        let mut ends = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if index + 1 == parts.len() {
                self.add(part, back);
                break;
            }
            let choice = self.push(Step::Accept);
            self.add(part, back);
            ends.push(self.push(Step::Accept));
            let other = self.here();
            self.set(choice, Step::Try { other });
        }
        let end = self.here();
        for place in ends {
            self.set(place, Step::Jump(end));
        }
    }

    fn repeat(&mut self, repeat: &Repeat, back: bool) {
        let times = Times::of(repeat);
        if let Some(one) = One::of(&repeat.inner) {
            self.put(Step::Run { one, times, back });
            return;
        }
        let counter = self.counters;
        self.counters += 1;
        self.put(Step::Begin { counter });
        let again = self.push(Step::Accept);
        self.put(Step::Round {
            counter,
            groups: (repeat.groups.start, repeat.groups.end),
        });
        self.add(&repeat.inner, back);
        self.put(Step::Jump(again));
        let exit = self.here();
        self.set(
            again,
            Step::Again {
                counter,
                times,
                exit,
            },
        );
    }
}

/// Whether every way through a pattern begins at the start of the text.
fn begins_at_start(ast: &Ast) -> bool {
    match ast {
        Ast::Start => true,
        Ast::Concat(parts) => parts.first().is_some_and(begins_at_start),
        Ast::Alternate(parts) => parts.iter().all(begins_at_start),
        Ast::Capture(_, inner) => begins_at_start(inner),
        _ => false,
    }
}
