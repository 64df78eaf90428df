//! The explorer.

use http::Request;
use serde_json::json;

use crate::support::{json_of, send, served, text};

fn doors(path: &str) -> serde_json::Value {
    let files = json!([
        { "name": "index.html", "text": "<p>page</p>" },
        { "name": "main.mjs", "text": "script" },
    ]);
    json!({ "doors": { "http": { "path": "/api" }, "explorer": { "path": path, "files": files } } })
}

fn get(path: &str) -> Request<http_body_util::Full<bytes::Bytes>> {
    Request::get(path)
        .header("host", "localhost")
        .body(http_body_util::Full::default())
        .unwrap()
}

#[tokio::test]
async fn its_files_are_for_everybody() {
    let mut options = doors("");
    options["identity"] =
        json!({ "tokens": [["known", { "id": "ada", "scopes": ["admin"] }]], "anonymous": true });
    let served = served(&options);
    for path in ["/", "/index.html"] {
        let mut request = get(path);
        let odd = "Bearer unknown".parse().unwrap();
        request.headers_mut().insert("authorization", odd);
        let response = send(&served.service, request).await;
        assert_eq!(response.status(), 200, "{path}");
        let policy = response.headers()["content-security-policy"].clone();
        let policy = policy.to_str().unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert_eq!(text(response).await, "<p>page</p>");
    }
    let mut request = get("/status.json");
    let odd = "Bearer unknown".parse().unwrap();
    request.headers_mut().insert("authorization", odd);
    assert_eq!(send(&served.service, request).await.status(), 401);
}

#[tokio::test]
async fn what_it_lists_is_for_the_caller() {
    let mut options = doors("/explorer");
    options["identity"] =
        json!({ "tokens": [["known", { "id": "ada", "scopes": ["admin"] }]], "anonymous": true });
    let served = served(&options);
    let names = async |token: Option<&str>| {
        let mut request = get("/explorer/operations.json");
        if let Some(token) = token {
            let header = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", header);
        }
        let listed = json_of(send(&served.service, request).await).await;
        let operations = listed["operations"].as_array().unwrap().iter();
        let names = operations.map(|each| each["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(None).await, ["native", "flat", "stream"]);
    let all = ["native", "secret", "flat", "imported", "stream"];
    assert_eq!(names(Some("known")).await, all);
    // As a call would be refused.
    let one = get("/explorer/operation.json?namespace=t&name=secret");
    assert_eq!(send(&served.service, one).await.status(), 401);
    let one = get("/explorer/operation.json?namespace=t&name=flat");
    let one = json_of(send(&served.service, one).await).await;
    assert_eq!(
        (&one["method"], &one["path"]),
        (&json!("GET"), &json!("/t/flat"))
    );
}

#[tokio::test]
async fn a_folder_has_a_slash_at_its_end() {
    let served = served(&doors("/a/explorer"));
    let response = send(&served.service, get("/a/explorer")).await;
    assert_eq!(response.status(), 308);
    assert_eq!(response.headers()["location"], "explorer/");
    for (path, status) in [
        ("/a/explorer/", 200),
        ("/a/explorer/main.mjs", 200),
        ("/a/explorer/none", 404),
        ("/a/explorers", 404),
        ("/", 404),
    ] {
        let response = send(&served.service, get(path)).await;
        assert_eq!(response.status(), status, "{path}");
    }
    let status = json_of(send(&served.service, get("/a/explorer/status.json")).await).await;
    assert_eq!(status["api"], "../../api");
}
