//! The built-in tools, one file each.
//!
//! A tool works over the [`Hands`] it is given for one call: handles that are bound to one
//! agent, session and scope before the tool sees them. It knows no store, no other agent and
//! no file system outside of those handles, and there is nothing it could name one by.

mod clarify;
pub mod cronjob;
pub mod delegate;
mod delegate_task;
mod execute_code;
mod files;
pub mod hands;
mod image_generate;
mod mcp;
pub mod memory;
pub mod mend;
mod nearest;
mod outbox;
mod output;
mod patch;
pub mod pictures;
mod printed;
mod process;
mod quarantine;
mod read_file;
mod reader;
mod remember;
mod schedules;
mod search;
pub mod send_message;
mod servers;
mod session_search;
pub mod shell;
pub mod skills;
mod terminal;
mod todo;
mod tool_search;
pub mod web;
mod web_extract;
mod web_search;
pub mod workspace;
mod write_file;

pub use clarify::Clarify;
pub use cronjob::CronJob;
pub use delegate::Delegate;
pub use delegate_task::DelegateTask;
pub use execute_code::ExecuteCode;
pub use files::{Buffers, FileChange, Files, Seat};
pub use hands::{Hands, History, Hit, Search};
pub use image_generate::ImageGenerate;
pub use mcp::{McpResources, McpTool, RESOURCES, words_of};
pub use memory::Memory;
pub use mend::Habits;
pub use nearest::nearest;
pub use outbox::Outbox;
pub use output::{HandError, Output, Picture, Piece, QuotedSource, ToolError};
pub use patch::Patch;
#[cfg(fuzzing)]
pub use patch::fuzzing as patch_fuzzing;
pub use pictures::Pictures;
pub use process::Process;
pub use quarantine::Quarantined;
pub use read_file::ReadFile;
pub use reader::Reader;
pub use remember::{MemorySearch, Remember, RememberDaily};
pub use schedules::{JobChange, Schedules};
pub use search::SearchFiles;
pub use send_message::SendMessage;
pub use servers::{ServerAnswer, Servers};
pub use session_search::{SessionSearch, SessionSearchAll};
pub use shell::Shell;
pub use skills::{SkillManage, SkillView, SkillsList};
pub use terminal::Terminal;
pub use todo::Todo;
pub use tool_search::{ToolSearch, found};
pub use web::Web;
pub use web_extract::WebExtract;
pub use web_search::WebSearch;
pub use write_file::WriteFile;

use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

#[async_trait]
pub trait Tool: Send + Sync {
    /// Its name, as in the catalogue, or as an MCP server's tool is called.
    fn name(&self) -> &str;

    /// What the model is told it is for. Short: it stands in every prompt.
    fn description(&self) -> &str;

    /// The JSON schema of its arguments, as JSON text. Short for the same reason.
    fn parameters(&self) -> &str;

    /// What models write about its arguments, and what they mean by it.
    fn habits(&self) -> Habits {
        Habits::default()
    }

    /// What a call means that does not say it, by what it does say: nothing that does more than
    /// the words of the call.
    fn left_out(&self, _given: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Whether it goes on from what it last gave back in the same session.
    fn recall(&self) -> Recall {
        Recall::Nothing
    }

    /// What a call is about, where a record of it may name that: paths, never content.
    fn subject(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// What a call would run, for whoever judges whether that is dangerous.
    fn risk<'a>(&self, _arguments: &'a Value) -> Risk<'a> {
        Risk::None
    }

    /// What becomes of a call that is stopped, or cut off by a crash.
    fn course(&self) -> Course {
        Course::Once
    }

    /// Where foreign words of a result came from, by what its pieces say of that; `None` where
    /// the hand has told already.
    fn source(&self, _shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::Program, self.name()))
    }

    /// Whether nothing of what it read comes back but a value of a given shape.
    fn is_quarantined(&self) -> bool {
        false
    }

    /// The files that a call would write.
    fn writes(&self, _arguments: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Whether what a call writes can be read in every conversation of the agent.
    fn reaches_everywhere(&self, _arguments: &Value) -> bool {
        false
    }

    /// Whether a call takes something away that is remembered, or puts something in its place.
    fn takes_away(&self, _arguments: &Value) -> bool {
        false
    }

    /// Whether a call changes nothing, for tools that the catalogue does not know: what it does not
    /// know and nobody speaks for counts as something that acts.
    fn only_reads(&self) -> bool {
        false
    }

    /// Does what the gate has cleared.
    async fn run(&self, hands: &Hands<'_>, call: &Cleared) -> Result<Output, ToolError>;
}

/// A call that the gate let pass: a tool, and the arguments that it was judged by. No tool runs
/// without one.
pub struct Cleared {
    tool: ToolRef,
    arguments: Value,
}

impl Cleared {
    /// What the gate of the runtime makes, and nothing else that ships; a test of the architecture
    /// holds to that.
    pub fn by_the_gate(tool: ToolRef, arguments: Value) -> Self {
        Self { tool, arguments }
    }

    pub fn tool(&self) -> &ToolRef {
        &self.tool
    }

    /// The same call of the tool behind this one, without what is for this one alone.
    pub(crate) fn without(&self, inner: &ToolRef, names: &[&str]) -> Self {
        let mut arguments = self.arguments.clone();
        if let Some(members) = arguments.as_object_mut() {
            members.retain(|name, _| !names.contains(&name.as_str()));
        }
        Self { tool: inner.clone(), arguments }
    }

    /// Makes the call.
    pub async fn run(&self, hands: &Hands<'_>) -> Result<Output, ToolError> {
        self.tool.run(hands, self).await
    }
}

/// Its arguments.
impl Deref for Cleared {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.arguments
    }
}

/// A tool to be called: one that every agent could have, or one that was made for an agent.
#[derive(Clone)]
pub enum ToolRef {
    /// Part of this program.
    BuiltIn(&'static dyn Tool),
    /// Of one generation of one agent.
    Own(Arc<dyn Tool>),
}

impl Deref for ToolRef {
    type Target = dyn Tool;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::BuiltIn(tool) => *tool,
            Self::Own(tool) => &**tool,
        }
    }
}

/// What a call would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Risk<'a> {
    /// Nothing that could be dangerous by its words.
    None,
    /// A command line of a shell.
    Command(Cow<'a, str>),
    /// What a program that runs is given to read: a command, if that is a shell.
    Input {
        /// The process, as the shell's hand names it.
        process: Cow<'a, str>,
        /// What is written to it.
        text: Cow<'a, str>,
    },
    /// A program in some language.
    Code {
        language: Cow<'a, str>,
        /// The program.
        text: Cow<'a, str>,
    },
    /// Something that stays with the agent after the turn; what, in words.
    ChangeSelf(Cow<'a, str>),
}

/// What becomes of a call that does not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It is dropped when its turn is stopped, and not repeated after a crash: nobody knows
    /// what it did.
    Once,
    /// What it does is journalled step by step. It hears that its turn is stopped and comes
    /// back by itself, and after a crash it is made again and goes on.
    Journalled,
    /// It looks at one thing and is over in a moment, so that the answer which asked for it is
    /// journalled together with its result. After a crash the model is asked again.
    Glance,
}

/// What a tool is given of its own past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Nothing.
    Nothing,
    /// What it last gave back in this session.
    LastOutput,
}

/// Every built-in tool that this version runs.
pub const BUILT_IN: &[&dyn Tool] = &[
    &Clarify,
    &CronJob,
    &DelegateTask,
    &ExecuteCode,
    &ImageGenerate,
    &MemorySearch,
    &Patch,
    &Process,
    &ReadFile,
    &Remember,
    &SearchFiles,
    &SendMessage,
    &SessionSearch,
    &SkillManage,
    &SkillView,
    &SkillsList,
    &Terminal,
    &Todo,
    &WebExtract,
    &WebSearch,
    &WriteFile,
];

/// Finds a built-in tool.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    BUILT_IN.iter().copied().find(|tool| tool.name() == name)
}

/// Longest subject of a call, in characters: a record is not a place to keep text.
const SUBJECT_CHARS_MAX: usize = 300;

/// The path among a tool's arguments, as a record names it.
fn path_argument(arguments: &Value) -> Option<String> {
    let path = arguments.get("path")?.as_str()?;
    Some(path.chars().take(SUBJECT_CHARS_MAX).collect())
}

/// The skill and the file among a tool's arguments, as a record names them.
fn skill_argument(arguments: &Value) -> Option<String> {
    let name = arguments.get("name")?.as_str()?;
    let file = arguments.get("file_path").and_then(Value::as_str);
    let named = file.map_or_else(|| name.to_owned(), |file| format!("{name}/{file}"));
    Some(named.chars().take(SUBJECT_CHARS_MAX).collect())
}

/// Reads a tool's arguments; what is wrong is said so that a model can mend it.
fn arguments<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, ToolError> {
    T::deserialize(value).map_err(|error| ToolError::Arguments(in_plain_words(&error.to_string())))
}

/// What is wrong with arguments without words from inside: `struct Item` is an object to a model.
fn in_plain_words(error: &str) -> String {
    let Some((before, after)) = error.split_once("expected struct ") else {
        return error.replace("expected a sequence", "expected a list");
    };
    let rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    format!("{before}expected an object{rest}")
}

#[cfg(test)]
mod tools_tests;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a tool takes arguments that its schema does not show.
    fn takes_more(tool: &str) -> bool {
        tool == "delegate_task"
    }

    #[test]
    fn rules_know_the_arguments_by_the_names_they_have() {
        for tool in BUILT_IN {
            let schema: Value = serde_json::from_str(tool.parameters()).unwrap();
            let mut names: Vec<&String> =
                schema["properties"].as_object().unwrap().keys().collect();
            names.sort();
            if let Some(known) = insula_domain::argument::names_of(tool.name()) {
                let is_known = |name: &&String| known.contains(&name.as_str());
                assert!(
                    names.iter().all(is_known)
                        && (names.len() == known.len() || takes_more(tool.name())),
                    "`domain/src/argument/names.rs` about {}",
                    tool.name()
                );
            }
        }
    }

    #[test]
    fn every_schema_is_an_object_and_small() {
        for tool in BUILT_IN {
            let schema: Value = serde_json::from_str(tool.parameters()).unwrap();
            assert_eq!(schema["type"], "object", "{}", tool.name());
            assert!(tool.parameters().len() + tool.description().len() < 1_200, "{}", tool.name());
        }
    }
}
