//! What every scene is given: which daemon to attack, a seed, and a runtime for the servers
//! that stand around it.

use crate::canary::Canary;
use insula_world::{Random, World};
use std::path::PathBuf;
use tokio::runtime::Handle;

/// The surroundings of a run. Nothing here belongs to one scene.
#[derive(Clone)]
pub struct Stage {
    /// The daemon to attack.
    pub insula: PathBuf,
    /// What everything random is made from.
    pub seed: u64,
    /// Where model servers and platforms run.
    pub runtime: Handle,
    /// The real machine.
    pub world: World,
}

impl Stage {
    /// A random string that stands nowhere else, the same for the same seed and purpose.
    pub fn random(&self, purpose: &[&str]) -> String {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        Random::from_seed(seed).stream(purpose).id()
    }

    /// The canary of this name, which a plan writes as `{canary:NAME}`.
    pub fn planted(&self, name: &str) -> Canary {
        Canary::new(name, &self.random(&["planted", name]))
    }

    /// A text of a plan with its canaries in their places.
    pub fn with_canaries(&self, text: &str) -> String {
        let mut whole = text.to_owned();
        while let Some((before, rest)) = whole.split_once("{canary:") {
            let Some((name, after)) = rest.split_once('}') else { break };
            whole = format!("{before}{}{after}", self.planted(name).text);
        }
        whole
    }
}
