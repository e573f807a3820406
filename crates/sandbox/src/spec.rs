//! What a confined process is given. Whatever is not written here, it does not get.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A process to confine. Every path is absolute and real: a path that passes through a
/// symbolic link is refused, since whoever owns the link would decide what is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The program, as an absolute path inside what may be executed.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Its whole environment; with [`Network::Proxy`] the proxy variables are added.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory, inside what it may read.
    pub cwd: PathBuf,
    /// The folder it goes to from there before it begins. Where that can't be had, or is another
    /// one, nothing begins.
    pub begins: Option<Begins>,
    /// Files and folders it may read, beside the system's own.
    pub reads: Vec<PathBuf>,
    /// Files and folders it may read and change. As root they must belong to [`Spec::owner`].
    pub writes: Vec<PathBuf>,
    /// Files and folders it may execute from, beside the system's own. They must be inside
    /// `reads`, `writes` or `/tmp`.
    pub executes: Vec<PathBuf>,
    /// Its private `/tmp`, which is also its `/dev/shm`.
    pub tmp: Tmp,
    /// What it reaches of the network.
    pub network: Network,
    /// What ends or bounds it.
    pub limits: ChildLimits,
    /// How it stands behind others that want the processor.
    pub priority: Priority,
    /// Whether the walls stand at all.
    pub walls: Walls,
    /// Layers that may be missing on this machine. Empty unless the operator says otherwise.
    pub optional: BTreeSet<Layer>,
    /// What it reads on standard input.
    pub stdin: Stdin,
    /// Where its standard output and standard error go.
    pub output: Output,
    /// Whose share it has of what the kernel counts by user.
    pub account: QuotaAccount,
    /// The host's user and group it runs as when the daemon is root. An ordinary user's
    /// children run as that user, and this is not looked at.
    pub owner: Option<HostUser>,
}

impl Spec {
    /// A process with nothing but the system's own files, the default limits and `/` as its
    /// working directory.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: vec![],
            env: BTreeMap::new(),
            cwd: PathBuf::from("/"),
            begins: None,
            reads: vec![],
            writes: vec![],
            executes: vec![],
            tmp: Tmp::default(),
            network: Network::None,
            limits: ChildLimits::default(),
            priority: Priority::Idle,
            walls: Walls::Up,
            optional: BTreeSet::new(),
            stdin: Stdin::Null,
            output: Output::Capture,
            account: QuotaAccount::default(),
            owner: None,
        }
    }
}

/// What no child is ever shown, whatever it is granted and wherever else it is mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Folders of which a child sees only what was granted by its own path.
    pub around: Vec<PathBuf>,
    /// Folders of which a child sees nothing at all.
    pub whole: Vec<PathBuf>,
}

/// Children that share what the kernel counts by user: processes, waiting signals, watches of
/// files. What one account uses up, others still have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuotaAccount {
    /// What tells it from others.
    pub name: String,
    /// Among how many what there is has to be shared out.
    pub of: usize,
}

/// A folder that a process begins in, as whoever allowed that knew it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begins {
    /// Its real path: no link leads there.
    pub path: PathBuf,
    /// Its device and its number there.
    pub identity: Option<(u64, u64)>,
}

/// A private folder in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tmp {
    /// How many bytes it holds at most.
    pub bytes_max: u64,
    /// How many files it holds at most: each costs memory, however empty.
    pub files_max: u64,
}

impl Default for Tmp {
    fn default() -> Self {
        Self { bytes_max: 64 << 20, files_max: 16_384 }
    }
}

/// What a child reaches of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing at all.
    None,
    /// One listener on its own loopback, which is handed out with the [`Child`](crate::Child).
    Proxy {
        /// The port the child sees, on 127.0.0.1.
        port: u16,
    },
}

/// What ends or bounds a child and all it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// Bytes of memory: of the whole tree where a cgroup or the watchdog counts, and of each
    /// process.
    pub memory_bytes: u64,
    /// Processes and threads alive at once.
    pub processes: u64,
    /// Bytes of the largest file it may write.
    pub file_bytes: u64,
    /// Open descriptors of each process.
    pub descriptors: u64,
    /// Processor time of each process, in whole seconds.
    pub cpu_time: Duration,
    /// Time from start to end. `None` for a process that lives until it is dropped.
    pub wall_clock: Option<Duration>,
    /// Bytes kept of standard output, and as many of standard error. The rest is counted.
    pub output_bytes: usize,
}

impl Default for ChildLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            processes: 256,
            file_bytes: 1 << 30,
            descriptors: 1024,
            cpu_time: Duration::from_secs(600),
            wall_clock: Some(Duration::from_secs(600)),
            output_bytes: 1 << 20,
        }
    }
}

/// How a child stands behind others that want the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// It gets what nobody else wants.
    Idle,
    /// It stands as the daemon does.
    Normal,
}

/// Whether the walls stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    /// Every layer the machine gives.
    Up,
    /// None: the child sees and does what the daemon's own user may. What is left is its own
    /// environment, session and limits. Only an operator can want this.
    Down,
}

/// What a child reads on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// What is written to [`Child::take_stdin`](crate::Child::take_stdin).
    Pipe,
}

/// Where a child's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// It is kept up to [`ChildLimits::output_bytes`], and the rest is drained and counted.
    Capture,
    /// It is read by the caller, who bounds it.
    Stream,
}

/// A user and group of the host. Those that children run as own nothing else, and neither is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostUser {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
}

/// One of the walls. Each alone has holes; together they are the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Ids of its own, and no right over anything of the host.
    UserNamespace,
    /// Sees and signals only its own processes, which end together.
    PidNamespace,
    /// A root folder that holds only what was granted.
    MountNamespace,
    /// No network but its own.
    NetworkNamespace,
    /// No shared memory, queues or semaphores of others.
    IpcNamespace,
    /// A host name of its own.
    UtsNamespace,
    /// File, TCP, socket and signal rules that the process can't lift.
    Landlock,
    /// A list of the kernel's calls it may use.
    Seccomp,
    /// The system's files as files of its own, so that nobody sees its locks and watches.
    SystemView,
    /// Device nodes of its own.
    OwnDevices,
    /// A count of memory over the whole tree.
    MemoryCgroup,
    /// A count of processes over the whole tree.
    PidsCgroup,
}

impl Layer {
    /// Every layer, in the order a report lists them.
    pub const ALL: [Self; 12] = [
        Self::UserNamespace,
        Self::PidNamespace,
        Self::MountNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::Landlock,
        Self::Seccomp,
        Self::SystemView,
        Self::OwnDevices,
        Self::MemoryCgroup,
        Self::PidsCgroup,
    ];

    /// Whether its absence refuses unless the operator allows it. The others are used where
    /// they can be had.
    pub fn is_required(self) -> bool {
        !matches!(
            self,
            Self::IpcNamespace
                | Self::UtsNamespace
                | Self::SystemView
                | Self::OwnDevices
                | Self::MemoryCgroup
                | Self::PidsCgroup
        )
    }

    /// Its name in `sandbox.optional` and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user_namespace",
            Self::PidNamespace => "pid_namespace",
            Self::MountNamespace => "mount_namespace",
            Self::NetworkNamespace => "network_namespace",
            Self::IpcNamespace => "ipc_namespace",
            Self::UtsNamespace => "uts_namespace",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::SystemView => "system_view",
            Self::OwnDevices => "own_devices",
            Self::MemoryCgroup => "memory_cgroup",
            Self::PidsCgroup => "pids_cgroup",
        }
    }

    /// The layer with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }

    /// What is lost without it.
    pub fn without(self) -> &'static str {
        match self {
            Self::UserNamespace => "children hold the rights of the daemon's own user on the host",
            Self::PidNamespace => {
                "children see and signal processes of the same user, and a daemonised one is hunted instead of ended with its tree"
            }
            Self::MountNamespace => {
                "children see the names of the host's files, share its /tmp, and only Landlock keeps them from the contents"
            }
            Self::NetworkNamespace => {
                "only Landlock and seccomp keep children from the network, and `network.allow` can't be served"
            }
            Self::IpcNamespace => "only seccomp keeps children from the host's shared memory",
            Self::UtsNamespace => "children see the host's name",
            Self::Landlock => {
                "only the private root keeps children from files that were not granted"
            }
            Self::Seccomp => "children reach every call of the kernel, and so every bug in one",
            Self::SystemView => {
                "children may neither watch files nor lock them, since others would see it on the system's files"
            }
            Self::OwnDevices => {
                "children may not watch files, and two that work together can see each other's locks on /dev/null and its like"
            }
            Self::MemoryCgroup => {
                "memory is bounded for each process, and for the tree by a watchdog that looks four times a second"
            }
            Self::PidsCgroup => "processes are bounded by a limit on the user instead of a cgroup",
        }
    }

    /// How it can be had.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::UserNamespace
            | Self::PidNamespace
            | Self::MountNamespace
            | Self::NetworkNamespace
            | Self::IpcNamespace
            | Self::UtsNamespace => {
                "allow user namespaces (user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or run outside the container that forbids them"
            }
            Self::Landlock => "boot Linux 6.12 or later with `landlock` in the lsm= parameter",
            Self::Seccomp => "use a kernel with CONFIG_SECCOMP_FILTER on x86_64 or aarch64",
            Self::SystemView => {
                "use a kernel with overlayfs in user namespaces (Linux 5.11 or later), and mount nothing below /usr"
            }
            Self::OwnDevices => "run the daemon as root, with the right to make device nodes",
            Self::MemoryCgroup | Self::PidsCgroup => {
                "run as a service with Delegate=yes, or as root outside of a container"
            }
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
