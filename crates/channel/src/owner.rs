//! The line between the front and an agent's owner.
//!
//! The front has the accounts, the routes and the ledger of events, and no agent's store. Whoever
//! owns an agent judges and keeps what reaches it. What passes between them is owned data, so
//! that an owner may be another process.

use crate::envelope::{Envelope, EventId};
use crate::keep::NotTaken;
use crate::tenant::Tenant;
use async_trait::async_trait;
use axum::extract::Request;
use axum::response::Response;
use insula_domain::{AccountId, Address, AgentId, Platform};

/// Owns agents: takes what reaches them, and answers what is asked about them.
#[async_trait]
pub trait Owner: Send + Sync {
    /// Takes an event for an agent. When it returns, what is to be kept of it is durable.
    async fn take(
        &self,
        agent: &AgentId,
        event: Arrival,
        ledger: &dyn Ledger,
    ) -> Result<Taken, NotTaken>;

    /// Whether an agent has dealt with an event. One that was only reserved for it when a crash
    /// came was not.
    async fn has_taken(&self, agent: &AgentId, event: &EventKey) -> Result<bool, NotTaken>;

    /// Takes an event for an agent that does not serve; whether it was an admin's word that it
    /// may go on. Who may talk to one that is paused is told so.
    async fn take_unserved(&self, agent: &AgentId, envelope: Envelope) -> Result<bool, NotTaken>;

    /// Answers a request of the API, handed over whole with its token judged: who asks stands
    /// beside it.
    async fn request(&self, request: Request) -> Response;

    /// Whom somebody may hear who speaks at an address that leads to an agent.
    async fn hearing(&self, agent: &AgentId, address: &Address) -> Option<Hearing>;

    /// What was said at an address before, for somebody who may hear it.
    async fn spoken(&self, address: &Address) -> Vec<Spoken>;

    /// How often budgets refused; `None` where no turns run.
    fn refusals(&self) -> Option<Vec<Refusals>>;

    /// How many turns failed since the start, by cause; `None` where no turns run.
    fn failures(&self) -> Option<Vec<(&'static str, u64)>>;

    /// Tries what agents ask outside: model providers by what costs nothing, and searches; one that
    /// costs money only where `paid` says so.
    async fn examine(&self, paid: bool) -> Vec<Examined>;

    /// Goes on with what waited for a turn when the daemon ended. Before anything new is taken.
    async fn resume(&self) -> Result<(), NotTaken>;

    /// An account may be another than before: what waits for it goes on.
    fn account_is_back(&self, platform: Platform, account: &AccountId);

    /// The commands that people may type, and what they do, for the menus of platforms.
    fn commands(&self) -> &'static [(&'static str, &'static str)];
}

/// What came of trying something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The thing.
    pub name: String,
    /// `good`, `notice` or `bad`.
    pub status: &'static str,
    /// What that means, and what to do.
    pub detail: String,
}

/// The name of an event, with the account that heard it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventKey {
    pub platform: Platform,
    pub account: AccountId,
    /// The platform's name for the event.
    pub event: EventId,
}

impl EventKey {
    /// The name of an envelope's event.
    pub fn of(envelope: &Envelope) -> Self {
        let address = &envelope.address;
        Self {
            platform: address.platform,
            account: address.account.clone(),
            event: envelope.event.clone(),
        }
    }
}

/// The ledger of one account: which agent each of its events belongs to.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// The agent that an event belongs to, if it was delivered before.
    async fn owner_of(&self, event: &EventId) -> Result<Option<AgentId>, NotTaken>;

    /// Gives an event to an agent unless it belongs to one; the other one then.
    async fn reserve(&self, event: &EventId, agent: &AgentId) -> Result<Option<AgentId>, NotTaken>;

    /// Gives an event that belongs to one agent to another.
    async fn give(&self, event: &EventId, agent: &AgentId) -> Result<(), NotTaken>;
}

/// An event that reached an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The event.
    pub envelope: Envelope,
    /// How it came to this agent.
    pub path: Path,
}

/// How an event came to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// By a route.
    Routed,
    /// It belonged to this agent before: this is a repetition.
    Again,
    /// A hook of another agent, or its own, sent it here.
    Sent(Sent),
}

/// What became of an event on its way through hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The agent that the ledger has it down for.
    pub reserved: AgentId,
    /// The agent whose hooks were asked last.
    pub by: AgentId,
    /// The next hooks to ask, counted from the first.
    pub station: usize,
    /// How often it was sent from one agent to another.
    pub moved: usize,
    /// What it says by now.
    pub text: String,
}

/// Whom somebody may hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hearing {
    /// Whose chat it is.
    pub tenant: Tenant,
    /// Who answers in it: another one, where the conversation was handed over.
    pub answers: Tenant,
    /// Whether also what was said before they came.
    pub past: bool,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// A name for it, the same whenever it is asked for.
    pub id: Box<str>,
    /// Whose records it is from.
    pub tenant: Tenant,
    /// Who said it; nobody for the agent.
    pub user: Option<Box<str>>,
    pub text: String,
}

/// How often budgets of one kind refused something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusals {
    /// Whose they are: the daemon's, agents' or people's.
    pub level: &'static str,
    /// What they count.
    pub what: &'static str,
    /// How often.
    pub count: u64,
}

/// What an owner did about an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// All there was to do.
    Done,
    /// Nothing: the ledger says that it belongs to another agent.
    Belongs(AgentId, Box<Envelope>),
    /// Nothing: the agent does not serve now.
    NotServing(Box<Envelope>),
    /// A hook sends it to the agent of this name, if a route leads there.
    Send(Box<str>, Box<Arrival>),
}
