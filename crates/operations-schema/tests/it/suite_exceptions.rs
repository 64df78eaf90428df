//! Cases of the official suite that are known not to hold, each with its reason.

/// File, group, case (`*` for all of the group), reason.
pub(crate) type Exception = (&'static str, &'static str, &'static str, &'static str);

pub(crate) const EXCEPTIONS: &[Exception] = &[];
