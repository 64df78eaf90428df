//! A long result in little room. JSON stays JSON: long lists lose their tail, long texts their end, and
//! what is missing is counted where it is missing.

use std::fmt::Write as _;

/// How much of each list, object and text is kept; tried in turn until the whole fits.
const STEPS: [Keep; 9] = [
    Keep::new(200, 200, 4_000),
    Keep::new(50, 200, 2_000),
    Keep::new(20, 100, 1_000),
    Keep::new(10, 60, 400),
    Keep::new(5, 40, 200),
    Keep::new(3, 30, 100),
    Keep::new(2, 20, 60),
    Keep::new(1, 12, 40),
    Keep::new(1, 6, 20),
];

#[derive(Debug, Clone, Copy)]
struct Keep {
    items: usize,
    entries: usize,
    characters: usize,
}

impl Keep {
    const fn new(items: usize, entries: usize, characters: usize) -> Self {
        Self {
            items,
            entries,
            characters,
        }
    }
}

/// The text within `max` bytes; nothing if it is. `json` says that it is JSON.
#[must_use]
pub fn shortened(text: &str, json: bool, max: usize) -> Option<String> {
    if text.len() <= max {
        return None;
    }
    let as_json = json
        .then(|| {
            STEPS
                .iter()
                .find_map(|keep| Shortener::new(text, *keep, max).run())
        })
        .flatten();
    Some(as_json.unwrap_or_else(|| head_and_tail(text, max)))
}

/// The beginning and the end of a text.
fn head_and_tail(text: &str, max: usize) -> String {
    let note = format!(
        "\n… {} of {} bytes left out …\n",
        text.len().saturating_sub(max),
        text.len()
    );
    let room = max.saturating_sub(note.len());
    let head = floor(text, room - room / 4);
    let tail = ceiling(text, text.len() - room / 4);
    let parts = (text.get(..head), text.get(tail..));
    match parts {
        (Some(head), Some(tail)) if room > 0 => format!("{head}{note}{tail}"),
        _ => text.get(..floor(text, max)).unwrap_or_default().to_owned(),
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceiling(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// One pass over JSON text. It copies what is kept and steps over the rest, without a tree in memory.
struct Shortener<'t> {
    text: &'t str,
    at: usize,
    keep: Keep,
    max: usize,
    made: String,
}

/// Containers in containers; text that is nested deeper is treated as plain text.
const MAX_DEPTH: usize = 200;

impl<'t> Shortener<'t> {
    fn new(text: &'t str, keep: Keep, max: usize) -> Self {
        Self {
            text,
            at: 0,
            keep,
            max,
            made: String::new(),
        }
    }

    /// Nothing if it does not fit, or is no JSON.
    fn run(mut self) -> Option<String> {
        self.value(true, 0)?;
        self.space();
        (self.at == self.text.len() && self.made.len() <= self.max).then_some(self.made)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn write(&mut self, kept: bool, text: &str) {
        if kept {
            self.made.push_str(text);
        }
    }

    fn value(&mut self, kept: bool, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.made.len() > self.max {
            return None;
        }
        self.space();
        match self.peek()? {
            b'[' => self.container(kept, depth, b']'),
            b'{' => self.container(kept, depth, b'}'),
            b'"' => self.string(kept),
            _ => {
                let start = self.at;
                while self.peek().is_some_and(|byte| {
                    !matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t')
                }) {
                    self.at += 1;
                }
                let text = self.text;
                self.write(kept, text.get(start..self.at)?);
                (self.at > start).then_some(())
            }
        }
    }

    fn container(&mut self, kept: bool, depth: usize, close: u8) -> Option<()> {
        let is_list = close == b']';
        let limit = if is_list {
            self.keep.items
        } else {
            self.keep.entries
        };
        self.at += 1;
        self.write(kept, if is_list { "[" } else { "{" });
        let mut count = 0;
        if !self.eat(close) {
            loop {
                let kept = kept && count < limit;
                self.write(kept && count > 0, ",");
                if !is_list {
                    self.space();
                    self.key(kept)?;
                    if !self.eat(b':') {
                        return None;
                    }
                    self.write(kept, ":");
                }
                self.value(kept, depth + 1)?;
                count += 1;
                if self.eat(close) {
                    break;
                }
                if !self.eat(b',') {
                    return None;
                }
            }
        }
        if kept && count > limit {
            let more = count - limit;
            // Writing into a string does not fail.
            let _ = if is_list {
                write!(self.made, ",\"… {more} more items\"")
            } else {
                write!(self.made, ",\"…\":\"{more} more properties\"")
            };
        }
        self.write(kept, if is_list { "]" } else { "}" });
        Some(())
    }

    /// A name is kept whole: it is rarely long, and half of one is worse than none.
    fn key(&mut self, kept: bool) -> Option<()> {
        let raw = self.raw_string()?;
        self.write(kept, raw);
        Some(())
    }

    fn string(&mut self, kept: bool) -> Option<()> {
        let raw = self.raw_string()?;
        if !kept {
            return Some(());
        }
        if raw.len() <= self.keep.characters + 2 {
            self.made.push_str(raw);
            return Some(());
        }
        let whole: String = serde_json::from_str(raw).ok()?;
        let mut short: String = whole.chars().take(self.keep.characters).collect();
        if short.len() < whole.len() {
            let _ = write!(short, "… ({} characters in all)", whole.chars().count());
        }
        self.made.push_str(&serde_json::to_string(&short).ok()?);
        Some(())
    }

    /// A string with its quotes, stepped over.
    fn raw_string(&mut self) -> Option<&'t str> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.text.get(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_fits_stays() {
        assert_eq!(shortened("[1,2]", true, 5), None);
    }

    #[test]
    fn lists_texts_and_objects_are_cut_and_counted() {
        let value = json!({
            "items": (0..5_000).map(|id| json!({ "id": id, "text": "x".repeat(300) })).collect::<Vec<_>>(),
            "total": 5_000,
        });
        let text = value.to_string();
        for max in [100_000, 10_000, 1_000, 200] {
            let short = shortened(&text, true, max).unwrap();
            assert!(short.len() <= max, "{} > {max}", short.len());
            let read: Value = serde_json::from_str(&short).unwrap();
            assert_eq!(read["total"], 5_000, "{short}");
            let items = read["items"].as_array().unwrap();
            assert_eq!(items[0]["id"], 0);
            let last = items.last().unwrap().as_str().unwrap();
            assert_eq!(last, format!("… {} more items", 5_000 - items.len() + 1));
        }
    }

    #[test]
    fn escapes_survive() {
        let text = json!({ "a\"b": ["\\\"\u{1F980}".repeat(500)], "n": null }).to_string();
        let short = shortened(&text, true, 400).unwrap();
        let read: Value = serde_json::from_str(&short).unwrap();
        assert!(
            read["a\"b"][0]
                .as_str()
                .unwrap()
                .contains("characters in all")
        );
        assert_eq!(read["n"], Value::Null);
    }

    #[test]
    fn plain_text_keeps_both_ends() {
        let text = format!("start {} end", "ä".repeat(5_000));
        let short = shortened(&text, false, 1_000).unwrap();
        assert!(short.len() <= 1_000);
        assert!(short.starts_with("start") && short.ends_with("end") && short.contains("left out"));
        assert!(
            shortened(&text, true, 1_000).unwrap().contains("left out"),
            "no JSON after all"
        );
        assert_eq!(shortened("äääää", false, 3).unwrap(), "ä");
    }
}
