//! The MCP servers of an agent, as its settings describe them.

use std::collections::BTreeMap;
use std::time::Duration;

/// How long a call may take, unless configured.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// How long connecting may take, unless configured.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection is kept that nobody uses, unless configured.
pub const IDLE: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name, which stands in the names of its tools.
    pub name: Box<str>,
    /// How it is reached.
    pub way: McpWay,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a connection is kept that nobody uses.
    pub idle: Duration,
    /// Only these of its tools; `None` for all.
    pub include: Option<Vec<Box<str>>>,
    /// Not these.
    pub exclude: Vec<Box<str>>,
    /// Whether its tools count as sending.
    pub sends: McpSends,
    /// What becomes of a tool that it describes otherwise than before.
    pub on_change: OnChange,
}

/// How a server is reached. Values may refer to secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpWay {
    /// A program that speaks on its standard streams.
    Program {
        /// What is run.
        command: Box<str>,
        /// Its arguments.
        args: Vec<Box<str>>,
        /// Its environment.
        env: BTreeMap<Box<str>, Box<str>>,
    },
    /// A server that speaks HTTP.
    Http {
        url: Box<str>,
        /// What is sent with every request.
        headers: BTreeMap<Box<str>, Box<str>>,
    },
}

/// Whether the tools of a server count as sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpSends {
    /// They do: what a server says of itself proves nothing.
    Yes,
    /// The operator says that they do not.
    No,
}

/// What becomes of a tool that a server describes otherwise than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnChange {
    /// It is hidden until an operator has looked at it.
    Approve,
    /// It is shown, and the change reported.
    Report,
}

impl OnChange {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Report => "report",
        }
    }
}

impl McpServer {
    /// Tells apart what is run or asked: not how, nor which of its tools are used. What was
    /// learnt of one server does not hold for another that stands in its place.
    pub fn identity(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        match &self.way {
            McpWay::Program { command, args, .. } => {
                part("program");
                part(command);
                args.iter().for_each(|arg| part(arg));
            }
            McpWay::Http { url, .. } => {
                part("http");
                part(url);
            }
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Whether this tool of the server is used, by the name the server gives it.
    pub fn uses(&self, tool: &str) -> bool {
        let named = |list: &[Box<str>]| {
            list.iter().any(|pattern| insula_domain::selector::is_like(pattern, tool))
        };
        self.include.as_deref().is_none_or(named) && !named(&self.exclude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> McpServer {
        McpServer {
            name: "files".into(),
            way: McpWay::Program {
                command: "server".into(),
                args: vec!["a".into()],
                env: BTreeMap::new(),
            },
            timeout: TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            idle: IDLE,
            include: None,
            exclude: vec![],
            sends: McpSends::Yes,
            on_change: OnChange::Approve,
        }
    }

    #[test]
    fn include_and_exclude_pick_tools_by_name_or_pattern() {
        let all = server();
        assert!(all.uses("read"));
        let some = McpServer {
            include: Some(vec!["read_*".into(), "list".into()]),
            exclude: vec!["read_secret".into()],
            ..server()
        };
        let used: Vec<bool> =
            ["read_file", "read_secret", "list", "write"].map(|tool| some.uses(tool)).into();
        assert_eq!(used, [true, false, true, false]);
        assert!(!McpServer { include: Some(vec![]), ..server() }.uses("read"));
    }

    #[test]
    fn a_server_is_another_one_when_something_else_is_run() {
        let (one, mut other) = (server(), server());
        other.timeout = Duration::from_secs(1);
        assert_eq!(one.identity(), other.identity());
        other.way = McpWay::Program {
            command: "server".into(),
            args: vec!["b".into()],
            env: BTreeMap::new(),
        };
        assert_ne!(one.identity(), other.identity());
        other.way = McpWay::Http { url: "https://example.org".into(), headers: BTreeMap::new() };
        assert_ne!(one.identity(), other.identity());
    }
}
