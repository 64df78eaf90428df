//! What native code reports to the program that uses it. In the npm package JavaScript reads it; here this does.

use std::sync::Arc;

use operations_core::mailbox::{Kind, Mailbox};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

/// Where reports arrive.
pub(crate) struct Inbox {
    pub(crate) mailbox: Arc<Mailbox>,
    wake: Arc<Notify>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let wake = Arc::new(Notify::new());
        let woken = Arc::clone(&wake);
        let mailbox = Arc::new(Mailbox::new(move || woken.notify_one()));
        Self { mailbox, wake }
    }

    /// Hands each item to a function, until what this returns is dropped: of what kind it is, whom it is for, and its JSON.
    pub(crate) fn read(
        self,
        mut handle: impl FnMut(Kind, &str, &str) + Send + 'static,
    ) -> AbortOnDropHandle<()> {
        let Self { mailbox, wake } = self;
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                while let Some(batch) = mailbox.take() {
                    let items: Vec<&RawValue> =
                        serde_json::from_str(&batch.text).unwrap_or_default();
                    // The first says whether there is more.
                    for item in items.iter().skip(1) {
                        let parts: Vec<&RawValue> =
                            serde_json::from_str(item.get()).unwrap_or_default();
                        let text = |at: usize| parts.get(at).map_or("null", |part| part.get());
                        let to: String = serde_json::from_str(text(1)).unwrap_or_default();
                        if let Some(kind) = kind(text(0)) {
                            handle(kind, &to, text(2));
                        }
                    }
                }
                wake.notified().await;
            }
        }))
    }
}

/// The kinds that are of use here.
fn kind(number: &str) -> Option<Kind> {
    let number: u8 = number.parse().ok()?;
    let kinds = [
        Kind::Done,
        Kind::Failed,
        Kind::Event,
        Kind::Ended,
        Kind::Asked,
        Kind::Changed,
    ];
    kinds.into_iter().find(|kind| *kind as u8 == number)
}
