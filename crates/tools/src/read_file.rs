//! `read_file`: shows a text file in numbered lines, a page at a time.

use crate::files::{FileAccess, text};
use crate::workspace::{FileError, Loaded, display};
use crate::{
    Cleared, Course, Habits, Hands, Output, Piece, Tool, ToolError, arguments, path_argument,
};
use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// Lines of a page, at the most and unless fewer are asked for.
const LINES_MAX: usize = 2_000;
/// Characters of a page.
const PAGE_CHARS_MAX: usize = 100_000;
/// Characters shown of one line.
const LINE_CHARS_MAX: usize = 2_000;
/// Names shown of a folder.
const NAMES_MAX: usize = 200;
/// Names looked at to find the nearest one.
const NAMES_COMPARED_MAX: usize = 500;
/// Where a byte of nothing is looked for, which no text has.
const BINARY_PREFIX: usize = 8 * 1024;

/// Shows a text file.
pub struct ReadFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[async_trait]
impl Tool for ReadFile {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn description(&self) -> &'static str {
        "Read a text file as numbered lines (`NUMBER|LINE`), from line `offset` (1 is the first), `limit` lines. For a folder, its names."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("file_path", "path"),
                ("filepath", "path"),
                ("filename", "path"),
                ("file_name", "path"),
                ("file", "path"),
            ],
            ..Habits::default()
        }
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        path_argument(arguments)
    }

    fn course(&self) -> Course {
        Course::Glance
    }

    fn source(&self, shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::File, shown))
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let asked: Arguments = arguments(value)?;

        hands.files()?.work(move |access, _| read(access, &asked)).await
    }
}

fn read(access: &FileAccess, asked: &Arguments) -> Result<Output, FileError> {
    let path = asked.path.as_str();
    let (resolved, loaded) = match access.load(path) {
        Ok(found) => found,
        Err(error) => return instead(access, path, error).map(Output::Text),
    };
    if let Some(what) = not_text(&loaded.bytes) {
        let size = loaded.bytes.len();
        return Err(FileError::Unfit(format!(
            "`{}` is {what} ({size} bytes), which can't be shown as text",
            resolved.shown
        )));
    }
    let text = String::from_utf8_lossy(&loaded.bytes);
    let lines = text::lines(&text);
    let total = lines.len();
    if total == 0 {
        access.saw(&resolved, &loaded, std::slice::from_ref(&(0..0)), 0);
        return Ok(Output::Text("the file is empty".to_owned()));
    }
    let first = asked.offset.unwrap_or(1).max(1) - 1;
    if first >= total {
        return Err(FileError::Unfit(format!(
            "`{}` has {total} lines; `offset` is past its end",
            resolved.shown
        )));
    }
    let wanted = asked.limit.unwrap_or(LINES_MAX).clamp(1, LINES_MAX);
    let page = page(&lines, first, wanted);
    access.saw(&resolved, &loaded, &page.seen, total);
    let closing = closing(&text, &loaded, page.next, total);
    if !resolved.is_foreign {
        return Ok(Output::Text(page.text + &closing));
    }
    let mut pieces = vec![Piece::Foreign { source: resolved.shown, text: page.text }];
    if !closing.is_empty() {
        pieces.push(Piece::Own(closing));
    }
    Ok(Output::Pieces(pieces))
}

struct Page {
    text: String,
    /// The lines that were shown whole.
    seen: Vec<std::ops::Range<usize>>,
    next: usize,
}

fn page(lines: &[&str], first: usize, wanted: usize) -> Page {
    let mut page = Page { text: String::new(), seen: Vec::new(), next: first };
    let mut characters = 0;
    for line in lines.iter().skip(first).take(wanted) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let cut = line.char_indices().nth(LINE_CHARS_MAX).map(|(at, _)| at);
        let shown = &line[..cut.unwrap_or(line.len())];
        characters += shown.chars().count() + 8;
        if characters > PAGE_CHARS_MAX && page.next > first {
            break;
        }
        let number = page.next + 1;
        // Writing to a String can't fail.
        let _ = writeln!(
            page.text,
            "{number:>6}|{shown}{}",
            if cut.is_some() { "… [the line goes on]" } else { "" }
        );
        page.next += 1;
        match (cut, page.seen.last_mut()) {
            (Some(_), _) => {}
            (None, Some(seen)) if seen.end + 1 == page.next => seen.end = page.next,
            (None, _) => page.seen.push(page.next - 1..page.next),
        }
    }
    page
}

/// What is worth knowing after a page.
fn closing(text: &str, loaded: &Loaded, next: usize, total: usize) -> String {
    let mut notes = Vec::new();
    if next < total {
        notes.push(format!("{total} lines in all; go on with offset {}", next + 1));
    }
    if std::str::from_utf8(&loaded.bytes).is_err() {
        notes.push(
            "not UTF-8: bytes that are none are shown as �, and patch can't change this file"
                .to_owned(),
        );
    }
    if text.contains("\r\n") {
        notes.push("lines end with CR LF".to_owned());
    }
    if !text.ends_with('\n') && next == total {
        notes.push("no newline at the end".to_owned());
    }
    match notes.is_empty() {
        true => String::new(),
        false => format!("[{}]\n", notes.join("; ")),
    }
}

/// What bytes are that are no text.
fn not_text(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 8] = [
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x7fELF", "a program"),
        (b"SQLite format 3", "an SQLite database"),
    ];
    if let Some((_, what)) = known.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(what);
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some("UTF-16 text");
    }
    bytes.iter().take(BINARY_PREFIX).any(|byte| *byte == 0).then_some("a binary file")
}

/// What to say instead of a file: the names in a folder, or near to one that is missing.
fn instead(access: &FileAccess, path: &str, error: FileError) -> Result<String, FileError> {
    let workspace = access.workspace()?;
    match error {
        FileError::Folder(_) => {
            let (entries, more) = workspace.list(path, NAMES_MAX)?;
            let mut text = format!("`{path}` is a folder:\n");
            for entry in &entries {
                let mark = match entry.kind {
                    FileType::Directory => "/",
                    FileType::Symlink => "@",
                    _ => "",
                };
                let _ = writeln!(text, "{}{mark}", display(&entry.name));
            }
            if more {
                let _ = writeln!(
                    text,
                    "[more than {NAMES_MAX} names; use search_files with target `files`]"
                );
            }
            let root = workspace.begin(path)?.shown(path) == ".";
            if root && workspace.folder_count() > 1 {
                let _ = writeln!(text, "[your folders: {}]", workspace.folders());
            }
            Ok(text)
        }
        FileError::Missing(what) => {
            let near = nearest(access, path);
            let help = match near.is_empty() {
                true => String::new(),
                false => format!("; near to it: {}", near.join(", ")),
            };
            Err(FileError::Missing(what + &help))
        }
        other => Err(other),
    }
}

/// Names in the same folder that are like the missing one.
fn nearest(access: &FileAccess, path: &str) -> Vec<String> {
    let parent = Path::new(path).parent().and_then(Path::to_str).unwrap_or("");
    let parent = if parent.is_empty() { "." } else { parent };
    let Some(wanted) =
        Path::new(path).file_name().map(|name| name.to_string_lossy().to_lowercase())
    else {
        return Vec::new();
    };
    let listed = access.workspace().and_then(|it| it.list(parent, NAMES_COMPARED_MAX));
    let Ok((entries, _)) = listed else { return Vec::new() };
    let mut alike: Vec<(u64, String)> = entries
        .iter()
        .filter_map(|entry| {
            let name = display(&entry.name);
            let likeness = strsim::jaro_winkler(&wanted, &name.to_lowercase());
            (likeness > 0.8).then_some(((likeness * 1_000.0) as u64, name))
        })
        .collect();
    alike.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    alike.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect()
}
