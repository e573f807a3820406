//! The keys of `sessions` and `group`: how conversations are kept apart, and how an agent behaves
//! among several people.

use crate::rules;
use crate::shape::{Field, Object, Shape::*};

pub(super) static SESSIONS: Object = Object {
    required: &[],
    fields: &[
        Field::new("dm", Choice(&["per_user", "shared"]), "In direct messages: each person's own, or one for everyone who writes to the agent directly at one account.")
            .default("`per_user`"),
        Field::new("group", Choice(&["per_chat", "per_user"]), "In groups.").default("`per_chat`"),
        Field::new(
            "search",
            Choice(&["here", "agent"]),
            "What `session_search` looks through: what was said in the scope it is asked in, or every conversation of the agent, whoever had it.",
        )
        .default("`here`"),
        Field::new(
            "burst",
            Text(&rules::DURATION),
            "How long a message that seems to go on waits for the rest of it; `0s` for not at all.",
        )
        .default("`400ms`"),
        Field::new(
            "quiet",
            Text(&rules::DURATION),
            "How long an answer waits for more from the same person, so that what they say in one breath is answered as one; `0s` for not at all.",
        )
        .default("`300ms`"),
        Field::new(
            "busy",
            Choice(&["queue", "steer", "interrupt"]),
            "What a message on a platform does that comes while a turn of the same person runs: wait for its own, join it, or stop it and get the next.",
        )
        .default("`queue`"),
        Field::new(
            "reactions",
            Bool,
            "Whether it is told of reactions to its messages, as context for what it says next. A thumb up or down of an admin on a question answers that in any case.",
        ),
        Field::new(
            "keep",
            Text(&rules::DURATION),
            "How long a conversation is kept in which nothing happens: `1d` to `3650d`. After that it is forgotten, with what was sent along in it; its audit records stay. For ever, where nobody says so.",
        ),
        Field::new(
            "reset",
            Forms(&[Choice(&["never"]), Object(&RESET)]),
            "When a conversation starts afresh.",
        )
        .default("`never`"),
    ],
};

static RESET: Object = Object {
    required: &[],
    fields: &[
        Field::new("idle", Text(&rules::DURATION), "After this long without a message."),
        Field::new(
            "daily",
            Text(&rules::TIME_OF_DAY),
            "Every day at this time, in its `timezone`.",
        ),
    ],
};

pub(super) static GROUP: Object = Object {
    required: &[],
    fields: &[
        Field::new("respond", Choice(&["mention", "all", "never"]), "When it answers.")
            .default("`mention`"),
        Field::new("observe", Bool, "Whether it reads along without answering.").default("false"),
        Field::new("invites", Bool, "Whether allowed people may add it to groups.").default("true"),
        Field::new(
            "threads",
            Bool,
            "With `respond: mention`: whether what is said in a thread or topic where it has answered is said to it, without a mention.",
        )
        .default("false"),
    ],
};
