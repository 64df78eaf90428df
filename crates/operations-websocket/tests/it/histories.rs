//! Random histories: two ends call each other and subscribe, calls are aborted and time out, consumers are slow or leave,
//! and the connection is cut with what was on it. What must hold: every request has exactly one outcome, and the one
//! that its operation gives; events arrive in order and without a gap; what is said not to have been delivered was not;
//! no side sends more than was requested; and nothing is left behind.
//!
//! `OPERATIONS_SEED` repeats one history, as far as the scheduler lets it; `OPERATIONS_RUNS` makes more of them.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use operations_core::call::Kind;
use operations_core::call::submission::NewRequest;
use operations_core::clock::now;
use operations_core::error::CallError;
use operations_core::mailbox::Mailbox;
use operations_websocket::limits::STREAM_WINDOW;
use operations_websocket::session::{End, Settings};
use operations_websocket::{Answered, Incoming, Peer, Role, Serving, Session};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, yield_now};

use crate::support::{Alive, envelope, run, settings};

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What an operation is to do, which its input says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// Answers with the number of the request.
    Answer,
    Fail,
    Never,
    /// So many events, and then an end.
    Stream(u64, Last),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Complete,
    Fail,
    Never,
}

impl Plan {
    fn random(random: &mut Random) -> Self {
        match random.below(10) {
            0..3 => Self::Answer,
            3 => Self::Fail,
            4 => Self::Never,
            _ => {
                let last = [Last::Complete, Last::Complete, Last::Fail, Last::Never];
                let events = if random.chance(30) { 400 } else { 8 };
                let last = last[usize::try_from(random.below(4)).unwrap()];
                Self::Stream(random.below(events), last)
            }
        }
    }
}

/// What one end does for the other.
#[derive(Default)]
struct Served {
    plans: Mutex<BTreeMap<String, Plan>>,
    begun: Mutex<BTreeSet<String>>,
    alive: Arc<AtomicUsize>,
    /// Events that were sent, by request.
    sent: Arc<Mutex<BTreeMap<String, u64>>>,
}

fn no_luck() -> CallError {
    CallError::new("NO_LUCK", "it failed")
}

impl Serving for Served {
    fn call(&self, incoming: Incoming) -> BoxFuture<'static, Result<Answered, CallError>> {
        let id = incoming.request_id;
        let plan = self.plans.lock().unwrap()[&id];
        let is_new = self.begun.lock().unwrap().insert(id.clone());
        assert!(is_new, "{id} is begun twice");
        let alive = Alive::new(&self.alive);
        let sent = Arc::clone(&self.sent);
        let pauses: u64 = incoming.input.unwrap().parse().unwrap();
        async move {
            for _ in 0..pauses {
                yield_now().await;
            }
            let (events, last) = match plan {
                Plan::Answer => return Ok(Answered::One(envelope(id))),
                Plan::Fail => return Err(no_luck()),
                Plan::Never => {
                    let _alive = alive;
                    return pending().await;
                }
                Plan::Stream(events, last) => (events, last),
            };
            let numbers = stream::iter(1..=events).then(move |at| {
                let _ = &alive;
                *sent.lock().unwrap().entry(id.clone()).or_default() = at;
                async move {
                    if at.is_multiple_of(7) {
                        yield_now().await;
                    }
                    Ok(envelope(at))
                }
            });
            let end = async move {
                match last {
                    Last::Complete => None,
                    Last::Fail => Some(Err(no_luck())),
                    Last::Never => pending().await,
                }
            };
            let end = stream::once(end).filter_map(|end| async { end });
            Ok(Answered::Many(numbers.chain(end).boxed()))
        }
        .boxed()
    }

    fn operations(&self) -> BoxFuture<'static, Result<Vec<String>, CallError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn offered(&self, _: String) -> BoxFuture<'static, Result<String, CallError>> {
        async { Ok("{}".to_owned()) }.boxed()
    }
}

/// A request, and what its caller got.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is something that may have happened"
)]
struct Asked {
    plan: Plan,
    is_stream: bool,
    has_deadline: bool,
    /// It was made for another request, and ends with that one.
    has_parent: bool,
    /// Its caller may have ended it.
    was_ended: bool,
    has_left: bool,
    events: u64,
    consumed: u64,
    /// How it ended: `done`, `ended` or an error.
    outcome: Option<Value>,
}

/// One of the two ends.
struct Side {
    peer: Arc<Peer>,
    mailbox: Arc<Mailbox>,
    served: Arc<Served>,
    asked: BTreeMap<String, Asked>,
}

/// A connection between the two: sessions, and what is between them.
struct Wire {
    sessions: [(Arc<Session>, JoinHandle<End>); 2],
    between: JoinHandle<()>,
}

struct World {
    random: Random,
    sides: [Side; 2],
    wire: Option<Wire>,
    settings: Settings,
    made: u64,
    cuts: u32,
    tally: BTreeMap<String, u64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let side = |name| Side {
            peer: Peer::new(name),
            mailbox: Arc::new(Mailbox::new(|| {})),
            served: Arc::default(),
            asked: BTreeMap::new(),
        };
        let max_calls = if random.chance(20) { 3 } else { 1_000 };
        Self {
            sides: [side("left"), side("right")],
            wire: None,
            settings: Settings {
                max_calls,
                ..settings()
            },
            made: 0,
            cuts: 0,
            tally: BTreeMap::new(),
            random,
        }
    }

    async fn connect(&mut self) {
        if self.wire.is_some() {
            return;
        }
        let room = usize::try_from(64 + self.random.below(8_000)).unwrap();
        let (left, mut left_far) = tokio::io::duplex(room);
        let (right, mut right_far) = tokio::io::duplex(room);
        let between = tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut left_far, &mut right_far).await;
        });
        let mut sessions = Vec::new();
        for (at, pipe, role) in [(0, left, Role::Server), (1, right, Role::Client)] {
            let side = &self.sides[at];
            let serving = Arc::clone(&side.served) as Arc<dyn Serving>;
            let running = run(&side.peer, serving, self.settings.clone(), pipe, role).await;
            sessions.push((running.session, running.end));
        }
        let mut sessions = sessions.into_iter();
        self.wire = Some(Wire {
            sessions: [sessions.next().unwrap(), sessions.next().unwrap()],
            between,
        });
    }

    /// Cuts the connection. What was on it is lost.
    async fn cut(&mut self) {
        let Some(wire) = self.wire.take() else { return };
        self.cuts += 1;
        wire.between.abort();
        for (at, (session, end)) in wire.sessions.into_iter().enumerate() {
            let end = end.await.unwrap();
            self.sides[at].peer.disconnected(&end.why);
            for _ in 0..10_000 {
                if session.running() == 0 {
                    break;
                }
                yield_now().await;
            }
            assert_eq!(session.running(), 0, "a session works on after its end");
        }
    }

    fn request(&mut self, at: usize) {
        self.made += 1;
        let id = format!("{}-{}", ["left", "right"][at], self.made);
        let plan = Plan::random(&mut self.random);
        // A subscription to what has one answer has no end of its own.
        let is_stream = matches!(plan, Plan::Stream(..)) && self.random.chance(80);
        let has_deadline = !is_stream && self.random.chance(20);
        let deadline = has_deadline.then(|| now() + self.random.below(4) as f64);
        let parent = self.sides[at].asked.keys().last().cloned();
        let parent = parent.filter(|_| self.random.chance(10));
        let pauses = self.random.below(5);
        let mut payload = json!({ "requestId": id, "operationId": "o", "input": pauses });
        if let Some(parent) = &parent {
            payload["parentRequestId"] = json!(parent);
        }
        self.sides[1 - at]
            .served
            .plans
            .lock()
            .unwrap()
            .insert(id.clone(), plan);
        let asked = Asked {
            plan,
            is_stream,
            has_deadline,
            has_parent: parent.is_some(),
            was_ended: false,
            has_left: false,
            events: 0,
            consumed: 0,
            outcome: None,
        };
        let side = &mut self.sides[at];
        side.asked.insert(id.clone(), asked);
        if is_stream {
            let kind = Kind::Subscription {
                idle_timeout: None,
                paced: true,
            };
            let request = NewRequest {
                id,
                operation_id: "o".to_owned(),
                payload: payload.to_string(),
                kind,
            };
            side.peer.subscribe_host(&side.mailbox, request).unwrap();
        } else {
            let deadline = deadline.map(|it| it.to_string()).unwrap_or_default();
            let line = format!("{id}\t\"o\"\t{deadline}\t{payload}");
            side.peer.call_all(&side.mailbox, &line);
        }
    }

    fn any(&mut self, at: usize) -> Option<String> {
        let open: Vec<&String> = self.sides[at]
            .asked
            .iter()
            .filter(|(_, asked)| asked.outcome.is_none())
            .map(|(id, _)| id)
            .collect();
        let chosen = usize::try_from(self.random.below(open.len() as u64)).unwrap();
        open.get(chosen).map(|id| (*id).clone())
    }

    /// The caller of a request ends it, in one of three ways.
    fn end(&mut self, at: usize, id: &str) {
        let how = self.random.below(3);
        let side = &mut self.sides[at];
        let asked = side.asked.get_mut(id).unwrap();
        asked.was_ended = true;
        match how {
            0 if asked.is_stream => {
                asked.has_left = true;
                side.peer.leave(id);
            }
            1 => side.peer.cancel(id),
            _ => side.peer.abort(id),
        }
    }

    /// The caller looks what there is, and consumers read a part of it.
    fn look(&mut self, at: usize, all: bool) {
        while let Some(batch) = self.sides[at].mailbox.take() {
            let items: Vec<Value> = serde_json::from_str(&batch.text).unwrap();
            for item in &items[1..] {
                let id = item[1].as_str().unwrap();
                let side = &mut self.sides[at];
                let asked = side.asked.get_mut(id).unwrap();
                assert!(asked.outcome.is_none(), "{id}: {item} after {asked:?}");
                match item[0].as_u64().unwrap() {
                    0 => {
                        let expected = match asked.plan {
                            Plan::Stream(..) => json!(1),
                            _ => json!(id),
                        };
                        assert_eq!(item[2]["data"], expected, "{id}");
                        asked.outcome = Some(json!("done"));
                    }
                    1 => {
                        let error = item[2].clone();
                        check_delivery(id, &error);
                        let code = error["code"].as_str().unwrap().to_owned();
                        *self.tally.entry(code).or_default() += 1;
                        if let Some(reason) = error["details"]["reason"].as_str() {
                            *self.tally.entry(reason.to_owned()).or_default() += 1;
                        }
                        let asked = self.sides[at].asked.get_mut(id).unwrap();
                        asked.outcome = Some(error);
                    }
                    2 => {
                        asked.events += 1;
                        assert_eq!(item[2]["data"], asked.events, "{id}");
                        *self.tally.entry("event".to_owned()).or_default() += 1;
                    }
                    3 => asked.outcome = Some(json!("ended")),
                    other => panic!("unknown item {other}"),
                }
            }
        }
        let ids: Vec<String> = self.sides[at].asked.keys().cloned().collect();
        for id in ids {
            let asked = &self.sides[at].asked[&id];
            let unread = asked.events - asked.consumed;
            let count = if all {
                unread
            } else {
                self.random.below(unread + 1)
            };
            if count > 0 {
                let side = &mut self.sides[at];
                side.peer.consumed(&id, count);
                side.asked.get_mut(&id).unwrap().consumed += count;
            }
        }
        // No side sends more than the consumer has room for, once both know of flow control; until `hub.hello` has
        // arrived the pipe is the limit.
        for (id, sent) in self.sides[1 - at].served.sent.lock().unwrap().iter() {
            let asked = &self.sides[at].asked[id];
            assert!(
                *sent <= asked.consumed + STREAM_WINDOW + 1
                    || asked.has_left
                    || asked.was_ended
                    || asked.has_parent,
                "{sent} events of {id} were sent, {} consumed",
                asked.consumed
            );
        }
    }

    async fn yields(&mut self, most: u64) {
        for _ in 0..self.random.below(most) {
            yield_now().await;
        }
    }

    /// Every request has the outcome that it may have.
    fn check(&mut self) {
        for at in 0..2 {
            let side = &self.sides[at];
            let begun = self.sides[1 - at].served.begun.lock().unwrap();
            for (id, asked) in &side.asked {
                let Some(outcome) = &asked.outcome else {
                    assert!(asked.has_left, "{id} has no outcome: {asked:?}");
                    continue;
                };
                match (outcome.as_str(), asked.plan) {
                    (Some("done"), Plan::Answer | Plan::Stream(1.., _)) => {}
                    (Some("ended"), _) if asked.was_ended || asked.has_parent => {}
                    (Some("ended"), Plan::Stream(events, Last::Complete)) => {
                        assert_eq!(asked.events, events, "{id}");
                    }
                    (None, plan) => {
                        let code = outcome["code"].as_str().unwrap();
                        let reason = outcome["details"]["reason"].as_str().unwrap_or_default();
                        let is_possible = match (code, reason) {
                            ("NO_LUCK", _) => match plan {
                                Plan::Fail => true,
                                Plan::Stream(events, Last::Fail) => {
                                    !asked.is_stream || asked.events == events
                                }
                                _ => false,
                            },
                            ("TIMEOUT", _) => asked.has_deadline,
                            ("ABORTED", _) => {
                                asked.was_ended
                                    || asked.has_parent
                                    || plan == Plan::Stream(0, Last::Complete)
                            }
                            (_, "peer-lost") => self.cuts > 0,
                            (_, "overloaded") => self.settings.max_calls < 10,
                            _ => false,
                        };
                        assert!(is_possible, "{id}: {outcome} of {asked:?}");
                        if outcome["details"]["delivery"] == "none" {
                            assert!(!begun.contains(id), "{id} was delivered: {outcome}");
                        }
                    }
                    other => panic!("{id}: {other:?} of {asked:?}"),
                }
            }
        }
    }

    /// Peace: there is a connection, everybody reads, and what would never end is ended.
    async fn settle(&mut self) {
        self.connect().await;
        for at in 0..2 {
            let endless: Vec<String> = self.sides[at]
                .asked
                .iter()
                .filter(|(_, asked)| {
                    let never = matches!(asked.plan, Plan::Never | Plan::Stream(_, Last::Never));
                    asked.outcome.is_none() && never
                })
                .map(|(id, _)| id.clone())
                .collect();
            for id in endless {
                self.end(at, &id);
            }
        }
        let mut rounds = 0;
        loop {
            for at in 0..2 {
                self.look(at, true);
            }
            let is_settled = self.sides.iter().all(|side| {
                let has_ended = |asked: &Asked| asked.outcome.is_some() || asked.has_left;
                side.asked.values().all(has_ended)
                    && side.peer.pending_count() == 0
                    && side.peer.waiting_bytes() == 0
                    && side.served.alive.load(Ordering::SeqCst) == 0
            });
            if is_settled {
                return;
            }
            rounds += 1;
            if rounds % 100 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert!(
                rounds < 500_000,
                "something never ends: {:?}",
                self.unsettled()
            );
            yield_now().await;
        }
    }

    fn unsettled(&self) -> Vec<String> {
        let mut found = Vec::new();
        for side in &self.sides {
            for (id, asked) in &side.asked {
                if asked.outcome.is_none() && !asked.has_left {
                    found.push(format!("{id}: {asked:?}"));
                }
            }
            found.push(format!(
                "pending {}, bytes {}, alive {}",
                side.peer.pending_count(),
                side.peer.waiting_bytes(),
                side.served.alive.load(Ordering::SeqCst)
            ));
        }
        found
    }
}

/// An error of a request says what its caller may conclude.
fn check_delivery(id: &str, error: &Value) {
    let delivery = error["details"]["delivery"].as_str();
    assert!(
        matches!(delivery, Some("none" | "unknown" | "done")),
        "{id}: {error} does not say whether it was delivered"
    );
}

async fn history(seed: u64, tally: &mut BTreeMap<String, u64>) {
    let mut world = World::new(seed);
    for _ in 0..60 {
        let at = usize::try_from(world.random.below(2)).unwrap();
        match world.random.below(100) {
            0..40 => world.request(at),
            40..46 => {
                if let Some(id) = world.any(at) {
                    world.end(at, &id);
                }
            }
            46..49 => world.cut().await,
            49..60 => world.connect().await,
            60..62 => tokio::time::sleep(Duration::from_millis(1)).await,
            _ => world.look(at, false),
        }
        world.yields(20).await;
    }
    world.settle().await;
    world.check();
    world.cut().await;
    for (what, count) in world.tally {
        *tally.entry(what).or_default() += count;
    }
}

fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn every_request_has_one_outcome_whatever_happens() {
    let first = number("OPERATIONS_SEED").unwrap_or_else(any_seed);
    let runs = match (number("OPERATIONS_RUNS"), number("OPERATIONS_SEED")) {
        (Some(runs), _) => runs,
        (None, Some(_)) => 1,
        (None, None) => 500,
    };
    println!("OPERATIONS_SEED={first}, {runs} histories");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut tally = BTreeMap::new();
    for seed in first..first + runs {
        let run = std::panic::AssertUnwindSafe(|| runtime.block_on(history(seed, &mut tally)));
        let outcome = std::panic::catch_unwind(run);
        assert!(outcome.is_ok(), "OPERATIONS_SEED={seed} repeats it");
    }
    println!("{tally:?}");
    // A test in which nothing happens proves nothing.
    if runs >= 500 {
        for what in [
            "event",
            "NO_LUCK",
            "ABORTED",
            "TIMEOUT",
            "peer-lost",
            "overloaded",
        ] {
            assert!(
                tally.get(what).is_some_and(|count| *count > 0),
                "{what} never happened"
            );
        }
    }
}
