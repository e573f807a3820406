//! The fake's connections: requests in, answers out as troubles let them, and sockets.

use super::answers::{http, refused};
use super::state::Trouble;
use super::{Shared, gateway, routes};
use crate::socket::{FakeSocket, asks_for_socket};
use crate::upstream::{Seen, read_request};
use crate::world::locked;
use insula_world::{Listener, Stream};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;

pub(super) async fn accept(listener: Box<dyn Listener>, shared: Arc<Shared>, address: SocketAddr) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, shared.clone(), address));
    }
}

async fn serve(mut stream: Box<dyn Stream>, shared: Arc<Shared>, address: SocketAddr) {
    let mut buffer = vec![];
    while let Some(seen) = read_request(&mut stream, &mut buffer, 0).await {
        if asks_for_socket(&seen) {
            if let Ok(socket) = FakeSocket::upgrade(stream, &seen, buffer).await {
                gateway::attend(socket, &shared, &format!("ws://{address}/resume")).await;
            }
            return;
        }
        let (answer, trouble) = answer(&shared, &seen, address);
        let cut = match trouble {
            Some(Trouble::Unheard) => return,
            Some(Trouble::CutAt(cut)) => cut,
            _ => usize::MAX,
        };
        let written = &answer[..answer.len().min(cut)];
        if stream.write_all(written).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        if cut < answer.len() {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// The whole answer to a request, and what else is to go wrong with it.
fn answer(shared: &Shared, seen: &Seen, address: SocketAddr) -> (Vec<u8>, Option<Trouble>) {
    let now = shared.now();
    let answered = {
        let mut state = locked(&shared.state);
        let line = seen.line.replacen("/api/v10", "", 1);
        let about = if seen.body.len() > 64 * 1024 { Value::Null } else { seen.json() };
        state.requests.push((line.clone(), about));
        let at = state.troubles.iter().position(|(begin, _)| line.starts_with(begin.as_str()));
        let trouble = at.map(|at| state.troubles.remove(at).1);
        match &trouble {
            Some(Trouble::Unheard) => (vec![], trouble),
            Some(Trouble::Answer { status, body }) => {
                (http(*status, "text/html", &[], body.as_bytes()), None)
            }
            Some(Trouble::Refuse { status, code, wait, global }) => {
                (refused(*status, *code, *wait, *global), None)
            }
            Some(Trouble::CutAt(_)) | None => {
                (routes::answer(&mut state, now, (&line, seen), address), trouble)
            }
        }
    };
    shared.change();
    answered
}
