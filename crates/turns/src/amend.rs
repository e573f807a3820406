//! What can still be done about something that was said while nobody has read it: change it, or
//! take it back.
//!
//! The journal is never changed. An edit is a further message of the same person in the same
//! turn; what was taken back is not answered.

use crate::engine::Engine;
use crate::live::{Inbox, LiveTurn};
use crate::submit::{Around, Inbound, SubmitError};
use insula_domain::SessionKey;

impl LiveTurn {
    /// Notes that it begins: what was said by now is read, and what comes later is new.
    pub(crate) async fn begin(&self) {
        let mut inbox = self.inbox.lock().await;
        inbox.has_begun = true;
        inbox.names = Vec::new();
    }
}

impl Inbox {
    /// Whether a message of this name waits here to be read.
    fn waits_with(&self, name: &str) -> bool {
        !self.has_begun && self.names.iter().any(|known| **known == *name)
    }
}

impl Engine {
    /// Takes the edit of a message that is called `name` into the turn that waits to answer it;
    /// whether one does. Only whoever said it can change it.
    pub async fn amend(
        &self,
        name: &str,
        inbound: &Inbound,
        around: &Around,
    ) -> Result<bool, SubmitError> {
        // Before an inbox is held: a hook may take its time.
        let scope = self.scope(&inbound.agent, &inbound.scope, &inbound.session).await;
        for live in self.live.all(&inbound.session) {
            let mut inbox = live.inbox.lock().await;
            if live.principal != inbound.principal || !inbox.waits_with(name) {
                continue;
            }
            let joined = self.join_in(&live, &mut inbox, scope, inbound, around).await?;
            return Ok(joined.is_some());
        }
        Ok(false)
    }

    /// Stops the turn that waits to answer nothing but the message that is called `name`;
    /// whether one did.
    pub async fn withdraw(&self, session: &SessionKey, name: &str) -> bool {
        for live in self.live.all(session) {
            let inbox = live.inbox.lock().await;
            if inbox.waits_with(name) && inbox.joined == 0 && inbox.names.len() == 1 {
                live.cancel.cancel();
                return true;
            }
        }
        false
    }
}
