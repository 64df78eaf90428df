//! What each target takes: the one table of their rules.
//!
//! Providers change their rules without notice, so every row says where it was read and when. A rule
//! that only an error message of the provider's tells is as good as a documented one: a request that
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
    /// JSON Schema 2020-12 for whoever reads all of it.
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

/// Where a rule was read, and when.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The rule in a few words.
    pub rule: &'static str,
    /// The page, the specification, or the message of the provider's that tells it.
    pub place: &'static str,
    /// Year and month.
    pub read: &'static str,
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
    /// The formats of numbers, which constrain nothing and help nobody where they are not read.
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
    /// Whose rules they are.
    pub target: Target,
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
    /// Where all this was read.
    pub sources: &'static [Source],
}

/// All providers' names fit into 64 characters; what MCP would allow beyond is lost at its clients,
/// which hand the names on and put their own in front.
const TOOL_NAME: usize = 64;

const OPENAI: Rules = Rules {
    target: Target::OpenAi,
    tool_name: TOOL_NAME,
    description: Some(1024),
    property_names: None,
    root: Root::PlainObject,
    items_required: true,
    references: References::Definitions,
    subset: None,
    sources: &[
        Source {
            rule: "tool names: letters, digits, _ and -, 64 characters",
            place: "https://platform.openai.com/docs/api-reference/responses/create, tools.name",
            read: "2026-11",
        },
        Source {
            rule: "tool descriptions: 1,024 characters (lifted at OpenAI in 2025, still demanded by Azure)",
            place: "error string_above_max_length; sentry-mcp#106, llama_index#18784",
            read: "2026-11",
        },
        Source {
            rule: "the root is an object without oneOf, anyOf, allOf, enum and not",
            place: "error invalid_function_parameters; opencode#35516",
            read: "2026-11",
        },
        Source {
            rule: "arrays have items",
            place: "error invalid_function_parameters, \"array schema missing items\"",
            read: "2026-11",
        },
    ],
};

const OPENAI_STRICT: Rules = Rules {
    target: Target::OpenAiStrict,
    tool_name: TOOL_NAME,
    description: Some(1024),
    property_names: None,
    root: Root::PlainObject,
    items_required: true,
    references: References::Definitions,
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
    sources: &[
        Source {
            rule: "supported types and keywords, closed objects, all properties required, recursion by $ref; 5,000 properties, 10 levels, 1,000 enum values, 15,000 characters in an enum of more than 250, 120,000 characters in all",
            place: "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas",
            read: "2026-11",
        },
        Source {
            rule: "minLength and maxLength are not in the guide's list of string properties, although some report them as accepted",
            place: "the same guide; pydantic-ai#4490",
            read: "2026-11",
        },
        Source {
            rule: "nine formats, uri not among them",
            place: "error \"'uri' is not a valid format\"; git-mcp-server#47",
            read: "2026-11",
        },
        Source {
            rule: "default is not permitted; nothing stands beside $ref",
            place: "error messages of the API",
            read: "2026-11",
        },
    ],
};

const ANTHROPIC: Rules = Rules {
    target: Target::Anthropic,
    tool_name: TOOL_NAME,
    description: None,
    property_names: Some(PropertyNames {
        more: ".-",
        free_start: true,
        max: 64,
    }),
    root: Root::PlainObject,
    items_required: false,
    references: References::Definitions,
    subset: None,
    sources: &[
        Source {
            rule: "tool names: ^[a-zA-Z0-9_-]{1,64}$ (newer models 128)",
            place: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use",
            read: "2026-11",
        },
        Source {
            rule: "JSON Schema 2020-12, root of type object without oneOf, allOf, anyOf",
            place: "error \"input_schema does not support oneOf, allOf, or anyOf at the top level\"; claude-code#40075",
            read: "2026-11",
        },
        Source {
            rule: "property names: ^[a-zA-Z0-9_.-]{1,64}$",
            place: "error \"Property keys should match pattern\"; OmniRoute#13552",
            read: "2026-11",
        },
    ],
};

const GEMINI: Rules = Rules {
    target: Target::Gemini,
    tool_name: TOOL_NAME,
    description: None,
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
    sources: &[
        Source {
            rule: "function names: start with a letter or _, then letters, digits, _ . : -, 64 characters",
            place: "https://ai.google.dev/api/caching#FunctionDeclaration; gemini-cli#7869",
            read: "2026-11",
        },
        Source {
            rule: "parameter names: start with a letter or _, then letters, digits, _, 64 characters",
            place: "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/java/latest/com.google.cloud.vertexai.api.FunctionDeclaration",
            read: "2026-11",
        },
        Source {
            rule: "the fields of Schema, a subset of OpenAPI 3.0",
            place: "https://ai.google.dev/api/caching#Schema",
            read: "2026-11",
        },
        Source {
            rule: "enum of strings only, with type string",
            place: "error \"enum: only allowed for STRING type\"; azure-devops-mcp#145, 9router#380",
            read: "2026-11",
        },
        Source {
            rule: "formats of strings: enum and date-time",
            place: "error \"only 'enum' and 'date-time' are supported for STRING type\"; collmbo#195",
            read: "2026-11",
        },
        Source {
            rule: "nothing stands beside anyOf",
            place: "error \"When using any_of, it must be the only field set\" of Vertex AI",
            read: "2026-11",
        },
        Source {
            rule: "objects have properties, arrays have items",
            place: "error \"properties: should be non-empty for OBJECT type\"; cline#7339",
            read: "2026-11",
        },
    ],
};

const MCP: Rules = Rules {
    target: Target::Mcp,
    tool_name: TOOL_NAME,
    description: None,
    property_names: None,
    root: Root::Object,
    items_required: false,
    references: References::Definitions,
    subset: None,
    sources: &[
        Source {
            rule: "inputSchema is JSON Schema (2020-12 by default) with type object at the root",
            place: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools",
            read: "2026-11",
        },
        Source {
            rule: "tool names: letters, digits, _ - ., 128 characters; 64 and no dot here, because clients hand the names on to models",
            place: "the same page; SEP-986; copilot-cli#1879",
            read: "2026-11",
        },
    ],
};

const JSON_SCHEMA: Rules = Rules {
    target: Target::JsonSchema,
    tool_name: TOOL_NAME,
    description: None,
    property_names: None,
    root: Root::Any,
    items_required: false,
    references: References::Definitions,
    subset: None,
    sources: &[Source {
        rule: "JSON Schema 2020-12",
        place: "https://json-schema.org/draft/2020-12",
        read: "2026-11",
    }],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_name_and_dated_sources() {
        for target in Target::ALL {
            assert_eq!(Target::from_name(target.as_str()), Some(target));
            let rules = target.rules();
            assert_eq!(rules.target, target);
            assert!(!rules.sources.is_empty());
            for source in rules.sources {
                assert!(!source.rule.is_empty() && !source.place.is_empty());
                assert_eq!(source.read.len(), "2026-11".len());
            }
        }
        assert_eq!(Target::from_name("bedrock"), None);
    }
}
