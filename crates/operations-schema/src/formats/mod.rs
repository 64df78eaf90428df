//! The `format` words that are asserted.

mod hostname;
mod internet;
mod pointer;
mod template;
mod time;

use fluent_uri::{Iri, IriRef, Uri, UriRef};

use crate::host::Limit;
use crate::patterns::is_regular_expression;
use crate::work::Budget;

/// A format that this engine checks. Other words, OpenAPI's `int32` or `binary` among them, say
/// nothing about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnownFormat {
    /// `date-time` (RFC 3339).
    DateTime,
    /// `date` (RFC 3339).
    Date,
    /// `time` (RFC 3339, with its offset).
    Time,
    /// `duration` (RFC 3339, appendix A).
    Duration,
    /// `email` (RFC 5321).
    Email,
    /// `idn-email` (RFC 6531).
    IdnEmail,
    /// `hostname` (RFC 1123).
    Hostname,
    /// `idn-hostname` (RFC 5890).
    IdnHostname,
    /// `ipv4`.
    Ipv4,
    /// `ipv6`.
    Ipv6,
    /// `uri` (RFC 3986).
    Uri,
    /// `uri-reference` (RFC 3986).
    UriReference,
    /// `iri` (RFC 3987).
    Iri,
    /// `iri-reference` (RFC 3987).
    IriReference,
    /// `uri-template` (RFC 6570).
    UriTemplate,
    /// `uuid` (RFC 4122).
    Uuid,
    /// `json-pointer` (RFC 6901).
    JsonPointer,
    /// `relative-json-pointer`.
    RelativeJsonPointer,
    /// `regex` (ECMAScript, unicode mode).
    Regex,
}

/// All of them with their words.
const WORDS: [(&str, KnownFormat); 19] = [
    ("date-time", KnownFormat::DateTime),
    ("date", KnownFormat::Date),
    ("time", KnownFormat::Time),
    ("duration", KnownFormat::Duration),
    ("email", KnownFormat::Email),
    ("idn-email", KnownFormat::IdnEmail),
    ("hostname", KnownFormat::Hostname),
    ("idn-hostname", KnownFormat::IdnHostname),
    ("ipv4", KnownFormat::Ipv4),
    ("ipv6", KnownFormat::Ipv6),
    ("uri", KnownFormat::Uri),
    ("uri-reference", KnownFormat::UriReference),
    ("iri", KnownFormat::Iri),
    ("iri-reference", KnownFormat::IriReference),
    ("uri-template", KnownFormat::UriTemplate),
    ("uuid", KnownFormat::Uuid),
    ("json-pointer", KnownFormat::JsonPointer),
    ("relative-json-pointer", KnownFormat::RelativeJsonPointer),
    ("regex", KnownFormat::Regex),
];

impl KnownFormat {
    /// The format behind a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        WORDS
            .iter()
            .find(|(word, _)| *word == name)
            .map(|(_, format)| *format)
    }

    /// The words of all known formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
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
        if let Some(longest) = self.longest()
            && text.len() > longest
        {
            return Ok(false);
        }
        budget.spend(4 + text.len() as u64 / 4)?;
        Ok(match self {
            Self::DateTime => time::is_date_time(text),
            Self::Date => time::is_date(text),
            Self::Time => time::is_time(text),
            Self::Duration => time::is_duration(text),
            Self::Email => internet::is_email(text, false),
            Self::IdnEmail => internet::is_email(text, true),
            Self::Hostname => hostname::is_hostname(text),
            Self::IdnHostname => hostname::is_idn_hostname(text),
            Self::Ipv4 => internet::is_ipv4(text),
            Self::Ipv6 => internet::is_ipv6(text),
            Self::Uri => Uri::parse(text).is_ok(),
            Self::UriReference => UriRef::parse(text).is_ok(),
            Self::Iri => Iri::parse(text).is_ok(),
            Self::IriReference => IriRef::parse(text).is_ok(),
            Self::UriTemplate => template::is_template(text),
            Self::Uuid => is_uuid(text),
            Self::JsonPointer => pointer::is_json_pointer(text),
            Self::RelativeJsonPointer => pointer::is_relative_json_pointer(text),
            Self::Regex => return is_regular_expression(text, budget),
        })
    }

    /// How many bytes a string of this format has at most, where there is a limit.
    fn longest(self) -> Option<usize> {
        match self {
            Self::Date | Self::Ipv4 | Self::Ipv6 | Self::Uuid => Some(64),
            // 253 characters of at most four bytes.
            Self::Hostname | Self::IdnHostname => Some(1012),
            _ => None,
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
        assert_eq!(KnownFormat::from_name("int32"), None);
    }

    #[test]
    fn some_of_each() {
        let accepted = [
            (KnownFormat::DateTime, "2024-02-29T23:59:59.5Z"),
            (KnownFormat::Email, "a.b+c@example.com"),
            (KnownFormat::Uuid, "2EB8AA08-aa98-11ea-b4aa-73b441d16380"),
            (
                KnownFormat::Uri,
                "https://user@example.com:8080/a%20b?q=1#f",
            ),
            (KnownFormat::Ipv6, "::ffff:192.0.2.1"),
            (KnownFormat::Duration, "P1Y2M3DT4H5M6S"),
            (KnownFormat::UriTemplate, "/users/{id}{?page,size*}"),
        ];
        for (format, text) in accepted {
            assert!(format.accepts(text), "{text}");
        }
        let refused = [
            (KnownFormat::DateTime, "2023-02-29T23:59:59Z"),
            (KnownFormat::Email, "no at sign"),
            (KnownFormat::Uuid, "2eb8aa08aa9811eab4aa73b441d16380"),
            (KnownFormat::Uri, "not a uri"),
            (KnownFormat::Ipv4, "256.1.1.1"),
            (KnownFormat::Hostname, "-bad.example"),
        ];
        for (format, text) in refused {
            assert!(!format.accepts(text), "{text}");
        }
    }
}
