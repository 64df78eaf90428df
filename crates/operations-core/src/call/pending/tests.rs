use super::*;
use crate::error::InfrastructureErrorCode;

fn id(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn call(name: &str, deadline: Option<f64>) -> Request {
    Request {
        id: id(name),
        operation_id: id("t.op"),
        parent: None,
        kind: Kind::Call { deadline },
    }
}

fn stream(name: &str, idle_timeout: Option<f64>) -> Request {
    Request {
        kind: Kind::Subscription {
            idle_timeout,
            paced: false,
        },
        ..call(name, None)
    }
}

fn child(mut request: Request, parent: &str) -> Request {
    request.parent = Some(id(parent));
    request
}

fn codes(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .map(|effect| match effect {
            Effect::Resolve(id) => format!("{id} resolved"),
            Effect::Deliver(id) => format!("{id} delivered"),
            Effect::Fail(id, error) => format!("{id} {}", error.code),
            Effect::End(id) => format!("{id} ended"),
            Effect::SendAborted(id) => format!("{id} sent"),
        })
        .collect()
}

#[test]
fn a_call_has_one_outcome() {
    for (first, expected) in [
        (Answer::Responded(1), "a resolved"),
        (Answer::Malformed, "a EXECUTION_ERROR"),
        (Answer::Failed(CallError::new("MINE", "m")), "a MINE"),
        (Answer::Completed, "a ABORTED"),
        (Answer::Aborted, "a ABORTED"),
    ] {
        let mut map = PendingRequests::new(10);
        map.open(0.0, call("a", Some(5.0))).unwrap();
        assert_eq!(codes(&map.answer(1.0, "a", first)), [expected]);
        for late in [
            Answer::Responded(1),
            Answer::Malformed,
            Answer::Completed,
            Answer::Aborted,
        ] {
            assert!(map.answer(2.0, "a", late).is_empty());
        }
        assert!(map.tick(100.0).is_empty());
        assert!(map.is_empty());
        assert_eq!(map.next_due(), None);
    }
}

#[test]
fn deadlines() {
    let mut map = PendingRequests::new(10);
    let error = map.open(5.0, call("late", Some(5.0))).unwrap_err();
    assert!(error.is(InfrastructureErrorCode::Timeout));
    assert_eq!(error.details, Some(serde_json::json!({ "deadline": 5 })));
    map.open(5.0, call("b", Some(9.0))).unwrap();
    map.open(5.0, call("a", Some(8.0))).unwrap();
    map.open(5.0, call("never", Some(f64::INFINITY))).unwrap();
    assert_eq!(map.next_due(), Some(8.0));
    assert!(map.tick(7.9).is_empty());
    assert_eq!(
        codes(&map.tick(9.0)),
        ["a TIMEOUT", "a sent", "b TIMEOUT", "b sent"]
    );
    assert_eq!(map.next_due(), None);
    assert_eq!(map.len(), 1);
}

#[test]
fn silence_counts_from_the_last_event() {
    let mut map = PendingRequests::new(10);
    map.open(0.0, stream("s", Some(10.0))).unwrap();
    assert_eq!(
        codes(&map.answer(9.0, "s", Answer::Responded(1))),
        ["s delivered"]
    );
    assert!(map.tick(10.0).is_empty());
    assert_eq!(map.next_due(), Some(19.0));
    let effects = map.tick(19.0);
    assert_eq!(codes(&effects), ["s TIMEOUT", "s sent"]);
    let Effect::Fail(_, error) = &effects[0] else {
        panic!("no failure");
    };
    assert!(error.message.contains("for 10 ms"), "{}", error.message);
}

#[test]
fn where_the_other_side_is_paced_the_consumers_own_silence_does_not_count() {
    let mut map = PendingRequests::new(10);
    let mut request = stream("s", Some(10.0));
    request.kind = Kind::Subscription {
        idle_timeout: Some(10.0),
        paced: true,
    };
    map.open(0.0, request).unwrap();
    map.answer(1.0, "s", Answer::Responded(1));
    assert!(map.tick(50.0).is_empty());
    map.ask(55.0, "s");
    assert!(map.tick(60.0).is_empty());
    assert_eq!(codes(&map.tick(65.0)), ["s TIMEOUT", "s sent"]);
}

#[test]
fn a_consumer_that_is_too_slow_is_let_go() {
    let mut map = PendingRequests::new(2);
    map.open(0.0, stream("s", None)).unwrap();
    map.ask(0.0, "s");
    for _ in 0..3 {
        assert_eq!(
            codes(&map.answer(0.0, "s", Answer::Responded(1))),
            ["s delivered"]
        );
    }
    map.ask(0.0, "s");
    assert_eq!(
        codes(&map.answer(0.0, "s", Answer::Responded(1))),
        ["s delivered"]
    );
    assert_eq!(
        codes(&map.answer(0.0, "s", Answer::Responded(1))),
        ["s EXECUTION_ERROR", "s sent"]
    );
}

#[test]
fn events_that_wait_are_bounded_by_their_size_too() {
    let mut map = PendingRequests::new(10).with_max_bytes(100);
    map.open(0.0, stream("s", None)).unwrap();
    // One alone may be as large as it is.
    for bytes in [40, 200] {
        assert_eq!(
            codes(&map.answer(0.0, "s", Answer::Responded(bytes))),
            ["s delivered"]
        );
    }
    assert_eq!([map.ask(0.0, "s"), map.ask(0.0, "s")], [40, 200]);
    for bytes in [99, 1] {
        assert_eq!(
            codes(&map.answer(0.0, "s", Answer::Responded(bytes))),
            ["s delivered"]
        );
    }
    assert_eq!(
        codes(&map.answer(0.0, "s", Answer::Responded(1))),
        ["s EXECUTION_ERROR", "s sent"]
    );
}

#[test]
fn ends_of_a_subscription() {
    for (answer, expected) in [
        (Answer::Completed, "s ended"),
        (Answer::Aborted, "s ended"),
        (Answer::Failed(CallError::new("X", "x")), "s X"),
        (Answer::Malformed, "s EXECUTION_ERROR"),
    ] {
        let mut map = PendingRequests::new(2);
        map.open(0.0, stream("s", None)).unwrap();
        assert_eq!(codes(&map.answer(0.0, "s", answer)), [expected]);
    }
    let mut map = PendingRequests::new(2);
    map.open(0.0, stream("s", None)).unwrap();
    assert_eq!(codes(&map.cancel("s")), ["s ABORTED", "s sent"]);
    map.open(0.0, stream("t", None)).unwrap();
    assert_eq!(codes(&map.leave("t")), ["t sent"]);
    assert!(map.leave("t").is_empty());
    map.open(0.0, stream("u", None)).unwrap();
    assert_eq!(codes(&map.abort("u")), ["u sent", "u ended"]);
    assert_eq!(codes(&map.abort("unknown")), ["unknown sent"]);
}

#[test]
fn children_go_with_their_parent_each_right_after_it() {
    let mut map = PendingRequests::new(2);
    map.open(0.0, call("a", None)).unwrap();
    map.open(0.0, child(call("b", None), "a")).unwrap();
    map.open(0.0, child(stream("c", None), "b")).unwrap();
    map.open(0.0, child(call("d", None), "a")).unwrap();
    map.open(0.0, call("other", None)).unwrap();
    assert_eq!(
        codes(&map.cancel("a")),
        [
            "a ABORTED",
            "a sent",
            "b sent",
            "b ABORTED",
            "c sent",
            "c ended",
            "d sent",
            "d ABORTED"
        ]
    );
    assert_eq!(map.len(), 1);
    // The parent need not be pending here: a worker's nested calls have a parent that it only serves.
    map.open(0.0, child(call("e", None), "served")).unwrap();
    assert_eq!(
        codes(&map.answer(0.0, "served", Answer::Aborted)),
        ["e sent", "e ABORTED"]
    );
    // A parent that is answered leaves its children alone.
    map.open(0.0, call("p", None)).unwrap();
    map.open(0.0, child(call("q", None), "p")).unwrap();
    map.answer(0.0, "p", Answer::Responded(1));
    assert!(map.contains("q"));
}

#[test]
fn a_long_chain_of_children_needs_no_stack() {
    let mut map = PendingRequests::new(2);
    map.open(0.0, call("0", None)).unwrap();
    for i in 1..100_000 {
        let request = child(call(&i.to_string(), None), &(i - 1).to_string());
        map.open(0.0, request).unwrap();
    }
    map.abort("0");
    assert!(map.is_empty());
    assert!(map.children.is_empty());
}
