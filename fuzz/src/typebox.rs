//! TypeBox's kinds and the keywords that each of them reads.

use crate::words::Part;

/// A kind: the keywords that it always has, and those that it may have.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) always: &'static [(&'static str, Part)],
    pub(crate) maybe: &'static [(&'static str, Part)],
}

const fn bare(name: &'static str) -> Kind {
    Kind {
        name,
        always: &[],
        maybe: &[],
    }
}

const NUMERIC: &[(&str, Part)] = &[
    ("minimum", Part::Number),
    ("maximum", Part::Number),
    ("exclusiveMinimum", Part::Number),
    ("exclusiveMaximum", Part::Number),
    ("multipleOf", Part::Number),
];

/// Kinds without parts; when choices run out, the first one is taken.
pub(crate) const LEAVES: [Kind; 26] = [
    bare("Unknown"),
    Kind {
        name: "String",
        always: &[],
        maybe: &[
            ("minLength", Part::Count),
            ("maxLength", Part::Count),
            ("pattern", Part::Pattern),
            ("format", Part::Format),
        ],
    },
    Kind {
        name: "Number",
        always: &[],
        maybe: NUMERIC,
    },
    Kind {
        name: "Integer",
        always: &[],
        maybe: NUMERIC,
    },
    Kind {
        name: "BigInt",
        always: &[],
        maybe: NUMERIC,
    },
    bare("Boolean"),
    bare("Null"),
    Kind {
        name: "Literal",
        always: &[("const", Part::Any)],
        maybe: &[],
    },
    Kind {
        name: "TemplateLiteral",
        always: &[("pattern", Part::Pattern)],
        maybe: &[],
    },
    Kind {
        name: "RegExp",
        always: &[("source", Part::Pattern)],
        maybe: &[
            ("flags", Part::Text),
            ("minLength", Part::Count),
            ("maxLength", Part::Count),
        ],
    },
    Kind {
        name: "Date",
        always: &[],
        maybe: &[
            ("minimumTimestamp", Part::Number),
            ("maximumTimestamp", Part::Number),
            ("exclusiveMinimumTimestamp", Part::Number),
            ("exclusiveMaximumTimestamp", Part::Number),
            ("multipleOfTimestamp", Part::Number),
        ],
    },
    Kind {
        name: "Uint8Array",
        always: &[],
        maybe: &[
            ("minByteLength", Part::Count),
            ("maxByteLength", Part::Count),
        ],
    },
    Kind {
        name: "Ref",
        always: &[("$ref", Part::Reference)],
        maybe: &[],
    },
    Kind {
        name: "This",
        always: &[("$ref", Part::Reference)],
        maybe: &[],
    },
    bare("Any"),
    bare("Argument"),
    bare("AsyncIterator"),
    bare("Iterator"),
    bare("Function"),
    bare("Never"),
    bare("Promise"),
    bare("Symbol"),
    bare("Undefined"),
    bare("Void"),
    bare("Unheard"),
    bare("\"*/\u{2028}"),
];

/// Kinds with parts.
pub(crate) const CONTAINERS: [Kind; 9] = [
    Kind {
        name: "Object",
        always: &[
            ("properties", Part::SchemasByName),
            ("required", Part::Names),
        ],
        maybe: &[
            ("additionalProperties", Part::Additional),
            ("minProperties", Part::Count),
            ("maxProperties", Part::Count),
        ],
    },
    Kind {
        name: "Array",
        always: &[("items", Part::Schema)],
        maybe: &[
            ("minItems", Part::Count),
            ("maxItems", Part::Count),
            ("uniqueItems", Part::Bool),
            ("contains", Part::Schema),
            ("minContains", Part::Count),
            ("maxContains", Part::Count),
        ],
    },
    Kind {
        name: "Tuple",
        always: &[("items", Part::Schemas), ("maxItems", Part::Count)],
        maybe: &[("minItems", Part::Count)],
    },
    Kind {
        name: "Union",
        always: &[("anyOf", Part::Schemas)],
        maybe: &[],
    },
    Kind {
        name: "Intersect",
        always: &[("allOf", Part::Schemas)],
        maybe: &[("unevaluatedProperties", Part::Additional)],
    },
    Kind {
        name: "Record",
        always: &[("patternProperties", Part::SchemasByPattern)],
        maybe: &[
            ("additionalProperties", Part::Additional),
            ("minProperties", Part::Count),
            ("maxProperties", Part::Count),
        ],
    },
    Kind {
        name: "Not",
        always: &[("not", Part::Schema)],
        maybe: &[],
    },
    Kind {
        name: "Constructor",
        always: &[("returns", Part::Schema)],
        maybe: &[],
    },
    Kind {
        name: "Import",
        always: &[("$defs", Part::SchemasByName), ("$ref", Part::Reference)],
        maybe: &[],
    },
];

/// Values of keywords that JSON cannot carry, as the facade encodes them.
pub(crate) const BEYOND_JSON: [&str; 10] = [
    r#"["u"]"#,
    r#"["n","12"]"#,
    r#"["n","-99999999999999999999"]"#,
    r#"["n","0"]"#,
    r#"["x","NaN"]"#,
    r#"["x","Infinity"]"#,
    r#"["x","-0"]"#,
    r#"["d",1700000000000]"#,
    r#"["d",null]"#,
    r#"["s",3]"#,
];
