//! A mailbox, for the facade.

use std::sync::Arc;

use napi::bindgen_prelude::{Array, ArrayBuffer, Either, Env};
use napi_derive::napi;
use operations_core::mailbox::{self, Attachment, Batch};

use super::wake::{Look, waker};

/// Where native work leaves what it has for JavaScript. Each kind of such work is given one.
#[napi]
pub struct Mailbox {
    pub(crate) inner: Arc<mailbox::Mailbox>,
}

#[napi]
impl Mailbox {
    /// `wake` is called when there is something to take. It does not keep the process alive; a waiting call does.
    #[napi(constructor, catch_unwind)]
    pub fn new(#[napi(ts_arg_type = "() => void")] wake: Look<'_>) -> napi::Result<Self> {
        Ok(Self {
            inner: Arc::new(mailbox::Mailbox::new(waker(&wake)?)),
        })
    }

    /// What is there, as `facade/interop/inbox.ts` reads it; nothing when nothing is.
    #[napi(
        ts_return_type = "string | [string, ...(string | ArrayBuffer)[]] | null",
        catch_unwind
    )]
    pub fn take<'env>(&self, env: &'env Env) -> napi::Result<Option<JsBatch<'env>>> {
        self.inner.take().map(|batch| to_js(env, batch)).transpose()
    }
}

/// A batch as JavaScript gets it: the text, with what goes beside it in an array if there is such.
pub(crate) type JsBatch<'env> = Either<String, Array<'env>>;

pub(crate) fn to_js(env: &Env, batch: Batch) -> napi::Result<JsBatch<'_>> {
    if batch.attachments.is_empty() {
        return Ok(Either::A(batch.text));
    }
    let mut array = env.create_array(0)?;
    array.set(0, batch.text)?;
    for (at, attachment) in (1..).zip(batch.attachments) {
        match attachment {
            Attachment::Text(text) | Attachment::Json(text) => array.set(at, text)?,
            Attachment::Bytes(bytes) => array.set(at, ArrayBuffer::from_data(env, bytes)?)?,
        }
    }
    Ok(Either::B(array))
}
