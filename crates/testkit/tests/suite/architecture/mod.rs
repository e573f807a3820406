//! The walls between crates: which room may know which, and who may touch the world outside.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests read the sources and run cargo"
)]

mod circles;
mod lints;
mod rooms;
mod shared;
mod sources;
