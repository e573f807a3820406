//! Skills at run time: the hand that tools get, what is in use, and how skills come and go.
//!
//! The shelf itself is configuration ([`insula_config::skills`]) and part of a generation. Here
//! a view reads what stands on disk and shows it only while it is what the generation was built
//! from; a change writes the agent's own folder, never a bundle, and makes a new generation.
//! Programs are shown copies of an agent's skills, which [`shelf`] keeps as its generation has
//! them.

pub mod archive;
pub mod collection;
mod disk;
mod git;
mod hand;
mod install;
pub mod lock;
pub mod package;
mod script;
pub(crate) mod shelf;
pub mod source;

#[cfg(test)]
mod skills_tests;

pub use hand::AgentSkills;
pub use install::{Installed, SkillState, SkillView, Verified};
pub use package::{Contents, Package, PackageError};
