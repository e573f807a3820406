//! Whose words are in files.
//!
//! What a turn writes is made of what it has read, and whoever reads the file later reads that
//! too. A file is noted before it is written, so that no crash forgets it. Programs see every
//! folder of their conversation: what one prints or writes counts as made of all that is there.

use crate::current::runs_programs;
use crate::shop::Shop;
use crate::turn::TurnContext;
use insula_config::mcp::McpWay;
use insula_domain::tool;
use insula_domain::{Effect, Integrity, Label, Source, SourceKind, Switch};
use insula_store::{AgentCommand, ForeignFile, StoreError};
use insula_tools::workspace::{FilePlace, Within};
use insula_tools::{Output, ToolError, ToolRef};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Files of an agent that are noted one by one; where there are more, their folders are.
const FILES_MAX: usize = 256;

/// What a call does with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Nothing,
    Reads,
    Writes,
    /// Runs something that sees all folders.
    Programs,
}

impl Use {
    fn of(cx: &TurnContext, tool: &ToolRef) -> Self {
        let Some(spec) = tool::find(tool.name()) else {
            return if is_local_server(cx, tool) { Self::Programs } else { Self::Nothing };
        };
        let has = |effect: Effect| spec.effects.contains(&effect);
        if runs_programs(tool) {
            Self::Programs
        } else if has(Effect::WriteFiles) {
            Self::Writes
        } else if has(Effect::ReadFiles) {
            Self::Reads
        } else {
            Self::Nothing
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

/// What is known of the files of one turn.
pub(crate) struct Provenance<'p> {
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
        shop: &Shop,
        cx: &'p TurnContext,
        tool: &'p ToolRef,
        arguments: &'p Value,
    ) -> Self {
        let home = shop.caps.home.real_root();
        // Nothing of what it reads comes into the turn.
        let is_read = !tool.is_quarantined();
        Self { cx, home, tool, arguments, does: Use::of(cx, tool), is_read }
    }

    /// Notes what the call is about to write, where others had a word in it.
    pub(crate) async fn before(&self) -> Result<(), StoreError> {
        let targets = match self.does {
            Use::Nothing | Use::Reads => return Ok(()),
            // What can't be found out is noted of all that could be meant.
            Use::Writes => match self.named().await {
                Ok(places) => self.names(places),
                Err(_) => self.names(self.own_folders().await),
            },
            Use::Programs => self.names(self.own_folders().await),
        };
        let store = &self.cx.agent.store;
        let known = store.foreign_files().await?;
        // What is changed in part keeps its words, and programs may copy any.
        let kept = known.iter().filter(|it| targets.iter().any(|name| it.touches(name)));
        let seen = self.cx.seen.label().integrity().clone();
        let integrity = kept.fold(seen, |all, file| all.join(&file.integrity));
        if integrity.is_own() {
            return Ok(());
        }
        let targets = match known.len() + targets.len() > FILES_MAX {
            true => self.names(self.own_folders().await),
            false => targets,
        };
        let is_noted = |name: &str| {
            let says = |it: &ForeignFile| it.integrity.join(&integrity) == it.integrity;
            known.iter().any(|it| it.holds(name) && says(it))
        };
        let fresh = targets.into_iter().filter(|name| !is_noted(name));
        let batch: Vec<AgentCommand> = fresh
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
        let places = match self.does {
            // Those words are ours.
            _ if matches!(outcome, Err(ToolError::Refused(_) | ToolError::Arguments(_))) => {
                return Ok(Integrity::own());
            }
            Use::Writes if outcome.is_ok() => return Ok(Integrity::own()),
            _ if !self.is_read => return Ok(Integrity::own()),
            Use::Nothing => return Ok(Integrity::own()),
            // What a server says is foreign as it is.
            Use::Programs if tool::find(self.tool.name()).is_none() => return Ok(Integrity::own()),
            // What does not fit a file is told with lines of it.
            Use::Reads | Use::Writes => self.named().await,
            Use::Programs => self.cx.files.places().await,
        };
        let Ok(places) = places else {
            // Nobody knows what it was made of.
            self.cx.seen.add(&Label::anyone().with(&Integrity::many()));
            return Ok(Integrity::many());
        };
        let known = self.cx.agent.store.foreign_files().await?;
        let mut integrity = Integrity::own();
        let mut add = |more: &Integrity| integrity = integrity.join(more);
        if self.does == Use::Programs && self.cx.agent.programs.sandbox == Switch::Off {
            add(&Integrity::of(Source::new(SourceKind::Program, self.tool.name())));
        }
        let own = match places.iter().any(|it| it.within == Within::Output) {
            true => self.names(self.own_folders().await),
            false => Vec::new(),
        };
        for place in &places {
            let name = ForeignFile::name(&self.home, &place.path);
            let is_kept = |it: &&ForeignFile| match place.within {
                // What a program printed was made of what it could see.
                Within::Output => own.iter().any(|own| it.touches(own)),
                Within::Own | Within::Shared => it.touches(&name),
            };
            known.iter().filter(is_kept).for_each(|it| add(&it.integrity));
            if let Some(source) = source_of(place, self.does) {
                add(&Integrity::of(source));
            }
        }
        let untrusted = self.cx.agent.boundary.integrity.untrusted(&integrity);
        self.cx.seen.add(&Label::anyone().with(&untrusted));
        Ok(untrusted)
    }

    fn names(&self, places: Vec<FilePlace>) -> Vec<Box<str>> {
        places.iter().map(|place| ForeignFile::name(&self.home, &place.path)).collect()
    }

    /// The places that the call names.
    async fn named(&self) -> Result<Vec<FilePlace>, ToolError> {
        let mut paths = self.tool.writes(self.arguments);
        if paths.is_empty() {
            let path = self.arguments.get("path").and_then(Value::as_str);
            paths.push(path.unwrap_or(".").to_owned());
        }
        self.cx.files.places_of(paths).await
    }

    /// The folders that programs of the conversation write to; at least the agent's own, which is
    /// also what stands for a conversation without any.
    async fn own_folders(&self) -> Vec<FilePlace> {
        let places = self.cx.files.places().await.unwrap_or_default();
        let mut own: Vec<FilePlace> =
            places.into_iter().filter(|place| place.within == Within::Own).collect();
        if own.is_empty() {
            let path = self.cx.agent.workspace.path.clone();
            own.push(FilePlace { path, within: Within::Own });
        }
        own
    }
}

/// Who may have written what is at a place, beside what is noted of it.
fn source_of(place: &FilePlace, does: Use) -> Option<Source> {
    match place.within {
        Within::Own => None,
        Within::Shared => Some(Source::new(SourceKind::File, &place.path.to_string_lossy())),
        // Programs do not see it.
        Within::Output if does == Use::Programs => None,
        Within::Output => {
            let name = place.path.file_name().map(Path::new)?.to_string_lossy();
            let printed = name.strip_suffix(".txt").unwrap_or_default();
            let is_printed = printed.parse::<u64>().is_ok();
            (!is_printed).then(|| Source::new(SourceKind::Attachment, &name))
        }
    }
}
