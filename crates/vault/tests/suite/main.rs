//! Secrets at rest, over real files.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod common;
mod damage;
mod races;
mod rule_02;
mod rule_12;
mod vault;
