//! The keys that OpenClaw names conversations by.

use super::channels::ONLY_ACCOUNT;
use crate::hermes::terminal;
use crate::names;
use insula_domain::{AccountId, Address, ChatId, ChatType, TopicId, UserId};

/// Where a conversation was held, by its key. `None` for those of children, which are parts of
/// others.
pub(super) fn address(key: &str) -> Option<Address> {
    let mut parts: Vec<&str> = key.split(':').collect();
    if parts.first() == Some(&"agent") {
        parts.drain(..parts.len().min(2));
    }
    if parts.contains(&"subagent") || parts.contains(&"acp") {
        return None;
    }
    // One that names no channel was held in the terminal, or by everybody at once.
    let Some(platform) = parts.first().and_then(|it| names::platform(it)) else {
        return terminal().ok();
    };
    let kinds = ["direct", "dm", "group", "channel"];
    let Some(at) = parts.iter().position(|it| kinds.contains(it)) else { return terminal().ok() };
    let account = if at > 1 { parts[1] } else { ONLY_ACCOUNT };
    let rest = parts.get(at + 1..).unwrap_or_default();
    let mark = rest.iter().position(|it| *it == "topic" || *it == "thread");
    let chat = rest.get(..mark.unwrap_or(rest.len())).unwrap_or_default().join(":");
    let topic = mark.map(|mark| rest.get(mark + 1..).unwrap_or_default().join(":"));
    let chat_type = match parts[at] {
        "direct" | "dm" => ChatType::Dm,
        "channel" => ChatType::Channel,
        _ => ChatType::Group,
    };
    Some(Address {
        platform,
        account: AccountId::new(account).ok()?,
        user: if chat_type == ChatType::Dm { UserId::new(chat.clone()).ok() } else { None },
        chat: ChatId::new(chat).ok()?,
        chat_type,
        topic: topic.and_then(|it| TopicId::new(it).ok()),
        parent: None,
        community: None,
        roles: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;

    #[test]
    fn keys_say_where_a_conversation_was_held() {
        let of = |key: &str| {
            let it = address(key).unwrap();
            let topic = it.topic.map(|it| it.as_str().to_owned());
            format!("{} {} {} {} {:?}", it.platform, it.account, it.chat_type, it.chat, topic)
        };
        for (key, expected) in [
            ("agent:main:main", "cli local dm terminal None"),
            ("agent:main:telegram:direct:12345", "telegram default dm 12345 None"),
            ("agent:main:telegram:work:direct:12345", "telegram work dm 12345 None"),
            (
                "agent:s:telegram:group:-100555:topic:7",
                "telegram default group -100555 Some(\"7\")",
            ),
            ("agent:s:discord:channel:99:thread:1", "discord default channel 99 Some(\"1\")"),
            ("agent:s:matrix:channel:!a:example.org", "matrix default channel !a:example.org None"),
            ("agent:main:cron:job-1", "cli local dm terminal None"),
        ] {
            assert_eq!(of(key), expected, "{key}");
        }
        assert_eq!(address("agent:main:subagent:x"), None);
    }
}
