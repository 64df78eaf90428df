//! What the work gives, on its way to the caller.

use std::sync::Arc;

use operations_core::call::{TooLarge, output_cannot_be_sent, timed_out};
use operations_core::error::CallError;
use operations_core::json;

use super::{Running, Worker};
use crate::errors;
use crate::limits::STREAM_WINDOW;
use crate::state::{CallUpdate, Doer, Todo};
use crate::subjects::{ANSWERS, Subjects};
use crate::wire;

impl Running {
    fn answers_to(&self, subjects: &Subjects, id: &str) -> String {
        let about = if self.shares_answers { ANSWERS } else { id };
        subjects.to_peer(&self.from, about)
    }
}

impl Worker {
    /// An answer, or one event of a stream. Says whether more events may follow at once.
    ///
    /// # Errors
    ///
    /// When it is too large for the broker.
    pub fn respond(&mut self, id: &str, output: &str, todo: &mut Todo) -> Result<bool, CallError> {
        let max_payload = self.max_payload;
        let Some(running) = self.running.get_mut(id) else {
            return Ok(true);
        };
        if running.is_aborted || running.is_answered {
            return Ok(true);
        }
        // It is one level down in its message.
        json::check_written(1, output)
            .map_err(|why| output_cannot_be_sent(&running.operation, &why))?;
        let number = running.stream.as_ref().map(|stream| stream.sent + 1);
        let message = wire::responded(id, output, number);
        if message.len() > max_payload {
            let size = message.len();
            return Err(errors::too_large(
                TooLarge::Output,
                &running.operation,
                size,
                max_payload,
            ));
        }
        let may_go_on = if let Some(stream) = &mut running.stream {
            stream.sent += 1;
            stream.is_waiting = stream.sent >= stream.up_to;
            !stream.is_waiting
        } else {
            running.is_answered = true;
            true
        };
        todo.publish(running.answers_to(&self.subjects, id), None, message);
        Ok(may_go_on)
    }

    /// The answer to a call, or the error that says why it cannot be sent.
    pub fn answer(&mut self, id: &str, output: &str, todo: &mut Todo) {
        if let Err(error) = self.respond(id, output, todo) {
            self.fail(id, &error, todo);
        }
    }

    /// A call has failed.
    pub fn fail(&mut self, id: &str, error: &CallError, todo: &mut Todo) {
        /// As much of a message as is sent when all of it does not fit.
        const SHORTENED: usize = 4_096;
        let Some(running) = self.running.get_mut(id) else {
            return;
        };
        if running.is_aborted || running.is_answered {
            return;
        }
        running.is_answered = true;
        let mut message = wire::error(id, error);
        if message.len() > self.max_payload {
            let code: String = error.code.chars().take(128).collect();
            let text: String = error.message.chars().take(SHORTENED).collect();
            message = wire::error(id, &CallError::new(code, text));
        }
        todo.publish(running.answers_to(&self.subjects, id), None, message);
    }

    /// A stream has ended.
    pub fn complete(&mut self, id: &str, todo: &mut Todo) {
        let Some(running) = self.running.get_mut(id) else {
            return;
        };
        if running.is_aborted || running.is_answered {
            return;
        }
        running.is_answered = true;
        let events = running.stream.as_ref().map_or(0, |stream| stream.sent);
        let message = wire::completed(id, events);
        todo.publish(running.answers_to(&self.subjects, id), None, message);
    }

    /// Whether anything that the work gives from now on would be sent.
    #[must_use]
    pub fn is_awaited(&self, id: &str) -> bool {
        self.running
            .get(id)
            .is_some_and(|running| !running.is_aborted && !running.is_answered)
    }

    /// JavaScript is about to do this. Says whether it is still wanted; if it is not, its slot is free. What comes too late
    /// is answered as the native registry answers it.
    pub fn begin(&mut self, now: f64, id: &str, todo: &mut Todo) -> bool {
        let Some(running) = self.running.get_mut(id) else {
            return false;
        };
        if running.is_begun {
            return false;
        }
        let late = running.deadline.filter(|deadline| now >= *deadline);
        let late = late.map(|deadline| timed_out(&running.operation, deadline, None));
        if running.is_aborted || running.is_answered || late.is_some() {
            if let Some(error) = late {
                self.fail(id, &error, todo);
            }
            self.finished(now, id, todo);
            return false;
        }
        running.is_begun = true;
        true
    }

    /// It turns out that only JavaScript can do this work.
    pub fn hand_over(&mut self, now: f64, id: &Arc<str>, payload: String, todo: &mut Todo) {
        match self.running.get_mut(id) {
            Some(running) if !running.is_aborted => {
                running.doer = Doer::Host;
                todo.update(Doer::Host, CallUpdate::Requested(Arc::clone(id), payload));
            }
            _ => self.finished(now, id, todo),
        }
    }

    /// The work is over, whatever came of it: its slot is free.
    pub fn finished(&mut self, now: f64, id: &str, todo: &mut Todo) {
        let Some(running) = self.running.remove(id) else {
            return;
        };
        if let Some(count) = self.callers.get_mut(&running.from) {
            *count -= 1;
            if *count == 0 {
                self.callers.remove(&running.from);
            }
        }
        self.grant(now, todo);
    }

    /// The consumer of a stream wants more.
    pub fn credit(&mut self, caller: &str, id: &str, up_to: u64, todo: &mut Todo) {
        let Some(running) = self.running.get_mut(id) else {
            return;
        };
        let Some(stream) = &mut running.stream else {
            return;
        };
        if &*running.from != caller {
            return;
        }
        // Not more than a window ahead, whatever is asked for.
        stream.up_to = stream.up_to.max(up_to.min(stream.sent + STREAM_WINDOW));
        if stream.is_waiting && stream.sent < stream.up_to {
            stream.is_waiting = false;
            todo.update(running.doer, CallUpdate::MayGoOn(id.into()));
        }
    }
}
