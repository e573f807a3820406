//! The adapters from outside: each platform's wire, and what every adapter owes.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod called;
mod conformance;
mod matrix;
mod telegram;
