//! The handles: what somebody has of a store who only reads it.

pub(crate) mod agent;
pub(crate) mod boards;
pub(crate) mod daemon;
mod ingress;
mod jobs;
mod memory;
mod outbox;
mod vectors;
