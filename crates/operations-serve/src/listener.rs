//! Sockets in front of the service.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use operations_core::error::CallError;
use operations_core::log::Level;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::progress::Responses;
use crate::service::Service;
use crate::tls::HTTP2;

/// Connections at a time. More wait in the queue of the system.
const MOST_CONNECTIONS: usize = 16_384;
/// Connections that the system makes before they are accepted, where it does not have a lower limit of its own. With the usual 128, the
/// clients of a hub that all come back at once are left to try again, a second later at the earliest.
const WAITING_CONNECTIONS: u32 = 1024;
/// The most that the headers of a request may take.
const HEADER_BYTES: u16 = u16::MAX;
/// Requests at a time on one connection of HTTP/2.
const MOST_STREAMS: u32 = 128;
/// How long no connection is accepted after one could not be: there may be no file descriptor left.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// An open port.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    service: Service,
    tasks: TaskTracker,
    /// Nothing new is taken.
    stop: CancellationToken,
    /// Nothing is waited for.
    kill: CancellationToken,
    is_tls: bool,
}

impl Listener {
    /// Opens a port; 0 is any that is free.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    pub async fn open(service: Service, host: &str, port: u16) -> Result<Self, CallError> {
        let tls = match &service.shared().options.tls {
            Some(tls) => Some(tls.acceptor().await?),
            None => None,
        };
        let listener = bind(host, port)
            .await
            .map_err(|error| cannot_listen(host, port, &error))?;
        let address = listener
            .local_addr()
            .map_err(|error| cannot_listen(host, port, &error))?;
        let opened = Self {
            address,
            service,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            is_tls: tls.is_some(),
        };
        let accepting = Accepting {
            tls,
            listener,
            service: opened.service.clone(),
            tasks: opened.tasks.clone(),
            stop: opened.stop.clone(),
            kill: opened.kill.clone(),
        };
        let shared = opened.service.shared();
        shared.listens_at(opened.url());
        opened.tasks.spawn(accepting.run());
        for warning in shared.listener_warnings(address) {
            let properties = [("address", json!(address.to_string()))];
            shared
                .logger
                .log(Level::Warning, "serve", warning, properties);
        }
        Ok(opened)
    }

    /// Where it is reached from this machine.
    #[must_use]
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
                IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
            });
        }
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    /// Takes nothing new, ends streams, waits for what is running, but no longer than this, and ends the rest.
    pub async fn close(&self, drain: Duration) {
        self.service.shared().closing.cancel();
        self.stop.cancel();
        self.tasks.close();
        let hub = &self.service.shared().hub;
        let waiting = async {
            self.tasks.wait().await;
            hub.wait().await;
        };
        if timeout(drain, waiting).await.is_err() {
            self.kill.cancel();
            hub.kill();
            self.tasks.wait().await;
            hub.wait().await;
        }
        self.service.shared().mcp.close().await;
    }
}

impl Drop for Listener {
    /// It can no longer be closed by its owner.
    fn drop(&mut self) {
        self.stop.cancel();
        self.kill.cancel();
        self.service.shared().hub.kill();
    }
}

/// Listens on the first address of the host that can be had.
/// What [`Listener::open`] would warn of; nothing where the name cannot be looked up.
pub async fn warnings(service: &Service, host: &str, port: u16) -> Vec<String> {
    let address = lookup_host((host, port)).await.ok();
    let address = address.and_then(|mut addresses| addresses.next());
    address.map_or_else(Vec::new, |address| {
        service.shared().listener_warnings(address)
    })
}

async fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let mut outcome = Err(io::ErrorKind::AddrNotAvailable.into());
    for address in lookup_host((host, port)).await? {
        outcome = listen(address);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A port can be reused right after the last server on it. On Windows that is the default, and the option would
    // let two servers share it.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS)
}

fn cannot_listen(host: &str, port: u16, error: &io::Error) -> CallError {
    let (reason, what) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            "address-in-use",
            "another program uses this port. Choose another port, or stop the program that uses it"
                .to_owned(),
        ),
        io::ErrorKind::PermissionDenied => (
            "permission-denied",
            "the system does not permit it. Choose a port from 1024 to 65535".to_owned(),
        ),
        io::ErrorKind::AddrNotAvailable => (
            "address-not-available",
            "this machine does not have that address".to_owned(),
        ),
        _ => ("cannot-listen", error.to_string()),
    };
    CallError::failed(format!(
        "serve: cannot listen on {host}, port {port}: {what}"
    ))
    .with_details(
        json!({ "reason": reason, "host": host, "port": port, "cause": error.to_string() }),
    )
}

struct Accepting {
    tls: Option<TlsAcceptor>,
    listener: TcpListener,
    service: Service,
    tasks: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Accepting {
    async fn run(self) {
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.accept() => {}
        }
    }

    async fn accept(&self) {
        let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let talk = Talk {
                        peer: peer.ip(),
                        service: self.service.clone(),
                        stop: self.stop.clone(),
                        kill: self.kill.clone(),
                    };
                    let tls = self.tls.clone();
                    self.tasks.spawn(async move {
                        talk.begin(stream, tls).await;
                        drop(permit);
                    });
                }
                Err(_) => sleep(AFTER_FAILURE).await,
            }
        }
    }
}

/// What a connection is about.
struct Talk {
    service: Service,
    peer: IpAddr,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Talk {
    async fn begin(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // An answer is written in one piece: there is nothing to wait for. Without it, it works all the same.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(self.service.shared());
        let _counted = shared.stats.connection();
        let Some(tls) = tls else {
            return self.converse(stream, false).await;
        };
        let stop = self.stop.clone();
        let shaking = timeout(shared.options.request_timeout, tls.accept(stream));
        let shaken = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            shaken = shaking => shaken,
        };
        // A client that fails the handshake gets no reason.
        let Ok(Ok(stream)) = shaken else { return };
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
        self.converse(stream, is_http2).await;
    }

    /// Answers the requests of one connection. A client that goes takes its unanswered requests with it.
    async fn converse<S>(self, stream: S, is_http2: bool)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self {
            service,
            peer,
            stop,
            kill,
        } = self;
        let shared = Arc::clone(service.shared());
        let options = &shared.options;
        let responses = Responses::default();
        let answer = TowerToHyperService::new(service.of_connection(responses.clone(), Some(peer)));
        let stalled = async {
            match options.write_timeout {
                Some(limit) => responses.stalled(limit).await,
                None => std::future::pending().await,
            }
        };
        let stream = TokioIo::new(stream);
        if is_http2 {
            let connection = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(MOST_STREAMS)
                .max_header_list_size(HEADER_BYTES.into())
                .keep_alive_interval(options.request_timeout)
                .keep_alive_timeout(options.request_timeout)
                .serve_connection(stream, answer);
            let serving = serve(connection, http2::Connection::graceful_shutdown, stop, kill);
            return unless_stalled(serving, stalled).await;
        }
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(options.request_timeout)
            .max_buf_size(HEADER_BYTES.into())
            .serve_connection(stream, answer)
            // To WebSocket, at the hub's door.
            .with_upgrades();
        let shut_down = http1::UpgradeableConnection::graceful_shutdown;
        unless_stalled(serve(connection, shut_down, stop, kill), stalled).await;
    }
}

/// Serves a connection until its end, or until its client has stopped to read. To drop it aborts its calls.
async fn unless_stalled(serving: impl Future<Output = ()>, stalled: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = serving => {}
        () = stalled => {}
    }
}

/// Serves a connection to its end, which comes after what is running once `stop` is cancelled, and at once with `kill`.
async fn serve<C: Future>(
    connection: C,
    shut_down: fn(Pin<&mut C>),
    stop: CancellationToken,
    kill: CancellationToken,
) {
    let mut connection = pin!(connection);
    // How it ends is of no interest: clients may leave at any time.
    tokio::select! {
        biased;
        () = kill.cancelled() => return,
        _ = connection.as_mut() => return,
        () = stop.cancelled() => shut_down(connection.as_mut()),
    }
    let _ = kill.run_until_cancelled(connection).await;
}
