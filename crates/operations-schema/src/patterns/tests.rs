use super::*;

fn unicode(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern, "", Dialect::JsonSchema)
        .matches(text)
        .unwrap()
}

fn plain(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern, "", Dialect::TypeBox)
        .matches(text)
        .unwrap()
}

fn flagged(pattern: &str, flags: &str, text: &str) -> bool {
    Pattern::new(pattern, flags, Dialect::TypeBox)
        .matches(text)
        .unwrap()
}

#[test]
fn digits_words_and_space_are_those_of_ecmascript() {
    assert!(unicode(r"^\d$", "7") && !unicode(r"^\d$", "৭"));
    assert!(unicode(r"^\w+$", "az_09") && !unicode(r"^\w$", "é"));
    assert!(unicode(r"^\s+$", "\u{feff}\u{a0}\u{2028}\t") && !unicode(r"^\s$", "\u{180e}"));
    assert!(unicode(r"^[\D\S]$", "é") && unicode(r"^[^\d]$", "৭"));
}

#[test]
fn the_end_is_the_very_end() {
    assert!(!unicode("^abc$", "abc\n"));
    assert!(unicode(r"\babc\b", "é abc!") && unicode(r"\babc", "éabc"));
    assert!(unicode(r"a\Bb", "ab") && !unicode(r"a\B ", "a "));
}

#[test]
fn the_dot_stops_at_line_ends_only() {
    assert!(!unicode("^.$", "\u{2028}") && unicode("^.$", "\u{85}"));
    assert!(flagged("^.$", "s", "\n"));
}

#[test]
fn empty_classes() {
    assert!(plain("^[^]$", "\n") && !plain("[]", "x"));
}

#[test]
fn escapes() {
    assert!(unicode(r"^\cC$", "\u{3}") && unicode(r"^\x41\u0042\u{43}$", "ABC"));
    assert!(unicode(r"^\ud83d\ude00$", "😀") && unicode(r"^\0$", "\0"));
    assert!(unicode(r"^\p{Lu}\P{Lu}$", "Aa") && unicode(r"\p{Script=Greek}", "ω"));
    assert!(plain(r"^\p{Lu}$", "p{Lu}") && plain(r"^\a\-\_$", "a-_"));
    assert!(plain(r"^\u{3}$", "uuu"));
    assert!(plain(r"^\101$", "A") && plain(r"^\8$", "8") && plain(r"^[\b]$", "\u{8}"));
    assert!(plain(r"^\c1$", "\\c1"));
}

#[test]
fn units_and_code_points_differ() {
    assert!(unicode("^.$", "😀") && !plain("^.$", "😀") && plain("^..$", "😀"));
    assert!(plain("^😀$", "😀") && plain("^[😀]{2}$", "😀") && unicode("^[😀]$", "😀"));
    assert!(plain(r"^\ud83d\ude00$", "😀") && plain(r"^[\ud800-\udfff]{2}$", "😀"));
    assert!(unicode("^[\\u0000-\\u{10ffff}]$", "😀") && unicode("^[^a]$", "😀"));
}

#[test]
fn lookaround_and_back_references() {
    assert!(unicode(r"^(?=.*\d)(?!.*x)\w+$", "ab1") && !unicode(r"^(?!.*x)\w+$", "axb"));
    assert!(unicode(r"(?<=\$)\d+", "$42") && !unicode(r"(?<!\$)\b\d+", "$42"));
    assert!(unicode(r"^(a)|\1b$", "b") && unicode(r"^(?<x>.)\k<x>$", "aa"));
    assert!(!unicode(r"^(.)\1$", "ab"));
    assert!(unicode(r"^(?=a)\b\w\B\w$", "ab"));
}

#[test]
fn flags() {
    assert!(flagged("^b$", "m", "a\nb\nc") && !flagged("^b$", "", "a\nb\nc"));
    assert!(flagged("ABC", "i", "xabc") && !flagged("b", "y", "ab") && flagged("a", "gy", "ab"));
    assert!(matches!(
        Pattern::new("a", "x", Dialect::TypeBox).failure(),
        Some(PatternFailure::Syntax(_))
    ));
}

#[test]
fn what_is_not_a_pattern_matches_nothing_and_says_why() {
    for source in [
        "(",
        ")",
        "*",
        "a**",
        "[",
        "a{2,1}",
        "[b-a]",
        "(?",
        r"\",
        "(?<1>a)",
        "(?i)a",
        "++",
        "(?<a>.)(?<a>.)",
    ] {
        for dialect in [Dialect::TypeBox, Dialect::JsonSchema] {
            let pattern = Pattern::new(source, "", dialect);
            assert!(
                matches!(pattern.failure(), Some(PatternFailure::Syntax(_))),
                "{source}"
            );
            assert_eq!(pattern.matches("a"), Ok(false), "{source}");
        }
    }
}

#[test]
fn unicode_mode_is_strict_for_the_format_and_lenient_for_patterns() {
    for source in [r"\-", "}", r"\a", r"[\w-a]", r"\1", "{", r"\Z"] {
        assert!(!is_regular_expression(source), "{source}");
        assert!(
            Pattern::new(source, "", Dialect::JsonSchema)
                .failure()
                .is_none(),
            "{source}"
        );
    }
    assert!(is_regular_expression(r"^(?:a|[b-d]{2,3}?)+\/$"));
    assert!(!is_regular_expression(r"\p{NoSuchProperty}"));
}

#[test]
fn evil_patterns_end() {
    let long = "a".repeat(50_000);
    assert_eq!(
        Pattern::new("^(a+)+$", "", Dialect::JsonSchema).matches(&format!("{long}!")),
        Ok(false)
    );
    let evil = Pattern::new("^(a|a)*(?=!)b", "", Dialect::JsonSchema);
    assert_eq!(
        evil.matches(&format!("{}!", &long[..5000])),
        Err(Limit::Backtracking)
    );
    assert_eq!(evil.matches(&long), Err(Limit::Backtracking));
    for source in [
        r"((a{1000}){1000}){1000}".to_owned(),
        "(".repeat(5000) + &")".repeat(5000),
        "a".repeat(100_000),
    ] {
        assert!(matches!(
            Pattern::new(&source, "", Dialect::JsonSchema).failure(),
            Some(PatternFailure::Unsupported(_))
        ));
    }
}
