//! From an input and a plan to a request.

use indexmap::IndexMap;
use url::Url;

use super::auth::{Auth, Secret};
use super::body::{self, Body, Payload};
use super::errors::invalid_at;
use super::escape::Escape;
use super::headers::{Headers, check_value};
use super::media;
use super::path;
use super::plan::{Location, Parameter, RequestPlan, Style};
use super::style;
use super::url::BaseUrl;
use super::value::InputValue;
use operations_core::error::CallError;
use operations_schema::pointer;

/// A request, ready for whichever client sends it.
#[derive(Clone, PartialEq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Where it goes. It holds no user name and no password.
    pub url: Url,
    /// The headers, `Content-Type` included when there is a body.
    pub headers: Headers,
    /// The body.
    pub body: Option<Body>,
}

impl Request {
    /// Host and port, which is what a message about a failed connection may say.
    #[must_use]
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

impl std::fmt::Debug for Request {
    /// Without the query and the values of headers, either of which may be a credential.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &self.host())
            .field("path", &self.url.path())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// What all calls of a service share, and what one call adds.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    /// Where the service is.
    pub base_url: &'a BaseUrl,
    /// Headers for each call.
    pub default_headers: &'a [(String, Secret)],
    /// Headers for this call, which go before all others.
    pub call_headers: &'a [(String, Secret)],
    /// The credentials of the service, which go before `default_headers` and parameters.
    pub auth: Option<&'a Auth>,
}

impl Settings<'_> {
    /// Whether a request takes credentials of the service along.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        let mut headers = self.default_headers.iter();
        self.auth.is_some() || headers.any(|(name, _)| names_a_credential(name))
    }

    /// Everything in these settings that no message, log line or detail may show.
    #[must_use]
    pub fn secrets(&self) -> Vec<Secret> {
        let mut secrets = self.auth.map(Auth::secrets).unwrap_or_default();
        if let Some((_, password)) = &self.base_url.credentials {
            secrets.push(password.clone());
        }
        let headers = self.default_headers.iter().chain(self.call_headers);
        for (_, value) in headers.filter(|(name, _)| names_a_credential(name)) {
            secrets.push(value.clone());
            if let Some((_, token)) = value.expose().split_once(' ') {
                secrets.push(Secret::new(token));
            }
        }
        secrets
    }
}

/// Whether a header of this name carries rights, as far as a name can tell.
fn names_a_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "key", "password", "secret", "token"]
        .iter()
        .any(|word| name.contains(word))
}

/// Builds the request for one call.
///
/// # Errors
/// `VALIDATION_ERROR` when something required is missing, or when a value cannot travel where the
/// plan sends it.
pub fn build(
    plan: &RequestPlan,
    mut input: IndexMap<String, InputValue>,
    settings: &Settings<'_>,
) -> Result<Request, CallError> {
    let body = match &plan.body {
        Some(body) => {
            let value = input.shift_remove(&body.input).unwrap_or_default();
            body::build(body, value)?
        }
        None => None,
    };
    require(plan, &input)?;
    let filled = path::interpolate(&plan.path, |name| path_value(plan, &input, name))?;
    let mut query = Vec::new();
    let mut cookies = Vec::new();
    let mut headers = Headers::new();
    headers.set("Accept", &accept(&plan.accept))?;
    set_all(&mut headers, settings.default_headers)?;
    for parameter in &plan.parameters {
        let Some(value) = input.get(&parameter.input) else {
            continue;
        };
        match parameter.location {
            Location::Path => {}
            Location::Query => query.extend(query_pairs(parameter, value)?),
            Location::QueryString => query.extend(whole_query(parameter, value)?),
            Location::Cookie => cookies.extend(cookie_pairs(parameter, value)?),
            Location::Header if value.is_absent() || is_connection_header(&parameter.name) => {}
            Location::Header => headers.set(&parameter.name, &header_value(parameter, value)?)?,
        }
    }
    if !cookies.is_empty() {
        headers.append("Cookie", &cookies.join("; "), "; ")?;
    }
    credentials(settings, &mut headers)?;
    let of_call = settings.call_headers.iter();
    set_all(
        &mut headers,
        of_call.filter(|(name, _)| !is_connection_header(name)),
    )?;
    content_type(body.as_ref(), settings.call_headers, &mut headers)?;
    let url = settings.base_url.join(&filled, &query)?;
    refuse_long(&url)?;
    Ok(Request {
        method: plan.method.clone(),
        url,
        headers,
        body,
    })
}

/// What is longer, the HTTP client cannot send, and hardly any server would read.
fn refuse_long(url: &Url) -> Result<(), CallError> {
    const LONGEST: usize = u16::MAX as usize - 1;
    let length = url.as_str().len();
    if length <= LONGEST {
        return Ok(());
    }
    Err(CallError::invalid(format!(
        "The request cannot be sent: with its parameters, its URL has {length} bytes, and {LONGEST} are the most. \
         Large values belong into a body"
    )))
}

/// The `Accept` header for a list of response types. What no header can carry is passed over.
#[must_use]
pub fn accept(media_types: &[String]) -> String {
    let mut listed: Vec<&str> = Vec::new();
    for media_type in media_types {
        let media_type = media_type.trim();
        let usable = !media_type.is_empty() && check_value("Accept", media_type).is_ok();
        if usable && !listed.contains(&media_type) {
            listed.push(media_type);
        }
    }
    if listed.is_empty() {
        "*/*".to_owned()
    } else {
        listed.join(", ")
    }
}

/// Whether a header is about the connection, or says where the request goes and how long it is: nothing that a caller, or
/// a document, may choose. As in a browser, such are left out.
fn is_connection_header(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "Host",
        "Connection",
        "Content-Length",
        "Expect",
        "Keep-Alive",
        "Proxy-Authorization",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
    ];
    let name = name.trim();
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn set_all<'a>(
    headers: &mut Headers,
    entries: impl IntoIterator<Item = &'a (String, Secret)>,
) -> Result<(), CallError> {
    let mut entries = entries.into_iter();
    entries.try_for_each(|(name, value)| headers.set(name, value.expose()))
}

fn credentials(settings: &Settings<'_>, headers: &mut Headers) -> Result<(), CallError> {
    if let Some(auth) = settings.auth {
        return auth.apply(headers);
    }
    match &settings.base_url.credentials {
        Some((username, password)) if headers.get("Authorization").is_none() => Auth::Basic {
            username: username.clone(),
            password: password.clone(),
        }
        .apply(headers),
        _ => Ok(()),
    }
}

/// `Content-Type` is that of the body and absent without one. Only a header of this very call may
/// say otherwise, and not where the type has to name the boundary.
fn content_type(
    body: Option<&Body>,
    call_headers: &[(String, Secret)],
    headers: &mut Headers,
) -> Result<(), CallError> {
    let Some(body) = body else {
        headers.remove("Content-Type");
        return Ok(());
    };
    let chosen_by_call = call_headers
        .iter()
        .any(|(name, _)| name.trim().eq_ignore_ascii_case("content-type"));
    if chosen_by_call && !matches!(body.payload, Payload::Multipart(_)) {
        return Ok(());
    }
    headers.set("Content-Type", &body.content_type)
}

fn require(plan: &RequestPlan, input: &IndexMap<String, InputValue>) -> Result<(), CallError> {
    let missing = plan.parameters.iter().find(|parameter| {
        parameter.required
            && input
                .get(&parameter.input)
                .is_none_or(|value| *value == InputValue::Undefined)
    });
    match missing {
        None => Ok(()),
        Some(parameter) => Err(CallError::invalid(format!(
            "The {} parameter \"{}\" is required and missing",
            parameter.location.as_str(),
            parameter.input
        ))),
    }
}

fn path_value(
    plan: &RequestPlan,
    input: &IndexMap<String, InputValue>,
    name: &str,
) -> Result<String, CallError> {
    let declared = plan
        .parameters
        .iter()
        .find(|parameter| parameter.location == Location::Path && parameter.name == name);
    // Documents forget to declare parameters of a path; the name is known all the same.
    let undeclared;
    let parameter = if let Some(parameter) = declared {
        parameter
    } else {
        undeclared = Parameter::new(name, Location::Path);
        &undeclared
    };
    let value = input.get(&parameter.input).map(InputValue::parsed);
    let Some(value) = value.transpose()?.filter(|value| !value.is_absent()) else {
        return Err(CallError::invalid(format!(
            "The path parameter \"{}\" is required and missing or empty",
            parameter.input
        )));
    };
    let escape = if parameter.allow_reserved {
        Escape::ReservedInPath
    } else {
        Escape::Value
    };
    let text = match content(parameter, &value)? {
        Some(text) => escape.apply(&text).into_owned(),
        None => style::path(
            &parameter.name,
            &value,
            parameter.style,
            parameter.explode,
            escape,
        )?,
    };
    // What is written counts: an empty value in `matrix` style is `;name`, and a list of empty values is only separators. Other dots are
    // refused where the whole path is known.
    let separators: &[char] = if parameter.style == Style::Label {
        &['.', ',']
    } else {
        &[',']
    };
    let is_blank = text.trim_matches(separators).is_empty();
    if is_blank && path::fills_segment(&plan.path, name) {
        let path = format!("/{}", pointer::escape(&parameter.input));
        let why = "Expected a value: an empty one would lead to another path";
        return Err(invalid_at(&path, why));
    }
    Ok(text)
}

/// The text of a parameter that is described by `content`.
fn content(parameter: &Parameter, value: &InputValue) -> Result<Option<String>, CallError> {
    match &parameter.content {
        None => Ok(None),
        Some(media_type) if media::is_json(media_type) => value.to_json().map(Some),
        Some(_) => Ok(Some(value.parsed()?.to_plain_text()?.into_owned())),
    }
}

fn query_pairs(parameter: &Parameter, value: &InputValue) -> Result<Vec<String>, CallError> {
    let escape = if parameter.allow_reserved {
        Escape::ReservedInQuery
    } else {
        Escape::Value
    };
    Ok(joined(pairs(parameter, value, escape, |text| {
        let name = Escape::Value.apply(&parameter.name).into_owned();
        (name, escape.apply(text).into_owned())
    })?))
}

/// The pairs that a parameter of a query or a cookie becomes. One that is described by `content` is a single pair.
fn pairs(
    parameter: &Parameter,
    value: &InputValue,
    escape: Escape,
    single: impl FnOnce(&str) -> (String, String),
) -> Result<Vec<(String, String)>, CallError> {
    if value.is_nothing() {
        return Ok(Vec::new());
    }
    let Parameter {
        name,
        style,
        explode,
        ..
    } = parameter;
    match content(parameter, value)? {
        Some(text) => Ok(vec![single(&text)]),
        None => style::pairs(name, value, *style, *explode, escape),
    }
}

fn joined(pairs: Vec<(String, String)>) -> Vec<String> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// OpenAPI 3.2: one parameter is the whole query string.
fn whole_query(parameter: &Parameter, value: &InputValue) -> Result<Option<String>, CallError> {
    let is_json = parameter.content.as_deref().is_some_and(media::is_json);
    Ok(match value {
        absent if absent.is_absent() => None,
        value if is_json => Some(Escape::Value.apply(&value.to_json()?).into_owned()),
        InputValue::Text(text) => {
            let text = text.strip_prefix('?').unwrap_or(text);
            Some(Escape::ReservedInQuery.apply(text).into_owned())
        }
        value => Some(body::form(value, &IndexMap::new(), Escape::Form)?),
    })
}

/// Each pair is a cookie of its own: between cookies stands a semicolon, whatever the tables, which
/// speak of queries, put there.
fn cookie_pairs(parameter: &Parameter, value: &InputValue) -> Result<Vec<String>, CallError> {
    let escape = if parameter.style == Style::Cookie {
        Escape::None
    } else {
        Escape::Value
    };
    let pairs = pairs(parameter, value, escape, |text| {
        let text = Escape::Value.apply(text).into_owned();
        (parameter.name.clone(), text)
    })?;
    if pairs
        .iter()
        .any(|(name, value)| name.contains([';', '=', ',']) || value.contains(';'))
    {
        return Err(CallError::invalid(format!(
            "The cookie parameter \"{}\" contains a character that would end the cookie",
            parameter.input
        )));
    }
    Ok(joined(pairs))
}

fn header_value(parameter: &Parameter, value: &InputValue) -> Result<String, CallError> {
    match content(parameter, value)? {
        Some(text) => Ok(text),
        None => style::header(value, parameter.style, parameter.explode),
    }
}
