//! Which folders that a configuration grants are not given on this machine.
//!
//! Whoever would open them is asked, so what is said here is what will be. The agents serve all
//! the same: a disk that is mounted later is given when it is there.

use super::outfit::around_home;
use crate::Capabilities;
use insula_config::{AgentOutcome, Loaded};
use insula_domain::{AgentId, FileGrants};
use insula_registry::home::Home;
use insula_registry::workspace::{Workspace, full};
use insula_sandbox::{never_granted, shows};
use insula_tools::workspace::{GivenFolder, Users};
use insula_world::World;
use std::path::{Path, PathBuf};

/// Why folders under `files.shared` of these agents would not be given here, a line for each.
/// Nothing is made.
pub async fn void_here(
    world: &World,
    home: &Home,
    user_home: Option<&str>,
    loaded: &Loaded,
) -> Vec<String> {
    let mut said = Vec::new();
    for (id, outcome) in &loaded.agents {
        let AgentOutcome::Ready(config) = outcome else { continue };
        if config.boundary.files.shared.is_empty() {
            continue;
        }
        let mut grants = config.boundary.files.clone();
        for shared in &mut grants.shared {
            shared.path = full(&shared.path, user_home).to_string_lossy().into();
        }
        said.extend(void(world, home, user_home, (id, grants)).await);
    }
    said
}

async fn void(
    world: &World,
    home: &Home,
    user_home: Option<&str>,
    (id, grants): (&AgentId, FileGrants),
) -> Vec<String> {
    let (root, real, id) = (home.root().to_owned(), home.real_root(), id.clone());
    let user_home = user_home.map(str::to_owned);
    let look = move || look(&root, &real, user_home.as_deref(), &id, &grants);
    // What could not be looked at is seen by whoever serves.
    world.storage.run(look).await.unwrap_or_default()
}

impl Capabilities {
    /// Says in the log which folders of agents are not given here.
    pub async fn warn_of_void_grants(&self) {
        for (id, entry) in &self.registry.snapshot().agents {
            let Some(agent) = entry.state.context() else { continue };
            let grants = agent.boundary.files.clone();
            if grants.shared.is_empty() {
                continue;
            }
            let (world, home) = (&self.world, &self.home);
            for why in void(world, home, self.env.user_home(), (id, grants)).await {
                tracing::warn!("{why}");
            }
        }
    }
}

fn look(
    home: &Path,
    real_home: &Path,
    user_home: Option<&str>,
    id: &AgentId,
    grants: &FileGrants,
) -> Vec<String> {
    let folder = PathBuf::from("agents").join(id.as_str());
    let workspace = Workspace::new(home, user_home, folder, (None, Users::Agent), grants);
    let looked = workspace.place().look().unwrap_or_default();
    let fault = |looked: Result<GivenFolder, String>| {
        match looked {
        Err(why) => Some(format!("{why}; make the folder, or correct `files.shared`")),
        Ok(folder) => around_home(real_home, &folder).or_else(|| {
            let path = folder.path.display();
            if shows(&folder.real, real_home) {
                return Some(format!(
                    "in `{path}` the daemon's home, or a part of it, is mounted again; programs find an empty folder there; unmount it, or correct `files.shared`"
                ));
            }
            let why = never_granted(&folder.real)?;
            Some(format!(
                "`{path}` makes every program of this agent refused: {why}; correct `files.shared`"
            ))
        }),
    }
    };
    let faults = looked.into_iter().filter_map(fault);
    faults.map(|fault| format!("agent `{id}`: {fault}")).collect()
}
