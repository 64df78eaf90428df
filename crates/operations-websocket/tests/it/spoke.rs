//! A spoke, and a hub that is played over a real socket.

use futures::{SinkExt, StreamExt};
use operations_core::log::Logger;
use operations_core::mailbox::Mailbox;
use operations_websocket::frame;
use operations_websocket::{Connection, Options};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use crate::support::Played;

#[expect(
    clippy::result_large_err,
    clippy::unnecessary_wraps,
    reason = "the shape that the library wants"
)]
fn welcome(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    if let Some(asked) = request.headers().get("sec-websocket-protocol") {
        let headers = response.headers_mut();
        headers.insert("sec-websocket-protocol", asked.clone());
    }
    Ok(response)
}

async fn say(socket: &mut WebSocketStream<TcpStream>, text: String) {
    socket.send(Message::text(text)).await.unwrap();
}

/// Takes offers until it is asked what it serves. Returns how many there were.
async fn offers_of_a_spoke(listener: TcpListener) -> usize {
    let (stream, _) = listener.accept().await.unwrap();
    let mut socket = accept_hdr_async(stream, welcome).await.unwrap();
    let mut offers = 0;
    loop {
        let Message::Text(text) = socket.next().await.expect("it is open").unwrap() else {
            continue;
        };
        let received: Value = serde_json::from_str(text.as_str()).unwrap();
        let id = received["id"].as_str().unwrap();
        match received["type"].as_str() {
            Some("hub.offer") => {
                offers += 1;
                say(&mut socket, frame::write("hub.accepted", id, "{}")).await;
            }
            Some("hub.discover") => {
                for page in frame::list("hub.operations", id, &[], 1_024) {
                    say(&mut socket, page).await;
                }
                return offers;
            }
            _ => {}
        }
    }
}

/// The owner of a connection may offer something before the task that works on the connection has begun.
#[tokio::test]
async fn what_is_offered_at_once_is_offered_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/hub", listener.local_addr().unwrap());
    let hub = tokio::spawn(offers_of_a_spoke(listener));
    let reconnect = json!({ "minDelay": 1, "maxDelay": 1 });
    let options = json!({ "url": url, "name": "spoke", "reconnect": reconnect });
    let options: Options = serde_json::from_value(options).unwrap();
    let mailbox = Arc::new(Mailbox::new(|| {}));
    let serving = Arc::new(Played::default());
    let spoke = Connection::open(options, serving, Logger::silent(), mailbox).await;
    let spoke = spoke.expect("a connection");
    spoke.offer(vec!["{}".to_owned()]).await.unwrap();
    // Frames arrive in order: what was offered twice would have been before this.
    assert_eq!(spoke.peer().discover().await.unwrap(), "[]");
    assert_eq!(hub.await.unwrap(), 1);
}
