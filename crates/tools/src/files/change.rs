//! Changing files: one or several, all of them or none.

use super::{FILE_BYTES_MAX, FileAccess};
use crate::workspace::states::{LineRange, Replaces, Version};
use crate::workspace::{FileError, Loaded, Parents, ResolvedPath, Staged};
use rustix::fs::Stat;
use std::collections::BTreeSet;

/// Files that one call may change: each is held open until all are written.
const FILES_MAX: usize = 100;

/// One thing to do to one file.
pub(crate) struct Wish {
    pub(crate) path: String,
    pub(crate) act: Act,
}

/// What to do.
pub(crate) enum Act {
    /// Write it whole, whether or not it exists.
    Write(Vec<u8>),
    /// Write it whole where nothing is yet.
    Create(Vec<u8>),
    /// Add lines to its end, or make it of them.
    Append(String),
    /// Change what it says, and move it if a path is given.
    Edit(Edit, Option<String>),
    /// Remove it.
    Remove,
}

/// Works out a new text from the old; an error says what does not fit, for the model.
pub(crate) type Edit = Box<dyn FnOnce(&str) -> Result<Edited, String> + Send>;

/// A new text and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// Lines of the old text, each with how many lines of the new one stand in their place.
    pub(crate) changes: Vec<(LineRange, usize)>,
    /// What is worth telling about how the places were found.
    pub(crate) notes: Vec<String>,
    /// Whether all that it replaces was given, letter by letter, and stands there once.
    pub(crate) is_given: bool,
}

/// What was done, a line for each file, and notes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) done: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// One wish, worked out and waiting.
enum Ready {
    Put {
        staged: Staged,
        version: Version,
        changes: Option<Vec<(LineRange, usize)>>,
        said: String,
        /// What it said and what it will say, where an editor is to know.
        texts: Option<(Option<Vec<u8>>, Vec<u8>)>,
    },
    Remove {
        resolved: ResolvedPath,
        loaded: Loaded,
        said: String,
    },
}

/// New content for one place.
struct New {
    resolved: ResolvedPath,
    bytes: Vec<u8>,
    before: Option<Loaded>,
    /// Whose rights it gets, where it replaces nothing.
    like: Option<Stat>,
    changes: Option<Vec<(LineRange, usize)>>,
    said: String,
}

/// One wish with the places it concerns.
struct Placed {
    resolved: ResolvedPath,
    to: Option<ResolvedPath>,
    act: Act,
}

impl FileAccess {
    /// Does all of it. Until everything is worked out and written beside its place, nothing
    /// has changed; then each file is put in place in one step.
    pub(crate) fn change(&self, wishes: Vec<Wish>) -> Result<Report, FileError> {
        let mut placed = self.place_all(wishes)?;
        let keys: Vec<_> =
            placed.iter().flat_map(|it| [Some(&it.resolved), it.to.as_ref()]).flatten().collect();
        let distinct: BTreeSet<_> = keys.iter().map(|resolved| &resolved.key).collect();
        if distinct.len() < keys.len() {
            let what = "one file is changed twice in this call; put its changes together";
            return Err(FileError::Unfit(what.to_owned()));
        }
        let keys: Vec<_> = distinct.into_iter().cloned().collect();
        let _locks = self.states.lock(&keys);
        let mut report = Report::default();
        let mut ready = Vec::new();
        for it in &mut placed {
            // Only what is seen under the lock counts.
            it.resolved.look_again()?;
            if let Some(to) = &mut it.to {
                to.look_again()?;
            }
        }
        for it in placed {
            self.prepare(it, &mut ready, &mut report.notes)?;
        }
        let total = ready.len();
        for it in ready {
            match self.finish(it) {
                Ok(said) => report.done.push(said),
                Err(error) if total > 1 => return Err(half_done(&report.done, &error)),
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }

    fn place_all(&self, wishes: Vec<Wish>) -> Result<Vec<Placed>, FileError> {
        if wishes.len() > FILES_MAX {
            let what = format!(
                "{} files in one call; at most {FILES_MAX} are changed at once",
                wishes.len()
            );
            return Err(FileError::Unfit(what));
        }
        let workspace = self.workspace()?;
        let mut placed = Vec::new();
        for Wish { path, act } in wishes {
            let parents = match act {
                Act::Write(_) | Act::Create(_) | Act::Append(_) => Parents::Make,
                Act::Edit(..) | Act::Remove => Parents::Expect,
            };
            let resolved = workspace.locate(&path, parents)?;
            resolved.check_writable()?;
            let to = match &act {
                Act::Edit(_, Some(to)) => {
                    let to = workspace.locate(to, Parents::Make)?;
                    to.check_writable()?;
                    Some(to)
                }
                _ => None,
            };
            placed.push(Placed { resolved, to, act });
        }
        Ok(placed)
    }

    /// Judges one wish and writes its new content beside its place.
    fn prepare(
        &self,
        placed: Placed,
        ready: &mut Vec<Ready>,
        notes: &mut Vec<String>,
    ) -> Result<(), FileError> {
        let Placed { resolved, to, act } = placed;
        let shown = resolved.shown.clone();
        let before = self.as_open(&resolved)?;
        let missing = || FileError::Missing(format!("`{shown}` does not exist"));
        match act {
            Act::Create(_) if before.is_some() => Err(FileError::Refused(format!(
                "`{shown}` exists already; read it and update it instead"
            ))),
            Act::Write(bytes) | Act::Create(bytes) => {
                if let Some(loaded) = &before {
                    notes.extend(self.judge(&resolved, loaded, &Replaces::Everything)?);
                }
                let verb = if before.is_some() { "wrote" } else { "made" };
                let said = format!("{verb} {shown} ({})", size(&bytes));
                let new = New { resolved, bytes, before, like: None, changes: None, said };
                ready.push(self.put(new, notes)?);
                Ok(())
            }
            Act::Append(text) => {
                let old = before.as_ref().map_or(&[][..], |it| &it.bytes);
                let bytes = appended(old, &text);
                let said = format!("added to {shown} ({})", size(&bytes));
                // Nothing of what was there is replaced, so that nobody has to have read it.
                if let Some(loaded) = &before {
                    notes.extend(self.judge_unless_unread(&resolved, loaded)?.ok().flatten());
                }
                let at = lines_in(old);
                let changes = before.is_some().then(|| vec![(at..at, lines_in(&bytes) - at)]);
                let new = New { resolved, bytes, before, like: None, changes, said };
                ready.push(self.put(new, notes)?);
                Ok(())
            }
            Act::Remove => {
                let loaded = before.ok_or_else(missing)?;
                notes.extend(self.judge(&resolved, &loaded, &Replaces::Everything)?);
                ready.push(Ready::Remove { resolved, loaded, said: format!("removed {shown}") });
                Ok(())
            }
            Act::Edit(edit, _) => {
                let loaded = before.ok_or_else(missing)?;
                // What the edit says about a text that has changed meanwhile helps nobody.
                let early = self.judge_unless_unread(&resolved, &loaded)?;
                let unfit = |what: String| FileError::Unfit(format!("`{shown}`: {what}"));
                let edited = std::str::from_utf8(&loaded.bytes)
                    .map_err(|_| "not UTF-8 text; write it whole with write_file".to_owned())
                    .and_then(edit);
                let edited = match (edited, early) {
                    // Whoever gives a piece of a file knows it, read here or not.
                    (Ok(edited), early) if edited.is_given && to.is_none() => {
                        notes.extend(early.ok().flatten());
                        edited
                    }
                    // What a file says is told to nobody who has not read it.
                    (_, Err(unread)) => return Err(unread),
                    (Err(what), Ok(_)) => return Err(unfit(what)),
                    (Ok(edited), Ok(early)) => {
                        let lines = edited.changes.iter().map(|(lines, _)| lines.clone()).collect();
                        let late = self.judge(&resolved, &loaded, &Replaces::Lines(lines))?;
                        notes.extend(early.or(late));
                        edited
                    }
                };
                notes.extend(edited.notes.iter().map(|note| format!("{shown}: {note}")));
                let bytes = edited.text.into_bytes();
                let Some(to) = to else {
                    let said = format!("changed {shown} ({})", size(&bytes));
                    let (before, changes) = (Some(loaded), Some(edited.changes));
                    let new = New { resolved, bytes, before, like: None, changes, said };
                    ready.push(self.put(new, notes)?);
                    return Ok(());
                };
                if to.found.is_some() {
                    return Err(FileError::Refused(format!(
                        "`{}` exists already, so `{shown}` can't be moved there",
                        to.shown
                    )));
                }
                // Whoever moves a file without having seen all of it could not judge what it
                // takes away from where it was.
                notes.extend(self.judge(&resolved, &loaded, &Replaces::Everything)?);
                let said = format!("made {} ({})", to.shown, size(&bytes));
                let like = Some(loaded.stat);
                let new = New { resolved: to, bytes, before: None, like, changes: None, said };
                ready.push(self.put(new, notes)?);
                ready.push(Ready::Remove { resolved, loaded, said: format!("removed {shown}") });
                Ok(())
            }
        }
    }

    fn put(&self, new: New, notes: &mut Vec<String>) -> Result<Ready, FileError> {
        let New { resolved, bytes, before, like, changes, said } = new;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let what = format!("`{}` would have more than {FILE_BYTES_MAX} bytes", resolved.shown);
            return Err(FileError::Unfit(what));
        }
        // A file of several names is replaced under this one: what it is called elsewhere is
        // no business of whoever writes here, and may be somebody else's file.
        if let Some(loaded) = before.as_ref().filter(|loaded| loaded.stat.st_nlink > 1) {
            let others = loaded.stat.st_nlink - 1;
            notes.push(format!(
                "{} had {others} more hard links, which keep the old content",
                resolved.shown
            ));
        }
        let version = Version::of(&bytes);
        let like = like.or(before.as_ref().map(|it| it.stat));
        resolved.check_room(self.floor, bytes.len())?;
        let mut staged = resolved.stage(&bytes, like.as_ref(), &self.states.staged)?;
        if let Some(before) = &before {
            staged = staged.replacing(before);
        }
        let texts = self.has_editor().then(|| (before.map(|it| it.bytes), bytes));
        Ok(Ready::Put { staged, version, changes, said, texts })
    }

    fn finish(&self, ready: Ready) -> Result<String, FileError> {
        match ready {
            Ready::Put { staged, version, changes, said, texts } => {
                let key = staged.resolved.key.clone();
                let shown = staged.resolved.shown.clone();
                let path = texts.as_ref().and_then(|_| staged.resolved.real_path());
                staged.put()?;
                self.note_change(&shown);
                if let Some((old, new)) = texts {
                    self.note_for_editor(path.as_deref(), old.as_deref(), Some(&new));
                }
                match changes {
                    Some(changes) => self.states.changed(&self.reader, &key, version, &changes),
                    None => self.states.wrote(&self.reader, &key, version),
                }
                Ok(said)
            }
            Ready::Remove { resolved, loaded, said } => {
                resolved.remove(&loaded)?;
                self.note_change(&resolved.shown);
                let path = resolved.real_path().filter(|_| self.has_editor());
                self.note_for_editor(path.as_deref(), Some(&loaded.bytes), None);
                self.states.removed(&self.reader, &resolved.key);
                Ok(said)
            }
        }
    }
}

/// The rename of one file failed after others had been put in place: rare, and nobody may be
/// left guessing.
fn half_done(done: &[String], error: &FileError) -> FileError {
    let text = error.to_string();
    let text = text.strip_prefix("refused: ").unwrap_or(&text);
    match done {
        [] => FileError::Refused(format!("{text}; no file was changed")),
        _ => {
            FileError::Unfit(format!("{text}; before that: {}; nothing after it", done.join(", ")))
        }
    }
}

/// What becomes of a text when lines are added to it, each a line of its own.
fn appended(old: &[u8], text: &str) -> Vec<u8> {
    let mut bytes = old.to_vec();
    let newline: &[u8] = if old.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    if !old.is_empty() && !old.ends_with(b"\n") {
        bytes.extend_from_slice(newline);
    }
    // Who begins with a line break means to begin a line, and that is done. One blank behind it is
    // how small models begin a word, where no other line begins with one.
    let line = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
    let is_flush = !old.split(|byte| *byte == b'\n').any(|line| line.starts_with(b" "));
    let word = line.and_then(|line| line.strip_prefix(' '));
    let word = word.filter(|it| is_flush && !it.starts_with(char::is_whitespace));
    let text = word.or(line).unwrap_or(text);
    bytes.extend_from_slice(text.as_bytes());
    if !text.is_empty() && !text.ends_with('\n') && old.ends_with(b"\n") {
        bytes.extend_from_slice(newline);
    }
    bytes
}

/// The lines of a text, the last perhaps without its end.
fn lines_in(bytes: &[u8]) -> usize {
    let newlines = bytes.iter().filter(|byte| **byte == b'\n').count();
    newlines + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

/// How much was written, as people count.
fn size(bytes: &[u8]) -> String {
    format!("{} lines, {} bytes", lines_in(bytes), bytes.len())
}
