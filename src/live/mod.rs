//! Live JavaScript values, as the schema engine sees them.

mod build;
mod callbacks;
mod host;

pub(crate) use host::LiveHost;
