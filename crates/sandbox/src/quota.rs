//! What the kernel counts by user or for the whole machine, and the part of it that the
//! children of one account may have.
//!
//! Where the daemon is root, each account is a user of the machine and has what the kernel gives
//! every user. An ordinary user's children are all that user, so what it has is shared out: an
//! account is then a user namespace around those of its children, and the kernel keeps the
//! bounds of such a namespace whatever is inside.
#![expect(
    clippy::disallowed_methods,
    reason = "owns the look at the machine's own limits, which are files below /proc/sys"
)]

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// Accounts that have a part each, however few there are.
const ACCOUNTS_MIN: u64 = 8;

/// One part in so many of what there is stays with the daemon and the rest of its user's programs.
const KEPT_BACK: u64 = 2;

/// Fewer processes than this are no use to anybody: a shell, what it runs, and the helpers.
const PROCESSES_MIN: u64 = 32;

/// Fewer signals than this break ordinary programs.
const SIGNALS_MIN: u64 = 64;

/// What there is of everything, to the user that the daemon runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quotas {
    processes: u64,
    signals: u64,
    watchers: u64,
    watches: u64,
}

/// The part of one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    /// Processes and threads.
    pub(crate) processes: u64,
    /// Signals that wait, and timers.
    pub(crate) signals: u64,
    /// Instances of `inotify`.
    pub(crate) watchers: u64,
    pub(crate) watches: u64,
}

impl Quotas {
    /// As they are now.
    pub(crate) fn find() -> Self {
        let own = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
        let machine = |file: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/{file}")).ok();
            text.and_then(|text| text.trim().parse::<u64>().ok())
        };
        // A limit of root's own does not hold for other users, nor for root.
        let of_user = match rustix::process::geteuid().is_root() {
            true => u64::MAX,
            false => own(Resource::Nproc),
        };
        let numbers = ["kernel/pid_max", "kernel/threads-max"].map(machine);
        let processes = numbers.into_iter().flatten().fold(of_user, u64::min);
        Self {
            processes,
            signals: own(Resource::Sigpending),
            watchers: machine("user/max_inotify_instances").unwrap_or(0),
            watches: machine("user/max_inotify_watches").unwrap_or(0),
        }
    }

    /// The part of one of so many accounts. Together they leave half to others.
    pub(crate) fn share(&self, accounts: usize) -> Share {
        let accounts = u64::try_from(accounts).unwrap_or(u64::MAX).max(ACCOUNTS_MIN);
        let part = |all: u64| all / accounts.saturating_mul(KEPT_BACK);
        Share {
            processes: part(self.processes).max(PROCESSES_MIN),
            signals: part(self.signals).max(SIGNALS_MIN),
            watchers: part(self.watchers),
            watches: part(self.watches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_leave_half_to_others() {
        let all = Quotas { processes: 32_768, signals: 30_000, watchers: 128, watches: 100_000 };
        for accounts in [0, 1, 8, 30, 64] {
            let share = all.share(accounts);
            let accounts = u64::try_from(accounts).unwrap();
            assert!(share.watchers * accounts <= 64 && share.watchers > 0, "{share:?}");
            assert!(share.processes * accounts <= 16_384, "{share:?}");
            assert!(share.signals * accounts <= 15_000, "{share:?}");
        }
        // Where there are more accounts than places, nobody has one, and no part is so small
        // that nothing runs.
        let many = all.share(1_000);
        assert_eq!((many.watchers, many.processes), (0, PROCESSES_MIN));
    }

    #[test]
    fn this_machine_has_some_of_everything() {
        let found = Quotas::find();
        assert!(found.processes > PROCESSES_MIN && found.signals > 0, "{found:?}");
    }
}
