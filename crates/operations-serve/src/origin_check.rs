//! Checks `Host` and `Origin` against DNS rebinding and cross-site requests. A page anywhere can have a browser send requests to this machine, under a name of its own
//! that it has pointed here: so the name by which a server is addressed counts, and the page that asks.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN, REFERER};
use http::request::Parts;
use http::uri::{Authority, Uri};

/// The hosts and origins that are let in.
#[derive(Debug, Clone, Default)]
pub struct OriginCheck {
    hosts: Option<Vec<String>>,
    origins: Option<Vec<String>>,
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disallowed {
    /// The name in `Host` is not allowed.
    Host,
    /// It was sent by a page that may not.
    Origin,
}

impl OriginCheck {
    /// Lists that take the place of the names of the machine itself.
    #[must_use]
    pub fn new(hosts: Option<Vec<String>>, origins: Option<Vec<String>>) -> Self {
        let lower = |list: Vec<String>| list.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self {
            hosts: hosts.map(lower),
            origins: origins.map(lower),
        }
    }

    /// Lets a request in, or says what is wrong.
    ///
    /// # Errors
    ///
    /// When it is addressed to a name that is not allowed, or comes from a page that may not send it.
    pub fn check(&self, head: &Parts) -> Result<(), Disallowed> {
        let host = addressed(head).ok_or(Disallowed::Host)?;
        if !self.is_host(&host) {
            return Err(Disallowed::Host);
        }
        match single(&head.headers, ORIGIN.as_str()) {
            Ok(None) if self.is_from_known_page(&head.headers, &host) => Ok(()),
            Ok(Some(origin)) if self.is_origin(origin, &host) => Ok(()),
            _ => Err(Disallowed::Origin),
        }
    }

    /// A browser sends no `Origin` with the GET of an image, a script, a form or a link, but says whether a page of another origin
    /// made it. Which one is in `Referer`, unless the page hides it.
    fn is_from_known_page(&self, headers: &HeaderMap, host: &Authority) -> bool {
        if self.is_any_origin() {
            return true;
        }
        match single(headers, "sec-fetch-site") {
            // The server's own page, or the user.
            Ok(Some("same-origin" | "none")) => true,
            // No browser, or one that does not say it to a server without TLS: then only `Referer` is left.
            Ok(None) => !headers.contains_key(REFERER) || self.is_referred(headers, host),
            Ok(Some(_)) => self.is_referred(headers, host),
            Err(()) => false,
        }
    }

    /// Whether `Referer` is of an allowed origin.
    fn is_referred(&self, headers: &HeaderMap, host: &Authority) -> bool {
        single(headers, REFERER.as_str())
            .ok()
            .flatten()
            .and_then(origin_of)
            .is_some_and(|origin| self.is_origin(&origin, host))
    }

    fn is_any_origin(&self) -> bool {
        let origins = self.origins.as_ref();
        origins.is_some_and(|list| list.iter().any(|origin| origin == "*"))
    }

    /// Whether clients that are elsewhere can address a server by the address that it listens on; for one that listens on every
    /// address, by anything but a name of the machine itself.
    #[must_use]
    pub fn allows_address(&self, address: SocketAddr) -> bool {
        if address.ip().is_unspecified() {
            let is_elsewhere = |allowed: &String| {
                let known = Authority::from_str(allowed);
                !is_loopback(known.as_ref().map_or(allowed.as_str(), Authority::host))
            };
            return self
                .hosts
                .as_ref()
                .is_some_and(|list| list.iter().any(is_elsewhere));
        }
        Authority::from_str(&address.to_string()).is_ok_and(|host| self.is_host(&host))
    }

    fn is_host(&self, host: &Authority) -> bool {
        let Some(list) = &self.hosts else {
            return is_loopback(host.host());
        };
        let name = host.host().to_ascii_lowercase();
        list.iter().any(|allowed| {
            let (pattern, port) = match Authority::from_str(allowed) {
                Ok(known) => (known.host().to_owned(), known.port_u16()),
                Err(_) => (allowed.clone(), None),
            };
            matches(&pattern, &name) && (port.is_none() || port == host.port_u16())
        })
    }

    /// A page of the very host that is addressed, and that may be, is at home.
    fn is_origin(&self, origin: &str, host: &Authority) -> bool {
        let Ok(uri) = Uri::from_str(origin) else {
            return false;
        };
        let (Some(scheme), Some(from)) = (uri.scheme_str(), uri.authority()) else {
            return false;
        };
        // Where any name will do, the name proves nothing, and a list of pages has the last word.
        let is_any_host = self
            .hosts
            .as_ref()
            .is_some_and(|list| list.iter().any(|name| name == "*"));
        let is_at_home = from.as_str().eq_ignore_ascii_case(host.as_str());
        if is_at_home && (self.origins.is_none() || !is_any_host) {
            return true;
        }
        let Some(list) = &self.origins else {
            return matches!(scheme, "http" | "https") && is_loopback(from.host());
        };
        let origin = origin.to_ascii_lowercase();
        self.is_any_origin() || list.contains(&origin)
    }
}

/// The origin of an address.
fn origin_of(address: &str) -> Option<String> {
    let uri = Uri::from_str(address).ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}

/// Whom a request addresses; `None` where it does not say so clearly.
fn addressed(head: &Parts) -> Option<Authority> {
    let named = single(&head.headers, HOST.as_str()).ok()?;
    let named = match named {
        None => None,
        Some(text) => Some(Authority::from_str(text).ok()?),
    };
    let target = head.uri.authority();
    match (named, target) {
        (Some(named), Some(target)) if !named.as_str().eq_ignore_ascii_case(target.as_str()) => {
            None
        }
        (Some(one), _) => Some(one),
        (None, target) => target.cloned(),
    }
    .filter(|authority| {
        // Nothing but a name and, perhaps, a port that is one.
        let port = authority.as_str().strip_prefix(authority.host());
        !authority.host().is_empty()
            && port.is_some_and(|port| port.is_empty() || authority.port_u16().is_some())
    })
}

/// A header that is there once at most.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(());
    }
    first
        .map(|value| value.to_str().map_err(|_| ()))
        .transpose()
}

/// `*` is everybody, `*.example.com` everybody below it.
fn matches(pattern: &str, name: &str) -> bool {
    if pattern == "*" || pattern == name {
        return true;
    }
    pattern.strip_prefix("*.").is_some_and(|domain| {
        name.strip_suffix(domain)
            .and_then(|rest| rest.strip_suffix('.'))
            .is_some_and(|below| !below.is_empty())
    })
}

/// Whether a name means the machine itself, whatever resolves it.
fn is_loopback(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = IpAddr::from_str(name) {
        return address.is_loopback();
    }
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use http::Request;

    use super::*;

    fn check(
        allowed: &OriginCheck,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<(), Disallowed> {
        let mut request = Request::get(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).expect("a request").into_parts();
        allowed.check(&head)
    }

    #[test]
    fn an_address_is_reached_by_clients_elsewhere_or_not() {
        let lists = |hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            OriginCheck::new(Some(hosts), None)
        };
        for (allowed, address, is_allowed) in [
            (OriginCheck::default(), "127.0.0.1:80", true),
            (OriginCheck::default(), "[::1]:80", true),
            (OriginCheck::default(), "0.0.0.0:80", false),
            (OriginCheck::default(), "192.0.2.1:80", false),
            (lists(&["192.0.2.1"]), "192.0.2.1:80", true),
            (lists(&["[2001:db8::1]:80"]), "[2001:db8::1]:80", true),
            (lists(&["192.0.2.1:81"]), "192.0.2.1:80", false),
            (lists(&["hub.example.com"]), "[::]:80", true),
            (lists(&["localhost", "127.0.0.1:80"]), "0.0.0.0:80", false),
            (lists(&["*"]), "0.0.0.0:80", true),
        ] {
            let found = allowed.allows_address(address.parse().expect("an address"));
            assert_eq!(found, is_allowed, "{allowed:?} {address}");
        }
    }

    #[test]
    fn the_machine_itself_is_let_in_by_default() {
        let default = OriginCheck::default();
        for host in [
            "localhost",
            "LOCALHOST:80",
            "a.localhost",
            "127.0.0.1:3000",
            "127.9.9.9",
            "[::1]:8080",
        ] {
            assert_eq!(check(&default, "/", &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com",
            "10.0.0.1",
            "user@localhost",
            "",
            "localhost:x",
            "notlocalhost",
        ] {
            let found = check(&default, "/", &[("host", host)]);
            assert_eq!(found, Err(Disallowed::Host), "{host}");
        }
        assert_eq!(check(&default, "/", &[]), Err(Disallowed::Host));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(check(&default, "/", &twice), Err(Disallowed::Host));
        let two = [("host", "localhost")];
        assert_eq!(
            check(&default, "http://example.com/", &two),
            Err(Disallowed::Host)
        );
        assert_eq!(check(&default, "http://localhost/", &two), Ok(()));
    }

    #[test]
    fn a_page_from_elsewhere_is_not_let_in() {
        let default = OriginCheck::default();
        let from = |origin| [("host", "localhost:1"), ("origin", origin)];
        for origin in [
            "http://localhost:5173",
            "https://127.0.0.1",
            "http://[::1]:1",
        ] {
            assert_eq!(check(&default, "/", &from(origin)), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "file://localhost",
            "localhost",
            "",
        ] {
            let found = check(&default, "/", &from(origin));
            assert_eq!(found, Err(Disallowed::Origin), "{origin}");
        }
    }

    #[test]
    fn a_page_from_elsewhere_is_not_let_in_without_an_origin_either() {
        let origins = |list: &[&str]| Some(list.iter().map(|name| (*name).to_owned()).collect());
        let default = OriginCheck::default();
        let listed = OriginCheck::new(None, origins(&["https://app.example.com"]));
        let any = OriginCheck::new(None, origins(&["*"]));
        for (allowed, site, referer, is_let_in) in [
            (&default, "same-origin", None, true),
            (&default, "none", None, true),
            (&default, "cross-site", None, false),
            (&default, "same-site", None, false),
            (&default, "unheard-of", None, false),
            (&default, "cross-site", Some("https://evil.example/"), false),
            (
                &default,
                "cross-site",
                Some("https://evil.example/http://localhost/"),
                false,
            ),
            (
                &default,
                "cross-site",
                Some("https://localhost@evil.example/"),
                false,
            ),
            (
                &default,
                "same-site",
                Some("http://localhost:5173/page?a=b"),
                true,
            ),
            (
                &listed,
                "cross-site",
                Some("https://app.example.com/"),
                true,
            ),
            (
                &listed,
                "cross-site",
                Some("https://app.example.com.evil.example/"),
                false,
            ),
            (&any, "cross-site", None, true),
        ] {
            let mut headers = vec![("host", "localhost:1"), ("sec-fetch-site", site)];
            headers.extend(referer.map(|referer| ("referer", referer)));
            let found = check(allowed, "/", &headers);
            assert_eq!(found.is_ok(), is_let_in, "{site} {referer:?}");
        }
        let twice = [
            ("host", "localhost"),
            ("sec-fetch-site", "none"),
            ("sec-fetch-site", "cross-site"),
        ];
        assert_eq!(check(&default, "/", &twice), Err(Disallowed::Origin));
    }

    #[test]
    fn lists_take_the_place_of_the_machine_itself() {
        let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let allowed = OriginCheck::new(
            list(&["api.example.com", "*.Inner.example", "one:81"]),
            list(&["https://app.example.com"]),
        );
        for (host, is_allowed) in [
            ("api.example.com:9", true),
            ("API.example.com", true),
            ("x.inner.example", true),
            ("inner.example", false),
            (".inner.example", false),
            ("one:81", true),
            ("one:80", false),
            ("one", false),
            ("localhost", false),
        ] {
            let found = check(&allowed, "/", &[("host", host)]);
            assert_eq!(found.is_ok(), is_allowed, "{host}");
        }
        let from = |origin| [("host", "api.example.com"), ("origin", origin)];
        for (origin, is_allowed) in [
            ("https://app.example.com", true),
            ("https://APP.example.com", true),
            ("http://app.example.com", false),
            ("https://app.example.com:8443", false),
            ("https://api.example.com", true),
            ("http://localhost", false),
        ] {
            assert_eq!(
                check(&allowed, "/", &from(origin)).is_ok(),
                is_allowed,
                "{origin}"
            );
        }
        let any = OriginCheck::new(list(&["*"]), list(&["https://app.example.com"]));
        let rebound = [("host", "evil.example"), ("origin", "https://evil.example")];
        assert!(check(&any, "/", &rebound).is_err());
    }
}
