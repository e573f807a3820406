//! `insula cron …`

use clap::{Args, Subcommand};

/// List, show, add, run, pause, resume and remove what agents do by the clock.
#[derive(Debug, Subcommand)]
pub enum Cron {
    /// List the jobs of an agent, and when each runs next
    List {
        /// The agent; without it, every agent
        agent: Option<String>,
    },
    /// Add a job
    Add(Box<CronAdd>),
    /// Show one job and its next runs
    Show(OneJob),
    /// Run a job now, beside its schedule
    Run(OneJob),
    /// Pause a job
    Pause(OneJob),
    /// Have a paused job go on
    Resume(OneJob),
    /// Remove a job that was added
    Remove(OneJob),
    /// List the newest runs of a job, and how each ended
    History(OneJob),
}

/// Which job.
#[derive(Debug, Args)]
pub struct OneJob {
    /// The agent's id or name
    pub agent: String,
    /// The job's name
    pub job: String,
}

/// A job to add.
#[derive(Debug, Args)]
pub struct CronAdd {
    /// The agent's id or name
    pub agent: String,
    /// When: `30m` (once), `every 2h`, `30 8 * * 1-5`, `@daily`, `2026-12-01T08:30` or words such as `every weekday at 8:30`
    pub schedule: String,
    /// What the agent is told then
    #[arg(default_value = "")]
    pub prompt: String,
    /// What the job is called; without it, it is given a name
    #[arg(long)]
    pub name: Option<String>,
    /// A shell script that runs first, in the sandbox; what it prints follows the prompt, and where it prints nothing, nothing is asked
    #[arg(long)]
    pub script: Option<String>,
    /// By which clocks, such as `Europe/Berlin`; without it, the agent's
    #[arg(long)]
    pub timezone: Option<String>,
    /// Where the reply goes: `none`, `agent` (its home chat) or `platform:account:chat[:topic]`
    #[arg(long)]
    pub deliver: Option<String>,
    /// Whose memory it has: `job`, `global` or a context such as `chat:telegram:main:-100123`
    #[arg(long)]
    pub scope: Option<String>,
    /// Of the agent's tools, only this one; may be given several times
    #[arg(long = "tool", value_name = "TOOL")]
    pub tools: Vec<String>,
    /// Refuse what needs an approval, and ask nobody
    #[arg(long)]
    pub deny_approvals: bool,
    /// How long a run may take, such as `10m`
    #[arg(long)]
    pub timeout: Option<String>,
    /// What becomes of missed runs
    #[arg(long, value_parser = ["skip", "once", "all"])]
    pub missed: Option<String>,
    /// What becomes of a run while the one before still runs
    #[arg(long, value_parser = ["skip", "queue"])]
    pub overlap: Option<String>,
    /// Move each run by up to this much, such as `5m`
    #[arg(long)]
    pub jitter: Option<String>,
    /// The last moment at which it may run
    #[arg(long)]
    pub until: Option<String>,
    /// How often it runs
    #[arg(long)]
    pub count: Option<u32>,
    /// How many dollars it may spend in a day
    #[arg(long, value_name = "USD")]
    pub usd_per_day: Option<f64>,
    /// How many tokens it may use in a day
    #[arg(long, value_name = "TOKENS")]
    pub tokens_per_day: Option<u64>,
}
