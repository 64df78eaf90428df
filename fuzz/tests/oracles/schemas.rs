//! Random schemas that are well formed, in every draft: what a validator makes of nonsense is its own business.
//!
//! References in place lead only to definitions further down, so that no schema runs in circles on the spot; below a
//! keyword that goes into the value they lead anywhere.

use operations_fuzz::random::Random;
use operations_schema::compile::Draft;
use serde_json::{Map, Value, json};

use crate::values::{NAMES, constant, number};

const DEEPEST: usize = 4;
const DEFINITIONS: usize = 3;

const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

const PATTERNS: [&str; 14] = [
    "^a",
    "b$",
    "^.$",
    "^[a-c]+$",
    "^(?:ab|c)*$",
    "(?=a)",
    "^(?!a)",
    "(.)\\1",
    "\\d",
    "^\\S+$",
    "\\w{2,3}",
    "^\\p{Letter}",
    "[^a-z]",
    "a{2}|^$",
];

/// Makes the schemas of one draft.
pub(crate) struct Schemas<'a> {
    random: &'a mut Random,
    draft: Draft,
}

/// Where in a schema one stands.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// The first definition that a reference in place may lead to.
    onward: usize,
    /// Whether a keyword in between goes into the value.
    inside: bool,
}

impl Place {
    fn beside(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    fn below(self) -> Self {
        Self {
            inside: true,
            ..self.beside()
        }
    }
}

impl<'a> Schemas<'a> {
    pub(crate) fn new(random: &'a mut Random, draft: Draft) -> Self {
        Self { random, draft }
    }

    fn since(&self, draft: Draft) -> bool {
        self.draft >= draft
    }

    /// A document with definitions.
    pub(crate) fn document(&mut self) -> Value {
        let root = Place {
            depth: 0,
            onward: 0,
            inside: false,
        };
        let mut schema = loop {
            if let Value::Object(schema) = self.schema(root) {
                break schema;
            }
        };
        // Up to draft 7, what stands beside a reference says nothing.
        if !self.since(Draft::Draft201909) && schema.contains_key("$ref") {
            schema.remove("$ref");
        }
        let definitions: Map<_, _> = (0..DEFINITIONS)
            .map(|at| {
                let place = Place {
                    depth: 2,
                    onward: at + 1,
                    inside: false,
                };
                (format!("d{at}"), self.schema(place))
            })
            .collect();
        schema.insert(self.definitions().to_owned(), definitions.into());
        schema.into()
    }

    fn definitions(&self) -> &'static str {
        if self.since(Draft::Draft201909) {
            "$defs"
        } else {
            "definitions"
        }
    }

    fn schema(&mut self, place: Place) -> Value {
        if self.since(Draft::Draft6)
            && self
                .random
                .chance(if place.depth < DEEPEST { 5 } else { 30 })
        {
            return self.random.chance(70).into();
        }
        let mut schema = Map::new();
        for _ in 0..=self.random.below(3) {
            self.add_keywords(&mut schema, place);
        }
        schema.into()
    }

    /// Adds a keyword, or several that belong together.
    fn add_keywords(&mut self, schema: &mut Map<String, Value>, place: Place) {
        let kinds = if place.depth < DEEPEST { 14 } else { 6 };
        match self.random.below(kinds) {
            0 => self.add_type(schema),
            1 => self.add_constants(schema),
            2 => self.add_numbers(schema),
            3 => self.add_strings(schema),
            4 => self.add_counts(schema),
            5 => self.add_reference(schema, place),
            6 | 7 => self.add_properties(schema, place),
            8 => self.add_dependencies(schema, place),
            9 | 10 => self.add_items(schema, place),
            11 => self.add_contains(schema, place),
            12 => self.add_logic(schema, place),
            _ => self.add_unevaluated(schema, place),
        }
    }

    fn add_type(&mut self, schema: &mut Map<String, Value>) {
        let one = *self.random.pick(&TYPES);
        let other = *self.random.pick(&TYPES);
        let several = one != other && self.random.chance(25);
        schema.insert(
            "type".into(),
            if several {
                json!([one, other])
            } else {
                one.into()
            },
        );
    }

    fn add_constants(&mut self, schema: &mut Map<String, Value>) {
        if self.since(Draft::Draft6) && self.random.chance(40) {
            schema.insert("const".into(), constant(self.random));
            return;
        }
        let mut constants: Vec<Value> = Vec::new();
        for _ in 0..=self.random.below(4) {
            let value = constant(self.random);
            if !constants.contains(&value) {
                constants.push(value);
            }
        }
        schema.insert("enum".into(), constants.into());
    }

    fn add_numbers(&mut self, schema: &mut Map<String, Value>) {
        let bound = number(self.random);
        let side = *self.random.pick(&["minimum", "maximum"]);
        let exclusive = if side == "minimum" {
            "exclusiveMinimum"
        } else {
            "exclusiveMaximum"
        };
        match self.random.below(3) {
            0 => _ = schema.insert(side.into(), bound),
            1 if self.since(Draft::Draft6) => _ = schema.insert(exclusive.into(), bound),
            1 => {
                schema.insert(side.into(), bound);
                schema.insert(exclusive.into(), self.random.chance(70).into());
            }
            _ => {
                let divisors = [
                    json!(1),
                    json!(2),
                    json!(3),
                    json!(0.5),
                    json!(1.5),
                    json!(0.01),
                ];
                schema.insert("multipleOf".into(), self.random.pick(&divisors).clone());
            }
        }
    }

    fn add_strings(&mut self, schema: &mut Map<String, Value>) {
        match self.random.below(3) {
            0 => _ = schema.insert("minLength".into(), self.random.below(4).into()),
            1 => _ = schema.insert("maxLength".into(), self.random.below(4).into()),
            _ => _ = schema.insert("pattern".into(), (*self.random.pick(&PATTERNS)).into()),
        }
    }

    fn add_counts(&mut self, schema: &mut Map<String, Value>) {
        let word = *self
            .random
            .pick(&["minItems", "maxItems", "minProperties", "maxProperties"]);
        schema.insert(word.into(), self.random.below(4).into());
        if self.random.chance(40) {
            schema.insert("uniqueItems".into(), self.random.chance(85).into());
        }
    }

    fn add_reference(&mut self, schema: &mut Map<String, Value>, place: Place) {
        let definitions = self.definitions();
        let target = if place.inside {
            // One beyond the definitions stands for the root.
            self.random.below(DEFINITIONS + 1)
        } else if place.onward < DEFINITIONS {
            place.onward + self.random.below(DEFINITIONS - place.onward)
        } else {
            return;
        };
        let reference = if target == DEFINITIONS {
            "#".to_owned()
        } else {
            format!("#/{definitions}/d{target}")
        };
        let word = match self.draft {
            Draft::Draft202012 if self.random.chance(20) => "$dynamicRef",
            Draft::Draft201909 if reference == "#" && self.random.chance(40) => "$recursiveRef",
            _ => "$ref",
        };
        schema.insert(word.into(), reference.into());
        if place.depth > 0 && !self.since(Draft::Draft201909) {
            schema.retain(|name, _| name == word);
        }
    }

    fn add_properties(&mut self, schema: &mut Map<String, Value>, place: Place) {
        let below = place.below();
        match self.random.below(6) {
            0..=2 => _ = schema.insert("properties".into(), self.by_name(|it| it.schema(below))),
            3 => {
                let patterns = (0..=self.random.below(2)).map(|_| {
                    let pattern = *self.random.pick(&PATTERNS);
                    (pattern.to_owned(), self.schema(below))
                });
                let patterns = patterns.collect::<Map<_, _>>();
                schema.insert("patternProperties".into(), patterns.into());
            }
            4 => _ = schema.insert("required".into(), self.names()),
            _ if self.since(Draft::Draft6) => {
                _ = schema.insert("propertyNames".into(), self.schema(below));
            }
            _ => {}
        }
        if self.random.chance(30) {
            let additional = self.schema_or_bool(below);
            schema.insert("additionalProperties".into(), additional);
        }
        if self.random.chance(30) {
            schema.insert("required".into(), self.names());
        }
    }

    fn add_dependencies(&mut self, schema: &mut Map<String, Value>, place: Place) {
        let beside = place.beside();
        if !self.since(Draft::Draft201909) {
            let dependencies = self.by_name(|it| {
                if it.random.chance(50) {
                    it.names()
                } else {
                    it.schema(beside)
                }
            });
            schema.insert("dependencies".into(), dependencies);
        } else if self.random.chance(50) {
            schema.insert("dependentRequired".into(), self.by_name(Self::names));
        } else {
            schema.insert(
                "dependentSchemas".into(),
                self.by_name(|it| it.schema(beside)),
            );
        }
    }

    fn add_items(&mut self, schema: &mut Map<String, Value>, place: Place) {
        let below = place.below();
        if self.random.chance(50) {
            let items = self.schema(below);
            schema.insert("items".into(), items);
        } else if self.since(Draft::Draft202012) {
            let items = self.schemas(below);
            schema.insert("prefixItems".into(), items);
        } else {
            let items = self.schemas(below);
            schema.insert("items".into(), items);
            if self.random.chance(50) {
                let additional = self.schema_or_bool(below);
                schema.insert("additionalItems".into(), additional);
            }
        }
    }

    fn add_contains(&mut self, schema: &mut Map<String, Value>, place: Place) {
        if !self.since(Draft::Draft6) {
            return;
        }
        let contained = self.schema(place.below());
        schema.insert("contains".into(), contained);
        if self.since(Draft::Draft201909) {
            for word in ["minContains", "maxContains"] {
                if self.random.chance(30) {
                    schema.insert(word.into(), self.random.below(3).into());
                }
            }
        }
    }

    fn add_logic(&mut self, schema: &mut Map<String, Value>, place: Place) {
        let beside = place.beside();
        match self.random.below(5) {
            0..=2 => {
                let word = *self.random.pick(&["allOf", "anyOf", "oneOf"]);
                let branches = self.schemas(beside);
                schema.insert(word.into(), branches);
            }
            3 => {
                let not = self.schema(beside);
                schema.insert("not".into(), not);
            }
            _ if self.since(Draft::Draft7) => {
                for word in ["if", "then", "else"] {
                    if self.random.chance(80) {
                        let part = self.schema(beside);
                        schema.insert(word.into(), part);
                    }
                }
            }
            _ => {}
        }
    }

    fn add_unevaluated(&mut self, schema: &mut Map<String, Value>, place: Place) {
        if self.since(Draft::Draft201909) {
            let word = *self
                .random
                .pick(&["unevaluatedProperties", "unevaluatedItems"]);
            let unevaluated = self.schema_or_bool(place.below());
            schema.insert(word.into(), unevaluated);
        }
        self.add_logic(schema, place);
    }

    fn schema_or_bool(&mut self, place: Place) -> Value {
        if self.random.chance(50) {
            self.random.chance(20).into()
        } else {
            self.schema(place)
        }
    }

    fn schemas(&mut self, place: Place) -> Value {
        (0..=self.random.below(3))
            .map(|_| self.schema(place))
            .collect()
    }

    fn by_name(&mut self, mut make: impl FnMut(&mut Self) -> Value) -> Value {
        let entries = (0..=self.random.below(3))
            .map(|_| ((*self.random.pick(&NAMES)).to_owned(), make(self)));
        entries.collect::<Map<_, _>>().into()
    }

    fn names(&mut self) -> Value {
        let mut names: Vec<&str> = Vec::new();
        for _ in 0..=self.random.below(2) {
            let name = *self.random.pick(&NAMES);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into()
    }
}
