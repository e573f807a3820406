//! The agents of one home, at run time.
//!
//! An agent is an object here: an [`AgentContext`] of one generation, held by the
//! [`Registry`] and replaced whole when its configuration changes. [`Daemon`] is the one
//! place that changes anything: it loads and applies configuration, and creates, pauses,
//! archives and deletes agents, each change durable and audited before it shows.
//!
//! Knows nothing of SQL, HTTP or how a command is typed.

pub mod access;
pub mod agent_logs;
pub mod boards;
pub mod clean_schema;
pub mod context;
pub mod daemon;
mod environment;
pub mod error;
pub mod events;
pub mod forgotten;
mod front;
pub mod handoffs;
pub mod home;
pub mod home_chats;
pub mod jobs;
pub mod kept_files;
pub mod key_name;
pub mod keyed;
pub mod lives;
pub mod outbox;
mod policy_folders;
pub mod providers;
pub mod registry;
pub mod removal;
pub mod renaming;
pub mod routing;
pub mod secrets;
pub mod sign_ins;
pub mod signal;
pub mod tokens;
pub mod toolbox;
pub mod trail;
pub mod unread;
pub mod watch;
pub mod whole;
pub mod workspace;

pub use access::{Access, Acting};
pub use context::{AgentContext, Generation};
pub use daemon::{Actor, Daemon, Parts};
pub use environment::Environment;
pub use error::RuntimeError;
pub use front::Front;
pub use home::{Home, HomeLock};
pub use registry::{AgentEntry, AgentState, Registry, Snapshot};
