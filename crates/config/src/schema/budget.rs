//! The keys of budgets: of an agent, of all agents, and of whoever comes by a way.

use crate::shape::{Field, Object, Shape::*};

/// Limits on what an agent spends. A day begins at midnight UTC.
pub static BUDGET: Object = Object {
    required: &[],
    fields: &[
        USD,
        TOKENS,
        TURNS,
        Field::new("per_context", Object(&BUDGET_PART), "The same in each memory scope."),
        PER_USER,
    ],
};

/// Limits on what all agents together spend.
pub static DAEMON_BUDGET: Object =
    Object { required: &[], fields: &[USD, TOKENS, TURNS, PER_USER] };

const PER_USER: Field =
    Field::new("per_user", Object(&BUDGET_PART), "The same for each person who talks.")
        .aliases(&["per_principal"]);

pub static BUDGET_PART: Object = Object { required: &[], fields: &[USD, TOKENS, TURNS] };

const USD: Field = Field::new(
    "usd_per_day",
    Amount,
    "Money in a day, which begins at midnight UTC. Every model needs a price; see `prices`.",
)
.default("no limit");
const TOKENS: Field = Field::new(
    "tokens_per_day",
    Integer { min: 0, max: i64::MAX },
    "Tokens in a day, sent and received.",
)
.default("no limit");
const TURNS: Field =
    Field::new("turns_per_minute", Integer { min: 0, max: 1_000_000 }, "Turns in any minute.")
        .default("no limit");
