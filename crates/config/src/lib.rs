//! Files to validated, layered, spanned configuration, and the difference between two.
//!
//! Knows nothing that runs. [`files::FilesSnapshot`] reads a home once; [`load::load`] turns it
//! into a [`load::Loaded`] and a [`diagnostic::LoadReport`] of everything that is wrong, each
//! finding with its place and its owner.

pub mod account;
pub mod agent;
pub mod append;
pub mod authority;
pub mod bindings;
pub mod board;
pub mod budget;
pub mod choose;
pub mod config_file;
pub mod daemon;
pub mod diagnostic;
pub mod edit;
pub mod enforcement;
pub mod extend;
mod file_state;
pub mod files;
pub mod hook;
pub mod images;
pub mod job;
mod job_words;
pub mod json_schema;
mod layers;
pub mod load;
pub mod mcp;
pub mod model;
pub mod policies;
pub mod programs;
pub mod provider;
pub mod reference;
pub mod renamed;
pub mod render;
pub mod resolve;
pub mod resolved;
pub mod rules;
pub mod schema;
mod sensitive;
pub mod settings;
pub mod shape;
pub mod skills;
pub mod source;
pub mod starter;
pub mod suggest;
pub mod template;
pub mod voice;
mod warnings;
pub mod way_in;
pub mod web;
mod workspaces;
mod written_providers;
pub mod yaml;

pub use account::{Account, AccountSpans, AccountValue, Uncertain, Working};
pub use agent::AgentConfig;
pub use authority::changes::{self, ConfigChange, ConfigChangeKind, diff};
pub use authority::{Applied, Authority};
pub use daemon::DaemonConfig;
pub use diagnostic::{Diagnostic, FindingOwner, LoadReport, Severity};
pub use files::FilesSnapshot;
pub use load::{AgentOutcome, Loaded, load};
pub use resolve::{hook_host, not_shared, ways_to_have};
pub use sensitive::looks_like_credential;
