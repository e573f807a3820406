//! What people make of messages that wait behind a turn: an edit is taken in by the turn that
//! will answer, and what was taken back is not answered.

use super::said::chat_name;
use super::stored::StoredMessage;
use super::turn::TEXT_BYTES_MAX;
use super::{Ingress, IngressContext, bounded, words};
use insula_channel::MessageId;
use insula_domain::{Address, AgentId};
use insula_store::StoreError;
use insula_turns::{Around, SubmitError};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Messages to one agent of which it is remembered what they said. Where more are said than
/// that, an edit that changes nothing may be taken for one that does.
const REMEMBERED_MAX: usize = 1_024;

/// What messages said last that may wait for their turn. Platforms tell of an edit also when
/// nothing of it can be seen, as when the picture of an address was found.
///
/// Names and words are known by short marks: there are many, and who finds two texts with one
/// mark gets no more from it than that their own edit is overlooked.
#[derive(Default)]
pub(super) struct LastSaid {
    said: Mutex<HashMap<AgentId, HashMap<Mark, Mark>>>,
}

/// What a name or a text is known by.
type Mark = [u8; 8];

fn mark(text: &str) -> Mark {
    let mut mark = Mark::default();
    blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut mark);
    mark
}

impl LastSaid {
    /// Notes what a message to an agent says; whether that is news.
    fn note(&self, agent: &AgentId, name: &str, text: &str) -> bool {
        let (name, text) = (mark(name), mark(text));
        let mut agents = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = agents.entry(agent.clone()).or_default();
        if said.len() >= REMEMBERED_MAX {
            said.clear();
        }
        said.insert(name, text) != Some(text)
    }
}

/// What the engine knows a message by.
fn name(address: &Address, message: &str) -> Box<str> {
    format!("{} {}", chat_name(address), bounded(message)).into()
}

impl Ingress {
    /// What the engine knows messages by that become a turn.
    pub(super) fn named(&self, agent: &AgentId, messages: &[StoredMessage]) -> Vec<Box<str>> {
        let name = |kept: &StoredMessage| {
            let name = name(&kept.address()?, &kept.message);
            self.last_said.note(agent, &name, &kept.words.all());
            Some(name)
        };
        messages.iter().filter_map(name).collect()
    }

    /// Takes an edit into the turn that waits to answer what was edited, if one does.
    pub(super) async fn amend(
        &self,
        cx: &IngressContext<'_>,
        edit: &StoredMessage,
    ) -> Result<(), StoreError> {
        let IngressContext { agent, caller, envelope, .. } = cx;
        let name = name(&envelope.address, &edit.message);
        let is_news = self.last_said.note(&agent.id, &name, &edit.words.all());
        if edit.words.bytes() > TEXT_BYTES_MAX || !is_news {
            return Ok(());
        }
        let (address, user) = (&envelope.address, caller.principal.user.clone());
        let session = &cx.session;
        let mut inbound = self.inbound(agent, session, address, user, edit, edit);
        let platform = address.platform.as_str();
        inbound.parts = words::edited(platform, edit, session.user.is_none());
        let edited = std::slice::from_ref(edit);
        let others = words::integrity(platform, edited);
        inbound.label = inbound.label.with(&agent.boundary.integrity.untrusted(&others));
        match self.engine.amend(&name, &inbound, &Around::default()).await {
            Ok(_) | Err(SubmitError::Known { .. }) => Ok(()),
            Err(SubmitError::Store(StoreError::TooLong { .. })) => Ok(()),
            Err(SubmitError::Store(error)) => Err(error),
            // Nothing begins by it, so there is nothing to be busy with or to pay for.
            Err(SubmitError::Busy { .. } | SubmitError::UnderWay { .. }) => Ok(()),
            Err(SubmitError::NotWaiting { .. }) => Ok(()),
            Err(SubmitError::Budget(_)) => Ok(()),
        }
    }

    /// Leaves a message unanswered that was taken back while it waited, unless it is one with
    /// others.
    pub(super) async fn withdraw(&self, cx: &IngressContext<'_>, message: &MessageId) {
        let address = &cx.envelope.address;
        let session = &cx.session;
        self.engine.withdraw(session, &name(address, &message.0)).await;
    }
}
