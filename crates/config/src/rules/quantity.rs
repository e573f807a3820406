//! Times and sizes with their units.

use std::time::Duration;

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// Reads a duration such as `60s`; a hundred years at most.
pub fn duration(text: &str) -> Option<Duration> {
    const MS_MAX: u64 = 100 * 365 * 86_400_000;
    let (number, unit) = number_and_unit(text)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit_ms).filter(|ms| *ms <= MS_MAX).map(Duration::from_millis)
}

/// Reads a number of bytes such as `512MB`.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_need_their_unit() {
        assert_eq!(duration("60s"), Some(Duration::from_secs(60)));
        assert_eq!(duration("2d"), Some(Duration::from_secs(172_800)));
        for bad in ["60", "s", "", "1w", "-1s", "99999999999999999999s", "99999999999d"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
        assert_eq!(size("512MB"), Some(512_000_000));
        assert_eq!(size("1TB"), None);
    }
}
