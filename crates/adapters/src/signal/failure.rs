//! What a failed call means: the one table of it.
//!
//! | what happened | sending | listening |
//! | --- | --- | --- |
//! | no connection | later | broken |
//! | cut off, silent or unreadable after the request left | uncertain | broken |
//! | −1, with what became of each recipient | by the rows below | broken |
//! | −1 otherwise (not registered, not in the group, no such file) | never | broken |
//! | −3, an error of the network behind signal-cli | uncertain | broken |
//! | −4, a key that changed | never, with what to do | broken |
//! | −5, too much | later, after as long as it says | broken |
//! | −6, a captcha that was refused | later | broken |
//! | −32601, a method it does not have | never, with what to do | refused |
//! | −32602 about the account, or Signal no longer knows the device | account | refused |
//! | −32603, about a file of ours | never | broken |
//! | −32603 otherwise | uncertain | broken |
//! | another −32xxx | never | broken |
//! | HTTP 421, 401, 403, 404 | account | refused |
//! | HTTP 429, 503 | later | broken |
//! | HTTP 2xx that is no answer, 5xx | uncertain | broken |
//! | another status | never | broken |
//!
//! | to a recipient | sending |
//! | --- | --- |
//! | `SUCCESS`, to any of them | sent |
//! | `NETWORK_FAILURE` | uncertain |
//! | `RATE_LIMIT_FAILURE` | later, with the captcha to solve where one is asked for |
//! | `INVALID_PRE_KEY_FAILURE` | later |
//! | `IDENTITY_FAILURE` | never, with what to do |
//! | `UNREGISTERED_FAILURE`, or nobody | never |
//!
//! For what can be done twice without harm (edits, reading) uncertain means later.

use super::types::{RpcError, SendResult, Sent};
use crate::class::{Class, Repeat};
use insula_channel::{ConnectFault, PostError, WaitScope};
use insula_wire::{WireFault, excerpt};
use std::time::Duration;

/// How long to leave Signal alone where it asks for a captcha and says no time.
const CAPTCHA_WAIT: Duration = Duration::from_secs(600);

/// A call that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// There was no answer, or none that could be read.
    Wire(WireFault),
    /// signal-cli said no.
    Told {
        code: i64,
        words: String,
        /// What became of each recipient, where it was a message.
        outcome: Option<Outcome>,
        wait: Option<Duration>,
    },
    /// Something answered that is not signal-cli, or not to us.
    Foreign { status: u16, wait: Option<Duration> },
}

/// What became of a message that reached nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Network,
    Limited,
    Captcha,
    OldKey,
    ChangedKey,
    Nobody,
}

impl Failure {
    /// What signal-cli answered instead of a result.
    pub(super) fn told(error: RpcError) -> Self {
        let RpcError { code, message, data } = error;
        let response = data.and_then(|data| data.response);
        let outcome = response.as_ref().map(|sent| outcome(&sent.results));
        let wait = response.as_ref().and_then(longest_wait);
        Self::Told { code, words: excerpt(&message), outcome, wait }
    }

    /// Whether a message reached anybody; if not, why.
    pub(super) fn of(sent: &Sent) -> Result<(), Self> {
        if sent.results.is_empty() || sent.results.iter().any(|it| it.kind == "SUCCESS") {
            return Ok(());
        }
        let words = "the message was sent to nobody".to_owned();
        let outcome = Some(outcome(&sent.results));
        Err(Self::Told { code: -1, words, outcome, wait: longest_wait(sent) })
    }

    /// What it means for something on its way out.
    pub(super) fn to_post_error(&self, repeat: Repeat) -> PostError {
        self.class().into_post_error(self.to_string().into(), self.wait(), repeat)
    }

    /// What it means for the connection.
    pub(super) fn to_fault(&self) -> ConnectFault {
        let why: Box<str> = self.to_string().into();
        let is_too_old = matches!(self, Self::Told { code: -32601, .. });
        match self.class() {
            Class::Account => ConnectFault::Refused(why),
            _ if is_too_old => ConnectFault::Refused(why),
            _ => ConnectFault::Broken { why, wait: self.wait() },
        }
    }

    /// Whether signal-cli understood and said no, so that asking otherwise may help.
    pub(super) fn is_no(&self) -> bool {
        matches!(self, Self::Told { .. }) && self.class() == Class::Never
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::Told { outcome: Some(Outcome::Captcha), wait, .. } => wait.or(Some(CAPTCHA_WAIT)),
            Self::Told { wait, .. } | Self::Foreign { wait, .. } => *wait,
            Self::Wire(_) => None,
        }
    }

    fn class(&self) -> Class {
        let account = WaitScope::Account;
        match self {
            Self::Wire(fault) => Class::of_wire(fault),
            Self::Foreign { status, .. } => match status {
                401 | 403 | 404 | 421 => Class::Account,
                429 | 503 => Class::Later(account),
                200..300 | 500.. => Class::Unknown,
                _ => Class::Never,
            },
            Self::Told { code, words, outcome, .. } => match (code, outcome) {
                (-32602, _) if words.contains("account") => Class::Account,
                _ if is_of_an_unlinked_device(words) => Class::Account,
                (-1, Some(outcome)) => outcome.class(),
                (-3, _) => Class::Unknown,
                (-5 | -6, _) => Class::Later(account),
                (-32603, _) if words.contains("AttachmentInvalidException") => Class::Never,
                (-32603, _) => Class::Unknown,
                _ => Class::Never,
            },
        }
    }
}

impl Outcome {
    fn class(self) -> Class {
        match self {
            Self::Network => Class::Unknown,
            Self::Limited | Self::Captcha => Class::Later(WaitScope::Account),
            Self::OldKey => Class::Later(WaitScope::Chat),
            Self::ChangedKey | Self::Nobody => Class::Never,
        }
    }
}

/// What Signal's servers say of a device that was taken off its account, or an account that is gone.
fn is_of_an_unlinked_device(words: &str) -> bool {
    ["AuthorizationFailed", "Authorization failed", "not registered.", "NotRegistered"]
        .iter()
        .any(|it| words.contains(it))
        && !words.starts_with("The user ")
}

/// The worst that can be said of all: what may have arrived at one is not sent again lightly.
fn outcome(results: &[SendResult]) -> Outcome {
    let has = |kind: &str| results.iter().any(|result| result.kind == kind);
    let wants_captcha = results.iter().any(|result| result.token.is_some());
    if has("NETWORK_FAILURE") {
        Outcome::Network
    } else if wants_captcha {
        Outcome::Captcha
    } else if has("RATE_LIMIT_FAILURE") {
        Outcome::Limited
    } else if has("INVALID_PRE_KEY_FAILURE") {
        Outcome::OldKey
    } else if has("IDENTITY_FAILURE") {
        Outcome::ChangedKey
    } else {
        Outcome::Nobody
    }
}

fn longest_wait(sent: &Sent) -> Option<Duration> {
    let seconds = sent.results.iter().filter_map(|result| result.retry_after_seconds);
    seconds.max().map(Duration::from_secs)
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wire(fault @ WireFault::Unreachable { .. }) => write!(
                f,
                "no signal-cli answers at `base_url` ({fault}); start it: \
                 signal-cli daemon --http --receive-mode on-connection"
            ),
            Self::Wire(fault) => write!(f, "signal-cli: {fault}"),
            Self::Foreign { status: 421, .. } => write!(
                f,
                "signal-cli refuses to be called by this name (421); `base_url` has to name the \
                 address it listens on"
            ),
            Self::Foreign { status, .. } => {
                write!(
                    f,
                    "something that is not signal-cli's daemon answers at `base_url` ({status})"
                )
            }
            Self::Told { outcome: Some(Outcome::ChangedKey), .. } | Self::Told { code: -4, .. } => {
                write!(
                    f,
                    "the safety number changed; see that it is the same person, then: \
                     signal-cli trust -a THEIR_NUMBER"
                )
            }
            Self::Told { outcome: Some(Outcome::Captcha), .. } => write!(
                f,
                "Signal wants a captcha to be solved before this account sends more: \
                 signal-cli submitRateLimitChallenge"
            ),
            Self::Told { code: -32601, words, .. } => {
                write!(f, "signal-cli is too old for this ({words}); update it to 0.14.5 or newer")
            }
            Self::Told { code, words, .. } if self.class() == Class::Account => write!(
                f,
                "signal-cli can't use this account ({code}: {words}); \
                 link or register it, and start the daemon anew"
            ),
            Self::Told { code, words, .. } => write!(f, "signal-cli refused ({code}): {words}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::table;
    use serde_json::json;

    fn told(code: i64, words: &str) -> Failure {
        Failure::told(RpcError { code, message: words.into(), data: None })
    }

    fn results(results: serde_json::Value) -> Failure {
        let error = json!({"code": -1, "message": "Failed to send message",
            "data": {"response": {"timestamp": 5, "results": results}}});
        Failure::told(serde_json::from_value(error).unwrap())
    }

    #[test]
    fn every_failure_has_its_class() {
        let foreign = |status| Failure::Foreign { status, wait: None };
        let to = |kind: &str| results(json!([{"type": kind}]));
        let rows = [
            (told(-1, "The user +49 is not registered."), "never", "never"),
            (told(-1, "Failed to send message"), "never", "never"),
            (told(-3, "io"), "uncertain", "later"),
            (told(-4, "untrusted"), "never", "never"),
            (told(-5, "too much"), "later", "later"),
            (told(-6, "captcha"), "later", "later"),
            (told(-32600, "bad"), "never", "never"),
            (told(-32601, "Method not implemented"), "never", "never"),
            (told(-32602, "Specified account does not exist"), "account", "account"),
            (told(-32602, "Method requires valid account parameter"), "account", "account"),
            (told(-32602, "wrong"), "never", "never"),
            (told(-32603, "Failed to send message: x (IOException)"), "uncertain", "later"),
            (
                told(-32603, "[401] Authorization failed! (AuthorizationFailedException)"),
                "account",
                "account",
            ),
            (told(-32603, "x: File not found (AttachmentInvalidException)"), "never", "never"),
            (to("NETWORK_FAILURE"), "uncertain", "later"),
            (to("RATE_LIMIT_FAILURE"), "later", "later"),
            (
                results(json!([{"type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": 7}])),
                "later, when told",
                "later, when told",
            ),
            (
                results(json!([{"type": "RATE_LIMIT_FAILURE", "token": "t"}])),
                "later, when told",
                "later, when told",
            ),
            (to("INVALID_PRE_KEY_FAILURE"), "later, here", "later, here"),
            (to("IDENTITY_FAILURE"), "never", "never"),
            (to("UNREGISTERED_FAILURE"), "never", "never"),
            (
                results(json!([{"type": "UNREGISTERED_FAILURE"}, {"type": "NETWORK_FAILURE"}])),
                "uncertain",
                "later",
            ),
            (results(json!([])), "never", "never"),
            (foreign(200), "uncertain", "later"),
            (foreign(400), "never", "never"),
            (foreign(404), "account", "account"),
            (foreign(415), "never", "never"),
            (foreign(421), "account", "account"),
            (foreign(429), "later", "later"),
            (foreign(500), "uncertain", "later"),
            (foreign(503), "later", "later"),
        ];
        table::holds(Failure::Wire, rows, Failure::to_post_error);
    }

    #[test]
    fn what_reached_one_of_many_is_sent() {
        let sent = |value| serde_json::from_value::<Sent>(value).unwrap();
        let some = sent(
            json!({"timestamp": 1, "results": [{"type": "UNREGISTERED_FAILURE"}, {"type": "SUCCESS"}]}),
        );
        assert_eq!(Failure::of(&some), Ok(()));
        let none = sent(json!({"timestamp": 1, "results": [{"type": "IDENTITY_FAILURE"}]}));
        let failure = Failure::of(&none).unwrap_err();
        assert!(failure.to_string().contains("signal-cli trust"), "{failure}");
        assert_eq!(Failure::of(&sent(json!({"timestamp": 1}))), Ok(()));
    }

    #[test]
    fn what_can_be_done_is_said() {
        for (failure, words) in [
            (
                Failure::Wire(WireFault::Unreachable { why: "refused".into() }),
                "signal-cli daemon --http",
            ),
            (Failure::Foreign { status: 421, wait: None }, "`base_url`"),
            (told(-32601, "Method not implemented"), "0.14.5"),
            (told(-32602, "Specified account does not exist"), "link or register"),
            (
                results(json!([{"type": "RATE_LIMIT_FAILURE", "token": "t"}])),
                "submitRateLimitChallenge",
            ),
        ] {
            assert!(failure.to_string().contains(words), "{failure}");
        }
        assert!(matches!(told(-32601, "x").to_fault(), ConnectFault::Refused(_)));
        assert!(matches!(told(-3, "x").to_fault(), ConnectFault::Broken { .. }));
    }
}
