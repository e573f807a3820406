//! The keys of an agent that say how long things are kept, and how chats hear of them.

use crate::rules;
use crate::shape::{Field, Object, Shape::*};

/// When a reply quotes what it answers.
pub(super) const QUOTES: &[&str] = &["always", "groups", "never"];

/// When home chats are told.
pub(super) static NOTICES: Object = Object {
    required: &[],
    fields: &[Field::new(
        "quiet",
        Text(&rules::HOURS),
        "Hours in which nothing is said there, in its `timezone`, such as `22:00-07:00`: what happens meanwhile is told in one message after them. An approval that waits is told at once.",
    )
    .default("none")],
};

/// How long audit records are kept, of an agent and of the daemon.
pub(super) static AUDIT: Object = Object {
    required: &[],
    fields: &[Field::new(
        "keep",
        Text(&rules::DURATION),
        "How long records stay: `30d` to `3650d`. Older ones are dropped from the beginning of the chain, and one record says which; what is left still verifies. For ever, where nobody says so.",
    )],
};
