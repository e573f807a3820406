//! What the hands of tools are made of: programs, MCP servers, the web, skills, memory and hooks.
//!
//! Each is bound to one agent, and often to one conversation, before a tool sees it. What an agent
//! may do with one is in its context; here it is done.

pub mod doctor;
pub mod failures;
pub mod hooks;
mod lifecycle;
pub mod mcp;
pub mod memory;
pub mod pictures;
pub mod programs;
pub mod sizes;
pub mod skills;
pub mod static_models;
pub mod voice;
pub mod web;

use insula_registry::daemon::Purpose;
use insula_registry::error::RuntimeError;
use insula_registry::home_chats::HomeChats;
use insula_registry::secrets::SecretBook;
use insula_registry::whole::Whole;
use insula_registry::{Access, Daemon, Environment, Home, HomeLock, Parts, Registry};
use insula_store::{LeaseHolder, Store};
use insula_world::World;
use programs::Host;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// What acts for the agents of a home. Cheap to clone.
#[derive(Clone)]
pub struct Capabilities(Arc<Whole<Inner>>);

/// What it works with.
pub struct Inner {
    pub home: Home,
    pub world: World,
    env: Environment,
    store: Store,
    owner: LeaseHolder,
    registry: Arc<Registry>,
    access: Arc<Access>,
    secrets: Arc<SecretBook>,
    homes: Arc<HomeChats>,
    /// Skills and pins change files of agents, which count when they are applied.
    daemon: Arc<Daemon>,
    /// The programs and servers that run for agents.
    pub programs: Arc<Host>,
}

impl Deref for Capabilities {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// A home that is open.
pub struct Opened {
    pub daemon: Arc<Daemon>,
    pub parts: Parts,
    pub capabilities: Capabilities,
}

impl Capabilities {
    /// Opens a home.
    pub async fn open(
        home: Home,
        lock: HomeLock,
        world: World,
        env: BTreeMap<String, String>,
        purpose: Purpose,
    ) -> Result<Opened, RuntimeError> {
        let programs = Arc::new(Host::new(&world, &home));
        let acting = programs.clone();
        let (daemon, parts) = Daemon::open(home, lock, world, env, purpose, acting).await?;
        let inner = Inner {
            home: parts.home.clone(),
            world: parts.world.clone(),
            env: parts.env.clone(),
            store: parts.store.clone(),
            owner: parts.owner.clone(),
            registry: parts.registry.clone(),
            access: parts.access.clone(),
            secrets: parts.secrets.clone(),
            homes: parts.homes.clone(),
            daemon: daemon.clone(),
            programs,
        };
        let inner = Arc::new(Whole::new(inner));
        let hooks = lifecycle::LifeHooks(Arc::downgrade(&inner));
        parts.lives.add(Arc::new(hooks));
        Ok(Opened { daemon, parts, capabilities: Self(inner) })
    }
}
