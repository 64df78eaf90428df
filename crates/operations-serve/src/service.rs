//! One service for every request, from a listener or from JavaScript: where it may come from, and which door it is for.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, EXPECT, ORIGIN, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use operations_core::byte_budget::{ByteBudget, Held, exhausted};
use operations_core::clock;
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::log::{Level, Logger};
use operations_core::registry::Registry;
use operations_core::trace::Parent;
use operations_spill::Ledger;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::access_log::{AccessLine, CallerId};
use crate::body::{self, Body, BodyError, Incoming};
use crate::call::Calls;
use crate::challenge::{self, InvalidToken, OAuth};
use crate::cors::Cors;
use crate::description_cache::Cached;
use crate::door;
use crate::door::http::problem;
use crate::failure;
use crate::identity::{Caller, Identities, Unknown, identity_deadline, not_valid};
use crate::js_bridge::JsBridge;
use crate::options::Options;
use crate::origin_check::{Disallowed, OriginCheck};
use crate::progress::Responses;
use crate::ready;
use crate::spilled::Downloads;
use crate::stats::Stats;
use crate::upstream::AllowedHeaders;

/// The call was ended without an answer, and so is its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call was aborted")
    }
}

impl std::error::Error for Closed {}

/// What a door gives.
pub type Answered = Result<Response<Body>, Closed>;

/// What a request and its door share with all others.
#[derive(Debug)]
pub struct Shared {
    /// How the registry is served.
    pub options: Options,
    /// The operations.
    pub calls: Calls,
    /// What was counted.
    pub stats: Stats,
    /// Bytes that are held for clients.
    pub bytes: Arc<ByteBudget>,
    /// Where log lines go.
    pub logger: Logger,
    /// Cancelled when the server is to end: streams end then, calls may go on for a while.
    pub closing: CancellationToken,
    allowed: OriginCheck,
    /// Who hands out tokens: as configured, or the issuers of `jwt`.
    oauth: OnceLock<OAuth>,
    pub(crate) identities: Identities,
    /// For what the registry cannot do.
    pub(crate) js: Arc<JsBridge>,
    pub(crate) mcp: door::mcp::State,
    pub(crate) http: Cached<door::http::Routes>,
    /// Results in files that clients may read.
    pub(crate) downloads: Downloads,
    /// The peers that are connected to the hub.
    pub hub: door::hub::State,
    explorer: door::explorer::Pages,
    /// Where a listener is open.
    url: OnceLock<String>,
}

/// A request on its way through a door.
#[derive(Debug)]
pub struct Exchange {
    /// Everything but the body.
    pub head: Parts,
    /// The body, of which nothing was read yet.
    pub body: Body,
    /// The name of the request.
    pub request_id: Arc<str>,
    /// Who sent it.
    pub caller: Arc<Caller>,
    /// The budget share that counts the body.
    pub held: Arc<Held>,
    /// Unix milliseconds: when the work must be done.
    pub deadline: Option<f64>,
}

/// The service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Service {
    shared: Arc<Shared>,
    /// Those of the connection that it answers.
    responses: Option<Responses>,
    /// Where it comes from.
    peer: Option<IpAddr>,
}

impl Service {
    /// Serves the operations of a registry. Results in files of `spilled` are handed out.
    ///
    /// # Errors
    ///
    /// When the options hold what is no identity.
    pub fn new(
        options: Options,
        registry: Arc<Registry>,
        js: Arc<JsBridge>,
        logger: Logger,
        spilled: Arc<Ledger>,
    ) -> Result<Self, CallError> {
        let allowed = OriginCheck::new(
            options.allowed_hosts.clone(),
            options.allowed_origins.clone(),
        );
        let headers = AllowedHeaders::new(&options.response_headers);
        Ok(Self {
            responses: None,
            peer: None,
            shared: Arc::new(Shared {
                calls: Calls::new(registry, Arc::clone(&js), &options.limits, headers),
                stats: Stats::default(),
                bytes: ByteBudget::new(options.max_buffered_bytes),
                logger,
                closing: CancellationToken::new(),
                allowed,
                oauth: options
                    .oauth
                    .clone()
                    .map(OnceLock::from)
                    .unwrap_or_default(),
                identities: Identities::new(&options.identity)?,
                js,
                mcp: door::mcp::State::new(options.doors.mcp.as_ref())?,
                http: Cached::default(),
                downloads: Downloads::new(spilled),
                hub: door::hub::State::default(),
                explorer: door::explorer::Pages::new(options.doors.explorer.as_ref()),
                url: OnceLock::new(),
                options,
            }),
        })
    }

    /// What all requests share.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The same for one connection with a peer, whose responses are watched.
    #[must_use]
    pub fn of_connection(&self, responses: Responses, peer: Option<IpAddr>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            responses: Some(responses),
            peer,
        }
    }

    /// Answers a request. Dropping this ends the work on it.
    ///
    /// # Errors
    ///
    /// When there is no answer, and the connection is to be closed.
    pub async fn handle(&self, request: Request<Body>) -> Answered {
        let shared = &self.shared;
        let _counted = shared.stats.request();
        let (head, body) = request.into_parts();
        let request_id = request_id(&head);
        let mut line =
            (shared.options.access_log).then(|| AccessLine::new(shared, &head, &request_id));
        let work =
            AssertUnwindSafe(shared.route(head, body, &request_id, self.peer)).catch_unwind();
        let answer = work.await.unwrap_or_else(|payload| {
            let error = CallError::from_panic(&*payload);
            shared.log_failure(&request_id, &error);
            Ok(problem::of(
                &failure::masked(error, false),
                StatusCode::INTERNAL_SERVER_ERROR,
                &request_id,
            ))
        })?;
        let (head, body) = answer.into_parts();
        let mut answer = match body.outgoing(&shared.bytes, self.responses.as_ref()) {
            Ok(body) => Response::from_parts(head, body),
            Err(_) => without_body(head, overloaded(&exhausted("unknown"), &request_id)),
        };
        shared.stats.answered(answer.status());
        if let Some(line) = &mut line {
            line.answered(&answer);
        }
        if let Ok(value) = HeaderValue::from_str(&request_id) {
            answer.headers_mut().insert("x-request-id", value);
        }
        Ok(answer)
    }
}

impl Shared {
    async fn route(
        self: &Arc<Self>,
        head: Parts,
        body: Body,
        request_id: &Arc<str>,
        peer: Option<IpAddr>,
    ) -> Answered {
        // A process monitor may not know its name.
        let is_ready = head.uri.path() == "/ready";
        if is_ready || head.uri.path() == "/health" {
            let allowed = [Method::GET, Method::HEAD];
            return Ok(if !allowed.contains(&head.method) {
                problem::wrong_method_of(&allowed, request_id)
            } else if is_ready {
                ready::answer(self, &head).await
            } else {
                self.health()
            });
        }
        if let Err(stranger) = self.allowed.check(&head) {
            let page = self.linked_page(&head, stranger, request_id);
            return Ok(page.unwrap_or_else(|| refused(stranger, request_id)));
        }
        let Some(cors) = &self.options.cors else {
            return self.admit(head, body, request_id, peer).await;
        };
        let origin = head.headers.get(ORIGIN).cloned();
        let mut response = match Cors::preflight(&head) {
            Some(response) => response,
            None => self.admit(head, body, request_id, peer).await?,
        };
        if let Some(origin) = origin {
            cors.add(&mut response, &origin);
        }
        Ok(response)
    }

    /// A link on any page may lead to the explorer, whose files show nothing by themselves.
    fn linked_page(
        &self,
        head: &Parts,
        stranger: Disallowed,
        request_id: &str,
    ) -> Option<Response<Body>> {
        let mode = head.headers.get("sec-fetch-mode");
        let is_link = stranger == Disallowed::Origin
            && !head.headers.contains_key(ORIGIN)
            && mode.is_some_and(|mode| mode == "navigate");
        let door = self.options.doors.explorer.as_ref().filter(|_| is_link)?;
        self.explorer.answer(door, head, request_id)
    }

    /// Identifies the caller, and passes the request to its door.
    async fn admit(
        self: &Arc<Self>,
        mut head: Parts,
        body: Body,
        request_id: &Arc<str>,
        peer: Option<IpAddr>,
    ) -> Answered {
        if let Some(hub) = &self.options.doors.hub
            && hub.path == head.uri.path()
        {
            door::hub::upgrade::show_token(&mut head.headers);
        }
        let oauth = self.oauth.get();
        if let Some(metadata) = oauth.and_then(|oauth| oauth.metadata(head.uri.path())) {
            return Ok(metadata);
        }
        if let Some(door) = &self.options.doors.explorer
            && let Some(page) = self.explorer.answer(door, &head, request_id)
        {
            return Ok(page);
        }
        let deadline = self.deadline(&head);
        // Even where calls have no deadline, identification has one.
        let until = deadline.unwrap_or_else(identity_deadline);
        let caller = match self.identities.of(&head, &self.js, until).await {
            Ok(caller) => caller,
            Err(unknown) => return Ok(self.unknown(unknown, request_id)),
        };
        let caller = if self.calls.wants_caller_tokens() {
            caller.with_token(&head.headers)
        } else {
            caller
        };
        let is_metrics = head.uri.path() == "/metrics";
        if caller.identity.is_none() && self.requires_identity(is_metrics) {
            let mut response = identity_required(request_id);
            challenge::add(&mut response, oauth);
            return Ok(response);
        }
        if is_metrics {
            return Ok(self.metrics_for(&caller).await);
        }
        let share = self.bytes.share(&key_of(&caller, peer));
        if share.is_exhausted() {
            return Ok(overloaded(&exhausted("none"), request_id));
        }
        let path = head.uri.path().to_owned();
        let id = caller.identity.as_ref().map(|identity| identity.id.clone());
        let expires = caller.expires;
        // Until there is a response: the body waits, or is worked on.
        let reserved = Arc::new(share.hold());
        let exchange = Exchange {
            head,
            body: body.incoming(Arc::clone(&reserved)),
            request_id: Arc::clone(request_id),
            caller,
            held: Arc::clone(&reserved),
            deadline,
        };
        let mut response = self.through_door(exchange, &path).await?;
        response.body_mut().belongs_to(share);
        if let Some(expires) = expires.filter(|_| is_event_stream(&response)) {
            response.body_mut().end_at(expires);
        }
        challenge::add(&mut response, oauth);
        if let Some(id) = id.filter(|_| self.options.access_log) {
            response.extensions_mut().insert(CallerId(id));
        }
        Ok(response)
    }

    /// The futures of doors are boxed: they are large, and would be moved with every future around them.
    async fn through_door(self: &Arc<Self>, exchange: Exchange, path: &str) -> Answered {
        if body::is_encoded(&exchange.head.headers) {
            return Ok(problem::encoded(&exchange.request_id));
        }
        if let Some(door) = &self.options.doors.explorer
            && door::explorer::is_listing(door, path)
        {
            return Box::pin(door::explorer::serve(self, door, exchange)).await;
        }
        if let Some(door) = &self.options.doors.http
            && let Some(rest) = below(&door.path, path)
        {
            return Box::pin(door::http::serve(self, door, exchange, rest)).await;
        }
        let doors = &self.options.doors;
        let mut mcp = doors.mcp.iter().chain(&doors.mcp_views);
        if let Some(door) = mcp.find(|door| door.path == path) {
            return Box::pin(door::mcp::serve(self, door, exchange)).await;
        }
        if let Some(door) = &self.options.doors.hub
            && door.path == path
        {
            return Ok(door::hub::serve(self, door, exchange));
        }
        Ok(problem::not_found(&exchange.request_id))
    }

    /// When the work must be done: after the server's own time, or a shorter one that the client asks for
    /// (`Prefer: wait=10`, RFC 7240).
    fn deadline(&self, head: &Parts) -> Option<f64> {
        let asked = head
            .headers
            .get_all("prefer")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split([',', ';']))
            .find_map(|preference| {
                let seconds = preference.trim().strip_prefix("wait=")?;
                seconds.parse::<u32>().ok()
            })
            .map(|seconds| Duration::from_secs(seconds.into()));
        let timeout = match (self.options.timeout, asked) {
            (Some(own), Some(asked)) => Some(own.min(asked)),
            (own, asked) => own.or(asked),
        };
        // Whole milliseconds, as JavaScript counts them.
        timeout.map(|timeout| (clock::now() + timeout.as_secs_f64() * 1_000.0).ceil())
    }

    fn unknown(&self, unknown: Unknown, request_id: &str) -> Response<Body> {
        let mut response = match unknown {
            Unknown::Refused(why) => {
                let properties = [("requestId", json!(request_id))];
                self.logger.log(Level::Info, "serve", why, properties);
                return self.unknown(Unknown::Invalid(not_valid()), request_id);
            }
            Unknown::Unavailable(why) => {
                self.log_failure(request_id, &CallError::failed(why));
                let shown = CallError::failed("The caller could not be identified now")
                    .with_details(json!({ "delivery": "none" }));
                let status = StatusCode::SERVICE_UNAVAILABLE;
                let mut response = problem::of(&shown, status, request_id);
                let wait = HeaderValue::from_static("5");
                response.headers_mut().insert(RETRY_AFTER, wait);
                response
            }
            Unknown::Invalid(error) => {
                let mut response = problem::of(&error, StatusCode::UNAUTHORIZED, request_id);
                response.extensions_mut().insert(InvalidToken);
                response
            }
            Unknown::Failed(error) => {
                self.log_failure(request_id, &error);
                let status = if error.is(InfrastructureErrorCode::Timeout) {
                    StatusCode::GATEWAY_TIMEOUT
                } else if failure::refused(&error).is_some() {
                    StatusCode::SERVICE_UNAVAILABLE
                } else {
                    StatusCode::INTERNAL_SERVER_ERROR
                };
                let message = "The caller could not be identified";
                let shown = CallError::new(error.code, message);
                problem::of(&shown, status, request_id)
            }
        };
        challenge::add(&mut response, self.oauth.get());
        response
    }

    /// A resource has changed: its subscribers are notified.
    pub fn resource_updated(&self, uri: &str) {
        self.mcp.resource_updated(uri);
    }

    fn health(&self) -> Response<Body> {
        let (status, word) = if self.closing.is_cancelled() {
            (StatusCode::SERVICE_UNAVAILABLE, "closing")
        } else {
            (StatusCode::OK, "ok")
        };
        let mut response = Response::new(body::full(json!({ "status": word }).to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Counters require an identity where identities are configured.
    pub(crate) fn may_read_metrics(&self, caller: &Caller) -> bool {
        caller.identity.is_some() || !self.requires_identity(true)
    }

    /// Whether callers without an identity are refused. `anonymous` opens the doors, but never what only operators need.
    pub(crate) fn requires_identity(&self, is_for_operators: bool) -> bool {
        self.identities.is_configured() && (is_for_operators || !self.options.identity.anonymous)
    }

    /// Whether a request may read what only operators need.
    pub(crate) async fn is_operator(&self, head: &Parts) -> bool {
        if self.allowed.check(head).is_err() {
            return false;
        }
        if !self.requires_identity(true) {
            return true;
        }
        let caller = self.identities.of(head, &self.js, identity_deadline());
        let caller = caller.await;
        caller.is_ok_and(|caller| caller.identity.is_some())
    }

    /// A listener is open at this URL, which is the protected resource where the configuration names none.
    pub(crate) fn listens_at(&self, url: String) {
        self.url.get_or_init(|| url.clone());
        let issuers = self.options.identity.jwt.iter();
        let authorization_servers: Vec<String> = issuers.map(|jwt| jwt.issuer.clone()).collect();
        if !authorization_servers.is_empty() {
            self.oauth.get_or_init(|| OAuth {
                resource: url,
                authorization_servers,
                scopes: None,
            });
        }
    }

    /// The address of the explorer for people elsewhere, where one is served.
    pub(crate) fn explorer_url(&self) -> Option<String> {
        let door = self.options.doors.explorer.as_ref()?;
        let origin = match self.oauth.get() {
            Some(oauth) => oauth.origin(),
            None => self.url.get()?,
        };
        Some(format!("{origin}{}/", door.path.trim_end_matches('/')))
    }

    /// What an operator should know about a listener on this address.
    #[must_use]
    pub fn listener_warnings(&self, address: SocketAddr) -> Vec<String> {
        let mut warnings = Vec::new();
        let shown = match address.port() {
            0 => address.ip().to_string(),
            _ => address.to_string(),
        };
        if !address.ip().is_loopback()
            && !self.identities.is_configured()
            && !self.options.identity.anonymous
        {
            warnings.push(format!(
                "Everyone who can reach {shown} may call every open operation: nothing says who callers are. Set tokens, \
                 jwt or identify, or anonymous: true if this is intended"
            ));
        }
        if !self.allowed.allows_address(address) {
            warnings.push(format!(
                "The server listens on {shown}, but allowedHosts refuses requests for this address with 403. Set \
                 allowedHosts to the names and addresses that clients use"
            ));
        }
        warnings
    }

    async fn metrics_for(&self, caller: &Caller) -> Response<Body> {
        let (_, waiting) = self.calls.counts();
        let mut text = self.stats.to_prometheus(waiting);
        // As in lists. Where these cannot be had, nothing is named.
        let is_served = |id: &str| self.calls.operation(id).is_some();
        let visible = match self.http.current(self).await {
            Ok(routes) => routes.ids_for(caller.identity.as_ref(), is_served),
            Err(_) => Vec::new(),
        };
        let visible = visible.into_iter().collect();
        self.calls.write_metrics(&mut text, &visible);
        let mut response = Response::new(body::full(text));
        let headers = response.headers_mut();
        let media_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        headers.insert(CONTENT_TYPE, media_type);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Logs an error whose message the client does not see. JavaScript has logged its own exceptions, with their stacks; those
    /// of peers have details.
    pub fn log_masked(&self, request_id: &str, error: &CallError, exposes: bool) {
        let is_logged = error.is_internal && error.details.is_none();
        let is_hidden =
            failure::is_masked(error, exposes) || failure::refused_source(error).is_some();
        if is_hidden && !is_logged {
            self.log_failure(request_id, error);
        }
    }

    /// What was counted, calls that wait for a permit included.
    #[must_use]
    pub fn counts(&self) -> Value {
        let (_, waiting) = self.calls.counts();
        let mut counts = self.stats.to_json();
        if let Some(counts) = counts.as_object_mut() {
            counts.insert("waiting".to_owned(), waiting.into());
        }
        counts
    }

    /// Logs what the client does not get to see.
    pub fn log_failure(&self, request_id: &str, error: &CallError) {
        let properties = [
            ("requestId", json!(request_id)),
            ("code", json!(error.code)),
        ];
        let message = format!("A served call failed: {}", error.message);
        self.logger.log(Level::Error, "serve", message, properties);
    }
}

/// The key of a caller's share of the budget: its identity, or its address, of IPv6 the network.
fn key_of(caller: &Caller, peer: Option<IpAddr>) -> String {
    match (caller.id(), peer.map(|peer| peer.to_canonical())) {
        ("", None) => String::new(),
        ("", Some(IpAddr::V4(address))) => format!("address {address}"),
        ("", Some(IpAddr::V6(address))) => {
            let network = Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX));
            format!("address {network}")
        }
        (id, _) => format!("identity {id}"),
    }
}

/// A refusal in place of a response whose body cannot be held. What browsers need to read it stays.
fn without_body(head: http::response::Parts, mut refusal: Response<Body>) -> Response<Body> {
    let for_browsers = head.headers.iter().filter(|(name, _)| {
        **name == http::header::VARY || name.as_str().starts_with("access-control-")
    });
    for (name, value) in for_browsers {
        refusal.headers_mut().append(name, value.clone());
    }
    *refusal.extensions_mut() = head.extensions;
    refusal
}

/// Events go on for as long as both ends like; any other body has an end, and would look whole if it were cut.
fn is_event_stream(response: &Response<Body>) -> bool {
    let media = response.headers().get(CONTENT_TYPE);
    media.is_some_and(|media| media.as_bytes().starts_with(b"text/event-stream"))
}

/// The server has too much to do.
pub(crate) fn overloaded(error: &CallError, request_id: &str) -> Response<Body> {
    problem::of_call(error, StatusCode::SERVICE_UNAVAILABLE, "", request_id)
}

fn identity_required(request_id: &str) -> Response<Body> {
    let message = "Access denied: identity required. Send credentials that this server knows, such as a token in the header \
                   Authorization: Bearer <token>";
    let error = CallError::new(InfrastructureErrorCode::AccessDenied, message)
        .with_details(json!({ "delivery": "none" }));
    problem::of(&error, StatusCode::UNAUTHORIZED, request_id)
}

/// What is left of a path below another; `None` if it is not below it.
fn below<'a>(door: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(door)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn refused(stranger: Disallowed, request_id: &str) -> Response<Body> {
    let message = match stranger {
        Disallowed::Host => {
            "This server does not accept the name in the Host header. Its operator can add it to allowedHosts"
        }
        Disallowed::Origin => {
            "Pages of this origin may not call this server. Its operator can add it to allowedOrigins"
        }
    };
    let error =
        CallError::new("ACCESS_DENIED", message).with_details(json!({ "delivery": "none" }));
    problem::of(&error, StatusCode::FORBIDDEN, request_id)
}

/// The name of a request: its trace and span, where the client follows `traceparent`, or a new one.
fn request_id(head: &Parts) -> Arc<str> {
    let given = head.headers.get("traceparent");
    given
        .and_then(|value| trace_of(value.to_str().ok()?))
        .unwrap_or_else(|| Uuid::new_v4().to_string())
        .into()
}

fn trace_of(traceparent: &str) -> Option<String> {
    let parent = Parent::read(traceparent)?;
    Some(format!("{}-{}", parent.trace_id, parent.span_id))
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BodyError>,
{
    type Response = Response<Body>;
    type Error = Closed;
    type Future = BoxFuture<'static, Answered>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        // A client that waits for `100 Continue` has sent nothing, and must not be asked to.
        let request = if request.headers().contains_key(EXPECT) {
            request.map(|body| Body::new(body.map_err(Into::into)))
        } else {
            request.map(|body| Body::new(Incoming::new(body)))
        };
        async move { service.handle(request).await }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_gives_a_request_its_name() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let span = "b7ad6b7169203331";
        let known = trace_of(&format!("00-{trace}-{span}-01"));
        assert_eq!(known, Some(format!("{trace}-{span}")));
        let zero = "0".repeat(32);
        for odd in [
            String::new(),
            "00".to_owned(),
            format!("00-{trace}-{span}x-01"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{zero}-{span}-01"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
        ] {
            assert_eq!(trace_of(&odd), None, "{odd}");
        }
    }

    #[test]
    fn a_door_is_for_what_is_below_it() {
        assert_eq!(below("/api", "/api/a/b"), Some("/a/b"));
        assert_eq!(below("/api", "/api"), Some(""));
        assert_eq!(below("/api", "/apis/a"), None);
        assert_eq!(below("", "/a/b"), Some("/a/b"));
    }
}
