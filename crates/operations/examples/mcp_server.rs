//! An MCP server with two operations, which are served over HTTP too.

#![allow(clippy::print_stdout, reason = "a program")]

use operations::{CallError, Context, Operation, Registry, serve};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// Whom to greet.
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Greeting {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Divide {
    dividend: f64,
    divisor: f64,
}

#[tokio::main]
async fn main() -> Result<(), CallError> {
    let registry = Registry::new();
    let greet = Operation::query("demo", "greet", async |input: Greet, _: Context| {
        let text = format!("Hello, {}!", input.name);
        Ok(Greeting { text })
    });
    registry.register(greet.description("Greets by name"))?;
    let divide = Operation::query("demo", "divide", async |input: Divide, _: Context| {
        if input.divisor == 0.0 {
            let message = "The divisor must not be 0";
            return Err(CallError::new("DIVISION_BY_ZERO", message));
        }
        Ok(input.dividend / input.divisor)
    });
    let divide = divide.description("Divides two numbers");
    registry.register(divide.error("DIVISION_BY_ZERO", Some(422)))?;

    let server = serve(&registry)
        .name("demo", "1.0.0")
        .listen("127.0.0.1:0")
        .await?;
    println!("Listening at {}", server.url());
    let _ = tokio::signal::ctrl_c().await;
    server.close().await;
    Ok(())
}
