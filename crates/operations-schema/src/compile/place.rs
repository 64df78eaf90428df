//! Schema locations as map keys: the address of the source is its identity while compiling.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::source::Source;

/// A map by schema location.
pub(super) type PlaceMap<V> = HashMap<usize, V, BuildHasherDefault<PlaceHasher>>;

/// The location of a source that outlives the compilation.
pub(super) fn place_of(source: &Source<'_>) -> usize {
    std::ptr::from_ref(source).addr()
}

/// Addresses are spread already; a multiplication mixes them enough.
#[derive(Default)]
pub(super) struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}
