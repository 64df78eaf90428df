//! The integration tests of this crate, in one binary: each binary costs a link of all dependencies.

mod registry;
mod shared_cases;
