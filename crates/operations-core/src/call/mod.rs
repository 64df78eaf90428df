//! The call protocol: its events as they travel, and what becomes of a request.
//!
//! Nothing here does I/O or reads a clock: transports hand in what arrived and what time it is, and get back what
//! to do. The process-internal protocol of the facade (`facade/call/`) has a machine of its own, because crossing
//! into Rust for each event costs more than it saves; a test runs both on the same random histories.

mod delivery;
mod events;
mod input;
mod outcome;
mod pending;
pub mod status;
pub mod submission;
mod timers;
mod wire;

pub use delivery::{
    TooLarge, answered, cannot_be_sent, lost, may_have_run, output_cannot_be_sent, with_delivery,
};
pub use events::{CallEvent, EventType, Refusal, Refused, RequestedEvent, is_request_id};
pub use input::{check_input, invalid_input, not_held};
pub use outcome::{
    malformed_answer, timed_out, too_slow, took_too_long, was_aborted, was_silent, without_response,
};
pub use pending::{Answer, Effect, Kind, PendingRequests, Request};
pub(crate) use wire::is_wire_text;
pub use wire::{OUTPUT_REFUSED, holds_bytes, wire_bytes, wire_text};
