//! What people make of messages that wait behind a turn: an edit is taken in by the turn that
//! will answer, and what was taken back is not answered.

use super::kept::Kept;
use super::said::chat_name;
use super::turn::TEXT_BYTES_MAX;
use super::{Visitor, WayIn, bounded, words};
use crate::adapter::NotTaken;
use crate::envelope::MessageId;
use insula_domain::Address;
use insula_runtime::turn::{Around, SubmitError};
use insula_store::{Part, StoreError};

/// What the engine knows a message by.
fn name(address: &Address, message: &str) -> Box<str> {
    format!("{} {}", chat_name(address), bounded(message)).into()
}

/// What the engine knows a message by that is kept; `None` for one that is nowhere.
pub(super) fn name_of(kept: &Kept) -> Option<Box<str>> {
    Some(name(&kept.address()?, &kept.message))
}

impl WayIn {
    /// Takes an edit into the turn that waits to answer what was edited, if one does.
    pub(super) async fn amend(&self, visitor: &Visitor<'_>, edit: &Kept) -> Result<(), NotTaken> {
        let Visitor { agent, guest, envelope, .. } = visitor;
        if edit.text.len() > TEXT_BYTES_MAX {
            return Ok(());
        }
        let (address, user) = (&envelope.address, guest.principal.user.clone());
        let session = agent.session_key(address);
        let mut inbound = self.inbound(agent, &session, address, user, edit, edit);
        let text = words::edited(address.platform.as_str(), edit, session.user.is_none());
        inbound.parts = vec![Part::Text(text)];
        let name = name(address, &edit.message);
        match self.engine.amend(&name, &inbound, &Around::default()).await {
            Ok(_) | Err(SubmitError::Known { .. }) => Ok(()),
            Err(SubmitError::Store(StoreError::TooLong { .. })) => Ok(()),
            Err(SubmitError::Store(error)) => Err(error.into()),
            // Nothing begins by it, so there is nothing to be busy with or to pay for.
            Err(SubmitError::Busy { .. } | SubmitError::UnderWay { .. }) => Ok(()),
            Err(SubmitError::Budget(_)) => Ok(()),
        }
    }

    /// Leaves a message unanswered that was taken back while it waited, unless it is one with
    /// others.
    pub(super) async fn withdraw(&self, visitor: &Visitor<'_>, message: &MessageId) {
        let address = &visitor.envelope.address;
        let session = visitor.agent.session_key(address);
        self.engine.withdraw(&session, &name(address, &message.0)).await;
    }
}
