//! Walls around real programs, and the one way out of them.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod confinement;
mod egress;
mod spare;
