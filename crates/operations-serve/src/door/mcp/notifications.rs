//! Sends `list_changed`, `resources/updated` and task notifications.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use operations_core::json::Object;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::catalog::Fingerprints;
use super::client::Abilities;
use super::message::{self, INVALID_PARAMS, Refusal};
use super::protocol_version::ProtocolVersion;
use super::{resources, tasks};
use crate::description_cache::FromDescription as _;
use crate::identity::Caller;
use crate::options::McpDoor;
use crate::service::Shared;

/// Registrations come in bursts: all of a burst is one change.
const SETTLES: Duration = Duration::from_millis(250);
/// Resources that one request may watch.
const MOST_WATCHED: usize = 1_000;

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// What a client of the stateless protocol has subscribed to.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The id of the request, as JSON.
    id: String,
    tools: bool,
    prompts: bool,
    resources: bool,
    watched: HashSet<String>,
    tasks: HashSet<Uuid>,
}

impl Subscription {
    /// Reads the parameters of `subscriptions/listen`.
    pub(super) fn read(id: &str, params: &Object<'_>) -> Result<Self, Refusal> {
        let wrong = |message: &str| Refusal::new(INVALID_PARAMS, message);
        let wanted = params
            .object("notifications")
            .ok_or_else(|| wrong("\"notifications\" must be an object"))?;
        let is_wanted = |name| wanted.get(name) == Some("true");
        let watched: HashSet<String> = match wanted.get("resourceSubscriptions") {
            None => HashSet::new(),
            Some(list) => serde_json::from_str(list)
                .map_err(|_| wrong("\"resourceSubscriptions\" must be a list of addresses"))?,
        };
        let tasks: HashSet<String> = match wanted.get("taskIds") {
            None => HashSet::new(),
            Some(_) if !Abilities::of_request(params).tasks => return Err(tasks::undeclared()),
            Some(list) => serde_json::from_str(list)
                .map_err(|_| wrong("\"taskIds\" must be a list of names"))?,
        };
        if tasks.len() > MOST_WATCHED {
            return Err(wrong("\"taskIds\" has too many names"));
        }
        if watched.len() > MOST_WATCHED {
            return Err(wrong("\"resourceSubscriptions\" has too many addresses"));
        }
        Ok(Self {
            id: id.to_owned(),
            tools: is_wanted("toolsListChanged"),
            prompts: is_wanted("promptsListChanged"),
            resources: is_wanted("resourcesListChanged"),
            watched,
            // Invalid ids match no task.
            tasks: tasks
                .iter()
                .filter_map(|name| Uuid::try_parse(name).ok())
                .collect(),
        })
    }

    /// Whether there is nothing to wait for.
    pub(super) fn is_empty(&self) -> bool {
        let lists = [self.tools, self.prompts, self.resources];
        !lists.contains(&true) && self.watched.is_empty() && self.tasks.is_empty()
    }

    /// The first message to a client: what it will be notified of.
    pub(super) fn acknowledgement(&self) -> String {
        let mut honoured = Map::new();
        for (name, is_wanted) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if is_wanted {
                honoured.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if !self.watched.is_empty() {
            honoured.insert("resourceSubscriptions".to_owned(), json!(self.watched));
        }
        if !self.tasks.is_empty() {
            let names: Vec<String> = self.tasks.iter().map(Uuid::to_string).collect();
            honoured.insert("taskIds".to_owned(), json!(names));
        }
        let params = format!(
            r#"{{"notifications":{},"_meta":{}}}"#,
            Value::Object(honoured),
            self.meta()
        );
        message::notification("notifications/subscriptions/acknowledged", &params)
    }

    /// The last message to a client.
    pub(super) fn end(&self) -> String {
        let result = format!(r#"{{"resultType":"complete","_meta":{}}}"#, self.meta());
        message::result(&self.id, &result)
    }

    fn meta(&self) -> String {
        format!(r#"{{"{SUBSCRIPTION_KEY}":{}}}"#, self.id)
    }
}

/// Who is notified, and of what.
#[derive(Debug)]
pub(super) enum Audience {
    /// An older client: of all lists, and of the resources that its session watches.
    Session(Option<String>),
    /// A newer one: of what its request names.
    Subscription(Subscription),
}

/// Something that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Tools,
    Prompts,
    Resources,
}

impl Changed {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }
}

impl Audience {
    fn list(&self, changed: Changed) -> Option<String> {
        let params = match self {
            Self::Session(_) => "{}".to_owned(),
            Self::Subscription(wanted) => {
                let is_wanted = match changed {
                    Changed::Tools => wanted.tools,
                    Changed::Prompts => wanted.prompts,
                    Changed::Resources => wanted.resources,
                };
                if !is_wanted {
                    return None;
                }
                format!(r#"{{"_meta":{}}}"#, wanted.meta())
            }
        };
        Some(message::notification(changed.method(), &params))
    }

    fn watched(&self, shared: &Shared, caller: &Caller) -> HashSet<String> {
        match self {
            Self::Session(None) => HashSet::new(),
            Self::Session(Some(session)) => shared.mcp.sessions.watched(session, caller.id()),
            Self::Subscription(wanted) => wanted.watched.clone(),
        }
    }

    /// `members` are those of the task, as JSON.
    fn task(&self, members: &str) -> String {
        match self {
            Self::Session(_) => {
                message::notification("notifications/tasks/status", &format!("{{{members}}}"))
            }
            Self::Subscription(wanted) => {
                let params = format!(r#"{{{members},"_meta":{}}}"#, wanted.meta());
                message::notification("notifications/tasks", &params)
            }
        }
    }

    fn updated(&self, uri: &str) -> String {
        let uri = Value::String(uri.to_owned());
        let params = match self {
            Self::Session(_) => format!(r#"{{"uri":{uri}}}"#),
            Self::Subscription(wanted) => format!(r#"{{"uri":{uri},"_meta":{}}}"#, wanted.meta()),
        };
        message::notification("notifications/resources/updated", &params)
    }
}

/// Something that was received, before it is made into messages.
#[derive(Debug, Clone)]
enum Received {
    /// A resource has changed; `None` where some changes were missed.
    Resource(Option<Arc<str>>),
    /// A task has changed; `None` where some changes were missed.
    Task(Option<tasks::Changed>),
    Lists,
}

/// Waits for notifications to send.
#[derive(Debug)]
pub(super) struct Watcher {
    shared: Arc<Shared>,
    door: McpDoor,
    caller: Arc<Caller>,
    pub(super) audience: Audience,
    revision: watch::Receiver<u64>,
    updates: broadcast::Receiver<Arc<str>>,
    /// `None` where there are no tasks.
    tasks: Option<broadcast::Receiver<tasks::Changed>>,
    /// When a change that has been seen will have settled.
    settling: Option<Instant>,
    /// The lists as they were; `None` if they were not listed yet.
    seen: Option<Fingerprints>,
    /// How many catalogues there were by then.
    made: u64,
    /// Received, and not yet returned as messages: a caller of [`Watcher::next`] may stop waiting in between.
    received: Option<Received>,
}

impl Watcher {
    pub(super) fn new(
        shared: &Arc<Shared>,
        door: &McpDoor,
        caller: &Arc<Caller>,
        audience: Audience,
    ) -> Self {
        let mut watcher = Self {
            revision: shared.calls.changes(),
            updates: shared.mcp.updates.subscribe(),
            tasks: shared.mcp.tasks.as_ref().map(tasks::Tasks::changes),
            shared: Arc::clone(shared),
            door: door.clone(),
            caller: Arc::clone(caller),
            audience,
            settling: None,
            seen: None,
            made: shared.mcp.catalog.made(),
            received: None,
        };
        if let Some(newest) = shared.mcp.catalog.newest(shared) {
            watcher.seen = Some(watcher.fingerprints(&newest.view(door)));
        }
        watcher
    }

    fn fingerprints(&self, catalog: &super::catalog::Catalog) -> Fingerprints {
        let is_served = |id: &str| self.shared.calls.tool(id).is_some();
        catalog.fingerprints(self.caller.identity.as_ref(), is_served)
    }

    /// The next messages. `None` if there never will be any. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Vec<String>> {
        loop {
            let received = match self.received.take() {
                Some(received) => received,
                None => self.receive().await?,
            };
            let messages = match self.received.insert(received).clone() {
                Received::Resource(uri) => self.updated(uri).await,
                Received::Task(changed) => self.tasks(changed).await,
                Received::Lists => self.changed().await,
            };
            self.received = None;
            if !messages.is_empty() {
                return Some(messages);
            }
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        tokio::select! {
            biased;
            updated = self.updates.recv() => match updated {
                Ok(uri) => Some(Received::Resource(Some(uri))),
                Err(RecvError::Lagged(_)) => Some(Received::Resource(None)),
                Err(RecvError::Closed) => None,
            },
            changed = next_task(&mut self.tasks) => Some(Received::Task(changed)),
            changed = settled(&mut self.revision, &mut self.settling) => changed.map(|()| Received::Lists),
        }
    }

    async fn updated(&self, updated: Option<Arc<str>>) -> Vec<String> {
        let mut watched = self.audience.watched(&self.shared, &self.caller);
        // Where some were missed, each of them may have been.
        if let Some(uri) = updated {
            watched.retain(|each| **each == *uri);
        }
        if watched.is_empty() {
            return Vec::new();
        }
        // Who may read it is decided when there is something to send: rules change, and any client can subscribe.
        let Ok(catalogs) = self.shared.mcp.catalog.current(&self.shared).await else {
            return Vec::new();
        };
        let catalog = catalogs.view(&self.door);
        watched.retain(|uri| resources::is_readable(&self.shared, &catalog, &self.caller, uri));
        let messages = watched.iter().map(|uri| self.audience.updated(uri));
        messages.collect()
    }

    /// The notifications about tasks: of one that has changed, or, if some were missed, of all that the client has named.
    async fn tasks(&self, changed: Option<tasks::Changed>) -> Vec<String> {
        let Some(tasks) = &self.shared.mcp.tasks else {
            return Vec::new();
        };
        let (ids, protocol): (Vec<Uuid>, _) = match (&self.audience, changed) {
            (Audience::Subscription(wanted), Some(changed)) => {
                let id = wanted.tasks.get(&changed.id);
                (
                    id.into_iter().copied().collect(),
                    ProtocolVersion::Stateless,
                )
            }
            (Audience::Subscription(wanted), None) => (
                wanted.tasks.iter().copied().collect(),
                ProtocolVersion::Stateless,
            ),
            (Audience::Session(Some(session)), Some(changed)) if changed.is_of(session) => {
                (vec![changed.id], ProtocolVersion::Handshake)
            }
            (Audience::Session(_), _) => return Vec::new(),
        };
        let mut messages = Vec::new();
        for id in ids {
            if let Some(members) = tasks.members(&self.caller, id, protocol).await {
                messages.push(self.audience.task(&members));
            }
        }
        messages
    }

    async fn changed(&mut self) -> Vec<String> {
        let all = [Changed::Tools, Changed::Prompts, Changed::Resources];
        let current = self.shared.mcp.catalog.current(&self.shared).await;
        let changed: Vec<Changed> = match &current {
            // The client finds out by asking for the list.
            Err(_) => {
                self.revision.borrow_and_update();
                vec![Changed::Tools]
            }
            Ok(catalogs) => {
                // A client may have read a list in between, which has changed back since.
                let made = self.shared.mcp.catalog.made();
                if made > self.made + 1 {
                    self.seen = None;
                }
                self.made = made;
                let catalog = catalogs.view(&self.door);
                let now = self.fingerprints(&catalog);
                let is_another = |which: &Changed| match (&self.seen, which) {
                    (None, Changed::Tools) => true,
                    (None, Changed::Prompts) => catalog.has_prompts(),
                    (None, Changed::Resources) => catalog.has_resources(),
                    (Some(seen), Changed::Tools) => seen.tools != now.tools,
                    (Some(seen), Changed::Prompts) => seen.prompts != now.prompts,
                    (Some(seen), Changed::Resources) => seen.resources != now.resources,
                };
                let changed = all.into_iter().filter(is_another).collect();
                self.seen = Some(now);
                // What has changed meanwhile is a further change.
                if *self.revision.borrow() == catalogs.revision() {
                    self.revision.borrow_and_update();
                }
                changed
            }
        };
        let messages = changed.iter().filter_map(|each| self.audience.list(*each));
        messages.collect()
    }
}

/// The next task that has changed; `None` if some were missed.
async fn next_task(
    changes: &mut Option<broadcast::Receiver<tasks::Changed>>,
) -> Option<tasks::Changed> {
    if let Some(receiver) = changes {
        match receiver.recv().await {
            Ok(next) => return Some(next),
            Err(RecvError::Lagged(_)) => return None,
            Err(RecvError::Closed) => *changes = None,
        }
    }
    std::future::pending().await
}

/// Waits for a change, and until no more is to be expected. It stays unseen. `None` if there never will be one. Cancel
/// safe: calling it again does not wait longer.
async fn settled(
    revision: &mut watch::Receiver<u64>,
    settling: &mut Option<Instant>,
) -> Option<()> {
    if settling.is_none() {
        revision.changed().await.ok()?;
        revision.mark_changed();
    }
    let until = *settling.get_or_insert_with(|| Instant::now() + SETTLES);
    sleep_until(until).await;
    *settling = None;
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use futures::FutureExt as _;
    use operations_core::log::Logger;
    use operations_core::mailbox::Mailbox;
    use operations_core::registry::{Operation, OutputMode, Registry, Schema, Work};
    use tokio::time::timeout;

    use super::*;
    use crate::js_bridge::JsBridge;
    use crate::options::Options;
    use crate::service::Service;

    fn service(js: &Arc<JsBridge>) -> Service {
        let registry = Arc::new(Registry::new(OutputMode::Normalise, Logger::silent()));
        let spec = json!({
            "namespace": "t", "name": "a", "type": "query", "description": "",
            "accessControl": { "requiredScopes": [] },
        });
        registry.set(Operation {
            spec: serde_json::from_value(spec).expect("a spec"),
            input: Schema::ready(None),
            output: Schema::ready(None),
            work: Work::Host,
        });
        let options = json!({
            "doors": { "mcp": { "path": "/mcp", "name": "test", "version": "1" } },
            "maxBodyBytes": 1000, "requestTimeout": 1000, "requestHeaders": [], "responseHeaders": [],
        });
        let options = Options::read(&options.to_string()).expect("options");
        let (js, logger) = (Arc::clone(js), Logger::silent());
        Service::new(options, registry, js, logger, Arc::default()).expect("a service")
    }

    #[tokio::test]
    async fn a_notification_is_not_lost_by_who_stops_waiting_for_it() {
        let mailbox = Arc::new(Mailbox::new(|| {}));
        let js = Arc::new(JsBridge::new(Arc::clone(&mailbox)));
        let service = service(&js);
        let params = r#"{"notifications":{"resourceSubscriptions":["t://a"]}}"#;
        let params = Object::read(params).expect("parameters");
        let subscription = Subscription::read("1", &params).expect("a subscription");
        let audience = Audience::Subscription(subscription);
        let shared = service.shared();
        let door = shared.options.doors.mcp.clone().expect("a door");
        let mut watcher = Watcher::new(shared, &door, &Arc::default(), audience);
        service.shared().resource_updated("t://a");
        // JavaScript decides who may read it, and takes longer than the interval of keep-alives.
        assert!(watcher.next().now_or_never().is_none());
        let mut next = Box::pin(watcher.next());
        assert!(next.as_mut().now_or_never().is_none());
        let description = json!([{
            "id": "t.a", "type": "query", "description": "", "access": { "requiredScopes": [] },
            "mcp": { "resource": { "uri": "t://a" } },
        }]);
        while let Some(batch) = mailbox.take() {
            let items: Vec<Value> = serde_json::from_str(&batch.text).expect("a batch is JSON");
            for id in items.iter().filter_map(|item| item.get(1)?.as_str()) {
                js.respond(id, &description.to_string());
            }
        }
        let messages = timeout(Duration::from_secs(10), next).await;
        let messages = messages.expect("a notification").expect("more of them");
        let is_it = |message: &String| message.contains("notifications/resources/updated");
        assert!(messages.iter().any(is_it), "{messages:?}");
    }
}
