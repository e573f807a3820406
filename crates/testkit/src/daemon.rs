//! The real daemon and the real command line, run as a person would run them.
//!
//! Waiting means reading what the daemon writes: there is no sleep here that a slow machine
//! could outlast. The limits only bound a test that has already failed.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this file owns the processes that a test starts, and the threads that read them"
)]

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest a daemon may take to become ready, on a busy machine with 10,000 agents.
const READY_MAX: Duration = Duration::from_secs(60);
/// The longest a daemon may take to drain after a signal.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// How soon to look again for the daemon's file once it has said `ready`.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A running daemon. Killed on drop.
pub struct Daemon {
    binary: PathBuf,
    home: PathBuf,
    child: Child,
    listen: SocketAddr,
    /// Every line it writes; closed when it has closed both its outputs.
    lines: Mutex<Receiver<String>>,
    log: Arc<Mutex<String>>,
}

impl Daemon {
    /// Starts `BINARY --home HOME up --listen 127.0.0.1:0` and waits until it is ready.
    ///
    /// The error of a daemon that ended instead carries all it wrote.
    pub fn start(binary: impl AsRef<Path>, home: impl AsRef<Path>) -> io::Result<Self> {
        Self::start_with(binary, home, &[])
    }

    /// Like [`start`](Self::start), with further arguments for `up`.
    pub fn start_with(
        binary: impl AsRef<Path>,
        home: impl AsRef<Path>,
        args: &[&str],
    ) -> io::Result<Self> {
        let mut daemon = Self::spawn(binary, home, args)?;
        daemon.listen = daemon.wait_until_ready()?;
        Ok(daemon)
    }

    /// Like [`start_with`](Self::start_with), without waiting for anything: what it does now
    /// is start. Its address is not known.
    pub fn spawn(
        binary: impl AsRef<Path>,
        home: impl AsRef<Path>,
        args: &[&str],
    ) -> io::Result<Self> {
        let (binary, home) = (binary.as_ref().to_owned(), home.as_ref().to_owned());
        let mut child = command(&binary, &home)
            .args(["up", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (send, lines) = channel();
        let log = Arc::new(Mutex::new(String::new()));
        if let Some(stdout) = child.stdout.take() {
            follow(stdout, send.clone(), log.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            follow(stderr, send, log.clone());
        }
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(Self { binary, home, child, listen: unknown, lines: Mutex::new(lines), log })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// All it has written so far, both outputs in the order they came.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the next line it writes that contains `text`. Lines before it are skipped
    /// and not looked at again.
    pub fn wait_for_line(&self, text: &str) -> io::Result<String> {
        let until = Instant::now() + READY_MAX;
        loop {
            match self.next_line(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return Ok(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.trouble(&format!("no line with `{text}`")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.trouble(&format!("it ended before a line with `{text}`")));
                }
            }
        }
    }

    /// Kills it as a power cut would: no signal handler runs.
    pub fn kill9(mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// The same, this much later. The moment is what the test chose, not something it waits
    /// for: the daemon may have done anything by then.
    pub fn kill9_after(self, moment: Duration) -> io::Result<ExitStatus> {
        thread::sleep(moment);
        self.kill9()
    }

    /// Sends SIGTERM and waits for the end.
    pub fn terminate(self) -> io::Result<ExitStatus> {
        self.end_by(Signal::TERM)
    }

    /// Sends SIGINT, as Ctrl-C does, and waits for the end.
    pub fn interrupt(self) -> io::Result<ExitStatus> {
        self.end_by(Signal::INT)
    }

    fn end_by(mut self, signal: Signal) -> io::Result<ExitStatus> {
        self.signal(signal)?;
        let until = Instant::now() + DRAIN_MAX;
        loop {
            match self.next_line(until.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait(),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.trouble("it did not end after a signal"));
                }
            }
        }
    }

    /// Sends SIGTERM and waits for nothing.
    pub fn tell_to_stop(&self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    /// Sends SIGHUP: read the configuration again.
    pub fn hang_up(&self) -> io::Result<()> {
        self.signal(Signal::HUP)
    }

    /// Runs a command against this daemon's home. See [`run`].
    pub fn cli(&self, args: &[&str]) -> Output {
        run(&self.binary, &self.home, args)
    }

    fn next_line(&self, patience: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(kill_process(pid, signal)?)
    }

    /// Ready is a line that says so, and a file of this very process that says where.
    fn wait_until_ready(&self) -> io::Result<SocketAddr> {
        let until = Instant::now() + READY_MAX;
        let mut said_so = false;
        loop {
            if said_so && let Some(listen) = self.announced() {
                return Ok(listen);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.trouble("it did not get ready"));
            }
            match self.next_line(if said_so { LOOK_AGAIN.min(left) } else { left }) {
                Ok(line) => said_so |= line.contains("ready"),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.trouble("it ended before it was ready"));
                }
            }
        }
    }

    /// The address in the home's `run/daemon.json`, unless an earlier daemon left the file.
    fn announced(&self) -> Option<SocketAddr> {
        let text = fs::read_to_string(self.home.join("run/daemon.json")).ok()?;
        let file: serde_json::Value = serde_json::from_str(&text).ok()?;
        let ours = file.get("pid")?.as_u64()? == u64::from(self.child.id());
        ours.then(|| file.get("listen")?.as_str()?.parse().ok()).flatten()
    }

    fn trouble(&self, what: &str) -> io::Error {
        io::Error::other(format!("the daemon: {what}; it wrote:\n{}", self.log()))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill and only a status to take.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Output {
    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is not JSON, with all that the command wrote.
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("standard output is not JSON ({error}): {self:#?}"),
        }
    }

    /// The same output, after checking that the command succeeded.
    ///
    /// # Panics
    /// When the exit code is not 0, with all that the command wrote.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "the command failed: {self:#?}");
        self
    }
}

/// Runs `BINARY --home HOME ARGS…` to its end, with or without a daemon in that home.
///
/// # Panics
/// When the binary can't be started.
pub fn run(binary: impl AsRef<Path>, home: impl AsRef<Path>, args: &[&str]) -> Output {
    finish(binary.as_ref(), command(binary.as_ref(), home.as_ref()).args(args))
}

/// The same of a program that may be none.
pub fn try_run(
    binary: impl AsRef<Path>,
    home: impl AsRef<Path>,
    args: &[&str],
) -> std::io::Result<Output> {
    let ended = command(binary.as_ref(), home.as_ref()).args(args).output()?;
    Ok(outcome(binary.as_ref(), Ok(ended)))
}

/// The same with `input` on standard input.
///
/// # Panics
/// When the binary can't be started.
pub fn run_with_input(
    binary: impl AsRef<Path>,
    home: impl AsRef<Path>,
    args: &[&str],
    input: impl AsRef<[u8]>,
) -> Output {
    let binary = binary.as_ref();
    let mut command = command(binary, home.as_ref());
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = command.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // A command that does not read what it is given says so by its answer.
            let _ = stdin.write_all(input.as_ref());
        }
        child.wait_with_output()
    });
    outcome(binary, ended)
}

/// Runs `BINARY ARGS…` to its end, with these variables and no others.
///
/// # Panics
/// When the binary can't be started.
pub fn run_bare(binary: impl AsRef<Path>, variables: &[(&str, &str)], args: &[&str]) -> Output {
    let mut command = bare(binary.as_ref());
    finish(binary.as_ref(), command.envs(variables.iter().copied()).args(args))
}

fn finish(binary: &Path, command: &mut Command) -> Output {
    outcome(binary, command.output())
}

fn outcome(binary: &Path, ended: io::Result<std::process::Output>) -> Output {
    match ended {
        Ok(output) => Output {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        },
        Err(error) => panic!("`{}` can't be started: {error}", binary.display()),
    }
}

/// The binary on this home, with an environment that holds nothing of the tester's: a test
/// must not pass or fail by what is set in somebody's shell.
fn command(binary: &Path, home: &Path) -> Command {
    let mut command = bare(binary);
    command.arg("--home").arg(home).env("HOME", home);
    command
}

fn bare(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    command.env_clear().stdin(Stdio::null());
    command.env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1").env("TERM", "dumb");
    command
}

/// Reads one output to its end on a thread, so that the daemon never blocks on a full pipe.
fn follow(output: impl Read + Send + 'static, lines: Sender<String>, log: Arc<Mutex<String>>) {
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut bytes = vec![];
        while output.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let line = String::from_utf8_lossy(&bytes).into_owned();
            log.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line);
            // Nobody listens any more, yet the pipe must still be emptied.
            let _ = lines.send(line.trim_end().to_owned());
            bytes.clear();
        }
    });
}
