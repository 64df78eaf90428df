//! A body that may not be larger than a limit.

use crate::message::{Secret, transport};
use operations_core::error::CallError;
use reqwest::Response;

use crate::failure;

/// What is set aside before the first byte has come, whatever the server announces.
const LARGEST_GUESS: usize = 1024 * 1024;

/// Why a body was not read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The connection broke.
    Lost(reqwest::Error),
    /// There is more of it than allowed.
    TooLarge,
}

impl BodyError {
    pub(crate) fn describe(&self, host: &str, limit: usize, secrets: &[Secret]) -> CallError {
        match self {
            Self::Lost(error) => failure::describe(error, host, secrets),
            Self::TooLarge => transport::too_large(host, limit),
        }
    }
}

/// The whole body, decompressed. Never more than `limit` bytes and one chunk are in memory.
pub(crate) async fn collect(response: &mut Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    let announced = response.content_length();
    let announced = announced.map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced > limit {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::with_capacity(announced.min(LARGEST_GUESS));
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Lost)? {
        if chunk.len() > limit - body.len() {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
