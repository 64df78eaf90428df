//! The targets without instrumentation: on the seeds, and on random choices.
//!
//! `OPERATIONS_SEED` repeats a run, `OPERATIONS_CASES` makes it longer.
#![allow(clippy::print_stdout, reason = "a run says how to repeat it")]

use std::time::{SystemTime, UNIX_EPOCH};

use operations_fuzz::input::Language;
use operations_fuzz::openapi::read_and_import;
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

/// A small generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Choices for the generator of schemas.
    fn choices(&mut self, target: &str) -> Vec<u8> {
        let mut bytes = match target {
            "emit" if self.next() >> 63 == 0 => b"j!".to_vec(),
            "emit" => b"E!".to_vec(),
            _ => b"!".to_vec(),
        };
        let words = (self.next() >> 57) % 88;
        bytes.extend((0..words).flat_map(|_| self.next().to_be_bytes()));
        bytes
    }
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
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = number("OPERATIONS_SEED")
        .or_else(|| Some(u64::from(now().ok()?.subsec_nanos())))
        .map_or(1, |seed| seed.max(1));
    let cases = number("OPERATIONS_CASES").unwrap_or(2_000);
    for (name, target) in TARGETS {
        println!("{name}: seed {seed}, {cases} cases");
        let mut random = Random(seed);
        let compiled = (0..cases).filter(|_| {
            let input = Input(random.choices(name));
            target(&input.0)
        });
        let compiled = compiled.count();
        println!("{name}: {compiled} of them compiled");
    }
}
