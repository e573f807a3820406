//! What can go wrong when the daemon is changed, by what the caller can do.

use insula_config::{Diagnostic, FindingOwner, LoadReport};
use insula_domain::AgentId;
use insula_store::StoreError;
use insula_vault::{SecretName, SecretOwner, VaultError};
use std::path::PathBuf;

/// Why an operation did not happen. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no such agent.
    #[error("no agent `{0}` here")]
    NoSuchAgent(Box<str>),
    /// The agent has no such skill.
    #[error("no skill `{0}` here")]
    NoSuchSkill(Box<str>),
    /// The agent has no such MCP server.
    #[error("agent `{agent}` has no MCP server `{server}`")]
    NoSuchServer {
        /// The agent.
        agent: AgentId,
        /// The server.
        server: Box<str>,
    },
    /// The server has no such tool.
    #[error("MCP server `{server}` of agent `{agent}` has no tool `{tool}`")]
    NoSuchServerTool {
        /// The agent.
        agent: AgentId,
        /// The server.
        server: Box<str>,
        /// The tool.
        tool: Box<str>,
    },
    /// There is no such token.
    #[error("no token `{0}` here")]
    NoSuchToken(Box<str>),
    /// There is no such secret.
    #[error("{owner} has no secret `{name}`")]
    NoSuchSecret {
        /// The secret.
        name: SecretName,
        /// Whose it would be.
        owner: SecretOwner,
    },
    /// The agent is not in a state that allows it.
    #[error("agent `{agent}` is {state}; {help}")]
    WrongState {
        /// The agent.
        agent: AgentId,
        /// What it is.
        state: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// The agent's configuration can't be used, so there is nothing that it has.
    #[error("agent `{agent}` is broken: {reason}; `insula check` shows where")]
    Broken {
        /// The agent.
        agent: AgentId,
        /// What is wrong with it.
        reason: Box<str>,
    },
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The configuration has errors that concern everybody; what ran before still runs.
    #[error("the configuration was not applied: {}", summary(.0))]
    Configuration(Box<LoadReport>),
    /// Another process has the home.
    #[error("{0}")]
    HomeInUse(String),
    /// A file of the home can't be used.
    #[error("{} {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        what: String,
    },
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The vault could not do it.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl RuntimeError {
    /// What is wrong, without what that means.
    pub fn reason(&self) -> String {
        match self {
            Self::Configuration(report) => summary(report),
            other => other.to_string(),
        }
    }
}

/// The first error that concerns everybody, with its place.
fn summary(report: &LoadReport) -> String {
    match first(report) {
        Some(found) => format!("{}: {}", report.sources.describe(found.span), found.message),
        None => NO_REASON.to_owned(),
    }
}

/// The same for whoever may know about one agent only.
pub(crate) fn in_general(report: &LoadReport) -> String {
    match first(report) {
        Some(found) => {
            format!("{}: {}", report.sources.describe_in_general(found.span), found.message)
        }
        None => NO_REASON.to_owned(),
    }
}

const NO_REASON: &str = "no reason was given";

fn first(report: &LoadReport) -> Option<&Diagnostic> {
    let shared = report.errors().find(|found| found.owner == FindingOwner::Shared);
    shared.or_else(|| report.errors().next())
}
