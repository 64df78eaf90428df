//! TypeBox's hash of a value, which decides its `uniqueItems`: FNV-1a over a byte for the type and
//! the bytes of the content. It is reproduced bit by bit because its verdict has edges (0 and -0
//! differ, a `Uint8Array` reads as an object).

use super::walk::Walk;
use crate::value_access::{Class, Interrupt, OwnKeys, Result, ValueAccess};

const START: u64 = 14_695_981_039_346_656_037;
const PRIME: u64 = 1_099_511_628_211;

const UNDEFINED: u8 = 0;
const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const NUMBER: u8 = 3;
const STRING: u8 = 4;
const OBJECT: u8 = 5;
const ARRAY: u8 = 6;
const DATE: u8 = 7;
const SYMBOL: u8 = 9;
const BIGINT: u8 = 10;

struct Fnv(u64);

impl Fnv {
    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
    }

    fn bytes(&mut self, bytes: [u8; 8]) {
        for byte in bytes {
            self.byte(byte);
        }
    }

    fn number(&mut self, number: f64) {
        self.byte(NUMBER);
        // JavaScript has one NaN.
        let number = if number.is_nan() { f64::NAN } else { number };
        self.bytes(number.to_be_bytes());
    }

    fn string(&mut self, text: &str) {
        self.byte(STRING);
        for unit in text.encode_utf16() {
            let [high, low] = unit.to_be_bytes();
            if high != 0 {
                self.byte(high);
            }
            self.byte(low);
        }
    }
}

impl<A: ValueAccess> Walk<'_, '_, A> {
    pub(crate) fn typebox_hash(&mut self, value: A::Value) -> Result<u64> {
        let mut hash = Fnv(START);
        self.hash_into(value, &mut hash)?;
        Ok(hash.0)
    }

    fn hash_into(&mut self, value: A::Value, hash: &mut Fnv) -> Result<()> {
        self.spend(1)?;
        match self.class(value)? {
            Class::Undefined => hash.byte(UNDEFINED),
            Class::Null => hash.byte(NULL),
            Class::Bool(value) => {
                hash.byte(BOOLEAN);
                hash.byte(u8::from(value));
            }
            Class::Number(number) => hash.number(number),
            Class::String => self.text(value, |text| hash.string(text))?,
            Class::BigInt => {
                hash.byte(BIGINT);
                let digits = self.bigint_value(value)?.to_signed_bytes_le();
                let fill = if digits.last().is_some_and(|last| *last >= 0x80) {
                    0xFF
                } else {
                    0
                };
                let low = digits.into_iter().chain(std::iter::repeat(fill)).take(8);
                let mut bytes = [0; 8];
                for (place, byte) in bytes.iter_mut().rev().zip(low) {
                    *place = byte;
                }
                hash.bytes(bytes);
            }
            Class::Symbol => {
                hash.byte(SYMBOL);
                match self.access.symbol_description(value)? {
                    Some(text) => hash.string(&text),
                    None => hash.byte(UNDEFINED),
                }
            }
            Class::Array => {
                hash.byte(ARRAY);
                for index in 0..self.array_length(value)? {
                    self.inside(|walk| {
                        let element = walk.element(value, index)?;
                        walk.hash_into(element, hash)
                    })?;
                }
            }
            Class::Object => match self.date(value)?.filter(|time| time.is_finite()) {
                Some(time) => {
                    hash.byte(DATE);
                    hash.number(time);
                }
                None => self.hash_object(value, hash)?,
            },
            // "Unable to hash value".
            Class::Function => return Err(Interrupt::TypeBoxThrows),
        }
        Ok(())
    }

    fn hash_object(&mut self, value: A::Value, hash: &mut Fnv) -> Result<()> {
        hash.byte(OBJECT);
        let mut names = Vec::new();
        let mut keys = self.keys(value, OwnKeys::Names)?;
        while let Some(key) = self.next_key(&mut keys)? {
            self.spend(1)?;
            let name: Vec<u16> = self.key_text(key, |text| text.encode_utf16().collect())?;
            names.push((name, key));
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (_, key) in names {
            self.inside(|walk| {
                walk.key_text(key, |text| hash.string(text))?;
                let property = walk.by_key(value, key)?;
                walk.hash_into(property, hash)
            })?;
        }
        Ok(())
    }
}
