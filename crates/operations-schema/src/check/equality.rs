//! Deep equality as JSON Schema has it: `const`, `enum`, `uniqueItems`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::failure::{Stop, Verdict, passed, require};
use super::walk::Walk;
use crate::ir::{Const, ConstId};
use crate::number::same_number;
use crate::value_access::{Class, Interrupt, OwnKeys, Result, ValueAccess};

/// Up to this many elements every pair is compared; beyond, hashes sort out first.
const PAIRWISE: usize = 8;

impl<A: ValueAccess> Walk<'_, '_, A> {
    /// Whether a value equals a constant of the program.
    pub(super) fn equals(&mut self, value: A::Value, id: ConstId) -> Result<bool> {
        let program = self.program;
        match program.constant(id) {
            constant @ (Const::Array(_) | Const::Object(_) | Const::Date(_)) => {
                passed(self.equals_const(value, constant))
            }
            _ => self.same(value, id),
        }
    }

    fn equals_const(&mut self, value: A::Value, constant: &Const) -> Verdict {
        self.spend(1)?;
        require(match (constant, self.class(value)?) {
            (Const::Undefined, Class::Undefined) | (Const::Null, Class::Null) => true,
            (Const::Bool(wanted), Class::Bool(found)) => *wanted == found,
            (Const::Number(wanted), Class::Number(found)) => same_number(*wanted, found),
            (Const::String(wanted), Class::String) => self.text(value, |text| text == &**wanted)?,
            (Const::BigInt(wanted), Class::BigInt) => {
                let found = self.bigint_value(value)?;
                wanted
                    .parse()
                    .is_ok_and(|wanted: num_bigint::BigInt| wanted == found)
            }
            (Const::Date(wanted), Class::Object) => self
                .date(value)?
                .is_some_and(|found| same_number(found, *wanted)),
            (Const::Slot(slot), _) => self.same_slot(value, *slot)?,
            (Const::Array(wanted), Class::Array) => {
                require(self.array_length(value)? == wanted.len())?;
                for (index, wanted) in wanted.iter().enumerate() {
                    let element = self.element(value, index)?;
                    self.inside(|walk| walk.equals_const(element, wanted))?;
                }
                true
            }
            (Const::Object(wanted), Class::Object) => return self.equals_object(value, wanted),
            _ => false,
        })
    }

    fn equals_object(&mut self, value: A::Value, wanted: &[(Box<str>, Const)]) -> Verdict {
        let mut found = 0;
        self.each_key(value, OwnKeys::Enumerable, |walk, key| {
            let property = walk.by_key(value, key)?;
            walk.spend(wanted.len() as u64 / 4)?;
            let wanted = walk.key_text(key, |name| {
                wanted
                    .iter()
                    .find(|(known, _)| &**known == name)
                    .map(|(_, constant)| constant)
            })?;
            match wanted {
                Some(constant) => {
                    found += 1;
                    walk.inside(|walk| walk.equals_const(property, constant))
                }
                // A property that is `undefined` is not there, as far as JSON goes.
                None => require(walk.is_undefined(property)?),
            }
        })?;
        require(found == wanted.len())
    }

    /// Whether two values are equal.
    fn equal(&mut self, one: A::Value, other: A::Value) -> Verdict {
        self.spend(1)?;
        require(match (self.class(one)?, self.class(other)?) {
            (Class::String, Class::String) => {
                let text = self.text(one, str::to_owned)?;
                self.text(other, |found| found == text)?
            }
            (Class::BigInt, Class::BigInt) => {
                self.bigint_value(one)? == self.bigint_value(other)?
            }
            (Class::Array, Class::Array) => {
                let length = self.array_length(one)?;
                require(self.array_length(other)? == length)?;
                for index in 0..length {
                    self.inside(|walk| {
                        let left = walk.element(one, index)?;
                        let right = walk.element(other, index)?;
                        walk.equal(left, right)
                    })?;
                }
                true
            }
            (Class::Object, Class::Object) => {
                let times = (self.date(one)?, self.date(other)?);
                if let (Some(left), Some(right)) = times {
                    return require(same_number(left, right));
                }
                let count = self.count_keys(one, OwnKeys::Enumerable)?;
                require(count == self.count_keys(other, OwnKeys::Enumerable)?)?;
                self.each_key(one, OwnKeys::Enumerable, |walk, key| {
                    let left = walk.by_key(one, key)?;
                    match walk.own_by_key(other, key)? {
                        Some(right) => walk.inside(|walk| walk.equal(left, right)),
                        None => Err(Stop::Failed),
                    }
                })?;
                true
            }
            // Symbols and functions have no content to compare.
            (Class::Symbol, Class::Symbol) | (Class::Function, Class::Function) => false,
            (left, right) => left == right,
        })
    }

    /// JSON Schema's `uniqueItems`.
    pub(super) fn all_differ(&mut self, value: A::Value, length: usize) -> Result<bool> {
        let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::new();
        for index in 0..length {
            let hash = if length <= PAIRWISE {
                0
            } else {
                self.inside(|walk| {
                    let element = walk.element(value, index)?;
                    walk.content_hash(element)
                })?
            };
            self.spend(8)?;
            let earlier = by_hash.entry(hash).or_default();
            for before in earlier.iter().copied() {
                let same = self.inside(|walk| {
                    let one = walk.element(value, before)?;
                    let other = walk.element(value, index)?;
                    walk.equal(one, other)
                });
                if passed(same)? {
                    return Ok(false);
                }
            }
            earlier.push(index);
        }
        Ok(true)
    }

    /// Equal values have equal hashes; the order of keys does not matter.
    fn content_hash(&mut self, value: A::Value) -> Result<u64> {
        self.spend(1)?;
        let mut hasher = DefaultHasher::new();
        match self.class(value)? {
            Class::Bool(value) => (1_u8, value).hash(&mut hasher),
            // 0 and -0 are equal.
            Class::Number(number) => (2_u8, (number + 0.0).to_bits()).hash(&mut hasher),
            Class::String => self.text(value, |text| (3_u8, text).hash(&mut hasher))?,
            Class::Null => 4_u8.hash(&mut hasher),
            Class::Array => {
                5_u8.hash(&mut hasher);
                for index in 0..self.array_length(value)? {
                    let element = self.inside(|walk| {
                        let element = walk.element(value, index)?;
                        walk.content_hash(element)
                    })?;
                    element.hash(&mut hasher);
                }
            }
            Class::Object => {
                let mut sum = 0_u64;
                self.each_key(value, OwnKeys::Enumerable, |walk, key| {
                    let property = walk.by_key(value, key)?;
                    let content = walk.inside(|walk| walk.content_hash(property))?;
                    let mut hasher = DefaultHasher::new();
                    walk.key_text(key, |name| name.hash(&mut hasher))?;
                    content.hash(&mut hasher);
                    sum = sum.wrapping_add(hasher.finish());
                    Ok::<_, Interrupt>(())
                })?;
                (6_u8, sum).hash(&mut hasher);
            }
            _ => 7_u8.hash(&mut hasher),
        }
        Ok(hasher.finish())
    }
}
