//! What the keywords of JSON Schema hold, in all its drafts: for code that goes through schemas without checking values.

/// What the value of a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// A schema or a list of them (`items`).
    SchemaOrSchemas,
    /// Names with a schema each.
    Named,
    /// The same, for others to refer to.
    Definitions,
    /// Names with a schema or a list of names each (`dependencies`).
    Dependencies,
    /// A number; in draft 4 a boolean for the two exclusive bounds.
    Number,
    /// Something else.
    Other,
}

/// What the value of this keyword is.
#[must_use]
pub fn holds(keyword: &str) -> Holds {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Holds::Schema,
        "items" => Holds::SchemaOrSchemas,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::Schemas,
        "dependentSchemas" | "patternProperties" | "properties" => Holds::Named,
        "$defs" | "definitions" => Holds::Definitions,
        "dependencies" => Holds::Dependencies,
        "exclusiveMaximum" | "exclusiveMinimum" | "maxContains" | "maxItems" | "maxLength"
        | "maxProperties" | "maximum" | "minContains" | "minItems" | "minLength"
        | "minProperties" | "minimum" | "multipleOf" => Holds::Number,
        _ => Holds::Other,
    }
}
