//! Hooks: when they are asked, what their answer can do, and what their expressions see. Who
//! asks them and how they answer is above.

use crate::expr::Variable;
use crate::place::PLACE_VARIABLES;
use std::fmt;

/// What the answer of a hook can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookPower {
    /// It can stop what is about to happen. When it fails, that does not happen.
    Decides,
    /// It takes a text and gives another. When it fails, there is no text.
    Transforms,
    /// It hears of what has happened.
    Observes,
}

/// Declares the events.
macro_rules! events {
    ($($variant:ident $name:literal $part:ident $doc:literal,)*) => {
        /// When hooks are asked.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum HookEvent {
            $(#[doc = $doc] $variant,)*
        }

        impl HookEvent {
            /// Every event.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used in configuration and payloads.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What an answer can do.
            pub fn part(self) -> HookPower {
                match self { $(Self::$variant => HookPower::$part,)* }
            }

            /// When it is, for people.
            pub fn when(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

events! {
    PreToolCall "pre_tool_call" Decides "Before a tool is called, after the tool policy.",
    PostToolCall "post_tool_call" Observes "After a tool was called.",
    TransformToolResult "transform_tool_result" Transforms "Before the model sees a result.",
    TransformTerminalOutput "transform_terminal_output" Transforms "The same, for programs.",
    PreLlmCall "pre_llm_call" Decides "Before a turn first asks its model.",
    PostLlmCall "post_llm_call" Observes "After a turn has its reply.",
    TransformLlmOutput "transform_llm_output" Transforms "Before anybody sees the reply.",
    PreApiRequest "pre_api_request" Decides "Before each request to a model.",
    PostApiRequest "post_api_request" Observes "After each answer of a model.",
    ApiRequestError "api_request_error" Observes "After a request to a model failed.",
    PreVerify "pre_verify" Decides "Before a reply is taken for the turn's last word.",
    OnSessionStart "on_session_start" Observes "As a session begins.",
    OnSessionEnd "on_session_end" Observes "After a session ended.",
    OnSessionFinalize "on_session_finalize" Observes "After a session was erased.",
    OnSessionReset "on_session_reset" Observes "After somebody began anew.",
    SubagentStart "subagent_start" Decides "Before a child begins.",
    SubagentStop "subagent_stop" Observes "After a child ended.",
    PreGatewayDispatch "pre_gateway_dispatch" Decides "Before a message goes to its agent.",
    PreApprovalRequest "pre_approval_request" Decides "Before an admin is asked.",
    PostApprovalResponse "post_approval_response" Observes "After an admin answered, or did not.",
    KanbanTaskClaimed "kanban_task_claimed" Observes "After a task was taken.",
    KanbanTaskCompleted "kanban_task_completed" Observes "After a task was done.",
    KanbanTaskBlocked "kanban_task_blocked" Observes "After a task was blocked.",
    MemoryScope "memory:scope" Decides "Before each memory operation: which scope it has.",
    MemoryRead "memory:read" Decides "Before memory is read.",
    MemoryWrite "memory:write" Decides "Before memory is written.",
    RouteSelect "route:select" Decides "Before a route is taken.",
    SkillLoad "skill:load" Decides "Before a skill is shown to the model.",
    McpCall "mcp:call" Decides "Before a tool of an MCP server is called.",
    CronRun "cron:run" Decides "Before a job runs.",
    AgentLifecycle "agent:lifecycle" Observes "After an agent was paused, resumed and the like.",
}

impl HookEvent {
    /// Finds an event by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == text)
    }

    /// A number below 64, each event its own.
    pub fn bit(self) -> u64 {
        1 << (self as u64)
    }

    /// Whether it is about a conversation that there is, or that a message is about to begin,
    /// so that a program can be run where its files are.
    pub fn is_in_conversation(self) -> bool {
        !matches!(
            self,
            Self::AgentLifecycle
                | Self::KanbanTaskClaimed
                | Self::KanbanTaskCompleted
                | Self::KanbanTaskBlocked
                | Self::OnSessionEnd
                | Self::OnSessionFinalize
                | Self::OnSessionReset
        )
    }

    /// Whether it is about a message that nobody has let in yet: a stranger's, perhaps.
    pub fn is_before_the_door(self) -> bool {
        matches!(self, Self::RouteSelect | Self::PreGatewayDispatch)
    }

    /// Whether it is about memory, whose scope may depend on where a message came by.
    pub fn is_about_memory(self) -> bool {
        matches!(self, Self::MemoryScope | Self::MemoryRead | Self::MemoryWrite)
    }

    /// Whether it is about a tool, so that a matcher makes sense.
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolCall
                | Self::PostToolCall
                | Self::TransformToolResult
                | Self::TransformTerminalOutput
                | Self::McpCall
                | Self::PreApprovalRequest
                | Self::PostApprovalResponse
        )
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the expression of a hook may use: the payload, field by field. What an event does not
/// have is null.
pub const VARIABLES: &[Variable] = &{
    let [chat_type, guild, team, parent, roles, person, token] = PLACE_VARIABLES;
    [
        Variable::open("hook_event_name"),
        Variable::open("agent_id"),
        Variable::open("session"),
        Variable::open("session_id"),
        Variable::open("scope"),
        Variable::open("principal"),
        Variable::open("admin"),
        Variable::open("platform"),
        Variable::open("account"),
        Variable::open("channel_id"),
        Variable::open("topic_id"),
        Variable::open("user_id"),
        Variable::open("metadata"),
        Variable::open("operation"),
        Variable::open("tool_name"),
        Variable::open("tool_input"),
        Variable::open("text"),
        Variable::open("extra"),
        Variable::open("GLOBAL"),
        chat_type,
        guild,
        team,
        parent,
        roles,
        person,
        token,
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_name_and_a_bit_of_its_own() {
        let mut seen = 0_u64;
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::parse(event.as_str()), Some(*event));
            assert_eq!(seen & event.bit(), 0);
            seen |= event.bit();
        }
        assert_eq!(HookEvent::ALL.len(), 31);
        assert_eq!(HookEvent::parse("pre_tool"), None);
        assert_eq!(seen.count_ones(), 31);
        assert_eq!(HookEvent::PreToolCall.to_string(), "pre_tool_call");
    }

    #[test]
    fn an_event_is_about_what_its_name_says() {
        let those = |is: fn(HookEvent) -> bool| {
            let those = HookEvent::ALL.iter().filter(|event| is(**event));
            those.map(|event| event.as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(those(HookEvent::is_about_memory), "memory:scope memory:read memory:write");
        let tools = those(HookEvent::is_about_a_tool);
        assert!(tools.contains("pre_tool_call") && tools.contains("mcp:call"), "{tools}");
        assert!(!tools.contains("memory:") && !tools.contains("route:"), "{tools}");
        let outside = those(|event| !event.is_in_conversation());
        assert!(outside.contains("agent:lifecycle") && outside.contains("on_session_reset"));
        assert!(!outside.contains("tool") && !outside.contains("memory"), "{outside}");
        let before = those(HookEvent::is_before_the_door);
        assert_eq!(before, "pre_gateway_dispatch route:select");
    }
}
