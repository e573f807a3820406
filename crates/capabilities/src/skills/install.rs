//! Skills of an agent as its operator sees them: listed, shown, installed, removed, verified.

use super::collection::Skipped;
use super::disk::Disk;
use super::lock::{Difference, Locked};
use super::package::Package;
use crate::Capabilities;
use insula_config::skills::files::{self, Top};
use insula_config::skills::{DOCUMENT, DOCUMENT_BYTES_MAX, Skill, SkillLocation};
use insula_domain::AgentId;
use insula_domain::scan::reveal;
use insula_registry::context::AgentContext;
use insula_registry::daemon::Actor;
use insula_registry::error::RuntimeError;
use insula_store::About;
use serde_json::json;
use std::collections::BTreeSet;

/// A skill in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillState {
    /// Its name, or its folder where it has none.
    pub name: String,
    pub description: Option<String>,
    /// What it is listed under.
    pub category: Option<String>,
    /// Its version, as its maker counts.
    pub version: Option<String>,
    /// The folder it is in, below the home.
    pub folder: String,
    /// `ready`, `blocked` or `broken`.
    pub state: &'static str,
    /// Why the agent does not have it.
    pub reason: Option<String>,
    /// Where it was installed from.
    pub source: Option<String>,
    /// The findings in it that an operator accepted, by their hashes.
    pub accepted: Vec<String>,
}

/// A skill, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillView {
    /// As in a list.
    pub state: SkillState,
    /// Its `SKILL.md`.
    pub text: Option<String>,
    /// The files beside it, and their sizes.
    pub files: Vec<(String, u64)>,
    /// The tools it allows, where it says.
    pub allowed_tools: Option<Vec<String>>,
    /// The secrets it needs, and whether the agent was granted each.
    pub variables: Vec<(String, bool)>,
    /// The programs and packages it needs.
    pub requires: Vec<String>,
    /// What it says that it needs and that is not understood.
    pub unread: Vec<String>,
}

/// What an installation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The skills.
    pub names: Vec<String>,
    /// Those that were left out.
    pub skipped: Vec<Skipped>,
}

/// How an installed skill differs from what was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The skill.
    pub name: String,
    /// Where it came from.
    pub source: String,
    /// How it differs.
    pub difference: Difference,
    /// Other folders of the agent's own whose skill has the same name: none of them is used.
    pub twins: Vec<String>,
}

impl Capabilities {
    async fn on_disk<T: Send + 'static>(
        &self,
        id: &AgentId,
        work: impl FnOnce(&Disk) -> Result<T, String> + Send + 'static,
    ) -> Result<T, RuntimeError> {
        let disk = Disk::new(&self.home.agent(id));
        let done = self.world.storage.run(move || work(&disk)).await;
        done.map_err(insula_store::StoreError::from)?.map_err(RuntimeError::Invalid)
    }

    /// Every skill of an agent, those it can't use among them.
    pub async fn skills(&self, id: &AgentId) -> Result<Vec<SkillState>, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let lock = self.on_disk(id, Disk::lock).await?;
        let source = |name: &str, place: &SkillLocation| match place {
            SkillLocation::Own => lock.skills.get(name).map(|locked| locked.source.clone()),
            SkillLocation::Bundle(_) => None,
        };
        let accepted = |name: &str, place: &SkillLocation| match place {
            SkillLocation::Own => {
                let locked = lock.skills.get(name).into_iter();
                locked.flat_map(|locked| locked.accepted.keys().cloned()).collect()
            }
            SkillLocation::Bundle(_) => Vec::new(),
        };
        let folder =
            |place: &SkillLocation, folder: &str| format!("{}/{folder}", place.folder(id.as_str()));
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let ready = agent.skills.skills.iter().map(|skill| SkillState {
            name: skill.name.to_string(),
            description: Some(skill.description.to_string()),
            category: text(&skill.category),
            version: text(&skill.version),
            folder: folder(&skill.place, &skill.folder),
            state: "ready",
            reason: None,
            source: source(&skill.name, &skill.place),
            accepted: accepted(&skill.name, &skill.place),
        });
        let unusable = agent.skills.unusable.iter().map(|it| SkillState {
            name: it.name.to_string(),
            description: None,
            category: None,
            version: None,
            folder: folder(&it.place, &it.folder),
            state: if it.blocked { "blocked" } else { "broken" },
            reason: Some(it.why.to_string()),
            source: source(&it.name, &it.place),
            accepted: accepted(&it.name, &it.place),
        });
        Ok(ready.chain(unusable).collect())
    }

    /// One skill of an agent, whole.
    pub async fn skill(&self, id: &AgentId, name: &str) -> Result<SkillView, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let states = self.skills(id).await?;
        let mut named: Vec<SkillState> = states
            .into_iter()
            .filter(|state| state.name == name || is_folder(inner_folder(&state.folder), name))
            .collect();
        let state = match named.len() {
            0 | 1 => named.pop().ok_or_else(|| no_skill(name))?,
            _ => {
                let folders = named.iter().map(|state| inner_folder(&state.folder));
                return Err(twins(id, name, folders));
            }
        };
        // A bundle may be a link of the operator's; nothing beneath it is followed.
        let bundled = state.folder.strip_prefix("skills/").and_then(|it| it.split_once('/'));
        let (root, folder) = match bundled {
            Some((bundle, folder)) => (self.home.root().join("skills").join(bundle), folder),
            None => (self.home.root().to_owned(), state.folder.as_str()),
        };
        let path = format!("{folder}/{DOCUMENT}");
        let read = move || files::read_file(&root, Top::MayBeLink, &path, DOCUMENT_BYTES_MAX);
        let bytes = self.world.storage.run(read).await.map_err(insula_store::StoreError::from)?;
        let text = bytes.ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
        // Whoever looks at what was left out is to see what a reader would not.
        let text = if state.state == "ready" { text } else { text.as_deref().map(reveal) };
        let skill: Option<&Skill> =
            agent.skills.get(&state.name).filter(|_| state.state == "ready");
        let allowed = skill.and_then(|skill| skill.allowed_tools.as_ref());
        Ok(SkillView {
            text,
            files: skill.map_or_else(Vec::new, |skill| {
                skill.files.iter().map(|file| (file.path.to_string(), file.bytes)).collect()
            }),
            allowed_tools: allowed.map(|all| all.iter().map(ToString::to_string).collect()),
            variables: skill.map_or_else(Vec::new, |skill| {
                let granted = |name: &str| agent.boundary.secrets.contains(name);
                let names = skill.variables.iter().map(|it| it.name.to_string());
                names.map(|name| (name.clone(), granted(&name))).collect()
            }),
            requires: skill.map_or_else(Vec::new, |skill| {
                let packages = skill.requires.packages.iter().map(|package| &package.name);
                skill.requires.programs.iter().chain(packages).map(ToString::to_string).collect()
            }),
            unread: skill
                .map_or_else(Vec::new, |it| it.unread.iter().map(ToString::to_string).collect()),
            state,
        })
    }

    /// What operators accepted of an agent's skills, by the hashes of the findings.
    pub async fn accepted(&self, id: &AgentId) -> Result<BTreeSet<Box<str>>, RuntimeError> {
        self.registry.context_of(id)?;
        Ok(self.on_disk(id, Disk::lock).await?.accepted())
    }

    /// Puts skills into an agent's own folder. One that can't be put there is left out, and the
    /// others are installed; where none can, that is an error.
    pub async fn install_skills(
        &self,
        id: &AgentId,
        source: &str,
        packages: Vec<Package>,
        replace: bool,
        actor: &Actor,
    ) -> Result<Installed, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let (mut placed, mut skipped) = (Vec::new(), Vec::new());
        for package in packages {
            match free_place(&agent, &package, replace) {
                Ok(folder) => placed.push((folder, package)),
                Err(reason) => skipped.push(Skipped {
                    name: package.document.name.to_string(),
                    reason,
                    findings: Vec::new(),
                    accepted: Vec::new(),
                }),
            }
        }
        let from = source.to_owned();
        let changes = self.daemon.hold_changes().await;
        let (names, taken) = self
            .on_disk(id, move |disk| {
                let (mut names, mut taken) = (Vec::new(), Vec::new());
                let mut lock = disk.lock()?;
                for (folder, package) in &placed {
                    let name = package.document.name.to_string();
                    if !replace && disk.read(folder)?.is_some() {
                        let reason =
                            format!("there is a folder `{folder}` already; pass --replace");
                        let (findings, accepted) = (Vec::new(), Vec::new());
                        taken.push(Skipped { name, reason, findings, accepted });
                        continue;
                    }
                    disk.write(folder, &package.contents)?;
                    lock.skills.insert(name.clone(), Locked::new(&from, folder, package));
                    // After each, so that a full disk leaves no skill that nobody installed.
                    disk.keep_lock(&lock)?;
                    names.push(name);
                }
                Ok((names, taken))
            })
            .await?;
        drop(changes);
        skipped.extend(taken);
        if names.is_empty() && !skipped.is_empty() {
            let reasons: Vec<String> = skipped.into_iter().map(|it| it.reason).collect();
            return Err(RuntimeError::Invalid(reasons.join("; ")));
        }
        let told = json!({ "skills": names, "source": source });
        agent.audit.append(About::Agent, actor, "skills.installed", told).await?;
        self.daemon.reload(Some(id), actor).await?;
        Ok(Installed { names, skipped })
    }

    /// Removes a skill from an agent's own folder, by its name, or by its folder where several
    /// have the name.
    pub async fn remove_skill(
        &self,
        id: &AgentId,
        name: &str,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let agent = self.registry.context_of(id)?;
        let folder = match &own_folders(&agent, name)[..] {
            [folder] => (*folder).to_owned(),
            [] => {
                let of_bundle = agent.skills.get(name).map(|skill| &skill.place);
                let unusable = agent.skills.unusable.iter().find(|it| *it.name == *name);
                return Err(match of_bundle.or_else(|| unusable.map(|it| &it.place)) {
                    Some(SkillLocation::Bundle(bundle)) => RuntimeError::Invalid(format!(
                        "skill `{name}` is of bundle `{bundle}`; remove it there, or the bundle from the agent's `skills`"
                    )),
                    _ => no_skill(name),
                });
            }
            several => return Err(twins(id, name, several.iter().copied())),
        };
        let told = json!({ "skill": name, "folder": folder });
        let changes = self.daemon.hold_changes().await;
        self.on_disk(id, move |disk| {
            disk.remove(&folder)?;
            let mut lock = disk.lock()?;
            let before = lock.skills.len();
            // By its folder: one of the same name elsewhere is another one.
            lock.skills.retain(|_, locked| locked.folder != folder);
            match lock.skills.len() == before {
                true => Ok(()),
                false => disk.keep_lock(&lock),
            }
        })
        .await?;
        drop(changes);
        agent.audit.append(About::Agent, actor, "skills.removed", told).await?;
        self.daemon.reload(Some(id), actor).await?;
        Ok(())
    }

    /// Compares what was installed with what is there.
    pub async fn verify_skills(&self, id: &AgentId) -> Result<Vec<Verified>, RuntimeError> {
        let agent = self.registry.context_of(id)?;
        self.on_disk(id, move |disk| {
            let lock = disk.lock()?;
            let mut verified = Vec::new();
            for (name, locked) in lock.skills {
                let now = disk.read(&locked.folder)?.unwrap_or_default();
                let mut difference = locked.differs(&now.files);
                difference.added.extend(disk.strange(&locked.folder));
                let twins = own_folders(&agent, &name).into_iter();
                let twins = twins.filter(|folder| *folder != locked.folder).map(str::to_owned);
                let twins = twins.collect();
                verified.push(Verified { name, source: locked.source, difference, twins });
            }
            Ok(verified)
        })
        .await
    }
}

/// The folder that a skill is put into; why there is none for it.
fn free_place(agent: &AgentContext, package: &Package, replace: bool) -> Result<String, String> {
    let (id, name) = (&agent.id, &package.document.name);
    match &own_folders(agent, name)[..] {
        [] => Ok(name.to_string()),
        [folder] if replace => Ok((*folder).to_owned()),
        [_] => Err(format!(
            "agent `{id}` has a skill `{name}` already; pass --replace to put this one in its place"
        )),
        several => Err(twins(id, name, several.iter().copied()).to_string()),
    }
}

/// The folders of the agent's own skills that go by this name: theirs, or their folder's.
fn own_folders<'a>(agent: &'a AgentContext, name: &str) -> Vec<&'a str> {
    let usable = agent.skills.skills.iter().map(|it| (&it.name, &it.place, &it.folder));
    let unusable = agent.skills.unusable.iter().map(|it| (&it.name, &it.place, &it.folder));
    let own = usable.chain(unusable).filter(|(_, place, _)| **place == SkillLocation::Own);
    let own: Vec<(&str, &str)> = own.map(|(called, _, folder)| (&**called, &**folder)).collect();
    own.into_iter()
        .filter(|(called, folder)| *called == name || is_folder(folder, name))
        .map(|(_, folder)| folder)
        .collect()
}

/// Whether a name means this folder: a path, which no name of a skill is.
fn is_folder(folder: &str, name: &str) -> bool {
    name.strip_prefix("./").unwrap_or(name) == folder && name.contains('/')
}

/// A folder below the folder of skills that it is in.
fn inner_folder(folder: &str) -> &str {
    let below = match folder.strip_prefix("agents/").and_then(|it| it.split_once('/')) {
        Some((_, own)) => own.strip_prefix("skills/"),
        None => folder.strip_prefix("skills/").and_then(|it| it.split_once('/')).map(|it| it.1),
    };
    below.unwrap_or(folder)
}

/// Why a name is not enough.
fn twins<'a>(id: &AgentId, name: &str, folders: impl Iterator<Item = &'a str>) -> RuntimeError {
    let path = |folder: &str| match folder.contains('/') {
        true => format!("`{folder}`"),
        false => format!("`./{folder}`"),
    };
    let folders: Vec<String> = folders.map(path).collect();
    RuntimeError::Invalid(format!(
        "agent `{id}` has more than one skill `{name}`, in {}, and uses none of them; say which by its folder",
        folders.join(" and ")
    ))
}

fn no_skill(name: &str) -> RuntimeError {
    let name: String = name.chars().take(100).collect();
    RuntimeError::NoSuchSkill(name.into())
}
