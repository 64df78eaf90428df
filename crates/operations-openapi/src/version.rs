//! The versions of the specification.

use super::read::{describe, refuse, shorten};
use super::tree::Tree;
use operations_core::error::CallError;

/// The versions that are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Swagger 2.0.
    Swagger2,
    /// OpenAPI 3.0.
    OpenApi30,
    /// OpenAPI 3.1.
    OpenApi31,
    /// OpenAPI 3.2.
    OpenApi32,
}

/// The version that the document claims.
pub(super) fn version_of(root: &Tree) -> Result<Version, CallError> {
    let Some(object) = root.as_object() else {
        return Err(refuse(&format!("found {}", describe(root))));
    };
    let word = |value: &Tree| match value {
        Tree::String(text) => text.trim().to_owned(),
        Tree::Number(number) => number.to_string(),
        other => describe(other),
    };
    if let Some(value) = object.get("openapi") {
        let version = word(value);
        let mut numbers = version.split('.');
        return match (numbers.next(), numbers.next()) {
            (Some("3"), Some("0") | None) => Ok(Version::OpenApi30),
            (Some("3"), Some("1")) => Ok(Version::OpenApi31),
            (Some("3"), Some("2")) => Ok(Version::OpenApi32),
            _ => Err(refuse(&format!(
                "version {:?} is not known (2.0, 3.0, 3.1 and 3.2 are)",
                shorten(&version, 40)
            ))),
        };
    }
    match object.get("swagger").map(word).as_deref() {
        Some("2" | "2.0") => Ok(Version::Swagger2),
        Some(version) => Err(refuse(&format!(
            "Swagger version {:?} is not known (2.0 is)",
            shorten(version, 40)
        ))),
        None => Err(refuse(&format!(
            "there is no \"openapi\" or \"swagger\" version; found {}",
            describe(root)
        ))),
    }
}
