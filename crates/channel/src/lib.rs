//! What platforms' adapters, the gateway and an agent's owner say to each other.
//!
//! Adapters turn a platform's events into [`Envelope`]s and [`Post`]s into its requests. The
//! gateway, which is the front, gives envelopes to whoever owns the agent ([`Owner`]); the owner
//! asks the front's accounts to send ([`Accounts`], [`Outbound`]). Nothing here decides anything.

mod accounts;
mod adapter;
mod clean;
mod envelope;
mod features;
mod keep;
mod owner;
mod pacing;
mod post;
mod reaction;
mod settings;
mod tenant;
mod web;

pub use accounts::{Accounts, OnUncertain, ShowsWork};
pub use adapter::{Adapter, BotIdentity, ConnectFault, Cursor, Inbox, Outbound};
pub use envelope::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Quoted,
    REMEMBERED, Reaction, ReactionChange, Sender,
};
pub use features::{Features, Idempotency, TextLimit};
pub use keep::{Keep, KeepChange, NotTaken};
pub use owner::{
    Arrival, EventKey, Examined, Hearing, Ledger, Owner, Path, Refusals, Sent, Spoken, Taken,
};
pub use pacing::{AccountKey, Pacing, Slot, SlotGuard, WakeRule};
pub use post::{
    Body, Button, FetchError, File, GOES_ON, Post, PostError, PostTarget, Posted, WaitScope,
};
pub use reaction::{OwnSign, Vote, sign_called};
pub use settings::{AccountSettings, AdapterFactory};
pub use tenant::Tenant;
pub use web::{WebAnswer, WebMethod, WebRequest};
