//! The skills that programs of an agent are shown: one folder for each agent, which is given to
//! them to read and to run from.
//!
//! It holds copies. So programs that run as a user of their own can read what only the daemon
//! can, and find what the agent was given and nothing that stands beside it: no hidden file, no
//! link, no text that was found to be an attack, nothing of a skill that was changed since it was
//! installed. The folder stays the same one. What is withdrawn goes from programs that run, too.

use super::disk::{Disk, SHOWN};
use super::lock::Lock;
use super::package::Contents;
use crate::Capabilities;
use insula_config::skills::files::{self, FileStamp, Top};
use insula_config::skills::judge::findings;
use insula_config::skills::{
    DOCUMENT, FILE_BYTES_MAX, SKILL_BYTES_MAX, Skill, SkillLocation, SkillSet,
};
use insula_domain::AgentId;
use insula_registry::home::Home;
use insula_registry::registry::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Why the files of a skill that differs from its lock are not given.
pub(crate) const CHANGED: &str = "it was changed after it was installed; the operator looks with `insula skills verify`, and installs it again";

/// The shelves of all agents.
pub(crate) struct Shelves {
    home: Home,
    /// Each behind a lock of its own: one agent's copying keeps no other waiting.
    agents: Mutex<BTreeMap<AgentId, Arc<Mutex<Shelf>>>>,
}

/// What stands on the shelf of one agent; nothing is known of what an earlier daemon left.
#[derive(Default)]
struct Shelf {
    is_known: bool,
    skills: BTreeMap<Box<str>, Shelved>,
}

/// A skill as it was when it was looked at last.
#[derive(PartialEq, Eq)]
struct Shelved {
    made_of: MadeOf,
    /// Why it does not stand there.
    trouble: Option<String>,
}

/// What a copy was made of. As long as it is the same, so is the copy.
#[derive(PartialEq, Eq)]
struct MadeOf {
    place: SkillLocation,
    folder: Box<str>,
    hash: [u8; 32],
    accepted: BTreeSet<Box<str>>,
    stamps: Vec<FileStamp>,
    locked: Option<super::lock::Locked>,
}

/// What programs are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The skills that stand there.
    pub(crate) names: BTreeSet<Box<str>>,
    /// Those that don't, and why.
    pub(crate) withheld: Vec<(Box<str>, String)>,
}

/// Where the programs of an agent find its skills.
pub(crate) fn folder(home: &Home, agent: &AgentId) -> PathBuf {
    home.real_root().join("agents").join(agent.as_str()).join(SHOWN)
}

impl Shelves {
    pub(crate) fn new(home: &Home) -> Self {
        Self { home: home.clone(), agents: Mutex::default() }
    }

    fn of(&self, agent: &AgentId) -> Arc<Mutex<Shelf>> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.entry(agent.clone()).or_default().clone()
    }

    /// Forgets what stood there: the folder goes with the agent's own.
    pub(crate) fn forget(&self, agent: &AgentId) {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
    }

    /// The agents whose shelves are known, with the skills that each has now.
    pub(crate) fn with_skills(&self, now: &Snapshot) -> Vec<(AgentId, Option<Arc<SkillSet>>)> {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let skills = |agent: &AgentId| {
            let context = now.agents.get(agent).and_then(|entry| entry.state.context());
            context.map(|context| context.skills.clone())
        };
        agents.keys().map(|agent| (agent.clone(), skills(agent))).collect()
    }

    /// Makes the shelf of an agent what these skills are now. Blocks.
    pub(crate) fn refresh(&self, agent: &AgentId, skills: &SkillSet) -> Shown {
        let shelf = self.of(agent);
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.refresh(&self.home, agent, skills)
    }

    /// Takes from the shelf of an agent what is not among these skills any more, also from before
    /// the eyes of programs that run. Blocks.
    pub(crate) fn withdraw(&self, agent: &AgentId, skills: Option<&SkillSet>) {
        let shelf = self.of(agent);
        let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let disk = Disk::shown(&self.home.agent(agent));
        shelf.skills.retain(|name, shelved| {
            let stays = skills.is_some_and(|skills| skills.get(name).is_some());
            // What can't be removed is looked at again with the next program.
            let is_gone = !stays && (shelved.trouble.is_some() || disk.discard(name).is_ok());
            !is_gone
        });
    }
}

impl Shelf {
    fn refresh(&mut self, home: &Home, agent: &AgentId, skills: &SkillSet) -> Shown {
        let disk = Disk::shown(&home.agent(agent));
        let mut shown = Shown::default();
        if !self.is_known {
            if let Err(why) = disk.clear() {
                tracing::warn!(%agent, why, "skills can't be shown to programs");
                return shown;
            }
            self.skills.clear();
            self.is_known = true;
        }
        self.skills.retain(|name, _| skills.get(name).is_some());
        let gone = disk.names().into_iter().filter(|name| skills.get(name).is_none());
        let left: Vec<String> = gone.filter_map(|name| disk.discard(&name).err()).collect();
        if let Some(why) = left.first() {
            // It would be shown with the others.
            tracing::warn!(%agent, why, "skills can't be shown to programs");
            return shown;
        }
        let lock = match skills.skills.iter().any(|skill| skill.place == SkillLocation::Own) {
            true => Disk::new(&home.agent(agent)).lock(),
            false => Ok(Lock::default()),
        };
        for skill in skills.skills.iter() {
            let trouble = match &lock {
                Ok(lock) => self.shelve(home, agent, skill, lock, &disk),
                Err(why) => Some(why.clone()),
            };
            match trouble {
                None => drop(shown.names.insert(skill.name.clone())),
                Some(why) => shown.withheld.push((skill.name.clone(), why)),
            }
        }
        shown
    }

    /// Has one skill stand there as it is now; why it does not, where it does not.
    fn shelve(
        &mut self,
        home: &Home,
        agent: &AgentId,
        skill: &Skill,
        lock: &Lock,
        disk: &Disk,
    ) -> Option<String> {
        let source = Source::of(home, agent, skill);
        let stamps = match files::stamps(&source.folder, source.top, &skill.folder) {
            Ok(stamps) => stamps,
            Err(why) => {
                self.skills.remove(&skill.name);
                let _ = disk.discard(&skill.name);
                return Some(why);
            }
        };
        let locked = lock.skills.get(&*skill.name);
        let is_own = skill.place == SkillLocation::Own;
        let made_of = MadeOf {
            place: skill.place.clone(),
            folder: skill.folder.clone(),
            hash: skill.hash,
            accepted: skill.accepted.clone(),
            stamps,
            locked: locked.filter(|locked| is_own && *locked.folder == *skill.folder).cloned(),
        };
        if let Some(known) = self.skills.get(&skill.name).filter(|it| it.made_of == made_of) {
            return known.trouble.clone();
        }
        let copied = source
            .contents(skill, &made_of)
            .and_then(|contents| disk.write(&skill.name, &contents));
        let trouble = copied.err();
        if let Some(why) = &trouble {
            tracing::warn!(%agent, skill = %skill.name, why, "a skill is not shown to programs");
            let _ = disk.discard(&skill.name);
        }
        let shelved = Shelved { made_of, trouble: trouble.clone() };
        self.skills.insert(skill.name.clone(), shelved);
        trouble
    }
}

/// Where a skill is read from.
struct Source {
    folder: PathBuf,
    top: Top,
}

impl Source {
    fn of(home: &Home, agent: &AgentId, skill: &Skill) -> Self {
        let folder = home.root().join(skill.place.folder(agent.as_str()));
        let is_own = skill.place == SkillLocation::Own;
        Self { folder, top: if is_own { Top::IsFolder } else { Top::MayBeLink } }
    }

    /// The files of a skill that programs may see.
    fn contents(&self, skill: &Skill, of: &MadeOf) -> Result<Contents, String> {
        let (mut contents, mut total) = (Contents::default(), 0);
        for FileStamp { path, executable, .. } in &of.stamps {
            let full = format!("{}/{path}", skill.folder);
            let read = files::read_file(&self.folder, self.top, &full, FILE_BYTES_MAX);
            let bytes = read.map_err(|why| format!("`{path}` {why}"))?;
            let bytes = bytes.ok_or_else(|| format!("`{path}` is gone"))?;
            total += bytes.len() as u64;
            if total > SKILL_BYTES_MAX {
                return Err(format!("it has more than {SKILL_BYTES_MAX} bytes"));
            }
            if *executable {
                contents.executable.insert(path.to_string());
            }
            contents.files.insert(path.to_string(), bytes);
        }
        let document = contents.files.get(DOCUMENT).map(Vec::as_slice).unwrap_or_default();
        let document = document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document);
        if *blake3::hash(document).as_bytes() != of.hash {
            return Err("it was changed just now".to_owned());
        }
        if of.locked.as_ref().is_some_and(|locked| !locked.differs(&contents.files).is_none()) {
            return Err(CHANGED.to_owned());
        }
        // What a view would not show is not there to be printed either.
        contents.files.retain(|path, bytes| findings(path, bytes, &of.accepted).is_empty());
        Ok(contents)
    }
}

impl Capabilities {
    /// Has programs of an agent find its skills as the generation that holds now has them.
    pub(crate) async fn show_skills(&self, agent: &AgentId) -> Shown {
        let Ok(now) = self.registry.context_of(agent) else { return Shown::default() };
        let (programs, id) = (self.programs.clone(), agent.clone());
        let refresh = move || programs.shelves.refresh(&id, &now.skills);
        self.world.storage.run(refresh).await.unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod shelf_tests;
