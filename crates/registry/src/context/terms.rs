//! What whoever asked holds a turn to, beside what they said: less than the agent may, nobody to
//! ask, a folder to work in. An editor and `insula run` come with such terms.
//!
//! All of it takes away but the folder, and a folder that the agent was not granted is given by
//! the operator's own command alone: who makes terms asks [`Terms::folder_of_agent`] first.

use crate::workspace::Workspace;
use insula_domain::{
    AccessMode, BudgetLimits, Effect, Narrowing, Selector, SessionKey, ToolNarrowing,
};
use insula_store::{Seals, SessionId};
use insula_tools::workspace::{Absent, Granted, Site};
use insula_tools::{Buffers, Files, Seat};
use insula_world::World;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What a turn is held to, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// What is taken away from the agent.
    pub less: Arc<Narrowing>,
    pub approvals: TermApprovals,
    pub desk: Desk,
    /// Whether the conversation is for this turn alone: the agent's own folder is none of its.
    pub once: bool,
    /// What an editor at the other end does; `None` where there is none, or none any more.
    pub editor: Option<Offers>,
}

/// How a turn gets the agreement that some of its calls need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermApprovals {
    /// As its agent does.
    Ask,
    /// Nobody is asked: these calls were agreed to before, and no others.
    Only(Vec<AllowedCall>),
}

/// Calls that were agreed to before they were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedCall {
    tool: Box<str>,
    /// The command, to the letter; `None` for every call of the tool.
    command: Option<Box<str>>,
}

/// Where a turn's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Desk {
    /// Where they always are; in a conversation for one turn, in a folder that goes with it.
    Usual,
    /// First of all in this folder.
    Folder { path: PathBuf, mode: AccessMode, by: GrantedBy },
}

/// By whom a folder is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantedBy {
    /// The agent has it anyway.
    Agent,
    /// The operator's command, for this conversation.
    Operator,
}

/// What an editor does for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offers {
    /// It says what it has open.
    pub reads: bool,
    /// It takes what is written.
    pub writes: bool,
}

/// Effects of tools that change something, for turns that may only look.
const CHANGING: [Effect; 10] = [
    Effect::WriteFiles,
    Effect::RunProgram,
    Effect::RunCode,
    Effect::Remember,
    Effect::Send,
    Effect::Schedule,
    Effect::ChangeSelf,
    Effect::Board,
    Effect::Media,
    Effect::Delegate,
];

impl AllowedCall {
    /// Reads `TOOL` or `TOOL:COMMAND`. `None` for one without a tool.
    pub fn parse(text: &str) -> Option<Self> {
        let (tool, command) = match text.split_once(':') {
            Some((_, command)) if command.trim().is_empty() => return None,
            Some((tool, command)) => (tool, Some(command.trim())),
            None => (text, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let tool = tool.trim();
        (!tool.is_empty() && tool.chars().all(is_name))
            .then(|| Self { tool: tool.into(), command: command.map(Into::into) })
    }

    /// The tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    fn covers(&self, tool: &str, command: Option<&str>) -> bool {
        *self.tool == *tool
            && self.command.as_deref().is_none_or(|own| command.map(str::trim) == Some(own))
    }
}

impl std::fmt::Display for AllowedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{}:{command}", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

impl Terms {
    /// Holds a turn to nothing yet; `by` is how records call it.
    pub fn by(by: impl Into<Box<str>>) -> Self {
        Self {
            less: Arc::new(Narrowing::by(by)),
            approvals: TermApprovals::Ask,
            desk: Desk::Usual,
            once: false,
            editor: None,
        }
    }

    /// The tools that only look, and nothing else.
    pub fn looks_only(by: &str) -> ToolNarrowing {
        ToolNarrowing { without_effects: CHANGING.to_vec(), ..ToolNarrowing::by(by) }
    }

    /// Whether a call was agreed to before: `None` where its agent is asked.
    pub fn allows(&self, tool: &str, command: Option<&str>) -> Option<bool> {
        match &self.approvals {
            TermApprovals::Ask => None,
            TermApprovals::Only(calls) => Some(calls.iter().any(|it| it.covers(tool, command))),
        }
    }

    /// What an agent may do in a folder that it has anyway; `None` where it has none around it.
    pub fn folder_of_agent(workspace: &Workspace, path: &Path) -> Option<AccessMode> {
        workspace.place().grant_around(path)
    }

    /// The files of a turn under these terms.
    pub fn files(
        &self,
        workspace: &Workspace,
        (key, session): (&SessionKey, SessionId),
        seals: &Seals,
        world: &World,
    ) -> Files {
        let files = workspace.files(key, session, seals, world);
        let granted = match &self.desk {
            Desk::Usual if !self.once => return files,
            Desk::Usual => {
                let site = Site::Home(workspace.one_off(seals, session));
                Granted { site, mode: AccessMode::Rw, absent: Absent::Make }
            }
            Desk::Folder { path, mode, by } => {
                let mode = match by {
                    GrantedBy::Operator => Some(*mode),
                    // As it is now: a reload may have taken it back.
                    GrantedBy::Agent => {
                        Self::folder_of_agent(workspace, path).map(|now| now.min(*mode))
                    }
                };
                let Some(mode) = mode else { return files };
                let site = Site::Path(path.clone());
                Granted { site, mode, absent: Absent::Leave }
            }
        };
        let seat = if self.once { Seat::Instead(granted) } else { Seat::Before(granted) };
        files.seated(seat, self.editor.map(|_| Arc::new(Buffers::default())))
    }
}

/// Whether a path says where a folder is without a detour: whole, and with no `..` in it.
pub fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|it| matches!(it, Component::RootDir | Component::Normal(_)))
}

/// The form in the journal: a turn that a crash cut off goes on under the same terms, without
/// the editor, which is gone.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptTerms {
    by: String,
    only: Option<Vec<String>>,
    without: Vec<String>,
    looks: bool,
    usd_micros: Option<u64>,
    model: Option<String>,
    allow: Option<Vec<String>>,
    folder: Option<String>,
    mode: Option<String>,
    of_operator: bool,
    once: bool,
}

impl KeptTerms {
    pub(super) fn of(terms: &Terms) -> Self {
        let texts = |of: &[Selector]| of.iter().map(ToString::to_string).collect();
        let tools = terms.less.tools.as_ref();
        let (folder, mode, by) = match &terms.desk {
            Desk::Folder { path, mode, by } => (path.to_str(), Some(mode.as_str()), Some(*by)),
            Desk::Usual => (None, None, None),
        };
        Self {
            by: terms.less.name.to_string(),
            only: tools.and_then(|tools| tools.only.as_deref()).map(texts),
            without: tools.map(|tools| texts(&tools.without)).unwrap_or_default(),
            looks: tools.is_some_and(|tools| !tools.without_effects.is_empty()),
            usd_micros: terms.less.budget.usd_micros_per_day,
            model: terms.less.model.as_deref().map(Into::into),
            allow: match &terms.approvals {
                TermApprovals::Ask => None,
                TermApprovals::Only(calls) => Some(calls.iter().map(ToString::to_string).collect()),
            },
            folder: folder.map(Into::into),
            mode: mode.map(Into::into),
            of_operator: by == Some(GrantedBy::Operator),
            once: terms.once,
        }
    }

    pub(super) fn restored(self) -> Option<Terms> {
        let read = |texts: Vec<String>| -> Option<Vec<Selector>> {
            texts.iter().map(|text| Selector::parse(text).ok()).collect()
        };
        let only = match self.only {
            Some(only) => Some(read(only)?),
            None => None,
        };
        let without = read(self.without)?;
        let has_tools = only.is_some() || !without.is_empty() || self.looks;
        let tools = has_tools.then(|| {
            let base = match self.looks {
                true => Terms::looks_only(&self.by),
                false => ToolNarrowing::by(&*self.by),
            };
            ToolNarrowing { only, without, ..base }
        });
        let approvals = match self.allow {
            None => TermApprovals::Ask,
            Some(calls) => {
                let calls = calls.iter().map(|call| AllowedCall::parse(call));
                TermApprovals::Only(calls.collect::<Option<_>>()?)
            }
        };
        let desk = match self.folder {
            None => Desk::Usual,
            Some(path) => Desk::Folder {
                path: PathBuf::from(path),
                mode: AccessMode::parse(self.mode.as_deref()?)?,
                by: if self.of_operator { GrantedBy::Operator } else { GrantedBy::Agent },
            },
        };
        let budget =
            BudgetLimits { usd_micros_per_day: self.usd_micros, ..BudgetLimits::default() };
        let model = self.model.map(Into::into);
        let less = Arc::new(Narrowing { tools, budget, model, ..Narrowing::by(self.by) });
        Some(Terms { less, approvals, desk, once: self.once, editor: None })
    }
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
