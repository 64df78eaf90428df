//! Reading live values.

use num_bigint::BigInt;
use operations_core::number;
use operations_schema::ir::{Format, FormatId, KindNode, PatternId};
use operations_schema::patterns::{Dialect, Pattern};
use operations_schema::value_access::{
    Class, Interrupt, Name, OwnKeys, Prices, Result, ValueAccess,
};
use operations_schema::work::Budget;

use crate::interop::raw::{Handle, Pending, Raw, Scope, TypeOf};

/// Access to live JavaScript values, for the time of one call.
pub(crate) struct LiveAccess<'call> {
    pub(super) raw: Raw,
    pub(super) callbacks: Handle,
    /// What went wrong in Node-API, if that is why the walk was interrupted.
    pending: Option<Pending>,
    /// The text of the string that is being read.
    buffer: Vec<u8>,
    undefined: Handle,
    /// The name `length`.
    length: Handle,
    call: std::marker::PhantomData<&'call ()>,
}

/// A length that JavaScript returned. A proxy may return anything: what is no length reads as none, or as the
/// largest there is.
fn whole(length: f64) -> usize {
    number::size(length.min(f64::from(u32::MAX)))
}

/// The own keys of an object while they are walked over.
pub(crate) struct LiveKeys {
    list: Handle,
    length: usize,
    next: usize,
}

impl LiveAccess<'_> {
    pub(crate) fn new(raw: Raw, callbacks: Handle) -> Result<Self, Pending> {
        Ok(Self {
            raw,
            callbacks,
            pending: None,
            buffer: Vec::new(),
            undefined: raw.undefined()?,
            length: raw.string("length")?,
            call: std::marker::PhantomData,
        })
    }

    /// Remembers why Node-API refused; the walk ends there.
    pub(super) fn keep<T>(&mut self, outcome: Result<T, Pending>) -> Result<T> {
        outcome.map_err(|pending| {
            self.pending = Some(pending);
            Interrupt::Thrown
        })
    }

    /// Why the walk was interrupted by the user's code or by Node-API.
    pub(crate) fn take_pending(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    pub(super) fn undefined_handle(&self) -> Handle {
        self.undefined
    }

    fn read(&mut self, string: Handle) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = self.raw.read_string(string, &mut buffer);
        self.buffer = buffer;
        self.keep(outcome)
    }

    fn lend<R>(&mut self, string: Handle, read: impl FnOnce(&str) -> R) -> Result<R> {
        self.read(string)?;
        Ok(read(&String::from_utf8_lossy(&self.buffer)))
    }

    /// Whether an object that is no array to Node-API is one to JavaScript: a proxy of an array. Only
    /// JavaScript knows, and it is asked only where the object has a `length` of its own.
    fn is_proxied_array(&mut self, value: Handle) -> Result<bool> {
        let has_length = self.raw.has_own(value, self.length);
        Ok(self.keep(has_length)? && self.ask_bool("isArray", &[value])? == Some(true))
    }

    fn name(&mut self, name: Name<'_>) -> Result<Handle> {
        let handle = self.raw.string(&name.key.text);
        self.keep(handle)
    }
}

impl ValueAccess for LiveAccess<'_> {
    /// Each answer is one or more calls into the engine, of 15 to 130 ns.
    const PRICES: Prices = Prices {
        rule: 6,
        classify: 6,
        read: 50,
        list: 40,
        text: 10,
        ask: 60,
    };

    type Value = Handle;
    type Key = Handle;
    type Keys = LiveKeys;
    type Scope = Scope;

    fn classify(&mut self, value: Handle) -> Result<Class> {
        let raw = self.raw;
        let class = raw.type_of(value).and_then(|kind| {
            Ok(match kind {
                TypeOf::Undefined => Class::Undefined,
                TypeOf::Null => Class::Null,
                TypeOf::Boolean => Class::Bool(raw.bool_value(value)?),
                TypeOf::Number => Class::Number(raw.number_value(value)?),
                TypeOf::BigInt => Class::BigInt,
                TypeOf::String => Class::String,
                TypeOf::Symbol => Class::Symbol,
                TypeOf::Function => Class::Function,
                TypeOf::Object if raw.is_array(value)? => Class::Array,
                TypeOf::Object => Class::Object,
            })
        });
        let class = self.keep(class)?;
        if class == Class::Object && self.is_proxied_array(value)? {
            return Ok(Class::Array);
        }
        Ok(class)
    }

    fn undefined(&mut self) -> Handle {
        self.undefined
    }

    fn is_undefined(&mut self, value: Handle) -> Result<bool> {
        let kind = self.raw.type_of(value);
        Ok(self.keep(kind)? == TypeOf::Undefined)
    }

    fn utf16_length(&mut self, string: Handle) -> Result<usize> {
        let length = self.raw.utf16_length(string);
        self.keep(length)
    }

    fn with_str<R>(&mut self, string: Handle, read: impl FnOnce(&str) -> R) -> Result<R> {
        self.lend(string, read)
    }

    fn array_length(&mut self, array: Handle) -> Result<usize> {
        match self.raw.array_length(array) {
            // Node-API does not count a proxy of an array as an array.
            Err(pending) if pending.wants_array() => {
                let length = self.raw.get(array, self.length);
                let length = length.and_then(|length| self.raw.number_value(length));
                Ok(whole(self.keep(length)?))
            }
            length => self.keep(length),
        }
    }

    fn element(&mut self, array: Handle, index: usize) -> Result<Handle> {
        let element = self.raw.element(array, index);
        self.keep(element)
    }

    fn get(&mut self, value: Handle, name: Name<'_>) -> Result<Handle> {
        if name.key.own_only {
            let key = self.name(name)?;
            let own = self.raw.has_own(value, key);
            if !self.keep(own)? {
                return Ok(self.undefined);
            }
        }
        let found = self.raw.get_named(value, &name.key.text);
        self.keep(found)
    }

    fn has(&mut self, object: Handle, name: Name<'_>) -> Result<bool> {
        let key = self.name(name)?;
        let found = if name.key.own_only {
            self.raw.has_own(object, key)
        } else {
            self.raw.has(object, key)
        };
        self.keep(found)
    }

    fn has_own(&mut self, object: Handle, name: Name<'_>) -> Result<bool> {
        let key = self.name(name)?;
        let found = self.raw.has_own(object, key);
        self.keep(found)
    }

    fn own_keys(&mut self, object: Handle, which: OwnKeys) -> Result<LiveKeys> {
        let raw = self.raw;
        let keys = raw
            .own_keys(object, which == OwnKeys::Enumerable)
            .and_then(|list| Ok((list, raw.array_length(list)?)));
        let (list, length) = self.keep(keys)?;
        Ok(LiveKeys {
            list,
            length,
            next: 0,
        })
    }

    fn listed(keys: &LiveKeys) -> usize {
        keys.length
    }

    fn count_keys(&mut self, object: Handle, which: OwnKeys) -> Result<usize> {
        Ok(self.own_keys(object, which)?.length)
    }

    fn next_key(&mut self, keys: &mut LiveKeys) -> Result<Option<Handle>> {
        if keys.next >= keys.length {
            return Ok(None);
        }
        let key = self.raw.element(keys.list, keys.next);
        keys.next += 1;
        self.keep(key).map(Some)
    }

    fn with_key<R>(&mut self, key: Handle, read: impl FnOnce(&str) -> R) -> Result<R> {
        self.lend(key, read)
    }

    fn key_value(&mut self, key: Handle) -> Handle {
        key
    }

    fn get_by_key(&mut self, object: Handle, key: Handle) -> Result<Handle> {
        let value = self.raw.get(object, key);
        self.keep(value)
    }

    fn own_by_key(&mut self, other: Handle, key: Handle) -> Result<Option<Handle>> {
        let raw = self.raw;
        let found = raw.has_own(other, key).and_then(|own| {
            if own {
                raw.get(other, key).map(Some)
            } else {
                Ok(None)
            }
        });
        self.keep(found)
    }

    fn date(&mut self, object: Handle) -> Result<Option<f64>> {
        self.ask_number("dateTime", &[object])
    }

    fn uint8_array(&mut self, object: Handle) -> Result<Option<usize>> {
        Ok(self.ask_number("byteLength", &[object])?.map(whole))
    }

    fn is_promise(&mut self, object: Handle) -> Result<bool> {
        Ok(self.ask_bool("isPromise", &[object])?.unwrap_or(false))
    }

    fn is_iterable(&mut self, object: Handle, asynchronous: bool) -> Result<bool> {
        let question = if asynchronous {
            "isAsyncIterable"
        } else {
            "isIterable"
        };
        Ok(self.ask_bool(question, &[object])?.unwrap_or(false))
    }

    fn bigint(&mut self, bigint: Handle) -> Result<BigInt> {
        let digits = self.ask_string("digits", &[bigint])?;
        Ok(digits
            .and_then(|text| text.parse().ok())
            .unwrap_or_default())
    }

    fn symbol_description(&mut self, symbol: Handle) -> Result<Option<String>> {
        self.ask_string("symbolDescription", &[symbol])
    }

    fn same_slot(&mut self, value: Handle, slot: u32) -> Result<bool> {
        let slot = self.id(slot)?;
        let other = self.ask("slot", &[slot])?;
        let same = self.raw.strict_equals(value, other);
        self.keep(same)
    }

    fn matches(
        &mut self,
        value: Handle,
        id: PatternId,
        pattern: &Pattern,
        budget: &mut Budget,
    ) -> Result<bool> {
        if pattern.dialect() == Dialect::TypeBox {
            // No answer to either question: TypeBox would have thrown.
            if !pattern.needs_bounds() {
                // V8's own engine, as TypeBox uses it.
                let id = self.id(id.0)?;
                return self
                    .ask_bool("testPattern", &[id, value])?
                    .ok_or(Interrupt::TypeBoxThrows);
            }
            if self.classify(value)? != Class::String {
                let text = self.ask_string("patternText", &[value])?;
                let text = text.ok_or(Interrupt::TypeBoxThrows)?;
                return Ok(pattern.matches(&text, budget)?);
            }
        }
        Ok(self.lend(value, |text| pattern.matches(text, budget))??)
    }

    fn custom_format(&mut self, string: Handle, id: FormatId, _: &Format) -> Result<Option<bool>> {
        let id = self.id(id.0)?;
        self.ask_bool("testFormat", &[id, string])
    }

    fn custom_kind(&mut self, value: Handle, kind: &KindNode) -> Result<Option<bool>> {
        let Some(slot) = kind.slot else {
            return Ok(None);
        };
        let slot = self.id(slot)?;
        self.ask_bool("testKind", &[slot, value])
    }

    fn count_nodes(&mut self, value: Handle, limit: u64) -> Result<u64> {
        let limit = self.raw.number(limit as f64);
        let limit = self.keep(limit)?;
        let count = self.ask_number("countNodes", &[value, limit])?;
        Ok(count.map_or(1, number::whole))
    }

    fn enter(&mut self) -> Result<Scope> {
        let scope = self.raw.open_scope();
        self.keep(scope)
    }

    fn leave(&mut self, scope: Scope) {
        self.raw.close_scope(scope);
    }
}
