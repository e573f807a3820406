//! Schedules: what is understood, and the moments that are meant, against a walk through every
//! minute.

use crate::*;
use insula_domain::Zone;
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn ms(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

/// A Wednesday, 09:00 in Berlin.
const NOW: &str = "2026-11-18T08:00:00Z";

fn settled(text: &str) -> String {
    let berlin = zone("Europe/Berlin");
    let form = Form::parse(text).unwrap_or_else(|error| panic!("{error}"));
    form.settle((ms(NOW), ms(NOW)), &berlin).unwrap().to_string()
}

#[test]
fn every_form_is_understood() {
    for (text, meant) in [
        ("30m", "2026-11-18T08:30:00Z"),
        ("2h", "2026-11-18T10:00:00Z"),
        ("1d", "2026-11-19T08:00:00Z"),
        ("in 20 minutes", "2026-11-18T08:20:00Z"),
        ("in 1h30m", "2026-11-18T09:30:00Z"),
        ("every 30m", "every 30m"),
        ("every 90 minutes", "every 1h30m"),
        ("every hour", "every 1h"),
        ("hourly", "every 1h"),
        ("30 8 * * 1-5", "30 8 * * 1-5"),
        ("*/15 * * * *", "*/15 * * * *"),
        ("0 9 1 jan-mar mon,fri", "0 9 1 jan-mar mon,fri"),
        ("@daily", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("@Yearly", "0 0 1 1 *"),
        ("2026-12-01T08:30:00Z", "2026-12-01T08:30:00Z"),
        ("2026-12-01T08:30:00+02:00", "2026-12-01T06:30:00Z"),
        ("2026-12-01T08:30", "2026-12-01T07:30:00Z"),
        ("2026-12-01 08:30", "2026-12-01T07:30:00Z"),
        ("every weekday at 8:30", "30 8 * * 1-5"),
        ("Every Weekday at 8:30", "30 8 * * 1-5"),
        ("weekdays 8:30", "30 8 * * 1-5"),
        ("every day at 9", "0 9 * * *"),
        ("daily at 9am and 5pm", "0 9,17 * * *"),
        ("every day at noon", "0 12 * * *"),
        ("every weekend at 10:15", "15 10 * * 0,6"),
        ("every monday and friday at 7 pm", "0 19 * * 1,5"),
        ("every mon, wed, fri at 07:05", "5 7 * * 1,3,5"),
        ("mondays at 9", "0 9 * * 1"),
        ("every month on the 1st at 7:00", "0 7 1 * *"),
        ("every 15th of the month at 12:00", "0 12 15 * *"),
        ("monthly on the 1st and 15th at 8", "0 8 1,15 * *"),
        ("tomorrow at 9", "2026-11-19T08:00:00Z"),
        ("today at 18:00", "2026-11-18T17:00:00Z"),
        ("at 08:00", "2026-11-19T07:00:00Z"),
        ("at 18:00", "2026-11-18T17:00:00Z"),
        ("next monday at 9:00", "2026-11-23T08:00:00Z"),
        ("next wednesday at 9:00", "2026-11-25T08:00:00Z"),
    ] {
        assert_eq!(settled(text), meant, "{text}");
    }
}

#[test]
fn what_is_not_understood_says_why() {
    for (text, part) in [
        ("", "is no schedule"),
        ("whenever", "is no schedule"),
        ("every day", "at what time of day"),
        ("every day at 25:00", "no time of day"),
        ("every day at 8:30 and 17:00", "share their minutes"),
        ("monday at 9", "say `every` or `next`"),
        ("every month at 9", "on which day of the month"),
        ("every 10s", "is a minute"),
        ("60 * * * *", "not between 0 and 59"),
        ("* * * *", "this has 4"),
        ("0 0 31 2 *", "no month of it has"),
        ("5-1 * * * *", "goes backwards"),
        ("*/0 * * * *", "no step"),
        ("+5 * * * *", "is no schedule"),
        ("@often", "none of @hourly"),
        ("2026-12-01", "is no schedule"),
    ] {
        let error = Form::parse(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert!(error.contains("every weekday at 8:30"), "{error}");
    }
    let berlin = zone("Europe/Berlin");
    let early = Form::parse("today at 8:00").unwrap();
    let error = early.settle((ms(NOW), 0), &berlin).unwrap_err().to_string();
    assert_eq!(error, "`today at 08:00` can't be scheduled: it is over already");
}

/// A reading of expressions of its own, for numbers, `*`, lists, ranges and steps.
struct Reading {
    sets: [Vec<bool>; 5],
    either_day: bool,
    goes_by_clock: bool,
}

impl Reading {
    fn of(text: &str) -> Self {
        let fields: Vec<&str> = text.split(' ').collect();
        let is_star = |at: usize| fields[at].starts_with('*');
        let set = |at: usize| {
            let least = usize::from(at == 2 || at == 3);
            let mut set = vec![false; 100];
            for part in fields[at].split(',') {
                let (range, step) = part.split_once('/').unwrap_or((part, "1"));
                let (from, to) = match range.split_once('-') {
                    _ if range == "*" => (least, 99),
                    Some((from, to)) => (from.parse().unwrap(), to.parse().unwrap()),
                    None => (range.parse().unwrap(), range.parse().unwrap()),
                };
                (from..=to).step_by(step.parse().unwrap()).for_each(|value| set[value] = true);
            }
            set
        };
        Self {
            sets: [0, 1, 2, 3, 4].map(set),
            either_day: !is_star(2) && !is_star(4),
            goes_by_clock: is_star(0) || is_star(1),
        }
    }

    fn has(&self, wall: DateTime) -> bool {
        let has = |at: usize, value: i8| self.sets[at][value as usize];
        let (day, weekday) = (has(2, wall.day()), has(4, wall.weekday().to_sunday_zero_offset()));
        has(0, wall.minute())
            && has(1, wall.hour())
            && has(3, wall.month())
            && if self.either_day { day || weekday } else { day && weekday }
    }
}

/// All moments of expressions between two, found by walking through every minute.
fn walked(texts: &[&str], zone: &Zone, (from, to): (Timestamp, Timestamp)) -> Vec<Vec<Timestamp>> {
    let readings: Vec<Reading> = texts.iter().map(|text| Reading::of(text)).collect();
    let minute = SignedDuration::from_mins(1);
    let mut found = vec![Vec::new(); texts.len()];
    let mut at = from.checked_sub(minute * 60 * 48).unwrap();
    let mut latest = zone.rules().to_datetime(at);
    let one = jiff::Span::new().minutes(1);
    while at < to {
        at = at.checked_add(minute).unwrap();
        let wall = zone.rules().to_datetime(at);
        // All that the clock shows for the first time, or left out on the way here.
        let mut fresh = Vec::new();
        let mut shown = latest.checked_add(one).unwrap();
        while shown <= wall {
            fresh.push(shown);
            shown = shown.checked_add(one).unwrap();
        }
        latest = latest.max(wall);
        for (reading, found) in readings.iter().zip(&mut found) {
            let fires = match reading.goes_by_clock {
                true => reading.has(wall),
                false => fresh.iter().any(|shown| reading.has(*shown)),
            };
            if fires && at > from {
                found.push(at);
            }
        }
    }
    found
}

#[test]
fn a_year_of_both_changes_of_clocks_is_as_the_clock_on_the_wall_shows_it() {
    // North, south, a change by half an hour, one at midnight, and one in Ramadan.
    let zones = [
        "Europe/Berlin",
        "America/Santiago",
        "Australia/Lord_Howe",
        "Africa/Cairo",
        "Africa/Casablanca",
    ];
    let expressions = [
        "30 2 * * *",
        "0 0 * * *",
        "*/20 * * * *",
        "15 */2 * * *",
        "0,30 1-3 * * 0",
        "45 23 1 * 5",
        "59 0 * * *",
    ];
    let from = ms("2026-01-01T00:00:00Z");
    let span = (
        Timestamp::from_millisecond(from).unwrap(),
        Timestamp::from_millisecond(from + 366 * DAY).unwrap(),
    );
    for name in zones {
        let zone = zone(name);
        let expected = walked(&expressions, &zone, span);
        for (text, expected) in expressions.into_iter().zip(expected) {
            let expression = CronExpression::parse(text).unwrap();
            let mut at = span.0;
            for moment in &expected {
                let next = expression.next(at, &zone).unwrap();
                assert_eq!(next, *moment, "{text} in {name} after {at}");
                at = next;
            }
            assert!(expression.next(at, &zone).unwrap() > span.1, "{text} in {name}");
        }
    }
}

#[test]
fn a_time_that_is_left_out_happens_at_the_end_of_the_gap_and_one_that_comes_twice_once() {
    let berlin = zone("Europe/Berlin");
    let next = |text: &str, after: &str| {
        let expression = CronExpression::parse(text).unwrap();
        expression.next(after.parse().unwrap(), &berlin).unwrap().to_string()
    };
    assert_eq!(next("30 2 * * *", "2026-03-28T12:00:00Z"), "2026-03-29T01:00:00Z");
    assert_eq!(next("30 2 * * *", "2026-03-29T01:00:00Z"), "2026-03-30T00:30:00Z");
    assert_eq!(next("30 2 * * *", "2026-10-24T12:00:00Z"), "2026-10-25T00:30:00Z");
    assert_eq!(next("30 2 * * *", "2026-10-25T00:30:00Z"), "2026-10-26T01:30:00Z");
    // By the clock: both times.
    assert_eq!(next("30 * * * *", "2026-10-25T00:30:00Z"), "2026-10-25T01:30:00Z");
    // A day that Samoa never had.
    let apia = zone("Pacific/Apia");
    let expression = CronExpression::parse("0 12 30 12 *").unwrap();
    let found = expression.next("2011-12-01T00:00:00Z".parse().unwrap(), &apia).unwrap();
    assert_eq!(found.to_string(), "2011-12-30T10:00:00Z");
}

fn plan(text: &str, bounds: Bounds) -> Plan {
    let schedule = Schedule::read(text, 0).unwrap();
    Plan { schedule, zone: Zone::utc(), bounds, seed: 7 }
}

#[test]
fn what_was_missed_is_made_up_for_as_the_policy_says() {
    let noon = ms("2026-11-18T12:00:00Z");
    let away = Progress { handled_ms: noon - 3 * DAY, runs: 0 };
    let due =
        |missed, now| plan("0 12 * * *", Bounds { missed, ..Bounds::default() }).due(away, now);
    let tomorrow = Some(noon + DAY);
    let late = noon + HOUR;
    let none = Due { runs: vec![], missed: 3, handled_ms: Some(noon), next_ms: tomorrow };
    assert_eq!(due(Missed::Skip, late), none);
    let on_time = Due { runs: vec![noon], missed: 2, handled_ms: Some(noon), next_ms: tomorrow };
    assert_eq!(due(Missed::Skip, noon + 5_000), on_time);
    assert_eq!(due(Missed::Once, late), on_time);
    let all = vec![noon - 2 * DAY, noon - DAY, noon];
    let all = Due { runs: all, missed: 0, handled_ms: Some(noon), next_ms: tomorrow };
    assert_eq!(due(Missed::All, late), all);
}

#[test]
fn years_away_cost_little_and_are_bounded() {
    let now = ms("2026-11-18T12:00:00Z");
    let away = Progress { handled_ms: now - 2_000 * DAY, runs: 0 };
    let bounds = Bounds { missed: Missed::All, ..Bounds::default() };
    let due = plan("* * * * *", bounds).due(away, now);
    assert_eq!(due.runs.len(), MISSED_ALL_MAX);
    assert_eq!(due.runs.last(), Some(&now));
    assert_eq!(due.runs[0], now - (MISSED_ALL_MAX as i64 - 1) * MINUTE);
    assert_eq!(due.next_ms, Some(now + MINUTE));
}

#[test]
fn it_ends_at_its_end_and_after_its_count_and_keeps_its_hours() {
    let noon = ms("2026-11-18T12:00:00Z");
    let begun = |runs| Progress { handled_ms: noon, runs };
    let counted = plan("every 1h", Bounds { count: Some(2), ..Bounds::default() });
    assert_eq!(counted.due(begun(1), noon + HOUR).next_ms, None);
    assert_eq!(counted.due(begun(2), noon + HOUR), Due::default());
    assert_eq!(counted.ahead(begun(1), noon, 5).len(), 1);
    let until =
        plan("every 1h", Bounds { until_ms: Some(noon + 90 * MINUTE), ..Bounds::default() });
    assert_eq!(until.ahead(begun(0), noon, 5), [noon + HOUR]);
    let hours = Bounds { within: Some("22:00-06:00".parse().unwrap()), ..Bounds::default() };
    let nightly = plan("every 4h", hours).ahead(begun(0), noon, 3);
    assert_eq!(nightly, [noon + 12 * HOUR, noon + 16 * HOUR, noon + 36 * HOUR]);
    let night: ActiveHours = "22:00-07:00".parse().unwrap();
    let hour = 3_600_000;
    assert!(night.has(23 * hour, &Zone::utc()) && !night.has(8 * hour, &Zone::utc()));
    assert_eq!(night.left_ms(23 * hour + 1, &Zone::utc()), 8 * hour - 1);
    assert_eq!(night.left_ms(6 * hour, &Zone::utc()), hour);
    assert!("08:00-08:00".parse::<ActiveHours>().is_err());
    assert!("8 to 9".parse::<ActiveHours>().is_err());
}

#[test]
fn what_is_told_ahead_is_when_it_runs() {
    let noon = ms("2026-11-18T12:00:00Z");
    let jittered = |schedule, minutes, missed| {
        plan(schedule, Bounds { jitter_ms: minutes * MINUTE, missed, ..Bounds::default() })
    };
    let hourly = jittered("0 * * * *", 30, Missed::Once);
    let progress = Progress { handled_ms: noon - 1, runs: 0 };
    let moved = [noon, noon + HOUR].map(|at| hourly.moved(at));
    assert!(moved[0] > noon + 1, "{moved:?}");
    assert_eq!(hourly.ahead(progress, noon - 1, 2), moved);
    assert_eq!(hourly.ahead(progress, moved[0] - 1, 2), moved, "it is still to come");
    assert_eq!(hourly.ahead(progress, moved[0], 1), moved[1..]);
    let handled = Progress { handled_ms: noon, runs: 1 };
    assert_eq!(hourly.ahead(handled, noon, 1), moved[1..], "it ran");
    // Moved beyond the next ones, a run has those wait: what is told is what comes due.
    for missed in [Missed::Once, Missed::All] {
        let crowded = jittered("* * * * *", 5, missed);
        let told = crowded.ahead(progress, noon, 20);
        let (mut now, mut progress, mut began) = (noon, progress, Vec::new());
        while began.len() < 20 {
            now = crowded.due(progress, now).next_ms.unwrap();
            let due = crowded.due(progress, now);
            began.extend(due.runs.iter().map(|_| now));
            progress.handled_ms = due.handled_ms.unwrap();
        }
        assert_eq!(told, began[..20], "{missed:?}");
    }
}

#[test]
fn one_run_at_a_time_and_one_that_waits() {
    let table = [
        (Overlap::Skip, [Start::Now, Start::LeaveOut, Start::LeaveOut]),
        (Overlap::Queue, [Start::Now, Start::Wait, Start::LeaveOut]),
    ];
    for (overlap, expected) in table {
        assert_eq!([0, 1, 2].map(|under_way| overlap.start(under_way)), expected);
    }
}

fn any_field(most: u8, least: u8) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("*".to_owned()),
        2 => (2_u8..20).prop_map(|step| format!("*/{step}")),
        4 => (least..=most).prop_map(|value| value.to_string()),
        2 => (least..=most, least..=most).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        2 => (least..=most, least..=most).prop_map(|(a, b)| format!("{a},{b}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_expression_is_as_a_walk_through_a_week_finds_it(
        minute in any_field(59, 0), hour in any_field(23, 0), weekday in any_field(6, 0),
        of in prop::sample::select(vec!["UTC", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe"]),
        day in 0_i64..365,
    ) {
        let text = format!("{minute} {hour} * * {weekday}");
        let zone = zone(of);
        let from = Timestamp::from_millisecond(ms("2026-01-01T00:00:00Z") + day * DAY).unwrap();
        let to = from.checked_add(SignedDuration::from_hours(4 * 24)).unwrap();
        let expression = CronExpression::parse(&text).unwrap();
        let mut found = Vec::new();
        let mut at = from;
        while let Some(next) = expression.next(at, &zone).filter(|next| *next <= to) {
            prop_assert!(next > at);
            found.push(next);
            at = next;
        }
        prop_assert_eq!(&found, &walked(&[&text], &zone, (from, to))[0], "{} in {}", text, of);
    }

    #[test]
    fn whatever_is_written_is_read_or_refused_and_what_is_read_is_written_again(text in ".{0,60}") {
        if let Ok(form) = Form::parse(&text)
            && let Ok(schedule) = form.settle((ms(NOW), 0), &Zone::utc())
        {
            let again = Schedule::read(&schedule.to_string(), 0).unwrap();
            prop_assert_eq!(again.to_string(), schedule.to_string());
        }
    }

    #[test]
    fn a_run_is_due_once_however_often_it_is_looked(
        looks in prop::collection::vec(1_i64..400, 1..40), jitter in 0_i64..10, missed in 0..3_usize,
    ) {
        let missed = [Missed::Skip, Missed::Once, Missed::All][missed];
        let bounds = Bounds { missed, jitter_ms: jitter * MINUTE, ..Bounds::default() };
        let plan = plan("*/7 * * * *", bounds);
        let mut progress = Progress { handled_ms: 0, runs: 0 };
        let mut now = 0;
        let mut ran = Vec::new();
        for look in looks {
            now += look * 10_000;
            let due = plan.due(progress, now);
            for run in &due.runs {
                prop_assert!(plan.moved(*run) <= now);
                ran.push(*run);
            }
            if let Some(handled) = due.handled_ms {
                prop_assert!(handled > progress.handled_ms);
                progress.handled_ms = handled;
            }
            prop_assert!(due.next_ms.unwrap() > now);
            prop_assert_eq!(plan.due(progress, now).runs, Vec::<i64>::new());
        }
        let mut sorted = ran.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted, ran);
    }

    #[test]
    fn jitter_is_the_same_for_the_same_run_and_below_its_bound(
        seed: u64, at in 0_i64..i64::MAX / 2, most in 1_i64..10_000_000,
    ) {
        let moved = jitter_ms(seed, at, most);
        prop_assert!((0..most).contains(&moved));
        prop_assert_eq!(moved, jitter_ms(seed, at, most));
    }
}
