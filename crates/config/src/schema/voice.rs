//! The keys of hearing and speaking.

use crate::rules;
use crate::shape::{Field, Object, Shape::*};

pub(super) static VOICE: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "hear",
            Object(&HEAR),
            "Who writes down what voice memos say: a model or a program.",
        )
        .default("nobody: the agent is told that there was one"),
        Field::new("speak", Object(&SPEAK), "Who says its answers: a model or a program.")
            .default("nobody"),
        Field::new(
            "reply",
            Choice(&["never", "same", "always"]),
            "When it answers by voice, beside the words; `same` where it was spoken to.",
        )
        .default("`never`"),
    ],
};

static HEAR: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "model",
            Text(&rules::MODEL),
            "`provider/name`, of a provider of kind `openai`: `POST audio/transcriptions` below its `base_url`.",
        ),
        API_KEY,
        Field::new(
            "command",
            Text(&rules::LINE),
            "A program instead, in the agent's sandbox: `{file}` is where the memo is, what it prints is what was said.",
        ),
        Field::new("language", Text(&rules::LINE), "What is spoken, such as `en`.")
            .default("whoever hears finds out"),
        Field::new("price", Amount, "What a minute costs, in US dollars.").default(BY_TOKENS),
        Field::new("longest", Text(&rules::DURATION), "The longest memo that is written down.")
            .default("`10m`"),
        TIMEOUT,
    ],
};

static SPEAK: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "model",
            Text(&rules::MODEL),
            "`provider/name`, of a provider of kind `openai`: `POST audio/speech` below its `base_url`.",
        ),
        API_KEY,
        Field::new(
            "command",
            Text(&rules::LINE),
            "A program instead, in the agent's sandbox: it reads the words and prints the sound.",
        ),
        Field::new("voice", Text(&rules::LINE), "Whose voice, in the provider's words.")
            .default("the provider's own"),
        Field::new(
            "format",
            Text(&rules::LINE),
            "What is asked for, in the provider's words. Most platforms show Opus alone as a voice memo.",
        )
        .default("`opus`"),
        Field::new("price", Amount, "What 1,000 characters cost, in US dollars.")
            .default(BY_TOKENS),
        Field::new(
            "longest",
            Integer { min: 1, max: 100_000 },
            "The longest answer that is said, in characters; longer ones are only written.",
        )
        .default("4000"),
        TIMEOUT,
    ],
};

const BY_TOKENS: &str = "by its tokens, and `prices` of its model";

const API_KEY: Field = Field::new(
    "api_key",
    Text(&rules::LINE),
    "`${secret:NAME}`, in the agent's namespace; sent instead of the provider's own key.",
)
.default("the provider's own");

const TIMEOUT: Field =
    Field::new("timeout", Text(&rules::DURATION), "How long it is waited for.").default("`2m`");
