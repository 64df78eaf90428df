//! What JavaScript hands over in one turn of its event loop. It only leaves it here: the state may be locked by the thread
//! that reads messages, and two threads that wait for each other get as much done as one.

use std::sync::Arc;

use operations_core::clock::now;
use operations_core::lock::locked;
use operations_core::mailbox::Item;

use super::{Shared, closed};
use crate::state::{State, Todo};
use crate::submission::{self, Outcome};

/// Lines, as [`submission`] reads them.
pub(super) enum Submitted {
    Calls(String),
    Outcomes(String),
}

impl Shared {
    /// Has something of JavaScript's processed soon, on the connection's own thread.
    pub(super) fn submit(self: &Arc<Self>, what: Submitted) {
        let mut submitted = locked(&self.submitted);
        submitted.push(what);
        let is_first = submitted.len() == 1;
        drop(submitted);
        if self.closed.is_cancelled() {
            // That thread is gone.
            self.act(|_, _, _| ());
        } else if is_first {
            self.outgoing.notify_one();
        }
    }

    pub(super) fn has_submitted(&self) -> bool {
        !locked(&self.submitted).is_empty()
    }

    /// Does what JavaScript has handed over, in its order. Says whether work on a call is over.
    pub(super) fn take_submitted(&self, state: &mut State, todo: &mut Todo) -> bool {
        let submitted = std::mem::take(&mut *locked(&self.submitted));
        let mut has_finished = false;
        for submitted in submitted {
            match submitted {
                Submitted::Calls(text) => self.take_calls(&text, state, todo),
                Submitted::Outcomes(text) => {
                    take_outcomes(&text, state, todo);
                    has_finished = true;
                }
            }
        }
        has_finished
    }

    fn take_calls(&self, text: &str, state: &mut State, todo: &mut Todo) {
        let is_closed = self.closed.is_cancelled();
        let now = now();
        for request in submission::calls(text) {
            let id = request.id.clone();
            let result = if is_closed {
                Err(closed())
            } else {
                state.request(now, request, todo)
            };
            if let Err(error) = result {
                todo.deliver(Item::failed(&id, &error));
            }
        }
    }
}

fn take_outcomes(text: &str, state: &mut State, todo: &mut Todo) {
    let now = now();
    for (id, outcome) in submission::outcomes(text) {
        match outcome {
            Outcome::Answer(output) => state.worker.answer(id, output, todo),
            Outcome::Last(output) => {
                state.worker.answer(id, output, todo);
                state.worker.finished(now, id, todo);
            }
            Outcome::Finished => state.worker.finished(now, id, todo),
        }
    }
}
