//! Keys of other runtimes whose settings have another place here.

use crate::yaml::{MapEntry, Node, Value};
use insula_domain::selector::Selector;

/// A key of another runtime whose setting has another place here.
#[derive(Debug)]
pub struct Moved {
    /// How it is spelled there.
    pub name: &'static str,
    /// Where it belongs here.
    pub to: (&'static str, &'static str),
    /// What its value may be, and what it becomes; `None` for one we do not know.
    pub value: fn(&Node) -> Option<Node>,
    /// What to say when the value is not known.
    pub expected: &'static str,
}

/// Every such key.
pub static MOVED: &[Moved] = &[
    Moved {
        name: "sharedPaths",
        to: ("files", "shared"),
        expected: "a list",
        value: |node| matches!(node.value, Value::List(_)).then(|| node.clone()),
    },
    Moved { name: "dm_scope", to: ("sessions", "dm"), expected: DM_SCOPES, value: dm_scope },
    Moved { name: "dmScope", to: ("sessions", "dm"), expected: DM_SCOPES, value: dm_scope },
    Moved {
        name: "group_sessions_per_user",
        to: ("sessions", "group"),
        expected: "`true` or `false`",
        value: |node| Some(word(node, if node.bool()? { "per_user" } else { "per_chat" })),
    },
    Moved {
        name: "observe_unmentioned_group_messages",
        to: ("group", "observe"),
        expected: "`true` or `false`",
        value: |node| node.bool().map(|_| node.clone()),
    },
];

const DM_SCOPES: &str = "one of `main`, `shared`, `per-peer`, `per-channel-peer`, `per-account-channel-peer`, `per_user`";

/// Who shares a session in direct messages, in words of others.
fn dm_scope(node: &Node) -> Option<Node> {
    match node.text()? {
        "main" | "shared" => Some(word(node, "shared")),
        "per-peer" | "per-channel-peer" | "per-account-channel-peer" | "per_user" => {
            Some(word(node, "per_user"))
        }
        _ => None,
    }
}

fn word(node: &Node, text: &str) -> Node {
    Node { value: Value::Scalar { text: text.into(), plain: true }, ..node.clone() }
}

/// A set of tools of another runtime, and the same tools here. Sets that are named like
/// their one tool are not listed.
const TOOLSETS: &[(&str, &[&str])] = &[
    ("browser", &["group:media"]),
    ("code_execution", &["execute_code"]),
    ("delegation", &["delegate_task"]),
    ("file", &["group:files"]),
    ("files", &["group:files"]),
    ("image_gen", &["image_generate"]),
    ("kanban", &["group:boards"]),
    ("messaging", &["group:messaging"]),
    ("moa", &["mixture_of_agents"]),
    ("search", &["web_search"]),
    ("skills", &["group:skills"]),
    ("terminal", &["terminal", "process"]),
    ("tts", &["text_to_speech"]),
    ("video_gen", &["video_generate"]),
    ("vision", &["vision_analyze"]),
    ("web", &["group:web"]),
];

/// Sets of other runtimes that are profiles here, the widest first: each has the next one in it.
const PROFILES: [(&str, &str); 4] =
    [("all", "full"), ("full", "full"), ("coding", "coding"), ("minimal", "minimal")];

/// A list with a profile in it: that profile, and the rest besides.
fn with_profile(node: &mut Node) {
    let Value::List(items) = &mut node.value else { return };
    let named = |it: &Node, name: &str| it.text() == Some(name);
    let found = PROFILES.iter().find_map(|(theirs, ours)| {
        let item = items.iter().find(|it| named(it, theirs))?;
        Some(word(item, ours))
    });
    let Some(profile) = found else { return };
    let is_set = |it: &Node| !PROFILES.iter().any(|(theirs, _)| named(it, theirs));
    let rest: Vec<Node> = std::mem::take(items).into_iter().filter(is_set).collect();
    let (span, layer) = (node.span, node.layer);
    let entry = |key: &str, value: Node| MapEntry { key: key.into(), key_span: span, value };
    let mut entries = vec![entry("profile", profile)];
    if !rest.is_empty() {
        entries.push(entry("also_allow", Node { span, layer, value: Value::List(rest) }));
    }
    node.value = Value::Map(entries);
}

/// Whether a name in another runtime's `toolsets` means something here.
pub fn is_toolset(name: &str) -> bool {
    TOOLSETS.iter().any(|(set, _)| *set == name)
        || PROFILES.iter().any(|(theirs, _)| *theirs == name)
        || Selector::parse(name).is_ok()
}

/// `toolsets` of other runtimes names sets of tools, not tools.
pub(super) fn translate_toolsets(node: &mut Node) {
    with_profile(node);
    let lists: Vec<&mut Node> = match &mut node.value {
        Value::List(_) => vec![node],
        Value::Map(entries) => entries.iter_mut().map(|entry| &mut entry.value).collect(),
        Value::Scalar { .. } => return,
    };
    for list in lists {
        let Value::List(items) = &mut list.value else { continue };
        *items = std::mem::take(items).into_iter().flat_map(translate_toolset).collect();
    }
}

fn translate_toolset(item: Node) -> Vec<Node> {
    let set = TOOLSETS.iter().find(|(name, _)| item.text() == Some(name));
    match set {
        Some((_, tools)) => tools.iter().map(|tool| word(&item, tool)).collect(),
        None => vec![item],
    }
}
