//! A person at a terminal: the binary behind a real pseudo-terminal, its keys, and what is on
//! the screen. Waiting means reading what the program writes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests start processes and fail by panicking"
)]

use crate::support::INSULA;
use insula_testkit::Home;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Bounds a test that has already failed.
const PATIENCE: Duration = Duration::from_secs(60);

const ROWS: u16 = 40;
const COLUMNS: u16 = 80;

/// A program at a terminal. Killed on drop.
pub struct Person {
    child: Child,
    keys: File,
    written: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// All that was written, as it was.
    pub raw: String,
}

impl Person {
    /// Types `insula …` in a home.
    pub fn runs(home: &Home, variables: &[(&str, &str)], args: &[&str]) -> Self {
        Self::runs_at(COLUMNS, home, variables, args)
    }

    /// The same at a terminal that is so wide.
    pub fn runs_at(columns: u16, home: &Home, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, vec![]).unwrap();
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let side = || OpenOptions::new().read(true).write(true).open(path).unwrap();
        // A session of its own whose terminal this is, so that Ctrl-C is a signal.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", INSULA, "--home"])
            .arg(home.path())
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color")
            .envs(variables.iter().copied())
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        let keys = File::from(master);
        let mut reader = keys.try_clone().unwrap();
        let (send, written) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let _ = send.send(bytes[..count].to_vec());
            }
        });
        let screen = vt100::Parser::new(ROWS, columns, 1000);
        Self { child, keys, written, screen, raw: String::new() }
    }

    /// Presses keys.
    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// What is on the screen.
    pub fn sees(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen is as wanted.
    pub fn waits_for(&mut self, what: &str, wanted: impl Fn(&str) -> bool) {
        while !wanted(&self.sees()) {
            match self.written.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("never {what} ({error}); the screen:\n{}", self.sees()),
            }
        }
    }

    /// Waits until a text is on the screen.
    pub fn waits_for_text(&mut self, text: &str) {
        self.waits_for(&format!("`{text}`"), |screen| screen.contains(text));
    }

    /// Waits for an empty prompt as the last thing on the screen.
    pub fn waits_for_prompt(&mut self, agent: &str) {
        let prompt = format!("{agent} ›");
        self.waits_for("a prompt", |screen| screen.trim_end().ends_with(&prompt));
    }

    /// Waits for the end; the exit code.
    pub fn leaves(mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.written.recv_timeout(PATIENCE) {
            self.take(&bytes);
        }
        (self.child.wait().unwrap().code(), self.sees())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw += &String::from_utf8_lossy(bytes);
        self.screen.process(bytes);
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
