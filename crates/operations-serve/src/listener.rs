//! Sockets in front of the service.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use operations_core::error::CallError;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::service::Service;

/// Connections at a time. More wait in the queue of the system.
const MOST_CONNECTIONS: usize = 16_384;
/// The most that the headers of a request may take.
const HEADER_BYTES: usize = 64 * 1024;
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
}

impl Listener {
    /// Opens a port; 0 is any that is free.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub async fn open(service: Service, host: &str, port: u16) -> Result<Self, CallError> {
        let listener = TcpListener::bind((host, port))
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
        };
        let accepting = Accepting {
            listener,
            service: opened.service.clone(),
            tasks: opened.tasks.clone(),
            stop: opened.stop.clone(),
            kill: opened.kill.clone(),
        };
        opened.tasks.spawn(accepting.run());
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
        format!("http://{address}")
    }

    /// Takes nothing new, ends streams, waits for what is under way, but no longer than this, and ends the rest.
    pub async fn close(&self, drain: Duration) {
        self.service.shared().closing.cancel();
        self.stop.cancel();
        self.tasks.close();
        if timeout(drain, self.tasks.wait()).await.is_err() {
            self.kill.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Listener {
    /// Nobody can close it any more.
    fn drop(&mut self) {
        self.stop.cancel();
        self.kill.cancel();
    }
}

fn cannot_listen(host: &str, port: u16, error: &io::Error) -> CallError {
    let reason = match error.kind() {
        io::ErrorKind::AddrInUse => "address-in-use",
        io::ErrorKind::PermissionDenied => "permission-denied",
        io::ErrorKind::AddrNotAvailable => "address-not-available",
        _ => "cannot-listen",
    };
    CallError::failed(format!(
        "serve: cannot listen on {host}, port {port}: {error}"
    ))
    .with_details(
        json!({ "reason": reason, "host": host, "port": port, "cause": error.to_string() }),
    )
}

struct Accepting {
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
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (service, stop, kill) =
                        (self.service.clone(), self.stop.clone(), self.kill.clone());
                    self.tasks.spawn(async move {
                        converse(stream, service, stop, kill).await;
                        drop(place);
                    });
                }
                Err(_) => sleep(AFTER_FAILURE).await,
            }
        }
    }
}

/// Answers the requests of one connection. A client that goes takes its unanswered request with it.
async fn converse(
    stream: TcpStream,
    service: Service,
    stop: CancellationToken,
    kill: CancellationToken,
) {
    // An answer is written in one piece: there is nothing to wait for. Without it, it works all the same.
    let _ = stream.set_nodelay(true);
    let shared = Arc::clone(service.shared());
    let _counted = shared.stats.connection();
    let answer = service_fn(move |request: Request<Incoming>| {
        let service = service.clone();
        async move {
            let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
            service.handle(request).await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.options.request_timeout)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    // How it ends is no news: clients go as they like.
    tokio::select! {
        biased;
        () = kill.cancelled() => return,
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        biased;
        () = kill.cancelled() => {}
        _ = connection => {}
    }
}
