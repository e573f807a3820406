//! Time zones: what a moment is called where an agent and the people it talks to are.
//!
//! The rules of zones come with the program. The machine's own files and its environment have no
//! say, so the same moment has the same name on every machine.

use crate::actor::Actor;
use crate::day::Day;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How alike two names must be for one to be a slip for the other.
const ALIKE: f64 = 0.75;

/// A time zone, by its name in the tz database.
#[derive(Clone)]
pub struct Zone {
    name: Arc<str>,
    rules: TimeZone,
}

impl Zone {
    /// The zone that is called so, such as `Europe/Berlin`; small and capital letters are one.
    pub fn named(name: &str) -> Option<Self> {
        let rules = TimeZoneDatabase::bundled().get(name).ok()?;
        let name = rules.iana_name()?.into();
        Some(Self { name, rules })
    }

    /// Where days begin at midnight UTC.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), rules: TimeZone::UTC }
    }

    /// A zone whose name is much like this one, for whoever mistyped it: also its city alone.
    pub fn nearest(name: &str) -> Option<String> {
        let city = |zone: &str| zone.rsplit('/').next().unwrap_or(zone).to_lowercase();
        let wanted = name.to_lowercase().replace(' ', "_");
        let likeness = |zone: &str| {
            let whole = strsim::jaro_winkler(&zone.to_lowercase(), &wanted);
            whole.max(strsim::jaro_winkler(&city(zone), &city(&wanted)))
        };
        let zones = TimeZoneDatabase::bundled();
        let known = zones.available().map(|zone| (likeness(zone.as_str()), zone.to_string()));
        let best = known.max_by(|(one, _), (other, _)| one.total_cmp(other));
        best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, zone)| zone)
    }

    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// When its clocks show what, for whoever works with the calendar.
    pub fn rules(&self) -> &TimeZone {
        &self.rules
    }

    /// The day of a moment here, in milliseconds since the epoch.
    pub fn day(&self, ms: i64) -> Day {
        Day::of_millis(self.wall_ms(ms))
    }

    /// What clocks on the wall show here, as milliseconds since they showed the epoch.
    pub fn wall_ms(&self, ms: i64) -> i64 {
        let offset = |at: Timestamp| i64::from(self.rules.to_offset(at).seconds()) * 1_000;
        Timestamp::from_millisecond(ms).map_or(ms, |at| ms.saturating_add(offset(at)))
    }

    /// A minute as a list has it: `2026-11-18 08:21`.
    pub fn minute(&self, ms: i64) -> String {
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        at.to_zoned(self.rules.clone()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// A moment as people here say it: `Wednesday 2026-11-18 08:21 +01:00 Europe/Berlin`.
    pub fn describe(&self, ms: i64) -> String {
        match Timestamp::from_millisecond(ms) {
            Ok(at) => {
                let here = at.to_zoned(self.rules.clone());
                format!("{} {}", here.strftime("%A %Y-%m-%d %H:%M %:z"), self.name)
            }
            Err(_) => format!("{ms} ms after 1970 {}", self.name),
        }
    }
}

/// By name: two databases may differ in rules, and there is one here.
impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl Default for Zone {
    fn default() -> Self {
        Self::utc()
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The zone of an agent, and those of people who are known to be in another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Zones {
    pub own: Zone,
    /// By identity, such as `telegram:1`.
    pub people: BTreeMap<Box<str>, Zone>,
}

impl Zones {
    /// The zone in which somebody reads the clock.
    pub fn of(&self, who: &Actor) -> &Zone {
        self.people.get(who.as_str()).unwrap_or(&self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-18 07:21 UTC.
    const MOMENT: i64 = 1_794_986_460_000;

    #[test]
    fn a_moment_is_called_as_where_it_is_read() {
        for (zone, text) in [
            ("UTC", "Wednesday 2026-11-18 07:21 +00:00 UTC"),
            ("Europe/Berlin", "Wednesday 2026-11-18 08:21 +01:00 Europe/Berlin"),
            ("europe/berlin", "Wednesday 2026-11-18 08:21 +01:00 Europe/Berlin"),
            ("Asia/Kathmandu", "Wednesday 2026-11-18 13:06 +05:45 Asia/Kathmandu"),
            ("America/Los_Angeles", "Tuesday 2026-11-17 23:21 -08:00 America/Los_Angeles"),
        ] {
            assert_eq!(Zone::named(zone).unwrap().describe(MOMENT), text);
        }
        let summer = Zone::named("Europe/Berlin").unwrap().describe(1_782_000_000_000);
        assert!(summer.contains("+02:00"), "{summer}");
    }

    #[test]
    fn days_begin_at_midnight_of_their_zone() {
        let day = |zone: &str| Zone::named(zone).unwrap().day(MOMENT).to_string();
        assert_eq!(day("America/Los_Angeles"), "2026-11-17");
        assert_eq!(day("Europe/Berlin"), "2026-11-18");
        assert_eq!(day("Pacific/Kiritimati"), "2026-11-18");
    }

    #[test]
    fn a_slip_is_told_what_was_meant() {
        assert_eq!(Zone::named("Europe/Berln"), None);
        assert_eq!(Zone::nearest("Europe/Berln").as_deref(), Some("Europe/Berlin"));
        assert_eq!(Zone::nearest("berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(Zone::nearest("new york").as_deref(), Some("America/New_York"));
        assert_eq!(Zone::nearest("%%%%"), None);
    }

    #[test]
    fn people_have_the_agents_zone_unless_they_are_known_to_have_another() {
        let tokyo = Zone::named("Asia/Tokyo").unwrap();
        let zones =
            Zones { own: Zone::utc(), people: [("telegram:1".into(), tokyo.clone())].into() };
        assert_eq!(zones.of(&"telegram:1".into()), &tokyo);
        assert_eq!(zones.of(&"telegram:2".into()), &Zone::utc());
        assert_eq!(zones.of(&Actor::CommandLine), &Zone::utc());
    }

    proptest! {
        #[test]
        fn no_moment_is_too_odd(ms in any::<i64>()) {
            let zone = Zone::named("America/New_York").unwrap();
            prop_assert!(zone.describe(ms).ends_with("America/New_York"));
            prop_assert!(!zone.describe(ms).contains(['\n', '⟦', '⟧']));
            let off = i128::from(zone.wall_ms(ms)) - i128::from(ms);
            prop_assert!(off.abs() <= 26 * 3_600_000);
        }
    }
}
