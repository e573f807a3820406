//! The keys by which a way in (a binding, an account, a token) takes something away from the
//! agents it leads to.

use super::budget::BUDGET_PART;
use super::tools::{PROFILES, expand_tools};

pub use super::tools::RULES;
use crate::rules;
use crate::shape::{Field, Object, Shape, Shape::*};

pub const TOOLS: Field = Field::new(
    "tools",
    Forms(&TOOL_FORMS),
    "Of the agent's tools, only those of a profile or of this list; or the long form.",
)
.expand(expand_tools);

static A_TOOL: Shape = Text(&rules::TOOL);
static TOOL_FORMS: [Shape; 3] = [Choice(PROFILES), List(&A_TOOL), Object(&FEWER_TOOLS)];
static FEWER_TOOLS: Object = Object {
    required: &[],
    fields: &[
        Field::new("profile", Choice(PROFILES), "Only those of this profile."),
        Field::new("allow", List(&Text(&rules::TOOL)), "Only these; `[]` is none."),
        Field::new("deny", List(&Text(&rules::TOOL)), "Not these."),
    ],
};

pub const BUDGET: Field =
    Field::new("budget", Object(&BUDGET_PART), "What may be spent by this way, by all agents.");

pub const MODEL: Field =
    Field::new("model", Text(&rules::MODEL), "The one model to run on, out of the agent's.");

pub const GROUP: Field = Field::new(
    "group",
    Object(&LESS_IN_GROUPS),
    "How the agent behaves among several people, at most.",
);

static LESS_IN_GROUPS: Object = Object {
    required: &[],
    fields: &[
        Field::new("respond", Choice(&["mention", "all", "never"]), "When it answers, at most."),
        Field::new("observe", Bool, "Whether it may read along without answering."),
        Field::new("invites", Bool, "Whether allowed people may add it to groups."),
        Field::new(
            "threads",
            Bool,
            "Whether what is said in a thread where it has answered may be said to it.",
        ),
    ],
};

/// What a token may take away.
pub static BY_TOKEN: Object = Object { required: &[], fields: &[TOOLS, RULES, BUDGET, MODEL] };
