//! Operations that can be searched for, and their TypeScript declarations.

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use operations_core::error::CallError;
use operations_tools::catalogue::{Catalogue, Entry};
use operations_tools::declarations::{Declarations, Described, SchemaText};
use serde_json::json;

use crate::interop::bridge::Bridge;
use crate::interop::runtime::Runtime;

/// An index over operations.
#[napi]
pub struct ToolCatalogue {
    bridge: Arc<Bridge>,
    catalogue: Catalogue,
}

#[napi]
impl ToolCatalogue {
    /// An empty one.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(runtime: &Runtime) -> Self {
        Self {
            bridge: Arc::clone(&runtime.bridge),
            catalogue: Catalogue::default(),
        }
    }

    /// Takes operations in, or takes them in anew: a JSON list.
    #[napi(catch_unwind)]
    pub fn put(&mut self, env: Env, entries: String) -> napi::Result<()> {
        let catalogue = &mut self.catalogue;
        self.bridge.run(&env, || {
            let entries: Vec<Entry<'_>> = serde_json::from_str(&entries).map_err(|error| {
                CallError::unknown(format!("The entries cannot be read: {error}"))
            })?;
            for entry in &entries {
                catalogue.put(entry);
            }
            Ok(())
        })
    }

    /// Forgets operations.
    #[napi(catch_unwind)]
    pub fn remove(&mut self, env: Env, ids: Vec<String>) -> napi::Result<()> {
        let catalogue = &mut self.catalogue;
        self.bridge.run(&env, || {
            for id in &ids {
                catalogue.remove(id);
            }
            Ok(())
        })
    }

    /// What matches a query, the best first: a JSON list of ids and scores.
    #[napi(catch_unwind)]
    pub fn search(&mut self, env: Env, question: String, limit: u32) -> napi::Result<String> {
        let catalogue = &mut self.catalogue;
        self.bridge.run(&env, || {
            // Once, however many have joined.
            catalogue.settle();
            Ok(json!(catalogue.search(&question, limit as usize)).to_string())
        })
    }

    /// The names of an operation's parameters.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn parameters(&self, id: String) -> Option<Vec<String>> {
        self.catalogue.parameters(&id).map(<[String]>::to_vec)
    }
}

/// The schemas of an operation, read once.
#[napi]
pub struct ToolSchemas {
    input: SchemaText,
    output: SchemaText,
}

#[napi]
impl ToolSchemas {
    /// Both are JSON.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(input: String, output: String) -> Self {
        Self {
            input: SchemaText::read(input),
            output: SchemaText::read(output),
        }
    }

    /// How much memory the texts take.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let bytes = self.input.len() + self.output.len();
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// TypeScript declarations of operations, within a number of tokens.
#[napi]
pub struct ToolDeclarations {
    bridge: Arc<Bridge>,
    declarations: Declarations,
}

#[napi]
impl ToolDeclarations {
    /// Nothing yet.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(runtime: &Runtime, budget: u32, has_comments: bool) -> Self {
        Self {
            bridge: Arc::clone(&runtime.bridge),
            declarations: Declarations::new(budget as usize, has_comments),
        }
    }

    /// Adds an operation. Returns whether there was room for it.
    #[napi(catch_unwind)]
    pub fn add(
        &mut self,
        env: Env,
        id: String,
        description: String,
        is_stream: bool,
        schemas: &ToolSchemas,
    ) -> napi::Result<bool> {
        let declarations = &mut self.declarations;
        self.bridge.run(&env, || {
            Ok(declarations.add(&Described {
                id: &id,
                description: &description,
                is_stream,
                input: &schemas.input,
                output: &schemas.output,
            }))
        })
    }

    /// The text, with a word about how many operations are not in it.
    #[napi(catch_unwind)]
    pub fn text(&self, env: Env, left_out: u32) -> napi::Result<String> {
        self.bridge
            .run(&env, || Ok(self.declarations.text(left_out as usize)))
    }
}
