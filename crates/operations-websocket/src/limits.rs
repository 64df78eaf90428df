//! The bounds of a connection, in one place.

use std::time::Duration;

/// The version of what frames of type `hub.*` mean.
pub const PROTOCOL: u64 = 1;

/// Events of a stream that may be on their way to, or waiting for, its consumer, where both ends know of flow control.
pub const STREAM_WINDOW: u64 = 128;

/// Events of a stream that wait for a consumer here, where the other end knows nothing of flow control.
pub const WAITING_EVENTS: usize = 1_024;

/// Bytes of a stream's events that wait for a consumer here before no further event is taken.
pub const WAITING_BYTES: usize = 16 * 1024 * 1024;

/// Bytes that wait to be written before streams are to wait.
pub const STREAMS_WAIT: usize = 256 * 1024;

/// Bytes that wait to be written before the connection is ended: the other end does not read.
pub const MOST_BYTES_WAITING: usize = 64 * 1024 * 1024;

/// Frames that follow no protocol of ours before the connection is ended.
pub const MOST_MALFORMED: u64 = 100;

/// Calls of the other end that are worked on, or wait, at a time.
pub const MOST_CALLS: usize = 16_384;

/// Bytes of the calls of the other end that are worked on, or wait, at a time; at least one frame of the largest size.
pub const CALL_BYTES: usize = 32 * 1024 * 1024;

/// Calls that may wait for a connection; more are refused. The default.
pub const MOST_WAITING: usize = 100_000;

/// Bytes of one frame with a part of a list of operations.
pub const PAGE_BYTES: usize = 256 * 1024;

/// Bytes of a whole list of operations that was asked for.
pub const LIST_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of all offers of one connection that are not answered yet.
pub const OFFER_BYTES: usize = 32 * 1024 * 1024;

/// The same for all connections of a server together.
pub const ALL_OFFER_BYTES: usize = 256 * 1024 * 1024;

/// How long an offer may take from its first part to its last. The sender waits no longer for the response ([`PATIENCE`]).
pub const OFFER_TIME: Duration = PATIENCE;

/// Bytes of the id of a control request.
pub const LONGEST_ID: usize = 256;

/// Lists of operations that the other end may be sending at a time.
pub const MOST_LISTS: usize = 8;

/// Operations that the other end may offer. The default.
pub const MOST_OPERATIONS: usize = 10_000;

/// The largest frame, unless the user says otherwise.
pub const FRAME_BYTES: usize = 4 * 1024 * 1024;

/// How often the other end has to show that it is there, unless the user says otherwise. After two of these it is not.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a message of a hub may take from its first byte to its last.
pub const MESSAGE_TIME: Duration = PATIENCE;

/// How long the other end may take to read the last frame.
pub const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a connection may take to be made.
pub const CONNECTING: Duration = Duration::from_secs(10);

/// How long the other end may take to answer a control request.
pub const PATIENCE: Duration = Duration::from_secs(30);
