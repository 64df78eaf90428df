//! Many events as one JSON text.
//!
//! What is ready crosses into JavaScript together, as one array for one `JSON.parse`. Data that is
//! JSON stands in it as it came, because it has been checked here, off the JavaScript thread.
//!
//! - Lines: `[value, value, ...]`.
//! - Events: `[data, about, data, about, ...]`, where `about` is `0` for the same type and id as the
//!   event before (of the same response; at its beginning, `message` and no id), a string for the same
//!   type and this id, else `[type]`, `[type, id]` or `[type, id, retry]`; an id of `null` is the one before.
//!   A long id so crosses once.
//! - With something to say about the integers of a member, by its number: `{ "members": [...], "remarks": { "0": { notes,
//!   bigints } } }`, with the array from above as `members`.

use std::borrow::Cow;
use std::sync::Arc;

use operations_core::error::CallError;
use operations_core::json::push_string;
use serde_json::{Map, Value, json};

use super::lines::LineParser;
use crate::message::integers::keep_integers;
use crate::message::reply::is_json;
use crate::message::served::{self, Opened};
use crate::message::{BodyKind, Int64, Remarks, ResponseHead, ResponseKind, media};
use crate::sse::{DEFAULT_EVENT_TYPE, Event, Limits, Parser};

/// A batch of this many bytes is handed over before more is read.
const FULL_BYTES: usize = 256 * 1024;

/// So is one of this many events, however small they are.
const FULL_EVENTS: usize = 4096;

/// What a stream consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// Server-sent events.
    Events,
    /// One JSON value per line.
    Lines,
}

impl StreamKind {
    /// What a successful response to a request for a stream is; nothing where it is one value.
    pub(super) fn of_response(
        promised: ResponseKind,
        head: &ResponseHead,
    ) -> Result<Option<Self>, CallError> {
        let promised = match promised {
            ResponseKind::Ndjson => Self::Lines,
            _ => Self::Events,
        };
        if head.content_type.trim().is_empty() {
            return Ok(Some(promised));
        }
        match head.kind() {
            BodyKind::EventStream => Ok(Some(Self::Events)),
            BodyKind::JsonLines => Ok(Some(Self::Lines)),
            // Servers that say no more than "text" mean what they have promised.
            BodyKind::Text => Ok(Some(promised)),
            BodyKind::Json => Ok(None),
            BodyKind::Bytes => Err(CallError::failed(format!(
                "HTTP {}: a stream was expected, and the response is {}",
                head.status,
                media::essence(&head.content_type)
            ))
            .with_details(json!({
                "statusCode": head.status,
                "contentType": head.content_type,
            }))),
        }
    }
}

/// Bytes in, batches out.
#[derive(Debug)]
pub(super) struct Feed {
    source: Source,
    writer: Writer,
    failure: Option<CallError>,
}

#[derive(Debug)]
enum Source {
    Events(Parser),
    Lines(LineParser),
}

impl Feed {
    /// For a stream of this kind, which goes on after the event with this id.
    pub(super) fn new(
        kind: StreamKind,
        limits: Limits,
        last_event_id: &str,
        int64: Option<Arc<Int64>>,
    ) -> Self {
        let source = match kind {
            StreamKind::Events => Source::Events(Parser::resuming(limits, last_event_id)),
            StreamKind::Lines => Source::Lines(LineParser::new(limits)),
        };
        Self {
            source,
            writer: Writer::new(int64),
            failure: None,
        }
    }

    /// The server is one of ours: its events are envelopes, and an event called `error` is why there are no more.
    pub(super) fn open_envelopes(&mut self) {
        self.writer.opens_envelopes = true;
    }

    /// Reads a piece of the stream.
    pub(super) fn push(&mut self, piece: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        let writer = &mut self.writer;
        let read = match &mut self.source {
            Source::Events(parser) => parser
                .push(piece, &mut |event| writer.event(&event))
                .map_err(CallError::from),
            Source::Lines(parser) => parser.push(piece, &mut |line| writer.line(line)),
        };
        self.failure = read.err().or_else(|| writer.reported_error.take());
    }

    /// The connection has ended. An unfinished event is dropped; a last line without a line end
    /// counts.
    pub(super) fn finish(&mut self) {
        let writer = &mut self.writer;
        match &mut self.source {
            Source::Events(parser) => parser.finish(),
            Source::Lines(parser) if self.failure.is_none() => {
                self.failure = parser.finish(&mut |line| writer.line(line)).err();
            }
            Source::Lines(_) => {}
        }
    }

    /// Another response follows. The reader of its batches has not seen the type and the id of earlier events.
    pub(super) fn begin_again(&mut self) {
        self.writer.last_type = Cow::Borrowed(DEFAULT_EVENT_TYPE);
        self.writer.last_id = Arc::from("");
    }

    /// What is ready, if anything is.
    pub(super) fn take(&mut self) -> Option<String> {
        self.writer.take()
    }

    /// Why the stream cannot be read on. Returned once, and after everything that came before it.
    pub(super) fn take_failure(&mut self) -> Option<CallError> {
        self.failure.take()
    }

    pub(super) fn is_full(&self) -> bool {
        self.failure.is_some()
            || self.writer.text.len() >= FULL_BYTES
            || self.writer.events >= FULL_EVENTS
    }

    pub(super) fn kind(&self) -> StreamKind {
        match self.source {
            Source::Events(_) => StreamKind::Events,
            Source::Lines(_) => StreamKind::Lines,
        }
    }

    pub(super) fn has_events(&self) -> bool {
        self.writer.events > 0
    }

    /// What to send as `Last-Event-ID` when connecting again.
    pub(super) fn last_event_id(&self) -> &str {
        match &self.source {
            Source::Events(parser) => parser.last_event_id(),
            Source::Lines(_) => "",
        }
    }

    /// What the stream last said in `retry:`.
    pub(super) fn reconnection_time(&self) -> Option<u64> {
        match &self.source {
            Source::Events(parser) => parser.reconnection_time(),
            Source::Lines(_) => None,
        }
    }
}

#[derive(Debug)]
struct Writer {
    text: String,
    events: usize,
    last_type: Cow<'static, str>,
    last_id: Arc<str>,
    int64: Option<Arc<Int64>>,
    remarks: Vec<(usize, Remarks)>,
    opens_envelopes: bool,
    /// The error that the server has reported.
    reported_error: Option<CallError>,
}

/// One value as a batch of lines.
pub(super) fn batch_of(value: &str, int64: Option<Arc<Int64>>) -> Option<String> {
    let mut writer = Writer::new(int64);
    writer.line(value);
    writer.take()
}

impl Writer {
    fn new(int64: Option<Arc<Int64>>) -> Self {
        Self {
            int64,
            remarks: Vec::new(),
            opens_envelopes: false,
            reported_error: None,
            text: String::new(),
            events: 0,
            last_type: Cow::Borrowed(DEFAULT_EVENT_TYPE),
            last_id: Arc::from(""),
        }
    }

    fn event(&mut self, event: &Event) {
        if self.reported_error.is_some() {
            return;
        }
        let opened = self
            .opens_envelopes
            .then(|| served::opened(&event.data))
            .flatten();
        if opened.is_none() && self.opens_envelopes && event.event == "error" {
            let problem = serde_json::from_str(&event.data).ok();
            self.reported_error = problem.as_ref().and_then(served::problem);
            if self.reported_error.is_some() {
                return;
            }
        }
        self.begin();
        if let Some(Opened { data, notes }) = opened {
            // What has no data stands for `undefined`, for which there is a remark.
            let is_undefined = data.is_none();
            let is_as_sent = !notes.is_empty();
            self.value(data.as_deref().unwrap_or("null"));
            if is_undefined || is_as_sent {
                self.remark(Remarks {
                    notes,
                    is_undefined,
                    is_as_sent,
                    ..Remarks::default()
                });
            }
        } else if is_json(&event.data) {
            self.value(&event.data);
        } else {
            push_string(&mut self.text, &event.data);
        }
        self.text.push(',');
        let same_id = Arc::ptr_eq(&self.last_id, &event.id) || self.last_id == event.id;
        if event.retry.is_none() && self.last_type == event.event {
            if same_id {
                self.text.push('0');
            } else {
                push_string(&mut self.text, &event.id);
                self.last_id = Arc::clone(&event.id);
            }
            return;
        }
        self.text.push('[');
        push_string(&mut self.text, &event.event);
        if !same_id {
            self.text.push(',');
            push_string(&mut self.text, &event.id);
        }
        if let Some(retry) = event.retry {
            if same_id {
                self.text.push_str(",null");
            }
            self.text.push(',');
            self.text.push_str(&retry.to_string());
        }
        self.text.push(']');
        self.last_type.clone_from(&event.event);
        self.last_id = Arc::clone(&event.id);
    }

    /// A line that is known to be JSON.
    fn line(&mut self, line: &str) {
        self.begin();
        self.value(line);
    }

    /// A value of the member that was begun last.
    fn value(&mut self, json: &str) {
        let (json, remarks) = keep_integers(Cow::Borrowed(json), self.int64.as_deref());
        self.text.push_str(&json);
        if !remarks.is_empty() {
            self.remarks.push((self.events - 1, remarks));
        }
    }

    /// Something to say about the member that was begun last.
    fn remark(&mut self, remarks: Remarks) {
        let member = self.events - 1;
        match self.remarks.last_mut() {
            Some((last, known)) if *last == member => {
                known.notes.extend(remarks.notes);
                known.is_undefined |= remarks.is_undefined;
                known.is_as_sent |= remarks.is_as_sent;
            }
            _ => self.remarks.push((member, remarks)),
        }
    }

    fn begin(&mut self) {
        self.text.push(if self.events == 0 { '[' } else { ',' });
        self.events += 1;
    }

    fn take(&mut self) -> Option<String> {
        if self.events == 0 {
            return None;
        }
        self.events = 0;
        let mut text = std::mem::take(&mut self.text);
        text.push(']');
        if !self.remarks.is_empty() {
            let remarks = std::mem::take(&mut self.remarks).into_iter();
            let remarks: Map<String, Value> = remarks
                .map(|(member, remarks)| (member.to_string(), json!(remarks)))
                .collect();
            text = format!(
                r#"{{"members":{text},"remarks":{}}}"#,
                Value::Object(remarks)
            );
        }
        // The next batch is likely to be about as large.
        self.text.reserve(text.len().min(FULL_BYTES));
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(kind: StreamKind, pieces: &[&str]) -> (Option<String>, Option<CallError>) {
        let mut feed = Feed::new(kind, Limits::default(), "", None);
        for piece in pieces {
            feed.push(piece.as_bytes());
        }
        feed.finish();
        (feed.take(), feed.take_failure())
    }

    #[test]
    fn data_that_is_json_stands_as_it_came() {
        let (text, _) = batch(
            StreamKind::Events,
            &["data: {\"a\": 1}\n\ndata: plain \"x\"\n\ndata: 1e999\n\ndata:\n\n"],
        );
        let expected = r#"[{"a": 1},0,"plain \"x\"",0,1e999,0,"",0]"#;
        assert_eq!(text.as_deref(), Some(expected));
    }

    #[test]
    fn type_id_and_retry_cross_when_they_change() {
        let (text, _) = batch(
            StreamKind::Events,
            &[
                "event: a\nid: 1\ndata: x\n\nevent: a\ndata: x\n\nevent: b\ndata: x\n\n",
                "event: b\nretry: 5\ndata: x\n\ndata: x\nid: 2\nretry: 7\n\n",
                "id: 3\ndata: x\n\nid\ndata: x\n\nid: 3\nevent: a\ndata: x\n\n",
            ],
        );
        let expected = concat!(
            r#"["x",["a","1"],"x",0,"x",["b"],"x",["b",null,5],"x",["message","2",7],"#,
            r#""x","3","x","","x",["a","3"]]"#
        );
        assert_eq!(text.as_deref(), Some(expected));
    }

    #[test]
    fn lines_are_values_and_the_last_needs_no_line_end() {
        let (text, failure) = batch(StreamKind::Lines, &["{\"a\":1}\r\n\n[2", "]\n\"x\""]);
        assert_eq!(text.as_deref(), Some(r#"[{"a":1},[2],"x"]"#));
        assert!(failure.is_none());
    }

    #[test]
    fn what_is_to_be_said_of_a_member_stands_beside_the_batch() {
        let (text, _) = batch(StreamKind::Lines, &["1\n[9007199254740993]\n2\n"]);
        let text = text.unwrap_or_default();
        let begin = r#"{"members":[1,[9007199254740993],2],"remarks":{"1":{"notes":[{"path":"/0","#;
        assert!(text.starts_with(begin), "{text}");
    }

    #[test]
    fn what_came_before_a_failure_is_not_lost() {
        let (text, failure) = batch(StreamKind::Lines, &["1\n2\noops\n3\n"]);
        assert_eq!(text.as_deref(), Some("[1,2]"));
        let message = failure.map(|error| error.message).unwrap_or_default();
        assert!(message.contains("line 3"), "{message}");
    }
}
