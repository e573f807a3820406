//! Why a budget does not allow something: which level, which dimension, until when.

use insula_world::Timestamp;
use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BudgetLevel {
    /// That of all agents together.
    Daemon,
    /// The agent's.
    Agent,
    /// That of whoever talks.
    Principal,
    /// That of the scope.
    Context,
    /// That of the binding, account or token.
    Way,
}

impl BudgetLevel {
    /// Every level.
    pub const ALL: [Self; 5] =
        [Self::Daemon, Self::Agent, Self::Principal, Self::Context, Self::Way];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Agent => "agent",
            Self::Principal => "principal",
            Self::Context => "context",
            Self::Way => "way in",
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Money in a day.
    UsdPerDay,
    /// Tokens in a day.
    TokensPerDay,
    /// Turns in a minute.
    TurnsPerMinute,
}

impl Dimension {
    /// Every dimension.
    pub const ALL: [Self; 3] = [Self::UsdPerDay, Self::TokensPerDay, Self::TurnsPerMinute];

    /// Its name, as the configuration has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UsdPerDay => "usd_per_day",
            Self::TokensPerDay => "tokens_per_day",
            Self::TurnsPerMinute => "turns_per_minute",
        }
    }
}

/// A budget does not allow it.
///
/// Its text names the limit and not what was used: others may have used it, and what they do
/// is not for everybody who is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRefusal {
    pub level: BudgetLevel,
    /// The job whose it is, as ``job `agent/name` ``, where it is that of one.
    pub job: Option<Box<str>>,
    /// Which part of it.
    pub dimension: Dimension,
    /// The limit: tokens, turns, or millionths of a dollar.
    pub limit: u64,
    /// What was used or reserved, in the same unit.
    pub used: u64,
    /// When there will be room again; `None` where there never will.
    pub resets: Option<Timestamp>,
    /// When it was refused.
    pub now: Timestamp,
}

impl BudgetRefusal {
    /// How long to wait before trying again; `None` where that does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        self.resets.filter(|_| self.limit > 0).map(|then| until(self.now, then))
    }

    /// The same in whole seconds, at least one.
    pub fn retry_seconds(&self) -> Option<u64> {
        let wait = self.retry_after()?.as_millis().div_ceil(1_000).max(1);
        Some(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Whether it holds until the day is over, so that asking again soon is no use.
    pub fn is_of_the_day(&self) -> bool {
        self.dimension != Dimension::TurnsPerMinute
    }
}

/// Stands in the text of every refusal, and in no other.
const NO_ROOM: &str = "budget leaves no room for this";
/// Stands in the text of one that holds until the day is over.
const UNTIL_MIDNIGHT: &str = "; the day begins anew at midnight UTC";

impl BudgetRefusal {
    /// What people in a chat are told: whose limit it is and how long it holds. How much it is, is
    /// the operator's business.
    pub fn to_people(&self) -> String {
        let whose = self.level.to_people();
        match self.retry_seconds() {
            Some(seconds) if !self.is_of_the_day() => {
                format!("That is more in a minute than {whose} allows; ask again in {seconds} s.")
            }
            Some(_) => format!("I can't answer this: {whose} {USED_UP}."),
            None => format!("I can't answer this: {whose} {NOTHING_LEFT}."),
        }
    }

    /// What people are told of a turn that ended with this error, where a budget ended it.
    pub fn in_error(error: &str) -> Option<String> {
        let is_its =
            |level: &BudgetLevel| error.contains(&format!("{}'s {NO_ROOM}", level.as_str()));
        let of_job = || error.contains(&format!("`'s {NO_ROOM}")).then_some(BudgetLevel::Way);
        let level = BudgetLevel::ALL.into_iter().find(is_its).or_else(of_job)?;
        let why = if error.contains(UNTIL_MIDNIGHT) { USED_UP } else { NOTHING_LEFT };
        Some(format!("I could not finish this: {} {why}.", level.to_people()))
    }
}

impl BudgetLevel {
    /// Whose it is, as an agent says it to whoever it refuses.
    const fn to_people(self) -> &'static str {
        match self {
            Self::Daemon => "the budget that all agents here share",
            Self::Agent => "my budget",
            Self::Principal => "your budget with me",
            Self::Context => "the budget of this chat",
            Self::Way => "the budget of those who come this way",
        }
    }
}

const USED_UP: &str = "is used up for today; I can go on after midnight UTC";
const NOTHING_LEFT: &str = "does not allow it; whoever runs me can change that";

impl fmt::Display for BudgetRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimension = self.dimension.as_str();
        match &self.job {
            Some(job) => write!(f, "{job}'s {NO_ROOM}: `{dimension}` is ")?,
            None => write!(f, "the {}'s {NO_ROOM}: `{dimension}` is ", self.level.as_str())?,
        }
        match self.dimension {
            Dimension::UsdPerDay => write!(f, "{}", self.limit as f64 / 1e6)?,
            Dimension::TokensPerDay | Dimension::TurnsPerMinute => write!(f, "{}", self.limit)?,
        }
        match self.retry_seconds() {
            None => Ok(()),
            Some(_) if self.is_of_the_day() => f.write_str(UNTIL_MIDNIGHT),
            Some(seconds) => write!(f, "; try again in {seconds} s"),
        }
    }
}

impl std::error::Error for BudgetRefusal {}

/// How long until then.
pub fn until(now: Timestamp, then: Timestamp) -> Duration {
    let millis = then.as_millis().saturating_sub(now.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_hear_whose_budget_it_is_and_no_amount() {
        for level in BudgetLevel::ALL {
            for (dimension, resets) in [
                (Dimension::UsdPerDay, Some(9_000)),
                (Dimension::TokensPerDay, None),
                (Dimension::TurnsPerMinute, Some(9_000)),
            ] {
                let resets = resets.map(Timestamp::from_millis);
                let now = Timestamp::from_millis(0);
                let (limit, used, job) = (7_777, 8_888, None);
                let refusal = BudgetRefusal { level, job, dimension, limit, used, resets, now };
                let told = refusal.to_people();
                assert!(told.contains(level.to_people()), "{told}");
                assert!(!told.contains("7777") && !told.contains("8888"), "{told}");
                let later = BudgetRefusal::in_error(&refusal.to_string()).unwrap();
                assert!(later.contains(level.to_people()), "{later}");
                let (level, job) = (BudgetLevel::Way, Some("job `a/report`".into()));
                let text = BudgetRefusal { level, job, ..refusal }.to_string();
                assert!(text.starts_with("job `a/report`'s budget leaves no room"), "{text}");
                let later = BudgetRefusal::in_error(&text).unwrap();
                assert!(later.contains(level.to_people()), "{later}");
            }
        }
        assert_eq!(BudgetRefusal::in_error("something else"), None);
    }
}
