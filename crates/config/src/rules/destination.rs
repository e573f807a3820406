//! A chat of one of our accounts, as a configuration names it.

use super::{NAME, PLATFORM};
use crate::shape::{Problem, shorten};
use insula_domain::{AccountId, ChatId, Platform, TopicId};

/// A chat of one of our accounts, as a configuration names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatDestination {
    pub platform: Platform,
    pub account: AccountId,
    pub chat: ChatId,
    pub topic: Option<TopicId>,
}

/// Reads `platform:account:chat[:topic]`. A `:` inside an id is written `%3A`.
pub fn destination(text: &str) -> Result<ChatDestination, Problem> {
    let wrong = |why: &str| {
        Problem::new(format!("`{}` is no destination: {why}", shorten(text))).help(
            "write `platform:account:chat` or `platform:account:chat:topic`, and `%3A` for a `:` inside an id",
        )
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (platform, account, chat, topic) = match parts.as_slice() {
        [platform, account, chat] => (platform, account, chat, None),
        [platform, account, chat, topic] => (platform, account, chat, Some(topic)),
        _ => return Err(wrong("it has three or four parts")),
    };
    (PLATFORM.check)(platform)?;
    (NAME.check)(account)?;
    let plain = |part: &str| part.replace("%3A", ":").replace("%3a", ":").replace("%25", "%");
    let id = |error: insula_domain::IdError| wrong(&error.to_string());
    Ok(ChatDestination {
        platform: Platform::new(platform).map_err(id)?,
        account: AccountId::new(*account).map_err(id)?,
        chat: ChatId::new(plain(chat)).map_err(id)?,
        topic: topic.map(|topic| TopicId::new(plain(topic))).transpose().map_err(id)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_names_platform_account_chat_and_maybe_a_topic() {
        let found = destination("telegram:main:-100123:7").unwrap();
        assert_eq!((found.platform.as_str(), found.account.as_str()), ("telegram", "main"));
        assert_eq!((found.chat.as_str(), found.topic.unwrap().as_str()), ("-100123", "7"));
        let found = destination("matrix:home:!room%3Aexample.org").unwrap();
        assert_eq!((found.chat.as_str(), found.topic), ("!room:example.org", None));
        for bad in
            ["telegram:main", "a:b:c", "telegram:main:", "telegram::1", "telegram:a:b:c:d", ""]
        {
            assert!(destination(bad).is_err(), "{bad}");
        }
    }
}
