//! What becomes of something on its way out that a platform did not take: the same for every
//! platform that tells failures apart by a table of its own.

use insula_channel::{PostError, WaitScope};
use insula_wire::WireFault;
use std::time::Duration;

/// What a failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Our account can't be used.
    Account,
    /// It was not done, and may be done later.
    Later(WaitScope),
    /// It may have been done.
    Unknown,
    /// It was not done, and never will be.
    Never,
}

/// Whether a request that may have arrived can be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Nothing would be there twice.
    Harmless,
    /// Something might.
    Doubles,
}

impl Class {
    /// What it means that the exchange failed below.
    pub(crate) fn of_wire(fault: &WireFault) -> Self {
        match fault.may_have_arrived() {
            true => Self::Unknown,
            false => Self::Later(WaitScope::Account),
        }
    }

    /// The same for something on its way out.
    pub(crate) fn into_post_error(
        self,
        why: Box<str>,
        wait: Option<Duration>,
        repeat: Repeat,
    ) -> PostError {
        match self {
            Self::Account => PostError::Account { why },
            Self::Never => PostError::Never { why },
            Self::Later(reach) => PostError::Later { why, wait, reach },
            Self::Unknown if repeat == Repeat::Harmless => {
                PostError::Later { why, wait: None, reach: WaitScope::Account }
            }
            Self::Unknown => PostError::Uncertain { why },
        }
    }
}

/// How a table of failures is checked, the same for every platform.
#[cfg(test)]
pub(crate) mod table {
    use super::*;
    use insula_wire::Phase;
    use std::fmt::Debug;

    /// A failure, and what it means for something that would be there twice and for what would not.
    pub(crate) type Row<F> = (F, &'static str, &'static str);

    fn name(error: &PostError) -> &'static str {
        match error {
            PostError::Later { reach: WaitScope::Chat, .. } => "later, here",
            PostError::Later { wait: None, .. } => "later",
            PostError::Later { wait: Some(_), .. } => "later, when told",
            PostError::Uncertain { .. } => "uncertain",
            PostError::Never { .. } => "never",
            PostError::Account { .. } => "account",
        }
    }

    /// Fails where a row does not hold, or a failure of the exchange itself means something else
    /// than it does everywhere.
    pub(crate) fn holds<F: Debug>(
        of_wire: impl Fn(WireFault) -> F,
        rows: impl IntoIterator<Item = Row<F>>,
        to_post_error: impl Fn(&F, Repeat) -> PostError,
    ) {
        let wire = wire().into_iter().map(|(fault, doubles, once)| (of_wire(fault), doubles, once));
        for (failure, doubles, harmless) in wire.chain(rows) {
            let meant = |repeat| name(&to_post_error(&failure, repeat));
            assert_eq!(meant(Repeat::Doubles), doubles, "{failure:?}");
            assert_eq!(meant(Repeat::Harmless), harmless, "{failure:?}");
        }
    }

    fn wire() -> [Row<WireFault>; 8] {
        let late = |phase| WireFault::TimedOut { phase, waited: Duration::ZERO };
        [
            (WireFault::Unreachable { why: "refused".into() }, "later", "later"),
            (late(Phase::Connect), "later", "later"),
            (late(Phase::FirstByte), "uncertain", "later"),
            (late(Phase::Idle), "uncertain", "later"),
            (WireFault::Lost { why: "reset".into() }, "uncertain", "later"),
            (WireFault::CutOff, "uncertain", "later"),
            (WireFault::Garbage { what: "x".into() }, "uncertain", "later"),
            (WireFault::TooMuch { len_max: 1 }, "uncertain", "later"),
        ]
    }
}
