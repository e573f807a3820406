//! The hand by which a turn reaches other agents. Whom, and with what of all it has seen, is
//! decided by whoever made the hand.

use crate::output::ToolError;
use async_trait::async_trait;

/// Longest question, news or summary, in characters: a brief fits, a transcript does not.
pub const MESSAGE_CHARS_MAX: usize = 20_000;

/// Other agents, as far as links lead to them.
/// A conversation that was handed over, or back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// Who answers from now on.
    pub name: String,
    /// Whether they were told the summary.
    pub is_told: bool,
}

#[async_trait]
pub trait Agents: Send + Sync {
    /// Those that the tool of this name reaches.
    fn reached_by(&self, tool: &str) -> Vec<String>;

    /// Asks one and waits for its answer, which is its words. The same call asks once.
    async fn ask(&self, agent: &str, message: &str) -> Result<String, ToolError>;

    /// Tells one something, durably. The same call tells it once.
    async fn notify(&self, agent: &str, message: &str) -> Result<(), ToolError>;

    /// Hands the conversation to one, with a summary and nothing else; back to where it came from
    /// where none is named. Who answers from now on.
    async fn hand_over(&self, agent: Option<&str>, summary: &str) -> Result<Handed, ToolError>;
}
