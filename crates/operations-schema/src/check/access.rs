//! Asking the host, and paying for it: whatever a walk wants to know of a value, it asks here.

use num_bigint::BigInt;

use super::walk::Walk;
use crate::host::{Class, Host, Name, OwnKeys, Result};
use crate::ir::{ConstId, FormatId, Key, KeyId, PatternId};

/// How many bytes of a text are looked through for one unit of work.
const BYTES_PER_UNIT: usize = 16;

impl<'p, H: Host> Walk<'p, '_, H> {
    pub(crate) fn class(&mut self, value: H::Value) -> Result<Class> {
        self.spend(H::PRICES.look)?;
        self.host.classify(value)
    }

    pub(crate) fn is_undefined(&mut self, value: H::Value) -> Result<bool> {
        self.host.is_undefined(value)
    }

    pub(crate) fn name(&self, id: KeyId) -> Name<'p> {
        static NOTHING: std::sync::LazyLock<Key> = std::sync::LazyLock::new(|| Key::new(""));
        Name {
            id,
            key: self.program.keys().get(id.index()).unwrap_or(&NOTHING),
        }
    }

    pub(crate) fn get(&mut self, value: H::Value, key: KeyId) -> Result<H::Value> {
        self.spend(H::PRICES.read)?;
        let name = self.name(key);
        self.host.get(value, name)
    }

    pub(crate) fn has(&mut self, value: H::Value, key: KeyId) -> Result<bool> {
        self.spend(H::PRICES.read)?;
        let name = self.name(key);
        self.host.has(value, name)
    }

    pub(crate) fn has_own(&mut self, value: H::Value, key: KeyId) -> Result<bool> {
        self.spend(H::PRICES.read)?;
        let name = self.name(key);
        self.host.has_own(value, name)
    }

    pub(crate) fn array_length(&mut self, array: H::Value) -> Result<usize> {
        self.spend(H::PRICES.look)?;
        self.host.array_length(array)
    }

    pub(crate) fn element(&mut self, array: H::Value, index: usize) -> Result<H::Value> {
        self.spend(H::PRICES.read)?;
        self.host.element(array, index)
    }

    /// The own keys of an object.
    pub(crate) fn keys(&mut self, object: H::Value, which: OwnKeys) -> Result<H::Keys> {
        self.spend(H::PRICES.read)?;
        let keys = self.host.own_keys(object, which)?;
        self.spend(H::PRICES.list.saturating_mul(H::listed(&keys) as u64))?;
        Ok(keys)
    }

    pub(crate) fn next_key(&mut self, keys: &mut H::Keys) -> Result<Option<H::Key>> {
        self.spend(H::PRICES.read)?;
        self.host.next_key(keys)
    }

    pub(crate) fn count_keys(&mut self, object: H::Value, which: OwnKeys) -> Result<usize> {
        self.spend(H::PRICES.read)?;
        let count = self.host.count_keys(object, which)?;
        self.spend(H::PRICES.list.saturating_mul(count as u64))?;
        Ok(count)
    }

    pub(crate) fn by_key(&mut self, object: H::Value, key: H::Key) -> Result<H::Value> {
        self.spend(H::PRICES.read)?;
        self.host.get_by_key(object, key)
    }

    pub(crate) fn own_by_key(&mut self, other: H::Value, key: H::Key) -> Result<Option<H::Value>> {
        self.spend(H::PRICES.read)?;
        self.host.own_by_key(other, key)
    }

    /// Lends the text of a key.
    pub(crate) fn key_text<R>(&mut self, key: H::Key, read: impl FnOnce(&str) -> R) -> Result<R> {
        let mut bytes = 0;
        let result = self.host.with_key(key, |text| {
            bytes = text.len();
            read(text)
        })?;
        self.pay_for_text(bytes)?;
        Ok(result)
    }

    /// Lends the text of a string to something that looks through it once.
    pub(crate) fn text<R>(&mut self, string: H::Value, read: impl FnOnce(&str) -> R) -> Result<R> {
        let mut bytes = 0;
        let result = self.host.with_str(string, |text| {
            bytes = text.len();
            read(text)
        })?;
        self.pay_for_text(bytes)?;
        Ok(result)
    }

    fn pay_for_text(&mut self, bytes: usize) -> Result<()> {
        self.spend((bytes / BYTES_PER_UNIT) as u64 + H::PRICES.text * (bytes as u64 / 64 + 1))
    }

    /// The length of a string in UTF-16 units.
    pub(crate) fn utf16_length(&mut self, string: H::Value) -> Result<usize> {
        let length = self.host.utf16_length(string)?;
        self.spend(H::PRICES.look + (length / BYTES_PER_UNIT) as u64)?;
        Ok(length)
    }

    pub(crate) fn date(&mut self, object: H::Value) -> Result<Option<f64>> {
        self.spend(H::PRICES.ask)?;
        self.host.date(object)
    }

    pub(crate) fn uint8_array(&mut self, object: H::Value) -> Result<Option<usize>> {
        self.spend(H::PRICES.ask)?;
        self.host.uint8_array(object)
    }

    pub(crate) fn bigint_value(&mut self, bigint: H::Value) -> Result<BigInt> {
        self.spend(H::PRICES.ask)?;
        let number = self.host.bigint(bigint)?;
        // Writing it in digits and reading them takes time in the square of their number.
        let words = number.bits() / 64;
        self.spend(words.saturating_mul(words))?;
        Ok(number)
    }

    /// Whether a pattern of the program matches a string or a key.
    pub(crate) fn matches(&mut self, value: H::Value, id: PatternId) -> Result<bool> {
        self.spend(H::PRICES.ask)?;
        let program = self.program;
        match program.pattern(id) {
            Some(pattern) => self.host.matches(value, id, pattern, &mut self.budget),
            None => Ok(false),
        }
    }

    /// Strict equality with a live value of the schema.
    pub(crate) fn same_slot(&mut self, value: H::Value, slot: u32) -> Result<bool> {
        self.spend(H::PRICES.ask)?;
        self.host.same_slot(value, slot)
    }

    /// Strict equality with a constant of the program.
    pub(crate) fn same(&mut self, value: H::Value, id: ConstId) -> Result<bool> {
        self.spend(H::PRICES.look)?;
        let program = self.program;
        self.host.same(value, id, program.constant(id))
    }

    /// Whether a string has a format: the user's registered formats decide first, then ours, and
    /// an unknown format says nothing.
    pub(crate) fn has_format(&mut self, value: H::Value, id: FormatId) -> Result<bool> {
        let program = self.program;
        let Some(format) = program.format(id) else {
            return Ok(true);
        };
        self.spend(H::PRICES.ask)?;
        if let Some(answer) = self.host.custom_format(value, id, format)? {
            return Ok(answer);
        }
        let Some(known) = format.known else {
            return Ok(true);
        };
        let budget = &mut self.budget;
        let verdict = self
            .host
            .with_str(value, |text| known.accepts_within(text, budget))?;
        Ok(verdict?)
    }
}
