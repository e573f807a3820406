//! The runtime from outside: turns, budgets, generations, secrets.
//!
//! One program for all of them: a link a crate is what two cores have time for.

mod budgets;
mod generations;
mod one_off;
mod secrets;
mod turns;
