//! A place to send to, and its form in the store.

use insula_channel::MessageId;
use insula_channel::PostTarget;
use insula_channel::Tenant;
use insula_config::agent::Quote;
use insula_domain::{AccountId, Address, Audience, ChatId, ChatType, Platform, TopicId};
use insula_store::{DeliveryDestination, Lane};

/// A place of one account's: what comes from there is answered there, by the same account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChatRef {
    pub platform: Platform,
    pub account: AccountId,
    pub chat: ChatId,
    /// What kind of chat.
    pub chat_type: ChatType,
    pub topic: Option<TopicId>,
}

impl ChatRef {
    /// The place at which something happened.
    pub fn of(address: &Address) -> Self {
        let Address { platform, account, chat, chat_type, topic, .. } = address;
        Self {
            platform: *platform,
            account: account.clone(),
            chat: chat.clone(),
            chat_type: *chat_type,
            topic: topic.clone(),
        }
    }

    /// Who hears what is said here.
    pub fn audience(&self) -> Audience {
        let Self { platform, account, chat, topic, .. } = self.clone();
        Audience { platform, account, chat, topic }
    }

    /// Where to send what this tenant says here.
    pub fn target(&self, tenant: Tenant) -> PostTarget {
        let Self { chat, chat_type, topic, .. } = self;
        PostTarget {
            host: None,
            tenant,
            chat: chat.clone(),
            chat_type: *chat_type,
            topic: topic.clone(),
        }
    }

    /// What a message that came from here is accepted with, so that its reply comes back here,
    /// as an answer to `reply_to`.
    pub fn origin(&self, reply_to: Option<&MessageId>) -> DeliveryDestination {
        DeliveryDestination {
            lane: self.lane(),
            chat_type: self.chat_type.as_str().into(),
            topic: self.topic.as_ref().map(|topic| topic.as_str().into()),
            reply_to: reply_to.map(|message| message.0.clone()),
        }
    }

    /// Whether a reply here quotes what it answers.
    pub(super) fn is_quoted(&self, quote: Quote) -> bool {
        match quote {
            Quote::Always => true,
            Quote::Groups => self.chat_type != ChatType::Dm,
            Quote::Never => false,
        }
    }

    /// The chat, in which what is sent keeps its order.
    pub(super) fn lane(&self) -> Lane {
        Lane {
            platform: self.platform.as_str().into(),
            account: self.account.as_str().into(),
            chat: self.chat.as_str().into(),
        }
    }

    /// The place that the store has written down; `None` for what no version of ours wrote.
    pub fn restored(to: &DeliveryDestination) -> Option<Self> {
        let topic = match &to.topic {
            Some(topic) => Some(TopicId::new(&**topic).ok()?),
            None => None,
        };
        Some(Self {
            platform: Platform::new(&to.lane.platform).ok()?,
            account: AccountId::new(&*to.lane.account).ok()?,
            chat: ChatId::new(&*to.lane.chat).ok()?,
            chat_type: ChatType::parse(&to.chat_type)?,
            topic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_quotes_where_its_operator_wants_it() {
        let place = |chat_type| ChatRef {
            platform: Platform::new("telegram").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new("1").unwrap(),
            chat_type,
            topic: None,
        };
        for chat_type in ChatType::ALL {
            let place = place(chat_type);
            assert!(place.is_quoted(Quote::Always) && !place.is_quoted(Quote::Never));
            assert_eq!(place.is_quoted(Quote::Groups), chat_type != ChatType::Dm);
        }
    }

    #[test]
    fn a_place_comes_back_from_the_store_as_it_was() {
        for topic in [None, Some(TopicId::new("7").unwrap())] {
            for chat_type in ChatType::ALL {
                let chat = ChatId::new("-100").unwrap();
                let place = ChatRef {
                    platform: Platform::new("telegram").unwrap(),
                    account: AccountId::new("main").unwrap(),
                    chat,
                    chat_type,
                    topic: topic.clone(),
                };
                let kept = place.origin(Some(&MessageId("41".into())));
                assert_eq!(kept.reply_to.as_deref(), Some("41"));
                assert_eq!(ChatRef::restored(&kept), Some(place));
            }
        }
    }
}
