//! Where a service is, according to its document.

use std::sync::Arc;

use indexmap::IndexMap;

use super::document::{At, Document};
use super::tree::Tree;
use super::version::Version;
use operations_http::message::Server;

/// The servers of the whole document, in its order. Swagger 2.0's `host` and `schemes` become
/// servers too; its `basePath` belongs to the paths.
pub(super) fn of_document(document: &Document) -> Arc<[Server]> {
    let root = document.start();
    if document.version() == Version::Swagger2 {
        return of_host(&root).into();
    }
    of_list(root.get("servers").as_ref()).unwrap_or_else(|| Arc::from([relative()]))
}

/// What a document without servers means: the place it came from.
fn relative() -> Server {
    Server {
        url: "/".to_owned(),
        variables: IndexMap::new(),
    }
}

fn of_host(root: &At<'_>) -> Vec<Server> {
    let Some(host) = root
        .string("host")
        .map(str::trim)
        .filter(|host| !host.is_empty())
    else {
        return vec![relative()];
    };
    let schemes: Vec<&str> = root
        .get("schemes")
        .iter()
        .filter_map(|list| list.value.as_array())
        .flatten()
        .filter_map(Tree::as_str)
        .collect();
    let url = |prefix: String| Server {
        url: format!("{prefix}//{}", host.trim_end_matches('/')),
        variables: IndexMap::new(),
    };
    if schemes.is_empty() {
        // Without a scheme, that of the document's own URL counts.
        return vec![url(String::new())];
    }
    schemes
        .into_iter()
        .map(|scheme| url(format!("{scheme}:")))
        .collect()
}

/// The servers of a `servers` list; nothing when the list says nothing.
pub(super) fn of_list(list: Option<&At<'_>>) -> Option<Arc<[Server]>> {
    let servers: Vec<Server> = list?.items().filter_map(|item| server(&item)).collect();
    (!servers.is_empty()).then(|| servers.into())
}

fn server(item: &At<'_>) -> Option<Server> {
    let url = item.string("url")?.trim().to_owned();
    let mut variables = IndexMap::new();
    for (name, variable) in item.get("variables").iter().flat_map(At::entries) {
        let first_of_enum = || variable.get("enum")?.value.as_array()?.first();
        let default = variable.get("default").map(|at| at.value);
        let text = match default.or_else(first_of_enum) {
            Some(Tree::String(text)) => text.to_string(),
            Some(Tree::Number(number)) => number.to_string(),
            Some(Tree::Bool(flag)) => flag.to_string(),
            _ => continue,
        };
        variables.insert(name.to_owned(), text);
    }
    Some(Server { url, variables })
}
