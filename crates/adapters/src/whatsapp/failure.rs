//! What a failed request, or a failed message, means: the one table of it.
//!
//! | what happened | sending | listening |
//! | --- | --- | --- |
//! | no connection | later | broken |
//! | cut off, silent or unreadable after the request left | uncertain, until a status says more | broken |
//! | 131047: the last word of theirs is more than 24 hours old | the template, or never | – |
//! | 131056: too much to one person | later, in this chat | – |
//! | 4, 80007, 130429, 131048, 131064, HTTP 429 | later, for the account | broken |
//! | 2, 131000, 131016, 131057: trouble of theirs, nothing was taken | later | broken |
//! | 0, 3, 10, 102, 190, 200 to 299, 368, 131005, 131031, 131042, 131045, 133010, HTTP 401 | account | refused |
//! | other codes below HTTP 500 | never | broken |
//! | other codes of HTTP 5xx | uncertain | broken |
//! | something that is not the Graph API: HTTP 401, 403 | account | refused |
//! | the same: 429, 503 | later | broken |
//! | the same: 2xx, 5xx | uncertain | broken |
//! | the same: another status | never | broken |
//!
//! For what can be done twice without harm uncertain means later.

use super::types::{GraphError, Refusal};
use crate::class::{Class, Repeat};
use insula_channel::{ConnectFault, PostError, WaitScope};
use insula_wire::{Reply, WireFault, excerpt};
use std::time::Duration;

/// How long to leave somebody alone to whom too much was sent: one message in six seconds is
/// what the platform allows.
const PAIR_WAIT: Duration = Duration::from_secs(6);
/// How long to leave the platform alone where it names no time.
const LIMIT_WAIT: Duration = Duration::from_secs(30);
/// Their last word is too old.
const WINDOW_OVER: i64 = 131_047;

/// A request that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// There was no answer, or none that could be read.
    Wire(WireFault),
    /// The platform said no, in its own form.
    Told { status: u16, code: i64, words: String, wait: Option<Duration> },
    /// Something answered that is not the Graph API.
    Foreign { status: u16, wait: Option<Duration>, words: String },
}

impl Failure {
    /// What an answer that is no success says.
    pub(super) fn of(reply: &Reply) -> Self {
        let (status, wait) = (reply.status, reply.retry_after);
        match serde_json::from_slice::<Refusal>(&reply.body) {
            Ok(Refusal { error }) => Self::told(status, &error, wait),
            Err(_) => Self::Foreign { status, wait, words: reply.excerpt() },
        }
    }

    /// What a status says of a message that was taken before.
    pub(super) fn of_status(errors: &[GraphError]) -> Self {
        let error = errors.first().cloned().unwrap_or_default();
        Self::told(400, &error, None)
    }

    fn told(status: u16, error: &GraphError, wait: Option<Duration>) -> Self {
        let details = error.error_data.as_ref().map_or("", |data| &data.details);
        let said = if error.message.is_empty() { &error.title } else { &error.message };
        let words = match details.is_empty() || said.contains(details) {
            true => excerpt(said),
            false => excerpt(&format!("{said}: {details}")),
        };
        Self::Told { status, code: error.code, words, wait }
    }

    /// Whether free text is not allowed because their last word is too old.
    pub(super) fn is_window_over(&self) -> bool {
        matches!(self, Self::Told { code: WINDOW_OVER, .. })
    }

    /// Whether it is not known what became of it.
    pub(super) fn is_uncertain(&self) -> bool {
        self.class() == Class::Unknown
    }

    /// What it means for something on its way out.
    pub(super) fn to_post_error(&self, repeat: Repeat) -> PostError {
        self.class().into_post_error(self.to_string().into(), self.wait(), repeat)
    }

    /// What it means for the connection.
    pub(super) fn to_fault(&self) -> ConnectFault {
        let why: Box<str> = self.to_string().into();
        match self.class() {
            Class::Account => ConnectFault::Refused(why),
            // The number's id is wrong, or the token is not for it.
            Class::Never if matches!(self, Self::Told { code: 33 | 100, .. }) => {
                ConnectFault::Refused(why)
            }
            _ => ConnectFault::Broken { why, wait: self.wait() },
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::Told { code: 131_056, wait, .. } => wait.or(Some(PAIR_WAIT)),
            Self::Told { code: 4 | 80_007 | 130_429 | 131_048 | 131_064, wait, .. } => {
                wait.or(Some(LIMIT_WAIT))
            }
            Self::Told { wait, .. } | Self::Foreign { wait, .. } => *wait,
            Self::Wire(_) => None,
        }
    }

    fn class(&self) -> Class {
        let account = WaitScope::Account;
        match self {
            Self::Wire(fault) => Class::of_wire(fault),
            Self::Told { status, code, .. } => match (code, status) {
                (131_056, _) => Class::Later(WaitScope::Chat),
                (4 | 80_007 | 130_429 | 131_048 | 131_064, _) | (_, 429) => Class::Later(account),
                (2 | 131_000 | 131_016 | 131_057, _) => Class::Later(account),
                (0 | 3 | 10 | 102 | 190 | 200..300 | 368, _)
                | (131_005 | 131_031 | 131_042 | 131_045 | 133_010, _)
                | (_, 401) => Class::Account,
                (_, 500..) => Class::Unknown,
                _ => Class::Never,
            },
            Self::Foreign { status, .. } => match status {
                401 | 403 => Class::Account,
                429 | 503 => Class::Later(account),
                200..300 | 500.. => Class::Unknown,
                _ => Class::Never,
            },
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wire(fault) => write!(f, "WhatsApp: {fault}"),
            Self::Told { code: WINDOW_OVER, .. } => write!(
                f,
                "their last message is more than 24 hours old, so WhatsApp takes a template only; \
                 name an approved one in `reopen_template`, or wait until they write"
            ),
            Self::Told { code: 190, words, .. } => write!(
                f,
                "WhatsApp does not take this token (190: {words}); make one of a system user that \
                 does not expire, and set it again"
            ),
            Self::Told { code: code @ (33 | 100), words, .. } => write!(
                f,
                "WhatsApp refused ({code}: {words}); see that `phone_number_id` is the number's id \
                 (not the number), and that the token may use it"
            ),
            Self::Told { code, words, .. } => write!(f, "WhatsApp refused ({code}): {words}"),
            Self::Foreign { status, words, .. } => {
                write!(f, "something that is not WhatsApp's API answered ({status}): {words}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::table;
    use serde_json::json;

    #[test]
    fn a_status_says_why_by_its_message_or_else_its_title() {
        for (error, expected) in [
            (json!({"code": 7, "title": "t", "message": "m"}), "m"),
            (json!({"code": 7, "title": "t"}), "t"),
            (json!({"code": 7, "title": "t", "error_data": {"details": "d"}}), "t: d"),
            (
                json!({"code": 7, "title": "t", "message": "m d", "error_data": {"details": "d"}}),
                "m d",
            ),
        ] {
            let error: GraphError = serde_json::from_value(error).unwrap();
            let Failure::Told { code, words, .. } = Failure::of_status(&[error]) else { panic!() };
            assert_eq!((code, &*words), (7, expected));
        }
    }

    #[test]
    fn every_failure_has_its_class() {
        let told = |status, code| Failure::Told { status, code, words: "w".into(), wait: None };
        let foreign = |status| Failure::Foreign { status, wait: None, words: "<html>".into() };
        let rows = [
            (told(400, 131_047), "never", "never"),
            (told(400, 131_056), "later, here", "later, here"),
            (told(429, 130_429), "later, when told", "later, when told"),
            (told(400, 80_007), "later, when told", "later, when told"),
            (told(400, 4), "later, when told", "later, when told"),
            (told(429, 7), "later", "later"),
            (told(500, 131_000), "later", "later"),
            (told(503, 131_016), "later", "later"),
            (told(503, 2), "later", "later"),
            (told(500, 1), "uncertain", "later"),
            (told(401, 190), "account", "account"),
            (told(401, 0), "account", "account"),
            (told(403, 10), "account", "account"),
            (told(403, 200), "account", "account"),
            (told(403, 131_005), "account", "account"),
            (told(403, 368), "account", "account"),
            (told(400, 133_010), "account", "account"),
            (told(400, 100), "never", "never"),
            (told(400, 33), "never", "never"),
            (told(400, 131_026), "never", "never"),
            (told(400, 131_030), "never", "never"),
            (told(404, 132_001), "never", "never"),
            (foreign(200), "uncertain", "later"),
            (foreign(302), "never", "never"),
            (foreign(401), "account", "account"),
            (foreign(429), "later", "later"),
            (foreign(502), "uncertain", "later"),
            (foreign(503), "later", "later"),
        ];
        table::holds(Failure::Wire, rows, Failure::to_post_error);
        assert!(matches!(told(400, 100).to_fault(), ConnectFault::Refused(_)));
        assert!(matches!(told(400, 131_026).to_fault(), ConnectFault::Broken { .. }));
        assert!(told(400, 131_047).to_string().contains("`reopen_template`"));
    }
}
