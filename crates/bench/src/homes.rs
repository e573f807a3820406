//! Homes to measure with: agents as people write them, each with a binding.
#![expect(clippy::disallowed_methods, reason = "a measuring program: writes the homes it measures")]

use anyhow::Result;
use std::fmt::Write as _;
use std::net::SocketAddr;
use tempfile::TempDir;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Durability {
    /// A power cut.
    Power,
    /// The end of the process.
    Process,
}

impl Durability {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Power, Self::Process];

    /// As the configuration spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Process => "process",
        }
    }
}

/// The id of an agent.
pub fn agent(index: usize) -> String {
    format!("a{index:05}")
}

/// A home with `agents` agents in `config.yaml` and models that nobody asks.
pub fn generate(agents: usize) -> Result<TempDir> {
    write(&format!("model: anthropic/claude-sonnet-4-5\n{}", crowd(agents)?))
}

/// A home with `agents` agents that all ask the instant model.
pub fn serving(agents: usize, model: SocketAddr, durability: Durability) -> Result<TempDir> {
    write(&format!("{}{}", shared(model, durability), crowd(agents)?))
}

/// A home whose agents each have a job that runs once in a minute, at a moment of its own.
pub fn scheduled(agents: usize, model: SocketAddr) -> Result<TempDir> {
    let mut text = shared(model, Durability::Power);
    text.push_str("defaults: {tools: minimal}\nagents:\n");
    for index in 0..agents {
        // Jitter spreads them: all of them would be due with the minute.
        writeln!(
            text,
            "  {}: {{cron: {{tick: {{schedule: \"* * * * *\", jitter: 1m, prompt: tick}}}}}}",
            agent(index)
        )?;
    }
    write(&text)
}

/// A home for neighbours: one is quiet, one will flood, and the provider of one never answers.
pub fn neighbours(model: SocketAddr) -> Result<TempDir> {
    let shared = shared(model, Durability::Power);
    write(&format!(
        "{shared}agents:\n  quiet: {{tools: minimal}}\n  flood: {{tools: minimal}}\n  hung: {{tools: minimal, model: hung/never}}\n"
    ))
}

/// A home with one agent that has just been made for coding.
pub fn coder(model: SocketAddr) -> Result<TempDir> {
    let shared = shared(model, Durability::Power);
    write(&format!("{shared}agents:\n  coder: {{default: true, tools: coding}}\n"))
}

/// A home with three coders: one only talks, one reads a file in every turn, one runs a program.
pub fn hands(model: SocketAddr) -> Result<TempDir> {
    let shared = shared(model, Durability::Power);
    let home = write(&format!(
        "{shared}agents:\n  talks: {{tools: coding}}\n  reads: {{tools: coding, model: read/instant}}\n  runs: {{tools: coding, model: run/instant}}\n"
    ))?;
    let workspace = home.path().join("agents/reads/workspace");
    std::fs::create_dir_all(&workspace)?;
    std::fs::write(workspace.join(crate::model::NOTE), "a line of a file\n".repeat(40))?;
    Ok(home)
}

/// A home whose agents are reached by many bots of one platform, each bot by everybody.
pub fn gateway(
    agents: usize,
    accounts: usize,
    platform: SocketAddr,
    model: SocketAddr,
    durability: Durability,
) -> Result<TempDir> {
    let mut text = shared(model, durability);
    text.push_str("defaults: {tools: minimal, access: {allow: [\"telegram:*\"]}}\nagents:\n");
    for index in 0..agents {
        writeln!(text, "  {}: {{memory: {}}}", agent(index), index % 2 == 0)?;
    }
    text.push_str("channels:\n  telegram:\n    accounts:\n");
    for index in 0..accounts {
        writeln!(
            text,
            "      b{index}: {{token: \"{index}:{}\", base_url: \"http://{platform}\"}}",
            crate::platform::TOKEN
        )?;
    }
    text.push_str("bindings:\n");
    for index in 0..accounts {
        let agent = agent(index % agents.max(1));
        writeln!(text, "  - {{agent: {agent}, telegram: {{account: b{index}}}}}")?;
    }
    write(&text)
}

fn shared(model: SocketAddr, durability: Durability) -> String {
    format!(
        "model: bench/instant\nproviders:\n  bench: {{kind: openai, base_url: \"http://{model}/v1\"}}\n  hung: {{kind: openai, base_url: \"http://{model}/hung/v1\"}}\n  read: {{kind: openai, base_url: \"http://{model}/read/v1\"}}\n  run: {{kind: openai, base_url: \"http://{model}/run/v1\"}}\nstore: {{durability: {}}}\n",
        durability.as_str()
    )
}

fn crowd(agents: usize) -> Result<String> {
    let mut text = String::from("agents:\n");
    for index in 0..agents {
        let tools = ["coding", "minimal", "messaging"][index % 3];
        let memory = index % 2 == 0;
        writeln!(
            text,
            "  {}: {{personality: \"You are agent number {index}, a focused assistant.\", tools: {tools}, memory: {memory}}}",
            agent(index)
        )?;
    }
    text.push_str("bindings:\n");
    for index in 0..agents {
        writeln!(text, "  - {{agent: {}, telegram: \"-100{index:07}\"}}", agent(index))?;
    }
    Ok(text)
}

fn write(config: &str) -> Result<TempDir> {
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("config.yaml"), config)?;
    Ok(home)
}
