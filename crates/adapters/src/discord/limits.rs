//! How often we may ask. Discord counts requests in buckets, names the bucket of each answer and how
//! many are left in it, and counts all of them besides. Who goes on asking is shut out, so we wait
//! before it says no.

use crate::bounded::Bounded;
use insula_channel::WaitScope;
use insula_wire::HeaderMap;
use std::time::Duration;

/// Routes whose bucket we remember, and buckets.
const ROUTES_MAX: usize = 2048;
/// Requests within a second, beside those for interactions: Discord takes fifty.
const EACH_SECOND: u32 = 45;
/// The longest wait that a header can ask for.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// A kind of request about one channel or server: those share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route<'a> {
    /// Method and path, without ids.
    pub kind: &'static str,
    /// The channel, server or webhook in it.
    pub major: &'a str,
    /// Whether it counts among all of them.
    pub is_counted: bool,
}

impl<'a> Route<'a> {
    pub(super) fn of(kind: &'static str, major: &'a str) -> Self {
        Self { kind, major, is_counted: true }
    }

    /// A request that only interactions make.
    pub(super) fn of_interaction(kind: &'static str, major: &'a str) -> Self {
        Self { kind, major, is_counted: false }
    }

    fn name(&self) -> Box<str> {
        format!("{} {}", self.kind, self.major).into()
    }
}

#[derive(Debug, Clone, Copy)]
struct Left {
    requests: u64,
    until: Duration,
}

pub(super) struct Limits {
    /// The bucket of a route.
    buckets: Bounded<Box<str>, Box<str>>,
    left: Bounded<Box<str>, Left>,
    /// Until when nothing may be asked.
    all_until: Duration,
    second: u64,
    asked: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            buckets: Bounded::new(ROUTES_MAX),
            left: Bounded::new(ROUTES_MAX),
            all_until: Duration::ZERO,
            second: 0,
            asked: 0,
        }
    }
}

impl Limits {
    fn bucket(&self, route: &Route<'_>) -> Box<str> {
        let name = route.name();
        self.buckets.get(&name).cloned().unwrap_or(name)
    }

    /// Takes the place of one request, or says how long there is none, and for what.
    pub(super) fn take(
        &mut self,
        route: &Route<'_>,
        now: Duration,
    ) -> Result<(), (Duration, WaitScope)> {
        let bucket = self.bucket(route);
        if let Some(left) = self.left.get_mut(&bucket)
            && left.until > now
        {
            if left.requests == 0 {
                return Err((left.until - now, WaitScope::Chat));
            }
            left.requests -= 1;
        }
        if !route.is_counted {
            return Ok(());
        }
        if self.all_until > now {
            return Err((self.all_until - now, WaitScope::Account));
        }
        if self.second != now.as_secs() {
            self.second = now.as_secs();
            self.asked = 0;
        }
        if self.asked >= EACH_SECOND {
            let next = Duration::from_secs(self.second + 1);
            return Err((next.saturating_sub(now), WaitScope::Account));
        }
        self.asked += 1;
        Ok(())
    }

    /// Learns from the headers of an answer.
    pub(super) fn learn(&mut self, route: &Route<'_>, headers: &HeaderMap, now: Duration) {
        let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
        if let Some(bucket) = text("x-ratelimit-bucket") {
            let bucket = bucket.chars().take(128).collect::<String>();
            let bucket = format!("{bucket} {}", route.major);
            self.buckets.insert(route.name(), bucket.into());
        }
        let requests = text("x-ratelimit-remaining").and_then(|it| it.parse().ok());
        let after = text("x-ratelimit-reset-after").and_then(|it| it.parse().ok());
        if let (Some(requests), Some(after)) = (requests, after.and_then(wait)) {
            self.left.insert(self.bucket(route), Left { requests, until: now + after });
        }
    }

    /// We were told to wait.
    pub(super) fn shut(
        &mut self,
        route: &Route<'_>,
        reach: WaitScope,
        wait: Duration,
        now: Duration,
    ) {
        match reach {
            WaitScope::Account => self.all_until = self.all_until.max(now + wait.min(WAIT_MAX)),
            WaitScope::Chat => {
                let left = Left { requests: 0, until: now + wait.min(WAIT_MAX) };
                self.left.insert(self.bucket(route), left);
            }
        }
    }
}

/// Seconds as they stand in headers and answers.
pub(super) fn wait(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in all {
            map.insert(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn a_bucket_is_shared_by_routes_of_one_channel_and_empty_until_it_is_filled() {
        let mut limits = Limits::default();
        let (post, react) = (Route::of("POST messages", "1"), Route::of("PUT reactions", "1"));
        let other = Route::of("POST messages", "2");
        let now = Duration::from_secs(100);
        let told = |left: &str| {
            headers(&[
                ("x-ratelimit-bucket", "abc"),
                ("x-ratelimit-remaining", left),
                ("x-ratelimit-reset-after", "2.5"),
            ])
        };
        assert_eq!(limits.take(&post, now), Ok(()));
        limits.learn(&post, &told("1"), now);
        limits.learn(&react, &told("1"), now);
        assert_eq!(limits.take(&react, now), Ok(()));
        let full = Err((Duration::from_millis(2500), WaitScope::Chat));
        assert_eq!(limits.take(&post, now), full);
        assert_eq!(limits.take(&react, now), full);
        assert_eq!(limits.take(&other, now), Ok(()));
        assert_eq!(limits.take(&post, now + Duration::from_secs(3)), Ok(()));
    }

    #[test]
    fn all_wait_where_all_are_told_to_and_interactions_do_not() {
        let mut limits = Limits::default();
        let (post, callback) =
            (Route::of("POST messages", "1"), Route::of_interaction("POST callback", "9"));
        let now = Duration::from_secs(10);
        for _ in 0..EACH_SECOND {
            assert_eq!(limits.take(&post, now), Ok(()));
        }
        assert_eq!(limits.take(&post, now), Err((Duration::from_secs(1), WaitScope::Account)));
        assert_eq!(limits.take(&callback, now), Ok(()));
        let later = now + Duration::from_secs(1);
        assert_eq!(limits.take(&post, later), Ok(()));
        limits.shut(&post, WaitScope::Account, Duration::from_secs(7), later);
        assert_eq!(limits.take(&post, later), Err((Duration::from_secs(7), WaitScope::Account)));
        assert_eq!(limits.take(&callback, later), Ok(()));
        limits.shut(&callback, WaitScope::Chat, Duration::from_secs(3), later);
        assert_eq!(limits.take(&callback, later), Err((Duration::from_secs(3), WaitScope::Chat)));
    }

    #[test]
    fn what_a_header_says_is_bounded() {
        assert_eq!(wait(-1.0), None);
        assert_eq!(wait(f64::NAN), None);
        assert_eq!(wait(1e12), Some(WAIT_MAX));
        assert_eq!(wait(0.25), Some(Duration::from_millis(250)));
    }
}
