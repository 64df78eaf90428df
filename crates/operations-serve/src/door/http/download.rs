//! Results in files: what stands for one in an answer, and the download with its ranges.

use std::sync::Arc;

use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_LOCATION,
    CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, RANGE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use operations_spill::{Range, asked_range};

use super::{answer, problem};
use crate::body::{self, Body};
use crate::service::{Answered, Exchange, Shared};
use crate::spilled::Download;

/// Where downloads are, below the door. No namespace begins with a dot.
const BELOW: &str = "/.spilled/";

/// The name of the download that a path is for.
pub(super) fn token(path: &str) -> Option<&str> {
    path.strip_prefix(BELOW)
}

/// Where a download is.
pub(super) fn address(door: &str, download: &Download) -> String {
    format!("{door}{BELOW}{}", download.token)
}

/// Answers a request for a download.
pub(super) async fn serve(shared: &Shared, exchange: Exchange, token: &str) -> Answered {
    let Exchange {
        head,
        request_id,
        caller,
        ..
    } = exchange;
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Ok(problem::wrong_method("GET, HEAD", &request_id));
    }
    let Some(download) = shared.downloads.find(token, &caller) else {
        return Ok(problem::not_found(&request_id));
    };
    let answer = respond(&head, &download).await;
    Ok(answer.unwrap_or_else(|_| problem::not_found(&request_id)))
}

async fn respond(head: &Parts, download: &Arc<Download>) -> std::io::Result<Response<Body>> {
    let tag = tag(download);
    let all = Range {
        start: 0,
        end: download.bytes(),
    };
    let says = |name: HeaderName| {
        head.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    let is_known = says(IF_NONE_MATCH).is_some_and(|known| {
        known
            .split(',')
            .any(|known| known.trim() == "*" || known.trim().trim_start_matches("W/") == tag)
    });
    if is_known {
        let mut response = Response::new(body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        describe(response.headers_mut(), download);
        return Ok(response);
    }
    // A part of something else is of no use.
    let wants_part = says(IF_RANGE).is_none_or(|known| known == tag);
    let asked = says(RANGE).filter(|_| wants_part && head.method == Method::GET);
    let part = asked.map_or(Ok(None), |asked| asked_range(asked, download.bytes()));
    let Ok(part) = part else {
        let mut response = Response::new(body::empty());
        *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
        describe(response.headers_mut(), download);
        set(
            response.headers_mut(),
            CONTENT_RANGE,
            &format!("bytes */{}", download.bytes()),
        );
        return Ok(response);
    };
    let range = part.unwrap_or(all);
    let body = if head.method == Method::HEAD {
        body::empty()
    } else {
        download.body(range).await?
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    describe(headers, download);
    headers.insert(CONTENT_TYPE, media_type(download));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    if part.is_some() {
        let range_text = format!("bytes {}-{}/{}", range.start, range.end - 1, all.end);
        set(headers, CONTENT_RANGE, &range_text);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// What every answer about a download says.
fn describe(headers: &mut HeaderMap, download: &Download) {
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    set(headers, ETAG, &tag(download));
    answer::secure_headers(headers);
}

/// The whole file as the body of an answer to a call. It says where the same can be had in parts.
pub(super) async fn whole(
    door: &str,
    download: &Download,
    status: StatusCode,
) -> std::io::Result<Response<Body>> {
    let all = Range {
        start: 0,
        end: download.bytes(),
    };
    let mut response = Response::new(download.body(all).await?);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media_type(download));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(download.bytes()));
    set(headers, CONTENT_LOCATION, &address(door, download));
    set(headers, ETAG, &tag(download));
    Ok(response)
}

fn tag(download: &Download) -> String {
    format!("\"{}\"", download.sha256())
}

fn media_type(download: &Download) -> HeaderValue {
    HeaderValue::try_from(download.content_type.as_str())
        .unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}
