//! What we answer when the server asks.

#![expect(
    deprecated,
    reason = "newer revisions drop sampling and log messages; servers go on using them"
)]

use std::sync::Arc;

use operations_core::log::{Level, Logger};
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, LoggingLevel,
    LoggingMessageNotificationParam, ProtocolVersion, SamplingCapability, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::Notify;

use crate::auth::tokens::Tokens;
use crate::client::host::{Host, Question};
use crate::config::ServerConfig;

/// A server's log lines are cut here.
const LOGGED: usize = 2 * 1024;

/// Our side of one connection.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) logger: Logger,
    pub(crate) tools_changed: Arc<Notify>,
    pub(crate) tokens: Tokens,
}

impl Handler {
    async fn ask<T: DeserializeOwned>(
        &self,
        question: Question,
        params: &impl Serialize,
    ) -> Result<T, ErrorData> {
        let refused = |why: String| ErrorData::internal_error(why, None);
        let json = serde_json::to_string(params).map_err(|error| refused(error.to_string()))?;
        let answer = self.host.ask(question, json).await.map_err(refused)?;
        serde_json::from_str(&answer).map_err(|error| {
            let message = format!(
                "The answer to a question ({}) of MCP server '{}' does not have the shape that the protocol \
                 prescribes: {error}",
                question.as_str(),
                self.config.name
            );
            self.log(Level::Error, &message);
            refused(format!("the client's answer cannot be used: {error}"))
        })
    }

    /// Answers a question to the user; without anybody who could ask the user, a polite refusal.
    pub(crate) async fn elicit(
        &self,
        params: ElicitRequestParams,
    ) -> Result<ElicitResult, ErrorData> {
        if self.config.answers_elicitation {
            return self.ask(Question::Elicitation, &params).await;
        }
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    pub(crate) async fn sample(
        &self,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorData> {
        if self.config.answers_sampling {
            return self.ask(Question::Sampling, &params).await;
        }
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }

    fn log(&self, level: Level, message: &str) {
        let facts = [("server", json!(self.config.name))];
        let message = self.config.secrets.hide(message);
        self.logger.log(level, "mcp", message, facts);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.config.answers_elicitation {
            capabilities.elicitation = Some(
                ElicitationCapability::new()
                    .with_form(FormElicitationCapability::new())
                    .with_url(UrlElicitationCapability::new()),
            );
        }
        if self.config.answers_sampling {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        let us = Implementation::new("@alkdev/operations", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.elicit(request).await
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.sample(params).await
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let level = match params.level {
            LoggingLevel::Debug => Level::Debug,
            LoggingLevel::Info | LoggingLevel::Notice => Level::Info,
            LoggingLevel::Warning => Level::Warning,
            _ => Level::Error,
        };
        let text = params
            .data
            .as_str()
            .map_or_else(|| params.data.to_string(), str::to_owned);
        let cut: String = text.chars().take(LOGGED).collect();
        self.log(
            level,
            &format!("MCP server '{}' says: {cut}", self.config.name),
        );
    }
}
