//! What the walls really hold on this machine, for a person to read: each layer, and a few
//! attempts to get out, made by a confined process.

use crate::accounts::ChildAccount;
use crate::child::ExitOutcome;
use crate::error::Error;
use crate::probe::Availability;
use crate::sandbox::Sandbox;
use crate::spec::{ChildLimits, HostUser, Layer, Priority, Spec};
use std::time::Duration;

/// An attempt ends by itself; what does not is ended.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The user for the attempts when the daemon is root: one that owns nothing.
const NOBODY: HostUser = HostUser { uid: 65_534, gid: 65_534 };

/// Exit code of an attempt that got through.
const BROKEN: i32 = 42;

/// Exit code of an attempt that was refused.
const HELD: i32 = 0;

/// Attempts in the words of a shell: each exits with [`BROKEN`] if it got through.
const ATTEMPTS: [(&str, &str); 14] = [
    ("read the machine's passwords", "cat /etc/shadow && exit 42"),
    ("list the homes of people", "ls /home/* /root && exit 42"),
    ("list the daemon's processes", r#"[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 6 ] && exit 42"#),
    ("read the environment of another process", "cat /proc/1/environ && exit 42"),
    ("walk to the host's root", "ls /proc/1/root/root && exit 42"),
    ("write to the system", "touch /usr/insula-was-here && exit 42"),
    ("change the kernel's settings", "echo x > /proc/sys/kernel/core_pattern && exit 42"),
    ("mount a file system", "mount -t tmpfs none /tmp && exit 42"),
    ("make a namespace", "unshare -Ur true && exit 42"),
    (
        "see what the machine does",
        "grep -q '[1-9]' /proc/vmstat /proc/diskstats /proc/interrupts /proc/zoneinfo && exit 42",
    ),
    ("find its place among all programs", "grep -q ':/.' /proc/self/cgroup && exit 42"),
    ("find a network", "[ \"$(grep -c : /proc/net/dev)\" -gt 1 ] && exit 42"),
    ("signal the host", "p=20; while [ $p -lt 2000 ]; do kill -0 $p && exit 42; p=$((p+1)); done"),
    ("keep a descriptor of the daemon", "ls /proc/self/fd | grep -qvxE '[0-3]' && exit 42"),
];

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// It was refused.
    Held,
    /// It got through.
    Broken,
    /// It could not be made, so nothing is known.
    NotRun(String),
}

/// An attempt to get out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub what: &'static str,
    /// What came of it.
    pub verdict: AttemptVerdict,
}

/// A layer, and what its state means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    pub layer: Layer,
    /// Whether it can be had.
    pub availability: Availability,
    /// Whether a child is refused without it.
    pub required: bool,
    /// What is lost without it.
    pub without: &'static str,
    /// How it can be had.
    pub remedy: &'static str,
}

/// What holds on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    pub layers: Vec<LayerReport>,
    /// A few attempts, made by a child with every layer the machine gives.
    pub attempts: Vec<Attempt>,
    /// What keeps children of one account from using up what the kernel counts by user.
    pub accounts: Accounts,
}

/// How what the kernel counts by user is shared out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accounts {
    /// Each account is a user of the machine, and may have so many processes.
    Users { processes: u64 },
    /// All are one user, and each has its part of what that has.
    Shares {
        processes: u64,
        /// Instances of `inotify` of one account; with none, files can't be watched.
        watchers: u64,
    },
    /// All are one user, and nothing keeps them apart, for this reason.
    None(String),
}

impl Sandbox {
    /// Tries what confinement really holds here, by running some attempts.
    /// `accounts` is how many have to share what there is.
    pub async fn examine(&self, accounts: usize) -> Examination {
        let machine = self.machine().await;
        let layers = Layer::ALL.map(|layer| LayerReport {
            layer,
            availability: machine.availability(layer),
            required: layer.is_required(),
            without: layer.without(),
            remedy: layer.remedy(),
        });
        let mut attempts = vec![];
        for (what, script) in ATTEMPTS {
            let verdict = match self.attempt(script).await {
                Ok(ExitOutcome::Exited(BROKEN)) => AttemptVerdict::Broken,
                Ok(ExitOutcome::Exited(HELD)) => AttemptVerdict::Held,
                Ok(other) => AttemptVerdict::NotRun(format!("it ended as {other:?}")),
                Err(error) => AttemptVerdict::NotRun(error.to_string()),
            };
            attempts.push(Attempt { what, verdict });
        }
        let accounts = self.accounts(accounts, machine.is_root()).await;
        Examination { layers: layers.into(), attempts, accounts }
    }

    /// How what the kernel counts by user is shared out among so many accounts.
    async fn accounts(&self, of: usize, users: bool) -> Accounts {
        match self.share_of_each(of, users).await {
            Ok(ChildAccount { share, .. }) if users => {
                Accounts::Users { processes: share.processes }
            }
            Ok(ChildAccount { share, watches, .. }) => Accounts::Shares {
                processes: share.processes,
                watchers: if watches { share.watchers } else { 0 },
            },
            Err(error) => Accounts::None(error.to_string()),
        }
    }

    async fn attempt(&self, script: &str) -> Result<ExitOutcome, Error> {
        let mut spec = Spec::new("/bin/sh");
        spec.args = vec!["-c".into(), format!("{script}; exit 0").into()];
        spec.env.insert("PATH".into(), "/usr/bin:/bin:/usr/sbin:/sbin".into());
        spec.owner = Some(NOBODY);
        // A person waits for the answer.
        spec.priority = Priority::Normal;
        spec.limits = ChildLimits { wall_clock: Some(ATTEMPT_TIMEOUT), ..ChildLimits::default() };
        Ok(self.spawn(spec).await?.finish().await?.exit.outcome)
    }
}
