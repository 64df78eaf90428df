//! Why the network failed, as reqwest reports it.

use std::error::Error;
use std::io;

use crate::machine::NetworkError;

/// What the machine has to know. There is no URL in it.
pub(super) fn of(error: &reqwest::Error) -> NetworkError {
    let (code, why) = reason(error);
    NetworkError {
        // Otherwise the connection broke later, and the server may have acted already.
        never_connected: error.is_connect() || error.is_builder(),
        why,
        code: code.map(str::to_owned),
    }
}

/// A word that programs know from Node, and a sentence.
fn reason(error: &reqwest::Error) -> (Option<&'static str>, String) {
    let chain = || sources(error);
    let last = chain().last().map(ToString::to_string).unwrap_or_default();
    if error.is_connect() && error.is_timeout() {
        let why = "no connection within 30 seconds".to_owned();
        return (Some("ETIMEDOUT"), why);
    }
    if chain().any(|inner| inner.to_string().starts_with("dns error")) {
        let why = format!("the name could not be resolved ({last})");
        return (Some("ENOTFOUND"), why);
    }
    if let Some(tls) = chain().find_map(tls_error) {
        let why = format!("TLS failed: {tls}");
        let code = match tls {
            rustls::Error::InvalidCertificate(_) => "ERR_TLS_CERTIFICATE",
            _ => "ERR_TLS",
        };
        return (Some(code), why);
    }
    if let Some(io) = chain().find_map(|inner| inner.downcast_ref::<io::Error>()) {
        return io_reason(innermost_io(io), &last);
    }
    if chain().any(is_early_end) {
        let why = "the server closed the connection before it had answered".to_owned();
        return (Some("ECONNRESET"), why);
    }
    if last.is_empty() {
        return (None, error_without_url(error));
    }
    (None, last)
}

/// Whether the connection ended where an answer, or the rest of one, was expected.
fn is_early_end(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_incomplete_message)
}

/// What is behind an error, outermost first.
fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let current = next?;
        next = current.source();
        Some(current)
    })
}

/// The TLS error that it is about, if it is about one.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<io::Error>().map(innermost_io) {
        Some(io) => io.get_ref()?.downcast_ref(),
        None => error.downcast_ref(),
    }
}

/// An `io::Error` may hold another one, which `source` passes over.
fn innermost_io(mut error: &io::Error) -> &io::Error {
    while let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        error = inner;
    }
    error
}

fn io_reason(error: &io::Error, last: &str) -> (Option<&'static str>, String) {
    let (code, why) = match error.kind() {
        io::ErrorKind::ConnectionRefused => ("ECONNREFUSED", "the connection was refused"),
        io::ErrorKind::ConnectionReset => ("ECONNRESET", "the server closed the connection"),
        io::ErrorKind::ConnectionAborted => ("ECONNABORTED", "the connection was aborted"),
        io::ErrorKind::BrokenPipe => ("EPIPE", "the server closed the connection"),
        io::ErrorKind::UnexpectedEof => ("ECONNRESET", "the connection ended in the middle"),
        io::ErrorKind::TimedOut => ("ETIMEDOUT", "the connection timed out"),
        io::ErrorKind::HostUnreachable => ("EHOSTUNREACH", "the host cannot be reached"),
        io::ErrorKind::NetworkUnreachable => ("ENETUNREACH", "the network cannot be reached"),
        _ => return (None, last.to_owned()),
    };
    (Some(code), why.to_owned())
}

fn error_without_url(error: &reqwest::Error) -> String {
    let what = if error.is_body() || error.is_decode() {
        "the response could not be read to its end"
    } else if error.is_request() {
        "the request could not be sent"
    } else {
        "the HTTP client gave no reason"
    };
    what.to_owned()
}
