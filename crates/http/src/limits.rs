//! How much a request may be, said in the shape its caller reads.

use crate::error::{ApiError, shaped};
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt as _;
use insula_world::Clock;
use std::sync::Arc;
use std::time::Duration;

/// The longest body: some images, and more text than any model reads.
pub const BODY_LEN_MAX: usize = 16 * 1024 * 1024;

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

/// A body of at most `len_max` bytes. What is longer, or announced as longer, is nothing at once,
/// and read past in part while it is answered: a client that writes all before it reads would
/// find a connection that is broken.
pub async fn read_within(request: Request, len_max: usize, clock: Arc<dyn Clock>) -> Option<Bytes> {
    let headers = request.headers();
    let said = headers.get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    // Who asks first whether to send it at all has not begun to.
    let asks_first = headers.contains_key(header::EXPECT);
    let mut frames = request.into_body().into_data_stream();
    let mut read: Vec<u8> = Vec::new();
    let mut is_too_long = said.unwrap_or(0) > len_max;
    while !is_too_long {
        match frames.next().await {
            None => return Some(read.into()),
            Some(Ok(frame)) if read.len() + frame.len() <= len_max => {
                read.extend_from_slice(&frame)
            }
            Some(Ok(_)) => is_too_long = true,
            // It was cut off, or took too long.
            Some(Err(_)) => return None,
        }
    }
    if !asks_first {
        tokio::spawn(linger(frames, clock));
    }
    None
}
