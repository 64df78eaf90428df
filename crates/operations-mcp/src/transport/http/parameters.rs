//! Arguments that are also sent as headers ([`operations_http::message::mirrored`]): which ones, for each tool of a server.

use std::collections::HashMap;
use std::sync::RwLock;

use ::http::{HeaderName, HeaderValue};
use operations_core::lock::{reading, writing};
use operations_http::message::mirrored::Mirrored;
use serde::Deserialize;
use serde_json::Value;

use crate::transport::AnnotatedTool;

/// The arguments of each tool that are headers too.
#[derive(Default)]
pub(super) struct Parameters(RwLock<HashMap<String, Vec<Mirrored>>>);

impl Parameters {
    /// Remembers these tools, in place of those before. Returns which of them break the rules, and how.
    pub(super) fn learn(&self, annotated: &[AnnotatedTool]) -> HashMap<String, String> {
        let mut refused = HashMap::new();
        let mut learnt = HashMap::new();
        for AnnotatedTool { name, input_schema } in annotated {
            match Mirrored::all(input_schema) {
                Ok(mirrored) => drop(learnt.insert(name.clone(), mirrored)),
                Err(reason) => drop(refused.insert(name.clone(), reason)),
            }
        }
        *writing(&self.0) = learnt;
        refused
    }

    /// The headers of a call; `message` is the whole of it.
    pub(super) fn headers(
        &self,
        method: &str,
        name: &str,
        message: &[u8],
    ) -> Vec<(HeaderName, HeaderValue)> {
        #[derive(Deserialize)]
        struct Call {
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            arguments: Value,
        }
        let tools = reading(&self.0);
        let Some(mirrored) = tools.get(name).filter(|_| method == "tools/call") else {
            return Vec::new();
        };
        let Ok(call) = serde_json::from_slice::<Call>(message) else {
            return Vec::new();
        };
        let arguments = &call.params.arguments;
        mirrored
            .iter()
            .filter_map(|each| each.header(arguments))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_has_the_headers_of_its_tool() {
        let parameters = Parameters::default();
        let tool = |name: &str, input_schema| AnnotatedTool {
            name: name.to_owned(),
            input_schema,
        };
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let schema = json!({ "type": "object", "properties": { "region": region } });
        let broken = tool("walk", json!({ "x-mcp-header": "A" }));
        let refused = parameters.learn(&[tool("run", schema), broken]);
        assert_eq!(refused.into_keys().collect::<Vec<_>>(), ["walk"]);
        let message = json!({ "params": { "name": "run", "arguments": { "region": "eu" } } });
        let message = message.to_string();
        let headers = parameters.headers("tools/call", "run", message.as_bytes());
        assert_eq!(
            headers,
            [(
                HeaderName::from_static("mcp-param-region"),
                HeaderValue::from_static("eu")
            )]
        );
        assert!(
            parameters
                .headers("prompts/get", "run", message.as_bytes())
                .is_empty()
        );
        assert!(parameters.headers("tools/call", "run", b"{}").is_empty());
    }
}
