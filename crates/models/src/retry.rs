//! Trying again, as long as nobody has seen a word of the answer.

use crate::error::{ModelError, ModelFault};
use crate::manner::has_pictures;
use crate::picture::{Picture, PictureRequest};
use crate::provider::{AnswerStream, Provider};
use crate::request::Request;
use insula_wire::{Phase, Timeouts};
use insula_world::{Clock, RandomStream};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often and how long to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts, the first included. Never less than one is made.
    pub attempts_max: u32,
    /// The longest first wait; each next may be twice as long.
    pub backoff_first: Duration,
    /// The longest wait that is our own choice. A provider may ask for more.
    pub backoff_max: Duration,
    /// All waits together. A provider that asks for more than is left is given up at once:
    /// it has said when, and that is too late.
    pub wait_total_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts_max: 4,
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_secs(20),
            wait_total_max: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// One attempt and no wait.
    pub fn never() -> Self {
        Self { attempts_max: 1, ..Self::default() }
    }

    /// How long to wait after `fault`, the `attempt`-th failure (from 1), when `waited` has
    /// been spent already; `None` to give up. `chance` is anywhere between 0 and `u64::MAX`.
    pub fn wait(
        &self,
        fault: &ModelFault,
        attempt: u32,
        waited: Duration,
        chance: u64,
    ) -> Option<Duration> {
        if attempt >= self.attempts_max || !fault.is_passing() {
            return None;
        }
        // Full jitter: anywhere up to the bound, so that many who failed together do not
        // come back together.
        let doubling = 1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX);
        let bound = self.backoff_first.saturating_mul(doubling).min(self.backoff_max);
        let wait = match fault.after() {
            Some(after) => after.saturating_add(part_of(self.backoff_first, chance)),
            None => part_of(bound, chance),
        };
        let left = self.wait_total_max.saturating_sub(waited);
        // What the provider asked for must fit; our own jitter on top of it need not.
        match fault.after() {
            Some(after) if after > left => None,
            _ => Some(wait.min(left)),
        }
    }
}

/// `chance` of `u64::MAX` parts of `whole`.
fn part_of(whole: Duration, chance: u64) -> Duration {
    let nanos = whole.as_nanos().saturating_mul(u128::from(chance)) / u128::from(u64::MAX);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Asks `provider`, again if need be, and returns when the answer has really begun. From
/// then on errors are final: what was passed on can't be taken back.
pub async fn stream_with_retries(
    provider: &dyn Provider,
    request: &Request,
    limits: &Timeouts,
    cancel: &CancellationToken,
    policy: &RetryPolicy,
    clock: &dyn Clock,
    random: &mut RandomStream,
) -> Result<AnswerStream, ModelError> {
    counting_tries(provider, request, limits, cancel, policy, clock, random).await.0
}

/// The same, and how many requests it took.
pub(crate) async fn counting_tries(
    provider: &dyn Provider,
    request: &Request,
    limits: &Timeouts,
    cancel: &CancellationToken,
    policy: &RetryPolicy,
    clock: &dyn Clock,
    random: &mut RandomStream,
) -> (Result<AnswerStream, ModelError>, u32) {
    let mut waited = Duration::ZERO;
    let mut attempt = 1;
    loop {
        let error = match begin(provider, request, limits, cancel).await {
            Ok(stream) => return (Ok(stream), attempt),
            Err(error) => error,
        };
        let chance = u64::from_le_bytes(random.bytes());
        let Some(wait) = policy.wait(&error.fault, attempt, waited, chance) else {
            return match without_pictures(provider, request, &error.fault).await {
                Some(plain) => {
                    tracing::info!("{}; it is asked without pictures", error.without_words());
                    let asked = begin(provider, &plain, limits, cancel).await;
                    let blind = asked.map(AnswerStream::without_pictures);
                    (blind.map_err(|_| error), attempt + 1)
                }
                None => (Err(error), attempt),
            };
        };
        tracing::debug!(attempt, wait_ms = wait.as_millis(), "{error}; trying again");
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return (Err(ModelError { fault: ModelFault::Cancelled, ..error }), attempt);
            }
            () = clock.sleep(wait) => {}
        }
        waited = waited.saturating_add(wait);
        attempt += 1;
    }
}

/// Asks `provider` for a picture, again while it says that it is too busy. Where it said nothing,
/// or broke off, a picture may have been made and paid for.
pub async fn picture_with_retries(
    provider: &dyn Provider,
    request: &PictureRequest,
    limits: &Timeouts,
    cancel: &CancellationToken,
    policy: &RetryPolicy,
    clock: &dyn Clock,
    random: &mut RandomStream,
) -> Result<Picture, ModelError> {
    let mut waited = Duration::ZERO;
    let mut attempt = 1;
    loop {
        let error = match provider.picture(request, limits, cancel).await {
            Err(error) if is_declined(&error.fault) => error,
            done => return done,
        };
        let chance = u64::from_le_bytes(random.bytes());
        let Some(wait) = policy.wait(&error.fault, attempt, waited, chance) else {
            return Err(error);
        };
        let error = error.without_words();
        tracing::debug!(attempt, wait_ms = wait.as_millis(), "{error}; trying again");
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(ModelError { fault: ModelFault::Cancelled, ..error });
            }
            () = clock.sleep(wait) => {}
        }
        waited = waited.saturating_add(wait);
        attempt += 1;
    }
}

/// Whether a server said by this that it did nothing, or was never asked.
fn is_declined(fault: &ModelFault) -> bool {
    matches!(
        fault,
        ModelFault::RateLimited { .. }
            | ModelFault::Overloaded { .. }
            | ModelFault::TimedOut { phase: Phase::Connect, .. }
    )
}

/// The same request with its pictures in words, where a server broke over it again and again and
/// was shown some: not all of them say that they take none.
async fn without_pictures(
    provider: &dyn Provider,
    request: &Request,
    fault: &ModelFault,
) -> Option<Request> {
    let is_broken = matches!(fault, ModelFault::Overloaded { status: 500, after: None, .. });
    if !is_broken || !has_pictures(request) {
        return None;
    }
    let shows = provider.abilities(&request.model, &request.asker).await.sees_images;
    shows.then(|| request.without_pictures())
}

async fn begin(
    provider: &dyn Provider,
    request: &Request,
    limits: &Timeouts,
    cancel: &CancellationToken,
) -> Result<AnswerStream, ModelError> {
    let mut stream = provider.stream(request, limits, cancel).await?;
    stream.prime().await?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts_max: 4,
        backoff_first: Duration::from_secs(1),
        backoff_max: Duration::from_secs(3),
        wait_total_max: Duration::from_secs(10),
    };

    fn limited(after_s: Option<u64>) -> ModelFault {
        ModelFault::RateLimited { after: after_s.map(Duration::from_secs), message: String::new() }
    }

    #[test]
    fn waits_double_up_to_the_bound_and_jitter_spans_all_of_it() {
        let wait = |attempt, chance| POLICY.wait(&limited(None), attempt, Duration::ZERO, chance);
        assert_eq!(wait(1, u64::MAX), Some(Duration::from_secs(1)));
        assert_eq!(wait(2, u64::MAX), Some(Duration::from_secs(2)));
        assert_eq!(wait(3, u64::MAX), Some(Duration::from_secs(3)));
        assert_eq!(wait(3, 0), Some(Duration::ZERO));
        assert_eq!(wait(4, 0), None, "the last attempt was made");
    }

    #[test]
    fn what_the_provider_asks_for_is_honoured_or_given_up_at_once() {
        let wait = |after, waited_s| {
            POLICY.wait(&limited(Some(after)), 1, Duration::from_secs(waited_s), 0)
        };
        assert_eq!(wait(7, 0), Some(Duration::from_secs(7)));
        assert_eq!(wait(7, 4), None);
        assert_eq!(wait(11, 0), None);
        assert_eq!(wait(10, 0), Some(Duration::from_secs(10)));
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let message = String::new;
        for (fault, passing) in [
            (ModelFault::Unauthorized { status: 401, message: message() }, false),
            (ModelFault::Unpaid { status: 429, message: message() }, false),
            (ModelFault::TooLong { status: 400, message: message(), window: None }, false),
            (ModelFault::Refused { status: 400, message: message() }, false),
            (ModelFault::Garbage { what: message() }, false),
            (ModelFault::Cancelled, false),
            (ModelFault::CutOff, true),
            (ModelFault::TimedOut { phase: Phase::Connect, waited: Duration::ZERO }, true),
            (ModelFault::TimedOut { phase: Phase::FirstByte, waited: Duration::ZERO }, false),
            (ModelFault::Unreachable { why: message() }, true),
            (ModelFault::Overloaded { status: 500, after: None, message: message() }, true),
        ] {
            let wait = POLICY.wait(&fault, 1, Duration::ZERO, 0);
            assert_eq!(wait.is_some(), passing, "{fault:?}");
        }
    }
}
