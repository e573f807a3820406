//! The dashboard: the files of one page, as they are in the binary. Whoever loads it is a stranger
//! until they sign in; all it shows it asks of the API.

use crate::Server;
use axum::Router;
use axum::body::Body;
use axum::extract::{OriginalUri, Path};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use insula_api::handler::get;
use insula_api::{not_found, wrong_method};

/// What the page may load and do: its own files, its own daemon, and no text as code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
    media-src blob:; connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Keeps other pages from holding this one's window.
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
/// Keeps other pages from loading these files as their own.
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A file of the page.
struct Asset {
    name: &'static str,
    kind: &'static str,
    plain: &'static [u8],
    /// The same, compressed; nothing where that is no use.
    gzip: Option<&'static [u8]>,
}

const INDEX: &[u8] = include_bytes!("../dashboard/dist/index.html");

const ASSETS: [Asset; 3] = [
    Asset {
        name: "app.js",
        kind: "text/javascript; charset=utf-8",
        plain: include_bytes!("../dashboard/dist/app.js"),
        gzip: Some(include_bytes!("../dashboard/dist/app.js.gz")),
    },
    Asset {
        name: "app.css",
        kind: "text/css; charset=utf-8",
        plain: include_bytes!("../dashboard/dist/app.css"),
        gzip: Some(include_bytes!("../dashboard/dist/app.css.gz")),
    },
    Asset {
        name: "icon.svg",
        kind: "image/svg+xml",
        plain: include_bytes!("../dashboard/dist/icon.svg"),
        gzip: None,
    },
];

/// The routes of the page. They are no part of the API.
pub fn routes() -> Router<Server> {
    Router::new()
        .route("/", get(index))
        .route("/chat", get(index))
        .route("/assets/{name}", get(asset))
        .method_not_allowed_fallback(wrong_method)
}

async fn index() -> Response {
    // It names the version of its files, so it is asked for each time.
    answer("text/html; charset=utf-8", INDEX, "no-store")
}

async fn asset(Path(name): Path<String>, headers: HeaderMap, original: OriginalUri) -> Response {
    let Some(asset) = ASSETS.iter().find(|it| it.name == name) else {
        return not_found(original).await;
    };
    let packed = asset.gzip.filter(|_| takes_gzip(&headers));
    // Its address has its version in it.
    let mut answer =
        answer(asset.kind, packed.unwrap_or(asset.plain), "public, max-age=31536000, immutable");
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    if packed.is_some() {
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    let mut kinds = all.flat_map(|it| it.split(',')).map(str::trim);
    kinds.any(|it| it.eq_ignore_ascii_case("gzip"))
}

fn answer(kind: &'static str, bytes: &'static [u8], kept: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, kept),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER, "same-origin"),
        (RESOURCE, "same-origin"),
    ];
    (headers, Body::from(bytes)).into_response()
}

#[cfg(test)]
#[path = "dashboard_tests.rs"]
mod tests;
