//! Where requests may go, redirects included. A document, or a server that redirects, must not make us call whatever
//! only we can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::json;
use url::{Host, Url};

use operations_core::address::{embedded, is_local_translation};
use operations_core::error::CallError;

/// What bounds the requests of a service.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Only these, beside those that the user named; nothing for all.
    hosts: Option<Vec<Pattern>>,
    /// Addresses that only we can reach are like any other.
    allows_private: bool,
    /// Hosts that the user named, with their ports: in `baseUrl`, or as the URL of the document. `hosts` does not forbid them.
    named: Vec<(String, Option<u16>)>,
}

/// An entry of `hosts`: a name, `*.example.com`, or `*`; then a port, or `*` for any.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    host: String,
    port: Port,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    /// That of the scheme.
    Default,
    Any,
    Only(u16),
}

impl Reach {
    /// Reads `hosts` and `allowPrivateAddresses`.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for an entry that is no host.
    pub fn new(hosts: Option<&[String]>, allows_private: bool) -> Result<Self, CallError> {
        let patterns = hosts.map(|hosts| hosts.iter().map(|entry| Pattern::parse(entry)).collect());
        Ok(Self {
            hosts: patterns.transpose()?,
            allows_private,
            named: Vec::new(),
        })
    }

    /// The user named this URL.
    pub fn name(&mut self, url: &Url) {
        let host = url.host_str().map(str::to_owned);
        self.named
            .extend(host.map(|host| (host, url.port_or_known_default())));
    }

    /// Whether `hosts` has this URL.
    #[must_use]
    pub fn lists(&self, url: &Url) -> bool {
        let patterns = self.hosts.iter().flatten();
        patterns.into_iter().any(|pattern| pattern.matches(url))
    }

    /// Whether a host of this name may be one that only we can reach.
    #[must_use]
    pub fn may_be_private(&self, host: &str) -> bool {
        let listed = self.hosts.iter().flatten();
        self.allows_private
            || self.is_named(host)
            || listed.into_iter().any(|pattern| pattern.host == host)
    }

    /// Whether the user named this very address, or listed it. Other ports of a machine may be for that machine alone.
    fn allows_private_url(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        let host = url.host_str().unwrap_or_default();
        let mut listed = self.hosts.iter().flatten();
        self.allows_private
            || self
                .named
                .iter()
                .any(|named| named.0 == host && named.1 == port)
            || listed.any(|pattern| pattern.host == host && pattern.matches(url))
    }

    fn is_named(&self, host: &str) -> bool {
        self.named.iter().any(|(named, _)| named == host)
    }

    /// Whether a request may go there.
    ///
    /// # Errors
    /// `EXECUTION_ERROR` that says what forbids it, and how to allow it.
    pub fn check(&self, url: &Url) -> Result<(), CallError> {
        let host = url.host_str().unwrap_or_default();
        if self.hosts.is_some() && !self.is_named(host) && !self.lists(url) {
            let message = format!("Requests to {host} are not allowed: `hosts` does not list it");
            return Err(refusal(message, host, "host-not-allowed"));
        }
        if is_private_host(url) && !self.allows_private_url(url) {
            let port = url.port().map(|port| format!(":{port}"));
            let port = port.unwrap_or_default();
            let message = format!(
                "Requests to {host}{port} are not allowed: it is an address of this machine or of a private network, and neither \
                 `baseUrl` nor the URL of the document names it. Add it to `hosts`, or set `allowPrivateAddresses: true`"
            );
            return Err(refusal(message, host, "private-address"));
        }
        Ok(())
    }
}

fn refusal(message: String, host: &str, reason: &str) -> CallError {
    CallError::failed(message).with_details(json!({ "host": host, "reason": reason }))
}

impl Pattern {
    fn parse(entry: &str) -> Result<Self, CallError> {
        let entry = entry.trim().to_ascii_lowercase();
        let wrong = || {
            CallError::invalid(format!(
                "hosts has {entry:?}; an entry is a host such as \"api.example.com\", \"*.example.com\" or \"127.0.0.1:8080\", \
                 with \":*\" for every port"
            ))
            .with_details(json!({ "field": "config.hosts" }))
        };
        // The colons of an IPv6 address are in brackets.
        let colon = entry
            .rfind(':')
            .filter(|at| !entry.get(*at..).unwrap_or_default().contains(']'));
        let (host, port) = colon.map_or((entry.as_str(), None), |at| {
            let (host, port) = entry.split_at(at);
            (host, port.strip_prefix(':'))
        });
        let port = match port {
            None => Port::Default,
            Some("*") => Port::Any,
            Some(number) => Port::Only(number.parse().map_err(|_| wrong())?),
        };
        if host == "*" {
            let host = host.to_owned();
            return Ok(Self { host, port });
        }
        let (prefix, name) = host
            .strip_prefix("*.")
            .map_or(("", host), |rest| ("*.", rest));
        // Written as URLs write it: names in ASCII, numbers in dots.
        let name = Host::parse(name).ok().filter(|_| !name.contains('*'));
        let name = name.ok_or_else(wrong)?;
        let host = format!("{prefix}{name}");
        Ok(Self { host, port })
    }

    fn matches(&self, url: &Url) -> bool {
        let port = match self.port {
            Port::Any => true,
            Port::Default => url.port().is_none(),
            Port::Only(port) => url.port_or_known_default() == Some(port),
        };
        let host = url.host_str().unwrap_or_default();
        port && match self.host.strip_prefix('*') {
            Some("") => true,
            Some(suffix) => host
                .strip_suffix(suffix)
                .is_some_and(|before| !before.is_empty()),
            None => self.host == host,
        }
    }
}

/// Whether a URL itself says that it leads to where only we are. What a name resolves to is checked elsewhere
/// ([`is_private`]).
fn is_private_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_private(address.into()),
        Some(Host::Ipv6(address)) => is_private(address.into()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// Whether an address is this machine's own, of a private network, or for anything but a single public host.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        // This network, shared between providers and their customers, for protocols and benchmarks, many at once,
        // and what is reserved.
        || matches!(
            (first, second, third),
            (0 | 224.., ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _)
        )
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let [first, ..] = address.segments();
    embedded(address).into_iter().any(is_private_v4)
        || is_local_translation(address)
        // Of a site, as they were called before they were unique.
        || matches!(first, 0xfec0..=0xfeff)
        || address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(reach: &Reach, url: &str) -> bool {
        reach.check(&Url::parse(url).expect("a URL")).is_ok()
    }

    #[test]
    fn addresses_that_only_we_can_reach_need_to_be_named() {
        let mut reach = Reach::default();
        let private = [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://localhost:3000/",
            "http://a.localhost./",
            "http://10.1.2.3/",
            "http://192.168.0.1/",
            "http://172.31.0.1/",
            "http://169.254.169.254/latest/meta-data",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[::10.0.0.1]/",
            "http://[::ffff:0:10.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[64:ff9b:1::a00:1]/",
            "http://[2002:a00:1::1]/",
            "http://[2001:0:a00:1::]/",
            "http://[2001:0:808:808:0:0:f5ff:fffe]/",
            "http://[2001:db8::5efe:10.0.0.1]/",
            "http://[fec0::1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
        ];
        for url in private {
            assert!(!allowed(&reach, url), "{url}");
        }
        for url in [
            "http://8.8.8.8/",
            "https://example.com/",
            "http://[2606:4700::1111]/",
            "http://[2002:808:808::1]/",
            "http://[64:ff9b::808:808]/",
            "http://172.32.0.1/",
        ] {
            assert!(allowed(&reach, url), "{url}");
        }
        reach.name(&Url::parse("http://127.0.0.1:3000/v1").expect("a URL"));
        assert!(allowed(&reach, "http://127.0.0.1:3000/v2"));
        assert!(!allowed(&reach, "http://127.0.0.1:4000/"));
        assert!(!allowed(&reach, "https://127.0.0.1/"));
        assert!(!allowed(&reach, "http://127.0.0.2/"));
        let all = Reach::new(None, true).expect("no hosts");
        assert!(private.iter().all(|url| allowed(&all, url)));
    }

    #[test]
    fn hosts_are_names_with_wildcards_and_ports() {
        let hosts = [
            "Api.Example.com",
            "*.example.org:*",
            "10.0.0.7:8080",
            "[::1]:9",
        ]
        .map(str::to_owned);
        let mut reach = Reach::new(Some(&hosts), false).expect("hosts");
        for url in [
            "https://api.example.com/x",
            "http://api.example.com/",
            "https://a.b.example.org:8443/",
            "http://10.0.0.7:8080/",
            "http://[::1]:9/",
        ] {
            assert!(allowed(&reach, url), "{url}");
        }
        for url in [
            "https://api.example.com:8443/",
            "https://example.org/",
            "https://api.example.com.evil.test/",
            "https://evilexample.org/",
            "http://10.0.0.7/",
            "https://other.test/",
        ] {
            assert!(!allowed(&reach, url), "{url}");
        }
        reach.name(&Url::parse("https://other.test/").expect("a URL"));
        assert!(allowed(&reach, "https://other.test/"));
        for wrong in [
            "",
            "a b",
            "example.com:port",
            "https://example.com",
            "*example.com",
        ] {
            assert!(
                Reach::new(Some(&[wrong.to_owned()]), false).is_err(),
                "{wrong}"
            );
        }
    }
}
