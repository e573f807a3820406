//! Who caused an event, and whether it concerns the agent it reached.

use super::{Ingress, answering, happenings, stranger};
use crate::delivery::ChatRef;
use crate::ingress::queue::ChatTopicKey;
use crate::ingress::stranger::Reply;
use crate::tenant;
use insula_channel::{AttachmentKind, Envelope, Happening, Message};
use insula_domain::{Address, Asker, Handling};
use insula_registry::AgentContext;
use insula_registry::access::{AdmittedSender, InboundOutcome};
use insula_store::{Role, SessionRef, StoreError, Window};
use std::sync::Arc;

/// What somebody is told who presses a button and may not talk to the agent: whoever sees the
/// button knows that there is one. Nobody else reads it.
const NOT_YOURS: &str = "this button is not for you";

/// How much of a thread is looked through for words of the agent's own.
const LAST_SAID: Window = Window { messages: 64, bytes: 1024 * 1024 };

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
    /// What becomes of a message of somebody who may talk: whether the agent was addressed decides,
    /// and speaking to a bot's chat is addressing it.
    pub(super) async fn handling(
        &self,
        agent: &AgentContext,
        address: &Address,
        message: &Message,
    ) -> Result<Handling, StoreError> {
        let rule = self.access.group_rule(agent, address);
        let is_voice = message.attachments.iter().any(|it| it.kind == AttachmentKind::Voice);
        let mut is_addressed = message.mentions_us || is_voice;
        if address.topic.is_some() && rule.asks_of_threads(address.chat_type, is_addressed) {
            is_addressed = self.has_answered(agent, address).await?;
        }
        Ok(rule.handling(address.chat_type, is_addressed))
    }

    /// Whether an agent has said something lately where somebody speaks.
    async fn has_answered(
        &self,
        agent: &AgentContext,
        address: &Address,
    ) -> Result<bool, StoreError> {
        let key = agent.session_key(address).to_string();
        let Some(session) = agent.store.session(SessionRef::Key(key.into())).await? else {
            return Ok(false);
        };
        let last = agent.store.messages_tail(session.id, LAST_SAID).await?;
        Ok(last.iter().any(|it| it.role == Role::Assistant))
    }

    /// Who caused an event; `None` where they may not talk to the agent.
    pub(super) async fn admit(
        &self,
        agent: &AgentContext,
        envelope: &Envelope,
    ) -> Result<Option<Admitted>, StoreError> {
        let Envelope { address, sender, what, .. } = envelope;
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
        let Some(caller) = caller else { return Ok(None) };
        let handling = match what {
            Happening::Said(message) => self.handling(agent, address, message).await?,
            _ => Handling::Answer,
        };
        Ok(Some(Admitted { caller, handling }))
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
        // Whose people are those who may talk here turns the others away.
        let handed = self.access.handed_from(&agent.id, &envelope.address);
        let agent = handed.as_ref().unwrap_or(agent);
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
        match outbound.join(&self.out.target(agent, &ChatRef::of(address))).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(agent = %agent.id, platform = %address.platform, %error, "a chat could not be joined");
                false
            }
        }
    }
}
