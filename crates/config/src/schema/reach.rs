//! The keys of `links` and `send`: which agents and places an agent reaches on its own.

use super::budget::BUDGET_PART;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};
use insula_domain::link::LINK_DEPTH_MAX;

pub(super) static LINK: Object = Object {
    required: &["to"],
    fields: &[
        Field::new("to", Text(&rules::AGENT), "The other agent."),
        Field::new(
            "as",
            Choice(&["ask", "notify", "handoff"]),
            "What it may do there: ask and wait for the answer, tell something, or hand a conversation over.",
        )
        .default("`ask`"),
        Field::new("timeout", Text(&rules::DURATION), "How long it waits for an answer.")
            .default("`5m`"),
        Field::new(
            "max_depth",
            Integer { min: 1, max: LINK_DEPTH_MAX as i64 },
            "How many links a question may pass one after the other, this one included.",
        )
        .default("3"),
        Field::new(
            "budget",
            Object(&BUDGET_PART),
            "What the other agent may spend on what comes by this link.",
        ),
        Field::new(
            "carry",
            List(&Text(&rules::FLOW_SOURCE)),
            "What was said at these places may go along although others hear the other agent.",
        )
        .default("nothing"),
    ],
};

/// Where an agent may send, and what.
pub(super) static SEND: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "to",
            List(&Text(&rules::PLACES)),
            "Places it may send to; a chat includes its topics. What it has seen elsewhere stays behind.",
        )
        .default("nowhere"),
        Field::new(
            "flows",
            List(&Object(&FLOW)),
            "What was said in one place and may go to another all the same.",
        )
        .default("none"),
    ],
};

static FLOW: Object = Object {
    required: &["from", "to"],
    fields: &[
        Field::new("from", Text(&rules::FLOW_SOURCE), "Where it was said."),
        Field::new("to", Text(&rules::PLACES), "Where it may go."),
    ],
};
