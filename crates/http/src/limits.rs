//! How much a request may be, said in the shape its caller reads, and taking it in.

use crate::Server;
use crate::bodies::{Bodies, Over, Taken};
use crate::connection_limits::ConnectionOwner;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt as _;
use http_body_util::Limited;
use insula_api::{ApiError, BODY_LEN_MAX, TooSlow, shaped};
use insula_world::Clock;
use std::sync::Arc;
use std::time::Duration;

/// The longest body of somebody who shows no token. Nothing of theirs is read but what platforms
/// send, which has a limit of its own.
const STRANGERS_BODY_LEN_MAX: usize = 64 * 1024;

/// Values in a body of JSON. A value takes many times the memory of its text, as a long list of
/// zeros does.
const JSON_VALUES_MAX: usize = 200_000;

/// How long nothing may come of a body.
const BODY_PAUSE_MAX: Duration = Duration::from_secs(20);

/// The most header bytes, names and values. Ours take a few hundred.
const HEADERS_LEN_MAX: usize = 32 * 1024;

/// How much of a body that is too long is read past, so that a client which is still sending
/// it reads the refusal and not a broken connection.
const DISCARDED_LEN_MAX: u64 = 128 * 1024 * 1024;

/// The same after the answer to somebody who has shown no token, how long that may take, and how
/// long nothing may come meanwhile.
const LINGER_LEN_MAX: u64 = 16 * 1024 * 1024;
const LINGER_TIME_MAX: Duration = Duration::from_secs(10);
const LINGER_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Refuses a request that is too much before anything else is done with it.
pub async fn refuse_too_much(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let length: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if length > HEADERS_LEN_MAX {
        let message = format!("the headers are longer than {HEADERS_LEN_MAX} bytes");
        let error = ApiError::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            message,
        );
        return shaped(request.uri().path(), error);
    }
    // What platforms send has a limit of its own.
    if request.uri().path().starts_with("/hooks/") {
        return next.run(request).await;
    }
    let said = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let said: u64 = said.unwrap_or(0);
    if said <= BODY_LEN_MAX as u64 {
        return next.run(request).await;
    }
    let path = request.uri().path().to_owned();
    if said <= DISCARDED_LEN_MAX {
        discard(request.into_body()).await;
    }
    shaped(&path, ApiError::body_too_large())
}

/// Reads the body of a request, within what all requests may take up together and what whoever
/// asks may. Its bytes count until nobody needs them any more.
pub async fn take_in(State(server): State<Server>, request: Request, next: Next) -> Response {
    let Some(bodies) = request.extensions().get::<Arc<Bodies>>().cloned() else {
        return next.run(request).await;
    };
    // What platforms send is read where it is known how much that may be.
    if request.body().is_end_stream() || request.uri().path().starts_with("/hooks/") {
        return next.run(request).await;
    }
    let Ok(caller) = server.caller(request.headers()) else {
        let limit = |body| Body::new(Limited::new(body, STRANGERS_BODY_LEN_MAX));
        return next.run(request.map(limit)).await;
    };
    let clock = server.world.clock.clone();
    let asks_first = request.headers().contains_key(header::EXPECT);
    let path = request.uri().path().to_owned();
    let (parts, body) = request.into_parts();
    let mut frames = body.into_data_stream();
    let mut taken = Taken::new(bodies, ConnectionOwner::from(&caller));
    match read(&mut frames, &mut taken, BODY_LEN_MAX, &clock).await {
        Ok(()) if json_values(taken.as_ref()) > JSON_VALUES_MAX => {
            let message = format!("the body has more than {JSON_VALUES_MAX} values");
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            shaped(&path, ApiError::new(status, "body_too_large", message))
        }
        Ok(()) => next.run(Request::from_parts(parts, Body::from(Bytes::from_owner(taken)))).await,
        Err(unread) => {
            drop(taken);
            if !asks_first && !matches!(unread, Unread::Slow | Unread::Cut) {
                tokio::spawn(linger(frames, clock));
            }
            shaped(&path, unread.into())
        }
    }
}

/// Why a body was not read.
enum Unread {
    /// It is too long.
    Long,
    /// It comes too slowly.
    Slow,
    /// It broke off.
    Cut,
    /// There is no room for it.
    Over(Over),
}

impl From<Unread> for ApiError {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Long => Self::body_too_large(),
            Unread::Slow => Self::body_too_slow(TooSlow),
            Unread::Cut => Self::invalid("the body could not be read"),
            Unread::Over(over) => over.into(),
        }
    }
}

async fn read(
    frames: &mut BodyDataStream,
    taken: &mut Taken,
    len_max: usize,
    clock: &Arc<dyn Clock>,
) -> Result<(), Unread> {
    loop {
        let frame = tokio::select! {
            biased;
            frame = frames.next() => frame,
            () = clock.sleep(BODY_PAUSE_MAX) => return Err(Unread::Slow),
        };
        match frame {
            None => return Ok(()),
            Some(Ok(frame)) if taken.len() + frame.len() > len_max => return Err(Unread::Long),
            Some(Ok(frame)) => taken.push(&frame).map_err(Unread::Over)?,
            Some(Err(error)) if is_too_slow(&error) => return Err(Unread::Slow),
            Some(Err(_)) => return Err(Unread::Cut),
        }
    }
}

fn is_too_slow(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<TooSlow>())
}

/// How many values a text of JSON has at most, whatever is in its strings.
fn json_values(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' | b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

async fn discard(body: Body) {
    let mut frames = body.into_data_stream();
    while let Some(Ok(_)) = frames.next().await {}
}

/// Reads past what a client sends that was answered already.
async fn linger(mut frames: BodyDataStream, clock: Arc<dyn Clock>) {
    let (end, mut left) = (clock.elapsed() + LINGER_TIME_MAX, LINGER_LEN_MAX);
    while clock.elapsed() < end {
        let frame = tokio::select! {
            frame = frames.next() => frame,
            () = clock.sleep(LINGER_PAUSE_MAX) => return,
        };
        let len = match frame {
            Some(Ok(frame)) => frame.len() as u64,
            _ => return,
        };
        match left.checked_sub(len) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// A body of at most `len_max` bytes of somebody who shows no token. What is longer, or announced
/// as longer, is nothing at once, and read past in part while it is answered: a client that writes
/// all before it reads would find a connection that is broken.
///
/// `Some` of an error says that there was no room for it.
pub async fn read_within(
    request: Request,
    len_max: usize,
    clock: Arc<dyn Clock>,
) -> Result<Bytes, Option<Over>> {
    let headers = request.headers();
    let said = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    // Who asks first whether to send it at all has not begun to.
    let asks_first = headers.contains_key(header::EXPECT);
    let bodies = request.extensions().get::<Arc<Bodies>>().cloned().unwrap_or_default();
    let mut frames = request.into_body().into_data_stream();
    let mut taken = Taken::new(bodies, ConnectionOwner::Nobody);
    let unread = if said.unwrap_or(0) > len_max {
        Unread::Long
    } else {
        match read(&mut frames, &mut taken, len_max, &clock).await {
            Ok(()) => return Ok(Bytes::from_owner(taken)),
            Err(unread) => unread,
        }
    };
    drop(taken);
    if !asks_first && matches!(unread, Unread::Long | Unread::Over(_)) {
        tokio::spawn(linger(frames, clock));
    }
    Err(match unread {
        Unread::Over(over) => Some(over),
        Unread::Long | Unread::Slow | Unread::Cut => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (text, count) in [
            ("1", 0),
            ("[0,0,0]", 3),
            (r#"{"a": "1,2,[3]{4}:5", "b": [1, "\\"]}"#, 6),
            (r#""an \", in it""#, 0),
        ] {
            assert_eq!(json_values(text.as_bytes()), count, "{text}");
        }
    }
}
