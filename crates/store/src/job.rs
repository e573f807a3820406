//! What an agent does by the clock: its jobs and their runs. What a job says is opaque here.

use crate::id::TurnId;
use insula_domain::Actor;
use insula_world::Timestamp;

/// Longest name of a job, in bytes.
pub const JOB_NAME_BYTES_MAX: usize = 128;
/// Longest text of a job, in bytes.
pub const JOB_SPEC_BYTES_MAX: usize = 64 * 1024;
/// Longest reason, in bytes.
pub const JOB_WHY_BYTES_MAX: usize = 2_048;
/// Runs that are kept of one job; the oldest make room.
pub const JOB_RUNS_KEPT: u32 = 200;
/// Most rows that one read returns.
pub const JOB_ROWS_MAX: u32 = 1_000;

/// Whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    Active,
    /// Somebody paused it, or it failed too often.
    Paused,
    /// It will not run again.
    Over,
}

impl JobState {
    pub const ALL: [Self; 3] = [Self::Active, Self::Paused, Self::Over];

    pub fn as_str(self) -> &'static str {
        ["active", "paused", "over"][self as usize]
    }
}

/// A job that was added, or how far one of the configuration has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub name: Box<str>,
    /// What it says; `None` for one of the configuration.
    pub spec: Option<String>,
    /// Who made it.
    pub owner: Actor,
    /// Where it was made, in whatever form the layer above uses.
    pub place: Option<String>,
    pub state: JobState,
    /// Why it is paused.
    pub why: Option<String>,
    /// The last moment that was dealt with.
    pub handled_at: Timestamp,
    /// How often it has run.
    pub runs: u32,
    /// How often in a row it failed.
    pub failures: u32,
    /// Not before this moment, after failures.
    pub retry_at: Option<Timestamp>,
    pub made_at: Timestamp,
}

/// A run of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRun {
    pub job: Box<str>,
    /// The moment it is for.
    pub scheduled_at: Timestamp,
    /// When it began, or was noted where it waits.
    pub began_at: Timestamp,
    /// `None` while it is under way.
    pub ended_at: Option<Timestamp>,
    /// Its turn, once there is one.
    pub turn: Option<TurnId>,
    /// How it ended, in a word of the layer above.
    pub outcome: Option<Box<str>>,
    pub why: Option<String>,
}

/// A change to jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobCommand {
    /// Adds a job, or replaces it.
    Put(JobRow),
    /// Removes a job; its runs stay.
    Remove {
        /// The job.
        name: Box<str>,
    },
    /// Notes a run. One of the same moment that is there stays as it is.
    Begin(JobRun),
    /// Says which turn a run is, and when it began.
    Turn { job: Box<str>, scheduled_at: Timestamp, began_at: Timestamp, turn: TurnId },
    /// Says how far a run that is under way has come, and when it began.
    Mark { job: Box<str>, scheduled_at: Timestamp, began_at: Timestamp, outcome: Box<str> },
    /// Ends a run that is under way.
    End {
        job: Box<str>,
        scheduled_at: Timestamp,
        began_at: Timestamp,
        outcome: Box<str>,
        why: Option<String>,
        at: Timestamp,
    },
}

impl JobCommand {
    /// What of it is too long: what, how long, and how long it may be.
    pub(crate) fn excess(&self) -> Option<(&'static str, usize, usize)> {
        let name = |name: &str| ("the name of a job", name.len(), JOB_NAME_BYTES_MAX);
        let why = |why: &Option<String>| {
            ("a reason", why.as_ref().map_or(0, String::len), JOB_WHY_BYTES_MAX)
        };
        let text = |text: &Option<String>| {
            ("what a job says", text.as_ref().map_or(0, String::len), JOB_SPEC_BYTES_MAX)
        };
        let all = match self {
            Self::Put(row) => {
                vec![name(&row.name), text(&row.spec), text(&row.place), why(&row.why)]
            }
            Self::Remove { name: of } | Self::Turn { job: of, .. } | Self::Mark { job: of, .. } => {
                vec![name(of)]
            }
            Self::Begin(run) => vec![name(&run.job), why(&run.why)],
            Self::End { job, why: of, .. } => vec![name(job), why(of)],
        };
        all.into_iter().find(|(_, len, max)| len > max)
    }
}
