//! A daemon inside a test's own process: a real home and store, over whatever world the test has.
//!
//! Only ever a dev-dependency. Tests reach agents, records and rights by the few methods here, so
//! that what a daemon is made of can change without them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod people;

pub use people::introduce;

use insula_capabilities::{Capabilities, Opened};
use insula_domain::{AccountId, AgentId, Platform, SessionKey};
use insula_models::Transport;
use insula_registry::access::InboundCounts;
use insula_registry::daemon::Purpose;
use insula_registry::events::Hub;
use insula_registry::outbox::Outbox;
use insula_registry::secrets::KnownSecrets;
use insula_registry::tokens::Tokens;
use insula_registry::{Access, Actor, AgentContext, Daemon, Front, Home, RuntimeError, Snapshot};
use insula_store::{AccountLease, AgentStore, DaemonStore, Message, SessionRef, Window};
use insula_turns::Engine;
use insula_turns::gate::Tools;
use insula_world::World;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// A daemon that is open. What an operator may do with one is done with it; the rest is asked by
/// name.
#[derive(Clone)]
pub struct TestDaemon {
    opened: Arc<Opened>,
}

impl Deref for TestDaemon {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.opened.daemon
    }
}

impl TestDaemon {
    /// Opens a home that nobody else has open, to serve.
    pub async fn open(files: &insula_testkit::Home, world: &World) -> Self {
        Self::open_with(files, world, BTreeMap::new()).await
    }

    /// The same, started with these variables.
    pub async fn open_with(
        files: &insula_testkit::Home,
        world: &World,
        env: BTreeMap<String, String>,
    ) -> Self {
        Self::try_open(Home::new(files.path()), world, env).await.expect("a home that opens")
    }

    /// The same, or why it can't be opened.
    pub async fn try_open(
        home: Home,
        world: &World,
        env: BTreeMap<String, String>,
    ) -> Result<Self, RuntimeError> {
        home.prepare()?;
        let lock = home.try_lock()?.expect("nobody else is here");
        let opened = Capabilities::open(home, lock, world.clone(), env, Purpose::Serve).await?;
        let parts = &opened.parts;
        parts.lives.begin(&parts.registry.snapshot());
        Ok(Self { opened: Arc::new(opened) })
    }

    /// What rooms are built of.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// What runs turns of its agents, with the built-in tools.
    pub fn engine(&self) -> Engine {
        self.engine_with(insula_tools::BUILT_IN)
    }

    /// The same with tools of a test's own.
    pub fn engine_with(&self, tools: Tools) -> Engine {
        let transport = Transport::new(self.world(), &[]).unwrap();
        Engine::with_tools(&self.opened, transport, tools)
    }

    pub fn world(&self) -> &World {
        &self.opened.parts.world
    }

    /// What holds now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.opened.parts.registry.snapshot()
    }

    /// Where whoever listens to an agent hears of it.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.opened.parts.registry.hub
    }

    /// An agent that has a context, whether or not it serves.
    pub fn agent(&self, id: &str) -> Arc<AgentContext> {
        self.opened.parts.registry.context_of(&AgentId::new(id).unwrap()).unwrap()
    }

    /// What is kept of an agent, to read.
    pub fn store_of(&self, id: &AgentId) -> AgentStore {
        self.opened.parts.store.agent(id)
    }

    /// What is kept of the daemon itself, to read.
    pub fn records(&self) -> &DaemonStore {
        self.opened.parts.store.daemon()
    }

    /// Everything that was said in a conversation.
    pub async fn messages(&self, key: &SessionKey) -> Vec<Message> {
        let store = self.store_of(&key.agent);
        let session = store.session(SessionRef::Key(key.to_string().into())).await.unwrap();
        let window = Window { messages: 1_000, bytes: 8 << 20 };
        store.messages_tail(session.unwrap().id, window).await.unwrap()
    }

    /// The secrets as they are known now.
    pub fn known_secrets(&self) -> Arc<KnownSecrets> {
        self.opened.parts.secrets.known()
    }

    pub fn tokens(&self) -> &Tokens {
        &self.opened.parts.tokens
    }

    pub fn access(&self) -> &Access {
        &self.opened.parts.access
    }

    /// What became of events.
    pub fn inbound(&self) -> &InboundCounts {
        &self.opened.parts.inbound
    }

    pub fn outbox(&self) -> &Outbox {
        &self.opened.parts.outbox
    }

    /// Waits until hooks and home chats were told all that became of agents so far.
    pub async fn told(&self) {
        self.opened.parts.lives.settle(std::time::Duration::from_secs(60)).await;
    }

    /// What the front may know of it.
    pub fn front(&self) -> Front {
        Front::of(&self.opened.parts)
    }

    /// What is kept of an account, to write to.
    pub fn account(&self, platform: &str, account: &str) -> AccountLease {
        let platform = Platform::new(platform).unwrap();
        self.opened.parts.owner.account(platform, &AccountId::new(account).unwrap())
    }

    /// Applies the files as they are now.
    pub async fn apply(&self) {
        self.reload(None, &Actor::Daemon).await.unwrap();
    }
}
