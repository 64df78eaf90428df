//! Randomness for pauses. Nothing secret depends on it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A number from 0 up to 1.
pub(crate) fn fraction() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
