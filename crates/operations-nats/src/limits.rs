//! The bounds and periods of the transport, in one place. Times are in milliseconds.

/// How often peers are asked whether they are there, and parked requests are asked for again.
pub const TICK: f64 = 500.0;

/// A peer of which the broker says that it is not there is given this long to come back (it may be on its way
/// back to a broker that was restarted).
pub const GONE_WHEN_ABSENT: f64 = 2_500.0;

/// A peer that says nothing, although the broker knows it, is given this long.
pub const GONE_WHEN_SILENT: f64 = 6_000.0;

/// How long a request may be without a word from a worker that it has arrived.
pub const CONFIRMATION: f64 = 5_000.0;

/// How long a request waits for a connection that is lost.
pub const RECONNECTION: f64 = 10_000.0;

/// For this long after a reconnection, an operation without workers may be one whose workers are on their
/// way back.
pub const WORKERS_RETURN: f64 = 3_000.0;

/// A worker confirms that it has taken a call after this long, unless it has answered it by then.
pub const TAKEN_DELAY: f64 = 10.0;

/// How long a worker keeps a free slot for the caller that it was promised to.
pub const RESERVATION: f64 = 2_000.0;

/// JavaScript whose event loop has not turned for this long gets no new calls.
pub const HOST_STALLED: f64 = 1_000.0;

/// After this long, calls that it has not begun with go to other workers.
pub const HOST_GIVES_BACK: f64 = 2_000.0;

/// Requests for one operation that were sent and not confirmed. More of them wait here, not at the workers.
pub const UNCONFIRMED: usize = 256;

/// Requests that may wait at a caller for a slot or for a connection; more are refused. The default.
pub const WAITING: usize = 100_000;

/// Ids in one question whether they are known.
pub const IDS_PER_PING: usize = 1_000;

/// Callers (times operations) that a worker remembers as waiting for it. Others ask again by themselves.
pub const REMEMBERED: usize = 4_096;

/// Notices that may wait to be sent. Beyond it they are dropped: every one of them is repeated or made up for.
pub const WAITING_NOTICES: usize = 65_536;

/// The longest operation id, escaped, that fits into a subject.
pub const SUBJECT_TOKEN: usize = 1_024;

/// Events of a stream that may be on their way to, or waiting for, its consumer.
pub const STREAM_WINDOW: u64 = 128;

/// Bytes of operations in one message of a worker about itself, where the broker takes as much.
pub const LIST_BYTES: usize = 256 * 1024;

/// What such a message has beside them, at most.
pub const LIST_HEAD: usize = 2 * 1024;

/// Bytes that a worker sends about its operations in one tick. A question is short and its answer long: who asks more often
/// gets no answer.
pub const MAX_LISTED_BYTES: usize = 64 * 1024 * 1024;

/// Questions what is served whose senders are being verified.
pub const MOST_VERIFYING: usize = 256;

/// Of the name of a worker, this many characters are shown.
pub const LONGEST_NAME: usize = 128;
