//! Patterns on an engine whose time grows with the text and not with the number of ways to read it.
//!
//! It serves where trying one way after the other has taken too long. A look around or a back
//! reference is beyond it.

use regex_automata::hybrid::dfa;
use regex_automata::nfa::thompson::{self, WhichCaptures, pikevm};
use regex_automata::{Anchored, Input, MatchErrorKind};
use regex_syntax::hir::{Class, Hir, Look, Repetition};
use std::sync::{Mutex, PoisonError};

use super::ast::{Ast, Parsed};
use crate::value_access::Limit;
use crate::work::Budget;

/// How much memory the states of one pattern may take, and the states that a search adds.
const SIZE_LIMIT: usize = 1 << 20;

/// A pattern whose states would be more than this is not built.
const MAX_STATES: u64 = 40_000;

/// How often a search may forget the states that it has added before it gives up.
const PATIENCE: usize = 4;

/// How many bytes each state that a search adds must serve at least, once it has forgotten some.
const BYTES_PER_STATE: usize = 32;

/// What it costs to build one state.
pub(super) const UNITS_PER_STATE: u64 = 20;

/// How many states an engine for this pattern has at most; none when they would be too many, or when
/// the pattern is beyond it.
pub(super) fn size(parsed: &Parsed) -> Option<u64> {
    states(&parsed.root).filter(|states| *states <= MAX_STATES)
}

/// How many states a pattern needs, roughly but never too few.
fn states(ast: &Ast) -> Option<u64> {
    Some(match ast {
        Ast::Empty | Ast::Start | Ast::End | Ast::Boundary { inside: false } => 1,
        Ast::Char(found) => found.len_utf8() as u64,
        // Each range beyond ASCII is several sequences of bytes.
        Ast::Set(set) if set.is_ascii() => 1,
        Ast::Set(set) => 2 + 4 * set.ranges().len() as u64,
        Ast::Concat(parts) => sum(parts)?,
        Ast::Alternate(parts) => sum(parts)?.saturating_add(parts.len() as u64),
        Ast::Repeat(repeat) => {
            let rounds = repeat.most.unwrap_or(repeat.least.saturating_add(1));
            states(&repeat.inner)?
                .saturating_add(1)
                .saturating_mul(u64::from(rounds.max(1)))
        }
        Ast::Capture(_, inner) => states(inner)?,
        // In the middle of a character `\B` has no meaning, and only characters are known here.
        Ast::Boundary { inside: true }
        | Ast::LineStart
        | Ast::LineEnd
        | Ast::Look(_)
        | Ast::BackReference(_) => return None,
    })
}

fn sum(parts: &[Ast]) -> Option<u64> {
    parts
        .iter()
        .try_fold(0_u64, |all, part| Some(all.saturating_add(states(part)?)))
}

fn hir(ast: &Ast) -> Option<Hir> {
    Some(match ast {
        Ast::Empty => Hir::empty(),
        Ast::Char(found) => Hir::literal(found.to_string().into_bytes()),
        Ast::Set(set) => Hir::class(Class::Unicode((**set).clone())),
        Ast::Concat(parts) => Hir::concat(parts.iter().map(hir).collect::<Option<_>>()?),
        Ast::Alternate(parts) => Hir::alternation(parts.iter().map(hir).collect::<Option<_>>()?),
        Ast::Repeat(repeat) => Hir::repetition(Repetition {
            min: repeat.least,
            max: repeat.most,
            greedy: repeat.greedy,
            sub: Box::new(hir(&repeat.inner)?),
        }),
        Ast::Capture(_, inner) => hir(inner)?,
        Ast::Start => Hir::look(Look::Start),
        Ast::End => Hir::look(Look::End),
        Ast::Boundary { inside: false } => Hir::look(Look::WordAscii),
        _ => return None,
    })
}

/// An engine.
#[derive(Debug)]
pub(super) struct Linear {
    dfa: dfa::DFA,
    nfa: pikevm::PikeVM,
    states: Mutex<dfa::Cache>,
    anchored: Anchored,
}

impl Linear {
    pub(super) fn build(parsed: &Parsed) -> Option<Self> {
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .nfa_size_limit(Some(SIZE_LIMIT))
                    .which_captures(WhichCaptures::None),
            )
            .build_from_hir(&hir(&parsed.root)?)
            .ok()?;
        let dfa = dfa::DFA::builder()
            .configure(
                dfa::Config::new()
                    .cache_capacity(SIZE_LIMIT)
                    .skip_cache_capacity_check(true)
                    .minimum_cache_clear_count(Some(PATIENCE))
                    .minimum_bytes_per_state(Some(BYTES_PER_STATE)),
            )
            .build_from_nfa(nfa.clone())
            .ok()?;
        Some(Self {
            states: Mutex::new(dfa.create_cache()),
            dfa,
            nfa: pikevm::PikeVM::new_from_nfa(nfa).ok()?,
            anchored: if parsed.sticky {
                Anchored::Yes
            } else {
                Anchored::No
            },
        })
    }

    /// Whether the pattern matches.
    pub(super) fn matches(&self, text: &str, budget: &mut Budget) -> Result<bool, Limit> {
        budget.spend(text.len() as u64 / 8)?;
        let input = Input::new(text).anchored(self.anchored).earliest(true);
        // What a panic could leave behind is forgotten.
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let before = states.memory_usage() + states.clear_count() * SIZE_LIMIT;
        let found = self.dfa.try_search_fwd(&mut states, &input);
        let after = states.memory_usage() + states.clear_count() * SIZE_LIMIT;
        // States are made while they are needed, each from as many others as it stands for.
        budget.spend(after.saturating_sub(before) as u64 / 8)?;
        match found {
            Ok(found) => Ok(found.is_some()),
            Err(error) => {
                debug_assert!(matches!(error.kind(), MatchErrorKind::GaveUp { .. }));
                states.reset(&self.dfa);
                drop(states);
                self.step_by_step(text, input, budget)
            }
        }
    }

    /// Without memory: every byte is held against every state.
    fn step_by_step(
        &self,
        text: &str,
        input: Input<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Limit> {
        let states = self.nfa.get_nfa().states().len() as u64;
        budget.spend((text.len() as u64).saturating_mul(states) / 4)?;
        let mut cache = self.nfa.create_cache();
        Ok(self.nfa.is_match(&mut cache, input))
    }
}
