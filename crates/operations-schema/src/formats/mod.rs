//! The `format` words that are asserted.

mod hostname;
mod internet;
mod pointer;
mod template;
mod time;

use fluent_uri::{Iri, IriRef, Uri, UriRef};

use crate::patterns::is_regular_expression;
use crate::value_access::Limit;
use crate::work::Budget;

/// A format that this engine checks. Other words, OpenAPI's `int32` or `binary` among them, say
/// nothing about a value.
#[derive(Clone, Copy, Debug)]
pub struct KnownFormat(&'static Format);

/// One of them.
#[derive(Debug)]
struct Format {
    word: &'static str,
    check: Check,
    /// How many bytes a string of this format has at most, where there is a limit.
    longest: usize,
}

/// How a string is checked.
#[derive(Debug)]
enum Check {
    /// By looking through it once.
    Plain(fn(&str) -> bool),
    /// By a parser that counts its work.
    Counted(fn(&str, &mut Budget) -> Result<bool, Limit>),
}

const fn format(word: &'static str, check: fn(&str) -> bool) -> Format {
    Format {
        word,
        check: Check::Plain(check),
        longest: usize::MAX,
    }
}

const fn short(longest: usize, word: &'static str, check: fn(&str) -> bool) -> Format {
    Format {
        longest,
        ..format(word, check)
    }
}

/// 253 characters of at most four bytes.
const LONGEST_HOSTNAME: usize = 1012;

static FORMATS: [Format; 19] = [
    // RFC 3339, durations in its appendix A.
    format("date-time", time::is_date_time),
    short(64, "date", time::is_date),
    format("time", time::is_time),
    format("duration", time::is_duration),
    // RFC 5321 and RFC 6531.
    format("email", |text| internet::is_email(text, false)),
    format("idn-email", |text| internet::is_email(text, true)),
    // RFC 1123 and RFC 5890.
    short(LONGEST_HOSTNAME, "hostname", hostname::is_hostname),
    short(LONGEST_HOSTNAME, "idn-hostname", hostname::is_idn_hostname),
    short(64, "ipv4", internet::is_ipv4),
    short(64, "ipv6", internet::is_ipv6),
    // RFC 3986 and RFC 3987.
    format("uri", |text| Uri::parse(text).is_ok()),
    format("uri-reference", |text| UriRef::parse(text).is_ok()),
    format("iri", |text| Iri::parse(text).is_ok()),
    format("iri-reference", |text| IriRef::parse(text).is_ok()),
    // RFC 6570.
    format("uri-template", template::is_template),
    // RFC 4122.
    short(64, "uuid", is_uuid),
    // RFC 6901.
    format("json-pointer", pointer::is_json_pointer),
    format("relative-json-pointer", pointer::is_relative_json_pointer),
    // ECMAScript, unicode mode.
    Format {
        word: "regex",
        check: Check::Counted(is_regular_expression),
        longest: usize::MAX,
    },
];

impl KnownFormat {
    /// The format behind a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        FORMATS.iter().find(|format| format.word == name).map(Self)
    }

    /// The words of all known formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|format| format.word)
    }

    /// Whether a string has the format.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        self.accepts_within(text, &mut Budget::new(u64::MAX))
            .unwrap_or(false)
    }

    /// Whether a string has the format, if that takes no more work than is left.
    ///
    /// # Errors
    /// When it takes more.
    pub fn accepts_within(self, text: &str, budget: &mut Budget) -> Result<bool, Limit> {
        if text.len() > self.0.longest {
            return Ok(false);
        }
        budget.spend(4 + text.len() as u64 / 4)?;
        match self.0.check {
            Check::Plain(check) => Ok(check(text)),
            Check::Counted(check) => check(text, budget),
        }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .enumerate()
            .all(|(position, byte)| match position {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_finds_its_format() {
        for name in KnownFormat::names() {
            assert!(KnownFormat::from_name(name).is_some());
            assert!(!KnownFormat::from_name(name).unwrap().accepts("[ \\") || name == "regex");
        }
        assert!(KnownFormat::from_name("int32").is_none());
    }

    #[test]
    fn some_of_each() {
        let accepted = [
            ("date-time", "2024-02-29T23:59:59.5Z"),
            ("email", "a.b+c@example.com"),
            ("uuid", "2EB8AA08-aa98-11ea-b4aa-73b441d16380"),
            ("uri", "https://user@example.com:8080/a%20b?q=1#f"),
            ("ipv6", "::ffff:192.0.2.1"),
            ("duration", "P1Y2M3DT4H5M6S"),
            ("uri-template", "/users/{id}{?page,size*}"),
        ];
        let accepts = |name, text| KnownFormat::from_name(name).unwrap().accepts(text);
        for (format, text) in accepted {
            assert!(accepts(format, text), "{text}");
        }
        let refused = [
            ("date-time", "2023-02-29T23:59:59Z"),
            ("email", "no at sign"),
            ("uuid", "2eb8aa08aa9811eab4aa73b441d16380"),
            ("uri", "not a uri"),
            ("ipv4", "256.1.1.1"),
            ("hostname", "-bad.example"),
        ];
        for (format, text) in refused {
            assert!(!accepts(format, text), "{text}");
        }
    }
}
