//! Starts processes and tidies up what the helper was born with.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the helper starts the inner helper and the program, and looks at its own descriptors"
)]

use crate::plan::{Failure, FailureKind, InnerPlan};
use rustix::process::Pid;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Descriptors below this are standard input, output and error.
const STANDARD: i32 = 3;

/// Closes whatever was inherited beside the standard three. To be called before anything is
/// opened, so that nothing in use can be hit.
pub(super) fn close_inherited() -> io::Result<()> {
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&descriptor| descriptor >= STANDARD)
        .collect();
    for descriptor in open {
        // One of them was the listing itself, which is closed by now.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

/// The process that started this one.
pub(super) fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// Starts this program again under another hidden command, with the channel as its input.
pub(super) fn again(command: &str, channel: OwnedFd) -> io::Result<Pid> {
    let child = Command::new("/proc/self/exe")
        .arg0("insula")
        .arg(command)
        .env_clear()
        .stdin(Stdio::from(channel))
        .spawn()?;
    pid(&child)
}

/// Starts the program.
pub(super) fn program(plan: &InnerPlan, stdin: Option<OwnedFd>) -> Result<Pid, Failure> {
    // On its own, so that a folder out of reach is not mistaken for a program that is.
    rustix::process::chdir(&plan.cwd).map_err(|error| enter(plan, error))?;
    begin(plan)?;
    let child = Command::new(&plan.program)
        .args(&plan.args)
        .env_clear()
        .envs(plan.env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .spawn();
    let child = child.and_then(|child| pid(&child));
    child.map_err(|error| Failure {
        kind: FailureKind::Execute,
        step: "execute".to_owned(),
        reason: error.to_string(),
        errno: error.raw_os_error(),
    })
}

/// Goes to the folder that the program was allowed to begin in, if that is still the one.
fn begin(plan: &InnerPlan) -> Result<(), Failure> {
    let Some((path, identity)) = &plan.begins else { return Ok(()) };
    let failed = |reason: String| Failure::grant(path, reason);
    let gone = |error| failed(format!("the program can't begin there: {error}"));
    rustix::process::chdir(path).map_err(gone)?;
    // Looked at from inside: what was entered can't be swapped any more.
    let stat = rustix::fs::statat(rustix::fs::CWD, ".", rustix::fs::AtFlags::empty());
    let stat = stat.map_err(gone)?;
    let is_same = identity.is_none_or(|it| it == (stat.st_dev, stat.st_ino));
    let real = rustix::process::getcwd(Vec::new()).map_err(gone)?;
    if is_same && real.as_bytes() == path.as_encoded_bytes() {
        return Ok(());
    }
    Err(failed("it is another folder than the one this was allowed in".to_owned()))
}

/// Why the program can't begin where it should.
fn enter(plan: &InnerPlan, error: rustix::io::Errno) -> Failure {
    let (user, _) = plan.ids;
    let reason = match (error, plan.layers.mount) {
        (rustix::io::Errno::ACCESS, false) => format!(
            "user {user} can't enter it; without a private root, every folder above it has to be open to that user (`chmod o+x`), or run the daemon as an ordinary user"
        ),
        _ => format!("user {user} can't enter it: {error}"),
    };
    Failure::grant(&plan.cwd, reason)
}

fn pid(child: &std::process::Child) -> io::Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::Error::other("no process id"))
}

/// The lowest priority of all.
const NICE_MAX: i32 = 19;

/// The first to go when the machine runs out of memory.
const OOM_SCORE: &[u8] = b"1000";

/// The ways to wait for everyone else. Where the machine has one of them not, children still
/// run.
pub(super) struct Priority {
    group: Option<std::fs::File>,
    memory: Option<std::fs::File>,
}

impl Priority {
    /// Opens the files for it, which a private root no longer has or no longer lets be written.
    pub(super) fn open() -> Self {
        let open = |path| std::fs::OpenOptions::new().write(true).open(path).ok();
        Self { group: open("/proc/self/autogroup"), memory: open("/proc/self/oom_score_adj") }
    }

    /// Lowers this process and all it starts. To be called last: the set-up is not the child's.
    pub(super) fn lower(self, idle: bool) {
        if idle {
            let _ = rustix::process::nice(NICE_MAX);
            if let Some(mut file) = self.group {
                let _ = file.write_all(NICE_MAX.to_string().as_bytes());
            }
        }
        if let Some(mut file) = self.memory {
            let _ = file.write_all(OOM_SCORE);
        }
    }
}

/// Maps a user and group of the namespace around to one inside, the one map an ordinary user
/// may write.
pub(super) fn map_ids(inside: (u32, u32), outside: (u32, u32)) -> io::Result<()> {
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{} {} 1", inside.0, outside.0))?;
    write("/proc/self/gid_map", &format!("{} {} 1", inside.1, outside.1))
}

/// Writes to a file of `/proc`.
pub(super) fn write(path: &str, content: &str) -> io::Result<()> {
    std::fs::write(path, content)
}

/// Puts this process into a group, by the file of the group's members.
pub(super) fn join(members: &OsStr) -> io::Result<()> {
    std::fs::OpenOptions::new().write(true).open(members)?.write_all(b"0")
}

/// Opens a file of `/proc`.
pub(super) fn open(path: &str) -> io::Result<OwnedFd> {
    Ok(std::fs::File::open(path)?.into())
}

/// Reads a file of `/proc`.
pub(super) fn read(path: &str) -> io::Result<String> {
    std::fs::read_to_string(path)
}

/// The names in a folder of `/proc` that are numbers.
pub(super) fn numbers(folder: &str) -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir(folder)?;
    let number = |name: &OsStr| name.to_str()?.parse().ok();
    Ok(entries.filter_map(|entry| number(&entry.ok()?.file_name())).collect())
}

/// Where the links in a folder of `/proc` lead.
pub(super) fn links(folder: &str) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let target = |path: std::path::PathBuf| {
        std::fs::read_link(path).ok()?.into_os_string().into_string().ok()
    };
    entries.filter_map(move |entry| target(entry.path()))
}
