//! A server on the loopback interface that says exactly what a test tells it to, and an operation to
//! call it with.

use std::fmt::Write as _;
use std::future::Future;
use std::sync::{Arc, Mutex};

use operations_http::message::{
    BodyPlan, HttpOperation, Location, Parameter, RequestPlan, ResponseKind,
};
use operations_http::{OAuthSurroundings, Service, ServiceSettings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(present, _)| present == name)
            .map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Answers each request with what `answer` writes; connections are closed afterwards.
    pub(crate) async fn start<A, F>(answer: A) -> Self
    where
        A: Fn(usize, Received, TcpStream) -> F + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let log = Arc::clone(&log);
                let answer = Arc::clone(&answer);
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut stream).await else {
                        return;
                    };
                    let number = {
                        let mut log = log.lock().unwrap();
                        log.push(request.clone());
                        log.len()
                    };
                    answer(number, request, stream).await;
                });
            }
        });
        Self { url, received }
    }

    /// Answers every request with the same bytes.
    pub(crate) async fn saying(text: impl Into<Vec<u8>>) -> Self {
        let text = Arc::new(text.into());
        Self::start(move |_, _, mut stream| {
            let text = Arc::clone(&text);
            async move {
                let _ = stream.write_all(&text).await;
            }
        })
        .await
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received {
        line,
        headers,
        body: bytes[end + 4..].to_vec(),
    })
}

/// A complete response that closes the connection.
pub(crate) fn response(status: &str, headers: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    let _ = write!(head, "Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

pub(crate) const JSON: &str = "Content-Type: application/json";
pub(crate) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";

pub(crate) fn service(url: &str, mut settings: Value) -> Arc<Service> {
    settings["baseUrl"] = json!(url);
    let settings = ServiceSettings::from_json(&settings.to_string()).unwrap();
    Arc::new(Service::new(settings, None, OAuthSurroundings::default()).unwrap())
}

/// An operation on `/`, with this method and this type of response.
pub(crate) fn operation(method: &str, media_type: &str) -> HttpOperation {
    HttpOperation {
        request: RequestPlan {
            method: method.to_uppercase(),
            path: "/".to_owned(),
            parameters: vec![Parameter::new("q", Location::Query)],
            body: (method != "get").then(|| BodyPlan::new(vec!["application/json".to_owned()])),
            accept: vec![media_type.to_owned()],
            statuses: Vec::new(),
        },
        response: ResponseKind::of_media_type(media_type),
        ..HttpOperation::default()
    }
}
