//! The plan of a request: what a document says about how the parts of an input travel.
//!
//! A plan is made once per operation, when a document is imported, and used for each call. It holds
//! words of the document only; nothing in it comes from a caller.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::media::{self, Family};

/// Everything that is needed to turn an input object into a request, except the base URL.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestPlan {
    /// The method as it is sent: in upper case, unless it is one of the document's own.
    pub method: String,
    /// The path template below the base URL, with `{name}` for each path parameter.
    pub path: String,
    /// The parameters in the order of the document.
    pub parameters: Vec<Parameter>,
    /// The request body, if the operation takes one.
    pub body: Option<BodyPlan>,
    /// The media types of the responses, in the order of the document: the `Accept` header.
    pub accept: Vec<String>,
    /// Which of [`RELAYED_STATUSES`] the document declares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<u16>,
}

/// Statuses of errors that a caller can act on, so that they mean the same on the way through another server.
pub const RELAYED_STATUSES: [u16; 6] = [404, 409, 410, 412, 422, 429];

/// One parameter: where its value is found in the input, and where and how it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// The name on the wire.
    pub name: String,
    /// The property of the input object, which differs from `name` when two parameters share one.
    pub input: String,
    /// Where the value goes.
    pub location: Location,
    /// How the value is written.
    pub style: Style,
    /// Whether each element or property is written on its own.
    #[serde(default)]
    pub explode: bool,
    /// Whether reserved characters of a URL stay as they are.
    #[serde(default)]
    pub allow_reserved: bool,
    /// Whether a call without the value is an error.
    #[serde(default)]
    pub required: bool,
    /// The media type when the document describes the parameter by `content` rather than by
    /// `schema`: the value is then written in that type and `style` says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

impl Parameter {
    /// A parameter with what the specification says about this location when the document is
    /// silent; a path parameter is required.
    pub fn new(name: impl Into<String>, location: Location) -> Self {
        let name = name.into();
        let style = location.default_style();
        Self {
            input: name.clone(),
            name,
            location,
            style,
            explode: style.default_explode(),
            allow_reserved: false,
            required: location == Location::Path,
            content: None,
        }
    }

    /// The same parameter in another style; `explode` becomes the default of that style.
    #[must_use]
    pub fn with_style(mut self, style: Style) -> Self {
        self.style = style;
        self.explode = style.default_explode();
        self
    }

    /// The same parameter with this `explode`.
    #[must_use]
    pub fn with_explode(mut self, explode: bool) -> Self {
        self.explode = explode;
        self
    }

    /// The same parameter, written as Swagger 2.0's `collectionFormat` says. An unknown word leaves
    /// it at `csv`, the default of that version.
    #[must_use]
    pub fn with_collection_format(mut self, format: &str) -> Self {
        (self.style, self.explode) = Style::from_collection_format(format, self.location);
        self
    }
}

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// Into the path, in the place of `{name}`.
    Path,
    /// Into the query string.
    Query,
    /// Into a header of its own.
    Header,
    /// Into the `Cookie` header.
    Cookie,
    /// It is the whole query string (OpenAPI 3.2).
    #[serde(rename = "querystring")]
    QueryString,
}

impl Location {
    /// The location that a document's `in` names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "path" => Self::Path,
            "query" => Self::Query,
            "header" => Self::Header,
            "cookie" => Self::Cookie,
            "querystring" => Self::QueryString,
            _ => return None,
        })
    }

    /// The word that a document uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
            Self::QueryString => "querystring",
        }
    }

    /// The style of a parameter that names none.
    #[must_use]
    pub const fn default_style(self) -> Style {
        match self {
            Self::Path | Self::Header => Style::Simple,
            Self::Query | Self::Cookie | Self::QueryString => Style::Form,
        }
    }
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `;name=value`, in paths.
    Matrix,
    /// `.value`, in paths.
    Label,
    /// `value`, in paths and headers.
    Simple,
    /// `name=value`, in queries, cookies and form bodies.
    Form,
    /// `name=a%20b`, in queries.
    SpaceDelimited,
    /// `name=a%7Cb`, in queries.
    PipeDelimited,
    /// `name=a%09b`: Swagger 2.0's `tsv`, which OpenAPI 3 has no word for.
    TabDelimited,
    /// `name%5Bkey%5D=value`, in queries.
    DeepObject,
    /// `name=value` in cookies, as it stands (OpenAPI 3.2).
    Cookie,
}

impl Style {
    /// The style that a document's `style` names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "matrix" => Self::Matrix,
            "label" => Self::Label,
            "simple" => Self::Simple,
            "form" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "tabDelimited" => Self::TabDelimited,
            "deepObject" => Self::DeepObject,
            "cookie" => Self::Cookie,
            _ => return None,
        })
    }

    /// `explode` where the document is silent.
    #[must_use]
    pub const fn default_explode(self) -> bool {
        matches!(self, Self::Form | Self::Cookie)
    }

    /// Style and explode for a `collectionFormat` of Swagger 2.0.
    #[must_use]
    pub fn from_collection_format(format: &str, location: Location) -> (Self, bool) {
        match format {
            "ssv" => (Self::SpaceDelimited, false),
            "tsv" => (Self::TabDelimited, false),
            "pipes" => (Self::PipeDelimited, false),
            "multi" => (location.default_style(), true),
            _ => (location.default_style(), false),
        }
    }
}

/// How the request body travels.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BodyPlan {
    /// The property of the input object that holds the body.
    pub input: String,
    /// Whether a call without a body is an error.
    pub required: bool,
    /// The media type that is sent, chosen among those that the document lists.
    pub media_type: String,
    /// All that the document lists, in its order.
    pub media_types: Vec<String>,
    /// For form and multipart bodies: what the document says about single properties.
    pub encoding: IndexMap<String, Encoding>,
    /// Whether the body is the input itself, and no property of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_input: bool,
    /// Whether the document says `format: binary`: a string is no such body.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_binary: bool,
}

impl BodyPlan {
    /// An optional body in the property `body`. Of several media types the first JSON one is sent,
    /// else the first listed, else (none listed) JSON.
    #[must_use]
    pub fn new(media_types: Vec<String>) -> Self {
        let media_type = media_types
            .iter()
            .find(|media_type| media::is_json(media_type))
            .or_else(|| media_types.first())
            .cloned()
            .unwrap_or_else(|| "application/json".to_owned());
        Self {
            input: "body".to_owned(),
            required: false,
            media_type,
            media_types,
            encoding: IndexMap::new(),
            is_input: false,
            is_binary: false,
        }
    }

    /// How the facade hands the body over: as `json` text, with files among its `parts`, or in the
    /// notation for everything (`other`); or the `input` as a whole, as JSON text.
    #[must_use]
    pub fn notation(&self) -> &'static str {
        if self.is_input {
            return "input";
        }
        match media::family(&self.media_type) {
            Family::Json => "json",
            Family::Multipart => "parts",
            _ => "other",
        }
    }
}

/// What a document says about one property of a form or multipart body. What is absent follows from
/// the value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Encoding {
    /// The media type of the property; a comma-separated list or a range says nothing about one
    /// value and is passed over.
    pub content_type: Option<String>,
    /// How the value is written.
    pub style: Option<Style>,
    /// Whether each element or property is written on its own.
    pub explode: Option<bool>,
    /// Whether reserved characters of a URL stay as they are.
    pub allow_reserved: bool,
    /// Whether the document says `format: binary` of the property, or of its elements: a string is no such value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_binary: bool,
}

/// A server of a document, not yet resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Server {
    /// The URL template, absolute or relative to the document, with `{name}` for variables.
    pub url: String,
    /// The default value of each variable.
    pub variables: IndexMap<String, String>,
}
