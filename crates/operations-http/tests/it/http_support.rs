//! What the HTTP tests share.

#![allow(clippy::print_stdout, reason = "the seed is printed")]

use indexmap::IndexMap;
use operations_core::CallError;
use operations_http::message::{
    Auth, BaseUrl, InputValue, Parameter, Request, RequestPlan, Secret, Settings, request,
};
use serde_json::Value;

/// An input object from JSON.
pub(crate) fn input(json: &Value) -> IndexMap<String, InputValue> {
    match InputValue::from_json(json).unwrap() {
        InputValue::Object(members) => members,
        _ => IndexMap::new(),
    }
}

/// A plan for a GET with these parameters.
pub(crate) fn get(path: &str, parameters: Vec<Parameter>) -> RequestPlan {
    RequestPlan {
        method: "get".to_owned(),
        path: path.to_owned(),
        parameters,
        ..RequestPlan::default()
    }
}

/// The request for a plan and an input, below `http://x.test/`.
pub(crate) fn built(plan: &RequestPlan, json: &Value) -> Result<Request, CallError> {
    built_with(plan, input(json), "http://x.test/", &[], &[], None)
}

/// As [`built`], with everything that a service and a call can set.
pub(crate) fn built_with(
    plan: &RequestPlan,
    input: IndexMap<String, InputValue>,
    base_url: &str,
    default_headers: &[(&str, &str)],
    call_headers: &[(&str, &str)],
    auth: Option<&Auth>,
) -> Result<Request, CallError> {
    let base_url = BaseUrl::parse(base_url)?;
    let owned = |headers: &[(&str, &str)]| -> Vec<(String, Secret)> {
        headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
            .collect()
    };
    let (default_headers, call_headers) = (owned(default_headers), owned(call_headers));
    let settings = Settings {
        base_url: &base_url,
        default_headers: &default_headers,
        call_headers: &call_headers,
        auth,
    };
    request::build(plan, input, &settings)
}

/// Numbers that can be had again: the seed is printed.
pub(crate) struct Random(u64);

impl Random {
    /// From `OPERATIONS_SEED`, else from the clock.
    pub(crate) fn announced(what: &str) -> Self {
        let given = std::env::var("OPERATIONS_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(1, |elapsed| {
                    elapsed.as_secs() ^ u64::from(elapsed.subsec_nanos())
                })
        });
        println!("{what}: OPERATIONS_SEED={seed}");
        Self(seed.max(1))
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.get(self.below(from.len())).unwrap()
    }

    /// A string of characters that matter to URLs and headers.
    pub(crate) fn text(&mut self) -> String {
        const ALPHABET: [char; 34] = [
            'a', 'Z', '0', '.', '.', '/', '\\', '?', '#', '%', '2', 'e', '&', '=', '+', ' ', ',',
            ';', ':', '@', '[', ']', '{', '}', '|', '"', '\'', '\r', '\n', '\t', '\0', 'é', '☃',
            '🦀',
        ];
        let length = self.below(8);
        (0..length).map(|_| self.pick(&ALPHABET)).collect()
    }
}
