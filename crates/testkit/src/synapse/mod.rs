//! A real Matrix homeserver for tests: Synapse, on loopback, with its files in a folder of the
//! test's own, and people who talk on it.
//!
//! [`Synapse::start`] installs it below the target folder when it is not there (`scripts/synapse`,
//! which `scripts/test` runs first); where that is impossible it fails and says why.

mod person;
mod server;

pub use person::Person;
pub use server::Synapse;
