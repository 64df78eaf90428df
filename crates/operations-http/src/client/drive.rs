//! Doing what a machine says.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use operations_core::error::CallError;
use operations_spill::{SpillFile, SpillStore};
use reqwest::{Response, StatusCode};

use super::network_error;
use super::send::{head, send};
use super::service::Service;
use crate::machine::{Input, Machine, NetworkError, Output, Step, StreamItem};
use crate::message::Failure;

/// The time of Tokio's clock.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Drives a machine until there is something to take from it. `response` is the one that is open; to
/// drop it is to close its connection.
pub(super) async fn advance(
    machine: &mut Machine,
    response: &mut Option<Response>,
    service: &Service,
    spills: Option<&Arc<SpillStore>>,
) {
    let mut sink = Sink { spills, file: None };
    let mut clock = pin!(None);
    let mut clock_rings = None;
    loop {
        let step = machine.step();
        if matches!(step, Step::Deliver | Step::Done) || machine.is_passing_on() {
            return;
        }
        let deadline = machine.deadline();
        if clock_rings != deadline {
            clock_rings = deadline;
            clock.set(deadline.map(|at| tokio::time::sleep_until(at.into())));
        }
        let ring = async {
            match clock.as_mut().as_pin_mut() {
                Some(clock) => clock.await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = perform(step, machine, response, service, &mut sink) => {}
            () = ring => {
                machine.handle(Input::Tick, now());
            }
        }
    }
}

async fn perform(
    step: Step,
    machine: &mut Machine,
    response: &mut Option<Response>,
    service: &Service,
    sink: &mut Sink<'_>,
) {
    match (step, &mut *response) {
        (Step::Send, _) => {
            *response = None;
            sink.file = None;
            let sent = send_with_token(machine, service).await;
            let input = match sent {
                Ok(sent) => head(response.insert(sent)),
                Err(input) => input,
            };
            machine.handle(input, now());
        }
        (Step::Read, Some(response)) => read(machine, response, sink).await,
        (Step::Read, None) => {
            machine.handle(Input::Failed(NetworkError::default()), now());
        }
        _ => {
            *response = None;
            pending::<()>().await;
        }
    }
}

/// Sends the request, with a token where the service has to get one. A server that refuses the token is asked once more, with a new
/// one.
async fn send_with_token(
    machine: &mut Machine,
    service: &Service,
) -> Result<Response, Input<'static>> {
    let connections = service.pool.get().map_err(Input::Refused)?;
    let oauth = service.oauth.as_ref().filter(|_| machine.wants_token());
    let Some(oauth) = oauth else {
        return send(&connections, machine.outgoing()).await;
    };
    let caller_token = machine.caller_token().cloned();
    let token = oauth
        .token(caller_token.as_ref(), None)
        .await
        .map_err(Input::Refused)?;
    machine.authorize(&token).map_err(Input::Refused)?;
    let response = send(&connections, machine.outgoing()).await?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return Ok(response);
    }
    // Without a new token, what the server said is the better answer.
    let Ok(token) = oauth.token(caller_token.as_ref(), Some(&token)).await else {
        return Ok(response);
    };
    drop(response);
    machine.authorize(&token).map_err(Input::Refused)?;
    send(&connections, machine.outgoing()).await
}

/// Waits for one piece. Of a stream, those that are there already are taken along.
async fn read(machine: &mut Machine, response: &mut Response, sink: &mut Sink<'_>) {
    let mut piece = response.chunk().await;
    loop {
        let input = match &piece {
            Ok(Some(bytes)) => Input::Chunk(bytes),
            Ok(None) => sink.end().await,
            Err(error) => Input::Failed(network_error::of(error)),
        };
        machine.handle(input, now());
        if let (Some(start), Ok(Some(bytes))) = (machine.spilling(), &piece)
            && let Err(error) = sink.write(start, bytes).await
        {
            machine.handle(Input::Refused(error), now());
        }
        if !machine.has_room() {
            return;
        }
        let mut ready = response.chunk().now_or_never();
        if ready.is_none() {
            // The connection is read by a task of its own, which may be just about to run.
            tokio::task::yield_now().await;
            ready = response.chunk().now_or_never();
        }
        let Some(ready) = ready else { return };
        piece = ready;
    }
}

/// Where the body of a response goes that is too large for memory.
struct Sink<'s> {
    spills: Option<&'s Arc<SpillStore>>,
    file: Option<SpillFile>,
}

impl Sink<'_> {
    /// Takes a piece of the body; of a file that begins, all there was so far.
    async fn write(&mut self, start: &[u8], piece: &[u8]) -> Result<(), CallError> {
        if let Some(file) = &mut self.file {
            return file.write(piece).await;
        }
        let store = self
            .spills
            .ok_or_else(|| CallError::failed("There is no file for a large response"))?;
        let file = self.file.insert(SpillFile::create(store).await?);
        file.write(start).await
    }

    /// What the end of the body means.
    async fn end(&mut self) -> Input<'static> {
        match self.file.take() {
            Some(file) => match file.finish().await {
                Ok(spilled) => Input::Spilled(spilled),
                Err(error) => Input::Refused(error),
            },
            None => Input::End,
        }
    }
}

/// An open stream. It reads from its connection only while a reader waits, so a slow consumer slows
/// the server down. To drop it is to close the connection.
pub struct StreamReader {
    service: Arc<Service>,
    machine: Machine,
    response: Option<Response>,
}

impl std::fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl StreamReader {
    pub(super) fn new(service: Arc<Service>, machine: Machine) -> Self {
        Self {
            service,
            machine,
            response: None,
        }
    }

    /// What comes next: the head of a response, then its events or lines in batches; nothing at the
    /// end.
    ///
    /// # Errors
    /// When the connection breaks, when an event is too large, or when the stream could not be
    /// opened again. Everything before that has been handed over.
    pub async fn next(&mut self) -> Result<Option<StreamItem>, Failure> {
        advance(&mut self.machine, &mut self.response, &self.service, None).await;
        match self.machine.take() {
            Some(Output::Item(item)) => Ok(Some(item)),
            Some(Output::Failed(failure)) => {
                self.response = None;
                Err(failure)
            }
            Some(Output::End | Output::Reply(_)) | None => {
                self.response = None;
                Ok(None)
            }
        }
    }

    /// Closes the connection, and returns what that is as an error.
    pub(super) fn abort(&mut self) -> Failure {
        self.response = None;
        self.machine.abort()
    }
}
