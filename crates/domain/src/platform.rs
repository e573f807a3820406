//! The platforms messages come from: a closed list, so that a typo is an error.

use crate::id::IdError;
use std::fmt;

/// A place messages come from, by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Platform(&'static str);

/// Every platform a configuration may name, sorted.
pub const PLATFORMS: &[&str] = &[
    "api",
    "bluebubbles",
    "board",
    "cli",
    "cron",
    "dingtalk",
    "discord",
    "editor",
    "email",
    "feishu",
    "googlechat",
    "homeassistant",
    "imessage",
    "irc",
    "line",
    "link",
    "matrix",
    "mattermost",
    "nextcloud",
    "nostr",
    "qqbot",
    "rocketchat",
    "signal",
    "slack",
    "sms",
    "teams",
    "telegram",
    "twitch",
    "web",
    "webhook",
    "wechat",
    "wecom",
    "whatsapp",
    "xmpp",
    "zalo",
    "zulip",
];

impl Platform {
    /// The OpenAI-compatible API.
    pub const API: Self = Self("api");
    /// Web chats, whose users are bearers of tokens: a user's id is that of the token.
    pub const WEB: Self = Self("web");
    /// The terminal.
    pub const CLI: Self = Self("cli");
    /// What nobody says: turns that the clock begins.
    pub const CRON: Self = Self("cron");
    /// The same of boards: turns that a card begins. The account is the board.
    pub const BOARD: Self = Self("board");
    /// What another agent says: turns that a link begins.
    pub const LINK: Self = Self("link");

    /// Finds a platform by name.
    pub fn new(text: &str) -> Result<Self, IdError> {
        // As other runtimes call it.
        let text = if text == "webchat" { "web" } else { text };
        match PLATFORMS.binary_search(&text) {
            Ok(index) => Ok(Self(PLATFORMS[index])),
            Err(_) => Err(IdError::UnknownPlatform { text: text.to_owned() }),
        }
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_found_by_its_name() {
        for name in PLATFORMS {
            assert_eq!(Platform::new(name).unwrap().as_str(), *name);
        }
        assert!(Platform::new("telgram").is_err());
    }
}
