//! Walking through a folder and all below it, from one open folder to the next.
//!
//! Links are not followed and every step is made by the kernel from a folder that is held
//! open, so a folder that is swapped for a link during the walk is simply not entered.

use crate::files::Patience;
use crate::workspace::{Begin, Entry, FileError, Walked, Workspace, display};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Names one search looks at: a folder can hold more than anyone would wait for.
const ENTRIES_MAX: usize = 200_000;
/// Names taken from one folder.
const FOLDER_ENTRIES_MAX: usize = 50_000;
/// Folders inside folders. Each is held open while the walk is in it.
const DEPTH_MAX: usize = 64;
/// Largest file of patterns that is read.
const IGNORE_BYTES_MAX: u64 = 256 * 1024;
/// Files whose patterns leave names out, the later one last.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// A folder that is never meant.
const REPOSITORY: &str = ".git";

/// A file that the walk came to.
pub(super) struct Found<'w> {
    folder: &'w Walked,
    name: &'w OsStr,
    below: &'w Path,
    base: &'w str,
    is_foreign: bool,
}

impl Found<'_> {
    /// Its path below where the search began.
    pub(super) fn below(&self) -> &Path {
        self.below
    }

    /// Its path as a model would give it to another tool.
    pub(super) fn shown(&self) -> String {
        let below = display(self.below.as_os_str());
        match self.base {
            "." => below,
            base if below.is_empty() => base.to_owned(),
            base => format!("{}/{below}", base.trim_end_matches('/')),
        }
    }

    /// Whether it has somebody else's words.
    pub(super) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Its content, if it is a regular file of at most `limit` bytes.
    pub(super) fn read(&self, limit: u64) -> Option<Vec<u8>> {
        self.folder.read(self.name, limit)
    }
}

/// A walk that has not begun.
pub(super) struct Walk<'w> {
    start: Start,
    way: Way<'w>,
}

/// What a walk carries along.
struct Way<'w> {
    patience: &'w Patience,
    begin: Begin,
    /// The path where it began, as it is shown.
    base: String,
    /// The path from the folder that was given to where it began.
    prefix: PathBuf,
    /// The patterns of ignore files, those of inner folders last.
    ignores: Vec<Gitignore>,
    seen: usize,
    left_out: Option<&'static str>,
}

enum Start {
    Folder(Walked),
    File(Walked, OsString),
}

type OnFile<'v> = dyn FnMut(&Found<'_>) -> ControlFlow<()> + 'v;

impl<'w> Walk<'w> {
    /// Opens where the search begins: a folder, or one file.
    pub(super) fn new(
        workspace: &Workspace,
        path: &str,
        patience: &'w Patience,
    ) -> Result<Self, FileError> {
        let begin = workspace.begin(path)?;
        let base = begin.shown(path);
        let (start, prefix) = match begin.folder(path) {
            Ok(folder) => (Start::Folder(folder), begin.rest.clone()),
            Err(error) => {
                // Not a folder: then it may be a file in one.
                let parent = begin.above().ok_or_else(|| error.clone())?;
                let folder = parent.folder(path).map_err(|_| error.clone())?;
                let name = begin.rest.file_name().ok_or_else(|| error.clone())?.to_owned();
                if !folder.is_file(&name) {
                    return Err(error);
                }
                (Start::File(folder, name), parent.rest)
            }
        };
        let ignores = ignores_above(&begin, &prefix)?;
        let way = Way { patience, begin, base, prefix, ignores, seen: 0, left_out: None };
        Ok(Self { start, way })
    }

    /// Visits every file; says what was left out, if anything.
    pub(super) fn run(self, visit: &mut OnFile<'_>) -> Option<&'static str> {
        let Self { start, mut way } = self;
        match start {
            Start::Folder(folder) => {
                let _ = way.folder(&folder, Path::new(""), 0, visit);
            }
            Start::File(folder, name) => {
                let below = Path::new("");
                let is_foreign = way.begin.is_foreign(&name);
                let base = &way.base;
                let _ = visit(&Found { folder: &folder, name: &name, below, base, is_foreign });
            }
        }
        way.left_out
    }
}

impl Way<'_> {
    fn folder(
        &mut self,
        folder: &Walked,
        below: &Path,
        depth: usize,
        visit: &mut OnFile<'_>,
    ) -> ControlFlow<()> {
        if depth == DEPTH_MAX {
            self.left_out = Some("folders too deep were left out");
            return ControlFlow::Continue(());
        }
        // A folder that went, or that the system keeps closed, has nothing to show.
        let Some((entries, more)) = folder.entries(FOLDER_ENTRIES_MAX) else {
            return ControlFlow::Continue(());
        };
        if more {
            self.left_out = Some("a folder has too many files; some were left out");
        }
        let here = self.prefix.join(below);
        let patterns = ignores(folder, &here);
        let had = self.ignores.len();
        self.ignores.extend(patterns);
        let mut done = ControlFlow::Continue(());
        for entry in &entries {
            done = self.entry(folder, entry, below, depth, visit);
            if done.is_break() {
                break;
            }
        }
        self.ignores.truncate(had);
        done
    }

    fn entry(
        &mut self,
        folder: &Walked,
        entry: &Entry,
        below: &Path,
        depth: usize,
        visit: &mut OnFile<'_>,
    ) -> ControlFlow<()> {
        self.seen += 1;
        if self.seen > ENTRIES_MAX {
            self.left_out = Some("there are too many files; search in a folder below");
            return ControlFlow::Break(());
        }
        if self.patience.is_over() {
            self.left_out =
                Some("the search took too long and was ended; search in a folder below");
            return ControlFlow::Break(());
        }
        let below = below.join(&entry.name);
        let kind = folder.kind(entry);
        if self.is_ignored(&below, kind == FileType::Directory) {
            return ControlFlow::Continue(());
        }
        match kind {
            FileType::Directory if entry.name != REPOSITORY => match folder.enter(&entry.name) {
                Some(inner) => self.folder(&inner, &below, depth + 1, visit),
                None => ControlFlow::Continue(()),
            },
            FileType::RegularFile => {
                let (name, is_foreign) = (&entry.name, self.begin.is_foreign(&entry.name));
                visit(&Found { folder, name, below: &below, base: &self.base, is_foreign })
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn is_ignored(&self, below: &Path, is_folder: bool) -> bool {
        let path = self.prefix.join(below);
        for patterns in self.ignores.iter().rev() {
            match patterns.matched(&path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The patterns that stand in one folder.
fn ignores(folder: &Walked, at: &Path) -> Option<Gitignore> {
    let mut builder: Option<GitignoreBuilder> = None;
    for name in IGNORE_FILES {
        let Some(bytes) = folder.read(OsStr::new(name), IGNORE_BYTES_MAX) else { continue };
        let builder = builder.get_or_insert_with(|| GitignoreBuilder::new(at));
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is no pattern leaves nothing out.
            let _ = builder.add_line(None, line);
        }
    }
    builder?.build().ok()
}

/// The patterns of the folders above where a walk begins.
fn ignores_above(begin: &Begin, prefix: &Path) -> Result<Vec<Gitignore>, FileError> {
    let mut found = Vec::new();
    let Ok(mut folder) = begin.top() else { return Ok(found) };
    let mut at = PathBuf::new();
    for part in prefix {
        found.extend(ignores(&folder, &at));
        // A way that is not straight, by links or upwards, has no folders above it here.
        let Some(next) = folder.enter(part) else { return Ok(Vec::new()) };
        folder = next;
        at.push(part);
    }
    Ok(found)
}
