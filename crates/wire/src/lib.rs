//! HTTP and WebSockets over the world's network: one pool, no redirects, everything bounded.
//!
//! A [`Transport`] is shared by all who clone it. [`Transport::send`] gives an answer piece by
//! piece, for streams; [`Transport::call`] gives a whole one, for everything else;
//! [`Transport::socket`] opens a WebSocket. A [`WireFault`] tells whether the request may have
//! arrived. What is said and to whom is not known here.

mod after;
mod body;
mod call;
mod connect;
mod fault;
mod form;
mod socket;
mod transport;
mod words;

pub use after::retry_after;
pub use body::Body;
pub use call::{HttpCall, Reply};
pub use fault::{Phase, Timeouts, WireFault};
pub use form::Form;
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
pub use socket::{Heard, Refusal, Socket, SocketCall, SocketFault, SocketLimits};
pub use transport::{TlsError, Transport};
pub use words::{EXCERPT_CHARS_MAX, excerpt};
