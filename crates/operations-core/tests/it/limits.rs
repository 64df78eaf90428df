//! The limits on calls, on random histories with a clock of their own: no call is lost, none is let through that must
//! not be, and none waits that could begin.

use std::collections::{BTreeMap, HashMap};

use operations_core::limits::{
    AdmissionRequest, BreakerSettings, Decision, LimiterId, Machine, Rate, Reason, Settings,
    Ticket, Verdict,
};

/// A small generator, so that a history can be reproduced from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

fn settings(random: &mut Random) -> Settings {
    let mut pick = |percent, most| random.chance(percent).then(|| 1 + random.below(most));
    Settings {
        scope: "registry".to_owned(),
        name: String::new(),
        concurrency: pick(70, 4).map(|count| usize::try_from(count).unwrap()),
        queue: pick(50, 6).map(|count| usize::try_from(count).unwrap() - 1),
        timeout: pick(30, 200).map(|time| time as f64),
        rate: pick(50, 5).map(|calls| Rate {
            calls: usize::try_from(calls).unwrap(),
            per: 50.0,
        }),
        breaker: pick(40, 3).map(|failures| BreakerSettings {
            failures: usize::try_from(failures).unwrap(),
            window: 100.0,
            cooldown: 60.0,
        }),
    }
}

/// What an observer knows, who counts by hand.
struct History {
    machine: Machine,
    settings: BTreeMap<LimiterId, Settings>,
    running: HashMap<Ticket, Vec<LimiterId>>,
    waiting: HashMap<Ticket, Vec<LimiterId>>,
    began: HashMap<LimiterId, Vec<f64>>,
    now: f64,
    decided: usize,
}

impl History {
    fn begin(&mut self, ticket: Ticket, needs: Vec<LimiterId>) {
        for id in &needs {
            self.began.entry(*id).or_default().push(self.now);
        }
        assert!(self.running.insert(ticket, needs).is_none());
    }

    fn hear(&mut self, decisions: Vec<Decision>) {
        for each in decisions {
            self.decided += 1;
            match each {
                Decision::Admitted(ticket) => {
                    let needs = self
                        .waiting
                        .remove(&ticket)
                        .expect("one decision for each waiting call");
                    self.begin(ticket, needs);
                }
                Decision::Refused(ticket, refusal) => {
                    self.waiting
                        .remove(&ticket)
                        .expect("one decision for each waiting call");
                    assert!(refusal.retry_after >= 0.0);
                }
            }
        }
        self.check();
    }

    fn count(&self, id: LimiterId) -> usize {
        let running = self.running.values();
        running.filter(|needs| needs.contains(&id)).count()
    }

    fn has_room(&self, id: LimiterId) -> bool {
        let settings = &self.settings[&id];
        let has_free_permit = settings
            .concurrency
            .is_none_or(|most| self.count(id) < most);
        let began = self.began.get(&id).map(Vec::as_slice).unwrap_or_default();
        let is_slow = settings.rate.is_none_or(|Rate { calls, per }| {
            let lately = began.iter().filter(|time| **time + per > self.now);
            lately.count() < calls
        });
        has_free_permit && is_slow
    }

    fn check(&self) {
        for (id, settings) in &self.settings {
            if let Some(most) = settings.concurrency {
                assert!(self.count(*id) <= most, "too many at a time");
            }
            let began = self.began.get(id).map(Vec::as_slice).unwrap_or_default();
            if let Some(Rate { calls, per }) = settings.rate {
                for pair in began.windows(calls + 1) {
                    assert!(
                        pair[calls] - pair[0] >= per,
                        "too many in a stretch of time"
                    );
                }
            }
        }
        for needs in self.waiting.values() {
            assert!(
                !needs.iter().all(|id| self.has_room(*id)),
                "one waits that could begin"
            );
        }
    }
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let mut machine = Machine::default();
    let made: Vec<(LimiterId, Settings)> = (0..3)
        .map(|_| {
            let settings = settings(&mut random);
            (machine.add(settings.clone()), settings)
        })
        .collect();
    let ids: Vec<LimiterId> = made.iter().map(|(id, _)| *id).collect();
    let mut history = History {
        machine,
        settings: made.into_iter().collect(),
        running: HashMap::new(),
        waiting: HashMap::new(),
        began: HashMap::new(),
        now: 1_000.0,
        decided: 0,
    };
    for _ in 0..300 {
        let mut decisions = Vec::new();
        match random.below(10) {
            0..5 => {
                let needs: Vec<LimiterId> =
                    ids.iter().copied().filter(|_| random.chance(60)).collect();
                let caller = ["a", "b", "c"][usize::try_from(random.below(3)).unwrap()];
                let request = AdmissionRequest {
                    needs: &needs,
                    caller,
                    deadline: random.chance(10).then_some(history.now + 20.0),
                };
                let entered = history.machine.enter(history.now, request, &mut decisions);
                history.hear(std::mem::take(&mut decisions));
                match entered {
                    Ok((ticket, true)) => history.begin(ticket, needs),
                    Ok((ticket, false)) => drop(history.waiting.insert(ticket, needs)),
                    Err(refusal) => assert!(refusal.retry_after >= 0.0),
                }
            }
            5..8 => {
                let mut all: Vec<Ticket> = history.running.keys().copied().collect();
                all.sort_unstable();
                if !all.is_empty() {
                    let ticket = all[usize::try_from(random.below(all.len() as u64)).unwrap()];
                    let verdict = [Verdict::Success, Verdict::Failure, Verdict::Neutral]
                        [usize::try_from(random.below(3)).unwrap()];
                    history.running.remove(&ticket);
                    history
                        .machine
                        .leave(history.now, ticket, verdict, &mut decisions);
                }
            }
            8 => {
                let mut all: Vec<Ticket> = history.waiting.keys().copied().collect();
                all.sort_unstable();
                if let Some(ticket) = all.first().filter(|_| random.chance(30)) {
                    history.waiting.remove(ticket);
                    let neutral = Verdict::Neutral;
                    history
                        .machine
                        .leave(history.now, *ticket, neutral, &mut decisions);
                }
            }
            _ => {
                let next = history.machine.next_tick(history.now);
                history.now += random.below(40) as f64;
                if let Some(next) = next.filter(|_| random.chance(70)) {
                    history.now = history.now.max(next);
                }
                history.machine.tick(history.now, &mut decisions);
            }
        }
        history.hear(decisions);
    }
    // When all have left and all time has passed, no call is left behind.
    for _ in 0..2_000 {
        let mut decisions = Vec::new();
        let all: Vec<Ticket> = history.running.keys().copied().collect();
        for ticket in all {
            history.running.remove(&ticket);
            let success = Verdict::Success;
            history
                .machine
                .leave(history.now, ticket, success, &mut decisions);
            history.hear(std::mem::take(&mut decisions));
        }
        if history.waiting.is_empty() && history.running.is_empty() {
            break;
        }
        if let Some(next) = history.machine.next_tick(history.now) {
            history.now = history.now.max(next);
        }
        history.machine.tick(history.now, &mut decisions);
        history.hear(decisions);
    }
    assert!(history.waiting.is_empty(), "a call waits for ever");
    for id in ids {
        let stats = history.machine.stats(history.now, id).expect("is there");
        assert_eq!((stats.running, stats.waiting, stats.overrunning), (0, 0, 0));
    }
}

#[test]
fn random_histories() {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let first = seed.unwrap_or_else(|| u64::from(std::process::id()) * 7_919 + 1);
    println!("SEED={first}");
    for seed in first..first + 200 {
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "with SEED={seed}");
    }
}

fn machine(settings: Settings) -> (Machine, LimiterId) {
    let mut machine = Machine::default();
    let id = machine.add(settings);
    (machine, id)
}

fn request<'a>(needs: &'a [LimiterId], caller: &'a str) -> AdmissionRequest<'a> {
    AdmissionRequest {
        needs,
        caller,
        deadline: None,
    }
}

#[test]
fn a_breaker_opens_half_opens_and_closes() {
    let (mut machine, id) = machine(Settings {
        breaker: Some(BreakerSettings {
            failures: 2,
            window: 100.0,
            cooldown: 50.0,
        }),
        ..Settings::default()
    });
    let needs = [id];
    let mut decisions = Vec::new();
    let mut call = |machine: &mut Machine, now: f64, verdict| {
        let (ticket, _) = machine.enter(now, request(&needs, ""), &mut decisions)?;
        machine.leave(now, ticket, verdict, &mut decisions);
        Ok(ticket)
    };
    let refused = |result: Result<Ticket, operations_core::limits::Refusal>| {
        let refusal = result.expect_err("refused");
        assert_eq!(refusal.reason, Reason::CircuitOpen);
        refusal.retry_after
    };
    // Two failures that are far apart are none.
    call(&mut machine, 0.0, Verdict::Failure).expect("closed");
    call(&mut machine, 101.0, Verdict::Failure).expect("closed");
    call(&mut machine, 102.0, Verdict::Success).expect("closed");
    call(&mut machine, 150.0, Verdict::Failure).expect("closed");
    assert!((refused(call(&mut machine, 160.0, Verdict::Success)) - 40.0).abs() < 1e-9);
    // One is tried. It says nothing, so another one is.
    call(&mut machine, 200.0, Verdict::Neutral).expect("half open");
    let (probe, _) = machine
        .enter(201.0, request(&needs, ""), &mut Vec::new())
        .expect("half open");
    refused(call(&mut machine, 202.0, Verdict::Success));
    machine.leave(203.0, probe, Verdict::Failure, &mut Vec::new());
    assert!((refused(call(&mut machine, 203.0, Verdict::Success)) - 50.0).abs() < 1e-9);
    call(&mut machine, 253.0, Verdict::Success).expect("half open");
    for now in 254..260 {
        call(&mut machine, f64::from(now), Verdict::Success).expect("closed");
    }
    let stats = machine.stats(260.0, id).expect("is there");
    assert_eq!((stats.breaker, stats.opened), (Some("closed"), Some(2)));
    assert_eq!(stats.refused.circuit_open, 3);
}

#[test]
fn what_began_before_a_breaker_opened_does_not_open_it_again() {
    let (mut machine, id) = machine(Settings {
        breaker: Some(BreakerSettings {
            failures: 1,
            window: 100.0,
            cooldown: 10.0,
        }),
        ..Settings::default()
    });
    let needs = [id];
    let mut decisions = Vec::new();
    let mut enter = |machine: &mut Machine, now| {
        let entered = machine.enter(now, request(&needs, ""), &mut decisions);
        entered.expect("let through").0
    };
    let first = enter(&mut machine, 0.0);
    let second = enter(&mut machine, 0.0);
    machine.leave(1.0, first, Verdict::Failure, &mut Vec::new());
    let probe = enter(&mut machine, 11.0);
    machine.leave(12.0, probe, Verdict::Success, &mut Vec::new());
    machine.leave(13.0, second, Verdict::Failure, &mut Vec::new());
    enter(&mut machine, 14.0);
}

#[test]
fn when_a_breaker_opens_waiting_calls_are_refused() {
    let (mut machine, id) = machine(Settings {
        concurrency: Some(1),
        breaker: Some(BreakerSettings {
            failures: 1,
            window: 100.0,
            cooldown: 10.0,
        }),
        ..Settings::default()
    });
    let needs = [id];
    let mut decisions = Vec::new();
    let (first, _) = machine
        .enter(0.0, request(&needs, ""), &mut decisions)
        .expect("free");
    let (second, is_admitted) = machine
        .enter(0.0, request(&needs, ""), &mut decisions)
        .expect("waits");
    assert!(!is_admitted);
    machine.leave(1.0, first, Verdict::Failure, &mut decisions);
    assert!(
        matches!(decisions.as_slice(), [Decision::Refused(ticket, refusal)] if *ticket == second && refusal.reason == Reason::CircuitOpen)
    );
}

fn broken(failures: usize) -> (Machine, LimiterId) {
    machine(Settings {
        breaker: Some(BreakerSettings {
            failures,
            window: 100.0,
            cooldown: 50.0,
        }),
        ..Settings::default()
    })
}

#[test]
fn a_source_that_never_answers_a_trial_does_not_keep_its_breaker_from_closing() {
    let (mut machine, id) = broken(1);
    let needs = [id];
    let enter = |machine: &mut Machine, now| {
        let entered = machine.enter(now, request(&needs, ""), &mut Vec::new());
        entered.map(|(ticket, is_admitted)| {
            assert!(is_admitted);
            ticket
        })
    };
    let first = enter(&mut machine, 0.0).expect("closed");
    machine.leave(0.0, first, Verdict::Failure, &mut Vec::new());
    let hanging = enter(&mut machine, 50.0).expect("tried");
    // A call that comes meanwhile has to wait for the cooldown, or until another one is tried.
    for (now, wait) in [(10_050.0, 50.0), (30_040.0, 10.0)] {
        let refusal = enter(&mut machine, now).expect_err("one is tried");
        assert!((refusal.retry_after - wait).abs() < 1e-9);
    }
    let second = enter(&mut machine, 30_050.0).expect("tried beside the one that hangs");
    enter(&mut machine, 30_051.0).expect_err("one more at a time");
    // One that says nothing makes way for the next at once, but an older one does not.
    machine.leave(30_052.0, second, Verdict::Neutral, &mut Vec::new());
    let third = enter(&mut machine, 30_053.0).expect("tried");
    machine.leave(30_054.0, hanging, Verdict::Neutral, &mut Vec::new());
    enter(&mut machine, 30_055.0).expect_err("the third is still tried");
    let fourth = enter(&mut machine, 60_053.0).expect("tried");
    // However late it is, an answer shows that the source works.
    machine.leave(60_054.0, third, Verdict::Success, &mut Vec::new());
    let stats = machine.stats(60_055.0, id).expect("is there");
    assert_eq!((stats.breaker, stats.opened), (Some("closed"), Some(1)));
    // What was tried before that has nothing to say any more.
    machine.leave(60_056.0, fourth, Verdict::Failure, &mut Vec::new());
    enter(&mut machine, 60_057.0).expect("closed");
}

#[test]
fn a_source_that_answers_no_trial_at_all_is_tried_again_and_again_within_bounds() {
    let (mut machine, id) = broken(1);
    let needs = [id];
    let enter =
        |machine: &mut Machine, now| machine.enter(now, request(&needs, ""), &mut Vec::new());
    let (first, _) = enter(&mut machine, 0.0).expect("closed");
    machine.leave(0.0, first, Verdict::Failure, &mut Vec::new());
    let tried =
        (0..600).filter(|second| enter(&mut machine, f64::from(*second) * 1_000.0 + 50.0).is_ok());
    assert_eq!(tried.count(), 20, "one in half a minute");
    let (last, _) = enter(&mut machine, 600_050.0).expect("tried");
    machine.leave(600_051.0, last, Verdict::Failure, &mut Vec::new());
    assert_eq!(
        machine.stats(600_052.0, id).expect("is there").breaker,
        Some("open")
    );
}

#[test]
fn a_source_that_flaps_opens_its_breaker_in_spite_of_its_successes() {
    let (mut machine, id) = broken(3);
    let needs = [id];
    let mut call = |now: f64, verdict| {
        let (ticket, _) = machine.enter(now, request(&needs, ""), &mut Vec::new())?;
        machine.leave(now, ticket, verdict, &mut Vec::new());
        Ok::<_, operations_core::limits::Refusal>(())
    };
    for now in 0..5 {
        let verdict = [Verdict::Failure, Verdict::Success][now % 2];
        call(now as f64, verdict).expect("closed");
    }
    call(5.0, Verdict::Success).expect_err("three failures within the window");
    // It works when it is tried and fails right after that: each time it takes as many failures again, not more.
    for round in 1..10 {
        let now = f64::from(round) * 60.0;
        call(now, Verdict::Success).expect("half open");
        for step in 1..=3 {
            call(now + f64::from(step), Verdict::Failure).expect("closed");
        }
        call(now + 4.0, Verdict::Success).expect_err("open");
    }
}

#[test]
fn of_many_calls_that_arrive_at_once_one_is_tried() {
    let (mut machine, id) = broken(1);
    let needs = [id];
    let (first, _) = machine
        .enter(0.0, request(&needs, ""), &mut Vec::new())
        .expect("closed");
    machine.leave(0.0, first, Verdict::Failure, &mut Vec::new());
    let tried = (0..1_000).filter(|caller| {
        let caller = format!("caller {caller}");
        machine
            .enter(50.0, request(&needs, &caller), &mut Vec::new())
            .is_ok()
    });
    assert_eq!(tried.count(), 1);
}
