//! What a stream may cost.

use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_http::sse::{Event, Limits, Parser, SseError};

const LIMIT: usize = 100;

fn parser() -> Parser {
    Parser::new(Limits { event_bytes: LIMIT })
}

fn run(stream: &str, piece: usize) -> Result<Vec<Event>, SseError> {
    let mut events = Vec::new();
    let mut parser = parser();
    for piece in stream.as_bytes().chunks(piece) {
        parser.push(piece, &mut |event| events.push(event))?;
    }
    Ok(events)
}

fn of(size: usize) -> String {
    "x".repeat(size)
}

#[test]
fn an_event_may_be_as_large_as_the_limit_and_no_larger() {
    let streams: [&dyn Fn(usize) -> String; 5] = [
        &|size| format!("data: {}\n\n", of(size)),
        &|size| format!("data: {}\ndata: {}\n\n", of(40), of(size - 41)),
        &|size| format!("event: {}\ndata: {}\n\n", of(10), of(size - 10)),
        &|size| format!("id: {}\ndata\nevent: {}\n\n", of(50), of(size - 50)),
        &|size| "data\n".repeat(size + 1) + "\n",
    ];
    for (number, stream) in streams.iter().enumerate() {
        for piece in [1, 7, 10_000] {
            let fits = run(&stream(LIMIT), piece).map(|events| events.len());
            assert_eq!(fits, Ok(1), "{number}");
            let does_not = run(&stream(LIMIT + 1), piece);
            assert_eq!(
                does_not,
                Err(SseError::EventTooLarge { limit: LIMIT }),
                "{number}"
            );
        }
    }
}

#[test]
fn each_event_has_the_limit_to_itself() {
    let stream = format!("id: {}\ndata: {}\n\n", of(50), of(50)).repeat(10);
    assert_eq!(run(&stream, 16).unwrap().len(), 10);
    // Nor does what was replaced within a block count.
    let stream = format!("event: {0}\nid: {0}\n", of(40)).repeat(10) + "data: a\n\n";
    assert_eq!(run(&stream, 16).unwrap().len(), 1);
}

#[test]
fn what_is_not_kept_does_not_count() {
    let long = of(LIMIT * 20);
    let stream = format!(
        ":{long}\nfoo: {long}\n{long}\nid: \0{long}\nretry: {long}\n{}data: a\n\n",
        ": still here\n".repeat(50)
    );
    for piece in [1, 7, 100_000] {
        assert_eq!(run(&stream, piece).unwrap()[0].data, "a");
    }
}

#[test]
fn a_refused_stream_stays_refused_until_the_next_connection() {
    let mut parser = parser();
    let mut events = Vec::new();
    let mut push = |parser: &mut Parser, text: &str| {
        parser.push(text.as_bytes(), &mut |event| events.push(event))
    };
    let refused = Err(SseError::EventTooLarge { limit: LIMIT });
    assert_eq!(push(&mut parser, "id: 1\ndata: a\n\nid: 2\n"), Ok(()));
    assert_eq!(
        push(&mut parser, &format!("data: {}", of(LIMIT * 2))),
        refused
    );
    assert_eq!(push(&mut parser, "\n\ndata: b\n\n"), refused);
    assert_eq!(push(&mut parser, ""), refused);
    parser.finish();
    assert_eq!(push(&mut parser, "data: c\n\n"), Ok(()));
    let seen: Vec<_> = events
        .iter()
        .map(|event| (&*event.data, &*event.id))
        .collect();
    assert_eq!(seen, [("a", "1"), ("c", "1")]);
}

#[test]
fn the_error_says_what_to_do() {
    assert_eq!(Limits::default().event_bytes, 16 * 1024 * 1024);
    let error = CallError::from(SseError::EventTooLarge { limit: 1234 });
    assert!(error.is(InfrastructureErrorCode::ExecutionError));
    assert!(error.message.contains("1234 bytes"), "{error}");
    assert!(error.message.contains("maxEventBytes"), "{error}");
    assert_eq!(error.details.unwrap()["maxEventBytes"], 1234);
}
