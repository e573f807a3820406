//! The gauntlet as a program, and its comparison of runs.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod noninterference;
mod program;
