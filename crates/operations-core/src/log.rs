//! Log lines on their way to the application's own logger.
//!
//! A [`Logger`] is handed to whatever may want to say something; there is no global one, because a
//! process can hold several JavaScript environments (worker threads) with loggers of their own.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

/// How important a line is. The names are those of the public logger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who look into the machinery.
    Debug,
    /// Something worth knowing happened.
    Info,
    /// Something is not as it should be, and the work goes on.
    Warning,
    /// Something failed.
    Error,
}

impl Level {
    /// The name of the level in the public logger.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One log line. It never holds a secret: the code that logs leaves those out.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its importance.
    pub level: Level,
    /// The part of the package that speaks: the second word of the log category.
    pub module: &'static str,
    /// The sentence.
    pub message: String,
    /// Facts that belong to it.
    pub properties: Map<String, Value>,
}

/// Where log lines go. Cheap to clone; silent without a listener.
#[derive(Clone, Default)]
pub struct Logger {
    sink: Option<Arc<dyn Fn(Record) + Send + Sync>>,
}

impl Logger {
    /// A logger that hands every line to `sink`, from whichever thread the line is written on.
    pub fn new(sink: impl Fn(Record) + Send + Sync + 'static) -> Self {
        Self {
            sink: Some(Arc::new(sink)),
        }
    }

    /// A logger that drops every line.
    #[must_use]
    pub fn silent() -> Self {
        Self::default()
    }

    /// Writes a line.
    pub fn log(
        &self,
        level: Level,
        module: &'static str,
        message: impl Into<String>,
        properties: impl IntoIterator<Item = (&'static str, Value)>,
    ) {
        if let Some(sink) = &self.sink {
            sink(Record {
                level,
                module,
                message: message.into(),
                properties: properties
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect(),
            });
        }
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger")
            .field("silent", &self.sink.is_none())
            .finish()
    }
}
