//! Random numbers for tests that need no fuzzer, from a seed that they print.

use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator of random numbers (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that always says the same for a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below a limit; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The upper bits are the better ones; 32 of them fit into any `usize`.
        let number = usize::try_from(self.number() >> 32).unwrap_or_default();
        number.checked_rem(limit).unwrap_or_default()
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let position = self.below(from.len());
        from.get(position)
            .unwrap_or_else(|| panic!("nothing to pick from"))
    }
}

/// The seed of this run: `OPERATIONS_SEED`, or a new one.
#[must_use]
pub fn seed() -> u64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).ok();
    setting("OPERATIONS_SEED")
        .or_else(|| Some(u64::from(now()?.subsec_nanos())))
        .unwrap_or(1)
}

/// A number in the environment.
#[must_use]
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
