//! What only the host can do. It is asked through its mailbox and answers under the id of the question; a question that
//! nobody wants answered any more is taken back.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::{Stream, StreamExt};
use operations_core::call::submission::{self, Outcome};
use operations_core::call::{is_request_id, without_response};
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::mailbox::{Item, Mailbox};
use operations_core::table::Table;
use serde_json::json;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::limits::Place;
use crate::line::{Line, Questions, Told};

/// Events of one stream that wait for their reader. The host is told to wait when there are so many, and to go on when
/// half of them are gone.
const WAITING_EVENTS: usize = 64;
/// The same in bytes.
const WAITING_BYTES: usize = 256 * 1024;

/// The host, and what it was asked.
pub struct Host {
    mailbox: Arc<Mailbox>,
    asked: Mutex<Table<Arc<str>, Arc<Question>>>,
    /// The places of questions that were taken back, and that the host may still work on. It says when they are free.
    lingering: Mutex<Table<Arc<str>, Place>>,
    handed_over: Mutex<HandedOver>,
}

/// Answers that nobody has been told of yet.
#[derive(Default)]
struct HandedOver {
    lines: VecDeque<String>,
    /// Somebody takes them.
    is_under_way: bool,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

/// How many answers are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The first.
    One,
    /// All.
    Many,
}

/// What is asked, but for the words.
#[derive(Debug)]
pub struct Asking<'a> {
    /// The id, unless another question has it.
    pub preferred: &'a Arc<str>,
    /// Names the question in errors.
    pub about: &'a str,
    /// How many answers are wanted.
    pub wanted: Wanted,
    /// Free when the host has done the work.
    pub place: Option<Place>,
    /// Where the host talks with whoever called.
    pub line: Option<Line>,
}

#[derive(Debug)]
struct Question {
    wanted: Wanted,
    line: Option<Line>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<String>,
    /// Those of `answers`.
    bytes: usize,
    end: Option<Result<(), CallError>>,
    /// The host was told to wait.
    is_paused: bool,
    reader: Option<Waker>,
}

impl Question {
    /// Changes what is known, and tells the reader.
    fn tell<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = locked(&self.state);
        let told = change(&mut state);
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        told
    }
}

impl Host {
    /// A host that looks into this mailbox.
    #[must_use]
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self {
            mailbox,
            asked: Mutex::default(),
            lingering: Mutex::default(),
            handed_over: Mutex::default(),
        }
    }

    /// The host is about to begin with a question. Says whether it still wants an answer.
    pub fn begin(&self, id: &str) -> bool {
        let is_asked = locked(&self.asked).contains_key(id);
        if !is_asked {
            self.free(id);
        }
        is_asked
    }

    /// The host does not work any more on a question that was taken back.
    fn free(&self, id: &str) {
        // Not under the lock: whoever waits for the place goes on.
        let mut lingering = locked(&self.lingering);
        // Almost always.
        if lingering.is_empty() {
            return;
        }
        let place = lingering.remove(id);
        drop(lingering);
        drop(place);
    }

    /// Asks. `about` names the question in errors; `question` makes it, as JSON, for an id: the preferred one, unless another
    /// question has it or it cannot stand in a line. The place is free when the host has done the work, whoever still waits for it.
    ///
    /// # Errors
    ///
    /// When the host has more to look at than it can.
    pub fn ask(
        self: &Arc<Self>,
        preferred: &Arc<str>,
        about: &str,
        wanted: Wanted,
        place: Option<Place>,
        question: impl FnOnce(&str) -> String,
    ) -> Result<Answers, CallError> {
        let asking = Asking {
            preferred,
            about,
            wanted,
            place,
            line: None,
        };
        self.ask_about(asking, question)
    }

    /// The same, for somebody who may want to talk with the host meanwhile.
    ///
    /// # Errors
    ///
    /// As for [`Host::ask`].
    pub fn ask_about(
        self: &Arc<Self>,
        asking: Asking<'_>,
        question: impl FnOnce(&str) -> String,
    ) -> Result<Answers, CallError> {
        let Asking {
            preferred,
            about,
            wanted,
            place,
            line,
        } = asking;
        if self.mailbox.is_full() {
            return Err(overloaded(about));
        }
        let state = Arc::new(Question {
            wanted,
            line,
            state: Mutex::default(),
        });
        let mut id = Arc::clone(preferred);
        let mut asked = locked(&self.asked);
        while !is_request_id(&id)
            || asked.contains_key(&id)
            || locked(&self.lingering).contains_key(&id)
        {
            id = Uuid::new_v4().to_string().into();
        }
        asked.insert(Arc::clone(&id), Arc::clone(&state));
        drop(asked);
        self.mailbox.push(Item::asked(&*id, &question(&id)));
        Ok(Answers {
            host: Arc::clone(self),
            id,
            about: about.to_owned(),
            question: state,
            place,
        })
    }

    /// Tells the host something that needs no answer: JSON.
    pub fn announce(&self, news: &str) {
        self.mailbox.push(Item::asked("", news));
    }

    fn question(&self, id: &str) -> Option<Arc<Question>> {
        locked(&self.asked).get(id).map(Arc::clone)
    }

    /// The host answers, for the first time or again. Says whether it may go on at once.
    pub fn respond(&self, id: &str, answer: &str) -> bool {
        // The abort of a stream that is not wanted any more is on its way: it makes no more events until then.
        let Some(question) = self.question(id) else {
            return false;
        };
        question.tell(|state| {
            if state.end.is_some() {
                return true;
            }
            state.bytes += answer.len();
            state.answers.push_back(answer.to_owned());
            if question.wanted == Wanted::One {
                // There is nothing that could wait.
                state.end = Some(Ok(()));
                return true;
            }
            state.is_paused = state.answers.len() >= WAITING_EVENTS || state.bytes >= WAITING_BYTES;
            !state.is_paused
        })
    }

    /// The host answers, and has nothing more to say: as [`Host::respond`] and [`Host::finish`], in one step.
    fn answer_last(&self, id: &str, answer: &str) {
        if let Some(question) = self.question(id) {
            question.tell(|state| {
                if state.end.is_none() {
                    state.bytes += answer.len();
                    state.answers.push_back(answer.to_owned());
                    state.end = Some(Ok(()));
                }
            });
        }
        self.free(id);
    }

    /// The host says how far it is: a JSON object. What nobody reads fast enough is left out.
    pub fn tell_progress(&self, id: &str, progress: &str) {
        self.tell(id, Told::Progress(progress.to_owned()));
    }

    /// The host has a log line for whoever called: a JSON object.
    pub fn tell_log(&self, id: &str, line: &str) {
        self.tell(id, Told::Log(line.to_owned()));
    }

    /// The host asks whoever called: a JSON list. Answers arrive as events under the id of the call.
    pub fn ask_caller(&self, id: &str, list: &str) {
        let questions = Questions {
            id: id.into(),
            list: list.to_owned(),
        };
        let is_heard = |line: &Line| line.asked.send(questions).is_ok();
        if !self.on_line(id, is_heard).unwrap_or_default() {
            let answer = json!({ "error": { "message": "Nobody is there to be asked" } });
            self.answer_host(id, &answer.to_string());
        }
    }

    /// What was said to a question of the host: a JSON object.
    pub fn answer_host(&self, id: &str, answer: &str) {
        self.mailbox.push(Item::event(id, answer));
    }

    fn tell(&self, id: &str, told: Told) {
        let _ = self.on_line(id, |line| line.told.try_send(told).is_ok());
    }

    /// Does something with the line of a question; nothing where there is none.
    fn on_line<T>(&self, id: &str, what: impl FnOnce(&Line) -> T) -> Option<T> {
        let question = self.question(id)?;
        question.line.as_ref().map(what)
    }

    /// The host has nothing more to say.
    pub fn finish(&self, id: &str) {
        // In this order: a question that is taken back in between leaves its place to be freed.
        self.end(id, Ok(()));
        self.free(id);
    }

    /// The host could not do it.
    pub fn fail(&self, id: &str, error: CallError) {
        self.end(id, Err(error));
    }

    fn end(&self, id: &str, end: Result<(), CallError>) {
        if let Some(question) = self.question(id) {
            question.tell(|state| {
                state.end.get_or_insert(end);
            });
        }
    }

    /// What the host has answered in one turn ([`submission::outcomes`]).
    pub fn answer_all(&self, lines: &str) {
        for (id, outcome) in submission::outcomes(lines) {
            match outcome {
                Outcome::Answer(answer) => drop(self.respond(id, answer)),
                Outcome::Last(answer) => self.answer_last(id, answer),
                Outcome::Finished => self.finish(id),
            }
        }
    }

    /// The same, on another thread if there is more than one answer: each wakes somebody, which the host's own thread has
    /// better things to do than. What is handed over first is told first.
    pub fn answer_soon(self: &Arc<Self>, lines: String, runtime: &Handle) {
        let mut handed_over = locked(&self.handed_over);
        if !handed_over.is_under_way && !lines.contains('\n') {
            drop(handed_over);
            self.answer_all(&lines);
            return;
        }
        handed_over.lines.push_back(lines);
        let is_under_way = std::mem::replace(&mut handed_over.is_under_way, true);
        drop(handed_over);
        if !is_under_way {
            let host = Arc::clone(self);
            runtime.spawn(async move { host.answer_handed_over() });
        }
    }

    fn answer_handed_over(&self) {
        loop {
            let mut handed_over = locked(&self.handed_over);
            let Some(lines) = handed_over.lines.pop_front() else {
                handed_over.is_under_way = false;
                return;
            };
            drop(handed_over);
            self.answer_all(&lines);
        }
    }

    /// How many questions have no final answer.
    #[must_use]
    pub fn pending(&self) -> usize {
        locked(&self.asked).len()
    }
}

/// Too much is under way already.
#[must_use]
pub fn overloaded(operation_id: &str) -> CallError {
    let message = format!(
        "The call of {operation_id} was refused: too many calls are running or waiting already. Try again later"
    );
    CallError::failed(message).with_details(
        json!({ "reason": "overloaded", "delivery": "none", "operationId": operation_id }),
    )
}

/// What the host answers. Dropping it takes the question back.
#[derive(Debug)]
pub struct Answers {
    host: Arc<Host>,
    id: Arc<str>,
    about: String,
    question: Arc<Question>,
    place: Option<Place>,
}

impl Answers {
    /// The first answer.
    ///
    /// # Errors
    ///
    /// When the host could not do it, or ended without an answer.
    pub async fn first(mut self) -> Result<String, CallError> {
        match self.next().await {
            Some(answer) => answer,
            None => Err(without_response(&self.about)),
        }
    }
}

impl Stream for Answers {
    type Item = Result<String, CallError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = locked(&self.question.state);
        if let Some(answer) = state.answers.pop_front() {
            state.bytes = state.bytes.saturating_sub(answer.len());
            let goes_on = state.is_paused
                && state.answers.len() <= WAITING_EVENTS / 2
                && state.bytes <= WAITING_BYTES / 2;
            if goes_on {
                state.is_paused = false;
            }
            drop(state);
            if goes_on {
                self.host.mailbox.push(Item::go_on(&*self.id));
            }
            return Poll::Ready(Some(Ok(answer)));
        }
        match &mut state.end {
            None => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            // It is told once; after that it is merely over.
            Some(end) => Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err)),
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // In one step: the host, which may be about to begin or has just ended, finds the question or its place.
        let mut asked = locked(&self.host.asked);
        asked.remove(&self.id);
        let is_over = locked(&self.question.state).end.is_some();
        if is_over {
            return;
        }
        if let Some(place) = self.place.take() {
            let lingering = &self.host.lingering;
            locked(lingering).insert(Arc::clone(&self.id), place);
        }
        drop(asked);
        self.host.mailbox.push(Item::aborted(&*self.id));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use std::sync::Barrier;
    use std::thread;

    use futures::FutureExt;

    use super::*;
    use crate::limits::Places;
    use crate::options::Limits;

    #[test]
    fn a_place_is_free_however_an_answer_and_a_client_that_goes_meet() {
        let mailbox = Arc::new(Mailbox::new(|| {}));
        let host = Arc::new(Host::new(Arc::clone(&mailbox)));
        let places = Places::new(Limits {
            concurrency: Some(1),
            ..Limits::default()
        });
        for round in 0..3_000_usize {
            let entered = places.enter("t.a", "").now_or_never();
            let place = entered.expect("a free place").expect("not refused");
            let id: Arc<str> = "question".into();
            let asked = host.ask(&id, "t.a", Wanted::One, place, |_| "{}".to_owned());
            let answers = asked.expect("an empty mailbox");
            assert!(host.begin(&answers.id));
            let both = Barrier::new(2);
            thread::scope(|threads| {
                threads.spawn(|| {
                    both.wait();
                    // At one moment or another.
                    for _ in 0..round % 50 {
                        std::hint::spin_loop();
                    }
                    drop(answers);
                });
                both.wait();
                host.finish(&id);
            });
            assert_eq!(places.counts(), (0, 0), "round {round}");
            while mailbox.take().is_some() {}
        }
    }
}
