//! What a server asks of the program that uses it.

use futures::future::BoxFuture;

/// The questions that only the user's program can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// The server wants to know something from the user: MCP's `elicitation/create`.
    Elicitation,
    /// The server wants a model to be run: MCP's `sampling/createMessage`.
    Sampling,
    /// The user has to visit a page: `{ url, redirectUrl }`, answered by the address that the browser was
    /// sent to, or by nothing.
    Authorize,
    /// What somebody else says about who this program or its user is: a text that an authorization server believes.
    IdentityToken,
    /// The tokens that were saved, or `null`.
    LoadTokens,
    /// Tokens to be kept.
    SaveTokens,
    /// Tokens that are of no use any more.
    ClearTokens,
}

impl Question {
    /// The word for it at the border to JavaScript.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Authorize => "authorize",
            Self::IdentityToken => "identityToken",
            Self::LoadTokens => "loadTokens",
            Self::SaveTokens => "saveTokens",
            Self::ClearTokens => "clearTokens",
        }
    }
}

/// The program that uses a server.
pub trait Host: Send + Sync + 'static {
    /// Asks it something, in JSON; it answers in JSON, or says why it does not.
    fn ask(&self, question: Question, json: String) -> BoxFuture<'static, Result<String, String>>;

    /// The tools have changed: `{ tools, problems }`, as JSON.
    fn tools_changed(&self, tools: String);
}
