//! Lists that come in pages.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use operations_core::log::{Level, Logger};
use rmcp::model::{
    ClientRequest, ErrorCode, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, ListToolsRequest, PaginatedRequestParams,
};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::client::request::{Link, Patience};
use crate::client::slot::{Keep, Slot};
use crate::error::Failure;

/// A server with more pages than this does not come to an end.
const MOST_PAGES: usize = 10_000;

/// The lists that servers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl List {
    /// The member of a page that holds the entries.
    const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = Some(PaginatedRequestParams::default().with_cursor(cursor));
        macro_rules! request {
            ($variant:ident, $Request:ident) => {
                ClientRequest::$variant($Request {
                    method: Default::default(),
                    params,
                    extensions: Default::default(),
                })
            };
        }
        match self {
            Self::Tools => request!(ListToolsRequest, ListToolsRequest),
            Self::Resources => request!(ListResourcesRequest, ListResourcesRequest),
            Self::ResourceTemplates => {
                request!(ListResourceTemplatesRequest, ListResourceTemplatesRequest)
            }
            Self::Prompts => request!(ListPromptsRequest, ListPromptsRequest),
        }
    }
}

/// All entries of a list, as a JSON array.
pub(crate) async fn all(
    link: &Link,
    list: List,
    patience: Patience,
    cancel: &CancellationToken,
    server: &str,
    logger: &Logger,
) -> Result<String, Failure> {
    let mut entries = Entries::new(link.max_message_bytes);
    let mut seen = HashSet::new();
    let mut cursor = None;
    loop {
        // rmcp's HTTP transport reads tool lists for itself.
        let keep = if list == List::Tools {
            Keep::Copy
        } else {
            Keep::Instead
        };
        let request = list.request(cursor.clone());
        let page = match link
            .send(request, Slot::new(keep, None), patience, cancel)
            .await
        {
            // A server without this list has an empty one.
            Err(Failure::Refused(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => break,
            page => page?,
        };
        let page: HashMap<&str, &RawValue> = serde_json::from_str(&page)
            .map_err(|error| Failure::Odd(format!("a page of a list: {error}")))?;
        entries.add(page.get(list.member()).copied())?;
        let next = page.get("nextCursor").and_then(|cursor| {
            serde_json::from_str::<Option<String>>(cursor.get())
                .ok()
                .flatten()
        });
        let Some(next) = next else { break };
        if !seen.insert(next.clone()) || seen.len() > MOST_PAGES {
            let message = format!(
                "MCP server '{server}' repeats itself in its list of {}; the list ends here",
                list.member()
            );
            logger.log(Level::Warning, "mcp", message, [("server", json!(server))]);
            break;
        }
        cursor = Some(next);
    }
    Ok(entries.finish())
}

/// The entries so far, as text.
struct Entries {
    text: String,
    limit: usize,
    /// A server that repeats a page repeats its entries.
    seen: HashSet<u64>,
}

impl Entries {
    fn new(limit: usize) -> Self {
        Self {
            text: String::from("["),
            limit,
            seen: HashSet::new(),
        }
    }

    fn add(&mut self, page: Option<&RawValue>) -> Result<(), Failure> {
        let Some(page) = page else { return Ok(()) };
        let entries: Vec<&RawValue> = serde_json::from_str(page.get())
            .map_err(|error| Failure::Odd(format!("a list that is none: {error}")))?;
        for entry in entries {
            let mut hasher = DefaultHasher::new();
            entry.get().hash(&mut hasher);
            if !self.seen.insert(hasher.finish()) {
                continue;
            }
            if self.text.len() > 1 {
                self.text.push(',');
            }
            self.text.push_str(entry.get());
        }
        if self.text.len() > self.limit {
            return Err(Failure::TooLarge(self.limit));
        }
        Ok(())
    }

    fn finish(mut self) -> String {
        self.text.push(']');
        self.text
    }
}

#[derive(Deserialize)]
struct ToolHead {
    name: String,
    annotations: Option<Hints>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    read_only_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// The names of all tools, each with whether calling it twice does no harm.
pub(crate) fn tool_names(tools: &str) -> HashMap<String, bool> {
    let entries: Vec<&RawValue> = serde_json::from_str(tools).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|entry| serde_json::from_str::<ToolHead>(entry.get()).ok())
        .map(|tool| {
            let repeatable = tool.annotations.is_some_and(|hints| {
                hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
            });
            (tool.name, repeatable)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_joined_without_repetitions() {
        let mut entries = Entries::new(100);
        let page: Box<RawValue> = serde_json::from_str(r#"[{"a": 1}, 2]"#).unwrap();
        entries.add(Some(&page)).unwrap();
        entries.add(None).unwrap();
        let next: Box<RawValue> = serde_json::from_str("[2, 3]").unwrap();
        entries.add(Some(&next)).unwrap();
        assert_eq!(entries.finish(), r#"[{"a": 1},2,3]"#);
    }

    #[test]
    fn a_list_is_bounded() {
        let mut entries = Entries::new(10);
        let page: Box<RawValue> = serde_json::from_str(r#"["0123456789"]"#).unwrap();
        assert!(matches!(
            entries.add(Some(&page)),
            Err(Failure::TooLarge(10))
        ));
    }

    #[test]
    fn hints_say_what_may_be_repeated() {
        let names = tool_names(
            r#"[{"name":"a"},{"name":"b","annotations":{"readOnlyHint":true}},
                {"name":"c","annotations":{"idempotentHint":true}},{"name":"d","annotations":{"idempotentHint":false}},
                {"noname":1}, 7]"#,
        );
        assert_eq!(names.len(), 4);
        assert!(!names["a"] && names["b"] && names["c"] && !names["d"]);
    }
}
