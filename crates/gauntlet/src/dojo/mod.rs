//! AgentDojo, replayed: tasks of users and injected tasks of attackers that nobody here wrote,
//! with the calls that each takes. The puppet makes the calls of both; a daemon whose agents are
//! bounded by a general procedure ([`boundary`]) decides which of them happen. Beside it,
//! [`integrity`]: agents with every tool of a suite and no rules, attackers who know the place, and
//! somebody who is asked.
//!
//! The data are AgentDojo's own (MIT, see `data/agentdojo/LICENSE`), written by
//! `scripts/agentdojo`. `docs/agentdojo.md` says how the boundary is made, what is counted, and
//! what that does not show.

pub mod attacker;
pub mod boundary;
pub mod data;
mod followed;
pub mod integrity;
mod kind;
pub mod replay;
pub mod report;
mod section;
mod server;
mod spoken;
pub mod tables;
mod words;

pub use section::SECTION;
