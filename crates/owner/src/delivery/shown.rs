//! Where a question was shown, and showing it where somebody would answer who has not seen it.

use super::Relay;
use super::buttons::Question;
use super::chat_ref::ChatRef;
use insula_channel::MessageId;
use insula_registry::AgentContext;
use insula_store::{Approval, Delivery, DeliveryState, StoreError};
use insula_world::Timestamp;
use std::sync::Arc;

/// How far a question was shown at a place.
pub(crate) struct QuestionShown {
    /// The messages it is in, in order.
    pub(crate) messages: Vec<MessageId>,
    /// What became of it.
    pub(crate) showing: Showing,
    /// Why it was shown there.
    pub(crate) because: Because,
    /// Since when it is as it is now.
    pub(crate) at: Timestamp,
}

/// What became of a question on its way to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// All of it is there.
    Whole,
    /// Not all of it is there yet.
    UnderWay,
    /// It will not be there.
    Failed,
}

/// Why a question was shown at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Because {
    /// Its turn asked there.
    Asked,
    /// Somebody would have answered it there unseen.
    Named,
}

impl QuestionShown {
    fn of(because: Because, delivery: &Delivery) -> Self {
        Self {
            messages: delivery.sent.iter().map(|it| MessageId(it.message.clone())).collect(),
            showing: match delivery.state {
                DeliveryState::Sent => Showing::Whole,
                DeliveryState::Waiting | DeliveryState::Sending | DeliveryState::Uncertain => {
                    Showing::UnderWay
                }
                DeliveryState::Held | DeliveryState::Failed => Showing::Failed,
            },
            because,
            at: delivery.changed_at,
        }
    }
}

/// The name under which a question is shown once at a place where its turn did not ask.
fn name_at(id: &str, place: &ChatRef) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("insula question shown at 1");
    let ChatRef { platform, account, chat, chat_type, topic } = place;
    let topic = topic.as_ref().map(|topic| topic.as_str());
    let parts = [platform.as_str(), account.as_str(), chat.as_str(), chat_type.as_str()];
    for part in parts.into_iter().chain(topic) {
        // The length first, so that no two places run into each other.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    format!("{}:{}", Question::name(id), hasher.finalize().to_hex())
}

impl Relay {
    /// How far a question was shown at a place; `None` where it is not on its way there.
    pub(crate) async fn shown(
        &self,
        agent: &AgentContext,
        id: &str,
        place: &ChatRef,
    ) -> Result<Option<QuestionShown>, StoreError> {
        let asked = agent.store.delivery_named(&Question::name(id)).await?;
        let asked = asked.filter(|asked| ChatRef::restored(&asked.to).as_ref() == Some(place));
        let asked = asked.map(|asked| QuestionShown::of(Because::Asked, &asked));
        if asked.as_ref().is_some_and(|asked| asked.showing != Showing::Failed) {
            return Ok(asked);
        }
        let named = agent.store.delivery_named(&name_at(id, place)).await?;
        Ok(named.map(|named| QuestionShown::of(Because::Named, &named)).or(asked))
    }

    /// The question that waits and stands in a message of a chat, once all of it is there. Topics
    /// don't count: a message has one name in all of its chat, and a sign on it does not say
    /// where in the chat it stands.
    pub(crate) async fn question_in(
        &self,
        agent: &AgentContext,
        place: &ChatRef,
        message: &MessageId,
    ) -> Result<Option<Box<str>>, StoreError> {
        for one in self.engine.approvals().list(agent).await? {
            for asked in agent.store.deliveries_named(&Question::name(&one.id)).await? {
                let is_here = ChatRef::restored(&asked.to).is_some_and(|there| {
                    there.platform == place.platform
                        && there.account == place.account
                        && there.chat == place.chat
                });
                let is_whole = asked.state == DeliveryState::Sent;
                if is_here && is_whole && asked.sent.iter().any(|it| *it.message == *message.0) {
                    return Ok(Some(one.id));
                }
            }
        }
        Ok(None)
    }

    /// Shows at a place what waits for approval, once.
    pub(crate) async fn show_at(
        self: &Arc<Self>,
        agent: &AgentContext,
        place: &ChatRef,
        approval: Approval,
    ) -> Result<(), StoreError> {
        let (name, of) = (name_at(&approval.id, place), (approval.turn, approval.session));
        self.ask(agent, place, of, (name, &Question::from(approval))).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use insula_domain::{AccountId, ChatId, ChatType, Platform, TopicId};

    #[test]
    fn no_two_places_share_a_name() {
        let place = |account: &str, chat: &str, topic: Option<&str>| ChatRef {
            platform: Platform::new("telegram").unwrap(),
            account: AccountId::new(account).unwrap(),
            chat: ChatId::new(chat).unwrap(),
            chat_type: ChatType::Group,
            topic: topic.map(|topic| TopicId::new(topic).unwrap()),
        };
        let places = [
            place("a", "bc", None),
            place("ab", "c", None),
            place("a", "bc", Some("7")),
            place("a", "bc7", None),
        ];
        let names: std::collections::BTreeSet<_> =
            places.iter().map(|place| name_at("1", place)).collect();
        assert_eq!(names.len(), places.len());
        assert!(names.iter().all(|name| name.starts_with(&format!("{}:", Question::name("1")))));
    }
}
