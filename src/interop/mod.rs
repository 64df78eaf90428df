//! The boundary between JavaScript and native code: everything that is the same for every capability.
//!
//! Calls go in through `#[napi]` functions; what comes of them goes back through a [`mailbox`], whose JavaScript side is
//! `facade/interop/`.

pub(crate) mod bridge;
pub(crate) mod mailbox;
#[expect(
    unsafe_code,
    reason = "the one place that calls Node-API directly; each block says why it is sound"
)]
pub(crate) mod raw;
pub(crate) mod runtime;
pub(crate) mod tasks;
pub(crate) mod wake;
