//! What began a turn: a message, or something that an agent does when nobody speaks to it. The
//! conversation says so.

use insula_domain::{Platform, SessionKey};
use serde::Serialize;
use utoipa::ToSchema;

/// What began a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Began {
    /// Somebody said something.
    Message {},
    /// A job was due, by its name.
    Job { job: String },
    /// It has a card of a board.
    Card { board: String, card: String },
    /// Another agent asked or told it something.
    Link { agent: String },
}

impl Began {
    /// Of the turns of a conversation, by its key.
    pub fn in_conversation(key: &str) -> Self {
        let Ok(key) = key.parse::<SessionKey>() else { return Self::Message {} };
        let (account, chat) = (key.account.as_str().to_owned(), key.chat.as_str().to_owned());
        match key.platform {
            Platform::CRON => Self::Job { job: chat },
            Platform::BOARD => Self::Card { board: account, card: chat },
            Platform::LINK => Self::Link { agent: account },
            _ => Self::Message {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_says_what_began_its_turns() {
        let text = |text: &str| text.to_owned();
        for (key, began) in [
            ("agent:a:cron:job:dm:tick", Began::Job { job: text("tick") }),
            ("agent:a:board:work:dm:3", Began::Card { board: text("work"), card: text("3") }),
            ("agent:a:link:b:dm:ask.x", Began::Link { agent: text("b") }),
            ("agent:a:telegram:main:dm:7", Began::Message {}),
            ("nonsense", Began::Message {}),
        ] {
            assert_eq!(Began::in_conversation(key), began, "{key}");
        }
    }
}
