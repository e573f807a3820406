//! The body of an answer, read piece by piece with a time-out for each.

use crate::fault::{Phase, Timeouts, WireFault};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use insula_world::Clock;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What may still come after the last event of an answer, before the connection is given up
/// instead of kept: some servers close an event stream a moment after its last event.
const TAIL_LEN_MAX: usize = 16 * 1024;
/// How long that may take.
const TAIL_WAIT: Duration = Duration::from_secs(1);

/// A body that is still coming. Dropped early, it takes its connection with it.
pub struct Body {
    incoming: Incoming,
    clock: Arc<dyn Clock>,
    limits: Timeouts,
    cancel: CancellationToken,
    begun: bool,
}

impl Body {
    pub(crate) fn new(
        incoming: Incoming,
        clock: Arc<dyn Clock>,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Self {
        Self { incoming, clock, limits: *limits, cancel: cancel.clone(), begun: false }
    }

    /// The next piece, never empty; `None` at the end. Loses nothing when dropped.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, WireFault> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(WireFault::Cancelled);
            }
            let (phase, waited) = if self.begun {
                (Phase::Idle, self.limits.idle)
            } else {
                (Phase::FirstByte, self.limits.first_byte)
            };
            let frame = tokio::select! {
                biased;
                frame = self.incoming.frame() => frame,
                () = self.cancel.cancelled() => return Err(WireFault::Cancelled),
                () = self.clock.sleep(waited) => return Err(WireFault::TimedOut { phase, waited }),
            };
            match frame {
                None => return Ok(None),
                Some(Err(_)) => return Err(WireFault::CutOff),
                Some(Ok(frame)) => {
                    // Trailers mean nothing to us.
                    let Ok(data) = frame.into_data() else { continue };
                    if !data.is_empty() {
                        self.begun = true;
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Everything, up to `len_max` bytes; what is beyond is cut off. An error after the first
    /// piece ends it too: half an explanation is better than none.
    pub async fn excerpt(mut self, len_max: usize) -> Result<Vec<u8>, WireFault> {
        let mut all = vec![];
        loop {
            match self.piece().await {
                Ok(Some(piece)) => {
                    let room = len_max.saturating_sub(all.len());
                    all.extend_from_slice(&piece[..piece.len().min(room)]);
                    if all.len() >= len_max {
                        return Ok(all);
                    }
                }
                Ok(None) => return Ok(all),
                Err(WireFault::Cancelled) => return Err(WireFault::Cancelled),
                Err(_) => return Ok(all),
            }
        }
    }

    /// Everything, or an error when it is more than `len_max` bytes.
    pub async fn whole(mut self, len_max: usize) -> Result<Bytes, WireFault> {
        let Some(first) = self.piece().await? else { return Ok(Bytes::new()) };
        let mut all = bytes::BytesMut::from(first);
        while all.len() <= len_max {
            match self.piece().await? {
                Some(piece) => all.extend_from_slice(&piece),
                None => return Ok(all.freeze()),
            }
        }
        Err(WireFault::TooMuch { len_max })
    }

    /// Reads what is left behind the last event, so that the connection can be used again.
    /// What has not come yet is waited for in the background.
    pub async fn finish(mut self) {
        let now =
            std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut self.incoming).poll_frame(cx)));
        if let Poll::Ready(None | Some(Err(_))) = now.await {
            return;
        }
        tokio::spawn(async move {
            self.limits.idle = TAIL_WAIT;
            self.begun = true;
            // Cancelling the turn no longer concerns an answer that is complete.
            self.cancel = CancellationToken::new();
            let mut read = 0;
            while let Ok(Some(piece)) = self.piece().await {
                read += piece.len();
                if read > TAIL_LEN_MAX {
                    break;
                }
            }
        });
    }
}
