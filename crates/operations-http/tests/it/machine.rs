//! The machine without a network: what it says after what has happened, with a clock that tests set.

use std::time::{Duration, Instant};

use crate::http_support::{Random, built_with, get, input};
use operations_http::StreamKind;
use operations_http::machine::retry::{Cause, Lost, Reconnect, RetryPolicy};
use operations_http::machine::{Input, Machine, NetworkError, Output, Rules, Step, StreamItem};
use operations_http::message::{Auth, Decoded, ResponseHead, ResponseKind, Secret};
use operations_http::sse::Limits;
use serde_json::{Value, json};

const RULES: Rules = Rules {
    timeout: None,
    max_response_bytes: 100,
    retry: RetryPolicy {
        retries: 0,
        first_delay: Duration::from_millis(100),
        longest_delay: Duration::from_secs(30),
    },
    event_limits: Limits { event_bytes: 1000 },
    reconnect: None,
};
const RETRYING: Rules = Rules {
    retry: RetryPolicy {
        retries: 2,
        ..RULES.retry
    },
    ..RULES
};
const REOPENING: Rules = Rules {
    reconnect: Some(Reconnect {
        max_retries: 2,
        any_method: false,
    }),
    ..RULES
};

/// A machine under test, and its clock.
struct Bench {
    machine: Machine,
    start: Instant,
    now: Instant,
}

impl Bench {
    fn new(method: &str, rules: Rules, stream: Option<(ResponseKind, &str)>) -> Self {
        let mut plan = get("/path", Vec::new());
        method.clone_into(&mut plan.method);
        let auth = Auth::Bearer(Secret::new("t0k3n-value"));
        let request = built_with(
            &plan,
            input(&json!({})),
            "http://x.test/",
            &[],
            &[],
            Some(&auth),
        );
        let secrets = vec![Secret::new("t0k3n-value")];
        let now = Instant::now();
        let request = request.unwrap();
        let machine = match stream {
            None => Machine::call(request, secrets, rules, now),
            Some((promised, id)) => Machine::stream(request, secrets, rules, promised, id, now),
        };
        Self {
            machine,
            start: now,
            now,
        }
    }

    fn call(rules: Rules) -> Self {
        Self::new("GET", rules, None)
    }

    fn stream(rules: Rules) -> Self {
        Self::new("GET", rules, Some((ResponseKind::Sse, "")))
    }

    fn handle(&mut self, input: Input<'_>) -> Step {
        self.machine.handle(input, self.now)
    }

    fn head(&mut self, status: u16, headers: &[(&str, &str)]) -> Step {
        let head = ResponseHead::new(status, None, headers.iter().copied());
        self.handle(Input::Head {
            head,
            announced: None,
        })
    }

    /// A whole response.
    fn answer(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> Step {
        assert_eq!(self.machine.step(), Step::Send);
        match self.head(status, headers) {
            Step::Read => {
                self.handle(Input::Chunk(body.as_bytes()));
                self.handle(Input::End)
            }
            other => other,
        }
    }

    fn lose(&mut self) -> Step {
        self.handle(Input::Failed(NetworkError {
            why: "the line is cut".to_owned(),
            code: Some("ECONNRESET".to_owned()),
            never_connected: false,
        }))
    }

    /// Lets the time pass that the machine asks for, and tells how long it was.
    fn sleep(&mut self) -> Duration {
        assert_eq!(self.machine.step(), Step::Sleep);
        let pause = self.machine.deadline().unwrap() - self.now;
        self.now += pause;
        self.handle(Input::Tick);
        pause
    }

    fn error(&mut self) -> String {
        match self.machine.take() {
            Some(Output::Failed(failure)) => {
                assert_eq!(self.machine.step(), Step::Done);
                format!("{}: {}", failure.error.code, failure.error.message)
            }
            other => panic!("{other:?}"),
        }
    }

    fn reply(&mut self) -> Decoded {
        match self.machine.take() {
            Some(Output::Reply(reply)) => reply.body,
            other => panic!("{other:?}"),
        }
    }

    /// What is ready of a stream: the status and kind of heads, the texts of batches, the end.
    fn ready(&mut self) -> Vec<String> {
        let mut ready = Vec::new();
        while let Some(output) = self.machine.take() {
            ready.push(match output {
                Output::Item(StreamItem::Head(head, StreamKind::Events)) => {
                    format!("{} events", head.status)
                }
                Output::Item(StreamItem::Head(head, StreamKind::Lines)) => {
                    format!("{} lines", head.status)
                }
                Output::Item(StreamItem::Batch(text)) => text,
                Output::Failed(failure) => failure.error.message.clone(),
                Output::End => "end".to_owned(),
                Output::Reply(reply) => panic!("{reply:?}"),
            });
        }
        ready
    }

    /// All that is ready after each step of a whole response.
    fn respond(&mut self, status: u16, headers: &[(&str, &str)], body: &str) -> Vec<String> {
        self.head(status, headers);
        let mut seen = self.ready();
        self.handle(Input::Chunk(body.as_bytes()));
        seen.extend(self.ready());
        self.handle(Input::End);
        seen.extend(self.ready());
        seen
    }

    fn sent_header(&self, name: &str) -> Option<&str> {
        self.machine.outgoing().request().headers.get(name)
    }
}

type Headers = &'static [(&'static str, &'static str)];

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const EVENTS: [(&str, &str); 1] = [("content-type", "text/event-stream")];

#[test]
fn a_call_sends_reads_and_delivers() {
    let mut bench = Bench::call(RULES);
    assert_eq!(bench.machine.step(), Step::Send);
    assert_eq!(bench.machine.deadline(), None);
    assert_eq!(bench.head(200, &JSON), Step::Read);
    assert_eq!(bench.handle(Input::Chunk(b"[1")), Step::Read);
    assert_eq!(bench.handle(Input::Chunk(b"]")), Step::Read);
    assert_eq!(bench.handle(Input::End), Step::Deliver);
    assert_eq!(bench.reply(), Decoded::Json("[1]".into()));
    assert_eq!(bench.machine.step(), Step::Done);
    assert!(bench.machine.take().is_none());
}

#[test]
fn what_is_too_large_is_final_whether_it_was_announced_or_not() {
    let message = "EXECUTION_ERROR: The response of x.test is larger than the limit of 100 bytes. \
                   If such responses are expected, raise `maxResponseBytes` in the configuration";
    let mut bench = Bench::call(RETRYING);
    bench.head(200, &JSON);
    assert_eq!(bench.handle(Input::Chunk(&[b'1'; 100])), Step::Read);
    assert_eq!(bench.handle(Input::Chunk(b"1")), Step::Deliver);
    assert_eq!(bench.error(), message);
    let mut bench = Bench::call(RETRYING);
    let head = ResponseHead::new(200, None, JSON);
    let announced = Some(101);
    assert_eq!(bench.handle(Input::Head { head, announced }), Step::Deliver);
    assert_eq!(bench.error(), message);
}

#[test]
fn a_failure_that_may_pass_is_tried_again_and_counted() {
    let mut bench = Bench::call(RETRYING);
    assert_eq!(bench.answer(503, &JSON, "{}"), Step::Sleep);
    let first = bench.sleep();
    assert!(first >= Duration::from_millis(50) && first <= Duration::from_millis(100));
    assert_eq!(bench.lose(), Step::Sleep);
    let second = bench.sleep();
    assert!(second >= Duration::from_millis(100) && second <= Duration::from_millis(200));
    assert_eq!(bench.answer(500, &JSON, "{}"), Step::Deliver);
    assert_eq!(
        bench.error(),
        "EXECUTION_ERROR: HTTP 500: Internal Server Error (tried 3 times)"
    );
    let mut bench = Bench::call(RETRYING);
    bench.answer(429, &[("retry-after", "7")], "");
    assert_eq!(bench.sleep(), Duration::from_secs(7));
    assert_eq!(bench.answer(200, &JSON, "7"), Step::Deliver);
    assert_eq!(bench.reply(), Decoded::Json("7".into()));
    let mut bench = Bench::call(RETRYING);
    assert_eq!(
        bench.answer(503, &[("retry-after", "31")], ""),
        Step::Deliver
    );
    assert_eq!(
        bench.error(),
        "EXECUTION_ERROR: HTTP 503: Service Unavailable"
    );
}

#[test]
fn a_body_that_breaks_off_is_a_lost_connection() {
    for stream in [None, Some((ResponseKind::Sse, ""))] {
        let mut bench = Bench::new("GET", RETRYING, stream);
        bench.head(200, &JSON);
        bench.handle(Input::Chunk(b"[1"));
        assert_eq!(bench.lose(), Step::Sleep);
        let mut bench = Bench::new("POST", RETRYING, stream);
        bench.head(200, &JSON);
        assert_eq!(bench.lose(), Step::Deliver);
        assert_eq!(
            bench.error(),
            "EXECUTION_ERROR: The request to x.test failed: the line is cut"
        );
    }
}

#[test]
fn what_another_try_would_not_change_is_final() {
    let broken_json = "EXECUTION_ERROR: HTTP 200: the response says it is application/json but its \
                       body is not valid JSON";
    let picture = "EXECUTION_ERROR: HTTP 200: a stream was expected, and the response is image/png";
    let astray = "EXECUTION_ERROR: x.test redirected (HTTP 302) to something that is not an http or \
                  https URL";
    let png = [("content-type", "image/png")];
    let mailto = [("location", "mailto:a@b")];
    for rules in [RETRYING, REOPENING] {
        for (status, headers, body, expected) in [
            (200, JSON, "<html>", broken_json),
            (200, png, "", picture),
            (302, mailto, "", astray),
            (404, JSON, "{}", "EXECUTION_ERROR: HTTP 404: Not Found"),
        ] {
            let mut bench = Bench::stream(rules);
            assert_eq!(bench.answer(status, &headers, body), Step::Deliver);
            assert_eq!(bench.error(), expected);
            // The same when a stream is opened again.
            let mut bench = reopened();
            assert_eq!(bench.answer(status, &headers, body), Step::Deliver);
            assert_eq!(bench.error(), format!("{expected} (tried 2 times)"));
        }
    }
    let mut bench = Bench::call(RETRYING);
    let refusal = operations_core::CallError::new("EXECUTION_ERROR", "no certificates");
    assert_eq!(bench.handle(Input::Refused(refusal)), Step::Deliver);
    assert_eq!(bench.error(), "EXECUTION_ERROR: no certificates");
}

#[test]
fn only_a_request_that_no_server_saw_is_repeated_whatever_its_method() {
    let lose = |bench: &mut Bench, never_connected| {
        bench.handle(Input::Failed(NetworkError {
            never_connected,
            ..NetworkError::default()
        }))
    };
    let mut bench = Bench::new("POST", RETRYING, None);
    assert_eq!(lose(&mut bench, true), Step::Sleep);
    bench.sleep();
    assert_eq!(lose(&mut bench, false), Step::Deliver);
}

#[test]
fn redirects_are_followed_and_a_new_try_begins_at_the_beginning() {
    let mut bench = Bench::call(RETRYING);
    let url = |bench: &Bench| bench.machine.outgoing().request().url.to_string();
    assert_eq!(bench.head(302, &[("location", "/a")]), Step::Send);
    assert_eq!(url(&bench), "http://x.test/a");
    assert!(bench.sent_header("authorization").is_some());
    assert_eq!(
        bench.head(302, &[("location", "http://y.test/b")]),
        Step::Send
    );
    assert_eq!(bench.sent_header("authorization"), None);
    assert_eq!(bench.lose(), Step::Sleep);
    bench.sleep();
    assert_eq!(url(&bench), "http://x.test/path");
    assert!(bench.sent_header("authorization").is_some());
    // As the wire has it: UTF-8 read as Latin-1.
    bench.head(302, &[("location", "/\u{c3}\u{bc}")]);
    assert_eq!(url(&bench), "http://x.test/%C3%BC");
    for followed in 1..20 {
        assert_eq!(
            bench.head(302, &[("location", "/")]),
            Step::Send,
            "{followed}"
        );
    }
    assert_eq!(bench.head(302, &[("location", "/")]), Step::Deliver);
    assert_eq!(
        bench.error(),
        "EXECUTION_ERROR: x.test redirected more than 20 times (tried 2 times)"
    );
}

#[test]
fn the_time_limit_of_a_call_covers_all_of_it() {
    let rules = Rules {
        timeout: Some(Duration::from_millis(120)),
        ..RETRYING
    };
    let late = "TIMEOUT: x.test did not answer within 120 ms, the `timeout` of the configuration";
    for steps in 0..3 {
        let mut bench = Bench::call(rules);
        let end = bench.start + Duration::from_millis(120);
        if steps > 0 {
            bench.head(200, &JSON);
        }
        if steps > 1 {
            bench.handle(Input::Chunk(b"1"));
        }
        assert_eq!(bench.machine.deadline(), Some(end));
        bench.now += Duration::from_millis(119);
        let before = bench.machine.step();
        assert_eq!(bench.handle(Input::Tick), before, "too early");
        bench.now = end;
        assert_eq!(bench.handle(Input::Tick), Step::Deliver);
        assert_eq!(bench.error(), late);
        assert_eq!(bench.machine.deadline(), None);
    }
    let mut bench = Bench::call(rules);
    bench.answer(503, &[("retry-after", "1")], "");
    let end = bench.start + Duration::from_millis(120);
    assert_eq!(
        bench.machine.deadline(),
        Some(end),
        "the limit, not the pause"
    );
    bench.now = end;
    bench.handle(Input::Tick);
    assert_eq!(bench.error(), late);
}

#[test]
fn the_time_limit_of_a_stream_ends_with_its_head() {
    let rules = Rules {
        timeout: Some(Duration::from_secs(1)),
        ..RETRYING
    };
    let mut bench = Bench::stream(rules);
    bench.now += Duration::from_millis(999);
    bench.head(200, &EVENTS);
    assert_eq!(bench.machine.deadline(), None);
    // Of what is no stream, the body counts, too.
    let mut bench = Bench::stream(rules);
    bench.head(200, &JSON);
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.handle(Input::Tick), Step::Deliver);
    assert_eq!(
        bench.error(),
        "TIMEOUT: x.test did not answer within 1000 ms, the `timeout` of the configuration"
    );
    // Each try has the time for itself, and none follows one that was too slow.
    let mut bench = Bench::stream(rules);
    bench.lose();
    assert!(bench.sleep() < Duration::from_secs(1));
    assert_eq!(
        bench.machine.deadline(),
        Some(bench.now + Duration::from_secs(1))
    );
    bench.now += Duration::from_secs(1);
    bench.handle(Input::Tick);
    assert_eq!(
        bench.error(),
        "TIMEOUT: x.test did not answer within 1000 ms, the `timeout` of the configuration (tried 2 times)"
    );
}

#[test]
fn an_abort_is_reported_once() {
    let mut bench = Bench::call(RULES);
    assert_eq!(bench.handle(Input::Cancel), Step::Deliver);
    assert_eq!(bench.error(), "ABORTED: The request to x.test was aborted");
    assert_eq!(bench.handle(Input::Cancel), Step::Done);
    assert_eq!(bench.head(200, &JSON), Step::Done);
    assert_eq!(bench.handle(Input::Tick), Step::Done);
    let mut bench = Bench::stream(RULES);
    bench.head(200, &EVENTS);
    bench.handle(Input::Chunk(b"data: 1\n\n"));
    bench.handle(Input::Cancel);
    let seen = ["200 events", "[1,0]", "The request to x.test was aborted"];
    assert_eq!(bench.ready(), seen);
}

#[test]
fn a_stream_delivers_what_is_there_and_ends() {
    let mut bench = Bench::stream(RULES);
    assert_eq!(bench.sent_header("last-event-id"), None);
    assert_eq!(bench.head(200, &EVENTS), Step::Deliver);
    assert_eq!(bench.ready(), ["200 events"]);
    assert_eq!(bench.handle(Input::Chunk(b"data: 1\n")), Step::Read);
    assert_eq!(bench.handle(Input::Chunk(b"\ndata: 2\n\n")), Step::Deliver);
    assert!(bench.machine.has_room());
    assert_eq!(bench.handle(Input::Chunk(b"data: 3\n\nda")), Step::Deliver);
    assert_eq!(bench.ready(), ["[1,0,2,0,3,0]"]);
    assert_eq!(bench.handle(Input::End), Step::Deliver);
    assert_eq!(bench.ready(), ["end"]);
}

#[test]
fn what_came_before_the_end_comes_before_it() {
    let mut bench = Bench::stream(RULES);
    bench.head(200, &EVENTS);
    bench.handle(Input::Chunk(b"data: 1\n\n"));
    bench.lose();
    let seen = [
        "200 events",
        "[1,0]",
        "The request to x.test failed: the line is cut",
    ];
    assert_eq!(bench.ready(), seen);
    let mut bench = Bench::stream(REOPENING);
    bench.head(200, &EVENTS);
    let large = format!("data: 1\n\ndata: {}", "x".repeat(1001));
    bench.handle(Input::Chunk(large.as_bytes()));
    assert!(!bench.machine.has_room());
    let seen = bench.ready();
    assert_eq!(seen[..2], ["200 events", "[1,0]"]);
    assert!(seen[2].contains("limit of 1000 bytes"), "{seen:?}");
    assert_eq!(
        bench.machine.step(),
        Step::Done,
        "that is not worth another try"
    );
}

#[test]
fn what_comes_instead_of_a_stream() {
    let cases: [(u16, Headers, &str, &[&str]); 7] = [
        (204, &[], "", &["end"]),
        (205, &[], "", &["end"]),
        (200, &JSON, "", &["end"]),
        (
            200,
            &JSON,
            "{\"a\":1}",
            &["200 lines", "[{\"a\":1}]", "end"],
        ),
        (200, &[], "data: 1\n\n", &["200 events", "[1,0]", "end"]),
        (
            200,
            &[("content-type", "text/plain")],
            "data: 1\n\n",
            &["200 events", "[1,0]", "end"],
        ),
        (
            201,
            &[("content-type", "application/x-ndjson")],
            "1\n{}",
            &["201 lines", "[1]", "[{}]", "end"],
        ),
    ];
    for (status, headers, body, expected) in cases {
        let seen = Bench::stream(RULES).respond(status, headers, body);
        assert_eq!(seen, expected, "{status} {headers:?}");
        // The same when a stream is opened again: nothing that a server says is dropped.
        let is_stream = expected.contains(&"200 events");
        if !is_stream {
            let seen = reopened().respond(status, headers, body);
            assert_eq!(seen, expected, "{status} {headers:?}, opened again");
        }
    }
}

/// A stream that has broken after an event, and is about to be opened again.
fn reopened() -> Bench {
    let mut bench = Bench::stream(REOPENING);
    bench.head(200, &EVENTS);
    bench.handle(Input::Chunk(b"retry: 600\nid: 7\ndata: 1\n\n"));
    bench.lose();
    assert_eq!(bench.ready(), ["200 events", r#"[1,["message","7",600]]"#]);
    let pause = bench.sleep();
    assert!(pause >= Duration::from_millis(600) && pause <= Duration::from_millis(900));
    assert_eq!(bench.sent_header("last-event-id"), Some("7"));
    bench
}

#[test]
fn a_stream_goes_on_where_it_was_lost_and_remembers() {
    let mut bench = reopened();
    bench.head(200, &EVENTS);
    bench.handle(Input::Chunk(b"data: 2\n\n"));
    // For the reader of the batches a response is a new beginning: the id is sent again.
    assert_eq!(bench.ready(), ["200 events", r#"[2,"7"]"#]);
    bench.now += Duration::from_secs(5);
    bench.handle(Input::End);
    // So is what the first response asked for with `retry:`.
    assert!(bench.sleep() <= Duration::from_millis(900));
    assert_eq!(bench.sent_header("last-event-id"), Some("7"));
    bench.answer(204, &[], "");
    assert_eq!(bench.ready(), ["end"]);
}

#[test]
fn attempts_without_an_event_are_counted() {
    let mut bench = reopened();
    assert_eq!(bench.answer(503, &[("retry-after", "2")], ""), Step::Sleep);
    assert_eq!(
        bench.sleep(),
        Duration::from_secs(2),
        "the longer wish counts"
    );
    assert_eq!(bench.lose(), Step::Deliver);
    assert_eq!(
        bench.ready(),
        ["The request to x.test failed: the line is cut (tried 3 times)"]
    );
    // A stream between them that holds begins a new count, and an end without an error does not count.
    let mut bench = reopened();
    bench.lose();
    bench.sleep();
    bench.head(200, &EVENTS);
    bench.handle(Input::Chunk(b"data: 2\n\n"));
    bench.ready();
    bench.now += Duration::from_secs(5);
    for _ in 0..2 {
        assert_eq!(bench.handle(Input::End), Step::Sleep);
        bench.sleep();
        bench.head(200, &EVENTS);
        bench.ready();
    }
    assert_eq!(bench.handle(Input::End), Step::Deliver);
    assert_eq!(bench.ready(), ["end"]);
}

#[test]
fn a_server_that_is_slow_to_open_a_stream_again_is_asked_once_more() {
    let rules = Rules {
        timeout: Some(Duration::from_secs(1)),
        ..REOPENING
    };
    let mut bench = Bench::stream(rules);
    bench.head(200, &EVENTS);
    bench.ready();
    bench.lose();
    bench.sleep();
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.handle(Input::Tick), Step::Sleep);
    bench.sleep();
    bench.now += Duration::from_secs(1);
    bench.handle(Input::Tick);
    assert_eq!(
        bench.ready(),
        [
            "x.test did not answer within 1000 ms, the `timeout` of the configuration (tried 3 times)"
        ]
    );
}

#[test]
fn tries_to_open_a_stream_do_not_count_against_opening_it_again() {
    let rules = Rules {
        retry: RETRYING.retry,
        reconnect: Some(Reconnect {
            max_retries: 1,
            any_method: false,
        }),
        ..RULES
    };
    let mut bench = Bench::stream(rules);
    bench.lose();
    bench.sleep();
    bench.head(200, &EVENTS);
    bench.ready();
    assert_eq!(bench.handle(Input::End), Step::Sleep);
}

#[test]
fn a_stream_that_breaks_at_once_uses_up_its_attempts_and_one_that_held_does_not() {
    let mut hasty = Bench::stream(REOPENING);
    for attempt in 0..3 {
        hasty.head(200, &EVENTS);
        hasty.handle(Input::Chunk(b"retry: 0\ndata: 1\n\n"));
        hasty.ready();
        let step = hasty.handle(Input::End);
        assert_eq!(step == Step::Sleep, attempt < 2, "{attempt}");
        if step == Step::Sleep {
            // Whatever the server asks for.
            assert!(hasty.sleep() >= Duration::from_millis(500));
        }
    }
    assert_eq!(hasty.ready(), ["end"]);
    let mut patient = Bench::stream(REOPENING);
    for _ in 0..5 {
        patient.head(200, &EVENTS);
        patient.handle(Input::Chunk(b"data: 1\n\n"));
        patient.ready();
        patient.now += Duration::from_secs(5);
        assert_eq!(patient.handle(Input::End), Step::Sleep);
        patient.sleep();
    }
    // Time alone does not count: something must have come.
    let mut silent = Bench::stream(REOPENING);
    for attempt in 0..3 {
        silent.head(200, &EVENTS);
        silent.ready();
        silent.now += Duration::from_secs(60);
        let step = silent.handle(Input::End);
        assert_eq!(step == Step::Sleep, attempt < 2, "{attempt}");
        if step == Step::Sleep {
            silent.sleep();
        }
    }
}

#[test]
fn only_a_get_is_repeated_unless_the_configuration_says_so() {
    let any = Rules {
        reconnect: Some(Reconnect {
            max_retries: 2,
            any_method: true,
        }),
        ..RULES
    };
    for (method, rules, again) in [
        ("GET", REOPENING, true),
        ("POST", REOPENING, false),
        ("QUERY", REOPENING, false),
        ("POST", any, true),
    ] {
        let mut bench = Bench::new(method, rules, Some((ResponseKind::Sse, "")));
        bench.head(200, &EVENTS);
        bench.ready();
        let step = bench.handle(Input::End);
        assert_eq!(step == Step::Sleep, again, "{method}");
    }
}

#[test]
fn lines_are_not_asked_for_again() {
    let mut bench = Bench::new("GET", REOPENING, Some((ResponseKind::Ndjson, "")));
    bench.head(200, &[]);
    bench.handle(Input::Chunk(b"1\n2"));
    bench.handle(Input::End);
    assert_eq!(bench.ready(), ["200 lines", "[1,2]", "end"]);
}

#[test]
fn a_stream_begins_where_it_is_set_to_and_the_call_has_the_last_word() {
    let mut bench = Bench::new("GET", RULES, Some((ResponseKind::Sse, "ü5")));
    assert_eq!(bench.sent_header("last-event-id"), Some("\u{c3}\u{bc}5"));
    bench.head(200, &EVENTS);
    bench.handle(Input::Chunk(b"data: 1\n\n"));
    assert_eq!(bench.ready(), ["200 events", r#"[1,"ü5"]"#]);
    let plan = get("/", Vec::new());
    let own = [("Last-Event-ID", "9")];
    let request = built_with(&plan, input(&json!({})), "http://x.test/", &[], &own, None);
    let request = request.unwrap();
    let kind = ResponseKind::Sse;
    let machine = Machine::stream(request, Vec::new(), RULES, kind, "5", Instant::now());
    let sent = machine.outgoing().request().headers.get("last-event-id");
    assert_eq!(sent, Some("9"));
}

#[test]
fn attempts_and_reasons_decide_about_opening_again() {
    let policy = Reconnect {
        max_retries: 2,
        any_method: false,
    };
    let lost = |attempts, cause| Lost {
        attempts,
        cause,
        ..Lost::default()
    };
    for (lost, expected) in [
        (lost(0, None), true),
        (lost(1, Some(Cause::ConnectionLost)), true),
        (lost(1, Some(Cause::Status(503))), true),
        (lost(2, None), false),
        (lost(0, Some(Cause::Status(404))), false),
    ] {
        assert_eq!(policy.delay(lost, 0.5).is_some(), expected, "{lost:?}");
    }
    let asking = |stream_asks, server_asks: Option<u64>, attempts| {
        let lost = Lost {
            attempts,
            stream_asks,
            server_asks: server_asks.map(Duration::from_secs),
            cause: None,
        };
        Reconnect {
            max_retries: 99,
            any_method: false,
        }
        .delay(lost, 0.0)
    };
    assert_eq!(asking(Some(600), None, 0), Some(Duration::from_millis(600)));
    assert_eq!(
        asking(Some(600), None, 1),
        Some(Duration::from_millis(1200))
    );
    assert_eq!(asking(Some(0), None, 0), Some(Duration::from_millis(500)));
    assert_eq!(asking(None, None, 0), Some(Duration::from_secs(1)));
    assert_eq!(asking(None, None, 60), Some(Duration::from_secs(30)));
    assert_eq!(
        asking(Some(u64::MAX), None, 5),
        Some(Duration::from_secs(300))
    );
    assert_eq!(asking(Some(20), Some(9), 0), Some(Duration::from_secs(9)));
    assert_eq!(asking(Some(20), Some(301), 0), None);
}

/// Whatever a driver says, in whatever order: no panic, one end, and nothing after it.
#[test]
fn nothing_that_happens_can_confuse_it() {
    let mut random = Random::announced("machine");
    let heads: [(u16, Headers); 8] = [
        (200, &JSON),
        (200, &EVENTS),
        (200, &[("content-type", "application/x-ndjson")]),
        (204, &[]),
        (302, &[("location", "/next")]),
        (503, &[("retry-after", "1")]),
        (404, &JSON),
        (200, &[("content-type", "image/png")]),
    ];
    let chunks: [&[u8]; 6] = [b"data: 1\n\n", b"id: 4\ndata", b"1\n", b"\xff", b"{}", b""];
    for _ in 0..20_000 {
        let rules = Rules {
            timeout: (random.below(2) == 0).then_some(Duration::from_millis(500)),
            retry: RETRYING.retry,
            reconnect: (random.below(2) == 0).then_some(Reconnect {
                max_retries: 3,
                any_method: false,
            }),
            ..RULES
        };
        let mut bench = match random.below(3) {
            0 => Bench::call(rules),
            1 => Bench::stream(rules),
            _ => Bench::new("POST", rules, Some((ResponseKind::Ndjson, "3"))),
        };
        let mut ends = 0;
        for _ in 0..40 {
            match random.below(9) {
                0..=2 => {
                    let (status, headers) = heads[random.below(heads.len())];
                    bench.head(status, headers);
                }
                3 | 4 => {
                    let chunk = chunks[random.below(chunks.len())];
                    bench.handle(Input::Chunk(chunk));
                }
                5 => {
                    bench.handle(Input::End);
                }
                6 => {
                    bench.lose();
                }
                7 => {
                    if let Some(deadline) = bench.machine.deadline() {
                        bench.now = bench.now.max(deadline);
                    }
                    bench.handle(Input::Tick);
                }
                _ if random.below(20) == 0 => {
                    bench.handle(Input::Cancel);
                }
                _ => {}
            }
            if bench.machine.step() == Step::Deliver {
                while let Some(output) = bench.machine.take() {
                    assert_eq!(ends, 0, "{output:?} after the end");
                    match output {
                        Output::Item(StreamItem::Batch(text)) => {
                            let members: Vec<Value> = serde_json::from_str(&text).unwrap();
                            assert!(!members.is_empty());
                        }
                        Output::Item(StreamItem::Head(..)) => {}
                        _ => ends += 1,
                    }
                }
            }
            assert_eq!(ends == 1, bench.machine.step() == Step::Done);
        }
    }
}
