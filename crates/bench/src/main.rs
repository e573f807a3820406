//! Measures the release binary from outside: how soon it is ready, what it weighs, what a turn
//! costs and what it must not cost.
//!
//! Every table is Markdown on standard output. Nothing here fails because a machine was busy;
//! read the spread, and the share of what the driver reaches without a daemon.

mod daemon;
mod driver;
mod homes;
mod machine;
mod messenger;
mod model;
mod platform;
mod rows;
mod stats;
mod wire;

use anyhow::Result;
use clap::{Parser, Subcommand};
use homes::Durability;
use rows::turns::{AGENTS, Plan};
use rows::{
    Bench, SESSION_TURNS, fairness, gateway, growth, prompt, schedules, starts, tools, turns,
};
use std::path::PathBuf;

/// Measures an insula binary from outside
#[derive(Parser)]
struct Arguments {
    /// The binary to measure
    #[arg(long, default_value = "target/release/insula", global = true)]
    insula: PathBuf,
    /// How often each figure is taken
    #[arg(long, default_value_t = 3, global = true)]
    runs: usize,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Everything below, as one report
    All,
    /// How soon it is ready, and its memory at rest
    Starts,
    /// One load
    Turns {
        /// Agents in the home, all of them talked to
        #[arg(long, default_value_t = AGENTS)]
        agents: usize,
        /// Sessions at once
        #[arg(long, default_value_t = 64)]
        sessions: usize,
        /// Turns that count
        #[arg(long, default_value_t = 20_000)]
        turns: usize,
        /// Turns in one session, before another is begun
        #[arg(long, default_value_t = SESSION_TURNS)]
        session_turns: usize,
        /// What a commit survives
        #[arg(long, value_enum, default_value_t = Durability::Power)]
        durability: Durability,
    },
    /// The table of loads: 1 and 64 sessions, both durabilities
    Table,
    /// What a turn costs beside 1, 100 and 10,000 agents
    Agents,
    /// What a turn costs at message 10 and at message 5,000
    Length,
    /// Memory over many turns
    Memory {
        /// How many
        #[arg(long, default_value_t = 200_000)]
        turns: usize,
        /// How often it is weighed
        #[arg(long, default_value_t = 20_000)]
        every: usize,
    },
    /// Bytes to the model for a first word
    Prompt,
    /// What one call of a tool adds to a turn
    Tools,
    /// A quiet agent beside one that floods and one that hangs
    Fairness,
    /// Many accounts and chats in one daemon
    Gateway {
        /// Bots
        #[arg(long, default_value_t = 200)]
        accounts: usize,
        /// People who talk with one of them each
        #[arg(long, default_value_t = 1_000)]
        chats: usize,
        /// Agents behind the bots
        #[arg(long, default_value_t = AGENTS)]
        agents: usize,
        /// Messages of each load
        #[arg(long, default_value_t = 20_000)]
        messages: usize,
        /// Messages a second of the steady load
        #[arg(long, default_value_t = 500)]
        rate: usize,
        /// What a commit survives
        #[arg(long, value_enum, default_value_t = Durability::Power)]
        durability: Durability,
    },
    /// Many agents with a job a minute each
    Schedules {
        /// Agents in the home
        #[arg(long, default_value_t = 10_000)]
        agents: usize,
        /// Minutes that count
        #[arg(long, default_value_t = 3)]
        minutes: u32,
    },
    /// Serve the instant model until killed
    Model,
    /// Serve the platform of `gateway` until killed
    #[command(hide = true)]
    Platform {
        /// Bots
        #[arg(long)]
        accounts: usize,
        /// People
        #[arg(long)]
        chats: usize,
    },
}

fn main() -> Result<()> {
    let Arguments { insula, runs, what } = Arguments::parse();
    if let What::Platform { accounts, chats } = what {
        platform::serve(accounts, chats);
        return Ok(());
    }
    let bench = Bench { insula, runs, model: model::Model::start()? };
    match what {
        What::All => all(&bench),
        What::Starts => starts::report(&bench),
        What::Turns { agents, sessions, turns, session_turns, durability } => {
            flush()?;
            turns::one(&bench, Plan { agents, sessions, turns, durability, session_turns })
        }
        What::Table => turns::report(&bench),
        What::Agents => growth::agents(&bench),
        What::Length => growth::length(&bench),
        What::Memory { turns, every } => growth::memory(&bench, turns, every),
        What::Prompt => prompt::report(&bench),
        What::Tools => tools::report(&bench),
        What::Fairness => fairness::report(&bench),
        What::Schedules { agents, minutes } => schedules::report(&bench, agents, minutes),
        What::Gateway { accounts, chats, agents, messages, rate, durability } => {
            flush()?;
            let plan = gateway::Plan { accounts, chats, agents, messages, rate, durability };
            gateway::report(&bench, plan)
        }
        What::Platform { .. } => Ok(()),
        What::Model => {
            println!("http://{}/v1", bench.model.address);
            loop {
                std::thread::park();
            }
        }
    }
}

/// What prints one table.
type Section = fn(&Bench) -> Result<()>;

/// The whole report. The flush latency is taken before and after, since disks drift.
fn all(bench: &Bench) -> Result<()> {
    println!("{}; {} runs, medians with least and most", machine::line(), bench.runs);
    flush()?;
    println!("release binary: {:.1} MB (at most 25)", daemon::size_mb(&bench.insula)?);
    let sections: [(&str, Section); 9] = [
        ("Start and memory", starts::report),
        ("Turns", turns::report),
        ("Beside other agents", growth::agents),
        ("Along a session", growth::length),
        ("Over 200,000 turns", |bench| growth::memory(bench, 200_000, 20_000)),
        ("Bytes to the model", prompt::report),
        ("Tools", tools::report),
        ("Neighbours", fairness::report),
        ("Many accounts and chats", |bench| gateway::report(bench, gateway::Plan::default())),
    ];
    for (title, report) in sections {
        println!("\n## {title}\n");
        report(bench)?;
    }
    println!("\nasked of the instant model: {} requests", bench.model.requests());
    flush()
}

fn flush() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (median, rare) = machine::flush_ms(folder.path())?;
    println!("disk: overwriting 4 KiB and flushing takes {median:.2} ms (p50), {rare:.2} ms (p99)");
    Ok(())
}
