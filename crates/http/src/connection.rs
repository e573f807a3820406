//! One connection: how long it may take to ask, and when it ends.
//!
//! A request is under way from the moment all of it has come until its answer is sent. When
//! the daemon stops, a connection with a request under way is left to finish it; one that is
//! silent, or has sent half a request, is closed at once.

use crate::bodies::Bodies;
use crate::connection_limits::ConnectionPermit;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::Response;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::rt::{Sleep, Timer};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use insula_api::{BODY_TIME_MAX, Endless, TooSlow};
use insula_world::{Clock, Stream, World};
use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

/// How long the head of the next request may take, the silence before it included: who holds
/// a connection open for less than a request can hold it this long.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// How much of a head is read before the connection is given up. Above what a middleware
/// refuses with words, so that a reader of errors gets those.
const HEAD_LEN_MAX: usize = 64 * 1024;

/// How long the last bytes of an answer may take to leave when the daemon stops.
const FLUSH_TIME: Duration = Duration::from_millis(100);

/// The place of a connection, and what the bodies of its requests count for.
pub struct At {
    /// Its place.
    pub permit: ConnectionPermit,
    /// What bodies take up.
    pub bodies: Arc<Bodies>,
}

/// Serves one connection to its end.
pub async fn serve(
    stream: Box<dyn Stream>,
    at: At,
    router: Router,
    world: World,
    stop: CancellationToken,
) {
    let At { permit, bodies } = at;
    let underway = Underway { flag: Arc::default(), permit: permit.clone() };
    // Websockets hold the place on; this connection's own hold on it ends with it.
    let place = permit.clone();
    let clock = world.clock;
    let answering = {
        let (underway, clock) = (underway.clone(), clock.clone());
        move |request: Request<Incoming>| {
            let (mut router, underway) = (router.clone(), underway.clone());
            let mut request = request.map(|body| {
                Body::new(
                    Asked { body, underway: underway.clone(), clock: clock.clone(), late: None }
                        .begun(),
                )
            });
            request.extensions_mut().insert(permit.clone());
            request.extensions_mut().insert(bodies.clone());
            async move {
                let Ok(response) = router.call(request).await;
                if response.extensions().get::<Endless>().is_some() {
                    underway.set(false);
                }
                let answer = |body| Answer { body, _sent: Sent(underway) };
                Ok::<Response<Answer>, Infallible>(response.map(answer))
            }
        }
    };
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(WorldTimer(clock.clone())).header_read_timeout(HEAD_TIME_MAX);
    http.max_buf_size(HEAD_LEN_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), service_fn(answering));
    // A connection that becomes a websocket goes on elsewhere, within limits of its own.
    let mut connection = pin!(connection.with_upgrades());
    // How a connection ends is its client's affair: cut off, timed out, or in order.
    tokio::select! {
        _ = connection.as_mut() => return,
        // Somebody else needs it, and nothing is asked on it.
        () = place.lost() => return,
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    if underway.get() {
        let _ = connection.await;
        return;
    }
    tokio::select! {
        _ = connection => {}
        () = clock.sleep(FLUSH_TIME) => {}
    }
}

/// Whether a whole request has come whose answer is not sent. A connection has one at a time.
#[derive(Clone)]
struct Underway {
    flag: Arc<AtomicBool>,
    permit: ConnectionPermit,
}

impl Underway {
    fn set(&self, underway: bool) {
        self.flag.store(underway, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// The body of a request, as long as it comes in time.
struct Asked {
    body: Incoming,
    underway: Underway,
    clock: Arc<dyn Clock>,
    /// Made when it is first waited for: most bodies come with their head.
    late: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Asked {
    fn begun(self) -> Self {
        self.note_end();
        self
    }

    fn note_end(&self) {
        if self.body.is_end_stream() {
            self.underway.set(true);
        }
    }
}

impl HttpBody for Asked {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            match &frame {
                Some(_) => this.note_end(),
                None => this.underway.set(true),
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let clock = &this.clock;
        let late = this.late.get_or_insert_with(|| {
            let clock = clock.clone();
            Box::pin(async move { clock.sleep(BODY_TIME_MAX).await })
        });
        ready!(late.as_mut().poll(cx));
        Poll::Ready(Some(Err(TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer; when it goes, nothing is under way any more.
struct Answer {
    body: Body,
    _sent: Sent,
}

struct Sent(Underway);

impl Drop for Sent {
    fn drop(&mut self) {
        self.0.set(false);
        self.0.permit.rest();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Lets hyper wait by the clock of the world.
#[derive(Clone)]
struct WorldTimer(Arc<dyn Clock>);

impl Timer for WorldTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        let clock = self.0.clone();
        Box::pin(Sleeping(Mutex::new(Box::pin(async move { clock.sleep(duration).await }))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(deadline.saturating_duration_since(self.now()))
    }
}

/// A sleep that may be looked at from several threads, which the trait asks for. The lock is
/// never contended: it is only reached through `&mut`.
struct Sleeping(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Future for Sleeping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll(cx)
    }
}

impl Sleep for Sleeping {}
