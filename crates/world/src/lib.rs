//! The world outside the program, behind one seam.
//!
//! Clock, timers, randomness, identifiers, the executor that runs storage, the launcher of
//! processes and the network all reach code as fields of a [`World`] value. The daemon gets
//! [`World::real`]; tests build one that is seeded and virtual, so that two runs with the
//! same seed and inputs produce the same bytes.
//!
//! This crate knows nothing of agents: who may use which part is decided above it.

pub mod clock;
pub mod local;
pub mod network;
pub mod process;
pub mod random;
mod real;
pub mod storage;
mod threads;
pub mod tls;

pub use clock::{Clock, Timestamp};
pub use local::{LocalListener, LocalPath};
pub use network::{Listener, Network, Stream};
pub use process::{Process, ProcessLauncher, ProcessSpec};
pub use random::{Random, RandomStream};
pub use storage::{StorageExecutor, StorageStopped};

use std::sync::Arc;

/// Everything code may ask of the outside. Cheap to clone; carries no identity.
#[derive(Clone)]
pub struct World {
    /// What time it is, and how to wait.
    pub clock: Arc<dyn Clock>,
    /// Where randomness and identifiers come from.
    pub random: Random,
    /// Where blocking storage work runs.
    pub storage: Arc<dyn StorageExecutor>,
    /// How processes start.
    pub processes: Arc<dyn ProcessLauncher>,
    /// How connections are made and accepted.
    pub network: Arc<dyn Network>,
}

impl World {
    /// The machine as it is: system clock, system entropy, real threads, processes, sockets.
    ///
    /// Fails only when the system has no entropy to give.
    pub fn real() -> std::io::Result<Self> {
        Ok(Self {
            clock: Arc::new(real::SystemClock::start()),
            random: Random::from_seed(real::system_seed()?),
            storage: Arc::new(threads::StorageThreads::default()),
            processes: Arc::new(real::SystemProcesses),
            network: Arc::new(real::SystemNetwork),
        })
    }
}
