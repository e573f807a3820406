//! Whose words are in files.
//!
//! What a turn writes is made of what it has read, and whoever reads the file later reads that
//! too. A file is noted before it is written, so that no crash forgets it. Programs see every
//! folder of their conversation: what one prints or writes counts as made of all that is there.
//! One that runs already may carry on what is written where it looks.

use crate::current::runs_programs;
use crate::seen::is_said_by;
use crate::shop::Shop;
use crate::turn::TurnContext;
use insula_capabilities::programs::{LiveProgram, ProgramReach};
use insula_config::mcp::McpWay;
use insula_domain::tool;
use insula_domain::{
    AccessMode, Act, Effect, Integrity, IntegrityProfile, Label, Source, SourceKind, Switch,
    TaintedRule,
};
use insula_registry::context::AgentContext;
use insula_store::{AgentCommand, ForeignFile, StoreError};
use insula_tools::workspace::{FilePlace, Within};
use insula_tools::{Files, Output, Risk, ToolError, ToolRef};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files below one folder that are noted one by one; where there are more, the folder is.
const FILES_MAX: usize = 256;

/// What a call does with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Nothing,
    Reads,
    Writes,
    /// Looks at what runs.
    Watches,
    /// Runs something that sees all folders.
    Runs,
    /// Calls a server that runs here and sees those that conversations have in common.
    Serves(Serving),
}

/// What a server that runs here does when it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serving {
    /// It only reads, which is its own word.
    Reads,
    /// Whatever it likes.
    Acts,
}

impl Use {
    fn of(cx: &TurnContext, tool: &ToolRef, arguments: &Value) -> Self {
        let Some(spec) = tool::find(tool.name()) else { return Self::of_server(cx, tool) };
        let has = |effect: Effect| spec.effects.contains(&effect);
        if runs_programs(tool) {
            if tool.risk(arguments) == Risk::None { Self::Watches } else { Self::Runs }
        } else if has(Effect::WriteFiles) {
            Self::Writes
        } else if has(Effect::ReadFiles) {
            Self::Reads
        } else {
            Self::Nothing
        }
    }

    fn of_server(cx: &TurnContext, tool: &ToolRef) -> Self {
        let is_strict = cx.agent.boundary.integrity.profile == IntegrityProfile::Strict;
        match is_local_server(cx, tool) {
            false => Self::Nothing,
            true if tool.only_reads() && !is_strict => Self::Serves(Serving::Reads),
            true => Self::Serves(Serving::Acts),
        }
    }
}

/// Whether a tool is one of a server that runs here, and may write what it is called with.
fn is_local_server(cx: &TurnContext, tool: &ToolRef) -> bool {
    let Some(source) = tool.source("") else { return false };
    let Some((server, _)) = source.name().split_once('/') else { return false };
    let server = cx.agent.mcp.server(server);
    server.is_some_and(|server| matches!(server.way, McpWay::Program { .. }))
}

/// What a call does by way of programs, and no argument of it says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InSight {
    /// Whose words a program of it would find, and may do what they say.
    pub(crate) integrity: Integrity,
    /// What a program does with it that runs already.
    pub(crate) act: Option<Act>,
}

/// What is known of the files of one call.
pub(crate) struct Provenance<'p> {
    shop: &'p Shop,
    cx: &'p TurnContext,
    home: PathBuf,
    tool: &'p ToolRef,
    arguments: &'p Value,
    does: Use,
    /// Whether the turn is shown what the call brings.
    is_read: bool,
}

impl<'p> Provenance<'p> {
    pub(crate) fn new(
        shop: &'p Shop,
        cx: &'p TurnContext,
        tool: &'p ToolRef,
        arguments: &'p Value,
    ) -> Self {
        let home = shop.caps.home.real_root();
        // Nothing of what it reads comes into the turn.
        let is_read = !tool.is_quarantined();
        let does = Use::of(cx, tool, arguments);
        Self { shop, cx, home, tool, arguments, does, is_read }
    }

    /// Looks what programs have to do with the call, for those generations that it has to be
    /// allowed by. Nothing is looked up for a call that has nothing to do with any.
    pub(crate) async fn in_sight<'a>(
        &self,
        mut generations: impl Iterator<Item = &'a AgentContext>,
    ) -> Result<InSight, StoreError> {
        let name = self.tool.name();
        let asks = |agent: &AgentContext| {
            ProgramReach::of(agent) == ProgramReach::Outside
                && agent.boundary.integrity.rule(name, [Act::Program]) != TaintedRule::Allow
        };
        let is_judged = self.does == Use::Runs && generations.any(asks);
        let act =
            (!self.cx.seen.is_own() && self.is_fed_to_programs().await).then_some(Act::Program);
        let integrity = match is_judged {
            true => self.found_in(&self.view().await).await?,
            false => Integrity::own(),
        };
        Ok(InSight { integrity, act })
    }

    /// Notes what the call is about to write, where others had a word in it.
    pub(crate) async fn before(&self) -> Result<(), StoreError> {
        let (targets, made_of) = match self.does {
            Use::Nothing | Use::Reads | Use::Watches => return Ok(()),
            Use::Writes => {
                let targets = self.targets().await;
                let kept = self.noted_in(&targets).await?;
                (targets, kept)
            }
            Use::Runs | Use::Serves(_) => {
                let view = self.view().await;
                (writable(&view), self.made_by_programs(&view).await?)
            }
        };
        // A server that only reads is taken at its word, and writes nothing of the sender's.
        let made_by = match self.does {
            Use::Serves(Serving::Reads) => self.cx.seen.label(),
            _ => self.cx.label_of_works(&self.shop.access),
        };
        let made_of = made_of.join(made_by.integrity());
        let integrity = self.cx.agent.boundary.integrity.untrusted(&made_of);
        if targets.is_empty() || integrity.is_own() {
            return Ok(());
        }
        let live = self.shop.caps.programs.live(&self.cx.agent.id);
        let targets = spread(targets, live);
        let store = &self.cx.agent.store;
        let view = self.view().await;
        let known = store.foreign_about(self.names(&view)).await?;
        let is_crowded = known.len() + targets.len() > FILES_MAX;
        let targets = if is_crowded { folders_of(targets, &view) } else { targets };
        let is_noted = |name: &str| {
            let says = |it: &ForeignFile| it.integrity.join(&integrity) == it.integrity;
            !is_crowded && known.iter().any(|it| it.holds(name) && says(it))
        };
        // That a folder holds its own words goes without saying.
        let is_more = |place: &&FilePlace| {
            !integrity.without(|it| Some(it) == source_of(place).as_ref()).is_own()
        };
        let names: BTreeSet<Box<str>> =
            targets.iter().filter(is_more).map(|it| self.name(it)).collect();
        let batch: Vec<AgentCommand> = names
            .into_iter()
            .filter(|name| !is_noted(name))
            .map(|path| AgentCommand::NoteForeign { path, integrity: integrity.clone() })
            .collect();
        match batch.is_empty() {
            true => Ok(()),
            false => store.commit(batch).await.map(drop),
        }
    }

    /// Whose words the result of the call tells. The turn has read them from now on.
    pub(crate) async fn after(
        &self,
        outcome: &Result<Output, ToolError>,
    ) -> Result<Integrity, StoreError> {
        let is_ours = matches!(outcome, Err(ToolError::Refused(_) | ToolError::Arguments(_)));
        let told = match self.does {
            _ if is_ours || !self.is_read => return Ok(Integrity::own()),
            // What a server says is foreign as it is.
            Use::Nothing | Use::Serves(_) => return Ok(Integrity::own()),
            Use::Writes if outcome.is_ok() => return Ok(Integrity::own()),
            // What does not fit a file is told with lines of it.
            Use::Reads | Use::Writes => match self.named().await {
                Ok(places) => self.told_of(&places, outcome).await?,
                // Nobody knows what it was made of.
                Err(_) => Integrity::many(),
            },
            Use::Watches | Use::Runs => match self.cx.files.places().await {
                Ok(places) => self.made_by_programs(&self.seen_of(places)).await?,
                Err(_) => Integrity::many(),
            },
        };
        let untrusted = self.cx.agent.boundary.integrity.untrusted(&told);
        self.cx.seen.add(&Label::anyone().with(&untrusted));
        Ok(untrusted)
    }

    /// Whose words are in files that were read, or in what was said about them.
    async fn told_of(
        &self,
        places: &[FilePlace],
        outcome: &Result<Output, ToolError>,
    ) -> Result<Integrity, StoreError> {
        let mut told = self.noted_in(places).await?;
        for source in places.iter().filter_map(source_of) {
            told = told.join(&Integrity::of(source));
        }
        // What a program printed was made of what it could see.
        if places.iter().any(|it| it.within == Within::Output) {
            told = told.join(&self.found_in(&self.view().await).await?);
        }
        match outcome {
            Err(error) => Ok(told.join(&self.named_by(&error.to_string()).await?)),
            Ok(_) => Ok(told),
        }
    }

    /// Whose words are the names of files that an error tells: those in the folder of the one that
    /// could not be read.
    async fn named_by(&self, error: &str) -> Result<Integrity, StoreError> {
        let above = |path: &String| {
            let above = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
            if above.is_empty() { ".".to_owned() } else { above.to_owned() }
        };
        let folders = self.paths().iter().map(above).collect();
        let Ok(folders) = self.cx.files.places_of(folders).await else {
            return Ok(Integrity::many());
        };
        let mut told = Integrity::own();
        for folder in self.names(&folders) {
            let known = self.cx.agent.store.foreign_about(vec![folder.clone()]).await?;
            let is_told = |it: &&ForeignFile| {
                let below = it.path.strip_prefix(&*folder).unwrap_or_default();
                let name = below.trim_start_matches('/').split('/').next().unwrap_or_default();
                // Of one that can't be shown as it is nobody knows how it is shown.
                let is_odd = name.contains(|it: char| it.is_control() || it == '\u{fffd}');
                !name.is_empty() && (is_odd || error.contains(&format!("`{name}`")))
            };
            told = known.iter().filter(is_told).fold(told, |all, it| all.join(&it.integrity));
        }
        Ok(told)
    }

    /// Whose words may be in what programs of the call make of what they see.
    async fn made_by_programs(&self, view: &[FilePlace]) -> Result<Integrity, StoreError> {
        let made = match self.does {
            Use::Serves(Serving::Reads) => self.noted_in(view).await?,
            _ => self.found_in(view).await?,
        };
        let own = match self.does {
            Use::Serves(Serving::Acts) => self.tool.source(""),
            Use::Serves(Serving::Reads) => None,
            _ if self.cx.agent.programs.sandbox == Switch::Off => {
                Some(Source::new(SourceKind::Program, self.tool.name()))
            }
            _ => None,
        };
        Ok(own.map_or(made.clone(), |it| made.join(&Integrity::of(it))))
    }

    /// Whose words programs find in folders: those that are noted, and those of whoever else
    /// writes there.
    async fn found_in(&self, view: &[FilePlace]) -> Result<Integrity, StoreError> {
        let noted = self.noted_in(view).await?;
        let shared = view.iter().filter(|it| it.within == Within::Shared).filter_map(source_of);
        Ok(shared.fold(noted, |all, it| all.join(&Integrity::of(it))))
    }

    /// Whose words are noted of places, of what holds them and of what is below them. What the
    /// sender wrote steers their turn as what they say now.
    async fn noted_in(&self, places: &[FilePlace]) -> Result<Integrity, StoreError> {
        let known = self.cx.agent.store.foreign_about(self.names(places)).await?;
        let all = known.iter().fold(Integrity::own(), |all, it| all.join(&it.integrity));
        Ok(all.without(|it| is_said_by(it, &self.cx.principal)))
    }

    /// Whether a program reads what the call writes, and can tell somebody of it.
    async fn is_fed_to_programs(&self) -> bool {
        let live = self.shop.caps.programs.live(&self.cx.agent.id);
        let reaches = |it: &LiveProgram| it.reach() == ProgramReach::Outside;
        if !live.iter().any(reaches) {
            return false;
        }
        let targets = match self.does {
            Use::Writes => self.targets().await,
            Use::Runs | Use::Serves(Serving::Acts) => writable(&self.view().await),
            Use::Nothing | Use::Reads | Use::Watches | Use::Serves(Serving::Reads) => return false,
        };
        let targets = spread(targets, live.clone());
        live.iter().any(|it| reaches(it) && targets.iter().any(|place| it.sees(&place.path)))
    }

    fn name(&self, place: &FilePlace) -> Box<str> {
        ForeignFile::name(&self.home, &place.path)
    }

    fn names(&self, places: &[FilePlace]) -> Vec<Box<str>> {
        places.iter().map(|place| self.name(place)).collect()
    }

    /// The paths that the call names.
    fn paths(&self) -> Vec<String> {
        let mut paths = self.tool.writes(self.arguments);
        if paths.is_empty() {
            let path = self.arguments.get("path").and_then(Value::as_str);
            paths.push(path.unwrap_or(".").to_owned());
        }
        paths
    }

    /// The places that the call names.
    async fn named(&self) -> Result<Vec<FilePlace>, ToolError> {
        self.cx.files.places_of(self.paths()).await
    }

    /// What a call writes that names it; all that could be meant where that can't be found out.
    async fn targets(&self) -> Vec<FilePlace> {
        match self.named().await {
            Ok(places) => places,
            Err(_) => writable(&self.view().await),
        }
    }

    /// The folders that programs of the call see; at least the agent's own, which is also what
    /// stands for a conversation without any.
    async fn view(&self) -> Vec<FilePlace> {
        let files: Files = match self.does {
            Use::Serves(_) => self.cx.agent.workspace.common_files(&self.shop.world),
            _ => self.cx.files.clone(),
        };
        self.seen_of(files.places().await.unwrap_or_default())
    }

    fn seen_of(&self, mut places: Vec<FilePlace>) -> Vec<FilePlace> {
        places.retain(|place| place.within != Within::Output);
        if places.is_empty() {
            let path = self.cx.agent.workspace.path.clone();
            places.push(FilePlace { path, within: Within::Own, mode: AccessMode::Rw });
        }
        places
    }
}

/// The folders of these that can be written to.
fn writable(view: &[FilePlace]) -> Vec<FilePlace> {
    view.iter().filter(|place| place.mode == AccessMode::Rw).cloned().collect()
}

/// Where what is written may come to: each program that sees some of it may carry it on to
/// wherever it writes.
fn spread(mut targets: Vec<FilePlace>, mut live: Vec<LiveProgram>) -> Vec<FilePlace> {
    let sees = |program: &LiveProgram, targets: &[FilePlace]| {
        targets.iter().any(|place| program.sees(&place.path))
    };
    while let Some(at) = live.iter().position(|it| sees(it, &targets)) {
        let folders = live.swap_remove(at).writes().to_vec();
        for path in folders {
            targets.retain(|place| !place.path.starts_with(&path));
            targets.push(FilePlace { path, within: Within::Own, mode: AccessMode::Rw });
        }
    }
    targets
}

/// The granted folders that places are in; a place that is in none stands for itself.
fn folders_of(places: Vec<FilePlace>, view: &[FilePlace]) -> Vec<FilePlace> {
    let folder = |place: FilePlace| {
        let holding = view.iter().filter(|it| place.path.starts_with(&it.path));
        holding.max_by_key(|it| it.path.components().count()).cloned().unwrap_or(place)
    };
    places.into_iter().map(folder).collect()
}

/// Who may have written what is at a place, beside what is noted of it.
fn source_of(place: &FilePlace) -> Option<Source> {
    match place.within {
        Within::Own => None,
        Within::Shared => Some(Source::new(SourceKind::File, &place.path.to_string_lossy())),
        Within::Output => {
            let name = place.path.file_name().map(Path::new)?.to_string_lossy();
            let printed = name.strip_suffix(".txt").unwrap_or_default();
            let is_printed = printed.parse::<u64>().is_ok();
            (!is_printed).then(|| Source::new(SourceKind::Attachment, &name))
        }
    }
}
