//! The targets without instrumentation: on the seeds, and on random choices.
//!
//! `OPERATIONS_SEED` repeats a run, `OPERATIONS_CASES` makes it longer.
#![allow(clippy::print_stdout, reason = "a run says how to repeat it")]

use operations_fuzz::input::Language;
use operations_fuzz::openapi::read_and_import;
use operations_fuzz::random::{Random, seed, setting};
use operations_fuzz::targets::{compile_and_walk, emit};

type Target = (&'static str, fn(&[u8]) -> bool);

const TARGETS: [Target; 4] = [
    ("compile_json", |bytes| {
        compile_and_walk(bytes, Language::Json)
    }),
    ("compile_encoded", |bytes| {
        compile_and_walk(bytes, Language::Encoded)
    }),
    ("emit", emit),
    ("openapi", read_and_import),
];

/// The generated inputs apart, a seed that does not compile has nothing to say.
#[test]
fn every_seed_compiles_and_holds() -> std::io::Result<()> {
    for (name, target) in TARGETS {
        let folder = format!("{}/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut count = 0;
        for seed in std::fs::read_dir(folder)? {
            let path = seed?.path();
            let compiled = target(&std::fs::read(&path)?);
            let is_written = !path.to_string_lossy().ends_with("choices");
            assert!(compiled || !is_written, "{} is no use", path.display());
            count += 1;
        }
        assert!(count >= 12, "{name} has {count} seeds");
    }
    Ok(())
}

/// Choices for the generator of schemas.
fn choices(random: &mut Random, target: &str) -> Vec<u8> {
    let mut bytes = match target {
        "emit" if random.chance(50) => b"j!".to_vec(),
        "emit" => b"E!".to_vec(),
        _ => b"!".to_vec(),
    };
    let words = random.below(88);
    bytes.extend((0..words).flat_map(|_| random.number().to_be_bytes()));
    bytes
}

/// Says what it was when a promise is broken.
struct Input(Vec<u8>);

impl Drop for Input {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the input was {}", self.0.escape_ascii());
        }
    }
}

#[test]
fn random_choices_hold() {
    let seed = seed();
    let cases = setting("OPERATIONS_CASES").unwrap_or(2_000);
    for (name, target) in TARGETS {
        println!("{name}: seed {seed}, {cases} cases");
        let mut random = Random::new(seed);
        let compiled = (0..cases).filter(|_| {
            let input = Input(choices(&mut random, name));
            target(&input.0)
        });
        let compiled = compiled.count();
        println!("{name}: {compiled} of them compiled");
    }
}
