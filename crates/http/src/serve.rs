//! Serves the router until told to stop: on a listener of the world's network, and on the socket
//! of the command line, which has places of its own.

use crate::bodies::Bodies;
use crate::changes::ByCommandLine;
use crate::connection::{self, At};
use crate::connection_limits::ConnectionLimiter;
use axum::Router;
use insula_world::{Listener, LocalListener, Stream, World};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Connections of the command line at once. Only the owner of the home has any.
const LOCAL_CONNECTIONS_MAX: usize = 128;

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
    let (limiter, bodies) = (Arc::<ConnectionLimiter>::default(), Arc::<Bodies>::default());
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            // One that ended is not kept.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok((stream, from)) => (stream, from.ip()),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                world.clock.sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(permit) = limiter.enter(from) else {
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
        let at = At { permit, bodies: bodies.clone() };
        connections.spawn(connection::serve(
            stream,
            at,
            router.clone(),
            world.clone(),
            stop.clone(),
        ));
    }
    // Who comes now is told by the system that nobody listens.
    drop(listener);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Serves the command line until `stop`. Nothing that is asked of the listener takes a place here,
/// and nobody comes in whose the home is not.
pub async fn serve_local(
    listener: LocalListener,
    router: Router,
    world: World,
    stop: CancellationToken,
) {
    let (limiter, bodies) = (Arc::<ConnectionLimiter>::default(), Arc::<Bodies>::default());
    let room = Arc::new(Semaphore::new(LOCAL_CONNECTIONS_MAX));
    let router = router.layer(axum::Extension(ByCommandLine));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok(Some(stream)) => stream,
            Ok(None) => {
                tracing::warn!("somebody else's process tried the socket of the command line");
                continue;
            }
            Err(error) => {
                tracing::warn!(%error, "a command could not be let in");
                world.clock.sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let entered = limiter.enter(Ipv4Addr::LOCALHOST.into());
        let (Ok(permit), Ok(held)) = (entered, room.clone().try_acquire_owned()) else { continue };
        let at = At { permit, bodies: bodies.clone() };
        let serving = connection::serve(stream, at, router.clone(), world.clone(), stop.clone());
        connections.spawn(async move {
            serving.await;
            drop(held);
        });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
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
