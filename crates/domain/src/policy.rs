//! Tool policy as an operator writes it: profile, also_allow, allow, deny, and what the
//! other settings of the agent make possible. What follows from it is the tool table's.

use crate::selector::Selector;
use crate::tool::{Effect, Grant, Group, ToolSpec};
use std::fmt;

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Switch {
    /// Not so.
    #[default]
    Off,
    /// So.
    On,
}

/// A named set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Lists, questions, past sessions.
    Minimal,
    /// That, and looking things up.
    Messaging,
    /// Files, programs, skills, children.
    Coding,
    /// Whatever the other settings make possible.
    Full,
}

impl Profile {
    /// Every profile, the smallest first.
    pub const ALL: [Self; 4] = [Self::Minimal, Self::Messaging, Self::Coding, Self::Full];

    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Messaging => "messaging",
            Self::Coding => "coding",
            Self::Full => "full",
        }
    }

    /// Finds a profile by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == text)
    }

    /// Whether the profile has the tool. What needs a grant is in none.
    pub fn has(self, tool: &ToolSpec) -> bool {
        let minimal = matches!(tool.name, "clarify" | "todo" | "session_search");
        let more = match self {
            Self::Minimal => false,
            Self::Messaging => {
                matches!(tool.name, "web_search" | "web_extract" | "skills_list" | "skill_view")
            }
            Self::Coding => {
                matches!(tool.group, Group::Files | Group::Shell | Group::Skills)
                    || matches!(tool.name, "web_extract" | "delegate_task")
            }
            Self::Full => true,
        };
        tool.grant == Grant::Profile && (minimal || more)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which tools an operator gives an agent:
/// ((profile ∪ also_allow, or everything without a profile) ∩ allow, if given) − deny.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ToolPolicy {
    /// The set to begin with; everything where absent.
    pub profile: Option<Profile>,
    /// What is added to it.
    pub also_allow: Vec<Selector>,
    /// What is kept of that; empty keeps nothing, absent keeps all.
    pub allow: Option<Vec<Selector>>,
    /// What is taken away, whatever the others say.
    pub deny: Vec<Selector>,
}

/// What the other settings of an agent make possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Possible {
    pub memory: Switch,
    /// A board is granted to it.
    pub boards: Switch,
    /// It has a link by which it asks another agent.
    pub asking: Switch,
    /// It has one by which it tells another agent something.
    pub notifying: Switch,
    /// It may have children.
    pub delegation: Switch,
    /// It has an MCP server.
    pub mcp: Switch,
    /// Its operator named a search of the web.
    pub search: Switch,
    /// Its operator named who makes pictures.
    pub images: Switch,
    /// Its operator named a place that it may send to.
    pub sending: Switch,
}

/// What something beside the operator's policy (a skill, a child's role, a binding) takes
/// away from a tool table. There is no field that could add anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolNarrowing {
    /// Keep only these; absent keeps all, empty keeps nothing.
    pub only: Option<Vec<Selector>>,
    /// Take these away.
    pub without: Vec<Selector>,
    /// Take away whatever does one of these.
    pub without_effects: Vec<Effect>,
    /// Who takes them away, as a person reads it: "skill `deploy`".
    pub by: Box<str>,
}

impl ToolNarrowing {
    /// Takes nothing away yet.
    pub fn by(by: impl Into<Box<str>>) -> Self {
        Self { only: None, without: Vec::new(), without_effects: Vec::new(), by: by.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::CATALOGUE;

    #[test]
    fn a_profile_is_read_by_its_name_and_has_the_tools_of_the_design() {
        let names = ["minimal", "messaging", "coding", "full"];
        assert_eq!(Profile::ALL.map(|it| it.to_string()), names.map(str::to_owned));
        assert_eq!(names.map(Profile::parse), Profile::ALL.map(Some));
        assert_eq!(Profile::parse("Full"), None);
        let has = |profile: Profile| {
            let tools = CATALOGUE.iter().filter(|tool| profile.has(tool)).map(|tool| tool.name);
            tools.collect::<Vec<_>>()
        };
        assert_eq!(has(Profile::Minimal), ["clarify", "session_search", "todo"]);
        assert_eq!(
            has(Profile::Messaging),
            [
                "clarify",
                "session_search",
                "skill_view",
                "skills_list",
                "todo",
                "web_extract",
                "web_search"
            ]
        );
        let coding = has(Profile::Coding);
        assert!(["read_file", "terminal", "delegate_task"].iter().all(|it| coding.contains(it)));
        assert!(["web_search", "memory", "cronjob"].iter().all(|it| !coding.contains(it)));
        let given = CATALOGUE.iter().filter(|tool| tool.grant == Grant::Profile).count();
        assert_eq!(has(Profile::Full).len(), given);
        assert!(!has(Profile::Full).contains(&"send_message"));
    }
}
