//! What can be typed to have an agent work for an editor, or for a job of a build server.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Let an editor talk to an agent, by the Agent Client Protocol on standard streams.
#[derive(Debug, Args)]
pub struct Acp {
    /// The agent
    #[arg(long)]
    pub agent: String,
    /// Grant the editor's folder for its conversations, where the agent does not have it
    #[arg(long, conflicts_with = "token")]
    pub share: bool,
    /// With --share, for reading alone
    #[arg(long, requires = "share")]
    pub read_only: bool,
    /// A token that says what may be done; without one, everything the local admin may
    #[arg(long, env = "INSULA_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

pub(super) const ACP_HELP: &str = "\
Name this command in the editor's settings as an agent server. The daemon has to run. A folder that
the editor opens has to lie in the agent's `files.shared`; with --share it is granted for that
conversation alone. Standard output has frames of the protocol and nothing else.
See docs/editors.md.";

/// Have an agent do one task, and end with a code that says how it went.
#[derive(Debug, Args)]
pub struct Run {
    /// The agent [default: the one that answers the command line]
    #[arg(long)]
    pub agent: Option<String>,
    /// At most so many dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_usd: Option<f64>,
    /// Agree to what needs an approval: a tool, or TOOL:COMMAND for one command to the letter
    #[arg(long, value_name = "CALL")]
    pub allow: Vec<String>,
    /// At most so long, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,
    /// Work in this folder, which is granted for this run
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// With --folder, for reading alone
    #[arg(long, requires = "folder")]
    pub read_only: bool,
    /// The model to run on, out of the agent's
    #[arg(long)]
    pub model: Option<String>,
    /// What to do; all of standard input where it is not said
    pub task: Option<String>,
}

pub(super) const RUN_HELP: &str = "\
Nobody is asked for an approval: what needs one is refused, unless --allow names it and the agent
may do it at all. The conversation is for this run alone and gone afterwards, with the folder it
worked in; a folder that --folder grants stays. Without a daemon in the home one runs for as long as
the task does, connected to no platform. What is piped in follows the task.

Exit codes: 0 done, 1 failed, 2 wrong use or invalid configuration, 3 done but something needed an
approval and was refused, 4 no budget left, 5 out of time, 130 stopped by a signal.
See docs/ci.md.";

/// What is no number is no limit either, and must not pass for one.
fn dollars(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().ok().filter(|it| it.is_finite());
    found.ok_or_else(|| "a limit is a number of dollars, such as 0.50".to_owned())
}

fn time(text: &str) -> Result<Duration, String> {
    let found = insula_config::rules::duration(text).filter(|it| !it.is_zero());
    found.ok_or_else(|| "a time is a number and its unit: 90s, 10m, 1h".to_owned())
}
