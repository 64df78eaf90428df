//! A response whose body is read as a whole, goes to a file, or is handed on.

use std::time::Instant;

use operations_spill::Spilled;

use super::feed::{StreamKind, batch_of};
use super::retry::{Cause, asked_pause};
use super::{Machine, Output, State};
use crate::message::{
    BodyKind, Decoded, JsonForm, Reply, ResponseHead, decoded_reply, errors, served,
};

/// What is set aside for a body before its first byte has come, whatever the server announces.
const LARGEST_GUESS: usize = 1024 * 1024;

impl Machine {
    /// The response whose body is to be handed on, by its head and its beginning. The machine is done with it.
    pub fn passed_on(&mut self) -> Option<(ResponseHead, Vec<u8>)> {
        if !self.is_passing_on() {
            return None;
        }
        match std::mem::replace(&mut self.state, State::Over) {
            State::Spilling(head, start) => Some((head, start)),
            _ => None,
        }
    }

    /// Whether a response waits to be handed on ([`Machine::passed_on`]).
    #[must_use]
    pub fn is_passing_on(&self) -> bool {
        self.passes_on && matches!(self.state, State::Spilling(..))
    }

    /// Whether the body goes to a file; its beginning, if so. The reader writes it, and says
    /// [`Input::Spilled`](super::Input::Spilled) at its end.
    #[must_use]
    pub fn spilling(&self) -> Option<&[u8]> {
        match &self.state {
            State::Spilling(_, start) if !self.passes_on => Some(start),
            _ => None,
        }
    }

    pub(super) fn on_head(&mut self, head: ResponseHead, announced: Option<u64>, now: Instant) {
        if !matches!(self.state, State::Sending) {
            return;
        }
        self.may_have_arrived = true;
        match self.outgoing.redirect(&head, &self.reach) {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => return self.fail(error.into()),
        }
        if head.is_success()
            && !matches!(head.status, 204 | 205)
            && let Err(error) = head.check_coding()
        {
            return self.fail(error.into());
        }
        if let Some(promised) = self.promised.filter(|_| head.is_success()) {
            if matches!(head.status, 204 | 205) {
                return self.finish(Output::End);
            }
            match StreamKind::of_response(promised, &head) {
                Ok(Some(kind)) => return self.begin_stream(head, kind, now),
                Ok(None) => {}
                Err(error) => return self.fail(error.into()),
            }
        }
        let announced = announced.map_or(0, |size| usize::try_from(size).unwrap_or(usize::MAX));
        let has_limit = self.passes_on || !self.may_spill(&head);
        if announced > self.rules.max_response_bytes && has_limit {
            return self.too_large();
        }
        self.state = State::Collecting(head, Vec::with_capacity(announced.min(LARGEST_GUESS)));
    }

    /// Whether the body may go elsewhere: that of an error never does.
    fn may_spill(&self, head: &ResponseHead) -> bool {
        self.spill_over.is_some()
            && head.is_success()
            && (!self.passes_on || self.may_pass_on(head))
    }

    /// Whether the body needs no decoding: it is binary data, of a type that was declared.
    fn may_pass_on(&self, head: &ResponseHead) -> bool {
        let about = self.about.as_deref();
        head.kind() == BodyKind::Bytes
            && about.is_none_or(|about| !about.is_served && head.is_of_type(&about.types))
    }

    pub(super) fn on_spilled(&mut self, spilled: Spilled) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Spilling(head, start) => {
                let reply = Reply::spilled(head, &start, spilled);
                self.finish(Output::Reply(reply));
            }
            other => self.state = other,
        }
    }

    pub(super) fn on_chunk(&mut self, piece: &[u8]) {
        if let (State::Collecting(head, body), Some(over)) = (&self.state, self.spill_over)
            && body.len() + piece.len() > over
            && self.may_spill(head)
        {
            if self.passes_on && body.len() + piece.len() > self.rules.max_response_bytes {
                return self.too_large();
            }
            if let State::Collecting(head, mut body) =
                std::mem::replace(&mut self.state, State::Over)
            {
                body.extend_from_slice(piece);
                self.state = State::Spilling(head, body);
            }
            return;
        }
        match (&mut self.state, &mut self.feed) {
            (State::Collecting(_, body), _) => {
                if piece.len() > self.rules.max_response_bytes - body.len() {
                    return self.too_large();
                }
                body.extend_from_slice(piece);
            }
            (State::Streaming, Some(feed)) => {
                feed.push(piece);
                self.look_at_feed();
            }
            _ => {}
        }
    }

    pub(super) fn on_end(&mut self, now: Instant) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Collecting(head, body) => self.on_whole_body(head, body, now),
            State::Streaming => self.on_stream_end(None, now),
            other => self.state = other,
        }
    }

    fn on_whole_body(&mut self, head: ResponseHead, body: Vec<u8>, now: Instant) {
        let cause = Cause::Status(head.status);
        let asked = asked_pause(&head);
        let is_served = self.is_served();
        if is_served
            && let Some(error) =
                served::approval_required(&head, &body, &self.outgoing.request().url)
        {
            return self.fail(error.into());
        }
        // What a peer or a stream sends is read as text.
        let form = if is_served || self.promised.is_some() {
            JsonForm::Text
        } else {
            self.json_form
        };
        match decoded_reply(head, body, &self.secrets, form) {
            Err(failure) if is_served => {
                self.on_refusal(served::prefer_reported(failure), Some(cause), asked, now);
            }
            Err(failure) => self.on_refusal(failure, Some(cause), asked, now),
            Ok(mut reply) if self.promised.is_none() => {
                if is_served {
                    served::open(&mut reply);
                }
                if let (Some(about), true) = (&self.about, reply.body != Decoded::Empty) {
                    reply.head.compare_type(&about.types);
                    reply.keep_integers(about.int64.as_deref());
                }
                self.finish(Output::Reply(reply));
            }
            // One value in the place of a stream is a stream of one line.
            Ok(reply) => {
                if let Decoded::Json(text) = reply.body {
                    self.head = Some((reply.head, StreamKind::Lines));
                    self.value = batch_of(&text, self.int64());
                }
                self.finish(Output::End);
            }
        }
    }

    fn too_large(&mut self) {
        let limit = self.rules.max_response_bytes;
        self.fail(errors::too_large(&self.outgoing.host(), limit).into());
    }
}
