//! How many names one agent may have looked up at once.
//!
//! The system's resolver blocks a thread until it has an answer or gives up, and the threads
//! for that are the whole daemon's. Who waits for a slow name server gives up sooner than the
//! resolver does, so a place is free again only when the thread is.

use insula_world::World;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Look-ups of one agent at once. Sixty-four agents whose name servers all hang fill the threads
/// of the runtime, and no fewer.
const AT_ONCE_MAX: usize = 8;

/// The places of one agent, shared by all its ways out. Cheap to clone.
#[derive(Clone)]
pub struct Lookups(Arc<Semaphore>);

impl Default for Lookups {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE_MAX)))
    }
}

impl Lookups {
    /// Looks a name up once there is a place for it. Whoever stops waiting leaves the place
    /// taken until the resolver is done.
    pub(super) async fn resolve(
        &self,
        world: &World,
        name: &str,
        port: u16,
    ) -> io::Result<Vec<SocketAddr>> {
        let place = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (network, name) = (world.network.clone(), name.to_owned());
        let looking = tokio::spawn(async move {
            let found = network.resolve(&name, port).await;
            drop(place);
            found
        });
        looking.await.map_err(io::Error::other)?
    }
}
