//! What the hands of tools are made of: programs, MCP servers, the web, skills, memory and hooks.
//!
//! Each is bound to one agent, and often to one conversation, before a tool sees it. What an agent
//! may do with one is in its context; here it is done.

pub mod doctor;
pub mod hooks;
mod lifecycle;
pub mod mcp;
pub mod memory;
pub mod programs;
pub mod skills;
pub mod web;

use insula_registry::daemon::Purpose;
use insula_registry::error::RuntimeError;
use insula_registry::{Daemon, Home, HomeLock};
use insula_world::World;
use programs::Host;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The agents of a home, and what acts for them. Cheap to clone.
#[derive(Clone)]
pub struct Capabilities {
    /// The agents, and everything that may change them.
    pub daemon: Arc<Daemon>,
    /// The programs and servers that run for them.
    pub programs: Arc<Host>,
}

impl Capabilities {
    /// Opens a home.
    pub async fn open(
        home: Home,
        lock: HomeLock,
        world: World,
        env: BTreeMap<String, String>,
        purpose: Purpose,
    ) -> Result<Self, RuntimeError> {
        let programs = Arc::new(Host::new(&world, home.hidden()));
        let acting = programs.clone();
        let daemon = Daemon::open(home, lock, world, env, purpose, acting).await?;
        Ok(Self { daemon: Arc::new(daemon), programs })
    }
}
