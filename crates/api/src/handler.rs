//! Handlers of one type.
//!
//! A router keeps a tower of layers around each handler, and all of it is checked and compiled once
//! for every type of handler: for some eighty of them that was a quarter of what checking these
//! crates took. Here they become one type before the router sees them.

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use std::pin::Pin;
use std::sync::Arc;

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// What handlers work with.
pub trait State: Clone + Send + Sync + 'static {}

impl<S: Clone + Send + Sync + 'static> State for S {}

#[derive(Clone)]
struct Any<S>(Arc<dyn Fn(Request, S) -> Answering + Send + Sync>);

impl<S: State> Any<S> {
    fn of<H: Handler<T, S>, T: 'static>(handler: H) -> Self {
        Self(Arc::new(move |request, state| Box::pin(handler.clone().call(request, state))))
    }
}

impl<S: State> Handler<(), S> for Any<S> {
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        (self.0)(request, state)
    }
}

/// Answers `GET` and `HEAD`.
pub fn get<H: Handler<T, S>, T: 'static, S: State>(handler: H) -> MethodRouter<S> {
    routing::get(Any::of(handler))
}

/// Answers `POST`.
pub fn post<H: Handler<T, S>, T: 'static, S: State>(handler: H) -> MethodRouter<S> {
    routing::post(Any::of(handler))
}

/// Answers `PUT`.
pub fn put<H: Handler<T, S>, T: 'static, S: State>(handler: H) -> MethodRouter<S> {
    routing::put(Any::of(handler))
}

/// Answers `DELETE`.
pub fn delete<H: Handler<T, S>, T: 'static, S: State>(handler: H) -> MethodRouter<S> {
    routing::delete(Any::of(handler))
}
