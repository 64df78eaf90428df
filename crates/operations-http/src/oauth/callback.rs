//! Where the user's browser comes back to: a port of this machine that understands one kind of request.

use std::future::Future;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::{Host, Url};

use crate::fetch::is_loopback;

const PATH: &str = "/callback";
/// A browser's request is smaller than this, and faster.
const REQUEST: usize = 16 * 1024;
const SLOW: Duration = Duration::from_secs(5);
const THANKS: &str = "<!doctype html><meta charset=utf-8><title>Done</title>\
     <p>Thank you. You can close this window and go back to the program.";

/// An address that browsers are sent to.
#[derive(Debug)]
pub struct Callback {
    url: Url,
    /// There is no listener for an address that is not on this machine.
    listener: Option<TcpListener>,
}

impl Callback {
    /// The user's address, or a port of this machine.
    ///
    /// # Errors
    /// When no port can be opened, or the address is none.
    pub async fn open(given: Option<&str>) -> Result<Self, String> {
        let Some(given) = given else {
            let bound = TcpListener::bind(("127.0.0.1", 0)).await;
            let listener = bound.map_err(|error| format!("no port can be opened: {error}"))?;
            let address = listener.local_addr().map_err(|error| error.to_string())?;
            let url = Url::parse(&format!("http://{address}{PATH}"));
            return Ok(Self {
                url: url.map_err(|error| error.to_string())?,
                listener: Some(listener),
            });
        };
        let url = Url::parse(given)
            .map_err(|error| format!("'oauth.redirectUrl' is not a URL: {error}"))?;
        // If the port is in use, the program itself listens there, and passes the address on.
        let listener = match (is_loopback(&url), url.port()) {
            (true, Some(port)) => match url.host() {
                Some(Host::Ipv6(address)) => TcpListener::bind((address, port)).await.ok(),
                _ => TcpListener::bind(("127.0.0.1", port)).await.ok(),
            },
            _ => None,
        };
        Ok(Self { url, listener })
    }

    /// Where browsers are sent.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The address that the browser was sent to, from the program, or as it arrives here.
    ///
    /// # Errors
    /// When the user, or the program, does not want to.
    pub async fn wait(
        self,
        shown: impl Future<Output = Result<String, String>>,
        state: &str,
    ) -> Result<String, String> {
        let Self { url, listener } = self;
        let has_no_listener = listener.is_none();
        let answered = async {
            let answer = shown.await?;
            let address: Option<String> = serde_json::from_str(&answer).map_err(|_| {
                "onAuthorize must resolve with an address, or with nothing".to_owned()
            })?;
            match address {
                Some(address) => Ok(address),
                None if has_no_listener => Err(
                    "onAuthorize must resolve with the address that the browser was sent to, because nothing \
                     can listen at 'oauth.redirectUrl'"
                        .to_owned(),
                ),
                // Wait for the browser.
                None => std::future::pending().await,
            }
        };
        let address = match listener {
            None => answered.await?,
            Some(listener) => tokio::select! {
                address = answered => address?,
                address = arrive(&listener, &url, state) => address,
            },
        };
        refusal(&address)?;
        Ok(address)
    }
}

/// What the authorization server says when the user does not agree.
fn refusal(address: &str) -> Result<(), String> {
    let url = Url::parse(address)
        .map_err(|_| "onAuthorize resolved with something that is no address".to_owned())?;
    let find = |name: &str| {
        let mut pairs = url.query_pairs();
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    match (find("error"), find("error_description")) {
        (Some(error), Some(why)) => Err(format!("{error}: {why}")),
        (Some(error), None) => Err(error),
        (None, _) => Ok(()),
    }
}

/// Waits for a browser with the response to our request, which it shows by our `state`. Any other visitor is
/// sent away, and holds up nothing.
async fn arrive(listener: &TcpListener, expected: &Url, state: &str) -> String {
    let mut visitors = JoinSet::new();
    loop {
        tokio::select! {
            Some(visited) = visitors.join_next() => {
                if let Ok(Ok(Some(address))) = visited {
                    return address;
                }
            }
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let (expected, state) = (expected.clone(), state.to_owned());
                visitors.spawn(timeout(SLOW, serve(stream, expected, state)));
            }
        }
    }
}

async fn serve(mut stream: TcpStream, expected: Url, state: String) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < REQUEST {
        if stream.read_buf(&mut head).await.ok()? == 0 {
            break;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let target = head
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("GET "))
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_default();
    let address = expected.join(target).ok().filter(|url| {
        let has = |name: &str| url.query_pairs().any(|(key, _)| key == name);
        let ours = url
            .query_pairs()
            .any(|(key, value)| key == "state" && value == state);
        url.path() == expected.path() && ours && (has("code") || has("error"))
    });
    let (status, body) = match address {
        Some(_) => ("200 OK", THANKS),
        None => ("404 Not Found", ""),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    address.map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_reported_in_the_servers_words() {
        assert_eq!(refusal("http://x/?code=1&state=2"), Ok(()));
        assert_eq!(
            refusal("http://x/?error=access_denied"),
            Err("access_denied".into())
        );
        assert!(refusal("nonsense").is_err());
    }

    #[tokio::test]
    async fn a_browser_is_thanked_and_others_are_sent_away() {
        let redirect = Callback::open(None).await.unwrap();
        let url = redirect.url().to_owned();
        let waiting = tokio::spawn(redirect.wait(async { Ok("null".to_owned()) }, "2"));
        let client = get;
        assert!(
            client(&url, "/favicon.ico")
                .await
                .starts_with("HTTP/1.1 404")
        );
        for forged in ["/callback?code=1", "/callback?code=1&state=3"] {
            assert!(client(&url, forged).await.starts_with("HTTP/1.1 404"));
        }
        let answer = client(&url, "/callback?code=1&state=2").await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Thank you"));
        let address = waiting.await.unwrap().unwrap();
        assert!(address.ends_with("/callback?code=1&state=2"));
    }

    async fn get(url: &str, target: &str) -> String {
        let url = Url::parse(url).unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap()))
            .await
            .unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}
