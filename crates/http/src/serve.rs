//! Serves the router on a listener of the world's network until told to stop.

use crate::connection;
use crate::error::ApiError;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use insula_world::{Listener, World};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Connections served at once. Each costs a descriptor and, with its request, up to a body's
/// length of memory; a thousand streams leave most descriptors to databases.
pub const CONNECTIONS_MAX: usize = 1_024;

/// Connections beyond that which are told so, at once. Still more wait to be accepted.
const REFUSALS_MAX: usize = 64;

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
    let full = Router::new().fallback(async || too_many());
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
        let (place, router) = match places.clone().try_acquire_owned() {
            Ok(place) => (place, router.clone()),
            Err(_) => tokio::select! {
                () = stop.cancelled() => break,
                place = refusals.clone().acquire_owned() => match place {
                    Ok(place) => (place, full.clone()),
                    Err(_) => break,
                },
            },
        };
        let serving = connection::serve(stream, router, world.clone(), stop.clone());
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

fn too_many() -> Response {
    let message = "too many connections are open; try again later";
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_connections", message);
    ([(header::RETRY_AFTER, "1"), (header::CONNECTION, "close")], error).into_response()
}
