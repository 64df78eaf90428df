//! The explorer: a page to look at operations and to call them. Its files hold nothing that is secret, so that anyone who has
//! no token yet can open it and type one. What it shows is asked for with that token: [`listing`] for the operations that
//! a caller may call, and the HTTP door for the calls themselves.

mod file;
mod listing;

use std::sync::Arc;

use http::header::{ALLOW, LOCATION};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};

pub use self::file::File;
use self::file::Page;
use self::listing::PageRequest;
use super::http::problem;
use crate::body::{self, Body};
use crate::options::ExplorerDoor;
use crate::service::{Answered, Exchange, Shared};

/// The file that is there where no name is given.
const INDEX: &str = "index.html";

/// The files of the page, ready to be sent.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pages: Vec<Page>,
}

impl Pages {
    pub(crate) fn new(door: Option<&ExplorerDoor>) -> Self {
        let files = door.into_iter().flat_map(|door| &door.files);
        Self {
            pages: files.map(Page::new).collect(),
        }
    }

    /// The answer, where the request is for a file. It needs no identity.
    pub(crate) fn answer(
        &self,
        door: &ExplorerDoor,
        head: &Parts,
        request_id: &str,
    ) -> Option<Response<Body>> {
        let name = match below(door, head.uri.path())? {
            "" => return Some(to_folder(&door.path)),
            "/" => INDEX,
            name => name.strip_prefix('/')?,
        };
        let page = self.pages.iter().find(|page| page.name() == name)?;
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return Some(only_get(request_id));
        }
        Some(page.answer(&head.headers))
    }
}

/// Whether a path is one of those that [`serve`] answers.
pub(crate) fn is_listing(door: &ExplorerDoor, path: &str) -> bool {
    below(door, path).is_some_and(|name| listing::NAMES.contains(&name))
}

/// Answers what the page asks about operations and their server.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    door: &ExplorerDoor,
    exchange: Exchange,
) -> Answered {
    if exchange.head.method != Method::GET {
        return Ok(only_get(&exchange.request_id));
    }
    let uri = &exchange.head.uri;
    let request = PageRequest {
        caller: Arc::clone(&exchange.caller),
        query: uri.query().unwrap_or_default().to_owned(),
        request_id: Arc::clone(&exchange.request_id),
    };
    let name = below(door, uri.path()).unwrap_or_default().to_owned();
    drop(exchange);
    Ok(listing::answer(shared, door, &request, &name).await)
}

/// What is left of a path below the door. At the root, that is all of it.
fn below<'a>(door: &ExplorerDoor, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(door.path.as_str())?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The files name each other relative to their folder, which only a path with a slash at its end means. The location is
/// relative to the request: what is in front of this server may have taken a part of the path away.
fn to_folder(path: &str) -> Response<Body> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Ok(location) = HeaderValue::from_str(&format!("{name}/")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn only_get(request_id: &str) -> Response<Body> {
    let mut response = problem::wrong_method_of(&[Method::GET], request_id);
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}
