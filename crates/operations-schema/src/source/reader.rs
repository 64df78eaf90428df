//! Reads the facade's text encoding (see `docs/design/schema-engine.md`).
//!
//! A reader of its own instead of a general JSON tree in between: half the work, and the depth is
//! bounded while reading, so that not even dropping the result can overflow the stack.

use std::borrow::Cow;

use super::interned::interned;
use super::{Flags, ObjectBox, Source, SourceObject};
use crate::bounds::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_TEXT};
use crate::json::{Malformed, Scan, inner, unescaped};
use crate::problem::{Result, SchemaError};

impl<'t> Source<'t> {
    /// Reads a schema from the facade's encoding.
    ///
    /// # Errors
    /// When the text is not such an encoding, or is nested too deeply.
    pub fn from_encoded(text: &'t str) -> Result<Self> {
        if text.len() > MAX_SCHEMA_TEXT {
            return Err(SchemaError::TooLarge);
        }
        let mut reader = Reader(Scan::new(text));
        let value = reader.value()?;
        match reader.0.end() {
            Ok(()) => Ok(value),
            Err(_) => Err(reader.wrong("text after the end of the schema")),
        }
    }
}

/// What is read next: a whole value, or the beginning of a container.
enum Begun<'t> {
    Value(Source<'t>),
    Array,
    Object(Box<SourceObject<'t>>),
}

/// A container that is being read.
enum Open<'t> {
    Array {
        /// Where its items begin among those of all open arrays.
        start: usize,
    },
    Object {
        object: Box<SourceObject<'t>>,
        /// The key of the member that is read next.
        key: Cow<'t, str>,
        /// Where its members begin among those of all open objects.
        start: usize,
    },
}

/// The open containers and what they have so far. Parts wait in two lists that all containers share,
/// so that a container is allocated once, when its size is known.
struct Containers<'t> {
    open: Vec<Open<'t>>,
    items: Vec<Source<'t>>,
    members: Vec<(Cow<'t, str>, Source<'t>)>,
}

impl<'t> Containers<'t> {
    /// Adds a value to the innermost container; gives it back when none is open.
    fn add(&mut self, value: Source<'t>) -> Option<Source<'t>> {
        match self.open.last_mut() {
            Some(Open::Array { .. }) => self.items.push(value),
            Some(Open::Object { key, .. }) => self.members.push((std::mem::take(key), value)),
            None => return Some(value),
        }
        None
    }

    fn begin_array(&mut self) {
        let start = self.items.len();
        self.open.push(Open::Array { start });
    }

    fn begin_object(&mut self, object: Box<SourceObject<'t>>) {
        self.open.push(Open::Object {
            object,
            key: Cow::Borrowed(""),
            start: self.members.len(),
        });
    }

    /// Closes the innermost container.
    fn close(&mut self) -> Option<Source<'t>> {
        Some(match self.open.pop()? {
            Open::Array { start } => Source::Array(self.items.drain(start..).collect()),
            Open::Object {
                mut object, start, ..
            } => {
                object.entries = self.members.drain(start..).collect();
                Source::Object(ObjectBox::Own(object))
            }
        })
    }
}

struct Reader<'t>(Scan<'t>);

impl<'t> Reader<'t> {
    fn wrong(&self, reason: &'static str) -> SchemaError {
        SchemaError::Encoding {
            offset: self.0.at,
            reason,
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.0.space();
        let found = self.0.peek() == Some(byte);
        self.0.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, reason: &'static str) -> Result<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.wrong(reason))
        }
    }

    /// The comma before the next part of a list, and the space behind it.
    fn comma(&mut self) -> Result<()> {
        self.expect(b',', ", was expected")?;
        self.0.space();
        Ok(())
    }

    fn word(&mut self, word: &str) -> bool {
        self.0.word(word).is_ok()
    }

    /// The text that `scan` goes over.
    fn slice(
        &mut self,
        scan: fn(&mut Scan<'t>) -> Result<(), Malformed>,
        reason: &'static str,
    ) -> Result<&'t str> {
        self.0.slice(scan).map_err(|_| self.wrong(reason))
    }

    /// Reads a value with the open containers on the heap, not on the stack.
    fn value(&mut self) -> Result<Source<'t>> {
        let mut containers = Containers {
            open: Vec::new(),
            items: Vec::new(),
            members: Vec::new(),
        };
        loop {
            match self.begin()? {
                Begun::Value(value) => {
                    if let Some(whole) = containers.add(value) {
                        return Ok(whole);
                    }
                }
                _ if containers.open.len() >= MAX_SCHEMA_DEPTH as usize => {
                    return Err(SchemaError::TooDeep);
                }
                Begun::Array => containers.begin_array(),
                Begun::Object(object) => containers.begin_object(object),
            }
            while !self.next_member(&mut containers.open)? {
                self.expect(b']', "] was expected")?;
                let Some(done) = containers.close() else {
                    return Err(self.wrong("a [ was expected"));
                };
                if let Some(whole) = containers.add(done) {
                    return Ok(whole);
                }
            }
        }
    }

    /// Whether another member of the innermost container follows; its key is read.
    fn next_member(&mut self, open: &mut [Open<'t>]) -> Result<bool> {
        if !self.eat(b',') {
            return Ok(false);
        }
        if let Some(Open::Object { key, .. }) = open.last_mut() {
            self.0.space();
            *key = self.string()?;
            self.comma()?;
        }
        Ok(true)
    }

    /// A value without parts, or the beginning of a container.
    fn begin(&mut self) -> Result<Begun<'t>> {
        self.0.space();
        Ok(Begun::Value(match self.0.peek() {
            Some(b'"') => Source::String(self.string()?),
            Some(b'[') => return self.tagged(),
            Some(b'-' | b'0'..=b'9') => Source::Number(self.number()?),
            _ if self.word("null") => Source::Null,
            _ if self.word("true") => Source::Bool(true),
            _ if self.word("false") => Source::Bool(false),
            _ => return Err(self.wrong("a value was expected")),
        }))
    }

    /// `["tag", ...]`; of containers only the beginning.
    fn tagged(&mut self) -> Result<Begun<'t>> {
        self.expect(b'[', "[ was expected")?;
        self.0.space();
        let tag = self.string()?;
        let value = match &*tag {
            "a" => return Ok(Begun::Array),
            "o" => return Ok(Begun::Object(Box::new(self.object()?))),
            "l" => {
                let kind = self.argument_string()?;
                self.comma()?;
                match interned(&kind, self.small()?) {
                    Some(object) => Source::Object(ObjectBox::Interned(object)),
                    None => return Err(self.wrong("an unknown short form")),
                }
            }
            "u" => Source::Undefined,
            "n" => Source::BigInt(self.argument_string()?),
            "x" => Source::Number(match &*self.argument_string()? {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                "-0" => -0.0,
                _ => return Err(self.wrong("an unknown number word")),
            }),
            "d" => {
                self.comma()?;
                // The time of an invalid Date is written as null.
                Source::Date(if self.word("null") {
                    f64::NAN
                } else {
                    self.number()?
                })
            }
            "s" => {
                self.comma()?;
                Source::Slot(self.small()?)
            }
            _ => return Err(self.wrong("an unknown tag")),
        };
        self.expect(b']', "] was expected")?;
        Ok(Begun::Value(value))
    }

    /// `kind or null, flags, [slot]` after the tag.
    fn object(&mut self) -> Result<SourceObject<'t>> {
        self.comma()?;
        let kind = if self.word("null") {
            None
        } else {
            Some(self.string()?)
        };
        self.comma()?;
        let flags = Flags(self.small()?);
        let slot = if flags.has(Flags::SLOT) {
            self.comma()?;
            Some(self.small()?)
        } else {
            None
        };
        Ok(SourceObject {
            kind,
            flags,
            slot,
            entries: Vec::new(),
        })
    }

    fn argument_string(&mut self) -> Result<Cow<'t, str>> {
        self.comma()?;
        self.string()
    }

    /// A small whole number: flags or a slot.
    fn small(&mut self) -> Result<u32> {
        const REASON: &str = "a small whole number was expected";
        let digits = self.slice(Scan::digits, REASON)?;
        digits.parse().map_err(|_| self.wrong(REASON))
    }

    fn number(&mut self) -> Result<f64> {
        const REASON: &str = "a number was expected";
        let digits = self.slice(Scan::number, REASON)?;
        digits.parse().map_err(|_| self.wrong(REASON))
    }

    /// A string: a piece of the text itself, unless there is an escape in it.
    fn string(&mut self) -> Result<Cow<'t, str>> {
        let text = inner(self.slice(Scan::string, "a string was expected")?);
        Ok(if text.contains('\\') {
            unescaped(text).into()
        } else {
            text.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Source<'_> {
        Source::from_encoded(text).unwrap()
    }

    #[test]
    fn every_tag_is_read() {
        assert_eq!(read("null"), Source::Null);
        assert_eq!(read(r#"["u"]"#), Source::Undefined);
        assert_eq!(read(r#"["n","-12"]"#), Source::BigInt("-12".into()));
        assert_eq!(
            read(r#"["x","-Infinity"]"#),
            Source::Number(f64::NEG_INFINITY)
        );
        assert_eq!(read(r#"["d",-5]"#), Source::Date(-5.0));
        assert_eq!(read(r#"["s",7]"#), Source::Slot(7));
        assert_eq!(
            read(r#"["l","String",1]"#).as_object(),
            read(r#"["o","String",1,"type","string"]"#).as_object()
        );
        assert_eq!(
            read(r#"["l","Any",0]"#).as_object(),
            read(r#"["o","Any",0]"#).as_object()
        );
        assert!(Source::from_encoded(r#"["l","String",2]"#).is_err());
        assert!(Source::from_encoded(r#"["l","Object",0]"#).is_err());
        assert_eq!(read(r#"["a"]"#), Source::Array(vec![]));
        assert_eq!(read(r#"["a",1,"a"]"#).as_array().map(<[_]>::len), Some(2));
    }

    #[test]
    fn an_object_has_kind_flags_and_slot() {
        let source = read(r#" [ "o" , "Even" , 17 , 3 , "minimum" , 1.5e0 ] "#);
        let object = source.as_object().unwrap();
        assert_eq!(object.kind.as_deref(), Some("Even"));
        assert!(object.flags.has(Flags::OPTIONAL) && !object.flags.has(Flags::JSON_SCHEMA));
        assert_eq!(object.slot, Some(3));
        assert_eq!(object.get("minimum"), Some(&Source::Number(1.5)));
    }

    #[test]
    fn strings_keep_every_character() {
        assert_eq!(
            read(r#""a\"\\\/\b\f\n\r\té\u00e9\ud83d\ude00""#).as_str(),
            Some("a\"\\/\u{8}\u{c}\n\r\té\u{e9}😀")
        );
        assert_eq!(
            read(r#""\ud800x\udc00\ud800\u0041""#).as_str(),
            Some("\u{fffd}x\u{fffd}\u{fffd}A")
        );
    }

    #[test]
    fn what_is_not_an_encoding_is_an_error() {
        let broken = [
            "",
            "[",
            "[]",
            r#"["o"]"#,
            r#"["o",null]"#,
            r#"["o",null,0,"k"]"#,
            "{}",
            "1 2",
            r#"["z"]"#,
            r#""\u12"#,
            r#""\u+123""#,
            "\"",
            r#"["s",-1]"#,
            "--",
            r#"["a" 1]"#,
            r#""\"#,
        ];
        for text in broken {
            assert!(
                matches!(
                    Source::from_encoded(text),
                    Err(SchemaError::Encoding { .. })
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn depth_is_bounded() {
        let levels = 200_000;
        let text = format!("{}1{}", r#"["a","#.repeat(levels), "]".repeat(levels));
        assert_eq!(Source::from_encoded(&text), Err(SchemaError::TooDeep));
    }
}
