//! What a failed request means: the one table of it.
//!
//! | what happened | sending | listening |
//! | --- | --- | --- |
//! | no connection | later | broken |
//! | cut off, silent or unreadable after the request left | uncertain | broken |
//! | 401, 404 (the token) | account | refused |
//! | 403 (blocked, thrown out) | never | refused |
//! | 409 (somebody else listens) | later | broken, with what to do |
//! | 429 | later, after `retry_after`, in this chat | broken, after `retry_after` |
//! | other 4xx, 3xx | never | broken |
//! | 5xx in the API's own form | later | broken |
//! | 5xx of something between us and the API | uncertain | broken |
//!
//! For what can be done twice without harm (edits, reading) uncertain means later.

use crate::class::{Class, Repeat};
use insula_channel::{ConnectFault, PostError, WaitScope};
use std::time::Duration;

/// How long to leave an account alone that somebody else listens to.
const CONFLICT_WAIT: Duration = Duration::from_secs(30);

/// A request that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// There was no answer, or none that could be read.
    Wire(insula_wire::WireFault),
    /// The API said no, in its own form.
    Told {
        status: u16,
        description: String,
        wait: Option<Duration>,
        /// The chat has another id now.
        moved_to: Option<i64>,
    },
    /// Something answered that is not the API.
    Foreign { status: u16, wait: Option<Duration>, words: String },
}

impl Failure {
    /// What it means for something on its way out.
    pub(super) fn to_post_error(&self, repeat: Repeat) -> PostError {
        self.class().into_post_error(self.to_string().into(), self.wait(), repeat)
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::Wire(_) => None,
            Self::Told { status: 409, .. } => Some(CONFLICT_WAIT),
            Self::Told { wait, .. } | Self::Foreign { wait, .. } => *wait,
        }
    }

    fn class(&self) -> Class {
        let account = WaitScope::Account;
        match self {
            Self::Wire(fault) => Class::of_wire(fault),
            Self::Told { status, .. } => match status {
                401 | 404 => Class::Account,
                // There are limits for each chat and for the bot, and it does not say which.
                429 => Class::Later(WaitScope::Chat),
                409 | 500.. => Class::Later(account),
                _ => Class::Never,
            },
            Self::Foreign { status, .. } => match status {
                401 | 404 => Class::Account,
                429 | 503 => Class::Later(account),
                200..300 | 500.. => Class::Unknown,
                _ => Class::Never,
            },
        }
    }

    /// What it means for the connection.
    pub(super) fn to_fault(&self) -> ConnectFault {
        let why: Box<str> = self.to_string().into();
        match self {
            Self::Told { status: 401 | 403 | 404, .. } => ConnectFault::Refused(why),
            Self::Told { status: 409, wait, .. } => {
                ConnectFault::Broken { why, wait: wait.or(Some(CONFLICT_WAIT)) }
            }
            Self::Told { wait, .. } | Self::Foreign { wait, .. } => {
                ConnectFault::Broken { why, wait: *wait }
            }
            Self::Wire(_) => ConnectFault::Broken { why, wait: None },
        }
    }

    /// Whether the API refused the request with these words in its description.
    pub(super) fn says(&self, words: &str) -> bool {
        match self {
            Self::Told { status: 400, description, .. } => {
                description.to_ascii_lowercase().contains(words)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wire(fault) => write!(f, "Telegram: {fault}"),
            Self::Told { status: status @ (401 | 404), description, .. } => write!(
                f,
                "Telegram does not know this token ({status}: {description}); \
                 get the bot's token from @BotFather and set it again"
            ),
            Self::Told { status: 409, description, .. } if description.contains("webhook") => {
                write!(
                    f,
                    "a webhook is set for this bot (409: {description}); \
                     another program set it: stop that, or make a bot of its own for each"
                )
            }
            Self::Told { status: 409, description, .. } => write!(
                f,
                "another program listens with this bot's token (409: {description}); \
                 stop it, or make a bot of its own for each"
            ),
            Self::Told { status, description, .. } => {
                write!(f, "Telegram refused ({status}): {description}")
            }
            Self::Foreign { status, words, .. } => {
                write!(f, "something that is not the Bot API answered ({status}): {words}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::table;

    fn told(status: u16) -> Failure {
        let wait = (status == 429).then_some(Duration::from_secs(7));
        Failure::Told { status, description: "words".into(), wait, moved_to: None }
    }

    fn foreign(status: u16) -> Failure {
        Failure::Foreign { status, wait: None, words: "<html>".into() }
    }

    #[test]
    fn every_failure_has_its_class() {
        let rows = [
            (told(400), "never", "never"),
            (told(401), "account", "account"),
            (told(403), "never", "never"),
            (told(404), "account", "account"),
            (told(409), "later, when told", "later, when told"),
            (told(413), "never", "never"),
            (told(429), "later, here", "later, here"),
            (told(500), "later", "later"),
            (foreign(200), "uncertain", "later"),
            (foreign(302), "never", "never"),
            (foreign(413), "never", "never"),
            (foreign(500), "uncertain", "later"),
            (foreign(502), "uncertain", "later"),
            (foreign(503), "later", "later"),
            (foreign(504), "uncertain", "later"),
        ];
        table::holds(Failure::Wire, rows, Failure::to_post_error);
    }

    #[test]
    fn a_limit_is_one_of_the_chat_and_all_else_concerns_the_account() {
        let reach = |failure: &Failure| match failure.to_post_error(Repeat::Doubles) {
            PostError::Later { reach, .. } => Some(reach),
            _ => None,
        };
        assert_eq!(reach(&told(429)), Some(WaitScope::Chat));
        for failure in [told(409), told(500), foreign(429), foreign(503)] {
            assert_eq!(reach(&failure), Some(WaitScope::Account), "{failure}");
        }
    }

    #[test]
    fn only_the_credentials_refuse_an_account() {
        for status in [401, 403, 404] {
            assert!(matches!(told(status).to_fault(), ConnectFault::Refused(_)), "{status}");
        }
        for status in [400, 409, 429, 500] {
            assert!(matches!(told(status).to_fault(), ConnectFault::Broken { .. }), "{status}");
        }
        assert!(matches!(foreign(403).to_fault(), ConnectFault::Broken { .. }));
        let wait = Some(Duration::from_secs(7));
        assert!(matches!(told(429).to_fault(), ConnectFault::Broken { wait: w, .. } if w == wait));
    }

    #[test]
    fn a_conflict_says_what_to_do() {
        let conflict = |description: &str| Failure::Told {
            status: 409,
            description: description.into(),
            wait: None,
            moved_to: None,
        };
        let other = conflict("Conflict: terminated by other getUpdates request").to_string();
        assert!(other.starts_with("another program listens with this bot's token"), "{other}");
        let webhook = conflict("Conflict: can't use getUpdates method while webhook is active");
        assert!(webhook.to_string().starts_with("a webhook is set for this bot"), "{webhook}");
    }
}
