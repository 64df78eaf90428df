//! The integration tests of this crate, in one binary: each binary costs a link of all dependencies.

mod choices;
mod hostile;
mod import;
mod schemas;
mod support;
