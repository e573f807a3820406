//! How much a request may be, said in the shape its caller reads.

use crate::error::{ApiError, shaped};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt as _;

/// The longest body: some images, and more text than any model reads.
pub const BODY_LEN_MAX: usize = 16 * 1024 * 1024;

/// The most header bytes, names and values. Ours take a few hundred.
const HEADERS_LEN_MAX: usize = 32 * 1024;

/// How much of a body that is too long is read past, so that a client which is still sending
/// it reads the refusal and not a broken connection.
const DISCARDED_LEN_MAX: u64 = 128 * 1024 * 1024;

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
    // What platforms send has a limit of its own, and nothing beyond it is read.
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
