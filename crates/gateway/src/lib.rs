//! The gateway: from a platform's event to a turn, and from a reply to the platform.
//!
//! It knows no wire format: adapters turn events into [`Envelope`]s and [`Post`]s into
//! requests. It decides who may talk, which agent answers and in which session, and sees that
//! nothing is lost, answered twice, or sent out by another account than it came in by.

mod accounts;
mod adapter;
mod delivery;
mod door;
mod envelope;
mod gateway;
mod ingress;
mod lines;
mod owner;
mod post;

pub use accounts::{AccountSettings, AccountState, Connection, Misfit, Workshop, examine, misfits};
pub use adapter::{
    Adapter, Cursor, Fault, Features, Identity, Inbox, NotTaken, WebAnswer, WebRequest,
};
pub use delivery::{BUTTON_DATA_BYTES_MAX, Choice, Place, Relay, SILENT, split};
pub use envelope::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Quoted,
    Sender,
};
pub use gateway::Gateway;
pub use ingress::{COMMANDS, Ingress, without_notes};
pub use lines::{Lines, OnUncertain};
pub use owner::Owner;
pub use post::{Body, Button, FetchError, File, Post, PostError, Posted, Reach, Target};
