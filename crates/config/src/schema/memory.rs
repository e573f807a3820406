//! The keys of `memory`: whether and how an agent remembers.

use super::POSITIVE;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};

pub(super) static MEMORY: Object = Object {
    required: &[],
    fields: &[
        Field::new("enabled", Bool, "The switch.").default("true in the long form"),
        Field::new(
            "scope",
            Text(&rules::EXPRESSION),
            "`auto`, `topic`, `chat`, `user`, `global`, or an expression that names a context.",
        )
        .default("`auto`"),
        Field::new(
            "also_read",
            List(&Text(&rules::EXPRESSION)),
            "Expressions that name contexts it reads besides.",
        ),
        Field::new(
            "global_writes",
            Choice(&["deny", "approve", "allow"]),
            "Whether a conversation may write what every other can read.",
        )
        .default("`approve`"),
        Field::new(
            "daily",
            Bool,
            "Whether it also keeps a note for every day in each context, as `2026-11-18.md`; today's and yesterday's are shown to it. Days begin at midnight in its `timezone`.",
        )
        .default("false"),
        Field::new("limits", Object(&MEMORY_LIMITS), "How much one context holds."),
        Field::new(
            "embeddings",
            Object(&EMBEDDINGS),
            "A model by which entries and messages are found by what they mean, beside their words: one of the two.",
        )
        .default("none"),
    ],
};

static EMBEDDINGS: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "model",
            Text(&rules::MODEL),
            "`provider/name`, of a provider of kind `openai` (`POST embeddings`) or `ollama`.",
        ),
        Field::new(
            "path",
            Text(&rules::PATH),
            "A folder with a static model: `model.safetensors` and a `tokenizer.json` of WordPiece.",
        ),
    ],
};

static MEMORY_LIMITS: Object = Object {
    required: &[],
    fields: &[
        Field::new("memory", POSITIVE, "Characters of MEMORY.md.").default("2200"),
        Field::new("user", POSITIVE, "Characters of USER.md.").default("1375"),
        Field::new("daily", POSITIVE, "Characters of one day's note.").default("3000"),
    ],
};
