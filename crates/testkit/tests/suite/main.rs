//! The tests of the tests, and of the structure of the whole.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod architecture;
mod daemon;
mod replay;
