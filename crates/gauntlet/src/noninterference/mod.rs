//! Noninterference: what happens to one agent is the same, byte for byte, whatever happens to
//! others.
//!
//! A *trace* is what people, models, operators and accidents do to one agent, `b`. It is played
//! several times on the real runtime, gateway and API, each time beside other agents that differ
//! in everything: who they are, how many, what is said to them, their secrets, configuration,
//! quotas, crashes, deletions, or that they are there at all. All that can be seen of `b` is
//! compared: requests to its model, its tool table, results, replies, errors, posts, events,
//! files, rows, audit, figures, ids, and their order.
//!
//! Time is virtual and moves only while everything waits; randomness is seeded, and what an agent
//! draws depends on itself alone; the model does what the message tells it; the network is in
//! memory. So whatever differs was brought about by the others.
//!
//! Jobs, boards and links are among what they do: everybody has a board of their own, the others
//! share one, and ask and tell each other. Left out, since they are declared: memory that an agent
//! shares between its own chats, links to the agent that is watched and boards that it shares,
//! budgets of the whole daemon, one account that serves two agents, and the sums in `/metrics`.
//! How long something waits for the daemon's database is no secret either, so models of `b` that
//! hold back go on one after the other: which of its own conversations is first when two do
//! something in the same moment would depend on that. Programs are left out too: a process is not
//! in virtual time. The other sections attack those.

mod act;
mod cast;
mod clock;
pub mod command;
mod dice;
mod disk;
pub mod generate;
pub mod golden;
mod looks;
pub mod observe;
mod pages;
mod pair;
mod platform;
mod scripted;
mod shrink;
mod stage;
pub mod steered;
mod stranger;
pub mod trace;
mod ways;

pub use disk::Ground;
pub use pair::{Found, Options, Outcome, VARIATIONS, differ, run, run_seed};
pub use stage::play;
