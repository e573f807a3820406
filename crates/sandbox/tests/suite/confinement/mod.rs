//! What the walls hold, and what goes on inside them, with real processes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests look at the machine from outside the sandbox"
)]

mod arena;
mod attempts;
mod ends;
mod neighbours;
mod ordinary_user;
mod quotas;
mod work;
