//! Live JavaScript values, as the schema engine sees them.

mod access;
mod build;
mod callbacks;

pub(crate) use access::LiveAccess;
