//! Reads since when: how long ago, or a moment.

use insula_world::Timestamp;

/// What a unit of a duration is in seconds.
const UNITS: [(char, i64); 5] =
    [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 7 * 86_400)];

/// The moment that a text names: `2h` is two hours before `now`, `2026-11-18` the midnight in UTC
/// with which that day begins. An error says what to write.
pub fn read(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    ago(text, now).or_else(|| text.parse().ok()).ok_or_else(|| {
        let shown: String = text.chars().take(60).flat_map(char::escape_debug).collect();
        format!(
            "`{shown}` is no time: write how long ago, such as 30m, 2h or 7d, or when, such as 2026-11-18 or 2026-11-18T09:00:00Z"
        )
    })
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let (number, seconds) =
        UNITS.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(*unit)?, seconds)))?;
    // Not `+2h`, nor anything else that a number may be written as.
    let is_plain = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    let count: i64 = number.parse().ok().filter(|_| is_plain)?;
    let millis = count.checked_mul(*seconds)?.checked_mul(1_000)?;
    Some(Timestamp::from_millis(now.as_millis().checked_sub(millis)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_794_708_747_004);

    #[test]
    fn both_ways_to_say_it_are_read() {
        for (text, moment) in [
            ("0s", "2026-11-15T02:12:27.004Z"),
            ("27s", "2026-11-15T02:12:00.004Z"),
            ("12m", "2026-11-15T02:00:27.004Z"),
            ("2h", "2026-11-15T00:12:27.004Z"),
            ("7d", "2026-11-08T02:12:27.004Z"),
            ("1w", "2026-11-08T02:12:27.004Z"),
            ("2026-11-01", "2026-11-01T00:00:00.000Z"),
            ("2026-11-01T09:30:00+01:00", "2026-11-01T08:30:00.000Z"),
        ] {
            assert_eq!(read(text, NOW).map(|it| it.to_string()), Ok(moment.to_owned()), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_and_says_what_to_write() {
        let far = format!("{}w", i64::MAX);
        for text in ["", "h", "2", "-2h", "+2h", "2.5h", "2 h", "2y", "yesterday", "2h30m", &far] {
            let told = read(text, NOW).unwrap_err();
            assert!(told.contains("is no time: write how long ago"), "{text}: {told}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in ".{0,40}") {
            if let Ok(moment) = read(&text, NOW) {
                prop_assert!(!text.is_empty() && moment.as_millis() < i64::MAX);
            }
        }
    }
}
