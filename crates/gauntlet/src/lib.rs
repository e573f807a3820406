//! The gauntlet: attacks on a real daemon over its real surfaces, and a scoreboard of what held.
//!
//! It knows nothing of the daemon's insides but what a sentence of its documents says: agents
//! are attacked as a model, a person, a program or a token would attack them, and what happened
//! is read from files, rows, bytes on the wire and the audit, never from an error text alone.

pub mod attempt;
pub mod beside;
pub mod canary;
pub mod dojo;
pub mod ground;
pub mod machine;
pub mod matrix;
pub mod noninterference;
pub mod puppet;
pub mod runner;
pub mod scoreboard;
pub mod sections;
pub mod stage;

/// A number on the command line that has to be at least one: of nothing, nothing is proved.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("it has to be a number, at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
