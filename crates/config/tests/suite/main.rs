//! Files in, configuration or findings out.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod accounts;
mod argument_rules;
mod common;
mod documents;
mod errors;
mod golden;
mod hooks;
mod hostile;
