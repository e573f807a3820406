//! The keys of a board.

use super::way_in::BUDGET;
use crate::rules;
use crate::shape::{Field, Object, Shape, Shape::*};
use insula_domain::BoardRights;

static RIGHT: Shape = Choice(&["see", "add", "claim", "review", "administer"]);
static RIGHTS: [Shape; 2] = [Choice(&BoardRights::ROLE_NAMES), List(&RIGHT)];
static RIGHTS_FORMS: Shape = Forms(&RIGHTS);
static AN_AGENT: Shape = Text(&rules::AGENT);
static AGENTS: [Shape; 2] = [List(&AN_AGENT), Map { keys: &rules::AGENT, values: &RIGHTS_FORMS }];

/// `boards.<name>`.
pub static BOARD: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "agents",
            Forms(&AGENTS),
            "What agents may do on it: by agent `see`, `add`, `work`, `review`, `manage`, or a list of `see`, `add`, `claim`, `review`, `administer`. A list of agents lets each of them `work`.",
        )
        .default("nobody"),
        Field::new(
            "people",
            Map { keys: &rules::IDENTITY, values: &RIGHTS_FORMS },
            "The same for people and bearers of tokens, such as `telegram:12345` or `api:ID`.",
        )
        .default("nobody but the command line"),
        Field::new("description", Text(&rules::TEXT), "What it is for."),
        Field::new(
            "kinds",
            Map { keys: &rules::NAME, values: &List(&AN_AGENT) },
            "Kinds of work that a card can be assigned to, and the agents that do each.",
        ),
        Field::new(
            "review",
            Text(&rules::NAME),
            "Who looks at cards that do not say: an agent that may `review`, or `person`.",
        )
        .default("nobody"),
        Field::new(
            "max_running",
            Integer { min: 0, max: 1_000 },
            "How many of its cards agents work on at once.",
        )
        .default("8"),
        Field::new(
            "max_running_per_agent",
            Integer { min: 0, max: 1_000 },
            "How many of them one agent does.",
        )
        .default("2"),
        Field::new(
            "lease",
            Text(&rules::DURATION),
            "For how long whoever took a card has it without a sign of life.",
        )
        .default("`15m`"),
        Field::new("timeout", Text(&rules::DURATION), "How long an agent may work on a card.")
            .default("`1h`"),
        Field::new(
            "attempts",
            Integer { min: 1, max: 100 },
            "How often in a row a card may fail before it is blocked.",
        )
        .default("2"),
        Field::new(
            "reworks",
            Integer { min: 0, max: 100 },
            "How often a card may come back from review before it is blocked.",
        )
        .default("3"),
        Field::new(
            "max_depth",
            Integer { min: 0, max: 10 },
            "How far down cards may be split by whoever works on them.",
        )
        .default("2"),
        Field::new(
            "max_parts",
            Integer { min: 0, max: 100 },
            "Into how many cards one may be split.",
        )
        .default("10"),
        BUDGET,
    ],
};
