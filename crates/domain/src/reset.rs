//! When a conversation starts afresh by itself.

use crate::zone::Zone;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// When a conversation starts afresh: whichever comes first; never, where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reset {
    /// After this many milliseconds without a message.
    pub idle_ms: Option<u64>,
    /// Every day at this minute, counted from midnight in the agent's time zone.
    pub daily_minute: Option<u16>,
}

impl Reset {
    /// Whether it ever does.
    pub fn is_ever(self) -> bool {
        self != Self::default()
    }

    /// Whether a conversation in which something last happened at `last` is over at `now`, both
    /// in milliseconds since the epoch. Its days are those of `zone`.
    pub fn is_due(self, last: i64, now: i64, zone: &Zone) -> bool {
        let quiet = u64::try_from(now.saturating_sub(last)).unwrap_or(0);
        let is_idle = self.idle_ms.is_some_and(|idle| quiet >= idle);
        let day = |at: i64, minute: u16| {
            zone.wall_ms(at).saturating_sub(i64::from(minute) * 60_000).div_euclid(DAY_MS)
        };
        let is_next = |minute: u16| day(now, minute) > day(last, minute);
        is_idle || self.daily_minute.is_some_and(is_next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_conversation_goes_on_until_its_time() {
        let idle = Reset { idle_ms: Some(7_200_000), daily_minute: None };
        let daily = Reset { idle_ms: None, daily_minute: Some(4 * 60) };
        for (reset, last, now, due) in [
            (Reset::default(), 0, i64::MAX, false),
            (idle, 0, 2 * HOUR - 1, false),
            (idle, 0, 2 * HOUR, true),
            // A clock that was set back ends nothing.
            (idle, 5 * HOUR, 0, false),
            (daily, 3 * HOUR, 4 * HOUR - 1, false),
            (daily, 3 * HOUR, 4 * HOUR, true),
            (daily, 4 * HOUR, 27 * HOUR, false),
            (daily, 4 * HOUR, 28 * HOUR, true),
            (daily, 5 * HOUR, 4 * HOUR, false),
        ] {
            assert_eq!(reset.is_due(last, now, &Zone::utc()), due, "{reset:?} {last} {now}");
        }
        let tokyo = Zone::named("Asia/Tokyo").unwrap();
        assert!(daily.is_due(18 * HOUR, 19 * HOUR, &tokyo), "04:00 in Tokyo");
        assert!(!daily.is_due(3 * HOUR, 4 * HOUR, &tokyo), "13:00 in Tokyo");
        assert!(!Reset::default().is_ever() && idle.is_ever() && daily.is_ever());
    }
}
