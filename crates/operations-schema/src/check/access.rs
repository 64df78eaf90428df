//! Access to values, and paying for it: every read of a walk goes through here.

use num_bigint::BigInt;

use super::walk::Walk;
use crate::ir::{ConstId, FormatId, Key, KeyId, PatternId};
use crate::value_access::{Class, Name, OwnKeys, Result, ValueAccess};

/// How many bytes of a text are looked through for one unit of work.
const BYTES_PER_UNIT: usize = 16;

impl<'p, A: ValueAccess> Walk<'p, '_, A> {
    pub(crate) fn class(&mut self, value: A::Value) -> Result<Class> {
        self.spend(A::PRICES.classify)?;
        self.access.classify(value)
    }

    pub(crate) fn is_undefined(&mut self, value: A::Value) -> Result<bool> {
        self.access.is_undefined(value)
    }

    pub(crate) fn name(&self, id: KeyId) -> Name<'p> {
        static NOTHING: std::sync::LazyLock<Key> = std::sync::LazyLock::new(|| Key::new(""));
        Name {
            id,
            key: self.program.keys().get(id.index()).unwrap_or(&NOTHING),
        }
    }

    pub(crate) fn get(&mut self, value: A::Value, key: KeyId) -> Result<A::Value> {
        self.spend(A::PRICES.read)?;
        let name = self.name(key);
        self.access.get(value, name)
    }

    pub(crate) fn has(&mut self, value: A::Value, key: KeyId) -> Result<bool> {
        self.spend(A::PRICES.read)?;
        let name = self.name(key);
        self.access.has(value, name)
    }

    pub(crate) fn has_own(&mut self, value: A::Value, key: KeyId) -> Result<bool> {
        self.spend(A::PRICES.read)?;
        let name = self.name(key);
        self.access.has_own(value, name)
    }

    pub(crate) fn array_length(&mut self, array: A::Value) -> Result<usize> {
        self.spend(A::PRICES.classify)?;
        self.access.array_length(array)
    }

    pub(crate) fn element(&mut self, array: A::Value, index: usize) -> Result<A::Value> {
        self.spend(A::PRICES.read)?;
        self.access.element(array, index)
    }

    /// The own keys of an object.
    pub(crate) fn keys(&mut self, object: A::Value, which: OwnKeys) -> Result<A::Keys> {
        self.spend(A::PRICES.read)?;
        let keys = self.access.own_keys(object, which)?;
        self.spend(A::PRICES.list.saturating_mul(A::listed(&keys) as u64))?;
        Ok(keys)
    }

    pub(crate) fn next_key(&mut self, keys: &mut A::Keys) -> Result<Option<A::Key>> {
        self.spend(A::PRICES.read)?;
        self.access.next_key(keys)
    }

    pub(crate) fn count_keys(&mut self, object: A::Value, which: OwnKeys) -> Result<usize> {
        self.spend(A::PRICES.read)?;
        let count = self.access.count_keys(object, which)?;
        self.spend(A::PRICES.list.saturating_mul(count as u64))?;
        Ok(count)
    }

    pub(crate) fn by_key(&mut self, object: A::Value, key: A::Key) -> Result<A::Value> {
        self.spend(A::PRICES.read)?;
        self.access.get_by_key(object, key)
    }

    pub(crate) fn own_by_key(&mut self, other: A::Value, key: A::Key) -> Result<Option<A::Value>> {
        self.spend(A::PRICES.read)?;
        self.access.own_by_key(other, key)
    }

    /// Lends the text of a key.
    pub(crate) fn key_text<R>(&mut self, key: A::Key, read: impl FnOnce(&str) -> R) -> Result<R> {
        let mut bytes = 0;
        let result = self.access.with_key(key, |text| {
            bytes = text.len();
            read(text)
        })?;
        self.pay_for_text(bytes)?;
        Ok(result)
    }

    /// Lends the text of a string to something that looks through it once.
    pub(crate) fn text<R>(&mut self, string: A::Value, read: impl FnOnce(&str) -> R) -> Result<R> {
        let mut bytes = 0;
        let result = self.access.with_str(string, |text| {
            bytes = text.len();
            read(text)
        })?;
        self.pay_for_text(bytes)?;
        Ok(result)
    }

    fn pay_for_text(&mut self, bytes: usize) -> Result<()> {
        self.spend((bytes / BYTES_PER_UNIT) as u64 + A::PRICES.text * (bytes as u64 / 64 + 1))
    }

    /// The length of a string in UTF-16 units.
    pub(crate) fn utf16_length(&mut self, string: A::Value) -> Result<usize> {
        let length = self.access.utf16_length(string)?;
        self.spend(A::PRICES.classify + (length / BYTES_PER_UNIT) as u64)?;
        Ok(length)
    }

    pub(crate) fn date(&mut self, object: A::Value) -> Result<Option<f64>> {
        self.spend(A::PRICES.ask)?;
        self.access.date(object)
    }

    pub(crate) fn uint8_array(&mut self, object: A::Value) -> Result<Option<usize>> {
        self.spend(A::PRICES.ask)?;
        self.access.uint8_array(object)
    }

    pub(crate) fn bigint_value(&mut self, bigint: A::Value) -> Result<BigInt> {
        self.spend(A::PRICES.ask)?;
        let number = self.access.bigint(bigint)?;
        // Writing it in digits and reading them takes time in the square of their number.
        let words = number.bits() / 64;
        self.spend(words.saturating_mul(words))?;
        Ok(number)
    }

    /// Whether a pattern of the program matches a string or a key.
    pub(crate) fn matches(&mut self, value: A::Value, id: PatternId) -> Result<bool> {
        self.spend(A::PRICES.ask)?;
        let program = self.program;
        match program.pattern(id) {
            Some(pattern) => self.access.matches(value, id, pattern, &mut self.budget),
            None => Ok(false),
        }
    }

    /// Strict equality with a live value of the schema.
    pub(crate) fn same_slot(&mut self, value: A::Value, slot: u32) -> Result<bool> {
        self.spend(A::PRICES.ask)?;
        self.access.same_slot(value, slot)
    }

    /// Strict equality with a constant of the program.
    pub(crate) fn same(&mut self, value: A::Value, id: ConstId) -> Result<bool> {
        self.spend(A::PRICES.classify)?;
        let program = self.program;
        self.access.same(value, id, program.constant(id))
    }

    /// Whether a string has a format: the user's registered formats decide first, then ours, and
    /// an unknown format says nothing.
    pub(crate) fn has_format(&mut self, value: A::Value, id: FormatId) -> Result<bool> {
        let program = self.program;
        let Some(format) = program.format(id) else {
            return Ok(true);
        };
        self.spend(A::PRICES.ask)?;
        if let Some(answer) = self.access.custom_format(value, id, format)? {
            return Ok(answer);
        }
        let Some(known) = format.known else {
            return Ok(true);
        };
        let budget = &mut self.budget;
        let verdict = self
            .access
            .with_str(value, |text| known.accepts_within(text, budget))?;
        Ok(verdict?)
    }
}
