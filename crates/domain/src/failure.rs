//! Why a turn fails, by what can be done about it and by whom. Names are for records, figures and
//! whoever looks for a turn; they are never changed.

/// Why a turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureCause {
    /// A provider refused the key.
    KeyRefused,
    /// The credit or the quota at a provider is used up.
    Unpaid,
    /// A provider limits the rate of requests, and went on doing so.
    RateLimited,
    /// A provider has too much to do, or is broken.
    Overloaded,
    /// The conversation does not fit the model.
    TooLong,
    /// There is no such model, or nothing at that address.
    NoSuchModel,
    /// A provider refused the request itself.
    RequestRefused,
    /// A provider could not be reached.
    Unreachable,
    /// A provider fell silent.
    TimedOut,
    /// A provider answered something that can't be read.
    Unreadable,
    /// An answer broke off.
    CutOff,
    /// A model said nothing, twice over.
    SaidNothing,
    /// A turn did not come to an end.
    NoEnd,
    /// A call was made again and again.
    InCircles,
    /// A budget left no room.
    OverBudget,
    /// A budget counts money, and nobody knows what the model costs.
    NoPrice,
    /// A hook said no.
    Hook,
    /// What it may do was taken away while it ran.
    TakenAway,
    /// It was given up because its agent was restarted.
    Restarted,
    /// Its settings do not let it run, such as a key that is named and missing.
    Settings,
    /// Memory could not be read.
    Memory,
    /// The store failed.
    Store,
    /// A fault of the runtime.
    Fault,
}

impl FailureCause {
    /// Every cause.
    pub const ALL: [Self; 23] = [
        Self::KeyRefused,
        Self::Unpaid,
        Self::RateLimited,
        Self::Overloaded,
        Self::TooLong,
        Self::NoSuchModel,
        Self::RequestRefused,
        Self::Unreachable,
        Self::TimedOut,
        Self::Unreadable,
        Self::CutOff,
        Self::SaidNothing,
        Self::NoEnd,
        Self::InCircles,
        Self::OverBudget,
        Self::NoPrice,
        Self::Hook,
        Self::TakenAway,
        Self::Restarted,
        Self::Settings,
        Self::Memory,
        Self::Store,
        Self::Fault,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeyRefused => "key_refused",
            Self::Unpaid => "unpaid",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::TooLong => "too_long",
            Self::NoSuchModel => "no_such_model",
            Self::RequestRefused => "request_refused",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Unreadable => "unreadable",
            Self::CutOff => "cut_off",
            Self::SaidNothing => "said_nothing",
            Self::NoEnd => "no_end",
            Self::InCircles => "in_circles",
            Self::OverBudget => "over_budget",
            Self::NoPrice => "no_price",
            Self::Hook => "hook",
            Self::TakenAway => "taken_away",
            Self::Restarted => "restarted",
            Self::Settings => "settings",
            Self::Memory => "memory",
            Self::Store => "store",
            Self::Fault => "fault",
        }
    }

    /// The cause of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == name)
    }

    /// What a chat is told that it can do about it; `None` where only whoever runs the agent can.
    pub const fn advice(self) -> Option<&'static str> {
        match self {
            Self::RateLimited | Self::Overloaded | Self::Unreachable | Self::TimedOut => {
                Some("the model I think with is busy or away. Please ask again in a few minutes")
            }
            Self::CutOff | Self::Unreadable => {
                Some("the answer broke off on its way to me. Please ask again")
            }
            Self::TooLong => Some(
                "this conversation is too long for me. Begin a new one with /new, or send less at once",
            ),
            Self::SaidNothing => Some("I found no words for that. Please ask in another way"),
            Self::NoEnd | Self::InCircles => {
                Some("I came to no end with this. Please ask for a smaller part of it")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_name_of_its_own_and_is_found_by_it() {
        for (at, cause) in FailureCause::ALL.into_iter().enumerate() {
            assert_eq!(FailureCause::named(cause.as_str()), Some(cause));
            assert_eq!(cause as usize, at, "counters are kept by place");
        }
        assert_eq!(FailureCause::named("else"), None);
    }
}
