//! The keys of a policy.

use super::agent::APPROVALS;
use super::hook::{HOOK, HOOK_EVENT};
use super::tools::RULES;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};

/// `policies/<name>/policy.yaml`.
pub static POLICY: Object = Object {
    required: &[],
    fields: &[
        Field::new("description", Text(&rules::TEXT), "What it is for, for people."),
        Field::new(
            "scope",
            Text(&rules::EXPRESSION),
            "Which memory a message has, as `memory.scope`.",
        ),
        Field::new("tools", Object(&TOOLS), "What it takes away from tools."),
        Field::new("approvals", Object(&APPROVALS), "How dangerous acts are confirmed, at least."),
        Field::new(
            "hooks",
            Map { keys: &HOOK_EVENT, values: &List(&Object(&HOOK)) },
            "Asked before the agent's own.",
        ),
    ],
};

static TOOLS: Object = Object {
    required: &[],
    fields: &[
        Field::new("deny", List(&Text(&rules::TOOL)), "Never these, whatever else is said."),
        RULES,
    ],
};
