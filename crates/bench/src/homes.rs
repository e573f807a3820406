//! Homes to measure with: agents as people write them, each with a binding.
#![expect(clippy::disallowed_methods, reason = "a measuring program: writes the homes it measures")]

use anyhow::Result;
use std::fmt::Write as _;
use tempfile::TempDir;

/// A home with `agents` agents in `config.yaml`.
pub fn generate(agents: usize) -> Result<TempDir> {
    let home = tempfile::tempdir()?;
    let mut text = String::from("model: anthropic/claude-sonnet-4-5\nagents:\n");
    for index in 0..agents {
        let tools = ["coding", "minimal", "messaging"][index % 3];
        let memory = index % 2 == 0;
        writeln!(
            text,
            "  a{index:05}: {{personality: \"You are agent number {index}, a focused assistant.\", tools: {tools}, memory: {memory}}}"
        )?;
    }
    text.push_str("bindings:\n");
    for index in 0..agents {
        writeln!(text, "  - {{agent: a{index:05}, telegram: \"-100{index:07}\"}}")?;
    }
    std::fs::write(home.path().join("config.yaml"), text)?;
    Ok(home)
}
