//! What single settings of a job mean: where its reply goes, whose memory it has, when it ends.

use insula_domain::{Audience, Scope, Zone};
use insula_schedule::{Form, Schedule};

/// Where the reply of a job goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deliver {
    /// Nowhere: it stands in the session.
    Nowhere,
    /// Where the job was made.
    Origin,
    /// To the home chat of the agent.
    Home,
    Place(Audience),
}

impl Deliver {
    /// Reads one; other runtimes say `local` for what stays here.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "none" | "local" => Self::Nowhere,
            "origin" => Self::Origin,
            "agent" | "home" => Self::Home,
            place => Self::Place(place.parse().ok()?),
        })
    }
}

impl std::fmt::Display for Deliver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nowhere => f.write_str("none"),
            Self::Origin => f.write_str("origin"),
            Self::Home => f.write_str("agent"),
            Self::Place(place) => place.fmt(f),
        }
    }
}

/// Whose memory a job has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobScope {
    /// Its own.
    Own,
    /// That of the chat it was made in.
    Chat,
    /// This one.
    Named(Scope),
}

impl JobScope {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "job" => Self::Own,
            "chat" => Self::Chat,
            scope => Self::Named(scope.parse().ok()?),
        })
    }
}

impl std::fmt::Display for JobScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own => f.write_str("job"),
            Self::Chat => f.write_str("chat"),
            Self::Named(scope) => scope.fmt(f),
        }
    }
}

/// The last moment of a job.
pub(crate) fn moment(text: &str, zone: &Zone) -> Result<i64, String> {
    let form = Form::parse(text).map_err(|error| error.to_string())?;
    match form {
        Form::At(_) | Form::AtWall(_) => match form.settle((0, 0), zone) {
            Ok(Schedule::Once(at)) => Ok(at),
            _ => Err(format!("`{text}` is no moment")),
        },
        _ => Err(format!("`{text}` is no moment such as 2026-12-31T23:59")),
    }
}
