//! What the owner of agents does with what reaches them: admission, hooks, commands, the inbox,
//! and the lanes of the outbox.
//!
//! The front says which agent an event is for and has the accounts; everything that is judged or
//! kept of it is judged and kept here. [`LocalOwner`] owns the agents of this process.

mod delivery;
mod ingress;
mod local;
mod tenant;

pub use delivery::{BUTTON_DATA_BYTES_MAX, Choice, Place, Relay, SILENT, split};
pub use ingress::{COMMANDS, Ingress, without_notes};
pub use local::LocalOwner;
pub use tenant::{of as tenant_of, to_strangers as tenant_of_strangers};
