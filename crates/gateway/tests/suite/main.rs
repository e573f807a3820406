//! The gateway from outside: how events come in and how messages go out.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod way_in;
mod way_out;
