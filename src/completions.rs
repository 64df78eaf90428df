//! Results of work off the JavaScript thread, handed over in batches.
//!
//! A promise that native code settles costs a threadsafe function of its own: 5 to 8 us of the
//! JavaScript thread, where a whole call takes 15. So calls are numbers instead: what has ended is put
//! into one queue, JavaScript is woken once, and takes everything that is there.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{Array, ArrayBuffer, Env, Null};
use napi_derive::napi;
use operations_core::error::CallError;

use crate::border::wake::{Look, waker};

/// One result, as JavaScript gets it.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// About the result, and JSON that parses.
    Json(String, String),
    /// About the result, and a string.
    Text(String, String),
    /// About the result, and bytes.
    Bytes(String, Vec<u8>),
    /// About the result, which is `undefined`.
    Empty(String),
    /// An error, and bytes that belong into its details.
    Failed(CallError, Option<Vec<u8>>),
    /// Something can be taken elsewhere.
    Ready,
}

impl Outcome {
    /// The values that JavaScript gets of one result.
    pub(crate) const PARTS: u32 = 3;

    /// Writes kind, text and body into an array, from this place on.
    pub(crate) fn write(self, env: &Env, array: &mut Array<'_>, at: u32) -> napi::Result<()> {
        let (kind, about) = match &self {
            Self::Json(about, _) => (0, about.as_str()),
            Self::Text(about, _) => (1, about.as_str()),
            Self::Bytes(about, _) => (2, about.as_str()),
            Self::Empty(about) => (3, about.as_str()),
            Self::Failed(..) => (4, ""),
            Self::Ready => (5, ""),
        };
        array.set(at, kind)?;
        match &self {
            Self::Failed(error, _) => array.set(at + 1, error_text(error))?,
            _ => array.set(at + 1, about)?,
        }
        match self {
            Self::Json(_, body) | Self::Text(_, body) => array.set(at + 2, body),
            Self::Bytes(_, bytes) | Self::Failed(_, Some(bytes)) => {
                array.set(at + 2, ArrayBuffer::from_data(env, bytes)?)
            }
            Self::Empty(_) | Self::Failed(_, None) | Self::Ready => array.set(at + 2, Null),
        }
    }
}

/// An error as JSON: code, message and details.
fn error_text(error: &CallError) -> String {
    serde_json::to_string(error).unwrap_or_else(|_| {
        // A code and a message are always JSON; details that are not are left out.
        let bare = CallError::new(error.code.clone(), error.message.clone());
        serde_json::to_string(&bare).unwrap_or_default()
    })
}

/// The results that JavaScript has not taken yet. Each belongs to a call that JavaScript started, so
/// there are never more than calls.
pub(crate) struct Queue {
    ended: Mutex<Vec<(u32, Outcome)>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Queue {
    /// Hands a result over, from any thread.
    pub(crate) fn push(&self, id: u32, outcome: Outcome) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = ended.is_empty();
        ended.push((id, outcome));
        drop(ended);
        if was_empty {
            (self.wake)();
        }
    }
}

/// The results of calls, for one JavaScript environment.
#[napi]
pub struct Completions {
    pub(crate) queue: Arc<Queue>,
}

#[napi]
impl Completions {
    /// `wake` is called when there is something to take. It does not keep the process alive; whoever
    /// waits for a result does.
    #[napi(constructor)]
    pub fn new(wake: Look<'_>) -> napi::Result<Self> {
        let wake = waker(&wake)?;
        Ok(Self {
            queue: Arc::new(Queue {
                ended: Mutex::default(),
                wake: Box::new(wake),
            }),
        })
    }

    /// Everything that has ended: id, kind, text and body of each in turn.
    #[napi]
    pub fn take<'env>(&self, env: &'env Env) -> napi::Result<Array<'env>> {
        let mut ended = self
            .queue
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::take(&mut *ended);
        let mut array = env.create_array(0)?;
        let mut at = 0;
        for (id, outcome) in ended {
            array.set(at, id)?;
            outcome.write(env, &mut array, at + 1)?;
            at += 1 + Outcome::PARTS;
        }
        Ok(array)
    }
}
