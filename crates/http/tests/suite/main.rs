//! The surface over HTTP, without a daemon around it.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod hooks;
mod rule_10;
