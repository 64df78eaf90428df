//! Lists that come in pages.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use operations_core::log::Level;
use operations_http::message::mirrored;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Request};
use super::requests::Patience;
use crate::error::Failure;
use crate::transport::AnnotatedTool;
use crate::transport::message::{self, METHOD_NOT_FOUND};

/// What a server may say about one tool. It is read on the thread of the host, in one go.
const TOOL_BYTES: usize = 1024 * 1024;

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

    const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }
}

impl Connection {
    /// The tools.
    pub(crate) async fn tools(&self, cancel: &CancellationToken) -> Result<Tools, Failure> {
        let entries = self.entries(List::Tools, cancel).await?;
        let mut refused = entries.oversized();
        refused.extend(self.transport.learn_tools(&entries.annotated()));
        for (tool, reason) in &refused {
            let server = &self.config().name;
            let message = format!(
                "Tool '{tool}' of MCP server '{server}' is left out, because it cannot be called as it is \
                 described: {reason}"
            );
            let facts = [("server", json!(server)), ("tool", json!(tool))];
            let logger = &self.conversation.logger;
            logger.log(Level::Warning, "mcp", message, facts);
        }
        if entries.is_full {
            let server = &self.config().name;
            let message = format!(
                "MCP server '{server}' has more than {} tools; the rest is left out. 'maxTools' in the configuration \
                 sets the limit",
                entries.most
            );
            self.conversation.log(Level::Warning, &message);
        }
        Ok(Tools {
            most: entries.is_full.then_some(entries.most),
            texts: entries.without(&refused),
            refused,
        })
    }

    /// All entries of a list, as a JSON array.
    pub(crate) async fn list(
        &self,
        list: List,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let entries = self.entries(list, cancel).await?;
        Ok(array(&entries.texts))
    }

    async fn entries(&self, list: List, cancel: &CancellationToken) -> Result<Entries, Failure> {
        let config = self.config();
        let patience = Patience::of(config.connect_timeout);
        let mut entries = Entries::new(config.max_message_bytes);
        if list == List::Tools {
            entries.most = config.max_tools;
        }
        let mut seen = HashSet::new();
        let mut request = Request::new(list.method());
        loop {
            let page = match self.request(&request, patience, None, cancel).await {
                // A server without this list has an empty one.
                Err(Failure::Refused(error)) if error.code == METHOD_NOT_FOUND => break,
                page => page?,
            };
            let page: HashMap<&str, &RawValue> = serde_json::from_str(&page)
                .map_err(|error| Failure::Odd(format!("a page of a list: {error}")))?;
            entries.add(page.get(list.member()).copied())?;
            if entries.is_full {
                break;
            }
            let next = page.get("nextCursor").and_then(|cursor| {
                serde_json::from_str::<Option<String>>(cursor.get())
                    .ok()
                    .flatten()
            });
            let Some(next) = next else { break };
            request.params = format!(r#""cursor":{}"#, message::text(&next));
            if !seen.insert(next) || seen.len() > MOST_PAGES {
                let message = format!(
                    "MCP server '{}' repeats itself in its list of {}; the list ends here",
                    config.name,
                    list.member()
                );
                self.conversation.log(Level::Warning, &message);
                break;
            }
        }
        Ok(entries)
    }
}

/// A list of tools.
#[derive(Default)]
pub(crate) struct Tools {
    /// Each tool, as JSON.
    pub(crate) texts: Vec<String>,
    /// Tools that are left out, and why.
    refused: HashMap<String, String>,
    /// How many were taken, if there were more.
    most: Option<usize>,
}

impl Tools {
    /// The members of a JSON object that holds all of it. Each tool is a string, so that it can be read by itself.
    pub(crate) fn members(&self) -> String {
        let mut problems: Vec<_> = self
            .refused
            .iter()
            .map(|(tool, reason)| json!({ "tool": tool, "field": "inputSchema", "reason": reason }))
            .collect();
        if let Some(most) = self.most {
            let reason =
                format!("there are more than {most} tools ('maxTools'); the rest is left out");
            problems.push(json!({ "tool": format!("#{most}"), "field": "name", "reason": reason }));
        }
        let tools: Vec<_> = self.texts.iter().map(|text| message::text(text)).collect();
        format!(
            r#""tools":[{}],"problems":{}"#,
            tools.join(","),
            json!(problems)
        )
    }
}

/// Entries as a JSON array.
pub(crate) fn array(texts: &[String]) -> String {
    format!("[{}]", texts.join(","))
}

/// The entries of a list, as texts.
struct Entries {
    texts: Vec<String>,
    bytes: usize,
    limit: usize,
    /// How many are taken, and whether there were more.
    most: usize,
    is_full: bool,
    /// A server that repeats a page repeats its entries.
    seen: HashSet<u64>,
}

impl Entries {
    fn new(limit: usize) -> Self {
        Self {
            texts: Vec::new(),
            bytes: 0,
            limit,
            most: usize::MAX,
            is_full: false,
            seen: HashSet::new(),
        }
    }

    fn add(&mut self, page: Option<&RawValue>) -> Result<(), Failure> {
        let Some(page) = page else { return Ok(()) };
        let entries: Vec<&RawValue> = serde_json::from_str(page.get())
            .map_err(|error| Failure::Odd(format!("what should be a list is not one ({error})")))?;
        for entry in entries {
            let mut hasher = DefaultHasher::new();
            entry.get().hash(&mut hasher);
            if self.seen.insert(hasher.finish()) {
                if self.texts.len() == self.most {
                    self.is_full = true;
                    break;
                }
                self.bytes += entry.get().len();
                self.texts.push(entry.get().to_owned());
            }
        }
        if self.bytes > self.limit {
            return Err(Failure::TooLarge(self.limit));
        }
        Ok(())
    }

    /// The tools whose arguments are to be sent as headers too.
    fn annotated(&self) -> Vec<AnnotatedTool> {
        self.texts
            .iter()
            .filter(|text| text.contains(mirrored::ANNOTATION))
            .filter_map(|text| serde_json::from_str(text).ok())
            .collect()
    }

    /// The tools with a description that is too long, and why they are left out.
    fn oversized(&self) -> HashMap<String, String> {
        let oversized = self.texts.iter().filter(|text| text.len() > TOOL_BYTES);
        oversized
            .filter_map(|text| {
                let bytes = text.len();
                let tool: ToolHead = serde_json::from_str(text).ok()?;
                let reason =
                    format!("its description has {bytes} bytes, and may have {TOOL_BYTES}");
                Some((tool.name, reason))
            })
            .collect()
    }

    /// All but some tools.
    fn without(self, refused: &HashMap<String, String>) -> Vec<String> {
        let mut texts = self.texts;
        texts.retain(|text| text.len() <= TOOL_BYTES);
        if !refused.is_empty() {
            texts.retain(|text| {
                let head = serde_json::from_str::<ToolHead>(text);
                !head.is_ok_and(|tool| refused.contains_key(&tool.name))
            });
        }
        texts
    }
}

#[derive(Deserialize)]
struct ToolHead {
    name: String,
    annotations: Option<Hints>,
    execution: Option<Execution>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    task_support: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hints {
    read_only_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// What must be known of a tool to call it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToolTraits {
    /// Calling it twice does no harm.
    pub(crate) is_repeatable: bool,
    /// A server of 2025-11-25 lets it be called as a task only.
    pub(crate) must_be_task: bool,
}

/// The names of all tools, each with what must be known of it.
pub(crate) fn tool_names(tools: &[String]) -> HashMap<String, ToolTraits> {
    tools
        .iter()
        .filter_map(|tool| serde_json::from_str::<ToolHead>(tool).ok())
        .map(|tool| {
            let is_repeatable = tool.annotations.is_some_and(|hints| {
                hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
            });
            let support = tool.execution.and_then(|execution| execution.task_support);
            let must_be_task = support.as_deref() == Some("required");
            let traits = ToolTraits {
                is_repeatable,
                must_be_task,
            };
            (tool.name, traits)
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
        assert_eq!(array(&entries.texts), r#"[{"a": 1},2,3]"#);
        assert_eq!(array(&[]), "[]");
    }

    #[test]
    fn refused_tools_are_left_out() {
        let mut entries = Entries::new(1000);
        let page: Box<RawValue> =
            serde_json::from_str(r#"[{"name":"a"},{"name":"b","x-mcp-header":1},7]"#).unwrap();
        entries.add(Some(&page)).unwrap();
        assert_eq!(entries.annotated().len(), 1);
        let refused = HashMap::from([("b".to_owned(), "because".to_owned())]);
        assert_eq!(entries.without(&refused), [r#"{"name":"a"}"#, "7"]);
    }

    #[test]
    fn a_tool_whose_description_is_too_long_is_left_out() {
        let mut entries = Entries::new(usize::MAX);
        let long = "d".repeat(TOOL_BYTES);
        let page = format!(r#"[{{"name":"a","description":"{long}"}},{{"name":"b"}},"{long}"]"#);
        let page: Box<RawValue> = serde_json::from_str(&page).unwrap();
        entries.add(Some(&page)).unwrap();
        let refused = entries.oversized();
        assert!(refused.contains_key("a") && refused.len() == 1);
        assert_eq!(entries.without(&refused), [r#"{"name":"b"}"#]);
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
    fn no_more_tools_are_taken_than_allowed() {
        let mut entries = Entries::new(1000);
        entries.most = 2;
        let page: Box<RawValue> = serde_json::from_str("[1, 2]").unwrap();
        entries.add(Some(&page)).unwrap();
        assert!(!entries.is_full);
        let next: Box<RawValue> = serde_json::from_str("[2, 3, 4]").unwrap();
        entries.add(Some(&next)).unwrap();
        assert!(entries.is_full);
        assert_eq!(array(&entries.texts), "[1,2]");
    }

    #[test]
    fn hints_say_what_may_be_repeated() {
        let names = tool_names(
            &[
                r#"{"name":"a"}"#,
                r#"{"name":"b","annotations":{"readOnlyHint":true}}"#,
                r#"{"name":"c","annotations":{"idempotentHint":true}}"#,
                r#"{"name":"d","annotations":{"idempotentHint":false}}"#,
                r#"{"noname":1}"#,
                "7",
            ]
            .map(str::to_owned),
        );
        assert_eq!(names.len(), 4);
        let may = |name: &str| names[name].is_repeatable;
        assert!(!may("a") && may("b") && may("c") && !may("d"));
    }
}
