//! What a child wrote: its beginning and its end up to a limit, and how much there was.
//!
//! It is read no faster than a [`Pace`] allows: reading costs the daemon time, which is
//! everybody's, and a child that is not read from waits.

use insula_world::Clock;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// How fast a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Bytes that are read at once, however fast they come.
    pub burst: u64,
    /// Bytes a second after those.
    pub per_second: u64,
}

impl Pace {
    /// For the output of a program, which somebody may wait for: more than anybody prints who
    /// wants to be read, and a few hundredths of a processor's time.
    pub const OUTPUT: Self = Self { burst: 128 << 20, per_second: 16 << 20 };

    /// For what a server says beside its answers, which nobody waits for.
    pub const ASIDE: Self = Self { burst: 1 << 20, per_second: 128 << 10 };
}

/// How long reading rests at least once the burst is used up, so that it reads much at once.
const REST_MIN: Duration = Duration::from_millis(100);

/// What may still be read of a stream at its pace.
struct Allowance {
    pace: Pace,
    left: u64,
    at: Duration,
}

impl Allowance {
    fn new(pace: Pace, now: Duration) -> Self {
        Self { pace, left: pace.burst, at: now }
    }

    /// Takes what was read; how long to rest before the next.
    fn take(&mut self, bytes: u64, now: Duration) -> Option<Duration> {
        let passed = now.saturating_sub(self.at).as_micros();
        let earned = passed.saturating_mul(u128::from(self.pace.per_second)) / 1_000_000;
        let earned = u64::try_from(earned).unwrap_or(u64::MAX);
        if earned > 0 {
            self.at = now;
        }
        self.left = self.left.saturating_add(earned).min(self.pace.burst);
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                None
            }
            None => {
                let missing = bytes - self.left;
                self.left = 0;
                let micros =
                    u128::from(missing) * 1_000_000 / u128::from(self.pace.per_second.max(1));
                let rest = Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
                // What is owed is paid by waiting, not by what comes in while it waits.
                let rest = rest.max(REST_MIN);
                self.at = now + Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
                Some(rest)
            }
        }
    }
}

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// How it begins.
    pub head: Vec<u8>,
    /// How it ends, when there was more than the head holds.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total: u64,
}

impl Captured {
    /// How many bytes between head and tail were dropped.
    pub fn dropped(&self) -> u64 {
        self.total.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// All that was kept, in order. Complete when nothing was dropped.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.tail.as_slice()].concat()
    }
}

/// Fills while a child runs; can be looked at meanwhile.
#[derive(Clone)]
pub struct Capture {
    kept: Arc<Mutex<HeadAndTail>>,
}

struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    half_max: usize,
}

impl Capture {
    /// Keeps at most `bytes_max`, half of it from the beginning.
    pub fn new(bytes_max: usize) -> Self {
        let half_max = bytes_max.div_ceil(2);
        let kept = HeadAndTail { head: vec![], tail: VecDeque::new(), total: 0, half_max };
        Self { kept: Arc::new(Mutex::new(kept)) }
    }

    fn add(&self, mut bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.total += bytes.len() as u64;
        let room = kept.half_max.saturating_sub(kept.head.len());
        if let Some((own, rest)) = bytes.split_at_checked(room) {
            kept.head.extend_from_slice(own);
            bytes = rest;
        } else {
            kept.head.extend_from_slice(bytes);
            return;
        }
        // Of a chunk longer than the tail only its end can stay.
        let bytes = bytes.get(bytes.len().saturating_sub(kept.half_max)..).unwrap_or_default();
        kept.tail.extend(bytes);
        let excess = kept.tail.len().saturating_sub(kept.half_max);
        kept.tail.drain(..excess);
    }

    /// What there is so far.
    pub fn snapshot(&self) -> Captured {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = kept.tail.iter().copied().collect();
        Captured { head: kept.head.clone(), tail, total: kept.total }
    }

    /// Reads a stream to its end, whatever it holds, at this pace.
    pub async fn drain(
        self,
        mut stream: impl AsyncRead + Unpin,
        clock: Arc<dyn Clock>,
        pace: Pace,
    ) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut allowance = Allowance::new(pace, clock.elapsed());
        loop {
            let count = stream.read(&mut chunk).await?;
            if count == 0 {
                return Ok(());
            }
            self.add(chunk.get(..count).unwrap_or_default());
            if let Some(rest) = allowance.take(count as u64, clock.elapsed()) {
                clock.sleep(rest).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn drain(capture: &Capture, bytes: &[u8]) {
        let (world, _) = insula_testkit::auto_world(1);
        capture.clone().drain(bytes, world.clock, Pace::OUTPUT).await.unwrap();
    }

    #[test]
    fn after_the_burst_what_is_read_in_a_second_is_bounded() {
        for per_second in [1_000, 100_000, 10_000_000] {
            let burst = 2_000_000;
            let mut allowance = Allowance::new(Pace { burst, per_second }, Duration::ZERO);
            let (mut now, mut read) = (Duration::ZERO, 0);
            while now < Duration::from_secs(100) {
                read += 64_000;
                now += allowance.take(64_000, now).unwrap_or_default();
            }
            let most = burst + per_second * 100;
            assert!(read <= most + 64_000 + per_second, "{read} at {per_second}");
            assert!(read >= most - most / 10, "{read} at {per_second}");
        }
    }

    #[test]
    fn who_stays_within_the_burst_does_not_wait() {
        let pace = Pace { burst: 1_000, per_second: 100 };
        let mut allowance = Allowance::new(pace, Duration::ZERO);
        assert_eq!(allowance.take(1_000, Duration::ZERO), None);
        // What was used comes back with time.
        assert_eq!(allowance.take(500, Duration::from_secs(5)), None);
        assert!(allowance.take(500, Duration::from_secs(5)).is_some());
    }

    #[tokio::test]
    async fn the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let capture = Capture::new(8);
        drain(&capture, b"0123").await;
        assert_eq!(capture.snapshot().dropped(), 0);
        drain(&capture, b"456789abcdef").await;
        let captured = capture.snapshot();
        assert_eq!(captured.bytes(), b"0123cdef");
        assert_eq!((captured.total, captured.dropped()), (16, 8));
    }

    #[tokio::test]
    async fn what_fits_is_complete() {
        let capture = Capture::new(8);
        drain(&capture, b"012345").await;
        drain(&capture, b"67").await;
        assert_eq!(capture.snapshot().bytes(), b"01234567");
        assert_eq!(capture.snapshot().dropped(), 0);
    }
}
