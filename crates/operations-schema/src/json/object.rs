//! The members of a JSON object that passes through as text.
//!
//! A transport looks at a few members of a message and hands the rest on. Parsing an input or an output into a
//! tree, only to write it out again, would cost more than all else it does, and would change it (numbers, order,
//! lone surrogates). So a text is walked over once, and it is remembered where its members are.

use std::borrow::Cow;
use std::sync::Arc;

use super::document::inner;
use super::text::{Events, MAX_DEPTH, Malformed, Scan};

/// The members of an object, each value as the text that it was.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    /// Those of the whole text, as deep as was asked for.
    members: Arc<Vec<Member<'a>>>,
    /// Which of them this object is; nothing for the outermost.
    of: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    /// The member whose value it is in; nothing for the outermost object.
    of: Option<u32>,
    name: &'a str,
    value: &'a str,
    /// Its value is an object whose members are here too.
    is_read: bool,
}

impl<'a> Object<'a> {
    /// Reads the outermost object of a text. Everything below it is checked too.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read(text: &'a str) -> Result<Self, Malformed> {
        Self::read_levels(text, 1)
    }

    /// The same, remembering the members of so many levels of objects: those that [`Object::object`] gives need not be read
    /// again.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_levels(text: &'a str, levels: usize) -> Result<Self, Malformed> {
        Self::record(text, levels, MAX_DEPTH + 1)
    }

    /// The same for a text that will stand in another, so that all of it has one level less.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_inner(text: &'a str) -> Result<Self, Malformed> {
        Self::record(text, 1, MAX_DEPTH)
    }

    /// The same for a text that is nested more deeply than [`MAX_DEPTH`]: enough to find out whose it is.
    ///
    /// # Errors
    ///
    /// When the text is not one JSON object.
    pub fn read_however_deep(text: &'a str) -> Result<Self, Malformed> {
        Self::record(text, 1, usize::MAX)
    }

    fn record(text: &'a str, levels: usize, deepest: usize) -> Result<Self, Malformed> {
        let mut scan = Scan::new(text);
        scan.deepest = deepest;
        scan.space();
        let is_object = scan.peek() == Some(b'{');
        let mut recorder = Recorder {
            text,
            levels,
            members: Vec::with_capacity(16),
            open: Vec::with_capacity(levels),
            name: "",
            passed: None,
            depth: 0,
        };
        scan.document(&mut recorder)?;
        if !is_object {
            return Err(Malformed::NoObject);
        }
        Ok(Self {
            members: Arc::new(recorder.members),
            of: None,
        })
    }

    /// Of two with one name the last, as JavaScript has it.
    fn find(&self, name: &str) -> Option<(usize, &Member<'a>)> {
        let mut members = self.members.iter().enumerate().rev();
        members.find(|(_, member)| member.of == self.of && is_text(member.name, name))
    }

    /// The text of a member; of two with one name the last, as JavaScript has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.find(name).map(|(_, member)| member.value)
    }

    /// A member that is an object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Self> {
        let (at, member) = self.find(name)?;
        if member.is_read {
            return Some(Self {
                members: Arc::clone(&self.members),
                of: u32::try_from(at).ok(),
            });
        }
        Self::read(member.value).ok()
    }

    /// A member that is a string.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Cow::into_owned)
    }

    /// The same, borrowed where it is written without escapes.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let quoted = self.get(name)?;
        let plain = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .filter(|inner| !inner.contains('\\'));
        match plain {
            Some(text) => Some(Cow::Borrowed(text)),
            None => serde_json::from_str(quoted).ok().map(Cow::Owned),
        }
    }

    /// A member that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// A member that is a whole number which is not negative.
    #[must_use]
    pub fn count(&self, name: &str) -> Option<u64> {
        serde_json::from_str(self.get(name)?).ok()
    }
}

/// Remembers the members of the outermost objects of a text.
struct Recorder<'a> {
    text: &'a str,
    levels: usize,
    members: Vec<Member<'a>>,
    /// The objects whose members are remembered, and where each begins.
    open: Vec<(Option<u32>, usize)>,
    /// The name that was read last.
    name: &'a str,
    /// A container that is passed over, and where it begins.
    passed: Option<(Option<u32>, usize)>,
    /// How many containers are open in there.
    depth: usize,
}

impl Recorder<'_> {
    /// Remembers a member of the innermost object. Its end may not be known yet.
    fn keep(&mut self, start: usize, end: usize) -> Option<u32> {
        let (of, _) = *self.open.last()?;
        let at = u32::try_from(self.members.len()).ok();
        self.members.push(Member {
            of,
            name: self.name,
            value: self.text.get(start..end).unwrap_or_default(),
            is_read: false,
        });
        at
    }

    fn end(&mut self, (member, start): (Option<u32>, usize), end: usize, is_read: bool) {
        if let Some(member) = member.and_then(|at| self.members.get_mut(at as usize)) {
            member.value = self.text.get(start..end).unwrap_or_default();
            member.is_read = is_read;
        }
    }
}

impl Events for Recorder<'_> {
    fn open(&mut self, start: usize, is_object: bool) {
        if self.passed.is_some() {
            self.depth += 1;
            return;
        }
        let member = self.keep(start, start);
        if is_object && self.open.len() < self.levels {
            self.open.push((member, start));
        } else {
            self.passed = Some((member, start));
        }
    }

    fn close(&mut self, end: usize) {
        if self.depth > 0 {
            self.depth -= 1;
        } else if let Some(passed) = self.passed.take() {
            self.end(passed, end, false);
        } else if let Some(object) = self.open.pop() {
            self.end(object, end, true);
        }
    }

    fn name(&mut self, start: usize, end: usize) {
        if self.passed.is_none() {
            self.name = self.text.get(start..end).unwrap_or_default();
        }
    }

    fn scalar(&mut self, start: usize, end: usize) {
        if self.passed.is_none() {
            self.keep(start, end);
        }
    }
}
/// Whether a JSON string (quotes included) is this text.
fn is_text(quoted: &str, name: &str) -> bool {
    let inner = inner(quoted);
    // An escape is longer than what it stands for.
    inner == name
        || (inner.len() > name.len()
            && inner.contains('\\')
            && serde_json::from_str::<String>(quoted).is_ok_and(|text| text == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_text_that_they_were() {
        let object =
            Object::read(r#" { "a" : [1, {"b":"}"}] , "n":1.50e+3,"a":"last","\u0062":null } "#)
                .unwrap();
        assert_eq!(object.get("a"), Some("\"last\""));
        assert_eq!(object.get("n"), Some("1.50e+3"));
        assert_eq!(object.number("n"), Some(1500.0));
        assert_eq!(object.get("b"), Some("null"));
        assert_eq!(object.get("c"), None);
        assert!(Object::read("{}").unwrap().get("a").is_none());
    }

    /// Every way down through members that are objects.
    fn compare(read: &Object<'_>, text: &str, names: &[&str]) {
        let alone = Object::read(text).unwrap();
        for name in names {
            assert_eq!(read.get(name), alone.get(name), "{name} in {text}");
            assert_eq!(read.text(name), alone.text(name), "{name} in {text}");
            let inner = read.object(name);
            let is_object = alone.get(name).is_some_and(|value| value.starts_with('{'));
            assert_eq!(inner.is_some(), is_object, "{name} in {text}");
            if let (Some(inner), Some(value)) = (inner, alone.get(name)) {
                compare(&inner, value, names);
            }
        }
    }

    #[test]
    fn several_levels_that_are_read_at_once_are_those_that_are_read_one_by_one() {
        let names = ["a", "b", "c", "d"];
        for text in [
            r#"{"a":{"b":{"c":{"d":1},"d":[{"a":2}]},"a":"x"},"b":{"a":3},"c":[{"a":4}]}"#,
            // Of two with one name the last counts, with what is in it.
            r#"{"a":{"a":{"b":1},"b":2},"a":{"a":{"c":3}},"b":{"a":4},"b":5,"c":6,"c":{"a":7}}"#,
            r#"{ "\u0061" : { "b" : { } , "c" : "\n" } , "d" : {"a":{},"b":[[],{}]} }"#,
            "{}",
        ] {
            for levels in 1..=5 {
                compare(&Object::read_levels(text, levels).unwrap(), text, &names);
            }
        }
    }

    #[test]
    fn nesting_is_bounded_at_every_level() {
        let [most, one_more, two_more] = [0, 1, 2].map(|more| {
            let depth = MAX_DEPTH + more;
            "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)
        });
        for levels in 1..=3 {
            assert!(Object::read_levels(&one_more, levels).is_ok());
            let deeper = Object::read_levels(&two_more, levels);
            assert_eq!(deeper.unwrap_err(), Malformed::Depth);
        }
        assert!(Object::read_inner(&most).is_ok());
        let deeper = Object::read_inner(&one_more);
        assert_eq!(deeper.unwrap_err(), Malformed::Depth);
        assert!(Object::read_however_deep(&two_more).is_ok());
        assert_eq!(Object::read("[1]").unwrap_err(), Malformed::NoObject);
    }
}
