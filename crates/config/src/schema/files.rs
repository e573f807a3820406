//! The keys of `workspace` and `files`: where an agent's files live, and which others it reaches.

use crate::rules;
use crate::shape::{Field, Object, Shape::*};
use crate::yaml::{Node, Value};

pub(super) static WORKSPACE: Object = Object {
    required: &[],
    fields: &[
        Field::new("path", Text(&rules::PATH), "Another folder than `agents/<id>/workspace`."),
        Field::new(
            "scope",
            Choice(&["agent", "chat", "topic"]),
            "Whether conversations share one desk.",
        )
        .default("`agent`"),
    ],
};

pub(super) static FILES: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "shared",
            List(&Forms(&[Text(&rules::PATH), Object(&SHARED_PATH)])),
            "Folders outside its workspace.",
        )
        .expand(|node| {
            let Value::List(items) = node.value else { return node };
            let items = items.into_iter().map(|item| match item.value {
                Value::Scalar { .. } => item.under("path"),
                _ => item,
            });
            Node { value: Value::List(items.collect()), ..node }
        }),
        Field::new(
            "stale_writes",
            Choice(&["refuse", "warn"]),
            "What happens to a write over something it has not seen.",
        )
        .default("`refuse`"),
        Field::new("attachments", Text(&rules::SIZE), "Largest attachment that is taken in.")
            .default("`20MB`"),
        Field::new(
            "keep",
            Text(&rules::DURATION),
            "How long what came with messages is kept: `1d` to `3650d`. As long as its conversation, where nobody says so.",
        ),
        Field::new(
            "keep_bytes",
            Text(&rules::SIZE),
            "How much of what came with messages is kept in all; the oldest goes first.",
        )
        .default("no limit"),
    ],
};

static SHARED_PATH: Object = Object {
    required: &["path"],
    fields: &[
        Field::new("path", Text(&rules::PATH), "The folder."),
        Field::new("mode", Choice(&["ro", "rw"]), "Read only, or read and write.").default("`ro`"),
    ],
};
