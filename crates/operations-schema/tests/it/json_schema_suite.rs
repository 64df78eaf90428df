//! The official JSON Schema test suite: every required case of five drafts, and the optional format
//! cases for the formats that are asserted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    missing_docs
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::suite_exceptions::EXCEPTIONS;
use operations_schema::compile::{Draft, Registry};
use operations_schema::formats::KnownFormat;
use operations_schema::json::Document;
use operations_schema::{CompileOptions, JsonAccess, Source, check, collect_errors, compile};
use serde_json::Value;

const DRAFTS: [(&str, Draft); 5] = [
    ("draft4", Draft::Draft4),
    ("draft6", Draft::Draft6),
    ("draft7", Draft::Draft7),
    ("draft2019-09", Draft::Draft201909),
    ("draft2020-12", Draft::Draft202012),
];

/// Where `scripts/json-schema-suite.mjs` puts it. With `CI=true` it has to be there.
fn suite() -> Option<PathBuf> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/json-schema-test-suite");
    if suite.is_dir() {
        return Some(suite);
    }
    let reason = "the JSON Schema test suite is not here (node scripts/json-schema-suite.mjs)";
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "{reason}"
    );
    eprintln!("SKIPPED: {reason}");
    None
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn remotes(folder: &Path, uri: &str, into: &mut Registry) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let uri = format!("{uri}/{name}");
        if path.is_dir() {
            remotes(&path, &uri, into);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            into.insert(uri, Source::try_from(&read(&path)).unwrap());
        }
    }
}

#[derive(Default)]
struct Tally {
    cases: usize,
    passed: usize,
    excepted: BTreeSet<usize>,
    failures: Vec<String>,
}

fn run_file(path: &Path, label: &str, options: &CompileOptions, tally: &mut Tally) {
    for group in read(path).as_array().unwrap() {
        let description = group["description"].as_str().unwrap();
        let source = Source::try_from(&group["schema"]).unwrap();
        let program = compile(&source, options);
        for case in group["tests"].as_array().unwrap() {
            tally.cases += 1;
            let name = case["description"].as_str().unwrap();
            let wanted = case["valid"].as_bool().unwrap();
            let value = &Document::from(&case["data"]);
            let answer = program
                .as_ref()
                .map_err(ToString::to_string)
                .and_then(|program| {
                    let mut host = JsonAccess::new();
                    let verdict = check(program, &mut host, value.into())
                        .map_err(|error| error.to_string())?;
                    let errors = collect_errors(program, &mut host, value.into(), 100);
                    assert_eq!(
                        errors.map(|errors| errors.is_empty()),
                        Ok(verdict),
                        "check and errors disagree: {label} / {description} / {name}"
                    );
                    Ok(verdict)
                });
            let exception = EXCEPTIONS
                .iter()
                .position(|(file, one_group, one_case, _)| {
                    *file == label
                        && *one_group == description
                        && (*one_case == name || *one_case == "*")
                });
            match (answer == Ok(wanted), exception) {
                (true, None) => tally.passed += 1,
                (false, Some(position)) => {
                    tally.excepted.insert(position);
                }
                (true, Some(_)) => {}
                (false, None) => tally.failures.push(format!(
                    "{label} / {description} / {name}: wanted {wanted}, got {answer:?}"
                )),
            }
        }
    }
}

#[test]
fn every_required_case_and_the_formats() {
    let Some(suite) = suite() else { return };
    let mut documents = Registry::new();
    remotes(
        &suite.join("remotes"),
        "http://localhost:1234",
        &mut documents,
    );
    let mut tally = Tally::default();
    for (folder, draft) in DRAFTS {
        let mut options = CompileOptions {
            default_draft: draft,
            assert_formats: false,
            documents: documents.clone(),
            ..CompileOptions::default()
        };
        let tests = suite.join("tests").join(folder);
        for path in json_files(&tests) {
            let label = format!("{folder}/{}", path.file_stem().unwrap().to_str().unwrap());
            run_file(&path, &label, &options, &mut tally);
        }
        let required = tally.cases;
        options.assert_formats = true;
        for path in json_files(&tests.join("optional/format")) {
            let format = path.file_stem().unwrap().to_str().unwrap();
            if KnownFormat::from_name(format).is_none() && format != "unknown" {
                continue;
            }
            let label = format!(
                "{folder}/format/{}",
                path.file_stem().unwrap().to_str().unwrap()
            );
            run_file(&path, &label, &options, &mut tally);
        }
        eprintln!(
            "{folder}: {required} cases so far, {} with formats",
            tally.cases
        );
    }
    eprintln!(
        "JSON Schema suite: {} cases, {} passed, {} failed, {} exceptions in use",
        tally.cases,
        tally.passed,
        tally.failures.len(),
        tally.excepted.len()
    );
    let unused: Vec<_> = EXCEPTIONS
        .iter()
        .enumerate()
        .filter(|(position, _)| !tally.excepted.contains(position))
        .map(|(_, exception)| exception)
        .collect();
    assert!(
        tally.failures.is_empty(),
        "{} failures:\n{}",
        tally.failures.len(),
        tally.failures.join("\n")
    );
    assert!(
        unused.is_empty(),
        "these exceptions pass now, remove them: {unused:#?}"
    );
}
