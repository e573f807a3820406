//! Every key of the configuration, with its shape and what it is for.

mod agent;
mod binding;
mod board;
mod budget;
mod channel;
mod conversation;
mod daemon;
mod files;
mod hook;
mod job;
mod kept;
mod memory;
mod moved;
mod outside;
mod policy;
mod provider;
mod reach;
mod sandbox;
mod steps;
mod timezone;
mod tools;
mod voice;
mod way_in;

pub use agent::AGENT;
pub use binding::{AGENT_KEYS, BINDING, MATCH};
pub use board::BOARD;
pub use channel::{ACCOUNT, AccountKeys, CONNECTED, EVERY_ACCOUNT};
pub use daemon::TOP;
pub use hook::{HOOK_EVENT, HOOK_EVENTS};
pub use job::JOB;
pub use moved::{MOVED, Moved, is_toolset};
pub use policy::POLICY;
pub use way_in::BY_TOKEN;

use crate::shape::Shape;
use crate::yaml::{Node, Value};

/// A number of things of which there is at least one.
const POSITIVE: Shape = Shape::Integer { min: 1, max: 1_000_000_000 };

/// One value where a list may stand.
fn one_or_many(node: Node) -> Node {
    match node.value {
        Value::Scalar { .. } => {
            Node { span: node.span, layer: node.layer, value: Value::List(vec![node]) }
        }
        _ => node,
    }
}
