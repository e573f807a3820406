//! The daemon under measurement: starting it, asking its command line, stopping it.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measuring program: starts processes, reads the clock and the daemon's files"
)]

use crate::machine::Process;
use anyhow::{Context as _, Result, bail};
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How soon to look again for the daemon's file once it has said `ready`.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// How often to look: far longer than writing a file takes.
const LOOKS_MAX: usize = 2_000;

/// A running daemon. Killed on drop.
pub struct Daemon {
    binary: PathBuf,
    home: PathBuf,
    child: Child,
    /// From exec to its `ready` line.
    pub ready: Duration,
}

impl Daemon {
    /// Starts it in `home` and waits until it is ready.
    pub fn start(binary: &Path, home: &Path) -> Result<Self> {
        let begun = Instant::now();
        let mut child = command(binary, home)
            .args(["up", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} can't be started", binary.display()))?;
        let log = child.stderr.take().context("no standard error")?;
        let mut lines = BufReader::new(log);
        let mut said = String::new();
        loop {
            let from = said.len();
            if lines.read_line(&mut said)? == 0 {
                let _ = child.wait();
                bail!("the daemon ended before it was ready; it wrote:\n{said}");
            }
            if said[from..].contains("ready") {
                break;
            }
        }
        let ready = begun.elapsed();
        // A pipe that nobody empties would stop it in the end.
        std::thread::spawn(move || std::io::copy(&mut lines.take(u64::MAX), &mut std::io::sink()));
        Ok(Self { binary: binary.to_owned(), home: home.to_owned(), child, ready })
    }

    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    pub fn listen(&self) -> Result<SocketAddr> {
        for _ in 0..LOOKS_MAX {
            if let Some(listen) = self.announced() {
                return Ok(listen);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        bail!("the daemon does not say where it listens")
    }

    fn announced(&self) -> Option<SocketAddr> {
        let text = std::fs::read_to_string(self.home.join("run/daemon.json")).ok()?;
        let file: serde_json::Value = serde_json::from_str(&text).ok()?;
        let is_ours = file.get("pid")?.as_u64()? == u64::from(self.child.id());
        is_ours.then(|| file.get("listen")?.as_str()?.parse().ok()).flatten()
    }

    /// A token for these agents.
    pub fn token<'a>(&self, agents: impl IntoIterator<Item = &'a str>) -> Result<String> {
        let mut command = command(&self.binary, &self.home);
        command.args(["token", "create", "--json"]);
        for agent in agents {
            command.args(["--agent", agent]);
        }
        let output = command.output()?;
        if !output.status.success() {
            bail!("no token: {}", String::from_utf8_lossy(&output.stderr));
        }
        let made: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        Ok(made["token"].as_str().context("no token in the answer")?.to_owned())
    }

    /// The token of its admin.
    pub fn admin_token(&self) -> Result<String> {
        Ok(std::fs::read_to_string(self.home.join("run/admin.token"))?.trim().to_owned())
    }

    /// Asks it to end, and waits.
    pub fn stop(mut self) -> Result<()> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the daemon ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill and only a status to take.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(binary: &Path, home: &Path) -> Command {
    let mut command = Command::new(binary);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1").stdin(Stdio::null());
    command.arg("--home").arg(home);
    command
}

/// The size of a file, in MB of 10^6 bytes.
pub fn size_mb(path: &Path) -> Result<f64> {
    Ok(std::fs::metadata(path)?.len() as f64 / 1e6)
}
