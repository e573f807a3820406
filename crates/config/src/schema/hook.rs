//! The keys of a hook, and when hooks run.

use crate::rules;
use crate::shape::{Field, Object, Problem, Shape::*, TextRule, shorten};
use crate::suggest::nearest;

/// A hook.
pub static HOOK: Object = Object {
    required: &[],
    fields: &[
        Field::new("expr", Text(&rules::EXPRESSION), "An expression that answers."),
        Field::new("command", Text(&rules::LINE), "A program that answers on its standard output."),
        Field::new("http", Text(&rules::URL), "A server that answers."),
        Field::new("matcher", Text(&rules::LINE), "Tools it is asked about, joined by `|`.")
            .default("all"),
        Field::new("timeout", Text(&rules::DURATION), "How long it may take.").default("`5s`"),
        Field::new("on_failure", Choice(&["deny", "allow"]), "What holds when it fails.")
            .default("`deny` for hooks that decide"),
    ],
};

/// When hooks run. The events themselves are in the domain.
pub const HOOK_EVENTS: &[&str] = &[
    "pre_tool_call",
    "post_tool_call",
    "transform_tool_result",
    "transform_terminal_output",
    "pre_llm_call",
    "post_llm_call",
    "transform_llm_output",
    "pre_api_request",
    "post_api_request",
    "api_request_error",
    "pre_verify",
    "on_session_start",
    "on_session_end",
    "on_session_finalize",
    "on_session_reset",
    "subagent_start",
    "subagent_stop",
    "pre_gateway_dispatch",
    "pre_approval_request",
    "post_approval_response",
    "kanban_task_claimed",
    "kanban_task_completed",
    "kanban_task_blocked",
    "memory:scope",
    "memory:read",
    "memory:write",
    "route:select",
    "skill:load",
    "mcp:call",
    "cron:run",
    "agent:lifecycle",
];

/// The name of a hook's event.
pub static HOOK_EVENT: TextRule = TextRule {
    what: "an event",
    pattern: "",
    check: |text| {
        if HOOK_EVENTS.contains(&text) {
            return Ok(());
        }
        let near = nearest(text, HOOK_EVENTS.iter().copied());
        Err(Problem::new(format!("unknown event `{}`", shorten(text))).suggest(near))
    },
};
