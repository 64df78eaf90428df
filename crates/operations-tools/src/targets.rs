//! What each target takes: the one table of their rules.
//!
//! Providers change their rules without notice, so every row says where it was read and when. A rule
//! that only an error message of the provider shows is as good as a documented one: a request that
//! is refused for one schema loses all tools of the request.

/// Whom tools are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// `OpenAI`'s function calling, without strict mode.
    OpenAi,
    /// `OpenAI`'s function calling in strict mode (Structured Outputs).
    OpenAiStrict,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini, `FunctionDeclaration.parameters`.
    Gemini,
    /// The Model Context Protocol.
    Mcp,
    /// JSON Schema 2020-12 for readers that know all of it.
    JsonSchema,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::OpenAi,
        Self::OpenAiStrict,
        Self::Anthropic,
        Self::Gemini,
        Self::Mcp,
        Self::JsonSchema,
    ];

    /// The word that users write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Mcp => "mcp",
            Self::JsonSchema => "json-schema",
        }
    }

    /// The target of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.as_str() == name)
    }

    /// Its rules.
    #[must_use]
    pub const fn rules(self) -> &'static Rules {
        match self {
            Self::OpenAi => &OPENAI,
            Self::OpenAiStrict => &OPENAI_STRICT,
            Self::Anthropic => &ANTHROPIC,
            Self::Gemini => &GEMINI,
            Self::Mcp => &MCP,
            Self::JsonSchema => &JSON_SCHEMA,
        }
    }
}

/// How schemas may refer to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// `$ref` to `$defs` at the root.
    Definitions,
    /// Not at all: everything is written out.
    Inline,
}

/// How null is allowed beside a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nullable {
    /// `type: ["string", "null"]`.
    TypeList,
    /// `OpenAPI`'s `nullable: true`.
    Keyword,
}

/// What the names of properties may look like.
#[derive(Debug, Clone, Copy)]
pub struct PropertyNames {
    /// Beside letters, digits and the underscore.
    pub more: &'static str,
    /// Whether the first character may be anything but a letter or an underscore.
    pub free_start: bool,
    /// The longest one.
    pub max: usize,
}

/// The root of a tool's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// Whatever the operation takes.
    Any,
    /// `type: "object"`; combinations beside it are fine.
    Object,
    /// `type: "object"` without `anyOf`, `oneOf`, `allOf` and their like.
    PlainObject,
}

/// The part of JSON Schema that a target with a dialect of its own takes.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a row of a table of yes and no"
)]
pub struct Subset {
    /// The keywords that constrain a value, beyond `type`, `properties`, `required`, `items`, `enum`
    /// and `anyOf`, which all of them have.
    pub constraints: &'static [&'static str],
    /// The formats of strings.
    pub formats: &'static [&'static str],
    /// The formats of numbers, which constrain nothing and do not help where they are not read.
    pub number_formats: &'static [&'static str],
    /// Objects are closed (`additionalProperties: false`) and all their properties required.
    pub closed: bool,
    /// How null is said.
    pub nullable: Nullable,
    /// Enumerations are of strings only.
    pub string_enums: bool,
    /// Objects without properties are taken.
    pub empty_objects: bool,
    /// Nothing stands beside `anyOf`.
    pub union_alone: bool,
    /// Bounds of the whole schema.
    pub bounds: Bounds,
}

/// How large a schema may be.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Levels of objects and arrays.
    pub depth: usize,
    /// Properties of all objects together.
    pub properties: usize,
    /// Values of all enumerations together.
    pub enum_values: usize,
    /// Characters of one enumeration that has more than [`Bounds::LARGE_ENUM`] values.
    pub enum_characters: usize,
    /// Characters of all names, enumerations and constants together.
    pub characters: usize,
}

impl Bounds {
    /// From here on the characters of an enumeration count.
    pub const LARGE_ENUM: usize = 250;
}

/// Everything that is known about a target.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Longest name of a tool. Letters, digits, `_` and `-` are what all targets take.
    pub tool_name: usize,
    /// Longest description of a tool, in characters.
    pub description: Option<usize>,
    /// What properties may be called; anything where there is no rule.
    pub property_names: Option<PropertyNames>,
    /// The root.
    pub root: Root,
    /// Arrays must say what they hold.
    pub items_required: bool,
    /// References.
    pub references: References,
    /// The dialect; nothing where all of JSON Schema 2020-12 is taken.
    pub subset: Option<Subset>,
}

/// All providers' names fit into 64 characters; what MCP would allow beyond is lost at its clients,
/// which hand the names on and put their own in front.
const TOOL_NAME: usize = 64;

// Read in 2026-11:
// - tool names: letters, digits, _ and -, 64 characters:
//   https://platform.openai.com/docs/api-reference/responses/create, tools.name
// - tool descriptions: 1,024 characters (lifted at OpenAI in 2025, still demanded by Azure): error
//   string_above_max_length; sentry-mcp#106, llama_index#18784
// - the root is an object without oneOf, anyOf, allOf, enum and not: error invalid_function_parameters;
//   opencode#35516
// - arrays have items: error invalid_function_parameters, "array schema missing items"
const OPENAI: Rules = Rules {
    description: Some(1024),
    root: Root::PlainObject,
    items_required: true,
    ..JSON_SCHEMA
};

// Read in 2026-11:
// - supported types and keywords, closed objects, all properties required, recursion by $ref; 5,000
//   properties, 10 levels, 1,000 enum values, 15,000 characters in an enum of more than 250, 120,000
//   characters in all: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
// - minLength and maxLength are not in the guide's list of string properties, although some report them as
//   accepted: the same guide; pydantic-ai#4490
// - nine formats, uri not among them: error "'uri' is not a valid format"; git-mcp-server#47
// - default is not permitted; nothing stands beside $ref: error messages of the API
const OPENAI_STRICT: Rules = Rules {
    subset: Some(Subset {
        constraints: &[
            "pattern",
            "format",
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minItems",
            "maxItems",
        ],
        formats: &[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
        ],
        number_formats: &[],
        closed: true,
        nullable: Nullable::TypeList,
        string_enums: false,
        empty_objects: true,
        union_alone: false,
        bounds: Bounds {
            depth: 10,
            properties: 5_000,
            enum_values: 1_000,
            enum_characters: 15_000,
            characters: 120_000,
        },
    }),
    ..OPENAI
};

// Read in 2026-11:
// - tool names: ^[a-zA-Z0-9_-]{1,64}$ (newer models 128):
//   https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
// - JSON Schema 2020-12, root of type object without oneOf, allOf, anyOf: error "input_schema does not
//   support oneOf, allOf, or anyOf at the top level"; claude-code#40075
// - property names: ^[a-zA-Z0-9_.-]{1,64}$: error "Property keys should match pattern"; OmniRoute#13552
const ANTHROPIC: Rules = Rules {
    property_names: Some(PropertyNames {
        more: ".-",
        free_start: true,
        max: 64,
    }),
    root: Root::PlainObject,
    ..JSON_SCHEMA
};

// Read in 2026-11:
// - function names: start with a letter or _, then letters, digits, _ . : -, 64 characters:
//   https://ai.google.dev/api/caching#FunctionDeclaration; gemini-cli#7869
// - parameter names: start with a letter or _, then letters, digits, _, 64 characters:
//   https://cloud.google.com/vertex-ai/generative-ai/docs/reference/java/latest/com.google.cloud.vertexai.api.FunctionDeclaration
// - the fields of Schema, a subset of OpenAPI 3.0: https://ai.google.dev/api/caching#Schema
// - enum of strings only, with type string: error "enum: only allowed for STRING type"; azure-devops-mcp#145,
//   9router#380
// - formats of strings: enum and date-time: error "only 'enum' and 'date-time' are supported for STRING
//   type"; collmbo#195
// - nothing stands beside anyOf: error "When using any_of, it must be the only field set" of Vertex AI
// - objects have properties, arrays have items: error "properties: should be non-empty for OBJECT type";
//   cline#7339
const GEMINI: Rules = Rules {
    property_names: Some(PropertyNames {
        more: "",
        free_start: false,
        max: 64,
    }),
    root: Root::PlainObject,
    items_required: true,
    references: References::Inline,
    subset: Some(Subset {
        constraints: &[
            "pattern",
            "format",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
        ],
        formats: &["date-time"],
        number_formats: &["int32", "int64", "float", "double"],
        closed: false,
        nullable: Nullable::Keyword,
        string_enums: true,
        empty_objects: false,
        union_alone: true,
        // No numbers are published. A schema that is written out grows without end, so these are
        // ours: what the neighbour publishes, with a number of properties that a prompt can hold.
        bounds: Bounds {
            depth: 10,
            properties: 1_000,
            enum_values: 1_000,
            enum_characters: 15_000,
            characters: 120_000,
        },
    }),
    ..JSON_SCHEMA
};

// Read in 2026-11:
// - inputSchema is JSON Schema (2020-12 by default) with type object at the root:
//   https://modelcontextprotocol.io/specification/2025-11-25/server/tools
// - tool names: letters, digits, _ - ., 128 characters; 64 and no dot here, because clients hand the names on
//   to models: the same page; SEP-986; copilot-cli#1879
const MCP: Rules = Rules {
    root: Root::Object,
    ..JSON_SCHEMA
};

// Read in 2026-11:
// - JSON Schema 2020-12: https://json-schema.org/draft/2020-12
const JSON_SCHEMA: Rules = Rules {
    tool_name: TOOL_NAME,
    description: None,
    property_names: None,
    root: Root::Any,
    items_required: false,
    references: References::Definitions,
    subset: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_name() {
        for target in Target::ALL {
            assert_eq!(Target::from_name(target.as_str()), Some(target));
        }
        assert_eq!(Target::from_name("bedrock"), None);
    }
}
