//! The hand by which tools reach the skills of one agent, in one turn.

use super::disk::Disk;
use super::package::{Contents, Package};
use super::{PackageError, script, shelf};
use crate::Capabilities;
use crate::hooks::{self, HookDecision, Occasion};
use crate::programs::skill_folder;
use async_trait::async_trait;
use insula_config::skills::files::{self, Top};
use insula_config::skills::judge::findings;
use insula_config::skills::{
    DOCUMENT, DOCUMENT_BYTES_MAX, FILE_BYTES_MAX, Skill, SkillLocation, is_name,
};
use insula_domain::hook::HookEvent;
use insula_domain::{Effect, Switch, tool};
use insula_registry::context::AgentContext;
use insula_registry::daemon::Actor;
use insula_tools::skills::{Brief, SkillChange, Skills};
use insula_tools::{HandError, ToolError};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Longest text of a file that is shown, in bytes: the rest of a tool's output is ours.
const SHOWN_BYTES_MAX: usize = 48 * 1024;

/// The skills of one agent, as its generation has them.
pub struct AgentSkills<'c> {
    caps: &'c Capabilities,
    agent: &'c AgentContext,
    /// Where its hooks are asked.
    occasion: Occasion<'c>,
}

impl<'c> AgentSkills<'c> {
    /// The hand for one call.
    pub fn new(caps: &'c Capabilities, occasion: Occasion<'c>) -> Self {
        Self { caps, agent: occasion.agent, occasion }
    }

    /// Asks whether a skill may be shown, or a file of it.
    async fn admit(&self, skill: &Skill, file: &str) -> Result<(), ToolError> {
        let extra = || json!({ "extra": { "skill": &*skill.name, "file": file } });
        match hooks::ask(self.caps, HookEvent::SkillLoad, &self.occasion, extra).await {
            HookDecision::Go(_) => Ok(()),
            HookDecision::Block { reason, .. } => Err(ToolError::Refused(format!(
                "a hook does not allow you to view skill `{}`: {reason}",
                skill.name
            ))),
        }
    }

    /// Another agent's skill, a blocked one and none at all are one thing here.
    fn found(&self, name: &str) -> Result<&'c Skill, ToolError> {
        let skills = &self.agent.skills;
        skills.get(name).ok_or_else(|| {
            let wanted = name.to_lowercase();
            let alike = skills.skills.iter().find(|skill| skill.name.to_lowercase() == wanted);
            let name: String = name.chars().take(100).collect();
            let help = match alike {
                Some(skill) => format!("there is `{}`", skill.name),
                None => "skills_list shows those there are".to_owned(),
            };
            failed(format!("there is no skill `{name}`; {help}"))
        })
    }

    /// Reads a file of a skill as it is now.
    async fn read(&self, skill: &Skill, path: &str, max: u64) -> Result<Option<Vec<u8>>, String> {
        let folder = self.caps.home.root().join(skill.place.folder(self.agent.id.as_str()));
        let top = if skill.place == SkillLocation::Own { Top::IsFolder } else { Top::MayBeLink };
        let path = format!("{}/{path}", skill.folder);
        let read = move || files::read_file(&folder, top, &path, max);
        self.caps.world.storage.run(read).await.map_err(|error| error.to_string())?
    }

    async fn document(&self, skill: &Skill, from: u64) -> Result<String, ToolError> {
        let gone = || {
            failed(format!(
                "skill `{}` was changed just now; view it again in the next turn",
                skill.name
            ))
        };
        let bytes = self.read(skill, DOCUMENT, DOCUMENT_BYTES_MAX).await.map_err(|_| gone())?;
        let text = String::from_utf8(bytes.ok_or_else(gone)?).map_err(|_| gone())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        // What was scanned is what is shown.
        if *blake3::hash(text.as_bytes()).as_bytes() != skill.hash {
            return Err(gone());
        }
        let parsed = insula_config::skills::document::parse(text).map_err(|_| gone())?;
        let mut shown = format!("Skill `{}`: {}\n", skill.name, skill.description);
        let folder = skill_folder(self.caps, self.agent, skill);
        let place = match &folder {
            Some(folder) => Some(self.place(skill, folder).await?),
            None => None,
        };
        for note in place.into_iter().chain(self.notes(skill).await) {
            shown.push_str(&format!("[{note}]\n"));
        }
        shown.push('\n');
        let body = text.get(parsed.body_at..).unwrap_or_default();
        shown.push_str(&part(body, from)?);
        // Last: small models do what they read last.
        if let Some(folder) = folder
            && let Some(run) = self.runs_script(skill, body, &folder).await
        {
            shown.push_str(&format!("\n[{run}]"));
        }
        Ok(shown)
    }

    /// The call that runs a script of a skill: the one that its text names first.
    async fn runs_script(&self, skill: &Skill, body: &str, folder: &Path) -> Option<String> {
        if !self.agent.boundary.tools.verdict("terminal").is_in() {
            return None;
        }
        let path = script::offered(skill, body)?;
        let bytes = self.read(skill, path, FILE_BYTES_MAX).await.ok()??;
        let command = json!({ "command": script::command(folder, path, &bytes)? });
        Some(format!("`{path}` is run by terminal with {command}"))
    }

    /// What a program finds the skill's files by.
    async fn place(&self, skill: &Skill, folder: &Path) -> Result<String, ToolError> {
        let folder = folder.display();
        Ok(match self.agent.programs.sandbox {
            Switch::Off => format!("programs find its files in {folder}"),
            Switch::On if self.is_pinned(&skill.name).await? => {
                format!("programs find its files in {folder}, and can't change them there")
            }
            Switch::On => format!("programs don't find its files: {}", shelf::CHANGED),
        })
    }

    /// What to know besides its text.
    async fn notes(&self, skill: &Skill) -> Vec<String> {
        let mut notes = Vec::new();
        if !skill.files.is_empty() {
            let shown: Vec<&str> = skill.files.iter().take(50).map(|file| &*file.path).collect();
            let more = skill.files.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            notes.push(format!("files, by skill_view with file_path: {}{more}", shown.join(", ")));
        }
        let needed = skill.requires.packages.iter().map(|package| &package.name);
        let needed: Vec<&str> =
            skill.requires.programs.iter().chain(needed).map(|name| &**name).collect();
        if !needed.is_empty() {
            notes.push(format!("its programs need {}", needed.join(", ")));
        }
        if let Some(allowed) = &skill.allowed_tools {
            // The gate takes away what could hand work on, whatever a skill says.
            let allowed = allowed.iter().map(ToString::to_string);
            let allowed: Vec<String> = allowed.filter(|name| !hands_on(name)).collect();
            let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
            notes.push(format!("until this turn ends you have only these tools: {allowed}"));
        }
        let id = &self.agent.id;
        for variable in skill.variables.iter() {
            let name = &variable.name;
            let wanted = variable.help.as_ref().or(variable.prompt.as_ref());
            let wanted = wanted.map(|it| format!(" ({it})")).unwrap_or_default();
            if !self.agent.boundary.secrets.contains(name) {
                notes.push(format!(
                    "secret `{name}`{wanted} is missing: the operator adds it to `secrets` of agent `{id}` and runs `insula secret set {id} {name}`"
                ));
            } else if self.agent.secrets.resolve(&format!("${{secret:{name}}}")).await.is_err() {
                notes.push(format!(
                    "secret `{name}`{wanted} is not set: the operator runs `insula secret set {id} {name}`"
                ));
            }
        }
        notes
    }

    /// A file of a skill; `None` where there is none of that path.
    async fn file(
        &self,
        skill: &Skill,
        path: &str,
        from: u64,
    ) -> Result<Option<String>, ToolError> {
        if !insula_config::skills::is_inner_path(path) {
            return Err(failed(none_such(skill)));
        }
        let found = skill.file(path).map_err(|alike| {
            failed(format!("`{path}` could be {}; say which", alike.join(" or ")))
        })?;
        // One that came after the generation was made is found by its own name.
        let path = found.map_or(path, |file| &*file.path);
        let read = self.read(skill, path, FILE_BYTES_MAX).await;
        let read = read.map_err(|why| failed(format!("`{path}` {why}")))?;
        let Some(bytes) = read else { return Ok(None) };
        if let Some(finding) = findings(path, &bytes, &skill.accepted).first() {
            let (agent, skill) = (&self.agent.id, &skill.name);
            tracing::warn!(%agent, %skill, %finding, "a file of a skill is not shown");
            return Err(ToolError::Refused(format!(
                "`{path}` of skill `{skill}` is blocked; the operator sees why in the log"
            )));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            failed(format!("`{path}` is no text, {} bytes", error.as_bytes().len()))
        })?;
        part(&text, from).map(Some)
    }

    /// What becomes of a skill's files.
    fn changed(
        &self,
        name: &str,
        change: SkillChange,
        before: Option<Contents>,
    ) -> Result<Contents, ToolError> {
        let missing = || failed(format!("you have no skill `{name}` of your own"));
        if let SkillChange::Create { content, .. } = change {
            return match before {
                Some(_) => Err(failed(format!("there is a skill `{name}`; edit or patch it"))),
                None => Ok(Contents {
                    files: [(DOCUMENT.to_owned(), content.into_bytes())].into(),
                    ..Contents::default()
                }),
            };
        }
        let mut whole = before.ok_or_else(missing)?;
        let contents = &mut whole.files;
        match change {
            SkillChange::Edit { content } => {
                contents.insert(DOCUMENT.to_owned(), content.into_bytes());
            }
            SkillChange::WriteFile { file, content } => {
                // A new file that says what runs it is meant to be run.
                if content.starts_with("#!") {
                    whole.executable.insert(file.clone());
                }
                contents.insert(file, content.into_bytes());
            }
            SkillChange::RemoveFile { file } if file == DOCUMENT => {
                return Err(failed(format!("without {DOCUMENT} it is no skill; use delete")));
            }
            SkillChange::RemoveFile { file } => {
                let removed = contents.remove(&file);
                removed.ok_or_else(|| failed(format!("skill `{name}` has no file `{file}`")))?;
            }
            SkillChange::Patch { file, old, new } => {
                let file = file.unwrap_or_else(|| DOCUMENT.to_owned());
                let text = contents.get(&file).and_then(|it| std::str::from_utf8(it).ok());
                let text = text.ok_or_else(|| failed(format!("`{name}` has no text `{file}`")))?;
                let patched = match text.matches(old.as_str()).count() {
                    1 if !old.is_empty() => text.replacen(&old, &new, 1),
                    count => {
                        return Err(failed(format!(
                            "`old_string` must be in `{file}` once, and is there {count} times"
                        )));
                    }
                };
                contents.insert(file, patched.into_bytes());
            }
            SkillChange::Create { .. } | SkillChange::Delete => {}
        }
        Ok(whole)
    }

    fn disk(&self) -> Disk {
        Disk::new(&self.agent_folder())
    }

    fn agent_folder(&self) -> PathBuf {
        self.caps.home.agent(&self.agent.id)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ToolError> {
        let disk = self.disk();
        let done = self.caps.world.storage.run(move || work(&disk)).await;
        done.map_err(|error| failed(error.to_string()))?.map_err(failed)
    }
}

/// The part of a text that begins at a byte, and where the next one does.
fn part(text: &str, from: u64) -> Result<String, ToolError> {
    let from = usize::try_from(from).unwrap_or(usize::MAX);
    if from > 0 && from >= text.len() {
        let message = format!("`offset` is beyond its end: it has {} bytes", text.len());
        return Err(ToolError::Arguments(message));
    }
    let start = text.floor_char_boundary(from);
    let end = text.floor_char_boundary(start.saturating_add(SHOWN_BYTES_MAX));
    let shown = text.get(start..end).unwrap_or_default();
    Ok(match (start, end == text.len()) {
        (0, true) => shown.to_owned(),
        (_, true) => format!("{shown}\n[bytes {start} to {end}, which is its end]"),
        (_, false) => {
            format!("{shown}\n[bytes {start} to {end} of {}; go on with offset {end}]", text.len())
        }
    })
}

/// Whether a tool of this name could have others do something, who would have all tools again.
fn hands_on(name: &str) -> bool {
    tool::find(name).is_some_and(|tool| tool.effects.contains(&Effect::Delegate))
}

/// A path as files are listed: skills link to them as `./path` too.
fn without_dots(path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
    parts.join("/")
}

/// What is said of a path that leads to no file of a skill.
fn none_such(skill: &Skill) -> String {
    format!("skill `{}` has no file of that path", skill.name)
}

fn failed(what: String) -> ToolError {
    ToolError::Hand(HandError(what))
}

#[async_trait]
impl Skills for AgentSkills<'_> {
    fn list(&self) -> Vec<Brief> {
        let brief = |skill: &Skill| Brief {
            name: skill.name.to_string(),
            description: skill.description.to_string(),
            category: skill.category.as_deref().map(str::to_owned),
        };
        self.agent.skills.skills.iter().map(brief).collect()
    }

    async fn view(&self, name: &str, file: Option<&str>, from: u64) -> Result<String, ToolError> {
        let skill = self.found(name)?;
        let file = file.map(without_dots);
        let file = file.as_deref();
        self.admit(skill, file.filter(|file| !file.is_empty()).unwrap_or(DOCUMENT)).await?;
        let has = |path: &str| skill.files.iter().any(|file| *file.path == *path);
        match file {
            None | Some("") => self.document(skill, from).await,
            // Under any case, unless a file beside it is called just so.
            Some(path) if path.eq_ignore_ascii_case(DOCUMENT) && !has(path) => {
                self.document(skill, from).await
            }
            Some(path) => match self.file(skill, path, from).await? {
                Some(text) => Ok(text),
                // Who makes up a path wants to know what the skill says, and which files it has.
                None => {
                    self.admit(skill, DOCUMENT).await?;
                    let text = self.document(skill, 0).await?;
                    Ok(format!("[{}; this is what it says]\n{text}", none_such(skill)))
                }
            },
        }
    }

    async fn is_pinned(&self, name: &str) -> Result<bool, ToolError> {
        let skill = self.found(name)?;
        if skill.place != SkillLocation::Own {
            return Ok(true);
        }
        let (name, folder) = (name.to_owned(), skill.folder.to_string());
        self.run(move |disk| {
            // What was never installed somebody wrote here: the operator, or with an admin's yes.
            let Some(locked) = disk.lock()?.skills.remove(&name) else { return Ok(true) };
            let now = disk.read(&folder)?.unwrap_or_default();
            Ok(locked.differs(&now.files).is_none())
        })
        .await
    }

    async fn change(&self, name: &str, change: SkillChange) -> Result<String, ToolError> {
        if !is_name(name) {
            return Err(ToolError::Arguments("`name` is no name for a skill".to_owned()));
        }
        if self.agent.skills.get(name).is_some_and(|skill| skill.place != SkillLocation::Own) {
            return Err(ToolError::Refused(format!(
                "skill `{name}` belongs to a bundle, which only the operator changes"
            )));
        }
        let own = self.agent.skills.get(name).map(|skill| skill.folder.to_string());
        let category = match &change {
            SkillChange::Create { category: Some(category), .. } if is_name(category) => {
                format!("{category}/")
            }
            SkillChange::Create { category: Some(_), .. } => {
                return Err(ToolError::Arguments("`category` is no name for a folder".to_owned()));
            }
            _ => String::new(),
        };
        let folder = own.unwrap_or_else(|| format!("{category}{name}"));
        let _one_at_a_time = self.caps.daemon.hold_changes().await;
        let place = folder.clone();
        let before = self.run(move |disk| disk.read(&place)).await?;
        if change == SkillChange::Delete {
            if before.is_none() {
                return Err(failed(format!("you have no skill `{name}` of your own")));
            }
            self.run(move |disk| disk.remove(&folder)).await?;
        } else {
            let contents = self.changed(name, change, before)?;
            // What an operator accepted stays so in what is not changed.
            let accepted = self.agent.skills.get(name).map(|skill| skill.accepted.clone());
            let package = Package::accepting(contents, &accepted.unwrap_or_default());
            let package = package.map_err(|error| match error {
                PackageError::Blocked { name, findings, .. } => {
                    let told = findings
                        .iter()
                        .map(|it| format!("`{}`, line {}: {}", it.file, it.line, it.reason));
                    let told: Vec<String> = told.collect();
                    ToolError::Refused(format!("skill `{name}` is blocked: {}", told.join("; ")))
                }
                invalid => ToolError::Arguments(invalid.to_string()),
            })?;
            if *package.document.name != *name {
                let said = &package.document.name;
                let what = format!("its front matter calls it `{said}`, not `{name}`");
                return Err(ToolError::Arguments(what));
            }
            self.run(move |disk| disk.write(&folder, &package.contents)).await?;
        }
        drop(_one_at_a_time);
        // What went wrong with somebody else's configuration is not this call's business.
        let _ = self.caps.daemon.reload(Some(&self.agent.id), &Actor::FileWatch).await;
        Ok(format!("done; skill `{name}` is as you said from the next turn on"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_make_up_the_whole(text in "[aä€]{0,40}", times in 1..4_000_usize) {
            let text = text.repeat(times);
            let (mut at, mut whole) = (0, String::new());
            loop {
                let shown = part(&text, at).unwrap();
                let (body, note) = shown.split_once("\n[bytes ").unwrap_or((&shown, ""));
                prop_assert!(body.len() <= SHOWN_BYTES_MAX);
                whole.push_str(body);
                let next = note.split("offset ").nth(1).map(|it| it.trim_end_matches(']'));
                match next {
                    Some(next) => at = next.parse().unwrap(),
                    None => break,
                }
            }
            prop_assert_eq!(whole, text);
        }

        #[test]
        fn any_offset_is_a_part_or_a_word_about_it(offset in any::<u64>(), text in ".{0,20}") {
            let shown = part(&text, offset);
            prop_assert_eq!(shown.is_err(), offset > 0 && offset >= text.len() as u64);
        }
    }
}
