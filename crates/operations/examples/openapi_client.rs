//! Calls an operation of an OpenAPI document: `openapi_client <url of the document> <operation> <input as JSON>`.

#![allow(clippy::print_stdout, reason = "a program")]

use operations::{CallError, OpenApi, Registry};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), CallError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), operation, input) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err(CallError::invalid("The URL of a document is needed"));
    };
    let registry = Registry::new();
    let ids = OpenApi::url("api", url).import(&registry).await?;
    let Some(operation) = operation else {
        println!("{}", ids.join("\n"));
        return Ok(());
    };
    let input: Value = serde_json::from_str(input.as_deref().unwrap_or("{}"))
        .map_err(|error| CallError::invalid(format!("The input is no JSON: {error}")))?;
    let envelope = registry.call(format!("api.{operation}"), input).await?;
    println!("{}", envelope.json());
    Ok(())
}
