//! Serves the router on a listener of the world's network until told to stop.

use axum::Router;
use insula_world::{Listener, Stream, World};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long to wait after a connection could not be accepted, as when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

struct Door {
    listener: Box<dyn Listener>,
    world: World,
}

impl axum::serve::Listener for Door {
    type Io = Box<dyn Stream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok(connection) => return connection,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.world.clock.sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Serves until `stop`; then lets requests under way finish.
pub async fn serve(
    listener: Box<dyn Listener>,
    router: Router,
    world: World,
    stop: CancellationToken,
) -> io::Result<()> {
    let door = Door { listener, world };
    axum::serve(door, router).with_graceful_shutdown(stop.cancelled_owned()).await
}
