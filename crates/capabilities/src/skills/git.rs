//! Fetches a repository for whoever types the command, and runs nothing of it.
//!
//! It is not run in the sandbox: the address may be one that only this person reaches, with keys
//! that only this person has, on a machine on which no sandbox can be had. What a repository or
//! the server behind it could make of that is taken away instead: no hook, no filter, no
//! submodule, no setting of this machine, of this person or of the repository, no program but
//! git's own and ssh, three ways to reach it and no others, and bounds on time, space and files,
//! beyond which all that was started is ended.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "runs git for an operator, and watches what it writes"
)]

use insula_world::World;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often we look whether it is done, and how much it wrote.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Where git and ssh are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Files and folders of a fetched repository, its own files among them.
const ENTRIES_MAX: usize = 20_000;
/// Lines of what git says that are told, half of them from its beginning.
const LINES_MAX: usize = 8;
/// What of each is.
const LINE_CHARS_MAX: usize = 300;
/// No settings of the person, nobody to ask, nothing that a server could have us run.
const SSH: &str = "ssh -F none -o BatchMode=yes -o ProxyCommand=none -o PermitLocalCommand=no -o ClearAllForwardings=yes -o StrictHostKeyChecking=yes";

/// What git may take.
pub(super) struct Limits {
    /// How long.
    pub(super) patience: Duration,
    /// How much it may write, in bytes.
    pub(super) bytes: u64,
}

impl Limits {
    /// What holds for everybody: an installation has at most 8 MB, its history may have more.
    pub(super) const USUAL: Self =
        Self { patience: Duration::from_secs(120), bytes: 128 * 1024 * 1024 };
}

/// Fetches the newest state of a repository into the folder `tree` below `aside`.
pub(super) async fn fetch(
    url: &str,
    aside: &Path,
    world: &World,
    limits: &Limits,
) -> Result<(), String> {
    let told = aside.join("said");
    let said = File::create(&told).map_err(|error| error.to_string())?;
    let mut git = Command::new("git");
    git.env_clear()
        .env("PATH", PATH)
        .env("HOME", aside)
        .env("XDG_CONFIG_HOME", aside)
        .env("LANG", "C.UTF-8")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "/bin/false")
        .env("SSH_ASKPASS_REQUIRE", "never")
        .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
        .env("GIT_SSH_COMMAND", SSH)
        .env("GIT_LFS_SKIP_SMUDGE", "1")
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=true"])
        .args(["-c", "core.attributesFile=/dev/null", "-c", "credential.helper="])
        .args(["-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"])
        .args(["-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=no"])
        .args(["-c", "transfer.fsckObjects=true", "-c", "transfer.bundleURI=false"])
        .args(["clone", "--quiet", "--depth", "1", "--single-branch", "--no-tags"])
        .args(["--no-recurse-submodules", "--no-local", "--template=", "--", url])
        .arg(aside.join("tree"))
        .current_dir(aside)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        // So that all it started can be ended with it.
        .process_group(0);
    let mut running = Group(git.spawn().map_err(|error| format!("git can't be started: {error}"))?);
    running.limit(limits);
    let start = world.clock.elapsed();
    let status = loop {
        match running.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(error) => return Err(format!("git can't be waited for: {error}")),
        }
        if world.clock.elapsed() - start >= limits.patience {
            return Err(format!("git took longer than {} s", limits.patience.as_secs()));
        }
        measure(aside, limits)?;
        world.clock.sleep(LOOK_EVERY).await;
    };
    if status.success() {
        return measure(aside, limits);
    }
    let said = fs::read_to_string(&told).unwrap_or_default();
    Err(format!("git could not fetch it: {}", reason(&said)))
}

/// Why git gave up, in its own words. The cause comes first, and what follows from it last, so
/// both are told.
fn reason(said: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in said.lines() {
        let line: String =
            line.chars().filter(|it| !it.is_control()).take(LINE_CHARS_MAX).collect();
        let line = line.trim().to_owned();
        if !line.is_empty() && lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    if lines.len() > LINES_MAX {
        lines.drain(LINES_MAX / 2..lines.len() - LINES_MAX / 2);
    }
    if lines.is_empty() { "no reason".to_owned() } else { lines.join("; ") }
}

/// Git and whatever it started: ended when dropped.
struct Group(Child);

impl Group {
    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
    }

    /// Bounds what no look in between would see in time.
    fn limit(&self, limits: &Limits) {
        let most = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
        for (resource, value) in [
            (Resource::Fsize, limits.bytes),
            (Resource::Cpu, limits.patience.as_secs().max(1)),
            (Resource::Core, 0),
        ] {
            // It may be over already.
            let _ = prlimit(self.pid(), resource, most(value));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let (Some(pid), Ok(None)) = (self.pid(), self.0.try_wait()) {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Whether what was written so far is within bounds.
fn measure(aside: &Path, limits: &Limits) -> Result<(), String> {
    let (mut bytes, mut entries, mut folders) = (0_u64, 0_usize, vec![aside.to_owned()]);
    while let Some(folder) = folders.pop() {
        // What goes away while one looks is not there.
        let Ok(listed) = fs::read_dir(&folder) else { continue };
        for entry in listed.flatten() {
            entries += 1;
            if let Ok(found) = entry.metadata() {
                bytes = bytes.saturating_add(found.len());
                if found.is_dir() {
                    folders.push(entry.path());
                }
            }
            if entries > ENTRIES_MAX {
                return Err(format!("the repository has more than {ENTRIES_MAX} files"));
            }
        }
    }
    match bytes > limits.bytes {
        true => Err(format!(
            "the repository has more than {} MB; fetch it yourself and install the folder",
            limits.bytes / (1024 * 1024)
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod git_tests;
