//! The calls and streams of one imported document.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use indexmap::IndexMap;
use operations_core::error::CallError;
use operations_core::lock::locked;
use operations_core::registry::Target;
use operations_spill::SpillStore;
use reqwest::Response;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::drive::{StreamReader, advance, now};
use super::oauth::{OAuth, OAuthSurroundings};
use super::passing::{Called, PASSED_ON, Passing};
use super::pool::{Pool, certificates};
use super::settings::ServiceSettings;
use crate::machine::{About, Input, Machine, Output};
use crate::message::{
    BaseUrl, CallInput, Failure, HttpOperation, JsonForm, Outgoing, Reach, Reply, Request,
    RequestPlan, ResponseKind, Secret, Settings, redact_url, request, resolve_server, served,
};

/// A text that was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// The text.
    pub text: String,
    /// Where it came from in the end, after redirects.
    pub url: String,
}

/// The requests of one imported document.
#[derive(Debug)]
pub struct Service {
    settings: ServiceSettings,
    document_url: Option<Url>,
    reach: Arc<Reach>,
    pub(super) pool: Arc<Pool>,
    pub(super) oauth: Option<Arc<OAuth>>,
    /// Ends everything that is in flight. A new one takes its place when the service is closed.
    in_flight: Mutex<CancellationToken>,
}

impl Service {
    /// A service. Nothing is opened before the first call.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when a text in `ca` holds no certificate.
    pub fn new(
        mut settings: ServiceSettings,
        document_url: Option<String>,
        surroundings: OAuthSurroundings,
    ) -> Result<Self, CallError> {
        let ca = std::mem::take(&mut settings.ca);
        certificates(&ca)?;
        let document_url = document_url.and_then(|url| Url::parse(&url).ok());
        if let Some(url) = &document_url {
            settings.reach.name(url);
        }
        let reach = Arc::new(std::mem::take(&mut settings.reach));
        let pool = Arc::new(Pool::new(ca, Arc::clone(&reach)));
        let base_url = settings.base_url.as_ref().map(BaseUrl::url).cloned();
        let oauth = settings.oauth.take().map(|oauth| {
            OAuth::new(
                settings.namespace.clone(),
                oauth,
                surroundings,
                (base_url, document_url.clone()),
                Arc::clone(&pool),
                Arc::clone(&reach),
            )
        });
        Ok(Self {
            oauth: oauth.transpose()?.map(Arc::new),
            settings,
            document_url,
            pool,
            reach,
            in_flight: Mutex::default(),
        })
    }

    /// Asks a person for a token, and stores it. Where `is_device` says so, with a code for another device.
    ///
    /// # Errors
    /// When the service gets no tokens itself, or the person does not want to.
    pub async fn login(
        &self,
        is_device: bool,
        cancel: &CancellationToken,
    ) -> Result<(), CallError> {
        let oauth = self.oauth.as_ref().ok_or_else(|| {
            CallError::invalid("There is nothing to log in to: `auth` is not of type \"oauth2\"")
        })?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CallError::failed("The login was aborted")),
            ended = oauth.login(is_device) => ended,
        }
    }

    /// Ends what is in flight and lets connections go. A later call makes new ones.
    pub fn close(&self) {
        let mut in_flight = locked(&self.in_flight);
        in_flight.cancel();
        *in_flight = CancellationToken::new();
        drop(in_flight);
        self.pool.clear();
    }

    /// A token for one call or stream, which is cancelled when the service is closed.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        let in_flight = locked(&self.in_flight);
        in_flight.child_token()
    }

    /// Makes a call. With `spills`, a body that is too large goes to a file there.
    ///
    /// # Errors
    /// As the contract says: bad input, no answer, a status outside 2XX, too late, aborted. Also when the file
    /// cannot be written, or the quota is used up.
    pub async fn call(
        &self,
        operation: &HttpOperation,
        input: CallInput,
        cancel: &CancellationToken,
        spills: Option<&Arc<SpillStore>>,
        form: JsonForm,
    ) -> Result<Reply, Failure> {
        let machine = self.call_machine(operation, input, now())?;
        let over = spills.map(|store| store.over());
        let mut machine = machine.spilling_over(over).with_json(form);
        self.run(&mut machine, cancel, spills).await
    }

    /// Makes a call whose binary data is forwarded chunk by chunk, as it comes.
    ///
    /// # Errors
    /// As [`Service::call`].
    pub(super) async fn call_or_pass(
        &self,
        operation: &HttpOperation,
        input: CallInput,
        cancel: &CancellationToken,
    ) -> Result<Called, Failure> {
        let machine = self.call_machine(operation, input, now())?;
        let machine = machine.passing_over(PASSED_ON);
        let mut machine = machine.with_json(JsonForm::Document);
        let mut response = None;
        let outcome = self.drive(&mut machine, &mut response, cancel, None).await;
        match (machine.passed_on(), response) {
            (Some((head, start)), Some(response)) => Ok(Called::Passing(Passing {
                head,
                start,
                response,
                patience: self.settings.rules.timeout,
                most: self.settings.rules.max_response_bytes,
                closed: self.token(),
            })),
            _ => outcome.map(Called::Reply),
        }
    }

    /// The reader of a stream, which opens it when it is first read. To drop it is to end the stream.
    ///
    /// # Errors
    /// When there is no request to be made of the input.
    pub fn reader(
        self: &Arc<Self>,
        operation: &HttpOperation,
        input: CallInput,
    ) -> Result<StreamReader, Failure> {
        let machine = self.stream_machine(operation, input, now())?;
        Ok(StreamReader::new(Arc::clone(self), machine))
    }

    /// Fetches a text that is no operation: a document.
    ///
    /// # Errors
    /// As [`Service::call`].
    pub async fn fetch(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        with_auth: bool,
        cancel: &CancellationToken,
    ) -> Result<Fetched, Failure> {
        let mut machine = self.fetch_machine(url, headers, with_auth, now())?;
        let reply = self.run(&mut machine, cancel, None).await?;
        Ok(Fetched {
            text: reply.into_text(),
            url: machine.outgoing().request().url.to_string(),
        })
    }

    async fn run(
        &self,
        machine: &mut Machine,
        cancel: &CancellationToken,
        spills: Option<&Arc<SpillStore>>,
    ) -> Result<Reply, Failure> {
        self.drive(machine, &mut None, cancel, spills).await
    }

    /// The same. `response` is the one that is open in the end.
    async fn drive(
        &self,
        machine: &mut Machine,
        response: &mut Option<Response>,
        cancel: &CancellationToken,
        spills: Option<&Arc<SpillStore>>,
    ) -> Result<Reply, Failure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                machine.handle(Input::Cancel, now());
            }
            () = advance(machine, response, self, spills) => {}
        }
        match machine.take() {
            Some(Output::Reply(reply)) => Ok(reply),
            Some(Output::Failed(failure)) => Err(failure),
            Some(Output::Item(_) | Output::End) | None => {
                Err(CallError::failed("The request ended without an answer").into())
            }
        }
    }

    /// A call, for a driver that has a network.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the input or the base URL cannot be used.
    pub fn call_machine(
        &self,
        operation: &HttpOperation,
        input: CallInput,
        now: Instant,
    ) -> Result<Machine, CallError> {
        let caller_token = input.outgoing.caller_token.clone();
        let (request, secrets) = self.build(operation, input)?;
        let machine = Machine::call(request, secrets, self.settings.rules, now);
        let machine = machine.of_service(&self.reach, self.about(operation));
        Ok(machine.wanting_token(self.oauth.is_some(), caller_token))
    }

    /// A stream, for a driver that has a network.
    ///
    /// # Errors
    /// As [`Service::call_machine`].
    pub fn stream_machine(
        &self,
        operation: &HttpOperation,
        input: CallInput,
        now: Instant,
    ) -> Result<Machine, CallError> {
        let caller_token = input.outgoing.caller_token.clone();
        let (request, secrets) = self.build(operation, input)?;
        let machine = Machine::stream(
            request,
            secrets,
            self.settings.rules,
            operation.response,
            &self.settings.last_event_id,
            now,
        );
        let machine = machine.of_service(&self.reach, self.about(operation));
        Ok(machine.wanting_token(self.oauth.is_some(), caller_token))
    }

    /// The URL that a request goes to, for those who watch: without secrets, as far as they can be known.
    ///
    /// # Errors
    /// As [`Service::call_machine`].
    pub fn target(
        &self,
        operation: &HttpOperation,
        mut input: CallInput,
    ) -> Result<Option<String>, CallError> {
        let target = Target::default();
        input.outgoing.target = Some(target.clone());
        self.build(operation, input)?;
        Ok(target.get().map(str::to_owned))
    }

    /// The `GET` of a document, for a driver that has a network.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the URL or a header cannot be used.
    pub fn fetch_machine(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        with_auth: bool,
        now: Instant,
    ) -> Result<Machine, CallError> {
        let base_url = BaseUrl::parse(url)?;
        // The user named the document's own URL.
        let mut reach = Reach::clone(&self.reach);
        reach.name(base_url.url());
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
        let secrets = settings.secrets();
        let machine = Machine::call(request, secrets, self.settings.rules, now);
        let machine = machine.of_service(&Arc::new(reach), None);
        Ok(machine.wanting_token(with_auth && self.oauth.is_some(), None))
    }

    fn about(&self, operation: &HttpOperation) -> Option<About> {
        (!operation.name.is_empty()).then(|| About {
            operation_id: format!(
                "{}.{}",
                operation
                    .namespace
                    .as_deref()
                    .unwrap_or(&self.settings.namespace),
                operation.name
            ),
            path: operation.request.path.clone(),
            // Without a body of a success, the types are those of errors.
            types: match operation.response {
                ResponseKind::Empty => Vec::new(),
                _ => operation.request.accept.clone(),
            },
            statuses: operation.request.statuses.clone(),
            int64: operation.int64.clone(),
            is_served: operation.is_served,
        })
    }

    /// The request of an operation, and what must not be shown about it.
    fn build(
        &self,
        operation: &HttpOperation,
        input: CallInput,
    ) -> Result<(Request, Vec<Secret>), CallError> {
        let resolved;
        let base_url = if let Some(base_url) = &self.settings.base_url {
            base_url
        } else {
            let server = operation.servers.first().cloned().unwrap_or_default();
            let text = resolve_server(&server, self.document_url.as_ref())?;
            resolved = BaseUrl::parse(&text)?;
            &resolved
        };
        self.reach.check(base_url.url())?;
        let Outgoing {
            headers,
            service_headers,
            auth,
            target,
            caller_token: _,
        } = &input.outgoing;
        let settings = Settings {
            base_url,
            default_headers: service_headers.as_ref().unwrap_or(&self.settings.headers),
            call_headers: headers,
            auth: auth.as_ref().or(self.settings.auth.as_ref()),
        };
        let has_credentials = self.oauth.is_some() || settings.has_credentials();
        if self.settings.base_url.is_none() && has_credentials {
            self.check_trust(base_url.url())?;
        }
        let secrets = settings.secrets();
        let request = if operation.response.is_stream() {
            request::build(&stream_plan(operation), input.values, &settings)?
        } else {
            request::build(&operation.request, input.values, &settings)?
        };
        if let Some(target) = target {
            target.say(|| redact_url(&request.url, base_url, &secrets));
        }
        Ok((request, secrets))
    }
}

impl Service {
    /// Whether credentials may go to a server that a document names. The author of the document could have them sent
    /// anywhere.
    fn check_trust(&self, server: &Url) -> Result<(), CallError> {
        let from = self.document_url.as_ref();
        if from.is_some_and(|url| url.origin() == server.origin()) || self.reach.lists(server) {
            return Ok(());
        }
        let host = server.host_str().unwrap_or_default();
        Err(CallError::invalid(format!(
            "`auth` is not sent to {host}, which only the document names. Set `baseUrl`, or list the host in `hosts`"
        )))
    }
}

/// A stream asks for the stream only: a server that also has JSON must not choose that.
fn stream_plan(operation: &HttpOperation) -> RequestPlan {
    let mut plan = operation.request.clone();
    plan.accept.retain(|media_type| {
        ResponseKind::of_media_type(media_type) == operation.response
            || (operation.is_served && media_type == served::ENVELOPE)
    });
    plan
}
