//! Callers and workers on a broker that is played by this test: messages are delivered in any order that a broker
//! could choose, calls end, are aborted and time out, workers die, connections are cut with what was on them. What
//! must hold: every request has exactly one outcome, nothing is left behind, and no request waits while a worker of
//! its operation has a slot.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use operations_core::call;
use operations_core::mailbox::Kind;
use operations_nats::caller::NewRequest;
use operations_nats::state::{Publication, State, Todo};
use operations_nats::status::Link;
use operations_nats::subjects::{ANSWERS, Subjects, token_of};
use operations_nats::wire::Served;
use serde_json::Value;

const MAX_PAYLOAD: usize = 1_048_576;

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

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

enum Arriving {
    Public(String, String),
    Inbox(String, String),
    NoReceivers(String),
}

struct Node {
    id: Arc<str>,
    state: State,
    operations: Vec<&'static str>,
    to_broker: VecDeque<Publication>,
    from_broker: VecDeque<Arriving>,
    is_up: bool,
    is_dead: bool,
    /// It takes each answer on a subject of its own, as callers did before answers shared one.
    is_former: bool,
    /// What JavaScript works on: calls, and streams with how many events are left.
    running: Vec<(String, Option<u32>)>,
    paused: Vec<String>,
    outcomes: BTreeMap<String, u32>,
    events: HashMap<String, u64>,
    requests: Vec<String>,
}

struct World {
    now: f64,
    random: Random,
    nodes: Vec<Node>,
    made: u32,
}

impl World {
    fn new(seed: u64, callers: usize, workers: &[(usize, &[&'static str])]) -> Self {
        let mut world = Self {
            now: 1_000_000.0,
            random: Random(seed),
            nodes: Vec::new(),
            made: 0,
        };
        for i in 0..callers {
            world.add(&format!("caller{i}"), 0, &[]);
        }
        for (i, (concurrency, operations)) in workers.iter().enumerate() {
            world.add(&format!("worker{i}"), *concurrency, operations);
        }
        world
    }

    fn add(&mut self, id: &str, concurrency: usize, operations: &[&'static str]) {
        let subjects = Subjects::new("p").unwrap();
        let id: Arc<str> = id.into();
        let mut state = State::new(
            self.now,
            Arc::clone(&id),
            subjects,
            id.to_string(),
            MAX_PAYLOAD,
        );
        state.status.change(self.now, Link::Connected);
        let served = operations
            .iter()
            .map(|operation| Served {
                id: Arc::from(*operation),
                kind: "query".to_owned(),
                description: None,
                spec: None,
            })
            .collect();
        state.serve(served, concurrency);
        let mut todo = Todo::default();
        state.say_hello(&mut todo);
        self.nodes.push(Node {
            is_former: &*id == "caller1",
            id,
            state,
            operations: operations.to_vec(),
            to_broker: todo.publish.into(),
            from_broker: VecDeque::new(),
            is_up: true,
            is_dead: false,
            running: Vec::new(),
            paused: Vec::new(),
            outcomes: BTreeMap::new(),
            events: HashMap::new(),
            requests: Vec::new(),
        });
    }

    /// Runs something on a node's state and takes what comes of it.
    fn act(&mut self, at: usize, work: impl FnOnce(f64, &mut State, &mut Todo)) {
        let node = &mut self.nodes[at];
        if node.is_dead {
            return;
        }
        let mut todo = Todo::default();
        work(self.now, &mut node.state, &mut todo);
        node.state.hold_back(&mut todo);
        node.to_broker.extend(todo.publish);
        let mut ended = Vec::new();
        for item in todo.deliver {
            let kind = item.kind();
            let batch: Value = serde_json::from_str(&item.into_batch().text).unwrap();
            let item = &batch[1];
            let id = item[1].as_str().unwrap().to_owned();
            match kind {
                Kind::Done | Kind::Failed | Kind::Ended => {
                    *node.outcomes.entry(id).or_default() += 1;
                }
                Kind::Event => {
                    // In order, without a gap, and never after the end.
                    let event = item[2]["data"].as_u64().unwrap();
                    let last = node.events.insert(id.clone(), event).unwrap_or(0);
                    assert_eq!(event, last + 1);
                    assert!(!node.outcomes.contains_key(&id));
                }
                Kind::Asked => {
                    assert_eq!(item[2]["requestId"], item[1]);
                    let is_stream = id.starts_with('s');
                    let length = u32::try_from(self.random.below(400)).unwrap();
                    node.running.push((id, is_stream.then_some(length)));
                }
                Kind::Aborted => {
                    node.running.retain(|(running, _)| *running != id);
                    node.paused.retain(|paused| *paused != id);
                    // A handler that is aborted ends.
                    ended.push(id);
                }
                Kind::GoOn => node.paused.retain(|paused| *paused != id),
                other => panic!("unknown item {other:?}"),
            }
        }
        let mut todo = Todo::default();
        for id in ended {
            node.state.worker.finished(self.now, &id, &mut todo);
        }
        node.state.hold_back(&mut todo);
        node.to_broker.extend(todo.publish);
    }

    /// The broker takes one message of a node.
    fn route(&mut self, from: usize) {
        if !self.nodes[from].is_up {
            return;
        }
        let Some(publication) = self.nodes[from].to_broker.pop_front() else {
            return;
        };
        let Publication {
            subject,
            reply,
            mut payload,
            ..
        } = publication;
        if self.nodes[from].is_former {
            payload = payload.replace(",\"shared\":true", "");
        }
        let mut parts = subject.splitn(4, '.').skip(1);
        let (kind, name) = (parts.next().unwrap(), parts.next().unwrap_or_default());
        let about = parts.next().unwrap_or_default();
        let serves = |node: &Node| {
            node.operations
                .iter()
                .any(|operation| token_of(operation).unwrap() == name)
        };
        let reached: Vec<usize> = (0..self.nodes.len())
            .filter(|at| {
                let node = &self.nodes[*at];
                node.is_up
                    && !node.is_dead
                    && match kind {
                        "call" | "who" => serves(node),
                        "hello" => true,
                        "peer" => &*node.id == name,
                        _ => panic!("unknown subject {subject}"),
                    }
            })
            .collect();
        if reached.is_empty() {
            if let Some(reply) = reply {
                let about = reply.rsplit('.').next().unwrap().to_owned();
                self.nodes[from]
                    .from_broker
                    .push_back(Arriving::NoReceivers(about));
            }
            return;
        }
        if kind == "call" {
            let chosen = reached[self.random.below(reached.len())];
            self.nodes[chosen]
                .from_broker
                .push_back(Arriving::Public(subject, payload));
            return;
        }
        for at in reached {
            let is_shared = kind == "peer" && about == ANSWERS;
            assert!(!(is_shared && self.nodes[at].is_former), "{payload}");
            self.nodes[at].from_broker.push_back(match kind {
                "peer" => Arriving::Inbox(about.to_owned(), payload.clone()),
                _ => Arriving::Public(subject.clone(), payload.clone()),
            });
        }
    }

    /// A node reads one message.
    fn receive(&mut self, at: usize) {
        let Some(message) = self.nodes[at].from_broker.pop_front() else {
            return;
        };
        self.act(at, |now, state, todo| match message {
            Arriving::Public(subject, payload) => {
                state.on_public(now, &subject, payload.as_bytes(), None, todo);
            }
            Arriving::Inbox(about, payload) => {
                state.on_inbox(now, &about, payload.as_bytes(), None, todo);
            }
            Arriving::NoReceivers(about) => state.on_no_receivers(now, &about, todo),
        });
    }

    /// JavaScript goes on with something that it works on.
    fn work(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.running.is_empty() {
            return;
        }
        let chosen = self.random.below(node.running.len());
        let (id, left) = node.running[chosen].clone();
        if node.paused.contains(&id) {
            return;
        }
        if let Some(left) = left.filter(|left| *left > 0) {
            let total = node.state_events(&id);
            let output = envelope(total + 1);
            let mut may_go_on = true;
            self.act(at, |_, state, todo| {
                may_go_on = state.worker.respond(&id, &output, todo).unwrap();
            });
            let node = &mut self.nodes[at];
            node.running[chosen].1 = Some(left - 1);
            node.events.insert(format!("served {id}"), total + 1);
            if !may_go_on {
                node.paused.push(id);
            }
            return;
        }
        self.nodes[at].running.remove(chosen);
        self.act(at, |now, state, todo| {
            if left.is_some() {
                state.worker.complete(&id, todo);
            } else {
                let output = envelope(1);
                state.worker.respond(&id, &output, todo).unwrap();
            }
            state.worker.finished(now, &id, todo);
        });
    }

    fn request(&mut self, at: usize, operation: &str, is_stream: bool, deadline: Option<f64>) {
        self.made += 1;
        let id = format!("{}{}", if is_stream { "s" } else { "c" }, self.made);
        self.nodes[at].requests.push(id.clone());
        let kind = if is_stream {
            call::Kind::Subscription {
                idle_timeout: None,
                paced: true,
            }
        } else {
            call::Kind::Call { deadline }
        };
        self.act(at, |now, state, todo| {
            let payload = format!(r#"{{"requestId":"{id}","operationId":"{operation}"}}"#);
            let request = NewRequest {
                id,
                operation_id: operation.to_owned(),
                payload,
                kind,
            };
            state.request(now, request, todo).unwrap();
        });
    }

    /// A consumer reads what its streams have.
    fn consume(&mut self, at: usize) {
        let open: Vec<(String, u64)> = self.nodes[at]
            .events
            .iter()
            .map(|(id, count)| (id.clone(), *count))
            .collect();
        for (id, count) in open {
            self.act(at, |now, state, todo| {
                // All that has arrived; what was reported before does not count again.
                state.caller.consumed(now, &id, count, todo);
            });
        }
    }

    fn advance(&mut self, milliseconds: f64) {
        self.now += milliseconds;
        for at in 0..self.nodes.len() {
            self.act(at, |now, state, todo| state.time(now, todo));
        }
    }

    /// Delivers everything that is on its way, in random order, without any time passing.
    fn settle(&mut self) {
        loop {
            let busy: Vec<usize> = (0..self.nodes.len())
                .filter(|at| {
                    let node = &self.nodes[*at];
                    (node.is_up && !node.to_broker.is_empty()) || !node.from_broker.is_empty()
                })
                .collect();
            if busy.is_empty() {
                return;
            }
            let at = busy[self.random.below(busy.len())];
            if self.random.chance(50) {
                self.route(at);
            } else {
                self.receive(at);
            }
        }
    }

    fn check_outcomes(&self, seed: u64) {
        for node in self.nodes.iter().filter(|node| !node.is_dead) {
            for id in &node.requests {
                assert_eq!(
                    node.outcomes.get(id),
                    Some(&1),
                    "seed {seed}: {} has no single outcome for {id}",
                    node.id
                );
            }
            assert_eq!(node.state.caller.len(), 0, "seed {seed}");
            assert_eq!(node.state.caller.waiting(), 0, "seed {seed}");
        }
    }
}

impl Node {
    fn state_events(&self, id: &str) -> u64 {
        self.events
            .get(&format!("served {id}"))
            .copied()
            .unwrap_or(0)
    }
}

fn envelope(data: u64) -> String {
    format!(r#"{{"data":{data},"meta":{{"source":"local","operationId":"o","timestamp":1}}}}"#)
}

fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("OPERATIONS_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (1..=count).collect(),
    }
}

#[test]
fn no_request_waits_while_a_worker_of_its_operation_has_a_place() {
    for seed in seeds(300) {
        let mut world = World::new(seed, 2, &[(1, &["a"]), (2, &["a", "b"]), (1, &["b"])]);
        for _ in 0..40 {
            for _ in 0..world.random.below(4) {
                let caller = world.random.below(2);
                let operation = if world.random.chance(50) { "a" } else { "b" };
                world.request(caller, operation, false, None);
            }
            world.settle();
            // Nothing is on its way, and no time has passed: whatever waits does so because all are busy.
            for operation in ["a", "b"] {
                let free: usize = world
                    .nodes
                    .iter()
                    .filter(|node| node.operations.contains(&operation))
                    .map(|node| node.state.worker.free())
                    .sum();
                let waiting: usize = world
                    .nodes
                    .iter()
                    .map(|node| node.state.caller.waiting_for(operation))
                    .sum();
                assert!(
                    free == 0 || waiting == 0,
                    "seed {seed}: {waiting} wait for {operation}"
                );
            }
            for at in 2..world.nodes.len() {
                assert!(
                    world.nodes[at].running.len() <= world.nodes[at].state.worker.concurrency()
                );
                if world.random.chance(50) {
                    world.work(at);
                }
            }
        }
        for _ in 0..1_000 {
            for at in 2..world.nodes.len() {
                world.work(at);
            }
            world.settle();
        }
        world.check_outcomes(seed);
    }
}

#[test]
fn every_request_has_one_outcome_whatever_happens() {
    for seed in seeds(300) {
        let mut world = World::new(seed, 3, &[(2, &["a", "b"]), (3, &["a"]), (1, &["b"])]);
        for _ in 0..600 {
            let nodes = world.nodes.len();
            let at = world.random.below(nodes);
            match world.random.below(100) {
                0..10 if at < 3 => {
                    let operation = ["a", "b", "none"][world.random.below(3)];
                    let is_stream = world.random.chance(30);
                    let deadline = world.random.chance(30).then_some(world.now + 700.0);
                    world.request(at, operation, is_stream, deadline);
                }
                10..13 if at < 3 && !world.nodes[at].requests.is_empty() => {
                    let requests = &world.nodes[at].requests;
                    let id = requests[world.random.below(requests.len())].clone();
                    let how = world.random.below(2);
                    world.act(at, |now, state, todo| match how {
                        0 => state.caller.cancel(now, &id, todo),
                        _ => state.caller.abort(now, &id, todo),
                    });
                }
                13..15 if world.nodes[at].is_up => {
                    // Cut off; what was on the wire is lost.
                    let node = &mut world.nodes[at];
                    node.is_up = false;
                    let kept = node.to_broker.len().saturating_sub(3);
                    node.to_broker.drain(kept..);
                    node.from_broker.clear();
                    world.act(at, |now, state, _| state.disconnected(now));
                }
                15..25 if !world.nodes[at].is_up => {
                    world.nodes[at].is_up = true;
                    world.act(at, |now, state, todo| {
                        state.connected(now, MAX_PAYLOAD, todo);
                    });
                }
                25 if at > 3 && world.random.chance(20) => {
                    // Killed.
                    let node = &mut world.nodes[at];
                    node.is_dead = true;
                    node.to_broker.clear();
                    node.from_broker.clear();
                }
                26..50 => world.route(at),
                50..75 => world.receive(at),
                75..85 => world.work(at),
                85..92 if at < 3 => world.consume(at),
                _ => {
                    let milliseconds = world.random.below(120);
                    world.advance(milliseconds as f64);
                }
            }
        }
        // Peace: everybody who lives is back, works and reads, and time passes.
        for at in 0..world.nodes.len() {
            if !world.nodes[at].is_up {
                world.nodes[at].is_up = true;
                world.act(at, |now, state, todo| {
                    state.connected(now, MAX_PAYLOAD, todo);
                });
            }
        }
        for _ in 0..200 {
            for at in 0..world.nodes.len() {
                for _ in 0..100 {
                    world.work(at);
                }
                world.consume(at);
            }
            world.settle();
            world.advance(250.0);
        }
        world.check_outcomes(seed);
        for node in world.nodes.iter().filter(|node| !node.is_dead) {
            assert_eq!(
                node.state.worker.len(),
                0,
                "seed {seed}: {} works on",
                node.id
            );
            assert_eq!(
                node.state.worker.free(),
                node.state.worker.concurrency(),
                "seed {seed}"
            );
        }
    }
}
