//! Trying again, where the policy of the service allows it.

use std::time::{Duration, SystemTime};

use crate::message::retry::{self, Failure as Why};
use crate::message::{ResponseHead, RetryPolicy};
use operations_core::error::CallError;

use crate::exchange::Broken;
use crate::outcome::Failure;
use crate::random;

/// A try that failed.
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// What another try has to know; nothing when it would not help.
    pub(crate) why: Option<Why>,
    /// What the server said in `Retry-After`.
    pub(crate) retry_after: Option<Duration>,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            why: None,
            retry_after: None,
        }
    }
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        Failure::from(error).into()
    }
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Self {
        Self {
            why: broken.kind,
            ..(*broken.error).into()
        }
    }
}

/// Does the work, and again as often and as patiently as the policy says for this method. The error
/// tells how often.
pub(crate) async fn with_retries<T, F>(
    policy: RetryPolicy,
    method: &str,
    mut work: impl FnMut() -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failed>>,
{
    let mut tries = 1;
    loop {
        let failed = match work().await {
            Ok(done) => return Ok(done),
            Err(failed) => failed,
        };
        let after = failed.retry_after;
        let jitter = random::fraction();
        let pause = failed
            .why
            .and_then(|why| policy.delay(tries, method, why, after, jitter));
        let Some(pause) = pause else {
            let mut failure = failed.failure;
            failure.error = Box::new(retry::with_tries(*failure.error, tries));
            return Err(failure);
        };
        tokio::time::sleep(pause).await;
        tries += 1;
    }
}

/// What the server asks for, if it asks.
pub(crate) fn retry_after(head: &ResponseHead) -> Option<Duration> {
    let value = head.headers.get("retry-after")?.as_str()?;
    retry::retry_after(value, SystemTime::now())
}
