//! The platform of a measurement as this process sees it: started, asked, killed.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measuring program: starts itself as the platform that the daemon talks to"
)]

use crate::driver::Outcome;
use crate::machine;
use crate::platform;
use crate::wire::Wire;
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A platform in a process of its own, so that what it takes is not counted as the daemon's.
/// Killed on drop.
pub struct Messenger {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

/// Who speaks, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// So many people at once, the next when one was answered.
    AtOnce(usize),
    /// So many messages a second, whether they are answered or not.
    Rate(usize),
}

impl Messenger {
    /// Starts one with so many bots, and people who each talk with one of them.
    pub fn start(accounts: usize, chats: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["platform", "--accounts", &accounts.to_string(), "--chats", &chats.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let said = child.stdout.take().context("no standard output")?;
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().parse().context("the platform does not say where it listens")?;
        Ok(Self { child, address })
    }

    /// Waits until every bot listens.
    pub fn wait_until_ready(&self) -> Result<()> {
        if self.ask("ready", &Value::Null)? != b"true" {
            bail!("not every account of the daemon listens");
        }
        Ok(())
    }

    /// Lets people say so many messages, and waits until they are answered.
    pub fn load(&self, messages: usize, pace: Pace) -> Result<Outcome> {
        let (rate, at_once) = match pace {
            Pace::AtOnce(people) => (0, people),
            Pace::Rate(rate) => (rate, 0),
        };
        let asked = json!({ "messages": messages, "rate": rate, "at_once": at_once });
        platform::outcome(&self.ask("load", &asked)?)
    }

    fn ask(&self, what: &str, arguments: &Value) -> Result<Vec<u8>> {
        let body = arguments.to_string();
        let request = format!(
            "POST /{what} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let address = self.address;
        machine::block_on(async move {
            let mut wire = Wire::connect(address).await.ok()?;
            wire.say(request.as_bytes()).await.ok()?;
            Some(wire.hear().await.ok()??.body.to_vec())
        })
        .context("the platform does not answer")
    }
}

impl Drop for Messenger {
    fn drop(&mut self) {
        // It ends in no other way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
