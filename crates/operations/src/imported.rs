//! Operations of other programs, kept in step with what these serve.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use operations_core::access::{AccessControl, Identity};
use operations_core::error::CallError;
use operations_core::json::Document;
use operations_core::lock::locked;
use operations_core::log::{Level, Logger};
use operations_core::registry::Handler;
use operations_core::spec::{DeclaredError, OperationType};
use operations_schema::Program;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::operation::Operation;
use crate::registry::{Collisions, Origin, Registry, compiled};

/// Calls that a program works on for others at a time.
pub(crate) const CONCURRENCY: usize = 256;
/// How long calls that are running may take when a connection is closed.
pub(crate) const DRAIN: Duration = Duration::from_secs(10);

/// Which operations of another program are taken over, and as what.
///
/// ```
/// use operations::{AccessControl, Import};
///
/// let import = Import::new()
///     .namespace("laptop")
///     .include(["files.*", "git.status"])
///     .access(AccessControl::scopes(["laptop"]));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "it does nothing by itself"]
pub struct Import {
    namespace: Option<String>,
    include: Option<Vec<String>>,
    exclude: Vec<String>,
    access: AccessControl,
    pub(crate) identity: Option<Identity>,
}

impl Import {
    /// All operations, under the names that they have there.
    pub fn new() -> Self {
        Self::default()
    }

    /// The namespace that they get here (default: their own).
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Takes these only: ids, or beginnings of ids with a `*` after them.
    pub fn include<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.include = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Leaves these out.
    pub fn exclude<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.exclude = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Who may call them here, beside the rules that hold there (default: everyone).
    pub fn access(mut self, rules: AccessControl) -> Self {
        self.access = rules;
        self
    }

    /// On whose behalf workers are asked what they serve: over NATS, each shows what this identity may call.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    fn chooses(&self, id: &str) -> bool {
        let fits = |each: &String| match each.strip_suffix('*') {
            Some(start) => id.starts_with(start),
            None => each == id,
        };
        let is_included = self.include.as_ref().is_none_or(|ids| ids.iter().any(fits));
        is_included && !self.exclude.iter().any(fits)
    }

    /// What the other side describes, as operations. Descriptions that are none are left out.
    pub(crate) fn operations(
        &self,
        found: &[Value],
        handler: &dyn Fn(&str) -> Arc<dyn Handler>,
    ) -> Vec<Operation> {
        let found = found.iter().filter(|each| is_description(each));
        found
            .filter_map(|each| {
                let text = |name: &str| each.get(name).and_then(Value::as_str);
                let (namespace, name) = (text("namespace")?, text("name")?);
                let id = format!("{namespace}.{name}");
                if !self.chooses(&id) {
                    return None;
                }
                let kind = serde_json::from_value(each.get("type")?.clone()).ok()?;
                let namespace = self.namespace.as_deref().unwrap_or(namespace);
                let schema = |name| usable_schema(each.get(name));
                let (input, output) = (schema("inputSchema"), schema("outputSchema"));
                let mut operation =
                    Operation::new(kind, namespace, name, input, output, handler(&id))
                        .description(
                            text("description")
                                .filter(|it| !it.is_empty())
                                .unwrap_or(name),
                        )
                        .version(text("version").unwrap_or("0.0.0"))
                        .access(self.access.clone());
                operation.about.title = text("title").map(ToOwned::to_owned);
                let list = |name: &str| {
                    each.get(name)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                };
                let tags = list("tags").filter_map(Value::as_str);
                operation.about.tags = tags.map(ToOwned::to_owned).collect();
                let errors = list("errorSchemas");
                operation.spec.errors = errors
                    .filter_map(|error| serde_json::from_value::<DeclaredError>(error.clone()).ok())
                    .collect();
                Some(operation)
            })
            .collect()
    }
}

/// A schema that another program has written. One that cannot be used lets everything pass: what is sent is checked there.
pub(crate) fn usable_schema(schema: Option<&Value>) -> Option<Value> {
    let schema = schema.filter(|schema| schema.is_object() || schema.is_boolean())?;
    compiled(schema).is_ok().then(|| schema.clone())
}

/// Whether this describes an operation. Names must not break a line, hide, or turn text around where they are shown.
fn is_description(given: &Value) -> bool {
    static SHAPE: LazyLock<Option<Arc<Program>>> = LazyLock::new(|| {
        let name = r"^[^\p{Cc}\p{Cf}\u2028\u2029]{1,256}$";
        let namespace = r"^[^.\p{Cc}\p{Cf}\u2028\u2029]{1,256}$";
        let types = [
            OperationType::Query,
            OperationType::Mutation,
            OperationType::Subscription,
        ];
        let shape = json!({
            "type": "object",
            "required": ["namespace", "name", "type"],
            "properties": {
                "namespace": { "type": "string", "pattern": namespace },
                "name": { "type": "string", "pattern": name },
                "type": { "enum": types },
            },
        });
        compiled(&shape).ok().flatten()
    });
    let document = Document::from(given);
    SHAPE
        .as_ref()
        .is_some_and(|shape| shape.check_json(Some(&document)).is_ok_and(|passes| passes))
}

/// The program, or programs, at the other end of a connection.
pub(crate) trait Remote: Send + Sync {
    /// What it is called in messages.
    fn name(&self) -> &'static str;
    /// Descriptions of what it serves.
    fn discover(&self, import: Import) -> BoxFuture<'static, Result<Vec<Value>, CallError>>;
    /// Calls one of its operations.
    fn handler(&self, operation_id: &str) -> Arc<dyn Handler>;
    /// Offers it the operations of a registry, but for those that were imported over this connection. Returns their ids there.
    fn offer(
        &self,
        registry: &Registry,
        connection: u64,
    ) -> BoxFuture<'static, Result<Vec<String>, CallError>>;
}

/// What was imported over one connection, and what is served over it.
pub(crate) struct Exchange {
    remote: Box<dyn Remote>,
    /// All imports over the connection have its number.
    connection: u64,
    followed: Mutex<Vec<Followed>>,
    serving: Mutex<Option<AbortOnDropHandle<()>>>,
    /// The other side may serve something else now.
    changed: Notify,
    logger: Logger,
}

#[derive(Clone)]
struct Followed {
    registry: Registry,
    import: Import,
    source: Origin,
}

impl Exchange {
    pub(crate) fn new(remote: impl Remote + 'static, logger: Logger) -> Arc<Self> {
        Arc::new(Self {
            remote: Box::new(remote),
            connection: Origin::new(None).connection,
            followed: Mutex::default(),
            serving: Mutex::default(),
            changed: Notify::new(),
            logger,
        })
    }

    /// Offers the operations of a registry, now and whenever they change.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        registry: &Registry,
    ) -> Result<Vec<String>, CallError> {
        let mut revision = registry.core.revision();
        let ids = self.remote.offer(registry, self.connection).await?;
        let (shared, registry) = (Arc::downgrade(self), registry.clone());
        let following = tokio::spawn(async move {
            while revision.changed().await.is_ok() {
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                if let Err(error) = shared.remote.offer(&registry, shared.connection).await {
                    let message = format!("Operations that have changed are not served: {error}");
                    shared.logger.log(Level::Error, "call", message, []);
                }
            }
        });
        *locked(&self.serving) = Some(AbortOnDropHandle::new(following));
        Ok(ids)
    }

    /// The other side may serve something else now.
    pub(crate) fn changed(&self) {
        self.changed.notify_one();
    }

    /// Registers operations of the other side, and follows it from then on.
    pub(crate) async fn import(
        &self,
        registry: &Registry,
        import: Import,
    ) -> Result<Vec<String>, CallError> {
        let followed = Followed {
            registry: registry.clone(),
            import,
            source: Origin::new(Some(self.connection)),
        };
        let ids = self.update(&followed, Collisions::Refuse).await?;
        locked(&self.followed).push(followed);
        Ok(ids)
    }

    async fn update(
        &self,
        followed: &Followed,
        collisions: Collisions,
    ) -> Result<Vec<String>, CallError> {
        let import = &followed.import;
        let found = self.remote.discover(import.clone()).await?;
        let operations = import.operations(&found, &|id| self.remote.handler(id));
        followed
            .registry
            .follow(followed.source, operations, collisions)
    }

    /// Repeats imports when the other side has changed, and every so often.
    pub(crate) fn follow(self: &Arc<Self>, every: Duration) -> AbortOnDropHandle<()> {
        let shared = Arc::clone(self);
        AbortOnDropHandle::new(tokio::spawn(async move { shared.follow_on(every).await }))
    }

    async fn follow_on(&self, every: Duration) {
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep(every) => {}
            }
            let all = locked(&self.followed).clone();
            for followed in &all {
                if let Err(error) = self.update(followed, Collisions::LeaveOut).await {
                    let name = self.remote.name();
                    let message =
                        format!("Failed to import the operations of {name} again: {error}");
                    self.logger.log(Level::Warning, "call", message, []);
                }
            }
        }
    }

    /// Nothing is served any more.
    pub(crate) fn withdraw(&self) {
        locked(&self.serving).take();
    }

    /// Removes what was imported.
    pub(crate) fn end(&self) {
        self.withdraw();
        for followed in locked(&self.followed).drain(..) {
            let Followed {
                registry, source, ..
            } = followed;
            // An empty list has nothing to collide with.
            let _ = registry.follow(source, Vec::new(), Collisions::LeaveOut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_program_describes_is_taken_only_if_it_can_be_shown_and_called() {
        let named = |namespace: &str, name: &str| json!({ "namespace": namespace, "name": name, "type": "query" });
        assert!(is_description(&named("a", "b.c")));
        assert!(is_description(&named("ä ß", &"x".repeat(256))));
        for (namespace, name) in [
            ("", "b"),
            ("a", ""),
            ("a.b", "c"),
            ("a", "b\nc"),
            ("a", "\u{202e}b"),
        ] {
            assert!(
                !is_description(&named(namespace, name)),
                "{namespace} {name}"
            );
        }
        assert!(!is_description(&named("a", &"x".repeat(257))));
        assert!(!is_description(
            &json!({ "namespace": "a", "name": "b", "type": "other" })
        ));
        assert!(!is_description(&json!(["a", "b", "query"])));
    }
}
