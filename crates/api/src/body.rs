//! How long the bodies of requests may be, and take.

use std::time::Duration;

/// The longest body: some images, and more text than any model reads.
pub const BODY_LEN_MAX: usize = 16 * 1024 * 1024;

/// How long the body of a request may take after its head: enough for the longest at 300 KB a
/// second.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(60);

/// The body of a request took too long.
#[derive(Debug, thiserror::Error)]
#[error("the body took longer than {} s", BODY_TIME_MAX.as_secs())]
pub struct TooSlow;
