//! Reads the small language of patterns that `safe_pattern` can judge.

/// A set of characters: one bit for each ASCII character; the others are known only as "some" or
/// "all" of them, which is enough to be on the safe side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    ascii: u128,
    some_others: bool,
    all_others: bool,
}

impl Class {
    pub(super) const NOTHING: Self = Self {
        ascii: 0,
        some_others: false,
        all_others: false,
    };

    fn one(byte: u8) -> Self {
        Self {
            ascii: 1_u128.checked_shl(u32::from(byte)).unwrap_or(0),
            ..Self::NOTHING
        }
    }

    fn range(first: u8, last: u8) -> Self {
        (first..=last).fold(Self::NOTHING, |set, byte| set.union(Self::one(byte)))
    }

    fn digits() -> Self {
        Self::range(b'0', b'9')
    }

    fn word() -> Self {
        Self::digits()
            .union(Self::range(b'a', b'z'))
            .union(Self::range(b'A', b'Z'))
            .union(Self::one(b'_'))
    }

    /// White space and line ends, in ASCII tab to carriage return and the space.
    fn space() -> Self {
        Self {
            some_others: true,
            ..Self::range(b'\t', b'\r').union(Self::one(b' '))
        }
    }

    /// What `.` matches: all but the line ends, of which two are not ASCII.
    fn dot() -> Self {
        let line_ends = Self {
            some_others: true,
            ..Self::one(b'\n').union(Self::one(b'\r'))
        };
        line_ends.complement()
    }

    fn complement(self) -> Self {
        Self {
            ascii: !self.ascii,
            some_others: !self.all_others,
            all_others: !self.some_others,
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self {
            ascii: self.ascii | other.ascii,
            some_others: self.some_others || other.some_others,
            all_others: self.all_others || other.all_others,
        }
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.ascii & other.ascii != 0 || (self.some_others && other.some_others)
    }
}

/// How often a piece repeats; no `most` means without end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantifier {
    pub(super) least: u32,
    pub(super) most: Option<u32>,
}

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Piece {
    Char(Class),
    Sequence(Vec<Piece>),
    Choice(Vec<Piece>),
    Repeat(Box<Piece>, Quantifier),
}

/// A whole pattern.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) starts_at_start: bool,
    pub(super) ends_at_end: bool,
    pub(super) body: Piece,
}

/// Groups nested deeper than this are refused: reader and judgement call themselves for each.
const DEEPEST_GROUP: usize = 6;

/// The pattern's structure, or nothing when it uses anything outside the small language.
pub(super) fn parse(pattern: &str) -> Option<Parsed> {
    let (starts_at_start, rest) = match pattern.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let (ends_at_end, inner) = match rest.strip_suffix('$') {
        // In `\$` the dollar is a character.
        Some(before) if trailing_backslashes(before).is_multiple_of(2) => (true, before),
        _ => (false, rest),
    };
    let mut reader = Reader {
        bytes: inner.as_bytes(),
        depth: 0,
    };
    let body = reader.choice()?;
    if !reader.bytes.is_empty() {
        return None;
    }
    // `^a|b$` anchors its branches separately.
    if matches!(body, Piece::Choice(_)) && (starts_at_start || ends_at_end) {
        return None;
    }
    Some(Parsed {
        starts_at_start,
        ends_at_end,
        body,
    })
}

fn trailing_backslashes(text: &str) -> usize {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count()
}

struct Reader<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.next();
        }
        found
    }

    fn choice(&mut self) -> Option<Piece> {
        let first = self.sequence()?;
        if self.peek() != Some(b'|') {
            return Some(first);
        }
        let mut branches = vec![first];
        while self.eat(b'|') {
            branches.push(self.sequence()?);
        }
        Some(Piece::Choice(branches))
    }

    fn sequence(&mut self) -> Option<Piece> {
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some(b'|' | b')')) {
            let atom = self.atom()?;
            parts.push(match self.quantifier()? {
                Some(quantifier) => Piece::Repeat(Box::new(atom), quantifier),
                None => atom,
            });
        }
        Some(Piece::Sequence(parts))
    }

    fn atom(&mut self) -> Option<Piece> {
        Some(Piece::Char(match self.next()? {
            b'(' => return self.group(),
            b'[' => self.class()?,
            b'.' => Class::dot(),
            b'\\' => self.escape(b"^$\\.*+?()[]{}|/")?,
            b'^' | b'$' | b'*' | b'+' | b'?' | b')' | b']' | b'{' | b'}' | b'|' => return None,
            byte => Class::one(byte),
        }))
    }

    fn group(&mut self) -> Option<Piece> {
        if self.eat(b'?') && !self.eat(b':') {
            return None;
        }
        self.depth += 1;
        if self.depth > DEEPEST_GROUP {
            return None;
        }
        let inner = self.choice()?;
        self.depth -= 1;
        self.eat(b')').then_some(inner)
    }

    /// An escape that stands for characters; `plain` are the characters it may quote.
    fn escape(&mut self, plain: &[u8]) -> Option<Class> {
        Some(match self.next()? {
            b'd' => Class::digits(),
            b'D' => Class::digits().complement(),
            b'w' => Class::word(),
            b'W' => Class::word().complement(),
            byte if plain.contains(&byte) => Class::one(byte),
            b's' => Class::space(),
            b'S' => Class::space().complement(),
            _ => return None,
        })
    }

    fn class(&mut self) -> Option<Class> {
        let negated = self.eat(b'^');
        let mut set = Class::NOTHING;
        let mut members = 0_usize;
        while !self.eat(b']') {
            let (first, single) = self.member()?;
            members += 1;
            let is_range =
                self.peek() == Some(b'-') && self.bytes.get(1).is_some_and(|byte| *byte != b']');
            if !is_range {
                set = set.union(first);
                continue;
            }
            self.next();
            let (_, last) = self.member()?;
            let (low, high) = (single?, last?);
            if low > high {
                return None;
            }
            set = set.union(Class::range(low, high));
        }
        // `[]` and `[^]` mean nothing and everything, but not to every engine.
        if members == 0 {
            return None;
        }
        Some(if negated { set.complement() } else { set })
    }

    /// One member of a class, and its character if it is a single one.
    fn member(&mut self) -> Option<(Class, Option<u8>)> {
        match self.next()? {
            b'\\' => {
                let quoted = self.peek()?;
                let set = self.escape(b"^$\\.*+?()[]{}|/-")?;
                Some((set, (!quoted.is_ascii_alphabetic()).then_some(quoted)))
            }
            // Set operations of newer syntaxes begin with these when doubled, and `[` nests there.
            b'[' | b'&' | b'~' => None,
            byte => Some((Class::one(byte), Some(byte))),
        }
    }

    /// The quantifier here, if any; the outer nothing means that it is not understood.
    #[allow(clippy::option_option)]
    fn quantifier(&mut self) -> Option<Option<Quantifier>> {
        let (least, most) = match self.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => {
                self.next();
                return self.counts().map(Some);
            }
            _ => return Some(None),
        };
        self.next();
        self.no_second_quantifier()?;
        Some(Some(Quantifier { least, most }))
    }

    fn counts(&mut self) -> Option<Quantifier> {
        let least = self.count()?;
        let most = if !self.eat(b',') {
            Some(least)
        } else if self.peek() == Some(b'}') {
            None
        } else {
            Some(self.count()?)
        };
        if !self.eat(b'}') || most.is_some_and(|most| most < least) {
            return None;
        }
        self.no_second_quantifier()?;
        Some(Quantifier { least, most })
    }

    fn count(&mut self) -> Option<u32> {
        let mut count = None;
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            self.next();
            let so_far: u32 = count.unwrap_or(0);
            let next = so_far * 10 + u32::from(byte - b'0');
            if next > super::LARGEST_COUNT {
                return None;
            }
            count = Some(next);
        }
        count
    }

    /// Lazy (`+?`) and stacked quantifiers are outside the small language.
    fn no_second_quantifier(&self) -> Option<()> {
        (!matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'{'))).then_some(())
    }
}
