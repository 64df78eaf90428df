//! The specification once more, in the plainest way: everything at once, and as text.

use std::sync::Arc;

use operations_http::sse::Event;

/// The events of a whole stream.
pub(crate) fn parse(stream: &[u8]) -> Vec<Event> {
    let decoded = String::from_utf8_lossy(stream);
    let text = decoded.strip_prefix('\u{FEFF}').unwrap_or(&decoded);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    // What follows the last line end is an unfinished line.
    lines.pop();

    let mut events = Vec::new();
    let mut last_id = String::new();
    let mut data: Option<String> = None;
    let mut event_type = String::new();
    let mut retry = None;
    for line in lines {
        if line.is_empty() {
            if let Some(data) = data.take() {
                events.push(Event {
                    event: if event_type.is_empty() {
                        "message".into()
                    } else {
                        event_type.clone().into()
                    },
                    data,
                    id: Arc::from(last_id.as_str()),
                    retry,
                });
            }
            event_type.clear();
            retry = None;
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                data = Some(match data {
                    Some(before) => format!("{before}\n{value}"),
                    None => value.to_owned(),
                });
            }
            "event" => value.clone_into(&mut event_type),
            "id" if !value.contains('\0') => value.clone_into(&mut last_id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                retry = Some(value.parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
    events
}
