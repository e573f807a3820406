//! The catalogue of tools: their names, groups and declared effects.
//!
//! It says what exists, not who may use it and not how anything runs.

use std::fmt;

/// What a tool does to the world. Policy blocks by effect, so that a new tool or another
/// name for an old one can't slip through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Reads files of the workspace and granted paths.
    ReadFiles,
    /// Changes them.
    WriteFiles,
    /// Starts or steers a program that is checked as a command.
    RunProgram,
    /// Runs code as a black box, whose calls nobody sees beforehand.
    RunCode,
    /// Reaches out to the network.
    Network,
    /// Reads memory.
    Recall,
    /// Writes memory.
    Remember,
    /// Reads past sessions of the same scope.
    ReadHistory,
    /// Reads skills.
    ReadSkills,
    /// Puts a question to the person in the conversation.
    AskUser,
    /// Starts children.
    Delegate,
    /// Says something outside of the conversation.
    Send,
    /// Arranges for turns that nobody asked for at that time.
    Schedule,
    /// Changes the agent itself.
    ChangeSelf,
    /// Changes a shared board.
    Board,
    /// Reads a shared board.
    ReadBoard,
    /// Keeps notes about the work at hand.
    Plan,
    /// Looks for tools whose description was held back.
    FindTools,
    /// Makes or interprets images, sound or video.
    Media,
}

impl Effect {
    /// Whether it only looks: doing it again changes nothing that doing it once did not.
    pub const fn only_looks(self) -> bool {
        match self {
            Self::ReadFiles
            | Self::Recall
            | Self::ReadHistory
            | Self::ReadSkills
            | Self::ReadBoard
            | Self::FindTools => true,
            // What is asked of a network is told to it, each time.
            Self::Network
            | Self::WriteFiles
            | Self::RunProgram
            | Self::RunCode
            | Self::Remember
            | Self::AskUser
            | Self::Delegate
            | Self::Send
            | Self::Schedule
            | Self::ChangeSelf
            | Self::Board
            | Self::Plan
            | Self::Media => false,
        }
    }

    /// What the effect is, as the end of "it can …".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadFiles => "read files",
            Self::WriteFiles => "write files",
            Self::RunProgram => "run programs",
            Self::RunCode => "run code as a black box",
            Self::Network => "reach the network",
            Self::Recall => "recall",
            Self::Remember => "remember",
            Self::ReadHistory => "read past sessions",
            Self::ReadSkills => "read skills",
            Self::AskUser => "ask the user",
            Self::Delegate => "delegate",
            Self::Send => "send",
            Self::Schedule => "schedule",
            Self::ChangeSelf => "change the agent itself",
            Self::Board => "change a board",
            Self::ReadBoard => "read a board",
            Self::Plan => "plan",
            Self::FindTools => "find tools",
            Self::Media => "make or read media",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Tools that are allowed or denied together, as `group:<name>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Reading and writing files.
    Files,
    /// Programs and code.
    Shell,
    /// Search and pages.
    Web,
    /// Memory.
    Memory,
    /// Skills.
    Skills,
    /// Past sessions.
    Sessions,
    /// Speaking elsewhere.
    Messaging,
    /// Boards.
    Boards,
    /// Scheduled turns.
    Automation,
    /// Children.
    Agents,
    /// Lists and questions.
    Planning,
    /// Every tool of every MCP server, and the search for them.
    Mcp,
    /// Images, sound, video, browsing by sight.
    Media,
}

impl Group {
    /// Every group.
    pub const ALL: [Self; 13] = [
        Self::Files,
        Self::Shell,
        Self::Web,
        Self::Memory,
        Self::Skills,
        Self::Sessions,
        Self::Messaging,
        Self::Boards,
        Self::Automation,
        Self::Agents,
        Self::Planning,
        Self::Mcp,
        Self::Media,
    ];

    /// The selector that names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "group:files",
            Self::Shell => "group:shell",
            Self::Web => "group:web",
            Self::Memory => "group:memory",
            Self::Skills => "group:skills",
            Self::Sessions => "group:sessions",
            Self::Messaging => "group:messaging",
            Self::Boards => "group:boards",
            Self::Automation => "group:automation",
            Self::Agents => "group:agents",
            Self::Planning => "group:planning",
            Self::Mcp => "group:mcp",
            Self::Media => "group:media",
        }
    }

    /// Finds a group by its selector or by the name another runtime has for it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "group:fs" => Some(Self::Files),
            "group:runtime" => Some(Self::Shell),
            "group:kanban" => Some(Self::Boards),
            _ => Self::ALL.into_iter().find(|group| group.as_str() == text),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What it takes to have a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grant {
    /// A profile or a group may include it.
    Profile,
    /// An operator wrote its name.
    ByName,
}

/// Whether there is anything behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Part of this program.
    BuiltIn,
    /// A name that skills and configurations of other runtimes use and nothing here
    /// answers to: known, so that it is not taken for a typo, and never shown to a model.
    Missing(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolSpec {
    /// What models and configurations call it.
    pub name: &'static str,
    /// Which tools it belongs with.
    pub group: Group,
    /// What it does to the world.
    pub effects: &'static [Effect],
    /// What it takes to have it.
    pub grant: Grant,
    /// Whether there is anything behind it.
    pub backend: Backend,
}

impl ToolSpec {
    /// Whether a call of it may be made again when nobody knows how far it came.
    pub fn only_looks(&self) -> bool {
        self.effects.iter().all(|effect| effect.only_looks())
    }

    /// Whether it does any of `effects`.
    pub fn first_of(&self, effects: &[Effect]) -> Option<Effect> {
        self.effects.iter().copied().find(|effect| effects.contains(effect))
    }
}

/// What every MCP tool is taken to do: what a server says about its own tools proves
/// nothing.
pub const MCP_EFFECTS: &[Effect] = &[Effect::Send, Effect::Network];

/// The same where the operator says that a server's tools do not send.
pub const QUIET_MCP_EFFECTS: &[Effect] = &[Effect::Network];

const fn built_in(name: &'static str, group: Group, effects: &'static [Effect]) -> ToolSpec {
    ToolSpec { name, group, effects, grant: Grant::Profile, backend: Backend::BuiltIn }
}

const fn by_name(name: &'static str) -> ToolSpec {
    ToolSpec { grant: Grant::ByName, ..built_in(name, Group::Messaging, &[Effect::Send]) }
}

const fn missing(name: &'static str, why: &'static str) -> ToolSpec {
    ToolSpec { backend: Backend::Missing(why), ..built_in(name, Group::Media, &[Effect::Media]) }
}

const NO_SIGHT: &str = "pictures are shown to models that see";
const NO_VIDEO: &str = "there is no video backend";
const NO_SPEECH: &str = "there is no speech backend";
const NO_MIXTURE: &str = "there is no mixture backend; `delegate_task` runs several models";
const NO_BROWSER: &str = "there is no browser backend; `web_extract` reads pages";

/// Every tool that has a fixed name, sorted by it. Tools of MCP servers are not here: their
/// names are known when a server answers.
pub static CATALOGUE: &[ToolSpec] = &[
    missing("browser_back", NO_BROWSER),
    missing("browser_click", NO_BROWSER),
    missing("browser_close", NO_BROWSER),
    missing("browser_get_images", NO_BROWSER),
    missing("browser_navigate", NO_BROWSER),
    missing("browser_press", NO_BROWSER),
    missing("browser_scroll", NO_BROWSER),
    missing("browser_snapshot", NO_BROWSER),
    missing("browser_type", NO_BROWSER),
    missing("browser_vision", NO_BROWSER),
    built_in("clarify", Group::Planning, &[Effect::AskUser]),
    built_in("cronjob", Group::Automation, &[Effect::Schedule, Effect::ChangeSelf]),
    built_in("delegate_task", Group::Agents, &[Effect::Delegate]),
    built_in("execute_code", Group::Shell, &[Effect::RunCode]),
    by_name("handoff"),
    built_in("image_generate", Group::Media, &[Effect::Media, Effect::Network, Effect::WriteFiles]),
    built_in("kanban_attach", Group::Boards, &[Effect::Board, Effect::ReadFiles]),
    built_in("kanban_block", Group::Boards, &[Effect::Board]),
    built_in("kanban_comment", Group::Boards, &[Effect::Board]),
    built_in("kanban_complete", Group::Boards, &[Effect::Board]),
    built_in("kanban_create", Group::Boards, &[Effect::Board]),
    built_in("kanban_heartbeat", Group::Boards, &[Effect::Board]),
    built_in("kanban_link", Group::Boards, &[Effect::Board]),
    built_in("kanban_list", Group::Boards, &[Effect::ReadBoard]),
    built_in("kanban_show", Group::Boards, &[Effect::ReadBoard]),
    built_in("kanban_unblock", Group::Boards, &[Effect::Board]),
    built_in("memory", Group::Memory, &[Effect::Remember, Effect::Recall]),
    built_in("memory_search", Group::Memory, &[Effect::Recall]),
    by_name("message_agent"),
    missing("mixture_of_agents", NO_MIXTURE),
    by_name("notify"),
    built_in("patch", Group::Files, &[Effect::ReadFiles, Effect::WriteFiles]),
    built_in("process", Group::Shell, &[Effect::RunProgram]),
    built_in("read_file", Group::Files, &[Effect::ReadFiles]),
    built_in("search_files", Group::Files, &[Effect::ReadFiles]),
    by_name("send_message"),
    built_in("session_search", Group::Sessions, &[Effect::ReadHistory]),
    built_in("skill_manage", Group::Skills, &[Effect::ChangeSelf]),
    built_in("skill_view", Group::Skills, &[Effect::ReadSkills]),
    built_in("skills_list", Group::Skills, &[Effect::ReadSkills]),
    built_in("terminal", Group::Shell, &[Effect::RunProgram]),
    missing("text_to_speech", NO_SPEECH),
    built_in("todo", Group::Planning, &[Effect::Plan]),
    built_in("tool_search", Group::Mcp, &[Effect::FindTools]),
    missing("video_generate", NO_VIDEO),
    missing("vision_analyze", NO_SIGHT),
    built_in("web_extract", Group::Web, &[Effect::Network]),
    built_in("web_search", Group::Web, &[Effect::Network]),
    built_in("write_file", Group::Files, &[Effect::WriteFiles]),
];

/// The place of a tool in [`CATALOGUE`].
pub(crate) fn position(name: &str) -> Option<usize> {
    CATALOGUE.binary_search_by(|tool| tool.name.cmp(name)).ok()
}

/// Finds a tool by name.
pub fn find(name: &str) -> Option<&'static ToolSpec> {
    position(name).map(|index| &CATALOGUE[index])
}

/// Every text that selects tools by itself, for suggestions: tools and groups.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    CATALOGUE.iter().map(|tool| tool.name).chain(Group::ALL.into_iter().map(Group::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_sorted_and_every_tool_declares_an_effect() {
        assert!(CATALOGUE.is_sorted_by(|a, b| a.name < b.name));
        for tool in CATALOGUE {
            assert_eq!(find(tool.name), Some(tool));
            assert!(!tool.effects.is_empty(), "{}", tool.name);
            assert!(!tool.name.starts_with("mcp__"), "{}", tool.name);
        }
        assert_eq!(find("terminal2"), None);
    }

    #[test]
    fn what_only_looks_is_named_here() {
        let looking = CATALOGUE.iter().filter(|tool| tool.only_looks());
        let names: Vec<&str> = looking.map(|tool| tool.name).collect();
        let expected = [
            "kanban_list",
            "kanban_show",
            "memory_search",
            "read_file",
            "search_files",
            "session_search",
            "skill_view",
            "skills_list",
            "tool_search",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn groups_are_found_by_their_names_and_aliases() {
        for group in Group::ALL {
            assert_eq!(Group::parse(group.as_str()), Some(group));
        }
        assert_eq!(Group::parse("group:fs"), Some(Group::Files));
        assert_eq!(Group::parse("group:runtime"), Some(Group::Shell));
        assert_eq!(Group::parse("group:kanban"), Some(Group::Boards));
        assert_eq!(Group::parse("files"), None);
    }
}
