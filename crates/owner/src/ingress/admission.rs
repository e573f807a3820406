//! Who caused an event, and whether it concerns the agent it reached.

use super::{Ingress, answering, happenings, stranger};
use crate::delivery::ChatRef;
use crate::ingress::queue::ChatTopicKey;
use crate::ingress::stranger::Reply;
use crate::tenant;
use insula_channel::{AttachmentKind, Envelope, Happening, Message};
use insula_domain::{Address, Asker, Handling};
use insula_registry::AgentContext;
use insula_registry::access::{Access, AdmittedSender, InboundOutcome};
use insula_store::StoreError;
use std::sync::Arc;

/// What somebody is told who presses a button and may not talk to the agent: whoever sees the
/// button knows that there is one. Nobody else reads it.
const NOT_YOURS: &str = "this button is not for you";

/// Somebody who may talk to an agent.
pub(super) struct Admitted {
    pub(super) caller: AdmittedSender,
    /// What becomes of what they said. What is not said always counts.
    pub(super) handling: Handling,
}

/// Whether something concerns an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concern {
    /// It does.
    Ours,
    /// It was said to others.
    Others,
    /// Whoever said it may not talk to it.
    Stranger,
}

/// What becomes of a message of somebody who may talk: whether the agent was addressed decides,
/// and speaking to a bot's chat is addressing it.
pub(super) fn handling(
    access: &Access,
    agent: &AgentContext,
    address: &Address,
    message: &Message,
) -> Handling {
    let is_voice = message.attachments.iter().any(|it| it.kind == AttachmentKind::Voice);
    access.group_rule(agent, address).handling(address.chat_type, message.mentions_us || is_voice)
}

/// Whether an event concerns an agent at all.
pub(super) fn concern(
    agent: &AgentContext,
    admitted: Option<&Admitted>,
    envelope: &Envelope,
) -> Concern {
    let Some(Admitted { caller, handling }) = admitted else { return Concern::Stranger };
    let message = match &envelope.what {
        Happening::Said(message) => message,
        // Most signs mean nothing to anybody but people, and cost nothing.
        Happening::Reacted(reaction) => {
            let may_answer = reaction.vote().is_some() && caller.is_admin();
            let is_told = agent.access.reactions && reaction.is_ours != Some(false);
            return if may_answer || is_told { Concern::Ours } else { Concern::Others };
        }
        _ => return Concern::Ours,
    };
    match handling {
        _ if message.is_for_another => Concern::Others,
        // An admin's yes that names what it answers needs to be addressed to nobody.
        Handling::Pass if caller.is_admin() && answering::names_one(message) => Concern::Ours,
        Handling::Pass => Concern::Others,
        Handling::Answer | Handling::Observe => Concern::Ours,
    }
}

impl Ingress {
    /// Who caused an event; `None` where they may not talk to the agent.
    pub(super) async fn admit(
        &self,
        agent: &AgentContext,
        envelope: &Envelope,
    ) -> Result<Option<Admitted>, StoreError> {
        let Envelope { address, sender, what, .. } = envelope;
        let handling = match what {
            Happening::Said(message) => handling(&self.access, agent, address, message),
            _ => Handling::Answer,
        };
        // What happens to our account, or to a chat as a whole, is the platform's word.
        let caller = match what {
            Happening::Removed | Happening::Moved(_) | Happening::Deleted(_) => {
                happenings::platform(agent, address)
            }
            _ => {
                let asker = Asker { address, also: &sender.also, is_bot: sender.is_bot };
                self.access.admit(agent, asker).await?
            }
        };
        Ok(caller.map(|caller| Admitted { caller, handling }))
    }

    /// Leaves something alone that does not concern an agent.
    pub(super) async fn leave(
        &self,
        concern: Concern,
        agent: &Arc<AgentContext>,
        envelope: &Envelope,
    ) -> Result<(), StoreError> {
        if concern != Concern::Stranger {
            self.inbound.count(InboundOutcome::Passed);
            return Ok(());
        }
        if let Happening::Pressed(press) = &envelope.what {
            self.inbound.count(InboundOutcome::Stranger);
            self.acknowledge(envelope, press, NOT_YOURS).await;
            return Ok(());
        }
        let Some(reply) =
            stranger::turn_away((&self.access, &self.inbound), agent, envelope).await?
        else {
            return Ok(());
        };
        let Some(told) = self.to_stranger(agent, reply, envelope) else { return Ok(()) };
        if matches!(envelope.what, Happening::Added) && !self.enter(agent, envelope).await {
            return Ok(());
        }
        // Nothing of a stranger's is kept, and a code is kept as a hash.
        let place = ChatRef::of(&envelope.address);
        let tenant = tenant::to_strangers(&self.forgotten, agent);
        self.whisper_to(tenant, agent.clone(), place, told).await;
        Ok(())
    }

    /// What is really said to somebody who is turned away.
    fn to_stranger(
        &self,
        agent: &AgentContext,
        reply: Reply,
        envelope: &Envelope,
    ) -> Option<String> {
        let (chat_key, now) = (ChatTopicKey::of(&envelope.address), self.world.clock.elapsed());
        let who = envelope.address.user.as_ref()?.as_str();
        match reply {
            Reply::Code(text) => Some(text),
            Reply::Full(text) => {
                self.crowded.may_tell(&agent.id, chat_key, who, now).then(|| text.to_owned())
            }
        }
    }

    /// Joins a chat to say something there; whether that can be.
    async fn enter(&self, agent: &AgentContext, envelope: &Envelope) -> bool {
        let address = &envelope.address;
        let outbound = self.accounts.outbound(address.platform, &address.account);
        let Some(outbound) = outbound else { return false };
        match outbound.join(&ChatRef::of(address).target(self.tenant(agent))).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(agent = %agent.id, platform = %address.platform, %error, "a chat could not be joined");
                false
            }
        }
    }
}
