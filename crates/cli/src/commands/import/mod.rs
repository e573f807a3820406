//! `insula import …`: a plan of what becomes of another runtime's home, shown or carried out.
//!
//! What is carried out first are files, under the home's own lock; then what the daemon keeps,
//! through the same parts that serve. Every step looks whether it was done before, so that an
//! import that was cut off is run again, and one that was not changes nothing. What was brought
//! before and was changed or taken away since is left out of the plan.

mod apply;
mod boards;
mod brought;
mod files;
mod identity;
mod left_out;
mod schedules;
mod sessions;
mod show;

use self::brought::Brought;
use crate::arguments::{Import, Wish};
use crate::failure::{FAILED, Failure};
use crate::process::absolute;
use crate::reach::{Occupied, Reach, occupied};
use crate::setting::Setting;
use insula_import::{Fate, Place, Plan, Row, SourceKind, hermes, openclaw};
use insula_registry::daemon::Purpose;
use std::path::{Path, PathBuf};

/// How much of one kind of thing is new, and how much was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    new: usize,
    known: usize,
}

impl Tally {
    fn note(&mut self, is_new: bool) {
        match is_new {
            true => self.new += 1,
            false => self.known += 1,
        }
    }
}

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Done {
    agents: Tally,
    accounts: Tally,
    bindings: Tally,
    secrets: Tally,
    skills: Tally,
    memory: Tally,
    sessions: Tally,
    messages: Tally,
    schedules: Tally,
    boards: Tally,
    cards: Tally,
    files: Tally,
    /// What could not be done.
    troubles: Vec<Row>,
}

impl Done {
    fn tallies(&self) -> [(&'static str, Tally); 12] {
        [
            ("agents", self.agents),
            ("files", self.files),
            ("accounts", self.accounts),
            ("bindings", self.bindings),
            ("secrets", self.secrets),
            ("skills", self.skills),
            ("memory entries", self.memory),
            ("sessions", self.sessions),
            ("messages", self.messages),
            ("schedules", self.schedules),
            ("boards", self.boards),
            ("cards", self.cards),
        ]
    }

    fn trouble(
        &mut self,
        agent: Option<&insula_domain::AgentId>,
        what: &str,
        from: &Place,
        note: String,
    ) {
        self.troubles.push(Row {
            fate: Fate::Trouble,
            agent: agent.cloned(),
            what: what.to_owned(),
            from: from.clone(),
            note,
        });
    }
}

/// Runs it.
pub async fn run(setting: &Setting, command: Import) -> Result<u8, Failure> {
    let (kind, Wish { path, dry_run, again }) = match command {
        Import::Hermes(wish) => (SourceKind::Hermes, wish),
        Import::Openclaw(wish) => (SourceKind::OpenClaw, wish),
    };
    let path = absolute(&path)?;
    let mut plan = read(setting, kind, &path)?;
    let mut brought = Brought::read(setting, kind, (&path, again))?;
    let whereto = identity::settle(setting, &mut plan, (&path, &brought))?;
    left_out::leave_out(setting, &mut plan, &brought).await?;
    if dry_run {
        show::plan(setting, &plan, &path);
        return Ok(0);
    }
    let mut done = Done::default();
    setting.home.prepare()?;
    match occupied(&setting.home, &setting.world).await? {
        Occupied::Daemon(running) => {
            return Err(Failure::Failed(format!(
                "a daemon (pid {}) works in this home; stop it, import, and start it again. --dry-run shows what would be done meanwhile",
                running.pid
            )));
        }
        Occupied::Free(_lock) => {
            files::write(setting, &plan, (&whereto, &brought), &mut done)?;
            brought.note(setting, left_out::here(setting, &plan).await?)?;
        }
    }
    let reach = Reach::open(setting, Purpose::Change).await?;
    let applied = match reach.require_configuration() {
        Ok(()) => apply::all(&reach, setting, &plan, &mut done).await,
        Err(failure) => Err(failure),
    };
    let noted = left_out::here(setting, &plan).await;
    let noted = noted.and_then(|here| brought.note(setting, here));
    reach.close().await;
    applied.and(noted)?;
    show::done(setting, &plan, &done, &path);
    // Half done is not done, and neither is what could not be read.
    let is_whole = done.troubles.is_empty() && plan.rows.iter().all(|it| it.fate != Fate::Trouble);
    Ok(if is_whole { 0 } else { FAILED })
}

fn read(setting: &Setting, kind: SourceKind, path: &Path) -> Result<Plan, Failure> {
    // Copies of databases go where what is temporary goes, and end with the plan.
    let variables = &setting.environment.variables;
    let scratch = variables.get("TMPDIR").filter(|it| it.starts_with('/'));
    let scratch = scratch.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let now = setting.world.clock.now().as_millis();
    let name = format!("insula-import-{}-{now}", setting.environment.pid);
    let read = match kind {
        SourceKind::Hermes => hermes::read(path, (&scratch, &name)),
        SourceKind::OpenClaw => openclaw::read(path, (&scratch, &name)),
    };
    read.map_err(|error| Failure::Failed(error.to_string()))
}
