//! What a failed request means: the one table of it.
//!
//! | what happened | sending | listening |
//! | --- | --- | --- |
//! | no connection | later | broken |
//! | cut off, silent or unreadable after the request left | uncertain | broken |
//! | HTTP 429, `ratelimited`, `rate_limited` | later, here | broken |
//! | `service_unavailable`, `team_added_to_org`, `request_timeout`; HTTP 503 of something else | later | broken |
//! | `internal_error`, `fatal_error`: Slack says that a part may have been done | uncertain | broken |
//! | `invalid_auth`, `not_authed`, `token_revoked` and their like; HTTP 401, 403 of something else | account | refused |
//! | `missing_scope` where messages are posted | account | refused |
//! | other errors, `missing_scope` elsewhere | never | broken |
//! | something that is not Slack: 2xx, 5xx | uncertain | broken |
//! | the same: another status | never | broken |
//!
//! For what can be done twice without harm uncertain means later.

use crate::class::{Class, Repeat};
use insula_channel::{ConnectFault, PostError, WaitScope};
use insula_wire::{Reply, WireFault, excerpt};
use serde::Deserialize;
use std::time::Duration;

/// How long to wait where Slack names no time.
const LIMIT_WAIT: Duration = Duration::from_secs(5);
/// Errors by which Slack says that it does not take our token.
const TOKEN_ERRORS: [&str; 12] = [
    "access_denied",
    "account_inactive",
    "app_not_installed",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "invalid_auth",
    "not_allowed_token_type",
    "not_authed",
    "org_login_required",
    "team_access_not_granted",
    "token_expired",
    "token_revoked",
];
/// What Slack did not do, and may do later.
const ILL: [&str; 4] =
    ["request_timeout", "service_unavailable", "team_added_to_org", "migration_in_progress"];

/// A request that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// There was no answer, or none that could be read.
    Wire(WireFault),
    /// Slack said no. `needed` is the scope that it misses, if it is that.
    Told { method: &'static str, error: String, needed: String },
    /// We ask too often.
    Limited { wait: Option<Duration> },
    /// Something answered that is not Slack's API.
    Foreign { status: u16, wait: Option<Duration>, words: String },
}

/// What every answer has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    ok: Option<bool>,
    error: String,
    needed: Option<String>,
}

impl Failure {
    /// What is wrong with an answer, if something is.
    pub(super) fn of(method: &'static str, reply: &Reply) -> Option<Self> {
        let Reply { status, retry_after: wait, .. } = *reply;
        if status == 429 {
            return Some(Self::Limited { wait });
        }
        match serde_json::from_slice::<Told>(&reply.body) {
            Ok(Told { ok: Some(true), .. }) if reply.is_success() => None,
            Ok(Told { ok: Some(false), error, .. })
                if matches!(&*error, "ratelimited" | "rate_limited") =>
            {
                Some(Self::Limited { wait })
            }
            Ok(Told { ok: Some(false), error, needed }) => {
                let needed = excerpt(&needed.unwrap_or_default());
                Some(Self::Told { method, error: excerpt(&error), needed })
            }
            _ => Some(Self::Foreign { status, wait, words: reply.excerpt() }),
        }
    }

    /// Whether Slack refused with one of these.
    pub(super) fn is_one_of(&self, errors: &[&str]) -> bool {
        matches!(self, Self::Told { error, .. } if errors.contains(&error.as_str()))
    }

    /// The scope that is missing, if it is that.
    pub(super) fn missing_scope(&self) -> Option<&str> {
        match self {
            Self::Told { error, needed, .. } if error == "missing_scope" => Some(needed),
            _ => None,
        }
    }

    /// Whether Slack understood, and said no for good.
    pub(super) fn is_no(&self) -> bool {
        matches!(self, Self::Told { .. }) && self.class() == Class::Never
    }

    /// Whether more came than may be taken.
    pub(super) fn is_too_much(&self) -> bool {
        matches!(self, Self::Wire(WireFault::TooMuch { .. }))
    }

    /// What it means for a message.
    pub(super) fn into_post_error(self) -> PostError {
        self.to_post_error(Repeat::Doubles)
    }

    /// The same for what can be done again without harm.
    pub(super) fn into_harmless(self) -> PostError {
        self.to_post_error(Repeat::Harmless)
    }

    fn to_post_error(&self, repeat: Repeat) -> PostError {
        self.class().into_post_error(self.to_string().into(), self.wait(), repeat)
    }

    /// What it means for the connection.
    pub(super) fn into_fault(self) -> ConnectFault {
        let why: Box<str> = self.to_string().into();
        let is_scope = self.is_one_of(&["missing_scope"]);
        match self.class() {
            Class::Account => ConnectFault::Refused(why),
            _ if is_scope => ConnectFault::Refused(why),
            _ => ConnectFault::Broken { why, wait: self.wait() },
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::Limited { wait } => wait.or(Some(LIMIT_WAIT)),
            Self::Foreign { wait, .. } => *wait,
            Self::Told { .. } | Self::Wire(_) => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Wire(fault) => Class::of_wire(fault),
            // What is posted is counted by channel before it is counted by app.
            Self::Limited { .. } => Class::Later(WaitScope::Chat),
            Self::Told { method, error, .. } => match error.as_str() {
                error if TOKEN_ERRORS.contains(&error) => Class::Account,
                "missing_scope" if *method == "chat.postMessage" => Class::Account,
                error if ILL.contains(&error) => Class::Later(WaitScope::Account),
                "internal_error" | "fatal_error" => Class::Unknown,
                _ => Class::Never,
            },
            Self::Foreign { status, .. } => match status {
                401 | 403 => Class::Account,
                503 => Class::Later(WaitScope::Account),
                200..300 | 500.. => Class::Unknown,
                _ => Class::Never,
            },
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wire(fault) => write!(f, "Slack: {fault}"),
            Self::Limited { .. } => f.write_str("Slack is asked too often"),
            Self::Told { error, needed, method } if error == "missing_scope" => write!(
                f,
                "the app lacks the scope `{needed}`, which `{method}` needs: add it at \
                 api.slack.com/apps (OAuth & Permissions) and install the app again"
            ),
            Self::Told { error, .. } if error == "not_in_channel" => {
                f.write_str("the bot is not in this channel: `/invite` it there")
            }
            Self::Told { error, .. } if TOKEN_ERRORS.contains(&error.as_str()) => write!(
                f,
                "Slack does not take the token ({error}); copy it again from api.slack.com/apps, \
                 or install the app again"
            ),
            Self::Told { error, .. } => write!(f, "Slack refused: {error}"),
            Self::Foreign { status, words, .. } => {
                write!(f, "something that is not Slack's API answered ({status}): {words}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::table;
    use bytes::Bytes;
    use insula_wire::HeaderMap;

    fn answer(status: u16, wait: Option<u64>, body: &str) -> Failure {
        let body = Bytes::from(body.to_owned());
        let retry_after = wait.map(Duration::from_secs);
        let reply = Reply { status, headers: HeaderMap::new(), retry_after, body };
        Failure::of("chat.postMessage", &reply).unwrap()
    }

    #[test]
    fn every_failure_has_its_class() {
        let no = |error: &str| answer(200, None, &format!(r#"{{"ok":false,"error":"{error}"}}"#));
        let rows = [
            (no("invalid_auth"), "account", "account"),
            (no("account_inactive"), "account", "account"),
            (no("missing_scope"), "account", "account"),
            (no("channel_not_found"), "never", "never"),
            (no("msg_too_long"), "never", "never"),
            (no("service_unavailable"), "later", "later"),
            (no("internal_error"), "uncertain", "later"),
            (no("fatal_error"), "uncertain", "later"),
            (answer(200, None, "<html>"), "uncertain", "later"),
            (answer(200, None, "{}"), "uncertain", "later"),
            (answer(302, None, ""), "never", "never"),
            (answer(403, None, "<html>"), "account", "account"),
            (answer(502, None, "<html>"), "uncertain", "later"),
            (answer(503, None, "<html>"), "later", "later"),
        ];
        table::holds(Failure::Wire, rows, Failure::to_post_error);
    }

    #[test]
    fn who_asks_too_often_waits_as_told() {
        let limited = r#"{"ok":false,"error":"ratelimited"}"#;
        for (failure, expected) in [
            (answer(429, Some(7), limited), 7),
            (answer(429, Some(30), "slow down"), 30),
            (answer(429, None, limited), 5),
            (answer(200, None, limited), 5),
        ] {
            let PostError::Later { wait, .. } = failure.into_post_error() else { panic!() };
            assert_eq!(wait, Some(Duration::from_secs(expected)));
        }
    }

    #[test]
    fn a_scope_that_is_missing_is_named_and_stops_only_what_needs_it() {
        let reply = |method| {
            let body =
                r#"{"ok":false,"error":"missing_scope","needed":"files:read","provided":"x"}"#;
            let (headers, body) = (HeaderMap::new(), Bytes::from_static(body.as_bytes()));
            Failure::of(method, &Reply { status: 200, headers, retry_after: None, body }).unwrap()
        };
        let failure = reply("files.info");
        assert!(failure.is_no() && failure.to_string().contains("`files:read`"), "{failure}");
        assert!(matches!(failure.into_fault(), ConnectFault::Refused(_)));
        assert!(matches!(reply("chat.postMessage").into_post_error(), PostError::Account { .. }));
    }
}
