//! Serves the router on a listener of the world's network until told to stop.

use crate::connection;
use axum::Router;
use insula_world::{Listener, Stream, World};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Connections served at once. Each costs a descriptor and, with its request, up to a body's
/// length of memory; a thousand streams leave most descriptors to databases.
pub const CONNECTIONS_MAX: usize = 1_024;

/// Connections beyond that which are told so at a time. Still more are closed without a word:
/// whoever opens thousands must not keep the next one waiting to be refused.
const REFUSALS_MAX: usize = 64;

/// How long somebody who is refused has to take the answer.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// How long to wait after a connection could not be accepted, as when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`; then lets requests under way finish, and closes every connection that
/// has none.
pub async fn serve(
    listener: Box<dyn Listener>,
    router: Router,
    world: World,
    stop: CancellationToken,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            // One that ended is not kept.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                world.clock.sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            let Ok(place) = refusals.clone().try_acquire_owned() else { continue };
            let (clock, stop) = (world.clock.clone(), stop.clone());
            connections.spawn(async move {
                tokio::select! {
                    () = turn_away(stream) => {}
                    () = clock.sleep(REFUSAL_TIME) => {}
                    () = stop.cancelled() => {}
                }
                drop(place);
            });
            continue;
        };
        let serving = connection::serve(stream, router.clone(), world.clone(), stop.clone());
        connections.spawn(async move {
            serving.await;
            drop(place);
        });
    }
    // Who comes now is told by the system that nobody listens.
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Says that there are too many, whatever is asked, and waits until that was taken: a connection
/// that is closed with its request unread would lose the answer.
async fn turn_away(mut stream: Box<dyn Stream>) {
    const BODY: &str = r#"{"error":{"code":"too_many_connections","message":"too many connections are open; try again later"}}"#;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let said = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        let mut unread = [0; 4096];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // Who has gone away by then has not waited for it.
    let _ = said.await;
}
