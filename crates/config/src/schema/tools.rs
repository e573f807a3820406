//! The keys of what an agent may use, and of what it may be called with.

use super::one_or_many;
use crate::rules;
use crate::shape::{Field, Object, Shape, Shape::*};
use crate::yaml::{Node, Value};

/// Bounds on calls, by tool.
pub const RULES: Field = Field::new(
    "rules",
    Map { keys: &rules::TOOL, values: &Forms(&[ARGUMENTS, List(&ARGUMENTS)]) },
    "Bounds on the calls of a tool: by argument, `expr` for all of them, `max_calls` and `once` for a turn, or `quarantine: true` to have results read by a model without tools.",
)
.expand(expand_rules);

pub const PROFILES: &[&str] = &["minimal", "messaging", "coding", "full"];

pub static TOOLS: Object = Object {
    required: &[],
    fields: &[
        Field::new("profile", Choice(PROFILES), "Where to start from.")
            .default("`full`, or `allow` alone"),
        Field::new("also_allow", List(&Text(&rules::TOOL)), "Added to the profile.")
            .aliases(&["alsoAllow"]),
        Field::new("allow", List(&Text(&rules::TOOL)), "Nothing but these; `[]` is none."),
        Field::new("deny", List(&Text(&rules::TOOL)), "Never these, whatever else is said."),
        RULES,
    ],
};

const ARGUMENTS: Shape = Map {
    keys: &rules::LINE,
    values: &Forms(&[Text(&rules::EXPRESSION), Bool, List(&Text(&rules::LINE)), Object(&BOUND)]),
};
const PATTERNS: Shape = Forms(&[Text(&rules::TEXT), List(&Text(&rules::TEXT))]);

/// What one argument may be. Everything given must hold.
static BOUND: Object = Object {
    required: &[],
    fields: &[
        Field::new("host", PATTERNS, "A web address at one of these hosts.").expand(one_or_many),
        Field::new("recipient", PATTERNS, "One of these; `*` stands for a part of an address.")
            .expand(one_or_many),
        Field::new("path", PATTERNS, "A path like one of these, with `*` and `**`.")
            .expand(one_or_many),
        Field::new("command", PATTERNS, "A line in which every command begins like one of these.")
            .expand(one_or_many),
        Field::new("prefix", PATTERNS, "A text that begins so; of `terminal`, as `command`.")
            .expand(one_or_many),
        Field::new("one_of", PATTERNS, "One of these values.").expand(one_or_many),
        Field::new("said", Bool, "Whether it must stand in what people said in this turn.")
            .default("false"),
        Field::new("or", PATTERNS, "With `said`: or one of these values.").expand(one_or_many),
        Field::new("links", PATTERNS, "A text whose web addresses are at these hosts; `[]`: none.")
            .expand(one_or_many),
        Field::new("min", Text(&rules::NUMBER), "A number, at least this."),
        Field::new("max", Text(&rules::NUMBER), "A number, at most this."),
        Field::new("optional", Bool, "Whether it may be left out.").default("false"),
    ],
};

/// Each tool's rules as a list, to which other layers add theirs.
fn expand_rules(node: Node) -> Node {
    let Value::Map(entries) = node.value else { return node };
    let entries = entries.into_iter().map(|mut entry| {
        if let Value::Map(_) = entry.value.value {
            let Node { span, layer, .. } = entry.value;
            entry.value = Node { span, layer, value: Value::List(vec![entry.value]) };
        }
        entry
    });
    Node { value: Value::Map(entries.collect()), ..node }
}

pub fn expand_tools(node: Node) -> Node {
    match node.value {
        Value::Scalar { .. } => node.under("profile"),
        Value::List(_) => node.under("allow"),
        Value::Map(_) => node,
    }
}
