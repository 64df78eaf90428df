//! The limits that keep a schema or a value from outside from exhausting the process.
//!
//! Reaching one is an answer ([`crate::host::Limit`] or a compile error), never a crash.

/// How many containers deep a walk goes into a value. The emitted code uses the same number.
pub const MAX_VALUE_DEPTH: u32 = 512;

/// How many rules may be open at once on the way down: unions and the like stay on the same value,
/// so this bounds loops that never descend, and with them the stack (a thread may have no more than
/// 1 MiB). Without optimisation a rule takes several times the stack.
pub const MAX_OPEN_RULES: u32 = if cfg!(unoptimised) { 300 } else { 1200 };

/// How deep a schema document may be nested.
pub const MAX_SCHEMA_DEPTH: u32 = 512;

/// How many schema locations a program may have.
pub const MAX_NODES: usize = 1_000_000;

/// How many characters of schema text are read at most.
pub const MAX_SCHEMA_TEXT: usize = 256 * 1024 * 1024;

/// How many rules a walk may visit whatever the value is.
pub const BASE_STEPS: u64 = 2_000_000;

/// How many rules a walk may visit per node of the value, once the base is used up.
pub const STEPS_PER_VALUE_NODE: u64 = 200;

/// How many nodes of a value are counted at most to grant more steps.
pub const MAX_COUNTED_VALUE_NODES: u64 = 10_000_000;

/// How many errors are collected by default.
pub const DEFAULT_MAX_ERRORS: usize = 1000;

/// How long a message may get, in bytes: a literal or a pattern inside it can be huge.
pub const MAX_MESSAGE_BYTES: usize = 1024;
