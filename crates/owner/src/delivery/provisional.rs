//! One act of showing what there is of a reply, in a message that the reply will take the place
//! of.

use super::Relay;
use super::chat_ref::ChatRef;
use super::lane::key_of;
use super::recognised::is_covered;
use insula_channel::{Body, MessageId, Outbound, Post, PostError};
use insula_registry::AgentContext;
use insula_store::{AgentCommand, OutboxCommand, Provisional, StoreError, TurnId};
use std::sync::Arc;
use std::time::Duration;

/// One act of showing.
pub(super) struct Show {
    pub(super) delivery: Arc<Relay>,
    pub(super) agent: Arc<AgentContext>,
    pub(super) place: ChatRef,
    pub(super) reply_to: Option<MessageId>,
    pub(super) turn: TurnId,
    pub(super) adapter: Arc<dyn Outbound>,
    pub(super) body: Body,
}

/// How showing something ended.
pub(super) enum Shown {
    /// In this message.
    In(MessageId),
    /// Not now; again after this long.
    Later(Duration),
    /// Not before what has to be sent there first.
    Behind,
    /// Not at all in this turn.
    Never,
}

impl Show {
    /// Shows it for the first time.
    pub(super) async fn first(self) -> Shown {
        match self.try_first().await {
            Ok(shown) => shown,
            // Over by now, or not to be written down: then it is not shown.
            Err(_) => Shown::Never,
        }
    }

    async fn try_first(self) -> Result<Shown, StoreError> {
        let before = TurnId(self.turn.0 - 1);
        let origin = self.agent.store.origins(before, 1).await?.pop();
        let Some(origin) = origin.filter(|origin| origin.turn == self.turn) else {
            return Ok(Shown::Never);
        };
        let idempotency = self.adapter.features().idempotency;
        let now = self.delivery.world.clock.now();
        match origin.provisional {
            // Shown by an earlier run, and followed by who came to the turn before we looked.
            Provisional::Shown(message) => return Ok(self.again(MessageId(message)).await),
            // The reply will be a message of its own, which says that this may be there.
            Provisional::Begun if !is_covered(idempotency, origin.tried_at, now) => {
                return Ok(Shown::Never);
            }
            // Asked for again under the same key, it tells the name of the message.
            Provisional::Begun | Provisional::None => {}
        }
        // Within a chat nothing overtakes anything, also where what was sent is in doubt.
        if self.agent.store.delivery_head(self.place.lane()).await?.is_some() {
            return Ok(Shown::Behind);
        }
        let Self { delivery, agent, place, reply_to, turn, adapter, body } = self;
        let begun = OutboxCommand::ProvisionalBegun { turn, at: now };
        delivery.change(&agent, vec![AgentCommand::Outbox(begun)]).await?;
        let post = Post {
            target: delivery.target(&agent, &place),
            reply_to,
            idempotency: key_of(origin.delivery_key, 1),
            body,
        };
        match delivery.bounded(adapter.post(&post)).await {
            Ok(posted) => {
                delivery.note_shown(&agent, turn, Some(&posted.message)).await?;
                Ok(Shown::In(posted.message))
            }
            Err(PostError::Uncertain { .. }) if !idempotency.knows_keys() => Ok(Shown::Never),
            Err(error) => {
                let is_certain = !matches!(error, PostError::Uncertain { .. });
                if is_certain && origin.provisional == Provisional::None {
                    delivery.note_shown(&agent, turn, None).await?;
                }
                Ok(later(&delivery, &place, error))
            }
        }
    }

    /// Shows it where it was shown before.
    pub(super) async fn again(self, message: MessageId) -> Shown {
        let Self { delivery, agent, place, adapter, body, .. } = self;
        let target = delivery.target(&agent, &place);
        match delivery.bounded(adapter.edit(&target, &message, &body)).await {
            Ok(()) => Shown::In(message),
            Err(error) => later(&delivery, &place, error),
        }
    }
}

impl Relay {
    /// Puts what was shown of a turn's reply down.
    async fn note_shown(
        &self,
        agent: &AgentContext,
        turn: TurnId,
        message: Option<&MessageId>,
    ) -> Result<(), StoreError> {
        let message = message.map(|message| message.0.clone());
        let shown = OutboxCommand::ProvisionalShown { turn, message };
        self.change(agent, vec![AgentCommand::Outbox(shown)]).await
    }
}

/// When to show something again that could not be.
fn later(delivery: &Relay, place: &ChatRef, error: PostError) -> Shown {
    match error {
        PostError::Later { wait: Some(wait), reach, .. } => {
            let key = (place.platform, place.account.clone());
            let (chat, now) = (place.chat.as_str(), delivery.now());
            Shown::Later(delivery.pacing().hold(&key, chat, (reach, wait), now))
        }
        PostError::Later { wait: None, .. } => Shown::Later(Duration::from_secs(2)),
        PostError::Uncertain { .. } => Shown::Later(Duration::from_secs(2)),
        PostError::Never { .. } | PostError::Account { .. } => Shown::Never,
    }
}
