//! What can go wrong, by what the caller or an operator can do about it.

use crate::id::{MessageSeq, SessionId, TurnId};
use crate::lease::Owned;
use crate::outbox::DeliveryId;
use crate::turn::TurnStatus;
use insula_domain::CardId;
use insula_domain::id::AgentId;
use std::path::PathBuf;

/// What store calls return.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

impl StoreError {
    /// Whether the files can't be read or written, rather than the call being wrong.
    pub fn is_of_the_files(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. }
                | Self::Newer { .. }
                | Self::NotAllowed { .. }
                | Self::Full { .. }
                | Self::Busy { .. }
                | Self::Io { .. }
        )
    }
}

/// Why a store call failed. Nothing of a failed commit was written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later claim was made: stop writing, another daemon took over.
    #[error(
        "{what} was taken over by another owner (epoch {seen}, ours is {ours}): stop this daemon"
    )]
    Fenced {
        /// What was to be written to.
        what: Owned,
        /// The epoch of the refused commit.
        ours: u64,
        /// The highest epoch that was seen there.
        seen: u64,
    },
    /// The handle outlived its agent: get a new one if the agent exists again.
    #[error("agent `{agent}` was retired while this was under way")]
    Retired {
        /// The agent.
        agent: AgentId,
    },
    /// The key of a request came again with another request: choose another key.
    #[error(
        "this idempotency key was used for another request; use a new key, or send the same request again"
    )]
    OtherRequest,
    /// The store was shut down.
    #[error("the store is shut down")]
    Closed,
    /// The file belongs to a newer version: run that version. It was not touched.
    #[error(
        "{} has format {found} and this version of insula knows formats up to {known}: run the newer version, or restore a backup",
        file.display()
    )]
    Newer {
        /// The database.
        file: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The file is not what it should be: restore it.
    #[error(
        "{} is damaged or not a database of insula ({what}): restore it from a backup, or move it aside to start empty",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What was found.
        what: String,
    },
    /// The key of the audit chains is not one: restore it. Another would verify nothing.
    #[error("{} is not an audit key ({what}): restore it from a backup", file.display())]
    BadKey {
        /// The file.
        file: PathBuf,
        /// What was found.
        what: String,
    },
    /// The file can't be reached with the rights we have: fix them.
    #[error("{} can't be used ({what}): check its owner, its mode and its folder's", file.display())]
    NotAllowed {
        /// The file.
        file: PathBuf,
        /// What was refused.
        what: String,
    },
    /// There is no room: free some, then the same call works again.
    #[error("no space left for {}: free some space, then it continues", file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// Somebody else holds the file: try again.
    #[error("{} is locked by another program: close that program, then try again", file.display())]
    Busy {
        /// The database.
        file: PathBuf,
    },
    /// The disk or file system failed.
    #[error("{} can't be read or written ({what}): check the disk", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        what: String,
    },
    /// The call itself was wrong: something in it exceeds its limit.
    #[error("{what} is {len} long; at most {max} is accepted")]
    TooLong {
        /// What exceeds.
        what: &'static str,
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// The claim was given up before: make another one.
    #[error("{what} was released and can't be written to any more")]
    Released {
        /// What was to be written to.
        what: Owned,
    },
    /// Too many changes wait already: try again later, and send fewer.
    #[error("{waiting} changes wait for {what} already: try again later")]
    Overloaded {
        /// What was to be written to.
        what: Owned,
        /// How many wait.
        waiting: usize,
    },
    /// The call names a session that is not there, or that was forgotten.
    #[error("there is no {session}")]
    NoSession {
        /// Which one, in words.
        session: String,
    },
    /// The call names a turn that is not there.
    #[error("there is no turn {turn}")]
    NoTurn {
        /// The turn.
        turn: TurnId,
    },
    /// The call would go on with a turn that has ended.
    #[error("turn {turn} is over: {status:?}")]
    TurnOver {
        /// The turn.
        turn: TurnId,
        /// How it ended.
        status: TurnStatus,
    },
    /// The call would replace a turn that has not ended.
    #[error("turn {turn} has not ended yet")]
    TurnGoesOn {
        /// The turn.
        turn: TurnId,
    },
    /// The call names a delivery that is not there, or is over.
    #[error(
        "delivery {delivery} is not in the outbox; it was sent, dropped, or forgotten with its session"
    )]
    NoDelivery {
        /// The delivery.
        delivery: DeliveryId,
    },
    /// Somebody else changed the card meanwhile: read it again.
    #[error("card {card} changed meanwhile; look at it again")]
    CardChanged {
        /// The card.
        card: CardId,
    },
    /// The call names a card that is not there.
    #[error("there is no card {card}")]
    NoCard {
        /// The card.
        card: CardId,
    },
    /// Somebody else changed the list meanwhile: read it again.
    #[error("what is remembered here changed meanwhile; read it again")]
    MemoryChanged,
    /// The words come from a message of which something was forgotten.
    #[error(
        "something that was learned from message {} of session {session} was forgotten, so nothing is learned from it again; say it anew",
        message.0
    )]
    Buried {
        /// The session.
        session: SessionId,
        /// The message.
        message: MessageSeq,
    },
    /// The work was interrupted: it panicked, or the program is ending.
    #[error(transparent)]
    Stopped(#[from] insula_world::StorageStopped),
}
