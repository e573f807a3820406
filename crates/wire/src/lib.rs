//! HTTP over the world's network: one pool, no redirects, bounded bodies.
//!
//! A [`Transport`] is shared by all who clone it. [`Transport::send`] gives an answer piece by
//! piece, for streams; [`Transport::call`] gives a whole one, for everything else. A [`WireFault`]
//! tells whether the request may have arrived. What is said and to whom is not known here.

mod after;
mod body;
mod call;
mod connect;
mod fault;
mod form;
mod transport;
mod words;

pub use after::retry_after;
pub use body::Body;
pub use call::{HttpCall, Reply};
pub use fault::{Phase, Timeouts, WireFault};
pub use form::Form;
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
pub use transport::{TlsError, Transport};
pub use words::{EXCERPT_CHARS_MAX, excerpt};
