//! What a server, or its authorization, needs from the program that uses it.

use futures::future::BoxFuture;

/// The requests that only the user's program can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientRequest {
    /// The server asks the user for input: MCP's `elicitation/create`.
    Elicitation,
    /// The server wants a model to be run: MCP's `sampling/createMessage`.
    Sampling,
    /// The server asks for the roots: MCP's `roots/list`.
    Roots,
    /// The user has to visit a page: `{ url, redirectUrl }`, answered by the address that the browser was
    /// sent to, or by nothing.
    Authorize,
    /// An assertion by another party about who this program or its user is: a text that an authorization server believes.
    IdentityToken,
    /// The tokens that were saved, or `null`.
    LoadTokens,
    /// Tokens to be kept.
    SaveTokens,
    /// Tokens that are of no use any more.
    ClearTokens,
}

impl ClientRequest {
    /// Its name for JavaScript.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
            Self::Authorize => "authorize",
            Self::IdentityToken => "identityToken",
            Self::LoadTokens => "loadTokens",
            Self::SaveTokens => "saveTokens",
            Self::ClearTokens => "clearTokens",
        }
    }
}

/// The program that uses a server.
pub trait ClientCallbacks: Send + Sync + 'static {
    /// Sends it a request, in JSON; it answers in JSON, or says why it does not.
    fn request(
        &self,
        request: ClientRequest,
        json: String,
    ) -> BoxFuture<'static, Result<String, String>>;

    /// The tools have changed: `{ tools, problems }`, as JSON.
    fn tools_changed(&self, tools: String);

    /// What [`Client::status`](super::Client::status) says may have changed.
    fn status_changed(&self);
}
