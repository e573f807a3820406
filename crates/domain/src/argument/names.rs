//! What the built-in tools call their arguments, so that a rule about an argument that no tool
//! has is found when it is written. A test beside the tools compares.

/// The tools and their arguments, by name.
const NAMES: &[(&str, &[&str])] = &[
    ("clarify", &["choices", "question"]),
    ("delegate_task", &["context", "goal", "max_tokens", "model", "role", "tasks", "tools"]),
    ("execute_code", &["code", "language", "timeout"]),
    ("handoff", &["agent", "summary"]),
    ("image_generate", &["path", "prompt", "size"]),
    ("memory", &["action", "content", "old_text", "operations", "scope", "target"]),
    ("memory_search", &["limit", "query"]),
    ("message_agent", &["agent", "message"]),
    ("notify", &["agent", "message"]),
    ("patch", &["mode", "new_string", "old_string", "patch", "path", "replace_all"]),
    ("process", &["action", "data", "limit", "offset", "session_id", "timeout"]),
    ("read_file", &["limit", "offset", "path"]),
    (
        "search_files",
        &["context", "file_glob", "limit", "offset", "output_mode", "path", "pattern", "target"],
    ),
    (
        "session_search",
        &["around_message_id", "limit", "query", "role_filter", "session_id", "sort", "window"],
    ),
    (
        "skill_manage",
        &[
            "action",
            "category",
            "content",
            "file_path",
            "file_text",
            "name",
            "new_string",
            "old_string",
        ],
    ),
    ("skill_view", &["file_path", "name", "offset"]),
    ("skills_list", &["category"]),
    ("terminal", &["background", "command", "timeout", "workdir"]),
    ("todo", &["merge", "todos"]),
    ("tool_search", &["query"]),
    ("web_extract", &["char_limit", "urls"]),
    ("web_search", &["limit", "query"]),
    ("write_file", &["append", "content", "path"]),
];

/// What a tool calls its arguments; nothing where that is not known here.
pub fn names_of(tool: &str) -> Option<&'static [&'static str]> {
    NAMES.iter().find(|(name, _)| *name == tool).map(|(_, arguments)| *arguments)
}
