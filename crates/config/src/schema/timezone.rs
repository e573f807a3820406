//! `timezone`, of an agent and of the daemon.

use crate::rules;
use crate::shape::{Field, Object, Shape::*};
use crate::yaml::{Node, Value};

/// Where an agent is, and where people are.
pub static TIMEZONE: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "zone",
            Text(&rules::ZONE),
            "A zone of the tz database, such as `Europe/Berlin`.",
        )
        .default("`UTC`"),
        Field::new(
            "people",
            Map { keys: &rules::WHO, values: &Text(&rules::ZONE) },
            "Zones of people who are elsewhere: by identity such as `telegram:12345`, or by a name of `access.people`.",
        ),
    ],
};

/// A zone that stands alone is that of the agent.
pub fn zone_alone(node: Node) -> Node {
    match node.value {
        Value::Scalar { .. } => node.under("zone"),
        _ => node,
    }
}
