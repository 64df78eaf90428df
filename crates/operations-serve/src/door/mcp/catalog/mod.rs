//! What clients are shown: the operations of a registry as tools, prompts and resources, ready to be sent.

mod descriptor;
mod prompt;
mod resource;
mod template;
mod tool;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use operations_core::access::{AccessControl, CallInput, Identity, enforce_access};
use operations_core::lock::locked;
use operations_tools::Target;
use operations_tools::names::tool_names;
use sha2::{Digest, Sha256};

use self::descriptor::OperationDescriptor;
pub(super) use self::prompt::{Prompt, Source};
pub(super) use self::resource::Resource;
pub(super) use self::tool::{Output, Tool};
use super::protocol_version::ProtocolVersion;
use crate::description_cache;
use crate::options::McpDoor;

/// What the `_meta` of a tool has about its operation.
pub(super) const OPERATION_KEY: &str = "alkdev.operations/operation";

/// The one argument that is the input itself, where that is no object. Only our own client knows of it.
const INPUT_KEY: &str = "alkdev.operations/input";

/// Cached lists, for callers with different rights.
const KEPT_LISTS: usize = 64;

/// Whether a resource can be at this address, which may have variables.
pub(super) fn is_resource_uri(uri: &str) -> bool {
    template::Template::read(uri).is_some_and(|template| !template.is_empty())
}

/// Something in a list.
#[derive(Debug)]
pub(super) struct Listed {
    /// The operation.
    pub(super) id: String,
    access: AccessControl,
    /// As JSON, for each protocol version: mostly the same.
    handshake: Arc<str>,
    stateless: Arc<str>,
}

impl Listed {
    fn new(each: &OperationDescriptor, handshake: &str, stateless: &str) -> Self {
        let shared = Arc::from(handshake);
        Self {
            id: each.id.clone(),
            access: each.access.clone(),
            stateless: if handshake == stateless {
                Arc::clone(&shared)
            } else {
                Arc::from(stateless)
            },
            handshake: shared,
        }
    }

    /// Whether a caller may have it.
    pub(super) fn is_for(&self, identity: Option<&Identity>) -> bool {
        enforce_access(&self.access, identity, &self.id, CallInput::Any).is_ok()
    }
}

/// A list that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

/// What each list is at one time: they are compared to see which has changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Fingerprints {
    pub(super) tools: [u8; 32],
    pub(super) prompts: [u8; 32],
    pub(super) resources: [u8; 32],
}

/// A list as it was sent before: which one, what is in it, and for which protocol version.
type ListKey = (List, Vec<bool>, bool);

/// What there is to be shown at each MCP door, at one time.
#[derive(Debug)]
pub(super) struct Catalogs {
    revision: u64,
    views: Vec<Arc<Catalog>>,
}

impl Catalogs {
    /// What there is at one door. Nothing, where no operation is offered there.
    pub(super) fn view(&self, door: &McpDoor) -> Arc<Catalog> {
        self.views
            .get(door.view)
            .map(Arc::clone)
            .unwrap_or_default()
    }
}

/// What there is to be shown, at one time.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    tools: Vec<Arc<Tool>>,
    tools_by_name: HashMap<String, usize>,
    prompts: Vec<Arc<Prompt>>,
    prompts_by_name: HashMap<String, usize>,
    /// Those at one address.
    resources: Vec<Arc<Resource>>,
    /// Those at many.
    templates: Vec<Arc<Resource>>,
    lists: Mutex<HashMap<ListKey, Bytes>>,
}

impl Catalog {
    fn add(&mut self, each: &Appearance, name: &str) {
        if let Some(resource) = &each.resource {
            let list = if resource.is_template() {
                &mut self.templates
            } else {
                &mut self.resources
            };
            list.push(Arc::clone(resource));
        }
        if let Some(prompt) = &each.prompt {
            let index = self.prompts.len();
            self.prompts_by_name.insert(name.to_owned(), index);
            self.prompts.push(Arc::clone(prompt));
        }
        if let Some(tool) = &each.tool {
            self.tools_by_name.insert(name.to_owned(), self.tools.len());
            self.tools.push(Arc::clone(tool));
        }
    }

    /// The tool of this name.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        let index = self.tools_by_name.get(name)?;
        self.tools.get(*index).map(|tool| &**tool)
    }

    /// The names of the tools that a caller may call.
    pub(super) fn tool_names_for(
        &self,
        identity: Option<&Identity>,
        is_served: impl Fn(&str) -> bool,
    ) -> Vec<&str> {
        let names = self.tools_by_name.iter();
        let mut shown: Vec<&str> = names
            .filter(|(_, index)| {
                let tool = self.tools.get(**index);
                tool.is_some_and(|tool| tool.listed.is_for(identity) && is_served(&tool.listed.id))
            })
            .map(|(name, _)| name.as_str())
            .collect();
        // Of two that are as near, the same one each time.
        shown.sort_unstable();
        shown
    }

    /// The prompt of this name.
    pub(super) fn prompt(&self, name: &str) -> Option<&Prompt> {
        let index = self.prompts_by_name.get(name)?;
        self.prompts.get(*index).map(|prompt| &**prompt)
    }

    /// The resource at an address, and what the address says about it.
    pub(super) fn resource(&self, uri: &str) -> Option<(&Resource, Vec<(String, String)>)> {
        let mut all = self.resources.iter().chain(&self.templates);
        all.find_map(|resource| Some((&**resource, resource.at(uri)?)))
    }

    /// The template that is written like this.
    pub(super) fn template(&self, uri: &str) -> Option<&Resource> {
        let mut all = self.templates.iter().map(|template| &**template);
        all.find(|each| each.uri() == uri)
    }

    pub(super) fn has_prompts(&self) -> bool {
        !self.prompts.is_empty()
    }

    /// Whether large results may be in files, which are read as resources are.
    pub(super) fn spills(&self) -> bool {
        self.tools.iter().any(|tool| tool.spills)
    }

    /// Whether there are tools that can be called as tasks.
    pub(super) fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.task.is_some())
    }

    pub(super) fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.templates.is_empty()
    }

    /// Everything in a list, regardless of the caller.
    fn listed(&self, list: List) -> Box<dyn Iterator<Item = &Listed> + '_> {
        match list {
            List::Tools => Box::new(self.tools.iter().map(|tool| &tool.listed)),
            List::Prompts => Box::new(self.prompts.iter().map(|prompt| &prompt.listed)),
            List::Resources => Box::new(self.resources.iter().map(|resource| &resource.listed)),
            List::Templates => Box::new(self.templates.iter().map(|resource| &resource.listed)),
        }
    }

    /// The result of a request for a list: what the caller may have and what is served. `about` is what results have in the
    /// stateless protocol, as members of an object.
    pub(super) fn list(
        &self,
        list: List,
        identity: Option<&Identity>,
        is_served: impl Fn(&str) -> bool,
        protocol: ProtocolVersion,
        about: &str,
    ) -> Bytes {
        let shown: Vec<bool> = self
            .listed(list)
            .map(|each| each.is_for(identity) && is_served(&each.id))
            .collect();
        let is_stateless = protocol == ProtocolVersion::Stateless;
        let key = (list, shown, is_stateless);
        let mut lists = locked(&self.lists);
        if let Some(list) = lists.get(&key) {
            return list.clone();
        }
        let texts: Vec<&str> = self
            .listed(list)
            .zip(&key.1)
            .filter(|(_, is_shown)| **is_shown)
            .map(|(each, _)| {
                if is_stateless {
                    &*each.stateless
                } else {
                    &each.handshake
                }
            })
            .collect();
        let members = if is_stateless {
            format!(r#","ttlMs":0,"cacheScope":"private",{about}"#)
        } else {
            String::new()
        };
        let name = list.name();
        let text = Bytes::from(format!(r#"{{"{name}":[{}]{members}}}"#, texts.join(",")));
        if lists.len() >= KEPT_LISTS {
            lists.clear();
        }
        lists.insert(key, text.clone());
        text
    }

    /// What the lists are for a caller.
    pub(super) fn fingerprints(
        &self,
        identity: Option<&Identity>,
        is_served: impl Fn(&str) -> bool,
    ) -> Fingerprints {
        let of = |lists: &[List]| {
            let mut digest = Sha256::new();
            for list in lists {
                for each in self.listed(*list) {
                    if each.is_for(identity) && is_served(&each.id) {
                        digest.update(each.stateless.as_bytes());
                        digest.update([0]);
                    }
                }
                digest.update([1]);
            }
            digest.finalize().into()
        };
        Fingerprints {
            tools: of(&[List::Tools]),
            prompts: of(&[List::Prompts]),
            resources: of(&[List::Resources, List::Templates]),
        }
    }
}

/// An operation as JavaScript describes it, and what was made of it.
#[derive(Debug)]
pub(super) struct Described {
    id: String,
    /// What it is to be called, where that is not made of its id.
    name: Option<String>,
    /// The MCP doors that it is offered at, one bit each.
    views: u32,
    text: Box<str>,
    appearance: Mutex<Option<Arc<Appearance>>>,
}

/// What an operation is to clients, under a name.
#[derive(Debug, Default)]
struct Appearance {
    name: String,
    tool: Option<Arc<Tool>>,
    prompt: Option<Arc<Prompt>>,
    resource: Option<Arc<Resource>>,
}

impl Described {
    /// The name depends on the other operations. It is mostly what it was.
    fn under(&self, name: &str) -> Arc<Appearance> {
        let mut appearance = locked(&self.appearance);
        if let Some(made) = appearance.as_ref().filter(|made| made.name == name) {
            return Arc::clone(made);
        }
        // The text was read before.
        let descriptor: Option<OperationDescriptor> = serde_json::from_str(&self.text).ok();
        let made = Arc::new(descriptor.map_or_else(Appearance::default, |each| {
            Appearance {
                name: name.to_owned(),
                resource: Resource::new(&each, name).map(Arc::new),
                prompt: Prompt::new(&each, name).map(Arc::new),
                // What takes nothing that could be sent cannot be called.
                tool: each
                    .mcp
                    .tool
                    .then(|| Tool::new(&each, name).map(Arc::new))
                    .flatten(),
            }
        }));
        *appearance = Some(Arc::clone(&made));
        made
    }
}

impl description_cache::FromDescription for Catalogs {
    type Item = Described;
    const KIND: &'static str = "true";

    fn item(text: &str) -> Result<Described, serde_json::Error> {
        let read: OperationDescriptor = serde_json::from_str(text)?;
        Ok(Described {
            id: read.id,
            name: read.mcp.name,
            views: read.views,
            text: text.into(),
            appearance: Mutex::default(),
        })
    }

    fn of(items: &[Arc<Described>], revision: u64) -> Self {
        let ids: Vec<_> = items
            .iter()
            .map(|each| (&*each.id, each.name.as_deref()))
            .collect();
        let names = tool_names(&ids, Target::Mcp.rules());
        let doors = items
            .iter()
            .map(|each| u32::BITS - each.views.leading_zeros());
        let mut views: Vec<Catalog> = (0..doors.max().unwrap_or_default())
            .map(|_| Catalog::default())
            .collect();
        for (each, name) in items.iter().zip(&names) {
            let appearance = each.under(name);
            for (door, view) in views.iter_mut().enumerate() {
                if each.views >> door & 1 == 1 {
                    view.add(&appearance, name);
                }
            }
        }
        Self {
            revision,
            views: views.into_iter().map(Arc::new).collect(),
        }
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "tests: a failure should stop them"
    )]

    use serde_json::{Value, json};

    use super::*;
    use crate::description_cache::FromDescription as _;

    fn catalog(operations: &Value) -> Arc<Catalog> {
        let items = operations.as_array().expect("a list").iter();
        let items = items.map(|each| Catalogs::item(&each.to_string()).map(Arc::new));
        let items: Vec<_> = items.collect::<Result<_, _>>().expect("descriptions");
        Arc::clone(&Catalogs::of(&items, 1).views[0])
    }

    fn listed(catalog: &Catalog, protocol: ProtocolVersion, identity: Option<&Identity>) -> Value {
        let list = catalog.list(List::Tools, identity, |_| true, protocol, r#""x":1"#);
        serde_json::from_slice(&list).expect("JSON")
    }

    fn operation(id: &str, more: &Value) -> Value {
        let mut operation = json!({
            "id": id, "type": "mutation", "description": "d", "access": { "requiredScopes": [] },
        });
        for (name, value) in more.as_object().expect("members") {
            operation[name] = value.clone();
        }
        operation
    }

    #[test]
    fn an_output_that_is_no_object_is_wrapped_for_those_who_need_it() {
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/T" }, "$defs": { "T": { "type": "string" } } });
        let catalog = catalog(&json!([
            operation("a.list", &json!({ "output": list })),
            operation("a.any", &json!({ "output": {} })),
            operation("a.date", &json!({ "output": { "type": "Date" } })),
        ]));
        let stateless = listed(&catalog, ProtocolVersion::Stateless, None);
        assert_eq!(stateless["tools"][0]["outputSchema"], list);
        assert_eq!(stateless["x"], 1);
        let handshake = listed(&catalog, ProtocolVersion::Handshake, None);
        let wrapped = &handshake["tools"][0]["outputSchema"];
        assert_eq!(wrapped["type"], "object");
        assert_eq!(
            wrapped["properties"]["result"]["$id"],
            "urn:operation:a.list:output"
        );
        assert_eq!(handshake.get("ttlMs"), None);
        for tool in [1, 2] {
            assert_eq!(handshake["tools"][tool].get("outputSchema"), None);
        }
        let output = |name| catalog.tool(name).expect("a tool").output;
        assert_eq!(output("a_list"), Output::Other);
        assert_eq!(output("a_any"), Output::Undeclared);
    }

    #[test]
    fn callers_see_what_they_may_call() {
        let catalog = catalog(&json!([
            operation("a.open", &json!({ "type": "query" })),
            operation(
                "a.closed",
                &json!({ "access": { "requiredScopes": ["x"] } })
            ),
        ]));
        let names = |identity: Option<&Identity>| {
            let list = listed(&catalog, ProtocolVersion::Handshake, identity);
            let tools = list["tools"].as_array().cloned().expect("tools");
            tools
                .iter()
                .map(|tool| tool["name"].as_str().expect("a name").to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["a_open"]);
        let ada = Identity {
            id: "ada".to_owned(),
            scopes: vec!["x".to_owned()],
            ..Identity::default()
        };
        assert_eq!(names(Some(&ada)), ["a_open", "a_closed"]);
        let list = listed(&catalog, ProtocolVersion::Handshake, None);
        assert_eq!(list["tools"][0]["annotations"]["readOnlyHint"], true);
        assert_eq!(list["tools"][0]["_meta"][OPERATION_KEY]["id"], "a.open");
        let none = catalog.list(List::Tools, None, |_| false, ProtocolVersion::Handshake, "");
        assert_eq!(&*none, br#"{"tools":[]}"#);
    }

    #[test]
    fn arguments_are_objects_whatever_an_operation_takes() {
        let object = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let catalog = catalog(&json!([
            operation("a.object", &json!({ "input": object })),
            operation("a.text", &json!({ "input": { "type": "string" } })),
            operation("a.any", &json!({})),
            operation("a.date", &json!({ "input": { "type": "Date" } })),
        ]));
        let list = listed(&catalog, ProtocolVersion::Stateless, None);
        assert_eq!(list["tools"][0]["inputSchema"], object);
        let tools = list["tools"].as_array().expect("a list");
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
        // No JSON is a Date, so that one cannot be called.
        assert_eq!(names, ["a_object", "a_text", "a_any"]);
        for tool in tools {
            assert_eq!(tool["inputSchema"]["type"], "object");
        }
        let input = |name, arguments| catalog.tool(name).expect("a tool").input(arguments);
        assert_eq!(
            input("a_object", Some("{\"a\":1}")).as_deref(),
            Some("{\"a\":1}")
        );
        assert_eq!(input("a_object", None).as_deref(), Some("{}"));
        let property = list["tools"][1]["inputSchema"]["required"][0]
            .as_str()
            .expect("a property");
        let arguments = json!({ property: "x" }).to_string();
        assert_eq!(input("a_text", Some(&arguments)).as_deref(), Some("\"x\""));
    }

    #[test]
    fn an_operation_can_be_a_prompt_or_a_resource() {
        let input = json!({
            "type": "object",
            "properties": { "id": { "type": "integer" }, "kind": { "enum": ["a", "b"] } },
            "required": ["id"],
        });
        let resource = |uri: &str| json!({ "tool": false, "resource": { "uri": uri } });
        let catalog = catalog(&json!([
            operation(
                "a.prompt",
                &json!({ "input": input, "mcp": { "tool": false, "prompt": true } })
            ),
            operation(
                "a.one",
                &json!({ "type": "query", "mcp": resource("x://one") })
            ),
            operation(
                "a.many",
                &json!({ "type": "query", "input": input, "mcp": resource("x://{id}") })
            ),
            operation("a.writes", &json!({ "mcp": resource("x://writes") })),
        ]));
        let list = |list| {
            let text = catalog.list(list, None, |_| true, ProtocolVersion::Handshake, "");
            serde_json::from_slice::<Value>(&text).expect("JSON")
        };
        assert_eq!(list(List::Tools), json!({ "tools": [] }));
        let prompts = list(List::Prompts);
        assert_eq!(prompts["prompts"][0]["name"], "a_prompt");
        assert_eq!(
            prompts["prompts"][0]["arguments"][0],
            json!({ "name": "id", "required": true })
        );
        assert_eq!(list(List::Resources)["resources"][0]["uri"], "x://one");
        assert_eq!(
            list(List::Templates)["resourceTemplates"][0]["uriTemplate"],
            "x://{id}"
        );
        let (one, variables) = catalog.resource("x://one").expect("a resource");
        assert_eq!((&*one.listed.id, variables.len()), ("a.one", 0));
        let (many, variables) = catalog.resource("x://7").expect("a resource");
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name, json!(value)));
        assert_eq!(many.arguments.input(variables), json!({ "id": 7 }));
        assert!(catalog.resource("x://writes/no").is_none());
        let words = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(
            many.arguments.completions("kind"),
            Some(Source::Words(words))
        );
        assert_eq!(many.arguments.completions("id"), None);
    }
}
