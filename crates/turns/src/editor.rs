//! What a turn has to do with the editor it was asked from: tells it of each call, asks what it
//! has open before a call reads or changes files, and hands it what was changed.
//!
//! An editor decides nothing. It is asked about files that the gate has let the call at and that
//! lie in the folder of its conversation; one that does not answer in time is as none, and what
//! counts is on disk.

use crate::editor_questions::EditorAnswer;
use crate::engine::Engine;
use crate::turn::Turn;
use insula_domain::SessionKey;
use insula_registry::context::{Desk, Offers};
use insula_registry::events::turn::{EditedFile, EditorEvent, TurnEvent};
use insula_tools::{Cleared, FileChange, ToolRef};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an editor may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Longest text an editor is told of a call, in bytes.
const TOLD_BYTES_MAX: usize = 64 * 1024;
/// Longest text of a file that an editor is shown or handed, in bytes.
const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Files that an editor is asked for in one call.
const ASKED_MAX: usize = 16;

impl Engine {
    /// Takes what an editor answers to a turn of its conversation; whether one had asked that.
    pub fn editor_answers(&self, key: &SessionKey, request: &str, answer: EditorAnswer) -> bool {
        let asked = self.live.all(key).into_iter().find_map(|live| live.editor.take(request));
        // A turn that does not wait any more needs no answer.
        asked.map(|asked| drop(asked.send(answer))).is_some()
    }
}

impl Turn<'_> {
    /// What the editor at the other end does, while somebody listens there.
    fn editor(&self) -> Option<Offers> {
        self.cx.files.buffers()?;
        let offers = self.cx.from.terms.as_ref()?.editor?;
        self.cx.live.voice.is_heard().then_some(offers)
    }

    /// The folder of the conversation.
    fn editor_folder(&self) -> Option<&Path> {
        match &self.cx.from.terms.as_ref()?.desk {
            Desk::Folder { path, .. } => Some(path),
            Desk::Usual => None,
        }
    }

    /// Tells that a call begins.
    pub(super) async fn tell_editor_of_call(&self, id: &str, name: &str, arguments: &str) {
        if self.editor().is_none() {
            return;
        }
        let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
        let tool = self.shop.built.iter().find(|tool| tool.name() == name);
        let mut named = tool.map(|tool| tool.writes(&parsed)).unwrap_or_default();
        if named.is_empty() {
            named.extend(parsed["path"].as_str().map(str::to_owned));
        }
        let places = match named.is_empty() {
            true => Vec::new(),
            false => self.cx.files.places_of(named).await.unwrap_or_default(),
        };
        let paths = places.iter().filter_map(|it| it.path.to_str().map(str::to_owned));
        self.say_to_editor(EditorEvent::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: head(arguments.to_owned(), TOLD_BYTES_MAX),
            paths: paths.take(ASKED_MAX).collect(),
        });
    }

    /// Tells what came of a call.
    pub(super) fn tell_editor_of_end(
        &self,
        (id, name): (&str, &str),
        (is_error, refused): (bool, Option<&'static str>),
        text: &str,
        changes: Vec<FileChange>,
    ) {
        if self.editor().is_none() {
            return;
        }
        let fits =
            |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= FILE_BYTES_MAX);
        let changes = changes.into_iter().filter(|it| fits(&it.old) && fits(&it.new));
        let edited = changes.filter_map(|FileChange { path, old, new }| {
            Some(EditedFile { path: path.to_str()?.to_owned(), old, new: new.unwrap_or_default() })
        });
        self.say_to_editor(EditorEvent::Done {
            id: id.to_owned(),
            name: name.to_owned(),
            is_error,
            refused,
            text: head(text.to_owned(), TOLD_BYTES_MAX),
            changes: edited.collect(),
        });
    }

    /// Asks what the editor has open of the files that a call is about, which the gate has let it
    /// at.
    pub(super) async fn ask_editor(&self, tool: &ToolRef, cleared: &Cleared) {
        let (Some(offers), Some(folder)) = (self.editor(), self.editor_folder()) else { return };
        let is_of_files = matches!(tool.name(), "read_file" | "write_file" | "patch");
        if !offers.reads || !is_of_files {
            return;
        }
        let mut named = tool.writes(cleared);
        if named.is_empty() {
            named.extend(cleared.get("path").and_then(Value::as_str).map(str::to_owned));
        }
        let places = self.cx.files.places_of(named).await.unwrap_or_default();
        // The folder itself is no file, and what a path that leads nowhere comes to.
        let is_inside = |it: &PathBuf| it.starts_with(folder) && it != folder;
        let inside: Vec<PathBuf> = places.into_iter().map(|it| it.path).filter(is_inside).collect();
        let Some(buffers) = self.cx.files.buffers() else { return };
        for path in inside.into_iter().take(ASKED_MAX) {
            let Some(text) = path.to_str().map(str::to_owned) else { continue };
            let answer =
                self.editor_is_asked(|request| EditorEvent::Read { request, path: text }).await;
            if let Ok(Some(open)) = answer {
                buffers.put(path, open);
            }
        }
    }

    /// Hands over what a call changed; what the editor did not take, in words for the model.
    pub(super) async fn hand_to_editor(&self, changes: &[FileChange]) -> Option<String> {
        let (offers, folder) = (self.editor()?, self.editor_folder()?);
        let mut refused = Vec::new();
        let ours = changes.iter().filter(|it| offers.writes && it.path.starts_with(folder));
        for change in ours.take(ASKED_MAX) {
            let (Some(path), Some(text)) = (change.path.to_str(), &change.new) else { continue };
            if text.len() > FILE_BYTES_MAX {
                continue;
            }
            let (path, text) = (path.to_owned(), text.clone());
            let shown = path.clone();
            let answer =
                self.editor_is_asked(|request| EditorEvent::Write { request, path, text }).await;
            if let Err(why) = answer {
                refused.push(format!("`{shown}`: {why}"));
            }
        }
        let refused = head(refused.join("; "), TOLD_BYTES_MAX);
        (!refused.is_empty()).then(|| {
            format!("\n[the file on disk is changed; the editor did not take it: {refused}]")
        })
    }

    async fn editor_is_asked(&self, event: impl FnOnce(String) -> EditorEvent) -> EditorAnswer {
        let (request, answer) = self.cx.live.editor.ask();
        self.say_to_editor(event(request.clone()));
        let answer = tokio::select! {
            biased;
            answer = answer => answer.unwrap_or_else(|_| Err("it went away".to_owned())),
            () = self.cx.live.cancel.cancelled() => Err("the turn was stopped".to_owned()),
            () = self.shop.world.clock.sleep(ANSWER_MAX) => Err("it did not answer".to_owned()),
        };
        self.cx.live.editor.take(&request);
        answer
    }

    fn say_to_editor(&self, event: EditorEvent) {
        self.cx.live.voice.say(TurnEvent::Editor(Box::new(event)));
    }
}

/// The beginning of a text.
fn head(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}
