//! Adding the agent of a bundle: whole, checked, and with nothing that a bundle can't have.

use super::{KIND, Piece, foreign, id_of, memory, sessions};
use crate::arguments::ImportAgent;
use crate::failure::Failure;
use crate::output;
use crate::passphrase;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use insula_archive::{
    ArchiveError, Entry, EntryKind, Manifest, Passphrase, Unpacker, Visitor, is_sealed, read,
};
use insula_config::authority::{Applied, diff};
use insula_config::files::{FileState, FilesSnapshot};
use insula_config::{AgentOutcome, FindingOwner, load};
use insula_domain::AgentId;
use insula_registry::daemon::Purpose;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::path::Path;

/// Most files and bytes of a bundle: far more than an agent has, and an end to what unpacks for
/// ever.
const FILES_MAX: u64 = 200_000;
const BYTES_MAX: u64 = 64 << 30;

/// Largest configuration or list of secrets.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Largest list of conversations, of memory or of marks.
const LINES_BYTES_MAX: u64 = 1 << 30;

/// What is put into its place last: the agent is there from then on.
const LAST: [&str; 1] = ["agent.yaml"];

/// Where a bundle is, and what opens it.
pub(super) struct Whence<'a> {
    pub(super) file: &'a Path,
    pub(super) passphrase: Option<Passphrase>,
}

/// Adds the agent of a bundle.
pub async fn import(setting: &Setting, wish: &ImportAgent) -> Result<u8, Failure> {
    let file = wish.file.as_path();
    // What is not there has the built-in agent all the same, whose id would seem to be taken.
    if !setting.home.exists() {
        let path = setting.home.root().display();
        return Err(Failure::Failed(format!(
            "there is no home at {path}; `insula up` creates one"
        )));
    }
    let passphrase = match is_sealed(file)? {
        true => Some(passphrase::to_open(&wish.passphrase, &file.display().to_string())?),
        false => None,
    };
    let looked = look(file, passphrase.as_ref())?;
    let id = match &wish.id {
        Some(id) => id_of(id)?,
        None => id_of(&looked.agent)?,
    };
    if looked.has_hooks && !wish.hooks {
        return Err(Failure::Failed(format!(
            "{} has programs of hooks, which run with the daemon's own rights; look at them, then say --hooks to take them over",
            file.display()
        )));
    }
    if wish.dry_run {
        let done = rehearse(setting, &id, &looked)?;
        setting.answer.give(&done.json(), |_| {
            output::line(&format!("{id} would be added; nothing was written"));
            done.tell();
        });
        return Ok(0);
    }
    let done = bring_in(setting, Whence { file, passphrase }, &id).await?;
    setting.answer.give(&done.json(), |_| {
        output::line(&format!("added {id}; its settings are in agents/{id}/agent.yaml"));
        done.tell();
    });
    Ok(0)
}

/// What became of it.
pub(super) struct Done {
    id: AgentId,
    changes: Vec<String>,
    secrets: usize,
    sessions: usize,
}

impl Done {
    pub(super) fn json(&self) -> Value {
        json!({
            "agent": self.id.as_str(),
            "changes": self.changes,
            "secrets": self.secrets,
            "sessions": self.sessions,
        })
    }

    /// Says what it was granted.
    pub(super) fn tell(&self) {
        if !self.changes.is_empty() {
            output::line("Compared with an agent without settings:");
        }
        for change in &self.changes {
            output::line(&format!("  {change}"));
        }
        if self.secrets > 0 {
            output::line(&format!("  {}", output::count(self.secrets, "secret")));
        }
        if self.sessions > 0 {
            output::line(&format!("  {}", output::count(self.sessions, "conversation")));
        }
    }
}

/// What is known of a bundle once it was read to its end.
#[derive(Default)]
struct Looked {
    agent: String,
    configuration: Option<String>,
    secrets: Map<String, Value>,
    /// Its conversations.
    sessions: Option<String>,
    /// What it remembers of others' words.
    marked: Option<String>,
    /// Which of its files hold words of others.
    foreign: Option<String>,
    has_hooks: bool,
}

/// A bundle on its way: examined, and unpacked where there is somewhere to.
struct Passing<'a> {
    file: &'a Path,
    looked: Looked,
    unpacker: Option<&'a mut Unpacker>,
    files: u64,
    bytes: u64,
}

impl Passing<'_> {
    fn refuse(&self, what: String) -> Failure {
        Failure::Failed(format!("{}: {what}; nothing was added", self.file.display()))
    }

    fn text(&self, content: &mut dyn Read) -> Result<String, Failure> {
        self.text_within(content, TEXT_BYTES_MAX)
    }

    /// The text of a list, each line of which is one of these.
    fn lines(
        &self,
        content: &mut dyn Read,
        what: &str,
        is_one: impl Fn(&str) -> bool,
    ) -> Result<String, Failure> {
        let text = self.text_within(content, LINES_BYTES_MAX)?;
        match text.lines().position(|it| !is_one(it)) {
            Some(at) => Err(self.refuse(format!("line {} of its {what} is none", at + 1))),
            None => Ok(text),
        }
    }

    fn text_within(&self, content: &mut dyn Read, bytes_max: u64) -> Result<String, Failure> {
        let mut text = String::new();
        let read = content.take(bytes_max).read_to_string(&mut text);
        read.map_err(|error| {
            let (file, what) = (self.file.to_owned(), error.to_string());
            Failure::from(ArchiveError::Damaged { file, what })
        })?;
        Ok(text)
    }
}

impl Visitor for Passing<'_> {
    type Error = Failure;

    fn begin(&mut self, manifest: &Manifest) -> Result<(), Failure> {
        if manifest.kind != KIND {
            let kind = output::clean(&manifest.kind);
            return Err(self.refuse(format!("it is no {KIND} but a {kind}")));
        }
        self.looked.agent = manifest.about["agent"].as_str().unwrap_or_default().to_owned();
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), Failure> {
        let Some(piece) = Piece::of(&entry.name) else {
            return Err(self.refuse(format!("{} is no part of an agent", entry.name.display())));
        };
        if let EntryKind::File(bytes) = entry.kind {
            self.files += 1;
            self.bytes += bytes;
        }
        if self.files > FILES_MAX || self.bytes > BYTES_MAX {
            return Err(self.refuse("it is larger than any agent".to_owned()));
        }
        if matches!(entry.kind, EntryKind::Link(_)) && piece != Piece::Workspace {
            return Err(self.refuse(format!("{} is a link", entry.name.display())));
        }
        self.looked.has_hooks |= piece == Piece::Hooks && matches!(entry.kind, EntryKind::File(_));
        match piece {
            Piece::Secrets => {
                let text = self.text(content)?;
                self.looked.secrets = serde_json::from_str(&text)
                    .map_err(|error| self.refuse(format!("its secrets: {error}")))?;
                Ok(())
            }
            Piece::Sessions => {
                let probe = AgentId::new("x").map_err(|error| self.refuse(error.to_string()))?;
                let is_one = |it: &str| sessions::read(it, &probe).is_some();
                self.looked.sessions = Some(self.lines(content, "conversations", is_one)?);
                Ok(())
            }
            Piece::Marked => {
                let is_one = |it: &str| memory::read(it).is_some();
                self.looked.marked = Some(self.lines(content, "memory", is_one)?);
                Ok(())
            }
            Piece::Foreign => {
                let is_one = |it: &str| foreign::read(it).is_some();
                self.looked.foreign = Some(self.lines(content, "marks of files", is_one)?);
                Ok(())
            }
            Piece::Configuration => {
                let text = self.text(content)?;
                if let Some(unpacker) = self.unpacker.as_mut() {
                    unpacker.put(&ours(entry), &mut text.as_bytes())?;
                }
                self.looked.configuration = Some(text);
                Ok(())
            }
            _ => match self.unpacker.as_mut() {
                Some(unpacker) => Ok(unpacker.put(&ours(entry), content)?),
                None => Ok(()),
            },
        }
    }
}

/// Whoever it belonged to elsewhere, it is ours here; and nobody else's to read.
fn ours(entry: &Entry) -> Entry {
    Entry { owner: (0, 0), mode: entry.mode & 0o700, ..entry.clone() }
}

fn look(file: &Path, passphrase: Option<&Passphrase>) -> Result<Looked, Failure> {
    let looked = Looked::default();
    let mut passing = Passing { file, looked, unpacker: None, files: 0, bytes: 0 };
    read(file, passphrase, &mut passing)?;
    Ok(passing.looked)
}

/// Whether the agent works here, and what it would be granted.
fn rehearse(setting: &Setting, id: &AgentId, looked: &Looked) -> Result<Done, Failure> {
    let home = &setting.home;
    if home.has_agent_folder(id) {
        return Err(Failure::Failed(format!(
            "agents/{id} exists already; choose another id with --as"
        )));
    }
    let mut snapshot = FilesSnapshot::read(home.root())?;
    let variables = &setting.environment.variables;
    let before = load(&snapshot, variables).1.ok_or_else(|| {
        Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
    })?;
    if before.agents.contains_key(id) {
        return Err(Failure::Failed(format!(
            "there is an agent `{id}` already; choose another id with --as"
        )));
    }
    let text = looked.configuration.as_deref().unwrap_or_default();
    let folder = snapshot.folders.entry(id.to_string()).or_default();
    // What it is granted shows beside an agent that says nothing of itself.
    folder.config = FileState::Text("{}\n".into());
    let bare = load(&snapshot, variables).1.unwrap_or(before);
    let folder = snapshot.folders.entry(id.to_string()).or_default();
    folder.config = FileState::Text(text.into());
    let (report, after) = load(&snapshot, variables);
    let Some(after) = after.filter(|it| matches!(it.agents.get(id), Some(AgentOutcome::Ready(_))))
    else {
        let own = FindingOwner::Agent(id.as_str().into());
        let found = report.errors().find(|it| it.owner == own).or_else(|| report.errors().next());
        let why =
            found.map_or_else(|| "its configuration is empty".into(), |it| it.message.clone());
        return Err(Failure::Failed(format!("agent `{id}` does not work here: {why}")));
    };
    let changes = diff(&Applied::of(&bare), &Applied::of(&after));
    let changes = changes.iter().map(|it| format!("{} {it}", it.kind.as_str())).collect();
    let lines = looked.sessions.as_deref().unwrap_or_default().lines();
    let sessions = lines.filter(|it| it.starts_with("{\"session\":")).count();
    Ok(Done { id: id.clone(), changes, secrets: looked.secrets.len(), sessions })
}

/// Adds it: files first, then what the daemon keeps.
pub(super) async fn bring_in(
    setting: &Setting,
    whence: Whence<'_>,
    id: &AgentId,
) -> Result<Done, Failure> {
    let Whence { file, passphrase } = whence;
    let looked = look(file, passphrase.as_ref())?;
    let done = rehearse(setting, id, &looked)?;
    if looked.sessions.is_some() {
        // Before anything is written.
        sessions::reach(setting).await?.close().await;
    }
    if looked.marked.is_some() {
        memory::reach(setting).await?.close().await;
    }
    if looked.foreign.is_some() {
        foreign::reach(setting).await?.close().await;
    }
    let mut unpacker = Unpacker::begin(&setting.home.agent(id))?;
    let again = Looked::default();
    let mut passing =
        Passing { file, looked: again, unpacker: Some(&mut unpacker), files: 0, bytes: 0 };
    read(file, passphrase.as_ref(), &mut passing)?;
    unpacker.place(&LAST)?;
    let reach = Reach::open(setting, Purpose::Change).await?;
    let settled = settle(&reach, id, &looked).await;
    reach.close().await;
    settled?;
    Ok(done)
}

/// Lets the daemon take it in, and gives it its secrets.
async fn settle(reach: &Reach, id: &AgentId, looked: &Looked) -> Result<(), Failure> {
    reach.post("/api/reload", None).await?;
    for (name, value) in &looked.secrets {
        let path = format!("/api/agents/{}/secrets/{}", part(id.as_str()), part(name));
        reach.put(&path, json!({ "value": value })).await?;
    }
    let Reach::Here { opened, .. } = reach else { return Ok(()) };
    if let Some(lines) = &looked.foreign {
        foreign::bring_in(opened, id, lines).await?;
    }
    if let Some(lines) = &looked.marked {
        memory::bring_in(opened, id, lines).await?;
    }
    if let Some(lines) = &looked.sessions {
        sessions::bring_in(opened, id, lines).await?;
    }
    Ok(())
}
