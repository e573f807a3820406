//! The puppet that obeys: it performs the calls it is told, benign ones and the attacker's.

use super::{Act, Call, Script};
use serde_json::Value;

/// Makes these calls, all in one answer, and says `done`.
pub fn at_once(calls: Vec<Call>) -> Script {
    Script::steps(vec![Act::Call(calls)])
}

/// Makes these calls one after the other.
pub fn in_turn(calls: Vec<Call>) -> Script {
    Script::steps(calls.into_iter().map(|call| Act::Call(vec![call])).collect())
}

/// Makes one call.
pub fn one(tool: &str, arguments: Value) -> Script {
    at_once(vec![Call::new(tool, arguments)])
}
