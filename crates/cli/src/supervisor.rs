//! The program that starts the daemon and keeps it running, as systemd does: what it is told, and
//! its own commands and files.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "start-up: speaks to whatever started the process, and writes units where a person asks for it"
)]

use crate::process::{Environment, program};
use insula_world::World;
use sd_notify::NotifyState;
use std::io;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// What a unit begins with that is ours to replace and to remove.
pub const MARK: &str = "# Written by `insula service install`.";

/// Says that the daemon serves now, and in a line how.
pub fn ready(how: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(how)]);
}

/// Says that the daemon ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Says that the daemon will be ready again, as the same process.
pub fn starting_again() {
    let Ok(now) = NotifyState::monotonic_usec_now() else { return };
    tell(&[NotifyState::Reloading, now, NotifyState::Status("starting again")]);
}

/// Nobody listens where nothing supervises; where something does and can't be told, it acts on
/// its own.
fn tell(what: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(what) {
        tracing::warn!(%error, "what supervises this process can't be told how it stands");
    }
}

/// Shows that tasks still run, as often as the supervisor wants to see it.
pub async fn show_life(world: World, stop: CancellationToken) {
    let Some(within) = sd_notify::watchdog_enabled() else { return };
    loop {
        tell(&[NotifyState::Watchdog]);
        tokio::select! {
            () = stop.cancelled() => return,
            () = world.clock.sleep(within / 3) => {}
        }
    }
}

/// Whether systemd runs this machine.
pub fn is_systemd() -> bool {
    sd_notify::booted().unwrap_or(false)
}

/// How a program ended, and what it printed.
pub struct Ended {
    pub ok: bool,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program to its end and takes what it prints.
pub fn run(environment: &Environment, name: &str, arguments: &[&str]) -> io::Result<Ended> {
    let output = command(environment, name, arguments)?.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(Ended {
        ok: output.status.success(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

/// Runs a program to its end in this terminal; whether it went well.
pub fn show(environment: &Environment, name: &str, arguments: &[&str]) -> io::Result<bool> {
    Ok(command(environment, name, arguments)?.status()?.success())
}

fn command(
    environment: &Environment,
    name: &str,
    arguments: &[&str],
) -> io::Result<std::process::Command> {
    let found = program(environment, name).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("`{name}` is not installed"))
    })?;
    let mut command = std::process::Command::new(found);
    command.args(arguments).stdin(std::process::Stdio::null());
    Ok(command)
}

/// The unit as it is, if there is one.
pub fn read_unit(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a unit in its place, whole or not at all.
pub fn write_unit(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text)?;
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o644))?;
    std::fs::rename(&beside, path)
}

pub fn remove_unit(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Whose a folder is, by number.
pub fn owner(path: &Path) -> io::Result<u32> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(std::fs::metadata(path)?.uid())
}
