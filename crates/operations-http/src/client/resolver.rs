//! What names lead to. Even a public name may lead to a private address.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;
use url::Url;

use crate::message::Reach;
use crate::message::reach::is_private;

/// The system's resolver, without the addresses that only we can reach, unless the user named the host.
pub(super) struct BoundedResolver {
    reach: Arc<Reach>,
    /// Proxies are mostly on a private network, and configured by the operator of the process.
    proxies: Vec<String>,
}

impl BoundedResolver {
    pub(super) fn new(reach: Arc<Reach>) -> Self {
        let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(str::to_owned);
        let lower = names.clone().map(|name| name.to_ascii_lowercase());
        let values = names
            .iter()
            .chain(&lower)
            .filter_map(|name| std::env::var(name).ok());
        let proxies = values.filter_map(|text| host_of(&text)).collect();
        Self { reach, proxies }
    }
}

/// The host of a proxy, which may be written without a scheme.
fn host_of(proxy: &str) -> Option<String> {
    let url = Url::parse(proxy).ok().filter(Url::has_host);
    let url = url.or_else(|| Url::parse(&format!("http://{proxy}")).ok())?;
    url.host_str().map(str::to_owned)
}

impl Resolve for BoundedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let may_be_private = self.reach.may_be_private(&host) || self.proxies.contains(&host);
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((host.as_str(), 0)).await?.collect();
            let allowed: Vec<SocketAddr> = found
                .iter()
                .copied()
                .filter(|address| may_be_private || !is_private(address.ip()))
                .collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(io::Error::other(
                    "it leads to an address of this machine or of a private network, and neither `baseUrl` nor the URL \
                     of the document names it; add it to `hosts`, or set `allowPrivateAddresses: true`",
                )
                .into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn addresses(reach: Reach, name: &str) -> Result<usize, String> {
        let resolver = BoundedResolver::new(Arc::new(reach));
        let found = resolver.resolve(name.parse().expect("a name")).await;
        found
            .map(Iterator::count)
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_name_leads_to_a_private_address_only_if_the_user_named_it() {
        let error = addresses(Reach::default(), "localhost").await;
        assert!(error.is_err_and(|why| why.contains("allowPrivateAddresses")));
        let mut named = Reach::default();
        named.name(&Url::parse("http://localhost:3000").expect("a URL"));
        assert!(
            addresses(named, "localhost")
                .await
                .is_ok_and(|count| count > 0)
        );
        let all = Reach::new(None, true).expect("no hosts");
        assert!(
            addresses(all, "localhost")
                .await
                .is_ok_and(|count| count > 0)
        );
    }

    #[test]
    fn proxies_are_written_with_and_without_a_scheme() {
        for proxy in [
            "http://proxy.corp:3128",
            "proxy.corp:3128",
            "socks5://u:p@proxy.corp",
        ] {
            assert_eq!(host_of(proxy).as_deref(), Some("proxy.corp"), "{proxy}");
        }
    }
}
