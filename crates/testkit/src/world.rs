//! The virtual world: the same seed and the same inputs give the same bytes.
//!
//! Time moves only when told to, storage runs inline, processes answer from a script, and
//! connections are pipes in memory. Nothing here touches the machine.

mod clock;
mod network;
mod processes;
mod storage;

pub use clock::VirtualClock;
pub use network::MemoryNetwork;
pub use processes::ScriptedProcesses;
pub use storage::InlineStorage;

use insula_world::{Random, World};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a test holds on to, to move the world it made.
#[derive(Clone)]
pub struct Handles {
    /// Moves time.
    pub clock: Arc<VirtualClock>,
    /// Says what programs answer, and tells which were started.
    pub processes: Arc<ScriptedProcesses>,
    /// The network that only this world's code is on.
    pub network: Arc<MemoryNetwork>,
}

/// A world whose time stands still until [`VirtualClock::advance`].
pub fn world(seed: u64) -> (World, Handles) {
    with_clock(seed, VirtualClock::manual())
}

/// A world whose time jumps to the next sleeper whenever every task waits.
///
/// It needs a runtime with paused time: `#[tokio::test(start_paused = true)]`.
pub fn auto_world(seed: u64) -> (World, Handles) {
    with_clock(seed, VirtualClock::auto())
}

fn with_clock(seed: u64, clock: VirtualClock) -> (World, Handles) {
    let handles = Handles {
        clock: Arc::new(clock),
        processes: Arc::new(ScriptedProcesses::default()),
        network: Arc::new(MemoryNetwork::default()),
    };
    let world = World {
        clock: handles.clock.clone(),
        random: Random::from_seed(widen(seed)),
        storage: Arc::new(InlineStorage),
        processes: handles.processes.clone(),
        network: handles.network.clone(),
    };
    (world, handles)
}

/// A whole seed from a number that fits in a test's source.
fn widen(seed: u64) -> [u8; 32] {
    let mut wide = [0; 32];
    wide[..8].copy_from_slice(&seed.to_le_bytes());
    wide
}

/// Locks even after a panic of another holder: one failed assertion must not hide behind the
/// poisoned lock of the next.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
