use super::*;

/// More than any check gets.
const PLENTY: u64 = 10_000_000;

fn matches(pattern: &Pattern, text: &str) -> Result<bool, Limit> {
    pattern.matches(text, &mut Budget::new(PLENTY))
}

fn is_regular_expression(text: &str) -> bool {
    super::is_regular_expression(text, &mut Budget::new(PLENTY)).unwrap()
}

fn unicode(pattern: &str, text: &str) -> bool {
    matches(&Pattern::new(pattern, "", Dialect::JsonSchema), text).unwrap()
}

fn plain(pattern: &str, text: &str) -> bool {
    matches(&Pattern::new(pattern, "", Dialect::TypeBox), text).unwrap()
}

fn flagged(pattern: &str, flags: &str, text: &str) -> bool {
    matches(&Pattern::new(pattern, flags, Dialect::TypeBox), text).unwrap()
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
            assert_eq!(matches(&pattern, "a"), Ok(false), "{source}");
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
    let evil =
        |source: &str, text: &str| matches(&Pattern::new(source, "", Dialect::JsonSchema), text);
    // Without a look around an engine serves that reads every character once.
    for source in [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a*)*$",
        "^(a|aa)+$",
        "^(.*a){20}$",
        "a*a*a*b",
    ] {
        assert_eq!(evil(source, &format!("{long}!")), Ok(false), "{source}");
    }
    for source in [
        "^(a|a)*(?=!)b",
        // Looks around that succeed are work as well.
        &format!("{}y", "(?=.*x)".repeat(50)),
        "^(?=(?:(?=.*x).)*$)(?:(?=.*x)(?=.*y)a)*!",
        "(?<=^[ab]*)(?<=^[ac]*)!",
        r"^(a*)(a*)(a*)\1\2\3b",
        r"^(?:(a+)\1*)*$b",
        "^(?:(?!.*!b)a)*$",
        "(?:a?){50}(?=b)",
    ] {
        assert_eq!(
            evil(source, &format!("{long}x!")),
            Err(Limit::Backtracking),
            "{source}"
        );
    }
}

#[test]
fn work_is_counted_whatever_the_verdict() {
    let cost = |source: &str, text: &str| {
        let mut budget = Budget::new(PLENTY);
        let pattern = Pattern::new(source, "", Dialect::JsonSchema);
        let verdict = pattern.matches(text, &mut budget).unwrap();
        (verdict, budget.spent())
    };
    let text = |length: usize| format!("{}x", "a".repeat(length));
    for (source, verdict) in [
        ("(?=.*x)(?=.*x)a", true),
        ("^(?=.*x)(?=.*x)a*x$", true),
        ("(?=.*x)b", false),
    ] {
        let (short, long) = (cost(source, &text(200)), cost(source, &text(400)));
        assert_eq!((short.0, long.0), (verdict, verdict));
        // A look from each place to the end grows with the square.
        let least = if verdict { 2 } else { 3 };
        assert!(
            long.1 >= short.1 * least - 50,
            "{source}: {} and {}",
            short.1,
            long.1
        );
    }
}

#[test]
fn patterns_beyond_a_size_still_run() {
    let pattern = |source: &str| Pattern::new(source, "", Dialect::JsonSchema);
    // Too many states for the engine that reads every character once.
    assert_eq!(
        matches(&pattern(r"^((a{1000}){1000}){1000}$"), "aaa"),
        Ok(false)
    );
    assert_eq!(
        matches(&pattern(r"^(\p{L}{400}|\p{N}{400}){2}$"), &"é".repeat(800)),
        Ok(true)
    );
    for source in ["(".repeat(5000) + &")".repeat(5000), "a".repeat(100_000)] {
        assert!(matches!(
            pattern(&source).failure(),
            Some(PatternFailure::Unsupported(_))
        ));
    }
    assert!(matches!(
        pattern(&r"[^\p{L}]".repeat(4000)).failure(),
        Some(PatternFailure::Unsupported(_))
    ));
}

#[test]
fn both_engines_say_the_same() {
    use super::backtrack;
    use super::linear::Linear;
    use super::program::Program;

    let mut seed = 12_345_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    let words = [
        "a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\b", "(", "(?:", ")", "|", "*", "+", "?",
        "{0,2}", "{2}", "*?", "^", "$",
    ];
    let letters = ['a', 'b', 'é', ' ', '\n'];
    let mut compared = 0;
    for _ in 0..20_000 {
        let source: String = (0..random(9)).map(|_| words[random(words.len())]).collect();
        let (Ok(parsed), _) = parse(&source, Syntax::new("", Dialect::JsonSchema).unwrap()) else {
            continue;
        };
        let Some(linear) = Linear::build(&parsed) else {
            continue;
        };
        let program = Program::new(&parsed);
        for _ in 0..4 {
            let text: String = (0..random(7))
                .map(|_| letters[random(letters.len())])
                .collect();
            let one = backtrack::matches(&program, &text, &mut 1_000_000).unwrap();
            let other = linear.matches(&text, &mut Budget::new(PLENTY)).unwrap();
            assert_eq!(one, other, "{source:?} on {text:?}");
            compared += 1;
        }
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn back_references_and_loops_are_those_of_the_specification() {
    // Groups inside a loop are unset at the start of each round.
    assert!(unicode(r"^(?:(a)|b)*\1$", "ab") && !unicode(r"^(?:(a)|b)*\1c$", "abac"));
    assert!(unicode(r"(?=(a+))a*b\1", "baaabac"));
    // A round that reads nothing does not count beyond the least.
    assert!(unicode("^(a?)*$", "aaa") && unicode("^(a*)*?b$", "aab") && unicode("^(?:a?){3}$", ""));
    // What a look around remembers stays, what it only tried does not.
    assert!(unicode(r"^(?=(a+))\1$", "aaa") && unicode(r"^(?!(a)b)\1ac$", "ac"));
    // A look behind reads backwards.
    assert!(unicode(r"(?<=(\d+)(\d+))$", "1053") && unicode(r"(?<=\1(a))b", "aab"));
    assert!(!unicode(r"(?<=\1(a))b", "cab") && unicode("(?<!abc)d", "abd"));
    assert!(
        unicode("^.*?x$", "aaxbx") && unicode("^a{2,3}?b$", "aaab") && !unicode("^a{2,3}?b$", "ab")
    );
    assert!(flagged("^(a)\\1$", "i", "aA"));
}
