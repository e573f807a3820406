//! How long a server asks us to wait.

use http::HeaderMap;
use insula_world::Timestamp;
use std::time::{Duration, SystemTime};

/// How long the server asks to wait: `Retry-After` in seconds or as a date, or
/// `retry-after-ms`.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let said = text("retry-after")?;
    if let Ok(seconds) = said.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(said).ok()?;
    let since_epoch = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let now = Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or(0));
    // A date that has passed means: now.
    Some(since_epoch.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_seconds_milliseconds_and_as_a_date() {
        // 2026-01-01T00:00:00Z
        let now = Timestamp::from_millis(1_767_225_600_000);
        for (name, value, expected_ms) in [
            ("retry-after", "7", Some(7000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "Thu, 01 Jan 2026 00:00:30 GMT", Some(30_000)),
            ("retry-after", "Thu, 01 Jan 2015 00:00:30 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "1e300", None),
            ("x-other", "1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let got = retry_after(&headers, now);
            assert_eq!(got, expected_ms.map(Duration::from_millis), "{name}: {value}");
        }
    }
}
