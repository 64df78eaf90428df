//! The text that a JSON string stands for, piece by piece.

/// What is left over from the last piece.
#[derive(Debug, Default)]
pub(crate) struct Unescape {
    /// An escape that has begun: its letters after the backslash.
    escape: Option<Vec<u8>>,
    /// The first half of a pair.
    high: Option<u32>,
}

impl Unescape {
    /// Adds what a piece of the inside of a string stands for.
    pub(crate) fn push(&mut self, piece: &[u8], text: &mut Vec<u8>) {
        for byte in piece {
            match self.escape.take() {
                None if *byte == b'\\' => self.escape = Some(Vec::new()),
                None => {
                    self.alone(text);
                    text.push(*byte);
                }
                Some(mut escape) => {
                    escape.push(*byte);
                    match escape.as_slice() {
                        [b'u', digits @ ..] if digits.len() < 4 => self.escape = Some(escape),
                        [b'u', digits @ ..] => self.unit(hex(digits), text),
                        _ => {
                            self.alone(text);
                            text.push(match byte {
                                b'n' => b'\n',
                                b't' => b'\t',
                                b'r' => b'\r',
                                b'b' => 8,
                                b'f' => 12,
                                other => *other,
                            });
                        }
                    }
                }
            }
        }
    }

    /// What is left at the end.
    pub(crate) fn finish(&mut self, text: &mut Vec<u8>) {
        self.alone(text);
    }

    fn unit(&mut self, unit: u32, text: &mut Vec<u8>) {
        match (self.high.take(), unit) {
            (Some(high), 0xdc00..0xe000) => {
                push(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), text);
            }
            (before, 0xd800..0xdc00) => {
                self.high = before;
                self.alone(text);
                self.high = Some(unit);
            }
            (before, unit) => {
                self.high = before;
                self.alone(text);
                push(unit, text);
            }
        }
    }

    /// A half without its other half stands for nothing.
    fn alone(&mut self, text: &mut Vec<u8>) {
        if self.high.take().is_some() {
            push(0xfffd, text);
        }
    }
}

fn hex(digits: &[u8]) -> u32 {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    u32::from_str_radix(digits, 16).unwrap_or(0xfffd)
}

fn push(unit: u32, text: &mut Vec<u8>) {
    let letter = char::from_u32(unit).unwrap_or('\u{fffd}');
    text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_text_that_is_meant() {
        for text in ["", "plain", "a\"b\\c/\n\t\r\u{8}\u{c}", "ä€𝄞\u{0}\u{1f}"] {
            let json = serde_json::Value::from(text).to_string();
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            let escaped = units.collect::<Vec<_>>().concat();
            for inside in [
                json.trim_matches('"').trim_end_matches('\\'),
                escaped.as_str(),
            ] {
                if inside == "plain" || !inside.ends_with('\\') {
                    for size in [1, 2, 3, 5, 100] {
                        let (mut unescape, mut found) = (Unescape::default(), Vec::new());
                        for piece in inside.as_bytes().chunks(size) {
                            unescape.push(piece, &mut found);
                        }
                        unescape.finish(&mut found);
                        assert_eq!(String::from_utf8(found).unwrap(), text, "{inside} {size}");
                    }
                }
            }
        }
        let (mut unescape, mut found) = (Unescape::default(), Vec::new());
        unescape.push(br"\ud834x\udd1e\ud834", &mut found);
        unescape.finish(&mut found);
        assert_eq!(
            String::from_utf8(found).unwrap(),
            "\u{fffd}x\u{fffd}\u{fffd}"
        );
    }
}
