//! Hooks that are programs or servers: as confined as everything else of their agent.

use super::egress::{Audited, KeptFolders};
use super::outfit::{Outfit, outfit};
use super::start::{Principal, spawn};
use crate::Capabilities;
use insula_domain::Actor;
use insula_domain::{HostPattern, NetworkGrants};
use insula_registry::context::AgentContext;
use insula_sandbox::egress::{Client, ClientLimits, Egress, Fetch, Policy};
use insula_sandbox::{ExitOutcome, Finished, Limit, Stdin};
use insula_store::{About, SessionId};
use insula_tools::Files;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest answer, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 512 * 1024;
/// How much of what a program that failed said is told, in bytes of each of its streams.
const COMPLAINT_BYTES_MAX: usize = 300;

/// A program that answers for a hook.
pub(crate) struct HookProgram<'h> {
    pub(crate) agent: &'h AgentContext,
    pub(crate) session: SessionId,
    pub(crate) principal: &'h Actor,
    pub(crate) files: &'h Files,
    /// Where the operator keeps such programs; read-only inside.
    pub(crate) folder: Option<&'h Path>,
    pub(crate) command: &'h str,
    pub(crate) timeout: Duration,
    /// Longest answer, in bytes.
    pub(crate) answer_max: usize,
    pub(crate) prints: Prints,
}

/// What a program prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prints {
    /// An answer that is none where it fails.
    Answer,
    /// Words, which say what went wrong as well.
    Words,
}

impl HookProgram<'_> {
    /// Runs it: what it prints, or why there is no answer.
    pub(crate) async fn run(&self, caps: &Capabilities, input: Vec<u8>) -> Result<Vec<u8>, String> {
        let outfit = outfit(caps, self.agent, self.files).await;
        let Outfit { mut spec, .. } = outfit.map_err(|error| error.to_string())?;
        if let Some(folder) = self.folder {
            spec.cwd = folder.to_owned();
            spec.executes.push(folder.to_owned());
            spec.reads.push(folder.to_owned());
        }
        spec.args = ["-c", self.command].into_iter().map(Into::into).collect();
        spec.stdin = Stdin::Bytes(input);
        spec.limits.wall_clock = Some(self.timeout);
        spec.limits.output_bytes = self.answer_max;
        let principal = Principal::Person { name: self.principal, session: self.session };
        let spawned = spawn(caps, self.agent, &principal, spec).await;
        let (child, proxy) = spawned.map_err(|error| error.to_string())?;
        let finished = child.finish().await;
        drop(proxy);
        let Finished { exit, stdout, stderr } = finished.map_err(|error| error.to_string())?;
        let printed = match self.prints {
            Prints::Words => end_of(&stdout.bytes()),
            Prints::Answer => String::new(),
        };
        let said = said(&end_of(&stderr.bytes()), &printed);
        match exit.outcome {
            ExitOutcome::Exited(0) if stdout.total > self.answer_max as u64 => {
                Err(format!("the answer has more than {} bytes", self.answer_max))
            }
            ExitOutcome::Exited(0) => Ok(stdout.bytes()),
            ExitOutcome::Exited(status) => {
                let said = said.unwrap_or_else(|| " and said nothing".to_owned());
                Err(format!("the program ended with {status}{said}"))
            }
            ExitOutcome::Signaled(signal) => {
                let said = said.unwrap_or_default();
                Err(format!("the program was ended by signal {signal}{said}"))
            }
            ExitOutcome::Ended(Limit::WallClock) => {
                let said = said.unwrap_or_default();
                Err(format!("the program took longer than its {:?}{said}", self.timeout))
            }
            ExitOutcome::Killed | ExitOutcome::Ended(_) => Err("the program was ended".to_owned()),
        }
    }
}

/// The end of what a program said: what went wrong stands there.
fn end_of(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let said = said.trim();
    let from = said.ceil_char_boundary(said.len().saturating_sub(COMPLAINT_BYTES_MAX));
    format!("{}{}", if from > 0 { "…" } else { "" }, &said[from..])
}

/// What a program complained about and what it printed, behind how it ended.
fn said(complaint: &str, printed: &str) -> Option<String> {
    match (complaint, printed) {
        ("", "") => None,
        (complaint, "") => Some(format!(": {complaint}")),
        ("", printed) => Some(format!(" and printed: {printed}")),
        (complaint, printed) => Some(format!(": {complaint}; it printed: {printed}")),
    }
}

impl Capabilities {
    /// Runs a script of the operator's before a turn, as confined as the agent's programs: what it
    /// prints, or why there is nothing.
    pub async fn script(
        &self,
        agent: &AgentContext,
        (principal, session): (&Actor, SessionId),
        files: &Files,
        (command, timeout): (&str, Duration),
    ) -> Result<Vec<u8>, String> {
        let program = HookProgram {
            agent,
            session,
            principal,
            files,
            folder: None,
            command,
            timeout,
            answer_max: ANSWER_BYTES_MAX,
            prints: Prints::Words,
        };
        program.run(self, Vec::new()).await
    }

    /// The same with something to read.
    pub(crate) async fn script_reading(
        &self,
        agent: &AgentContext,
        (principal, session): (&Actor, SessionId),
        files: &Files,
        (command, timeout, answer_max): (&str, Duration, usize),
        input: Vec<u8>,
    ) -> Result<Vec<u8>, String> {
        let program = HookProgram {
            agent,
            session,
            principal,
            files,
            folder: None,
            command,
            timeout,
            answer_max,
            prints: Prints::Answer,
        };
        program.run(self, input).await
    }
}

/// Posts JSON to a server that the operator named, and reads its answer.
pub(crate) async fn post(
    caps: &Capabilities,
    agent: &AgentContext,
    principal: &Actor,
    about: About,
    (url, host): (&str, HostPattern),
    body: Vec<u8>,
    timeout: Duration,
) -> Result<Vec<u8>, String> {
    let ledger = Audited {
        audit: agent.audit.clone(),
        principal: principal.clone(),
        about,
        keeps: KeptFolders::default(),
    };
    let tls = caps.programs.tls().map_err(|error| error.to_string())?;
    let policy = Policy::new(NetworkGrants::allow([host]));
    let lookups = caps.programs.lookups(&agent.id);
    let world = caps.world.clone();
    let egress = Egress::new(world, policy, Arc::new(ledger), tls, Vec::new(), lookups);
    let limits = ClientLimits {
        redirects_max: 0,
        body_len_max: ANSWER_BYTES_MAX as u64,
        total: timeout,
        ..ClientLimits::default()
    };
    let fetched = Client::new(egress, limits).fetch(Fetch::post_json(url, body)).await;
    let response = fetched.map_err(|error| error.to_string())?;
    if !response.status.is_success() {
        return Err(format!("the server answered {}", response.status.as_u16()));
    }
    response.bytes().await.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_a_program_said_is_told() {
        assert_eq!(said(&end_of(b" \n"), &end_of(b"")), None);
        assert_eq!(said("", &end_of(b"IMPORTANT\n")).unwrap(), " and printed: IMPORTANT");
        let both = said(&end_of(b"no such file\n"), &end_of(b"step 1")).unwrap();
        assert_eq!(both, ": no such file; it printed: step 1");
        let long = format!("{}the cause", "\u{e9}".repeat(1_000));
        let end = end_of(long.as_bytes());
        assert!(end.starts_with('…') && end.ends_with("the cause"), "{end}");
        assert!(end.len() <= COMPLAINT_BYTES_MAX + '…'.len_utf8(), "{}", end.len());
    }
}
