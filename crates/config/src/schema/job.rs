//! The keys of what an agent does by the clock: `cron`, `heartbeat` and `boot`.

use super::way_in::{BUDGET, MODEL, TOOLS};
use crate::rules;
use crate::shape::{Field, Object, Shape::*};
use insula_schedule::{Missed, Overlap};

const PROMPT: Field = Field::new("prompt", Text(&rules::TEXT), "What the agent is told then.");
const DELIVER: Field = Field::new(
    "deliver",
    Text(&rules::DELIVER),
    "Where the reply goes: `none`, `origin` (where the job was made), `agent` (its home chat), or `platform:account:chat[:topic]` out of `send.to`.",
);
const SCOPE: Field = Field::new(
    "scope",
    Text(&rules::JOB_SCOPE),
    "Whose memory it has: `job` (its own), `chat` (that of the chat it was made in), a context such as `chat:telegram:main:-100123`, or `global`.",
)
.default("`job`");
const APPROVALS: Field = Field::new(
    "approvals",
    Choice(&["ask", "deny"]),
    "What becomes of what needs an approval: admins are asked and it waits, or it is refused.",
)
.default("`ask`");
const TIMEOUT: Field =
    Field::new("timeout", Text(&rules::DURATION), "How long a run may take.").default("`30m`");
const ACTIVE_HOURS: Field = Field::new(
    "active_hours",
    Text(&rules::HOURS),
    "The hours in which it runs, such as `08:00-22:00`.",
)
.default("all day");
const PAUSE_AFTER: Field = Field::new(
    "pause_after",
    Integer { min: 1, max: 1_000 },
    "How many failures in a row pause it.",
)
.default("5");
const ENABLED: Field = Field::new("enabled", Bool, "Whether it runs.").default("true");

/// A job, in `cron.<name>`, and what is added while the daemon runs.
pub static JOB: Object = Object {
    required: &["schedule"],
    fields: &[
        Field::new(
            "schedule",
            Text(&rules::SCHEDULE),
            "When: `every 2h`, five fields of cron, `@daily`, a time such as `2026-12-01T08:30`, or words such as `every weekday at 8:30`.",
        ),
        PROMPT,
        Field::new(
            "script",
            Text(&rules::TEXT),
            "A shell script that runs before the model, in the sandbox. What it prints follows the prompt; where it prints nothing, nothing is asked.",
        ),
        Field::new("timezone", Text(&rules::ZONE), "By which clocks.").default("the agent's"),
        DELIVER.default("`origin` where somebody made it in a chat, else `none`"),
        SCOPE,
        TOOLS,
        BUDGET,
        MODEL,
        APPROVALS,
        TIMEOUT,
        Field::new(
            "missed",
            Choice(&Missed::NAMES),
            "What becomes of runs whose time passed while nobody was there: nothing, one run for all, or each (24 at most).",
        )
        .default("`once`"),
        Field::new(
            "overlap",
            Choice(&Overlap::NAMES),
            "What becomes of a run while the one before still runs: it is left out, or waits.",
        )
        .default("`skip`"),
        Field::new(
            "jitter",
            Text(&rules::DURATION),
            "Each run is moved by up to this much, always the same for the same run.",
        )
        .default("`0s`"),
        Field::new("until", Text(&rules::MOMENT), "The last moment at which it may run."),
        Field::new("count", Integer { min: 1, max: 1_000_000 }, "How often it runs."),
        ACTIVE_HOURS,
        PAUSE_AFTER,
        ENABLED,
    ],
};

/// `heartbeat`.
pub static HEARTBEAT: Object = Object {
    required: &["every"],
    fields: &[
        Field::new("every", Text(&rules::DURATION), "How often; a minute at least."),
        PROMPT.default("look around, and say `[SILENT]` where nothing is worth saying"),
        ACTIVE_HOURS,
        DELIVER.default("`none`"),
        SCOPE,
        TOOLS,
        BUDGET,
        MODEL,
        APPROVALS,
        TIMEOUT,
        PAUSE_AFTER,
        ENABLED,
    ],
};

/// `boot`.
pub static BOOT: Object = Object {
    required: &["prompt"],
    fields: &[
        PROMPT,
        DELIVER.default("`none`"),
        SCOPE,
        TOOLS,
        BUDGET,
        MODEL,
        APPROVALS,
        TIMEOUT,
        ENABLED,
    ],
};
