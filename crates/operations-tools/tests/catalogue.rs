//! The catalogue without Node: joining, leaving, and unlikely texts.

use operations_tools::catalogue::{Catalogue, Entry};
use operations_tools::declarations::{Declarations, Described, SchemaText, estimated_tokens};

fn entry(id: &str, description: &str) -> Entry<'static> {
    Entry {
        id: id.to_owned(),
        namespace: id.split('.').next().unwrap_or_default().to_owned(),
        description: description.to_owned(),
        ..Entry::default()
    }
}

fn ids<'a>(catalogue: &'a Catalogue, question: &str) -> Vec<&'a str> {
    let hits = catalogue.search(question, 100);
    hits.into_iter().map(|hit| hit.id).collect()
}

#[test]
fn operations_join_and_leave() {
    let mut catalogue = Catalogue::default();
    assert!(catalogue.is_empty());
    // Often enough that what was noted of those that left is dropped, and their numbers are used again.
    for round in 0..2_000 {
        let id = format!("a.thing{}", round % 7);
        catalogue.put(&entry(&id, &format!("word{round} shared")));
        if round % 3 == 0 {
            catalogue.remove(&format!("a.thing{}", (round + 3) % 7));
        }
    }
    catalogue.settle();
    assert_eq!(catalogue.len(), ids(&catalogue, "shared").len());
    assert_eq!(ids(&catalogue, "word1999"), ["a.thing4"]);
    assert!(ids(&catalogue, "word3x").is_empty());
    for number in 0..7 {
        catalogue.remove(&format!("a.thing{number}"));
    }
    assert!(ids(&catalogue, "shared").is_empty());
}

#[test]
fn equal_answers_are_in_the_order_of_ids() {
    let mut catalogue = Catalogue::default();
    for name in ["b.three", "a.one", "c.two"] {
        catalogue.put(&entry(name, "the same text"));
    }
    assert_eq!(ids(&catalogue, "same text"), ["a.one", "b.three", "c.two"]);
    assert_eq!(catalogue.search("same text", 2).len(), 2);
}

#[test]
fn odd_questions_have_answers_or_none() {
    let mut catalogue = Catalogue::default();
    catalogue.put(&entry("a.größe", "Ändert die Größe 尺寸"));
    catalogue.settle();
    assert_eq!(ids(&catalogue, "Größe"), ["a.größe"]);
    assert_eq!(ids(&catalogue, "尺寸"), ["a.größe"]);
    let long = "größ ".repeat(50_000);
    assert_eq!(ids(&catalogue, &long), ["a.größe"]);
    for question in ["", "\u{0}", "''''", "𝔘𝔫𝔦", "x"] {
        assert!(ids(&catalogue, question).is_empty(), "{question}");
    }
}

/// A schema whose definitions each name all others.
fn tangled(wide: usize) -> String {
    let properties: Vec<String> = (0..wide)
        .map(|each| format!(r##""p{each}":{{"$ref":"#/$defs/D{each}"}}"##))
        .collect();
    let body = format!(
        r#"{{"type":"object","properties":{{{}}}}}"#,
        properties.join(",")
    );
    let definitions: Vec<String> = (0..wide)
        .map(|each| format!(r#""D{each}":{body}"#))
        .collect();
    format!(
        r##"{{"$ref":"#/$defs/D0","$defs":{{{}}}}}"##,
        definitions.join(",")
    )
}

#[test]
fn declarations_fit_whatever_the_schemas_are() {
    let deep = format!("{}{{}}{}", r#"{"items":"#.repeat(100), "}".repeat(100));
    let tangled = tangled(60);
    let lost = r##"{"$ref":"#/$defs/A"}"##;
    for schema in [
        tangled.as_str(),
        &deep,
        "true",
        "false",
        "nonsense",
        "[]",
        lost,
    ] {
        let schema = SchemaText::read(schema.to_owned());
        for budget in [60, 200, 1_000] {
            let mut declarations = Declarations::new(budget, false);
            for number in 0..20 {
                declarations.add(&Described {
                    id: &format!("a.op{number}"),
                    description: "Does it */ all",
                    is_stream: false,
                    input: &schema,
                    output: &schema,
                });
            }
            let text = declarations.text(3);
            assert!(estimated_tokens(&text) <= budget, "{budget}: {text}");
        }
    }
}
