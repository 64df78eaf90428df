//! The limits that keep a schema or a value from outside from exhausting the process.
//!
//! Reaching one is an answer ([`crate::value_access::Limit`] or a compile error), never a crash.

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

/// What a check may cost when the schema may come from outside, in units of work of about ten
/// nanoseconds ([`crate::work::Budget`]): a tenth of a second.
pub const WORK_FROM_OUTSIDE: u64 = 10_000_000;

/// What a check may cost when the schema is made of TypeBox kinds alone: such a schema is a part of
/// the user's own program.
pub const WORK_OF_OWN: u64 = 100_000_000;

/// What it may cost for each value that the value consists of, once that is used up.
pub const WORK_PER_VALUE: u64 = 4_000;

/// How many values are counted at most to grant more work.
pub const MAX_COUNTED_VALUES: u64 = 10_000_000;

/// What the emitted code may cost in all, for the same tenth of a second: its units are of half the size.
pub const EMITTED_WORK: u64 = WORK_FROM_OUTSIDE * EMITTED_UNITS;

/// How many units of the emitted code are one of the walk's.
pub const EMITTED_UNITS: u64 = 2;

/// How often the emitted code of a schema of the user's own may call its functions.
pub const EMITTED_CALLS: u64 = 2_000_000;

/// How many times the work of a check a normalisation may take: it checks, too, and more than once.
pub const NORMALISE_FACTOR: u64 = 3;

/// How many errors are collected by default.
pub const DEFAULT_MAX_ERRORS: usize = 1000;

/// How long a message may get, in bytes: a literal or a pattern inside it can be huge.
pub const MAX_MESSAGE_BYTES: usize = 1024;
