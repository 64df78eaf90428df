//! A worker over NATS: `worker <nats://host:port> <name>`. Start as many as you like, they share the calls. Callers may be of the
//! npm package as well.

#![allow(clippy::print_stdout, reason = "a program")]

use std::future::ready;

use operations::{CallError, Context, Operation, Registry, connect_nats};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Words {
    /// What to count the words of.
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), CallError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(server), name) = (arguments.next(), arguments.next()) else {
        return Err(CallError::invalid("The address of a NATS server is needed"));
    };
    let name = name.unwrap_or_else(|| "worker".to_owned());
    let registry = Registry::new();
    let worker = name.clone();
    let count = Operation::query("text", "words", move |input: Words, _: Context| {
        let words = input.text.split_whitespace().count();
        ready(Ok(json!({ "words": words, "worker": worker })))
    });
    registry.register(count.description("Counts words"))?;
    let nats = connect_nats(server, name).await?;
    nats.serve(&registry).await?;
    println!("ready");
    let _ = tokio::signal::ctrl_c().await;
    nats.close().await;
    Ok(())
}
