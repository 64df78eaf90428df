//! A hub: local operations, tools of an MCP server, the operations of an OpenAPI document, and whatever programs offer that
//! connect. `examples/hub.mjs` is the same hub with the npm package, and a test compares their answers.
//!
//! `hub [script of an MCP server] [URL of a document]`

#![allow(clippy::print_stdout, reason = "a program")]

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, stream};
use operations::{
    AccessControl, CallError, Context, Identity, Import, McpServer, OpenApi, Operation, Registry,
    serve,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct NewTask {
    #[schemars(length(min = 1))]
    title: String,
}

#[derive(Deserialize, JsonSchema)]
struct TaskId {
    id: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Limit {
    to: u32,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Task {
    id: u32,
    title: String,
}

fn register_tasks(registry: &Registry) -> Result<(), CallError> {
    let tasks: Arc<Mutex<Vec<Task>>> = Arc::default();

    // A closure that captures something is a plain one, and returns the future: here a result that is there at once.
    let all = Arc::clone(&tasks);
    let add = Operation::mutation(
        "tasks",
        "add",
        move |NewTask { title }: NewTask, _: Context| {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let id = all.last().map_or(1, |last| last.id + 1);
            all.push(Task {
                id,
                title: title.clone(),
            });
            ready(Ok(Task { id, title }))
        },
    );
    let add = add.access(AccessControl::scopes(["tasks:write"]));
    registry.register(add.description("Adds a task"))?;

    let get = Operation::query("tasks", "get", move |TaskId { id }: TaskId, _: Context| {
        let all = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|task| task.id == id).cloned();
        let missing = || CallError::new("TASK_NOT_FOUND", format!("There is no task {id}"));
        ready(found.ok_or_else(missing))
    });
    let get = get.error("TASK_NOT_FOUND", Some(404));
    registry.register(get.description("A task by its number"))?;

    let fail = Operation::query("tasks", "fail", async |_: Limit, _: Context| {
        Err::<Task, _>(CallError::unexpected("the password is hunter2"))
    });
    registry.register(fail.description("Fails in a way that callers should not read"))?;

    let count = Operation::subscription("tasks", "count", |Limit { to }: Limit, _: Context| {
        stream::iter(1..=to).map(Ok)
    });
    registry.register(count.description("Counts"))
}

#[tokio::main]
async fn main() -> Result<(), CallError> {
    let mut arguments = std::env::args().skip(1);
    let registry = Registry::new();
    register_tasks(&registry)?;
    let mut notes = None;
    if let Some(script) = arguments.next() {
        let server = McpServer::command("notes", "node").args([script]);
        notes = Some(server.import(&registry).await?);
    }
    if let Some(url) = arguments.next() {
        OpenApi::url("shop", url).import(&registry).await?;
    }
    let server = serve(&registry)
        .name("hub", "1.0.0")
        .token("ada-token", &Identity::new("ada", ["tasks:write"]))
        .token("bob-token", &Identity::new("bob", [] as [&str; 0]))
        .anonymous()
        .hub(|spoke| Some(Import::new().namespace(&spoke.name)))
        .listen("127.0.0.1:0")
        .await?;
    println!("{}", server.url());
    let _ = tokio::signal::ctrl_c().await;
    server.close().await;
    if let Some(notes) = notes {
        notes.close().await;
    }
    Ok(())
}
