//! Selectors: how a policy names tools. A tool, a group, or a pattern of MCP tools.

use crate::tool::{self, Group, ToolSpec};
use std::fmt;

/// What the name of every MCP tool starts with.
const MCP_PREFIX: &str = "mcp__";

/// What stands between the server and the tool in such a name.
const MCP_SEPARATOR: &str = "__";

/// Longest MCP tool name or pattern, in bytes: models accept no longer tool names.
pub const MCP_NAME_BYTES_MAX: usize = 128;

/// One entry of an allow or deny list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Selector {
    /// One tool.
    Tool(&'static ToolSpec),
    /// The tools of a group.
    Group(Group),
    /// Tools of MCP servers.
    Mcp(McpPattern),
}

/// A text that selects no tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownTool {
    /// no tool or group has this name
    #[error("unknown tool `{text}`")]
    Name {
        /// The rejected text.
        text: String,
    },
    /// it looks like an MCP pattern and is not one
    #[error(
        "`{text}` is not a pattern of MCP tools: write `mcp__<server>__<tool>`, with `*` for any run of characters"
    )]
    McpPattern {
        /// The rejected text.
        text: String,
    },
}

impl Selector {
    /// Reads an entry of an allow or deny list.
    pub fn parse(text: &str) -> Result<Self, UnknownTool> {
        if text.starts_with(MCP_PREFIX) {
            return McpPattern::parse(text)
                .map(Self::Mcp)
                .ok_or_else(|| UnknownTool::McpPattern { text: text.to_owned() });
        }
        let tool = tool::find(text).map(Self::Tool);
        tool.or_else(|| Group::parse(text).map(Self::Group))
            .ok_or_else(|| UnknownTool::Name { text: text.to_owned() })
    }

    /// Whether it names this tool, by itself or by its group.
    pub fn covers(&self, tool: &ToolSpec) -> bool {
        match self {
            Self::Tool(named) => named.name == tool.name,
            Self::Group(group) => *group == tool.group,
            Self::Mcp(_) => false,
        }
    }

    /// Whether it names this MCP tool.
    pub fn covers_mcp(&self, name: McpName<'_>) -> bool {
        match self {
            Self::Tool(_) => false,
            Self::Group(group) => *group == Group::Mcp,
            Self::Mcp(pattern) => pattern.covers(name),
        }
    }

    /// Whether it could name any MCP tool at all.
    pub(crate) fn concerns_mcp(&self) -> bool {
        matches!(self, Self::Mcp(_) | Self::Group(Group::Mcp))
    }

    /// Whether it names the tool by its own name.
    pub(crate) fn is_name_of(&self, tool: &ToolSpec) -> bool {
        matches!(self, Self::Tool(named) if named.name == tool.name)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(tool) => f.write_str(tool.name),
            Self::Group(group) => group.fmt(f),
            Self::Mcp(pattern) => pattern.fmt(f),
        }
    }
}

/// The name of one MCP tool, taken apart: `mcp__<server>__<tool>`.
///
/// The server ends at the first `__`, so a server whose name has one in it, or ends in `_`,
/// could pass for another: see [`is_mcp_server_name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct McpName<'a> {
    pub server: &'a str,
    pub tool: &'a str,
}

impl<'a> McpName<'a> {
    /// Takes a tool name apart; `None` when it is not that of an MCP tool.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (server, tool) = name.strip_prefix(MCP_PREFIX)?.split_once(MCP_SEPARATOR)?;
        let plain = |part: &str| !part.is_empty() && part.bytes().all(is_name_byte);
        (name.len() <= MCP_NAME_BYTES_MAX && is_mcp_server_name(server) && plain(tool))
            .then_some(Self { server, tool })
    }
}

impl fmt::Display for McpName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MCP_PREFIX}{}{MCP_SEPARATOR}{}", self.server, self.tool)
    }
}

/// Whether a server may have this name: one that can't be mistaken for another server when
/// it stands in front of a tool.
pub fn is_mcp_server_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(is_name_byte)
        && !text.contains(MCP_SEPARATOR)
        && !text.starts_with('_')
        && !text.ends_with('_')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// A pattern of MCP tools: a server and a tool, each with `*` for any run of characters.
/// `mcp__*` is every tool of every server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct McpPattern {
    server: Box<str>,
    tool: Box<str>,
}

impl McpPattern {
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(MCP_PREFIX)?;
        let (server, tool) = match rest.split_once(MCP_SEPARATOR) {
            Some(parts) => parts,
            // Without a star it would be one name that no tool can have.
            None => (rest.ends_with('*').then_some(rest)?, "*"),
        };
        let part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| is_name_byte(byte) || byte == b'*')
        };
        let fine = text.len() <= MCP_NAME_BYTES_MAX
            && part(server)
            && part(tool)
            && !server.starts_with('_')
            && !server.ends_with('_');
        fine.then(|| Self { server: server.into(), tool: tool.into() })
    }

    /// The server, where the pattern names one and not several.
    pub fn server(&self) -> Option<&str> {
        (!self.server.contains('*')).then_some(&*self.server)
    }

    /// How many characters of a name it fixes: the more, the closer it names a tool.
    pub(crate) fn fixed_len(&self) -> usize {
        let fixed = |part: &str| part.bytes().filter(|byte| *byte != b'*').count();
        fixed(&self.server) + fixed(&self.tool)
    }

    /// Whether the tool is one of these.
    pub fn covers(&self, name: McpName<'_>) -> bool {
        is_like(&self.server, name.server) && is_like(&self.tool, name.tool)
    }
}

impl fmt::Display for McpPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tool } = self;
        if &**tool == "*" && server.ends_with('*') {
            return write!(f, "{MCP_PREFIX}{server}");
        }
        write!(f, "{MCP_PREFIX}{server}{MCP_SEPARATOR}{tool}")
    }
}

/// Whether a text is like a pattern with `*` for any run of characters.
pub fn is_like(pattern: &str, text: &str) -> bool {
    is_like_within(pattern, text, b"")
}

/// The same with a `*` that passes none of the bytes in `stops`. Going back to the last star is
/// enough, since what it may not pass ends it for good; so a pattern can't make it take long.
pub fn is_like_within(pattern: &str, text: &str, stops: &[u8]) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star.filter(|(_, from)| !stops.contains(&text[*from])) {
            star = Some((at, from + 1));
            p = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_tool_a_group_or_an_mcp_pattern_and_prints_as_it_is_written() {
        for text in ["terminal", "group:files", "mcp__github__*", "mcp__*", "mcp__g*__list_*"] {
            assert_eq!(Selector::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Selector::parse("group:fs").unwrap().to_string(), "group:files");
        assert_eq!(Selector::parse("mcp__*__*").unwrap().to_string(), "mcp__*");
        for text in ["terminl", "", "*", "group:", "files", "TERMINAL", " terminal"] {
            assert!(matches!(Selector::parse(text), Err(UnknownTool::Name { .. })), "{text}");
        }
        for text in ["mcp__", "mcp__github", "mcp____x", "mcp__a__", "mcp__a__b c", "mcp___a__b"] {
            assert!(matches!(Selector::parse(text), Err(UnknownTool::McpPattern { .. })), "{text}");
        }
    }

    #[test]
    fn mcp_patterns_are_globs_in_both_parts() {
        let covers = |pattern: &str, name: &str| match Selector::parse(pattern) {
            Ok(selector) => selector.covers_mcp(McpName::parse(name).unwrap()),
            Err(error) => panic!("{error}"),
        };
        assert!(covers("mcp__github__*", "mcp__github__create_issue"));
        assert!(covers("mcp__*", "mcp__github__create_issue"));
        assert!(covers("group:mcp", "mcp__github__create_issue"));
        assert!(covers("mcp__g*b__*_issue", "mcp__github__create_issue"));
        assert!(covers("mcp__*__create__x", "mcp__a__create__x"));
        assert!(!covers("mcp__git__*", "mcp__github__create_issue"));
        assert!(!covers("mcp__github__create", "mcp__github__create_issue"));
        assert!(!covers("mcp__github__*_pull", "mcp__github__create_issue"));
        assert!(!covers("terminal", "mcp__terminal__terminal"));
    }

    #[test]
    fn a_selector_covers_a_tool_by_name_or_group_and_a_server_by_name() {
        let tool = |name| tool::find(name).unwrap();
        let covers = |text: &str, name| Selector::parse(text).unwrap().covers(tool(name));
        assert!(covers("terminal", "terminal") && covers("group:files", "read_file"));
        assert!(!covers("terminal", "process") && !covers("group:files", "terminal"));
        assert!(!covers("mcp__*", "terminal"));
        let is_name = |text: &str| Selector::parse(text).unwrap().is_name_of(tool("read_file"));
        assert!(is_name("read_file") && !is_name("write_file") && !is_name("group:files"));
        let concerns = |text: &str| Selector::parse(text).unwrap().concerns_mcp();
        assert!(concerns("mcp__a__b") && concerns("group:mcp"));
        assert!(!concerns("terminal") && !concerns("group:files"));
        let server = |text: &str| match Selector::parse(text).unwrap() {
            Selector::Mcp(pattern) => pattern.server().map(str::to_owned),
            _ => None,
        };
        assert_eq!(server("mcp__github__*").as_deref(), Some("github"));
        assert_eq!(server("mcp__git*__x"), None);
        let longest = format!("mcp__a__{}", "b".repeat(MCP_NAME_BYTES_MAX - 8));
        assert!(McpName::parse(&longest).is_some() && Selector::parse(&longest).is_ok());
        let longer = longest + "b";
        assert!(McpName::parse(&longer).is_none() && Selector::parse(&longer).is_err());
    }

    #[test]
    fn a_server_name_never_runs_into_the_tool() {
        for name in ["a", "git-hub", "a_b", "a.b"] {
            assert!(is_mcp_server_name(name), "{name}");
        }
        for name in ["", "a__b", "a_", "_a", "a b", "é"] {
            assert!(!is_mcp_server_name(name), "{name}");
        }
        for name in ["mcp__a", "mcp__a__", "mcp____b", "mcp__a__b*", "terminal"] {
            assert_eq!(McpName::parse(name), None, "{name}");
        }
        let name = McpName::parse("mcp__a__b__c").unwrap();
        assert_eq!((name.server, name.tool), ("a", "b__c"));
        assert_eq!(name.to_string(), "mcp__a__b__c");
    }
}
