//! What JavaScript hands over in one piece: all that it has called, or answered, in one turn of its event loop.
//! One line for each; JSON that `JSON.stringify` has written has no line breaks and no tabs in it.

use super::Kind;

/// A request of JavaScript's.
#[derive(Debug)]
pub struct NewRequest {
    /// Correlates it; a token.
    pub id: String,
    /// What is called.
    pub operation_id: String,
    /// The payload of `call.requested`, without a deadline.
    pub payload: String,
    /// How it is consumed.
    pub kind: Kind,
}

impl NewRequest {
    /// A subscription, whose events are sent as they are consumed.
    #[must_use]
    pub fn subscription(
        id: String,
        operation_id: String,
        payload: String,
        idle_timeout: Option<f64>,
    ) -> Self {
        let kind = Kind::Subscription {
            idle_timeout,
            paced: true,
        };
        Self {
            id,
            operation_id,
            payload,
            kind,
        }
    }
}

/// Calls: the id, the operation's id as JSON, the deadline or nothing, the payload.
pub fn calls(text: &str) -> impl Iterator<Item = NewRequest> {
    text.split('\n').filter_map(|line| {
        let mut parts = line.splitn(4, '\t');
        let (id, operation, deadline, payload) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(NewRequest {
            id: id.to_owned(),
            // What is no text for Rust (a lone surrogate) is refused with the payload; this is for the message.
            operation_id: serde_json::from_str(operation).unwrap_or_else(|_| operation.to_owned()),
            payload: payload.to_owned(),
            kind: Kind::Call {
                deadline: deadline.parse().ok(),
            },
        })
    })
}

/// What came of a call that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// An answer, as JSON.
    Answer(&'a str),
    /// An answer, as JSON, and the work is over.
    Last(&'a str),
    /// The work is over.
    Finished,
}

/// Outcomes: the id, a tab and the answer; two tabs, if the work is over with it; or the id alone.
pub fn outcomes(text: &str) -> impl Iterator<Item = (&str, Outcome<'_>)> {
    text.split('\n').map(|line| match line.split_once('\t') {
        Some((id, output)) => match output.strip_prefix('\t') {
            Some(output) => (id, Outcome::Last(output)),
            None => (id, Outcome::Answer(output)),
        },
        None => (line, Outcome::Finished),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read() {
        let text =
            "a\t\"x.\\n\"\t\t{\"input\":1}\nb\t\"y\"\t12.5\t{}\nc\t\"\\ud800\"\tNaN\t{}\nshort";
        let read: Vec<_> = calls(text).collect();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].operation_id, "x.\n");
        assert_eq!(read[0].payload, "{\"input\":1}");
        assert_eq!(read[0].kind, Kind::Call { deadline: None });
        assert_eq!(
            read[1].kind,
            Kind::Call {
                deadline: Some(12.5)
            }
        );
        assert_eq!(read[2].operation_id, "\"\\ud800\"");
        assert!(matches!(read[2].kind, Kind::Call { deadline: Some(at) } if at.is_nan()));
    }

    #[test]
    fn outcomes_are_read() {
        let read: Vec<_> = outcomes("a\t{\"data\":1}\na\nb\nc\t\t{}").collect();
        assert_eq!(
            read,
            [
                ("a", Outcome::Answer("{\"data\":1}")),
                ("a", Outcome::Finished),
                ("b", Outcome::Finished),
                ("c", Outcome::Last("{}"))
            ]
        );
    }
}
