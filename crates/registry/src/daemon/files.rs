//! Changes files of the configuration for somebody who is not at them: judged as a whole with what
//! stands beside them, shown, and written only as they were shown.

use super::{Actor, Daemon, Reloaded, parse, read_files, restart_needed};
use crate::error::RuntimeError;
use crate::home::Home;
use insula_config::authority::{Applied, ConfigChange, ConfigChangeKind, diff};
use insula_config::config_file::{ConfigFile, mark};
use insula_config::files::FileState;
use insula_config::{FilesSnapshot, FindingOwner, LoadReport, Loaded};
use insula_store::{DaemonCommand, StoreError};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Files that change at once: all of an agent, what is shared, and room.
pub const DRAFTS_MAX: usize = 16;

/// What a file is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub file: ConfigFile,
    /// Its text; `None` removes it.
    pub text: Option<String>,
    /// The mark of the text that was changed; `None` where there was no file.
    pub was: Option<String>,
}

/// A file that says something else than what a draft was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    pub file: ConfigFile,
    /// What it says now; `None` where it is gone.
    pub text: Option<Arc<str>>,
}

/// What drafts would do.
pub struct Judged {
    pub report: Arc<LoadReport>,
    /// Whether they can be applied: nothing is wrong that was not wrong before.
    pub loads: bool,
    /// What would be granted and taken away, against what runs.
    pub changes: Vec<ConfigChange>,
    /// Files that changed meanwhile.
    pub stale: Vec<Stale>,
    /// Settings of the daemon that would wait for a restart.
    pub restart: Vec<&'static str>,
    /// The mark of all this: whoever shows it has seen it.
    pub shown: String,
}

/// What became of drafts that were to be written.
pub enum Outcome {
    /// They are written and applied.
    Written(Reloaded),
    /// Nothing was written: a file changed meanwhile, they can't be applied, or what they would do
    /// is not what was shown.
    Refused(Box<Judged>),
}

/// Who changes files, and by which sign-in where there is one.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    pub actor: &'a Actor,
    pub sign_in: Option<&'a str>,
}

/// What else is looked for in a configuration that loads.
pub type Also<'a> = &'a (dyn Fn(&Loaded, &mut LoadReport) + Send + Sync);

impl Daemon {
    /// A file as it stands.
    pub async fn read_config_file(&self, file: ConfigFile) -> Result<FileState, RuntimeError> {
        let home = self.parts.home.clone();
        let read = self.parts.world.storage.run(move || file.read(home.root())).await;
        Ok(read.map_err(StoreError::from)?)
    }

    /// Whether an agent answers where no binding does, that somebody wrote.
    pub async fn has_default(&self) -> bool {
        let ledger = self.change().await;
        ledger.implicit.is_none() && self.snapshot().router.defaults().everywhere.is_some()
    }

    /// What drafts would do. Nothing is written.
    pub async fn judge_files(
        &self,
        drafts: &[Draft],
        also: Also<'_>,
    ) -> Result<Judged, RuntimeError> {
        let files = read_files(&self.parts.home, &self.parts.world).await?;
        let mut drafted = files.clone();
        for draft in drafts {
            draft.file.put(&mut drafted, draft.text.as_deref());
        }
        let (report, loaded) = self.look_over(drafted, also).await?;
        let errors = |report: &LoadReport| -> HashSet<(FindingOwner, String)> {
            report.errors().map(|it| (it.owner.clone(), it.message.clone())).collect()
        };
        let mut wrong = errors(&report);
        if !wrong.is_empty() {
            // What was wrong before is no reason to refuse what is right.
            let (before, _) = self.look_over(files, also).await?;
            let before = errors(&before);
            wrong.retain(|it| !before.contains(it));
        }
        let changes = match &loaded {
            Some(loaded) => diff(&self.applied().await?, &Applied::of(loaded)),
            None => Vec::new(),
        };
        let restart = loaded.as_ref().map(|it| restart_needed(&self.started_with, &it.daemon));
        Ok(Judged {
            loads: loaded.is_some() && wrong.is_empty(),
            stale: self.stale(drafts).await?,
            shown: shown(drafts, &changes),
            restart: restart.unwrap_or_default(),
            report,
            changes,
        })
    }

    /// Writes drafts and applies them, if they can be and do what was `shown`.
    pub async fn write_files(
        &self,
        drafts: &[Draft],
        shown: &str,
        also: Also<'_>,
        author: Author<'_>,
    ) -> Result<Outcome, RuntimeError> {
        let mut ledger = self.change().await;
        let mut judged = self.judge_files(drafts, also).await?;
        if !judged.stale.is_empty() || !judged.loads || judged.shown != shown {
            return Ok(Outcome::Refused(Box::new(judged)));
        }
        // Before the first file: no change is without its record, whatever happens.
        self.note_files("config.changed", told(drafts, &judged.changes), author).await?;
        let (home, all) = (self.parts.home.clone(), drafts.to_vec());
        let put = self.parts.world.storage.run(move || put(&home, all)).await;
        match put.map_err(StoreError::from)? {
            Ok(stale) if stale.is_empty() => {}
            Ok(stale) => {
                let why = json!({ "reason": "a file changed in the same moment" });
                self.note_files("config.change_failed", why, author).await?;
                judged.stale = stale;
                return Ok(Outcome::Refused(Box::new(judged)));
            }
            Err(error) => {
                let why = json!({ "reason": error.reason() });
                self.note_files("config.change_failed", why, author).await?;
                return Err(error);
            }
        }
        let result = self.reload_held(&mut ledger, None, None, author.actor).await;
        self.note_reload(&result, author.actor);
        result.map(Outcome::Written)
    }

    async fn look_over(
        &self,
        files: FilesSnapshot,
        also: Also<'_>,
    ) -> Result<(Arc<LoadReport>, Option<Loaded>), RuntimeError> {
        let (mut report, loaded) = parse(files, &self.parts.world, &self.parts.env).await?;
        if let Some(loaded) = &loaded {
            also(loaded, &mut report);
        }
        Ok((self.parts.secrets.settled(Arc::new(report)), loaded))
    }

    async fn note_files(
        &self,
        kind: &str,
        mut content: Value,
        author: Author<'_>,
    ) -> Result<(), RuntimeError> {
        if let Some(id) = author.sign_in {
            content["sign_in"] = json!(id);
        }
        let entry = self.parts.trail.entry(author.actor, kind, 0, content);
        self.parts.owner.daemon().commit(vec![DaemonCommand::Audit(entry)]).await?;
        Ok(())
    }

    async fn stale(&self, drafts: &[Draft]) -> Result<Vec<Stale>, RuntimeError> {
        let (home, all) = (self.parts.home.clone(), drafts.to_vec());
        let stale = self.parts.world.storage.run(move || stale(&home, &all)).await;
        stale.map_err(StoreError::from)?
    }
}

/// What a record says of a change: which files, and how much is granted and taken away.
fn told(drafts: &[Draft], changes: &[ConfigChange]) -> Value {
    let count = |kind| changes.iter().filter(|it| it.kind == kind).count();
    let files = drafts.iter().map(|draft| {
        json!({ "file": draft.file.to_string(), "was": draft.was, "is": mark(draft.text.as_deref()) })
    });
    json!({
        "files": files.collect::<Vec<_>>(),
        "grants": count(ConfigChangeKind::Grants),
        "takes": count(ConfigChangeKind::Takes),
        "changes": count(ConfigChangeKind::Changes),
    })
}

/// The mark of what drafts would do.
fn shown(drafts: &[Draft], changes: &[ConfigChange]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for draft in drafts {
        part(&draft.file.to_string());
        part(mark(draft.text.as_deref()).as_deref().unwrap_or_default());
        part(draft.was.as_deref().unwrap_or_default());
    }
    for change in changes {
        part(change.kind.as_str());
        part(&change.what);
    }
    hasher.finalize().to_hex().to_string()
}

/// The files that say something else than what their drafts were made of.
fn stale(home: &Home, drafts: &[Draft]) -> Result<Vec<Stale>, RuntimeError> {
    let mut stale = Vec::new();
    for Draft { file, was, .. } in drafts {
        let text = match file.read(home.root()) {
            FileState::Absent => None,
            FileState::Text(text) => Some(text),
            FileState::Unreadable(what) => {
                return Err(RuntimeError::Invalid(format!("{file} {what}")));
            }
        };
        if mark(text.as_deref()) != *was {
            stale.push(Stale { file: file.clone(), text });
        }
    }
    Ok(stale)
}

/// Writes all of them, or none: those that changed meanwhile, if there are any. What names agents
/// comes after them.
fn put(home: &Home, mut drafts: Vec<Draft>) -> Result<Vec<Stale>, RuntimeError> {
    let stale = stale(home, &drafts)?;
    if !stale.is_empty() {
        return Ok(stale);
    }
    drafts.sort_by(|one, other| one.file.cmp(&other.file));
    let mut before: Vec<(ConfigFile, FileState)> = Vec::new();
    for Draft { file, text, .. } in drafts {
        let was = file.read(home.root());
        if let Err(error) = put_one(home, &file, &was, text.as_deref()) {
            for (file, was) in before.into_iter().rev() {
                let FileState::Text(text) = &was else {
                    undone(&file, put_one(home, &file, &FileState::Text("".into()), None));
                    continue;
                };
                undone(&file, put_one(home, &file, &was, Some(&**text)));
            }
            return Err(error);
        }
        before.push((file, was));
    }
    Ok(Vec::new())
}

fn put_one(
    home: &Home,
    file: &ConfigFile,
    was: &FileState,
    text: Option<&str>,
) -> Result<(), RuntimeError> {
    let path = home.root().join(file.to_string());
    match (text, was) {
        (None, _) => home.remove(&path),
        (Some(text), FileState::Absent) => home.write_new(&path, text.as_bytes()),
        (Some(text), _) => home.write_through(&path, text.as_bytes()),
    }
}

fn undone(file: &ConfigFile, result: Result<(), RuntimeError>) {
    if let Err(error) = result {
        tracing::error!(%file, error = error.reason(), "a file could not be set back");
    }
}
