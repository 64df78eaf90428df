//! Which definitions contain themselves.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::Value;

use super::reference;

/// The definitions that a reference leads from and back to, and those between two such cycles.
pub(super) fn recursive_names(definitions: &IndexMap<String, (Value, String)>) -> HashSet<String> {
    let mut forward: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut backward: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (name, (schema, _)) in definitions {
        let mut targets = HashSet::new();
        collect_references(schema, &mut targets);
        for target in &targets {
            backward.entry(target).or_default().insert(name);
        }
        forward.insert(name, targets);
    }
    let mut left: HashSet<&str> = definitions.keys().map(String::as_str).collect();
    // What leads to nothing is in no circle, and neither is what nothing leads to.
    peel(&mut left, &forward, &backward);
    peel(&mut left, &backward, &forward);
    left.into_iter().map(str::to_owned).collect()
}

/// Takes away, again and again, what has no edge to anything that is left.
fn peel<'n>(
    left: &mut HashSet<&'n str>,
    edges: &HashMap<&'n str, HashSet<&'n str>>,
    reverse: &HashMap<&'n str, HashSet<&'n str>>,
) {
    let none = HashSet::new();
    let mut degrees: HashMap<&str, usize> = left
        .iter()
        .map(|name| {
            let targets = edges.get(name).unwrap_or(&none);
            (
                *name,
                targets
                    .iter()
                    .filter(|target| left.contains(*target))
                    .count(),
            )
        })
        .collect();
    let mut free: Vec<&str> = left
        .iter()
        .copied()
        .filter(|name| degrees.get(name) == Some(&0))
        .collect();
    while let Some(name) = free.pop() {
        left.remove(name);
        for source in reverse.get(name).unwrap_or(&none) {
            if let Some(degree) = degrees.get_mut(source)
                && *degree > 0
            {
                *degree -= 1;
                if *degree == 0 {
                    free.push(source);
                }
            }
        }
    }
}

fn collect_references<'v>(value: &'v Value, targets: &mut HashSet<&'v str>) {
    match value {
        Value::Object(node) => {
            targets.extend(reference(node));
            for entry in node.values() {
                collect_references(entry, targets);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_references(item, targets)),
        _ => {}
    }
}
