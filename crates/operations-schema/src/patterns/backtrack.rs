//! Runs a pattern as the specification of ECMAScript describes it: one way to read the text after
//! another, until one leads to a match. Every step is counted, those of looks around too.

use super::ast::{is_line_end, is_word};
use super::program::{One, Program, Step, Times};

/// How many decisions may be open at once.
const MAX_OPEN: usize = 1 << 20;

/// What ran out before there was an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// What is undone, or tried instead, when a way leads nowhere.
#[derive(Clone, Copy, Debug)]
enum Undo {
    /// Another way: a step and a place in the text.
    Way(usize, usize),
    /// A run that may give back so many characters, or take so many more where it is not greedy. It goes on behind
    /// the step.
    Run { step: usize, at: usize, left: u32 },
    /// A mark as it was.
    Mark(usize, Option<usize>),
    /// A counter as it was.
    Counter(usize, Counter),
}

/// The rounds of a loop so far, and where the last one began.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    rounds: u32,
    began: Option<usize>,
}

/// Whether a pattern matches somewhere in the text. `steps` is what may be spent, and afterwards
/// what is left.
pub(super) fn matches(program: &Program, text: &str, steps: &mut u64) -> Result<bool, Exhausted> {
    let mut run = Run {
        program,
        text,
        marks: vec![None; program.groups * 2],
        counters: vec![Counter::default(); program.counters],
        open: Vec::new(),
        steps: *steps,
    };
    let found = run.search();
    *steps = run.steps;
    found
}

struct Run<'a> {
    program: &'a Program,
    text: &'a str,
    marks: Vec<Option<usize>>,
    counters: Vec<Counter>,
    open: Vec<Undo>,
    steps: u64,
}

impl Run<'_> {
    fn search(&mut self) -> Result<bool, Exhausted> {
        let mut start = 0;
        loop {
            if self.from(0, start)?.is_some() {
                return Ok(true);
            }
            match self.next(start, false) {
                Some((_, after)) if !self.program.anchored => start = after,
                _ => return Ok(false),
            }
        }
    }

    fn spend(&mut self, steps: usize) -> Result<(), Exhausted> {
        let left = self.steps.checked_sub(steps as u64);
        self.steps = left.unwrap_or(0);
        left.map(drop).ok_or(Exhausted)
    }

    /// The character next to a place, in the direction of reading, and the place behind it.
    fn next(&self, at: usize, back: bool) -> Option<(char, usize)> {
        if back {
            let found = self.text.get(..at)?.chars().next_back()?;
            Some((found, at - found.len_utf8()))
        } else {
            let found = self.text.get(at..)?.chars().next()?;
            Some((found, at + found.len_utf8()))
        }
    }

    fn push(&mut self, undo: Undo) -> Result<(), Exhausted> {
        if self.open.len() >= MAX_OPEN {
            return Err(Exhausted);
        }
        self.open.push(undo);
        Ok(())
    }

    /// Runs from a step at a place until it is accepted, and gives the place then; none when no way
    /// leads there. Of what it has left open, marks and counters can still be undone.
    fn from(&mut self, step: usize, at: usize) -> Result<Option<usize>, Exhausted> {
        let below = self.open.len();
        let (mut step, mut at) = (step, at);
        loop {
            self.spend(1)?;
            let program = self.program;
            let goes_on = match program.steps.get(step) {
                None | Some(Step::Accept) => {
                    self.close(below)?;
                    return Ok(Some(at));
                }
                Some(Step::One { one, back }) => match self.next(at, *back) {
                    Some((found, after)) if one.is(found) => Some((step + 1, after)),
                    _ => None,
                },
                Some(Step::Run { one, times, back }) => self.run(step, one, *times, *back, at)?,
                Some(Step::Try { other }) => {
                    self.push(Undo::Way(*other, at))?;
                    Some((step + 1, at))
                }
                Some(Step::Jump(target)) => Some((*target, at)),
                Some(Step::Mark(mark)) => {
                    self.mark(*mark, Some(at))?;
                    Some((step + 1, at))
                }
                Some(Step::Begin { counter }) => {
                    self.count(*counter, Counter::default())?;
                    Some((step + 1, at))
                }
                Some(Step::Again {
                    counter,
                    times,
                    exit,
                }) => self.again(step, *counter, *times, *exit, at)?,
                Some(Step::Round { counter, groups }) => {
                    self.round(*counter, *groups, at)?;
                    Some((step + 1, at))
                }
                Some(Step::Same { group, back }) => {
                    self.same(*group, *back, at)?.map(|after| (step + 1, after))
                }
                Some(Step::Look { negative, next }) => {
                    let found = self.look(step + 1, at, *negative)?;
                    (found != *negative).then_some((*next, at))
                }
                Some(assertion) => self.holds(assertion, at).then_some((step + 1, at)),
            };
            (step, at) = match goes_on {
                Some(place) => place,
                None => match self.back_to(below)? {
                    Some(place) => place,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Undoes what was done since the last decision, and decides otherwise.
    fn back_to(&mut self, below: usize) -> Result<Option<(usize, usize)>, Exhausted> {
        while self.open.len() > below {
            self.spend(1)?;
            match self.open.pop() {
                Some(Undo::Way(step, at)) => return Ok(Some((step, at))),
                Some(Undo::Run { step, at, left }) => {
                    let Some(Step::Run { one, times, back }) = self.program.steps.get(step) else {
                        continue;
                    };
                    let next = self.next(at, *back != times.greedy);
                    if let Some((found, at)) = next
                        && (times.greedy || one.is(found))
                    {
                        if left > 1 {
                            let left = left - 1;
                            self.push(Undo::Run { step, at, left })?;
                        }
                        return Ok(Some((step + 1, at)));
                    }
                }
                Some(Undo::Mark(mark, before)) => {
                    self.put_mark(mark, before);
                }
                Some(Undo::Counter(counter, before)) => {
                    self.put_counter(counter, before);
                }
                None => break,
            }
        }
        Ok(None)
    }

    /// Decisions since then are final; only what undoes marks and counters is kept.
    fn close(&mut self, below: usize) -> Result<(), Exhausted> {
        self.spend(self.open.len() - below)?;
        let mut kept = below;
        for position in below..self.open.len() {
            if let Some(undo @ (Undo::Mark(..) | Undo::Counter(..))) =
                self.open.get(position).copied()
                && let Some(place) = self.open.get_mut(kept)
            {
                *place = undo;
                kept += 1;
            }
        }
        self.open.truncate(kept);
        Ok(())
    }

    fn put_mark(&mut self, mark: usize, at: Option<usize>) -> Option<usize> {
        let place = self.marks.get_mut(mark)?;
        std::mem::replace(place, at)
    }

    fn put_counter(&mut self, counter: usize, count: Counter) -> Counter {
        self.counters
            .get_mut(counter)
            .map(|place| std::mem::replace(place, count))
            .unwrap_or_default()
    }

    fn mark(&mut self, mark: usize, at: Option<usize>) -> Result<(), Exhausted> {
        let before = self.put_mark(mark, at);
        self.push(Undo::Mark(mark, before))
    }

    fn count(&mut self, counter: usize, count: Counter) -> Result<(), Exhausted> {
        let before = self.put_counter(counter, count);
        self.push(Undo::Counter(counter, before))
    }

    /// A run of characters of one sort.
    fn run(
        &mut self,
        step: usize,
        one: &One,
        times: Times,
        back: bool,
        at: usize,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        let wanted = if times.greedy {
            times.most
        } else {
            times.least
        };
        let (mut count, mut at) = (0, at);
        while count < wanted {
            match self.next(at, back) {
                Some((found, after)) if one.is(found) => at = after,
                _ => break,
            }
            count += 1;
        }
        self.spend(count as usize)?;
        if count < times.least {
            return Ok(None);
        }
        let most = if times.greedy { count } else { times.most };
        if most > times.least {
            let left = most - times.least;
            self.push(Undo::Run { step, at, left })?;
        }
        Ok(Some((step + 1, at)))
    }

    /// Whether a loop goes on.
    fn again(
        &mut self,
        step: usize,
        counter: usize,
        times: Times,
        exit: usize,
        at: usize,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        let Counter { rounds, began } = self.counters.get(counter).copied().unwrap_or_default();
        // A round beyond the least that read nothing would go on for ever.
        if rounds > times.least && began == Some(at) {
            return Ok(None);
        }
        Ok(Some(if rounds < times.least {
            (step + 1, at)
        } else if rounds >= times.most {
            (exit, at)
        } else if times.greedy {
            self.push(Undo::Way(exit, at))?;
            (step + 1, at)
        } else {
            self.push(Undo::Way(step + 1, at))?;
            (exit, at)
        }))
    }

    fn round(
        &mut self,
        counter: usize,
        groups: (usize, usize),
        at: usize,
    ) -> Result<(), Exhausted> {
        let rounds = self.counters.get(counter).map_or(0, |count| count.rounds);
        let next = Counter {
            rounds: rounds.saturating_add(1),
            began: Some(at),
        };
        self.count(counter, next)?;
        for mark in groups.0 * 2..groups.1 * 2 {
            self.spend(1)?;
            if self.marks.get(mark).is_some_and(Option::is_some) {
                self.mark(mark, None)?;
            }
        }
        Ok(())
    }

    /// What a group matched, read once more; one that took no part reads nothing.
    fn same(&mut self, group: usize, back: bool, at: usize) -> Result<Option<usize>, Exhausted> {
        let mark = |mark: usize| self.marks.get(mark).copied().flatten();
        let (Some(from), Some(to)) = (mark(group * 2), mark(group * 2 + 1)) else {
            return Ok(Some(at));
        };
        let wanted = self.text.get(from..to).unwrap_or_default();
        self.spend(wanted.len())?;
        let (start, end) = if back {
            (at.checked_sub(wanted.len()), at)
        } else {
            (Some(at), at + wanted.len())
        };
        let found = start.and_then(|start| self.text.get(start..end));
        let is_same = found.is_some_and(|found| {
            found == wanted
                || (self.program.ignore_case && found.to_lowercase() == wanted.to_lowercase())
        });
        Ok(start
            .filter(|_| is_same)
            .map(|start| if back { start } else { end }))
    }

    /// Looks around. A look that must fail leaves nothing behind.
    fn look(&mut self, step: usize, at: usize, negative: bool) -> Result<bool, Exhausted> {
        let below = self.open.len();
        let found = self.from(step, at)?.is_some();
        if found && negative {
            while self.open.len() > below {
                self.back_to(below)?;
            }
        }
        Ok(found)
    }

    fn holds(&self, assertion: &Step, at: usize) -> bool {
        let before = || self.next(at, true).map(|(found, _)| found);
        let after = || self.next(at, false).map(|(found, _)| found);
        match assertion {
            Step::Start => at == 0,
            Step::End => at == self.text.len(),
            Step::LineStart => before().is_none_or(is_line_end),
            Step::LineEnd => after().is_none_or(is_line_end),
            Step::Boundary { inside } => {
                (before().is_some_and(is_word) == after().is_some_and(is_word)) == *inside
            }
            _ => false,
        }
    }
}
