//! Operations of OpenAPI documents.

use std::fmt;
use std::sync::Arc;

use operations_core::access::AccessControl;
use operations_core::error::CallError;
use operations_http::{DocumentOAuth, HttpHandler, OAuthSurroundings, Service, ServiceSettings};
use operations_openapi::{Document, ImportChoices, import};
use serde_json::{Map, Value, json};

use crate::operation::Operation;
use crate::registry::Registry;

/// An OpenAPI or Swagger document whose operations are to be registered.
///
/// ```
/// use operations::{OpenApi, Registry};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), operations::CallError> {
/// let document = r#"{
///     "openapi": "3.1.0", "info": { "title": "Pets", "version": "1.0.0" },
///     "paths": { "/pets": { "get": { "operationId": "listPets", "responses": { "200": { "description": "Pets" } } } } }
/// }"#;
/// let registry = Registry::new();
/// let pets = OpenApi::text("pets", document).base_url("https://pets.example.com");
/// assert_eq!(pets.import(&registry).await?, ["pets.listPets"]);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is registered before import"]
pub struct OpenApi {
    namespace: String,
    document: String,
    is_url: bool,
    settings: Map<String, Value>,
    headers: Map<String, Value>,
    choices: ImportChoices,
    access: AccessControl,
}

impl fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenApi")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl OpenApi {
    /// A document as JSON or YAML.
    pub fn text(namespace: impl Into<String>, document: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            document: document.into(),
            is_url: false,
            settings: Map::new(),
            headers: Map::new(),
            choices: ImportChoices::default(),
            access: AccessControl::default(),
        }
    }

    /// A document that is read from a URL.
    pub fn url(namespace: impl Into<String>, url: impl Into<String>) -> Self {
        let mut document = Self::text(namespace, url);
        document.is_url = true;
        document
    }

    /// Where the service is, where the document does not say, or says something else.
    pub fn base_url(self, url: impl Into<String>) -> Self {
        self.setting("baseUrl", url.into().into())
    }

    /// Sends `Authorization: Bearer <token>` with every call.
    pub fn bearer(self, token: impl Into<String>) -> Self {
        let auth = json!({ "type": "bearer", "token": token.into() });
        self.setting("auth", auth)
    }

    /// Sends a header with every call.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into().into());
        self
    }

    /// Imports these only: names of operations, tags, or paths with `*` and `**`.
    pub fn include<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.choices.include = Some(words.into_iter().map(Into::into).collect());
        self
    }

    /// Who may call the operations. Without rules, every caller may.
    pub fn access(mut self, rules: AccessControl) -> Self {
        self.access = rules;
        self
    }

    fn setting(mut self, name: &str, value: Value) -> Self {
        self.settings.insert(name.to_owned(), value);
        self
    }

    /// Registers the operations of the document, and returns their ids. What the document describes wrongly is left out.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when the document or a setting cannot be used, and what reading the URL may fail with.
    pub async fn import(self, registry: &Registry) -> Result<Vec<String>, CallError> {
        let mut settings = self.settings;
        settings.insert("namespace".to_owned(), self.namespace.as_str().into());
        settings.insert("headers".to_owned(), self.headers.into());
        let settings = Value::Object(settings).to_string();
        let service = |url, document| {
            let surroundings = OAuthSurroundings {
                document,
                callbacks: None,
            };
            Service::new(ServiceSettings::from_json(&settings)?, url, surroundings)
        };
        let (text, url) = if self.is_url {
            let reader = service(Some(self.document.clone()), DocumentOAuth::default())?;
            let cancel = reader.token();
            let fetched = reader.fetch(&self.document, &[], false, &cancel);
            let fetched = fetched.await.map_err(|failure| *failure.error)?;
            (fetched.text, Some(fetched.url))
        } else {
            (self.document, None)
        };
        let document = Document::parse_at(text, url.as_deref().unwrap_or_default())?;
        let service = Arc::new(service(url, document.oauth())?);
        let mut ids = Vec::new();
        for imported in import(&document, &self.choices).operations {
            let handler = HttpHandler {
                service: Arc::clone(&service),
                operation: Arc::clone(&imported.http),
                is_host_sending: Arc::default(),
                spills: None,
            };
            let mut operation = Operation::new(
                imported.operation_type,
                &self.namespace,
                &imported.name,
                Some(imported.input_schema()?),
                Some(imported.output_schema()?),
                Arc::new(handler),
            )
            .description(&imported.description)
            .access(self.access.clone())
            .version(&imported.version);
            operation.about.title.clone_from(&imported.summary);
            operation.about.tags.clone_from(&imported.tags);
            operation.about.deprecated = imported.deprecated;
            operation.about.request = serde_json::to_value(&imported.http.request).ok();
            ids.push(operation.id());
            registry.register(operation)?;
        }
        Ok(ids)
    }
}
