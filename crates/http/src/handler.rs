//! Handlers of one type.
//!
//! A router keeps a tower of layers around each handler, and all of it is checked and compiled once
//! for every type of handler: for some eighty of them that was a quarter of what checking this crate
//! took. Here they become one type before the router sees them.

use crate::Surface;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use std::pin::Pin;
use std::sync::Arc;

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

#[derive(Clone)]
struct Any(Arc<dyn Fn(Request, Surface) -> Answering + Send + Sync>);

impl Any {
    fn of<H: Handler<T, Surface>, T: 'static>(handler: H) -> Self {
        Self(Arc::new(move |request, surface| Box::pin(handler.clone().call(request, surface))))
    }
}

impl Handler<(), Surface> for Any {
    type Future = Answering;

    fn call(self, request: Request, surface: Surface) -> Answering {
        (self.0)(request, surface)
    }
}

pub fn get<H: Handler<T, Surface>, T: 'static>(handler: H) -> MethodRouter<Surface> {
    routing::get(Any::of(handler))
}

pub fn post<H: Handler<T, Surface>, T: 'static>(handler: H) -> MethodRouter<Surface> {
    routing::post(Any::of(handler))
}

pub fn put<H: Handler<T, Surface>, T: 'static>(handler: H) -> MethodRouter<Surface> {
    routing::put(Any::of(handler))
}

pub fn delete<H: Handler<T, Surface>, T: 'static>(handler: H) -> MethodRouter<Surface> {
    routing::delete(Any::of(handler))
}
