//! Mailbox items, and how they are written.

use std::fmt::{self, Write as _};

use operations_schema::json::push_string;
use serde_json::json;

use crate::error::CallError;

/// What a waiting item costs beside its text.
const OVERHEAD: usize = 64;

/// What an item says about the one that it is for. The numbers are those of `facade/interop/inbox.ts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Work has ended, and this is its result.
    Done = 0,
    /// Work has failed.
    Failed = 1,
    /// Something on the way: an event of a stream, a message, a sign of progress.
    Event = 2,
    /// A stream has ended.
    Ended = 3,
    /// Something can be taken elsewhere.
    Ready = 4,
    /// JavaScript is asked for something.
    Asked = 5,
    /// What JavaScript was asked for is no longer wanted.
    Aborted = 6,
    /// What was paused may go on.
    GoOn = 7,
    /// Something may have been missed.
    Lost = 8,
    /// The newest state of something.
    Changed = 9,
}

/// Whom an item is for: a number that JavaScript gave, or a name.
#[derive(Debug, Clone, Copy)]
pub enum Address<'a> {
    /// Work under a number.
    Number(u32),
    /// A request id, the type of an event.
    Name(&'a str),
}

impl From<u32> for Address<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

impl<'a, S: AsRef<str> + ?Sized> From<&'a S> for Address<'a> {
    fn from(name: &'a S) -> Self {
        Self::Name(name.as_ref())
    }
}

/// What goes beside the JSON: in a result it becomes `data`, in the details of an error `body`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// A text that would have to be escaped.
    Text(String),
    /// JSON that is parsed by itself: `JSON.parse` is slower on one text with many large values in it than on each.
    Json(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// One thing to report.
#[derive(Clone, PartialEq, Eq)]
pub struct Item {
    kind: Kind,
    /// A batch of this one item: most batches are.
    pub(super) text: String,
    attachment: Option<Attachment>,
}

/// How a batch begins and ends. In place of the digit, `1` says that more is to be taken.
const BEGIN: &str = "[0,";
const END: &str = "]";

impl Item {
    /// Work has ended with this result, which must be JSON. So in all others that have a value.
    #[must_use]
    pub fn done<'a>(to: impl Into<Address<'a>>, value: &str) -> Self {
        Self::checked(Kind::Done, to.into(), value)
    }

    /// Something on the way: an event of a stream, a message, a sign of progress.
    #[must_use]
    pub fn event<'a>(to: impl Into<Address<'a>>, value: &str) -> Self {
        Self::checked(Kind::Event, to.into(), value)
    }

    /// A stream has ended.
    #[must_use]
    pub fn ended<'a>(to: impl Into<Address<'a>>) -> Self {
        Self::write(Kind::Ended, to.into(), "")
    }

    /// Something can be taken elsewhere.
    #[must_use]
    pub fn ready<'a>(to: impl Into<Address<'a>>) -> Self {
        Self::write(Kind::Ready, to.into(), "")
    }

    /// JavaScript is asked for something.
    #[must_use]
    pub fn asked<'a>(to: impl Into<Address<'a>>, value: &str) -> Self {
        Self::checked(Kind::Asked, to.into(), value)
    }

    /// What JavaScript was asked for is no longer wanted.
    #[must_use]
    pub fn aborted<'a>(to: impl Into<Address<'a>>) -> Self {
        Self::write(Kind::Aborted, to.into(), "")
    }

    /// What was paused may go on.
    #[must_use]
    pub fn go_on<'a>(to: impl Into<Address<'a>>) -> Self {
        Self::write(Kind::GoOn, to.into(), "")
    }

    /// Something may have been missed.
    #[must_use]
    pub fn lost(reason: &str) -> Self {
        Self::checked(Kind::Lost, Address::Name(""), &json!(reason).to_string())
    }

    /// The newest state of something.
    pub(super) fn changed(what: &str, value: &str) -> Self {
        Self::checked(Kind::Changed, Address::Name(what), value)
    }

    fn checked(kind: Kind, to: Address<'_>, value: &str) -> Self {
        debug_assert!(
            serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok(),
            "one item that is no JSON would spoil the whole batch: {value}"
        );
        Self::write(kind, to, value)
    }

    /// An error.
    #[must_use]
    pub fn failed<'a>(to: impl Into<Address<'a>>, error: &CallError) -> Self {
        let text = serde_json::to_string(error).unwrap_or_else(|_| {
            // A code and a message are always JSON; details that are not are left out.
            let bare = CallError::new(error.code.clone(), error.message.clone());
            serde_json::to_string(&bare).unwrap_or_else(|_| "null".to_owned())
        });
        Self::write(Kind::Failed, to.into(), &text)
    }

    /// The item with something beside it.
    #[must_use]
    pub fn with(mut self, attachment: Attachment) -> Self {
        self.text.truncate(self.text.len() - "]]".len());
        self.text.push_str(match attachment {
            Attachment::Text(_) | Attachment::Bytes(_) => ",1]]",
            Attachment::Json(_) => ",2]]",
        });
        self.attachment = Some(attachment);
        self
    }

    fn write(kind: Kind, to: Address<'_>, value: &str) -> Self {
        let mut text = String::with_capacity(value.len() + OVERHEAD);
        text.push_str(BEGIN);
        text.push('[');
        text.push(char::from(b'0' + kind as u8));
        text.push(',');
        match to {
            // Writing to a string does not fail.
            Address::Number(number) => drop(write!(text, "{number}")),
            Address::Name(name) => push_string(&mut text, name),
        }
        if !value.is_empty() {
            text.push(',');
            text.push_str(value);
        }
        text.push_str("]]");
        Self {
            kind,
            text,
            attachment: None,
        }
    }

    /// What it says.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The item alone, for those who want no mailbox.
    #[must_use]
    pub fn into_batch(self) -> Batch {
        Batch {
            text: self.text,
            attachments: self.attachment.into_iter().collect(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let beside = match &self.attachment {
            None => 0,
            Some(Attachment::Text(text) | Attachment::Json(text)) => text.len(),
            Some(Attachment::Bytes(bytes)) => bytes.len(),
        };
        self.text.len() + beside + OVERHEAD
    }

    /// The item without what makes it a batch.
    fn inner(&self) -> &str {
        let end = self.text.len() - END.len();
        self.text.get(BEGIN.len()..end).unwrap_or_default()
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.inner())
    }
}

/// What is taken at a time.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    /// A JSON array: whether more is to be taken (1 or 0), and the items, each `[kind, to, value]`. One with a fourth
    /// member has the next of the attachments, which is JSON if that member is 2.
    pub text: String,
    /// What goes beside the text, in the order of the items.
    pub attachments: Vec<Attachment>,
}

impl Batch {
    pub(super) fn of(items: Vec<Item>, has_more: bool) -> Self {
        let more = if has_more { "1" } else { "0" };
        let mut items = items.into_iter();
        let Some(first) = items.next() else {
            return Self {
                text: format!("[{more}]"),
                attachments: Vec::new(),
            };
        };
        let room: usize = items.as_slice().iter().map(|item| item.text.len()).sum();
        let mut batch = first.into_batch();
        batch.text.replace_range(1..2, more);
        if room == 0 {
            return batch;
        }
        batch.text.truncate(batch.text.len() - END.len());
        batch.text.reserve(room);
        for item in items {
            batch.text.push(',');
            batch.text.push_str(item.inner());
            batch.attachments.extend(item.attachment);
        }
        batch.text.push_str(END);
        batch
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(batch: &Batch) -> Value {
        serde_json::from_str(&batch.text).expect("a batch is JSON")
    }

    #[test]
    fn the_kinds_have_their_numbers() {
        let kinds = [
            Kind::Done,
            Kind::Failed,
            Kind::Event,
            Kind::Ended,
            Kind::Ready,
            Kind::Asked,
            Kind::Aborted,
            Kind::GoOn,
            Kind::Lost,
            Kind::Changed,
        ];
        for (number, kind) in kinds.into_iter().enumerate() {
            assert_eq!(
                read(&Item::write(kind, Address::Number(0), "").into_batch())[1][0],
                json!(number)
            );
        }
    }

    #[test]
    fn names_are_escaped_and_values_are_kept_as_they_are() {
        let item = Item::event("a \"b\"\n\\ \u{1f389}", "{\"n\": 1.0}");
        assert_eq!(
            item.into_batch().text,
            "[0,[2,\"a \\\"b\\\"\\n\\\\ \u{1f389}\",{\"n\": 1.0}]]"
        );
    }

    #[test]
    fn an_error_is_its_code_message_and_details() {
        let error = CallError::new("C", "m").with_details(json!({ "a": 1 }));
        let batch = Item::failed(1, &error)
            .with(Attachment::Bytes(vec![1]))
            .into_batch();
        assert_eq!(
            read(&batch),
            json!([0, [1, 1, {"code": "C", "message": "m", "details": {"a": 1}}, 1]])
        );
    }
}
