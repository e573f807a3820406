//! What the owner of agents does with what reaches them: admission, hooks, commands, the inbox,
//! and the lanes of the outbox.
//!
//! The front says which agent an event is for and has the accounts; everything that is judged or
//! kept of it is judged and kept here.

mod boards;
mod delivery;
mod ingress;
mod jobs;
mod messaging;
mod notices;
pub mod rooms;
mod tenant;

pub use boards::Workers;
pub use delivery::{BUTTON_DATA_BYTES_MAX, ChatRef, Choice, Relay, SILENT, split};
pub use ingress::{COMMANDS, Clerk, Ingress, Typing, without_notes};
pub use jobs::Clockwork;
pub use messaging::Messaging;
pub use tenant::of as tenant_of;
