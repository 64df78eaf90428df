//! Where the metadata of a server may lead us. A server names its authorization server, and that one names its endpoints: none
//! of them may make this program ask around in the network that it runs in. So hosts have public addresses, unless the server
//! that the user has configured is itself in such a network, by an address or by the name `localhost`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use operations_core::address::{embedded, is_local_translation};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The kinds of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Network {
    Public,
    /// This machine.
    Loopback,
    /// A company, a home, a cluster.
    Private,
    /// Nothing that a token could come from: link-local addresses, with the metadata of clouds, and those without a host.
    Special,
}

impl Network {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => {
                let inner = embedded(address).into_iter().map(Self::of_v4);
                // The least public of all that it leads to.
                inner
                    .chain([Self::of_v6(address)])
                    .max()
                    .unwrap_or(Self::Special)
            }
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            [0 | 224..=255, ..] | [169, 254, ..] | [192, 0, 0, _] | [198, 18..=19, ..] => {
                Self::Special
            }
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let [first, ..] = address.segments();
        match first {
            _ if address.is_loopback() => Self::Loopback,
            _ if address.is_unspecified() || is_local_translation(address) => Self::Special,
            0xfc00..=0xfdff => Self::Private,
            0xfe80..=0xffff => Self::Special,
            _ => Self::Public,
        }
    }
}

/// Which networks may be reached.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    /// That of the server.
    own: Network,
    /// Its address, if the user has written one.
    address: Option<IpAddr>,
    /// Hosts of proxies, which the user has configured.
    proxies: Arc<[String]>,
}

impl Reach {
    /// From this server.
    pub(super) fn of(server: &Url) -> Self {
        let address = match server.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::from(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::from(address)),
            _ => None,
        };
        let own = match (server.host(), address) {
            // Written in place of this machine.
            (_, Some(address)) if address.is_unspecified() => Network::Loopback,
            (_, Some(address)) => Network::of(address),
            (Some(Host::Domain(name)), None) if is_localhost(name) => Network::Loopback,
            _ => Network::Public,
        };
        let proxies = ["http_proxy", "https_proxy", "all_proxy"].into_iter();
        let proxies = proxies.flat_map(|name| [name.to_owned(), name.to_ascii_uppercase()]);
        Self {
            own,
            address,
            proxies: proxies
                .filter_map(|name| proxy_host(&std::env::var(name).ok()?))
                .collect(),
        }
    }

    fn allows(&self, address: IpAddr) -> bool {
        match Network::of(address) {
            Network::Public => true,
            Network::Special => self.address == Some(address),
            other => self.own == other,
        }
    }

    /// Whether an address may be asked, as far as is known before its name is resolved.
    pub(super) fn allows_url(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.allows(address.into()),
            Some(Host::Ipv6(address)) => self.allows(address.into()),
            Some(Host::Domain(_)) => true,
            None => false,
        }
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

fn proxy_host(proxy: &str) -> Option<String> {
    let url = Url::parse(proxy).or_else(|_| Url::parse(&format!("http://{proxy}")));
    Some(url.ok()?.host_str()?.to_ascii_lowercase())
}

/// Looks names up, and leaves out the addresses that may not be reached: they are those that the connection is made to, so
/// that a name cannot mean something else a moment later.
impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.clone();
        Box::pin(async move {
            let host = name.as_str().to_ascii_lowercase();
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let is_proxy = reach.proxies.contains(&host);
            let allowed: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| is_proxy || reach.allows(address.ip()))
                .collect();
            if allowed.is_empty() {
                let message = format!("{host} has no address that the server may lead to");
                return Err(message.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(server: &str) -> Reach {
        Reach::of(&Url::parse(server).unwrap())
    }

    fn allowed<'a>(server: &str, urls: &[&'a str]) -> Vec<&'a str> {
        let reach = reach(server);
        let urls = urls.iter().copied();
        urls.filter(|url| reach.allows_url(&Url::parse(url).unwrap()))
            .collect()
    }

    const PUBLIC: [&str; 2] = ["https://8.8.8.8/", "https://[2606:4700::1111]/"];
    const LOOPBACK: [&str; 3] = [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
    ];
    const PRIVATE: [&str; 5] = [
        "http://10.0.0.1/",
        "http://172.31.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://[fd00::1]/",
    ];
    const SPECIAL: [&str; 10] = [
        "http://169.254.169.254/",
        "http://0.0.0.0/",
        "http://255.255.255.255/",
        "http://[fe80::1]/",
        "http://[::]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[2001:0:a9fe:a9fe::]/",
    ];

    #[test]
    fn a_server_leads_to_its_own_kind_of_network_and_the_public_one() {
        let all = [&PUBLIC[..], &LOOPBACK, &PRIVATE, &SPECIAL].concat();
        for (server, more) in [
            ("https://mcp.example/", &[][..]),
            ("https://8.8.8.8/", &[]),
            ("http://localhost:1/", &LOOPBACK),
            ("http://127.0.0.1:1/", &LOOPBACK),
            ("http://10.1.2.3/", &PRIVATE),
            ("http://169.254.169.254/", &SPECIAL[..1]),
        ] {
            assert_eq!(
                allowed(server, &all),
                [&PUBLIC[..], more].concat(),
                "{server}"
            );
        }
    }

    #[tokio::test]
    async fn names_are_looked_up_with_the_same_rule() {
        let name = || "localhost".parse::<Name>().unwrap();
        assert!(reach("http://127.0.0.1/").resolve(name()).await.is_ok());
        let Err(error) = reach("https://mcp.example/").resolve(name()).await else {
            panic!("it was found");
        };
        assert!(error.to_string().contains("localhost has no address"));
    }
}
