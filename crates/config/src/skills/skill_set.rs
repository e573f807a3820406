//! Which skills an agent has: its own folder's first, then those of its bundles. Immutable, a
//! part of the agent's generation.

use super::files::{SkillFiles, SkillFolder};
use super::judge::findings;
use super::likeness::near_duplicates;
use super::skill::{Skill, SkillLocation};
use super::{DOCUMENT, Document, document, index};
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::file_state::FileState;
use crate::files::FilesSnapshot;
use crate::source::{SourceId, Span};
use insula_domain::Selector;
use insula_domain::scan::{Use, reveal, scan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The operating system we run on, as skills name it.
const PLATFORM: &str = "linux";

/// Groups of skills with nearly the same description that are told of, for one agent.
const ALIKE_GROUPS_MAX: usize = 20;
/// Skills of such a group that are named beside the first.
const ALIKE_NAMED_MAX: usize = 4;

/// The skills of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSet {
    /// The bundles that the configuration names, beside the agent's own folder.
    pub bundles: Vec<Box<str>>,
    /// The skills, by name.
    pub skills: Arc<[Skill]>,
    /// What looks like a skill and is none, and why: for operators, never for the model.
    pub unusable: Arc<[Unusable]>,
    /// What a prompt says about them; empty without skills.
    pub index: Arc<str>,
}

/// Something that looks like a skill and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// Its name where it has one, else its folder.
    pub name: Box<str>,
    /// Where it stands.
    pub place: SkillLocation,
    /// Its folder, below that.
    pub folder: Box<str>,
    /// Whether it was found to be an attack rather than broken.
    pub blocked: bool,
    /// Why it is none.
    pub why: Box<str>,
    /// Line and byte of its `SKILL.md` where that shows.
    line: u32,
    at: usize,
}

impl SkillSet {
    /// The skill of that name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        let at = self.skills.binary_search_by(|skill| (*skill.name).cmp(name)).ok()?;
        self.skills.get(at)
    }

    /// Feeds what tells two shelves apart.
    pub(crate) fn digest(&self, mut part: impl FnMut(&str)) {
        part(&self.index);
        for skill in self.skills.iter() {
            part(&format!("{skill:?}"));
        }
        for unusable in self.unusable.iter() {
            part(&format!("{unusable:?}"));
        }
    }
}

/// The skills of one folder, parsed.
#[derive(Debug, Default)]
struct Parsed {
    skills: Vec<Skill>,
    unusable: Vec<Unusable>,
}

/// Parses every skill of a folder.
fn parse(folder: &SkillFolder, place: &SkillLocation) -> Parsed {
    let mut parsed = Parsed::default();
    for fault in &folder.faults {
        let name: Box<str> = fault.split(' ').next().unwrap_or_default().into();
        parsed.unusable.push(Unusable {
            folder: name.clone(),
            name,
            place: place.clone(),
            blocked: false,
            why: fault.as_str().into(),
            line: 1,
            at: 0,
        });
    }
    for files in &folder.skills {
        let accepted = folder.accepted.get(&files.folder).cloned().unwrap_or_default();
        match skill(files, place, accepted) {
            Ok(skill) => parsed.skills.push(skill),
            Err(unusable) => parsed.unusable.push(*unusable),
        }
    }
    parsed
}

/// What becomes of one skill's files.
fn skill(
    files: &SkillFiles,
    place: &SkillLocation,
    accepted: BTreeSet<Box<str>>,
) -> Result<Skill, Box<Unusable>> {
    let unusable = |name: &str, blocked, why: String, line, at| {
        Box::new(Unusable {
            name: name.into(),
            place: place.clone(),
            folder: files.folder.clone(),
            blocked,
            why: why.into(),
            line,
            at,
        })
    };
    let text = match &files.document {
        FileState::Text(text) => text,
        FileState::Unreadable(why) => {
            return Err(unusable(&files.folder, false, format!("{DOCUMENT} {why}"), 1, 0));
        }
        FileState::Absent => {
            return Err(unusable(&files.folder, false, format!("{DOCUMENT} is gone"), 1, 0));
        }
    };
    let document = document::parse(text).map_err(|fault| {
        let why = format!("{DOCUMENT} {}", fault.message);
        unusable(&files.folder, false, why, fault.line, fault.at)
    })?;
    if let Some(finding) = findings(DOCUMENT, text.as_bytes(), &accepted).first() {
        let (why, line) = (format!("blocked: {finding}"), finding.line);
        return Err(unusable(&document.name, true, why, line, finding.at));
    }
    // A view lists its files, and a list its folder as its category: their names are words too.
    let names = files.files.iter().map(|file| &file.path).chain([&files.folder]);
    if let Some((path, finding)) = names.filter_map(|it| Some((it, name_finding(it)?))).next() {
        let why = format!("blocked: the name `{}` has {finding}", reveal(path));
        return Err(unusable(&document.name, true, why, 1, 0));
    }
    let names_us = |platform: &str| platform.eq_ignore_ascii_case(PLATFORM);
    if !document.platforms.is_empty() && !document.platforms.iter().any(|it| names_us(it)) {
        let why = format!("it is for {}, and this is {PLATFORM}", document.platforms.join(", "));
        return Err(unusable(&document.name, false, why, 1, 0));
    }
    Ok(made(document, text, (files, accepted), place))
}

/// What stands against showing a path of a skill to a model. Hyphens and the like stand for
/// blanks in names, so it is also read with those.
pub fn name_finding(path: &str) -> Option<String> {
    if path.contains(char::is_control) {
        return Some("a control character".to_owned());
    }
    let spoken = path.replace(['-', '_', '.', '/', '+'], " ");
    let found = [path, spoken.as_str()].into_iter().flat_map(|text| scan(text, Use::Skill));
    found.map(|finding| finding.to_string()).next()
}

fn made(
    document: Document,
    text: &str,
    (files, accepted): (&SkillFiles, BTreeSet<Box<str>>),
    place: &SkillLocation,
) -> Skill {
    let parent = files.folder.rsplit_once('/').map(|(parent, _)| parent.into());
    let mut unknown = Vec::new();
    let allowed_tools = document.allowed_tools.map(|names| {
        let selectors = names.iter().filter_map(|name| {
            let known = selector(name);
            if known.is_none() {
                unknown.push(name.clone());
            }
            known
        });
        selectors.collect()
    });
    Skill {
        name: document.name,
        description: document.description,
        category: document.category.or(parent),
        version: document.version,
        place: place.clone(),
        folder: files.folder.clone(),
        hash: *blake3::hash(text.as_bytes()).as_bytes(),
        allowed_tools,
        unknown_tools: unknown.into(),
        variables: document.variables.into(),
        requires: document.requires,
        unread: document.unread.into(),
        files: files.files.clone().into(),
        accepted,
    }
}

/// The tool that an entry of `allowed-tools` means: one of ours, or what other runtimes call
/// it. An entry with a pattern of arguments (`Bash(git:*)`) is none: nothing enforces it here.
fn selector(name: &str) -> Option<Selector> {
    let ours = match name {
        "Bash" => "terminal",
        "Read" => "read_file",
        "Write" => "write_file",
        "Edit" | "MultiEdit" => "patch",
        "Grep" | "Glob" => "search_files",
        "WebFetch" => "web_extract",
        "WebSearch" => "web_search",
        "Task" => "delegate_task",
        "TodoWrite" => "todo",
        other => other,
    };
    Selector::parse(ours).ok()
}

/// A skill that another of the same name keeps from being used.
fn twin(skill: &Skill, other: &Skill) -> Unusable {
    Unusable {
        name: skill.name.clone(),
        place: skill.place.clone(),
        folder: skill.folder.clone(),
        blocked: false,
        why: format!("another skill has the same name, in `{}`", other.folder).into(),
        line: 1,
        at: 0,
    }
}

/// Puts an agent's shelf together.
fn assemble(bundles: Vec<Box<str>>, own: &Parsed, of_bundles: &[Arc<Parsed>]) -> SkillSet {
    let mut by_name: BTreeMap<&str, &Skill> = BTreeMap::new();
    let mut claimed = BTreeMap::new();
    let mut unusable = own.unusable.clone();
    for parsed in of_bundles {
        unusable.extend(parsed.unusable.iter().cloned());
    }
    let all = own.skills.iter().chain(of_bundles.iter().flat_map(|parsed| &parsed.skills));
    for skill in all {
        match by_name.get(&*skill.name) {
            None => drop(by_name.insert(&skill.name, skill)),
            // Its own goes before a bundle's, as a person would expect who put it there.
            Some(first)
                if first.place == SkillLocation::Own && skill.place != SkillLocation::Own => {}
            Some(first) => {
                unusable.push(twin(skill, first));
                claimed.insert(&*skill.name, skill);
            }
        }
    }
    // Neither may stand for the other: one that was put there later would take the place of
    // what an operator installed.
    for (name, other) in claimed {
        if let Some(first) = by_name.remove(name) {
            unusable.push(twin(first, other));
        }
    }
    let skills: Arc<[Skill]> = by_name.into_values().cloned().collect();
    let index = index::index(skills.iter()).into();
    SkillSet { bundles, skills, unusable: unusable.into(), index }
}

/// What many agents have in common: bundles, parsed once, and the places of what was reported.
#[derive(Default)]
pub(crate) struct SharedSkills {
    bundles: BTreeMap<Box<str>, Arc<Parsed>>,
    /// Shelves of agents with nothing of their own, by their bundles.
    plain: BTreeMap<Vec<Box<str>>, Arc<SkillSet>>,
    sources: BTreeMap<String, SourceId>,
}

impl SharedSkills {
    /// The shelf of one agent, with what is wrong with it in `report`: warnings, since the
    /// agent serves without a skill that can't be used.
    pub(crate) fn skill_set(
        &mut self,
        report: &mut LoadReport,
        files: &FilesSnapshot,
        agent: &str,
        bundles: Vec<Box<str>>,
        granted: &BTreeSet<Box<str>>,
    ) -> Arc<SkillSet> {
        let own = files.folders.get(agent).map(|folder| &*folder.skills);
        let own = own.filter(|own| **own != SkillFolder::default());
        let set = match (own, self.plain.get(&bundles)) {
            (None, Some(known)) => known.clone(),
            (own, _) => {
                let of_bundles: Vec<Arc<Parsed>> =
                    bundles.iter().filter_map(|name| self.bundle(files, name)).collect();
                let parsed = own.map(|own| parse(own, &SkillLocation::Own)).unwrap_or_default();
                let set = Arc::new(assemble(bundles.clone(), &parsed, &of_bundles));
                if own.is_none() {
                    self.plain.insert(bundles, set.clone());
                }
                set
            }
        };
        Telling { report, files, agent, sources: &mut self.sources }.tell(&set, granted);
        set
    }

    fn bundle(&mut self, files: &FilesSnapshot, name: &str) -> Option<Arc<Parsed>> {
        let folder = files.bundles.get(name)?;
        let parse = || Arc::new(parse(folder, &SkillLocation::Bundle(name.into())));
        Some(self.bundles.entry(name.into()).or_insert_with(parse).clone())
    }
}

/// Tells what is wrong with one agent's skills.
struct Telling<'t> {
    report: &'t mut LoadReport,
    files: &'t FilesSnapshot,
    agent: &'t str,
    sources: &'t mut BTreeMap<String, SourceId>,
}

impl Telling<'_> {
    fn tell(&mut self, set: &SkillSet, granted: &BTreeSet<Box<str>>) {
        let mine = FindingOwner::Agent(self.agent.into());
        for unusable in set.unusable.iter() {
            let Unusable { name, place, folder, blocked, why, line, at } = unusable;
            let span = self.span(place, folder, *line, *at);
            let message = format!("skill `{name}` is left out: {why}");
            let help = match blocked {
                true => {
                    "read it with care; remove the passage, or the skill, or accept it with `insula skills install`"
                }
                false => "correct it; until then the agent does not have this skill",
            };
            let owner = if *place == SkillLocation::Own { &mine } else { &FindingOwner::Shared };
            let found = Diagnostic::warning(owner, span, message).help(help);
            // What was blocked may be a credential, or not what it seems.
            self.report.push(if *blocked { found.conceal() } else { found });
        }
        for skill in set.skills.iter() {
            let span = |telling: &mut Self| telling.span(&skill.place, &skill.folder, 1, 0);
            for unknown in &skill.unknown_tools {
                let message = format!(
                    "skill `{}` allows `{unknown}`, which names no tool here and so gives none while the skill is in use",
                    skill.name
                );
                let span = span(self);
                self.report.push(Diagnostic::warning(&mine, span, message));
            }
            for unread in &skill.unread {
                let message = format!("skill `{}`: {unread}", skill.name);
                let span = span(self);
                self.report.push(Diagnostic::warning(&mine, span, message));
            }
            for variable in skill.variables.iter().filter(|it| !granted.contains(&it.name)) {
                let (agent, needed) = (self.agent, &variable.name);
                let message = format!(
                    "skill `{}` needs secret `{needed}`, which agent `{agent}` was not granted",
                    skill.name
                );
                let help = format!(
                    "add it to the agent's `secrets`, and set it with `insula secret set {agent} {needed}`"
                );
                let span = span(self);
                self.report.push(Diagnostic::warning(&mine, span, message).help(help));
            }
        }
        let groups = near_duplicates(&set.skills);
        for group in groups.iter().take(ALIKE_GROUPS_MAX) {
            self.warn_of_alike(&mine, group);
        }
        if let Some(group) = groups.get(ALIKE_GROUPS_MAX) {
            let more = groups.len() - ALIKE_GROUPS_MAX;
            let message = format!(
                "{more} more groups of skills of agent `{}` have nearly the same description",
                self.agent
            );
            let span = self.span(&group[0].place, &group[0].folder, 1, 0);
            self.report.push(Diagnostic::warning(&mine, span, message));
        }
    }

    /// Skills that a model can't tell apart: one warning for all of a group.
    fn warn_of_alike(&mut self, mine: &FindingOwner, group: &[&Skill]) {
        let [first, others @ ..] = group else { return };
        let (named, more) = others.split_at(others.len().min(ALIKE_NAMED_MAX));
        let mut names: Vec<String> =
            [first].into_iter().chain(named).map(|skill| format!("`{}`", skill.name)).collect();
        if !more.is_empty() {
            names.push(format!("{} more", more.len()));
        }
        let last = names.pop().unwrap_or_default();
        let message = format!(
            "skills {} and {last} of agent `{}` have nearly the same description",
            names.join(", "),
            self.agent
        );
        let span = self.span(&first.place, &first.folder, 1, 0);
        let mut found = Diagnostic::warning(mine, span, message);
        for other in named {
            let also = self.span(&other.place, &other.folder, 1, 0);
            let what = if others.len() == 1 { "the other one" } else { "another one" };
            found = found.related(also, what);
        }
        let help = "say in each what it is for that the other is not, or keep one";
        self.report.push(found.help(help));
    }

    /// A place in a `SKILL.md`: the line that `at` is in.
    fn span(&mut self, place: &SkillLocation, folder: &str, line: u32, at: usize) -> Span {
        let files = match place {
            SkillLocation::Own => self.files.folders.get(self.agent).map(|folder| &folder.skills),
            SkillLocation::Bundle(name) => self.files.bundles.get(&**name),
        };
        let skill = files.and_then(|files| files.skills.iter().find(|it| *it.folder == *folder));
        let text: Arc<str> = match skill.map(|skill| &skill.document) {
            Some(FileState::Text(text)) => text.clone(),
            _ => "".into(),
        };
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let rest = text.get(start..).unwrap_or_default();
        let end = start + rest.find('\n').unwrap_or(rest.len());
        let name = format!("{}/{folder}/{DOCUMENT}", place.folder(self.agent));
        let report = &mut *self.report;
        let source = *self
            .sources
            .entry(name)
            .or_insert_with_key(|name| report.sources.add(name.as_str(), text.clone()));
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { source, line, column: 1, start: number(start), end: number(end) }
    }
}
