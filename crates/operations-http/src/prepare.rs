//! The requests of a service, built.

use crate::message::{BaseUrl, Request, RequestPlan, Secret, Settings, request, resolve_server};
use crate::message::{HttpOperation, ResponseKind};
use indexmap::IndexMap;
use operations_core::error::CallError;

use crate::service::{CallInput, Service};

impl Service {
    /// Builds the request of a call, and names what must not be shown about it.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the input or the base URL cannot be used.
    pub fn prepare(
        &self,
        operation: &HttpOperation,
        input: CallInput,
    ) -> Result<(Request, Vec<Secret>), CallError> {
        let resolved;
        let base_url = if let Some(base_url) = &self.settings.base_url {
            base_url
        } else {
            let server = operation.servers.first().cloned().unwrap_or_default();
            let text = resolve_server(&server, self.document_url.as_deref())?;
            resolved = BaseUrl::parse(&text)?;
            &resolved
        };
        let settings = Settings {
            base_url,
            default_headers: &self.settings.headers,
            call_headers: &input.headers,
            auth: self.settings.auth.as_ref(),
        };
        let secrets = settings.secrets();
        let plan = &operation.request;
        let request = if operation.response.is_stream() {
            request::build(&stream_plan(operation), input.values, &settings)?
        } else {
            request::build(plan, input.values, &settings)?
        };
        Ok((request, secrets))
    }

    /// Builds a `GET` that is no operation.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the URL or a header is none.
    pub fn prepare_fetch(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        with_auth: bool,
    ) -> Result<(Request, Vec<Secret>), CallError> {
        let base_url = BaseUrl::parse(url)?;
        let settings = Settings {
            base_url: &base_url,
            default_headers: &[],
            call_headers: headers,
            auth: self.settings.auth.as_ref().filter(|_| with_auth),
        };
        let plan = RequestPlan {
            method: "GET".to_owned(),
            ..RequestPlan::default()
        };
        let request = request::build(&plan, IndexMap::new(), &settings)?;
        Ok((request, settings.secrets()))
    }
}

/// A stream asks for the stream only: a server that also has JSON must not choose that.
fn stream_plan(operation: &HttpOperation) -> RequestPlan {
    let mut plan = operation.request.clone();
    plan.accept
        .retain(|media_type| ResponseKind::of_media_type(media_type) == operation.response);
    plan
}
