//! What can go wrong with a model, by what the caller can do about it.

use insula_wire::Phase;
use std::sync::Arc;
use std::time::Duration;

/// A request that got no answer, or an answer that broke off.
///
/// Its text names the provider and the model, and never holds a key: what a provider said is
/// cut short, freed of control characters, and has the values of our own headers removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model `{provider}/{model}`: {fault}")]
pub struct ModelError {
    /// The provider's name in the configuration.
    pub provider: Arc<str>,
    /// The model that was asked.
    pub model: Arc<str>,
    /// What happened.
    pub fault: ModelFault,
}

/// What happened, by what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelFault {
    /// The key is missing, wrong or not entitled. Another key would help.
    #[error("the provider refused the key ({status}){}", said(message))]
    Unauthorized {
        /// The answer's status.
        status: u16,
        /// The provider's words.
        message: String,
    },
    /// The account that the key is of has nothing left. Waiting does not fill it.
    #[error("the credit or the quota at the provider is used up ({status}){}", said(message))]
    Unpaid {
        /// The answer's status.
        status: u16,
        /// The provider's words.
        message: String,
    },
    /// Too many requests for now.
    #[error("the provider limits the rate of requests{}{}", later(*after), said(message))]
    RateLimited {
        /// How long the provider asks to wait, if it said.
        after: Option<Duration>,
        /// The provider's words.
        message: String,
    },
    /// The provider has too much to do, or has a fault of its own.
    #[error("the provider is overloaded or broken ({status}){}{}", later(*after), said(message))]
    Overloaded {
        /// The answer's status; 200 when the error came inside an answer.
        status: u16,
        /// How long the provider asks to wait, if it said.
        after: Option<Duration>,
        /// The provider's words.
        message: String,
    },
    /// The conversation does not fit the model's window. A shorter one would.
    #[error("the conversation is too long for this model{}", said(message))]
    TooLong {
        /// The answer's status.
        status: u16,
        /// The provider's words.
        message: String,
        /// The window, in tokens, where the provider named it.
        window: Option<u32>,
    },
    /// There is no such model, or nothing at that address. Another model would help.
    #[error("the provider has no such model or address ({status}){}", said(message))]
    Missing {
        /// The answer's status.
        status: u16,
        /// The provider's words.
        message: String,
    },
    /// The request itself was refused. Sending it there again would not help.
    #[error("{}{}", refused(*status), said(message))]
    Refused {
        /// The answer's status: 200 when the refusal came inside an answer, and 0 when the
        /// request was not even sent.
        status: u16,
        /// The provider's words.
        message: String,
    },
    /// No connection, or it broke before anything came back.
    #[error("the provider can't be reached{}", said(why))]
    Unreachable {
        /// What the network said.
        why: String,
    },
    /// Nothing came for too long.
    #[error("timed out after {}: {phase}", seconds(*waited))]
    TimedOut {
        /// What was waited for.
        phase: Phase,
        /// How long.
        waited: Duration,
    },
    /// What came back is not what the protocol allows.
    #[error("the provider answered something unreadable: {what}")]
    Garbage {
        /// What, in short.
        what: String,
    },
    /// The answer ended before its end.
    #[error("the answer broke off before its end")]
    CutOff,
    /// We stopped it.
    #[error("cancelled")]
    Cancelled,
}

impl ModelError {
    /// The same for a log, which names agents and never what was said: without the provider's
    /// words, since some of them repeat the request.
    pub fn without_words(&self) -> Self {
        let mut error = self.clone();
        match &mut error.fault {
            ModelFault::Unauthorized { message, .. }
            | ModelFault::Unpaid { message, .. }
            | ModelFault::RateLimited { message, .. }
            | ModelFault::Overloaded { message, .. }
            | ModelFault::TooLong { message, .. }
            | ModelFault::Missing { message, .. }
            | ModelFault::Refused { message, .. } => message.clear(),
            ModelFault::Garbage { what } => "its words are left out".clone_into(what),
            ModelFault::Unreachable { .. }
            | ModelFault::TimedOut { .. }
            | ModelFault::CutOff
            | ModelFault::Cancelled => {}
        }
        error
    }
}

impl ModelFault {
    /// Whether the same request may succeed a little later, and is worth the wait. A
    /// provider that took the request and fell silent has cost the whole time-out already,
    /// and may be at work on it still.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { phase: Phase::Connect, .. }
            | Self::CutOff => true,
            Self::Unauthorized { .. }
            | Self::Unpaid { .. }
            | Self::TooLong { .. }
            | Self::Missing { .. }
            | Self::Refused { .. }
            | Self::TimedOut { phase: Phase::FirstByte | Phase::Idle, .. }
            | Self::Garbage { .. }
            | Self::Cancelled => false,
        }
    }

    /// Whether another model or provider may succeed with the same request: one with a larger
    /// window, one that takes pictures or tools, one that is awake.
    pub fn is_curable_elsewhere(&self) -> bool {
        match self {
            Self::Unauthorized { .. }
            | Self::Unpaid { .. }
            | Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Missing { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Garbage { .. }
            | Self::CutOff
            | Self::TooLong { .. }
            | Self::Refused { .. } => true,
            Self::Cancelled => false,
        }
    }

    /// How many tokens fit the model, where the provider named it.
    pub(crate) fn window(&self) -> Option<u32> {
        match self {
            Self::TooLong { window, .. } => *window,
            _ => None,
        }
    }

    /// How long the provider asks to wait.
    pub fn after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { after, .. } | Self::Overloaded { after, .. } => *after,
            _ => None,
        }
    }
}

/// A refusal, by the status it came with.
fn refused(status: u16) -> String {
    match status {
        0 => "the request can't be put to this provider".to_owned(),
        100..300 => "the provider began to answer and then reported an error".to_owned(),
        status => format!("the provider refused the request ({status})"),
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

fn later(after: Option<Duration>) -> String {
    after.map_or_else(String::new, |after| format!("; it asks to wait {}", seconds(after)))
}

fn seconds(duration: Duration) -> String {
    format!("{} s", (duration.as_secs_f64() * 10.0).round() / 10.0)
}

/// What went wrong on the way, in a model's terms. Whether the request may have arrived makes
/// no difference here: asking a model twice costs, and says nothing twice.
impl From<insula_wire::WireFault> for ModelFault {
    fn from(fault: insula_wire::WireFault) -> Self {
        use insula_wire::WireFault as Wire;
        match fault {
            Wire::Unreachable { why } | Wire::Lost { why } => Self::Unreachable { why },
            Wire::TimedOut { phase, waited } => Self::TimedOut { phase, waited },
            Wire::Garbage { what } => Self::Garbage { what },
            Wire::TooMuch { .. } => Self::Garbage { what: fault.to_string() },
            Wire::CutOff => Self::CutOff,
            Wire::Cancelled => Self::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_was_refused_and_no_status_that_means_success() {
        let text = |status| ModelFault::Refused { status, message: "no".into() }.to_string();
        assert_eq!(text(400), "the provider refused the request (400): no");
        assert_eq!(text(200), "the provider began to answer and then reported an error: no");
        assert_eq!(text(0), "the request can't be put to this provider: no");
    }

    #[test]
    fn an_error_names_the_provider_and_the_model_and_what_to_expect() {
        let error = ModelError {
            provider: "local".into(),
            model: "small".into(),
            fault: ModelFault::RateLimited {
                after: Some(Duration::from_millis(1500)),
                message: "slow down".into(),
            },
        };
        assert_eq!(
            error.to_string(),
            "model `local/small`: the provider limits the rate of requests; \
             it asks to wait 1.5 s: slow down"
        );
        assert_eq!(
            error.without_words().to_string(),
            "model `local/small`: the provider limits the rate of requests; it asks to wait 1.5 s"
        );
    }
}
