//! A document that has been read: its version, its files, and the way from a reference to its target.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::bounds::{MAX_FILES, MAX_REFERENCE_CHAIN};
use super::files;
use super::pointer;
use super::read::{describe, read, refuse, shorten};
use super::runnable::Runnable;
use super::security;
use super::tree::{Members, Tree};
use super::version::{Version, version_of};
use indexmap::IndexSet;
use operations_core::error::CallError;
use operations_http::DocumentOAuth;

/// Documents of more bytes are let go by a thread of their own.
const DROPPED_ASIDE: usize = 1 << 20;

/// An OpenAPI document, with the files it refers to as far as they were handed in. Cloning it is
/// cheap.
#[derive(Debug, Clone)]
pub struct Document(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    version: Version,
    /// Where the document itself came from, if that is a URL.
    url: Option<String>,
    parts: Vec<Part>,
    by_uri: HashMap<Arc<str>, usize>,
    anchors: OnceLock<HashMap<String, (usize, String)>>,
    patterns: Runnable,
}

impl Drop for Inner {
    /// A million values take a while to let go. The holder of the last operation, the garbage
    /// collector of a JavaScript thread for instance, does not wait for it.
    fn drop(&mut self) {
        let bytes: usize = self.parts.iter().map(|part| part.text_bytes).sum();
        if bytes > DROPPED_ASIDE {
            let parts = std::mem::take(&mut self.parts);
            // Without a thread they are dropped here.
            let _ = std::thread::Builder::new().spawn(move || drop(parts));
        }
    }
}

#[derive(Debug, Clone)]
struct Part {
    uri: Arc<str>,
    root: Arc<Tree>,
    /// Bytes of the text it was read from.
    text_bytes: usize,
    /// The files that it refers to, once they were asked for.
    names: OnceLock<Arc<[String]>>,
}

impl Part {
    fn new(uri: &str, text: String) -> Result<Self, CallError> {
        let text_bytes = text.len();
        Ok(Self {
            uri: files::normalise(uri).into(),
            root: Arc::new(read(text)?),
            text_bytes,
            names: OnceLock::new(),
        })
    }

    fn names(&self) -> &[String] {
        self.names
            .get_or_init(|| files::named_in(&self.root, &self.uri).into())
    }
}

/// A value of the document and where it is.
#[derive(Debug, Clone)]
pub(super) struct At<'d> {
    pub(super) value: &'d Tree,
    pub(super) part: usize,
    pub(super) pointer: String,
}

impl<'d> At<'d> {
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(key)?;
        Some(self.member(key, value))
    }

    pub(super) fn member(&self, key: &str, value: &'d Tree) -> Self {
        Self {
            value,
            part: self.part,
            pointer: pointer::join(&self.pointer, key),
        }
    }

    pub(super) fn object(&self) -> Option<&'d Members> {
        self.value.as_object()
    }

    pub(super) fn string(&self, key: &str) -> Option<&'d str> {
        self.value.as_object()?.get(key)?.as_str()
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.object().and_then(|object| object.get(key)) == Some(&Tree::Bool(true))
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Self> + '_ {
        let list = self.value.as_array().unwrap_or_default();
        list.iter()
            .enumerate()
            .map(|(index, value)| self.member(&index.to_string(), value))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'d str, Self)> + '_ {
        self.object()
            .into_iter()
            .flat_map(Members::iter)
            .map(|(key, value)| (key, self.member(key, value)))
    }
}

impl Document {
    /// Reads a document from JSON or YAML, by content.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when the text is not an OpenAPI document, with what was found instead.
    pub fn parse(text: impl Into<String>) -> Result<Self, CallError> {
        Self::parse_at(text, "")
    }

    /// Like [`Document::parse`], for a document whose own address (a path or a URL) is known, so
    /// that references to other files can be understood.
    ///
    /// # Errors
    ///
    /// As for [`Document::parse`].
    pub fn parse_at(text: impl Into<String>, uri: &str) -> Result<Self, CallError> {
        let part = Part::new(address(uri), text.into())?;
        let root = &*part.root;
        let version = version_of(root)?;
        if version < Version::OpenApi31 || root.get("paths").is_some() {
            match root.get("paths") {
                Some(Tree::Object(_)) => {}
                None => {
                    return Err(refuse(&format!(
                        "there are no \"paths\"; found {}",
                        describe(root)
                    )));
                }
                Some(other) => {
                    return Err(refuse(&format!(
                        "\"paths\" must be an object; found {}",
                        describe(other)
                    )));
                }
            }
        }
        Ok(Self::of_parts(version, url_of(uri), vec![part]))
    }

    fn of_parts(version: Version, url: Option<String>, parts: Vec<Part>) -> Self {
        let mut by_uri = HashMap::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            by_uri.entry(Arc::clone(&part.uri)).or_insert(index);
        }
        Self(Arc::new(Inner {
            version,
            url,
            parts,
            by_uri,
            anchors: OnceLock::new(),
            patterns: Runnable::default(),
        }))
    }

    /// The files that references name and that are not there yet, as addresses relative to where the
    /// document's own address is. The list is empty when the document is complete.
    #[must_use]
    pub fn missing_files(&self) -> Vec<String> {
        let mut missing = IndexSet::new();
        for uri in self.0.parts.iter().flat_map(Part::names) {
            if self.part_named(uri).is_none() {
                missing.insert(uri.clone());
            }
            if missing.len() >= MAX_FILES {
                break;
            }
        }
        missing.into_iter().collect()
    }

    /// The same document with one more file. `uri` is as [`Document::missing_files`] gave it.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when the text is neither JSON nor YAML, or there are too many files.
    pub fn with_file(&self, uri: &str, text: impl Into<String>) -> Result<Self, CallError> {
        if self.0.parts.len() >= MAX_FILES {
            return Err(refuse(&format!(
                "it consists of more than {MAX_FILES} files"
            )));
        }
        let mut parts = self.0.parts.clone();
        parts.push(Part::new(uri, text.into())?);
        Ok(Self::of_parts(self.0.version, self.0.url.clone(), parts))
    }

    /// The bytes of memory that it takes, roughly: what a text takes as a tree of values.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.text_bytes().saturating_mul(5)
    }

    /// The bytes of the texts it was read from.
    pub(super) fn text_bytes(&self) -> usize {
        self.0.parts.iter().map(|part| part.text_bytes).sum()
    }

    /// Where the document came from, if that is an `http` or `https` URL: relative servers begin
    /// there.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// The version of the specification that the document follows.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// The document's own root value.
    fn root(&self) -> &Tree {
        self.0.parts.first().map_or(&Tree::Null, |part| &*part.root)
    }

    /// Whether it describes operations that have namespaces of their own ([`super::origin`]).
    #[must_use]
    pub fn has_namespaces(&self) -> bool {
        self.start().flag("x-operations")
    }

    /// What it says about the server that issues its tokens.
    #[must_use]
    pub fn oauth(&self) -> DocumentOAuth {
        security::oauth_of(self)
    }

    pub(super) fn start(&self) -> At<'_> {
        At {
            value: self.root(),
            part: 0,
            pointer: String::new(),
        }
    }

    pub(super) fn at(&self, part: usize, pointer: &str) -> Option<At<'_>> {
        let root = &self.0.parts.get(part)?.root;
        Some(At {
            value: pointer::look_up(root, pointer)?,
            part,
            pointer: pointer.to_owned(),
        })
    }

    /// Where something is, for people: a pointer, with the file before it when it is not the document's
    /// own.
    pub(super) fn locate(&self, at: &At<'_>) -> String {
        match self.0.parts.get(at.part) {
            Some(part) if at.part > 0 => format!("{}#{}", part.uri, at.pointer),
            _ => at.pointer.clone(),
        }
    }

    /// Whether the schema engine can use this pattern.
    pub(super) fn can_run(&self, pattern: &str) -> bool {
        self.0.patterns.holds(pattern)
    }

    fn part_named(&self, uri: &str) -> Option<usize> {
        self.0.by_uri.get(uri).copied()
    }

    /// What a reference leads to, without looking whether that is a reference again.
    pub(super) fn resolve(&self, reference: &str, from: usize) -> Result<At<'_>, String> {
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let part = if file.is_empty() {
            from
        } else {
            let base = self.0.parts.get(from).map_or("", |part| &*part.uri);
            let uri = files::resolve(base, file);
            match self.part_named(&uri) {
                Some(part) => part,
                None => {
                    return self.by_anchor(reference).ok_or_else(|| {
                        format!(
                            "{:?} is in another document, which is not available",
                            shorten(reference, 200)
                        )
                    });
                }
            }
        };
        let pointer = pointer::from_fragment(fragment);
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return self
                .by_anchor(&format!("#{pointer}"))
                .ok_or_else(|| format!("no anchor {:?}", shorten(&pointer, 200)));
        }
        self.at(part, &pointer).ok_or_else(|| {
            format!(
                "{:?} does not exist in the document",
                shorten(reference, 200)
            )
        })
    }

    /// Follows references until something else is found.
    pub(super) fn follow<'d>(&'d self, start: At<'d>) -> Result<At<'d>, String> {
        let mut at = start;
        for _ in 0..MAX_REFERENCE_CHAIN {
            let Some(reference) = at.string("$ref") else {
                return Ok(at);
            };
            at = self.resolve(reference, at.part)?;
        }
        Err("the reference leads only to further references".to_owned())
    }

    /// `$anchor` and `$id`, which few documents use: they are looked for at the first such reference.
    fn by_anchor(&self, name: &str) -> Option<At<'_>> {
        let anchors = self.0.anchors.get_or_init(|| {
            let mut found = HashMap::new();
            for (index, part) in self.0.parts.iter().enumerate() {
                files::anchors(&part.root, &mut String::new(), &mut |name, pointer| {
                    found.entry(name).or_insert((index, pointer.to_owned()));
                });
            }
            found
        });
        let (part, pointer) = anchors.get(name)?;
        self.at(*part, pointer)
    }
}

/// An address without what is no part of its path: references begin at the path.
fn address(uri: &str) -> &str {
    match url_of(uri) {
        Some(_) => uri.split(['?', '#']).next().unwrap_or_default(),
        None => uri,
    }
}

/// The address of a document if it is one on the web.
fn url_of(uri: &str) -> Option<String> {
    let scheme = uri.split_once("://")?.0;
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        .then(|| uri.to_owned())
}
