//! `kanban_*`: cards of boards that agents share. Which boards and cards there are, and what may be
//! done with them, is decided by whoever made the hand.

use crate::boards::{CardDraft, CardWish};
use crate::mend::Habits;
use crate::{Cleared, Course, Hands, Output, SUBJECT_CHARS_MAX, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Longest text, in characters.
const TEXT_CHARS_MAX: usize = 16_000;
/// Largest file that is attached, in bytes.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A number as models write it: as one or as text.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    Ok(value.and_then(|value| match value {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }))
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let values = Vec::<Value>::deserialize(from)?;
    Ok(values
        .into_iter()
        .map(|value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        })
        .collect())
}

fn bounded(what: &str, text: String) -> Result<String, ToolError> {
    let chars = text.chars().count();
    match chars > TEXT_CHARS_MAX {
        true => Err(ToolError::Arguments(format!(
            "`{what}` has {chars} characters; at most {TEXT_CHARS_MAX} are taken"
        ))),
        false => Ok(text),
    }
}

fn subject(arguments: &Value) -> Option<String> {
    let board = arguments.get("board").and_then(Value::as_str);
    let card = arguments.get("task_id").or_else(|| arguments.get("title"))?;
    let card = card.as_str().map_or_else(|| card.to_string(), str::to_owned);
    let named = board.map_or_else(|| card.clone(), |board| format!("{board}/{card}"));
    Some(named.chars().take(SUBJECT_CHARS_MAX).collect())
}

/// Declares a tool: its name, what models are told, and what its arguments wish for.
macro_rules! tool {
    ($(#[$doc:meta])* $type:ident, $name:literal, $about:literal, $schema:literal, $course:expr, $given:ident {$($(#[$attribute:meta])* $field:ident: $kind:ty),* $(,)?}, $wish:expr) => {
        $(#[$doc])*
        pub struct $type;

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $given {
            board: Option<String>,
            $($(#[$attribute])* $field: $kind,)*
        }

        #[async_trait]
        impl Tool for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn description(&self) -> &'static str {
                $about
            }

            fn parameters(&self) -> &'static str {
                $schema
            }

            fn subject(&self, arguments: &Value) -> Option<String> {
                subject(arguments)
            }

            /// A card that is named by another name must not become the worker's own.
            fn habits(&self) -> Habits {
                Habits {
                    also_called: &[
                        ("card", "task_id"),
                        ("card_id", "task_id"),
                        ("task", "task_id"),
                        ("id", "task_id"),
                    ],
                    is_exact: true,
                    ..Habits::default()
                }
            }

            fn course(&self) -> Course {
                $course
            }

            /// The hand has told whose words they are.
            fn source(&self, _shown: &str) -> Option<insula_domain::Source> {
                None
            }

            async fn run(&self, hands: &Hands<'_>, call: &Cleared) -> Result<Output, ToolError> {
                let given: $given = arguments(call)?;
                let board = given.board.clone();
                let wish: fn($given) -> Result<CardWish, ToolError> = $wish;
                hands.boards()?.act(board.as_deref(), wish(given)?).await
            }
        }
    };
}

tool!(
    /// Lists cards.
    KanbanList,
    "kanban_list",
    "List cards of a board you may see, archived ones left out.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"status":{"type":"string","enum":["triage","todo","scheduled","ready","running","blocked","review","done","archived"]},"assignee":{"type":"string"}},"additionalProperties":false}"#,
    Course::Glance,
    GivenList { status: Option<String>, assignee: Option<String> },
    |it| Ok(CardWish::List { status: it.status, assignee: it.assignee })
);

tool!(
    /// Shows a card.
    KanbanShow,
    "kanban_show",
    "Show a card with its comments, files and history; without task_id the one you work on. With file, what is in that file.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"task_id":{"type":"string"},"file":{"type":"string","description":"hash of a file of it"}},"additionalProperties":false}"#,
    Course::Glance,
    GivenShow { #[serde(default, deserialize_with = "number")] task_id: Option<String>, file: Option<String> },
    |it| Ok(CardWish::Show { card: it.task_id, file: it.file })
);

tool!(
    /// Adds a card.
    KanbanCreate,
    "kanban_create",
    "Add a card. assignee is an agent or a kind of work of the board; parents are cards that must be done first; reviewer looks at it before it is done. Say all that is needed in body: who does it sees the card alone. While you work on a card, what you add is a part of it.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"title":{"type":"string"},"body":{"type":"string"},"assignee":{"type":"string"},"reviewer":{"type":"string"},"parents":{"type":"array","items":{"type":"string"}},"priority":{"type":"integer"},"labels":{"type":"array","items":{"type":"string"}},"start":{"type":"string"},"due":{"type":"string","description":"such as 2026-12-01T08:30:00Z"}},"required":["title"],"additionalProperties":false}"#,
    Course::Journalled,
    GivenCreate {
        title: String,
        #[serde(default)] body: String,
        assignee: Option<String>,
        reviewer: Option<String>,
        #[serde(default, deserialize_with = "numbers")] parents: Vec<String>,
        #[serde(default)] priority: i32,
        #[serde(default)] labels: Vec<String>,
        start: Option<String>,
        due: Option<String>,
    },
    |it| {
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(CardWish::Create(Box::new(CardDraft {
            title: it.title,
            body: bounded("body", it.body)?,
            assignee: filled(it.assignee),
            reviewer: filled(it.reviewer),
            priority: it.priority,
            labels: it.labels,
            parents: it.parents,
            start: filled(it.start),
            due: filled(it.due),
        })))
    }
);

tool!(
    /// Says something on a card.
    KanbanComment,
    "kanban_comment",
    "Say something on a card, for whoever works on it or reads it.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"task_id":{"type":"string"},"text":{"type":"string"}},"required":["text"],"additionalProperties":false}"#,
    Course::Once,
    GivenComment { #[serde(default, deserialize_with = "number")] task_id: Option<String>, text: String },
    |it| Ok(CardWish::Comment { card: it.task_id, text: bounded("text", it.text)? })
);

tool!(
    /// Has a card wait for another.
    KanbanLink,
    "kanban_link",
    "Have the card child_id wait until the card parent_id is done.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"parent_id":{"type":"string"},"child_id":{"type":"string"}},"required":["parent_id","child_id"],"additionalProperties":false}"#,
    Course::Once,
    GivenLink {
        #[serde(default, deserialize_with = "number")] parent_id: Option<String>,
        #[serde(default, deserialize_with = "number")] child_id: Option<String>,
    },
    |it| match (it.child_id, it.parent_id) {
        (Some(card), Some(needs)) => Ok(CardWish::Link { card, needs }),
        _ => Err(ToolError::Arguments("give `parent_id` and `child_id`".to_owned())),
    }
);

tool!(
    /// Ends a card.
    KanbanComplete,
    "kanban_complete",
    "The card you work on is done: say what came of it, in full, for whoever asked. In a review: it is good.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"task_id":{"type":"string"},"result":{"type":"string"}},"required":["result"],"additionalProperties":false}"#,
    Course::Once,
    GivenComplete { #[serde(default, deserialize_with = "number")] task_id: Option<String>, #[serde(alias = "summary")] result: String },
    |it| Ok(CardWish::Complete { card: it.task_id, result: bounded("result", it.result)? })
);

tool!(
    /// Says that a card can't go on.
    KanbanBlock,
    "kanban_block",
    "The card you work on can't go on. kind: needs_input (a person has to say something), capability (you can't do it), dependency (its parts or other cards come first; it comes back to you when they are done), transient (try later). In a review: it is not done, and reason says what is missing.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"task_id":{"type":"string"},"kind":{"type":"string","enum":["dependency","needs_input","capability","transient"]},"reason":{"type":"string"}},"required":["reason"],"additionalProperties":false}"#,
    Course::Once,
    GivenBlock { #[serde(default, deserialize_with = "number")] task_id: Option<String>, kind: Option<String>, reason: String },
    |it| {
        let kind = it.kind.unwrap_or_else(|| "needs_input".to_owned());
        Ok(CardWish::Block { card: it.task_id, kind, why: bounded("reason", it.reason)? })
    }
);

tool!(
    /// Says that a card can go on.
    KanbanUnblock,
    "kanban_unblock",
    "A blocked card that you asked for can go on.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"task_id":{"type":"string"}},"required":["task_id"],"additionalProperties":false}"#,
    Course::Once,
    GivenUnblock { #[serde(default, deserialize_with = "number")] task_id: Option<String> },
    |it| {
        let card = it.task_id.ok_or_else(|| ToolError::Arguments("give `task_id`".to_owned()))?;
        Ok(CardWish::Unblock { card })
    }
);

tool!(
    /// Tells how far the work is.
    KanbanHeartbeat,
    "kanban_heartbeat",
    "Tell how far you are with the card you work on. It stays yours while you work, with or without this.",
    r#"{"type":"object","properties":{"board":{"type":"string"},"note":{"type":"string"}},"additionalProperties":false}"#,
    Course::Once,
    GivenHeartbeat { note: Option<String> },
    |it| Ok(CardWish::Heartbeat { note: it.note })
);

/// Puts a file on a card.
pub struct KanbanAttach;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenAttach {
    board: Option<String>,
    #[serde(default, deserialize_with = "number")]
    task_id: Option<String>,
    path: String,
}

#[async_trait]
impl Tool for KanbanAttach {
    fn name(&self) -> &'static str {
        "kanban_attach"
    }

    fn description(&self) -> &'static str {
        "Put a file of your workspace on a card, at most 1 MiB."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"board":{"type":"string"},"task_id":{"type":"string"},"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        crate::path_argument(arguments)
    }

    async fn run(&self, hands: &Hands<'_>, call: &Cleared) -> Result<Output, ToolError> {
        let given: GivenAttach = arguments(call)?;
        let path = given.path.clone();
        let load = move |access: &crate::files::FileAccess| {
            access.load(&path).map(|(_, loaded)| loaded.bytes)
        };
        let bytes = hands.files()?.work(move |access, _| load(access)).await?;
        if bytes.len() > FILE_BYTES_MAX {
            let what = format!("the file has {} bytes; at most 1 MiB is taken", bytes.len());
            return Err(ToolError::Arguments(what));
        }
        let name = given.path.rsplit('/').next().unwrap_or(&given.path).to_owned();
        let wish = CardWish::Attach { card: given.task_id, name, bytes: bytes.to_vec() };
        hands.boards()?.act(given.board.as_deref(), wish).await
    }
}
