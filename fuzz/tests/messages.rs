//! The targets for messages of other processes, without instrumentation: on the seeds, and on seeds that were changed at
//! random. `OPERATIONS_SEED` repeats a run, `OPERATIONS_CASES` makes it longer.
#![allow(clippy::print_stdout, reason = "a run says how to repeat it")]

use operations_fuzz::random::{Random, seed, setting};
use operations_fuzz::serve::serve;
use operations_fuzz::wire::{call_event, mcp, nats, redis};

type Target = (&'static str, fn(&[u8]) -> bool);

const TARGETS: [Target; 5] = [
    ("call_events", call_event),
    ("nats_messages", nats),
    ("redis_bytes", redis),
    ("mcp_messages", mcp),
    ("serve_requests", serve),
];

fn seeds(name: &str) -> std::io::Result<Vec<Vec<u8>>> {
    let folder = format!("{}/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut paths = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(std::fs::read).collect()
}

/// A part of a seed, a part of another one, and some bytes that are others.
fn changed(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(3) {
        let seed = random.pick(seeds);
        let (a, b) = (random.below(seed.len() + 1), random.below(seed.len() + 1));
        let whole = random.chance(50);
        let part = if whole {
            seed.as_slice()
        } else {
            seed.get(a.min(b)..a.max(b)).unwrap_or_default()
        };
        bytes.extend_from_slice(part);
        if random.chance(50) {
            bytes.push(b'\n');
        }
    }
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        let byte = *random.pick(b"\"{}[]:,\\0189ex.-+\n\r\0\xff");
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
    }
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
fn what_arrives_is_taken_or_refused() -> std::io::Result<()> {
    let seed = seed();
    let cases = setting("OPERATIONS_CASES").unwrap_or(20_000);
    for (name, target) in TARGETS {
        let seeds = seeds(name)?;
        let taken = seeds.iter().filter(|seed| target(seed)).count();
        assert!(taken > seeds.len() / 2, "the seeds of {name} are no use");
        let mut random = Random::new(seed);
        let taken = (0..cases).filter(|_| {
            let input = Input(changed(&mut random, &seeds));
            target(&input.0)
        });
        println!(
            "{name}: seed {seed}, {cases} cases, {} of them taken",
            taken.count()
        );
    }
    Ok(())
}
