//! I5, what settings grant: every key of the schema is known here as one whose loss is probed, as
//! one that grants nothing, or as one that is not probed, with the reason.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// It grants something; the probe of this name takes it away.
    Grants(&'static str),
    /// It grants nothing, and why.
    Neutral(&'static str),
    /// It grants something and no probe takes it away yet, and why.
    Unprobed(&'static str),
}

use Key::{Grants, Neutral, Unprobed};

/// Every key of an agent; one with a dot stands for all below it.
pub const KEYS: &[(&str, Key)] = &[
    ("access.admins", Grants("admins")),
    ("access.allow", Grants("access")),
    ("access.people", Grants("access")),
    ("access.unknown", Neutral("what strangers are told")),
    ("access", Grants("access")),
    ("approvals.mode", Grants("approvals")),
    ("approvals", Grants("approvals")),
    ("audit", Neutral("how long records are kept")),
    ("boot", Neutral("a turn at the start, under all that bounds other turns")),
    ("budget", Grants("budget")),
    ("cron", Neutral("turns by the clock, under all that bounds other turns")),
    ("default", Neutral("who answers where nobody is bound; bindings are judged anew")),
    ("description", Neutral("words")),
    ("dmScope", Neutral("another name of sessions.dm")),
    ("dm_scope", Neutral("another name of sessions.dm")),
    ("env", Grants("env")),
    ("files.attachments", Neutral("how much is kept of what came in")),
    ("files.keep", Neutral("how long what came in is kept")),
    ("files.keep_bytes", Neutral("how much of what came in is kept")),
    ("files.stale_writes", Neutral("a guard against oneself")),
    ("files", Grants("files")),
    ("group.invites", Unprobed("joins chats on a platform, before any turn")),
    ("group", Neutral("what is a message to it; judged when it comes")),
    ("group_sessions_per_user", Neutral("another name of sessions.group")),
    ("heartbeat", Neutral("turns by the clock, under all that bounds other turns")),
    ("hooks", Grants("hooks")),
    ("images.quality", Neutral("a choice")),
    ("images.sizes", Neutral("choices")),
    ("images", Grants("images")),
    ("integrity", Grants("integrity")),
    ("isolation", Neutral("one value so far")),
    ("links", Unprobed("a test of turns takes one away while a question waits")),
    ("logs", Neutral("for the operator")),
    ("mcp_servers", Grants("mcp")),
    ("memory.also_read", Unprobed("what a prompt shows is made when its turn begins")),
    ("memory.embeddings", Neutral("how what it may read is found; asked with each search")),
    ("memory.global_writes", Grants("global")),
    (
        "memory.daily",
        Neutral("one more list in each scope; what a prompt shows is made when its turn begins"),
    ),
    ("memory.limits", Neutral("a bound")),
    ("memory.scope", Unprobed("which context a conversation has; made when its turn begins")),
    ("memory", Grants("memory")),
    ("metadata", Neutral("words for hooks")),
    ("model", Neutral("a choice")),
    ("model_choices", Neutral("choices; asked anew with each call of a model")),
    ("name", Neutral("words")),
    ("network.credentials", Grants("credentials")),
    ("network", Grants("network")),
    ("notices", Neutral("when a home chat is told")),
    ("observe_unmentioned_group_messages", Neutral("another name of group.observe")),
    ("personality", Neutral("words")),
    ("policies", Neutral("takes away; its hooks and scope are bound as those keys are")),
    ("providers", Unprobed("whose key pays; tested with servers that note which came")),
    ("quote", Neutral("how replies look")),
    ("sandbox.off", Grants("sandbox")),
    ("sandbox.optional", Unprobed("needs a kernel that lacks a layer")),
    ("sandbox", Neutral("bounds of programs, from their beginning")),
    ("secrets", Grants("env")),
    ("send", Grants("send")),
    ("sessions", Neutral("what is one conversation")),
    ("sharedPaths", Grants("files")),
    ("skills", Grants("skills")),
    ("subagents.approvals", Unprobed("what children are asked about; probed as approvals")),
    ("subagents.max_depth", Grants("subagents")),
    ("subagents.models", Neutral("choices")),
    ("subagents", Grants("subagents")),
    ("timezone", Neutral("what time it is")),
    ("tools.rules", Grants("rules")),
    ("tools", Grants("tools")),
    ("toolsets", Grants("tools")),
    ("voice", Unprobed("memos come by platforms; a test of voice takes people away who are heard")),
    ("web", Grants("search")),
    ("workspace.scope", Unprobed("which folder a conversation has; made when its turn begins")),
    ("workspace", Grants("workspace")),
];

/// Keys at the top that are about more than one agent.
pub const TOP: &[(&str, Key)] = &[
    ("agents", Neutral("each key of an agent stands above")),
    ("api", Unprobed("judged anew with each request")),
    ("approvals", Grants("approvals")),
    ("bindings", Grants("bindings")),
    ("boards", Unprobed("asked anew with each call of a tool; section A and D try it")),
    ("budget", Grants("budget")),
    ("channels", Grants("accounts")),
    ("default_provider", Neutral("a choice")),
    ("defaults", Neutral("as the same key of an agent")),
    ("dmScope", Neutral("as the same key of an agent")),
    ("dm_scope", Neutral("as the same key of an agent")),
    ("gateway", Grants("bindings")),
    ("group_sessions_per_user", Neutral("as the same key of an agent")),
    ("hooks", Grants("hooks")),
    ("listen", Neutral("read at start")),
    ("logging", Neutral("for the operator")),
    ("model", Neutral("a choice")),
    ("observe_unmentioned_group_messages", Neutral("as the same key of an agent")),
    ("prices", Neutral("what budgets count with")),
    ("profile_routes", Grants("bindings")),
    ("providers", Unprobed("which servers models are at; of the whole house")),
    ("sharedPaths", Neutral("as the same key of an agent")),
    ("store", Neutral("read at start")),
    ("subagent", Neutral("another name of subagents")),
    ("subagents", Grants("subagents")),
    ("timezone", Neutral("what time it is")),
    ("toolsets", Neutral("as the same key of an agent")),
    ("version", Neutral("of the file")),
];

/// What is known of a key: itself, or the longest that it stands below.
pub fn known(keys: &[(&str, Key)], key: &str) -> Option<Key> {
    let is_below = |known: &str| key == known || key.starts_with(&format!("{known}."));
    let found = keys.iter().filter(|(known, _)| is_below(known));
    found.max_by_key(|(known, _)| known.len()).map(|(_, it)| *it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_key_counts() {
        assert_eq!(known(KEYS, "tools.rules"), Some(Grants("rules")));
        assert_eq!(known(KEYS, "tools.profile"), Some(Grants("tools")));
        assert_eq!(known(KEYS, "toolsx"), None);
    }
}
