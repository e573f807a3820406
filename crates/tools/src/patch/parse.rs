//! Reading patches: the `*** Begin Patch` form that models are taught, and unified diffs.

use super::apply::{Hunk, HunkLine};

/// What a patch wants of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilePatch {
    Add { path: String, text: String },
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
    Delete { path: String },
}

impl FilePatch {
    /// The files that are other afterwards.
    pub(super) fn paths(&self) -> Vec<String> {
        let to = match self {
            Self::Update { to, .. } => to.clone(),
            Self::Add { .. } | Self::Delete { .. } => None,
        };
        [self.path().to_owned()].into_iter().chain(to).collect()
    }

    /// The file it is about.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Update { path, .. } | Self::Delete { path } => path,
        }
    }
}

/// Reads a patch; an error names the line.
pub(super) fn patch(text: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> =
        text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let marked = lines.iter().any(|line| line.starts_with("*** "));
    let unified = lines.windows(2).any(|it| it[0].starts_with("--- ") && it[1].starts_with("+++ "));
    let files = match (marked, unified) {
        (true, _) => marked_patch(&lines)?,
        (false, true) => unified_diff(&lines)?,
        (false, false) => {
            return Err("this is no patch: begin with `*** Begin Patch` and `*** Update File: PATH`, or give a unified diff".to_owned());
        }
    };
    if files.is_empty() {
        return Err("the patch names no file".to_owned());
    }
    Ok(files)
}

fn wrong(number: usize, what: &str) -> String {
    format!("line {} of the patch: {what}", number + 1)
}

fn marked_patch(lines: &[&str]) -> Result<Vec<FilePatch>, String> {
    let mut files: Vec<FilePatch> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            files.push(FilePatch::Add { path: path.trim().to_owned(), text: String::new() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            let path = path.trim().to_owned();
            files.push(FilePatch::Update { path, to: None, hunks: Vec::new() });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            files.push(FilePatch::Delete { path: path.trim().to_owned() });
        } else if let Some(path) = line.strip_prefix("*** Move to: ") {
            match files.last_mut() {
                Some(FilePatch::Update { to, .. }) => *to = Some(path.trim().to_owned()),
                _ => return Err(wrong(number, "`*** Move to:` belongs after `*** Update File:`")),
            }
        } else if *line == "*** End of File" {
            match files.last_mut() {
                Some(FilePatch::Update { hunks, .. }) => {
                    if let Some(hunk) = hunks.last_mut() {
                        hunk.at_end = true;
                    }
                }
                _ => return Err(wrong(number, "`*** End of File` belongs into an update")),
            }
        } else if line.starts_with("*** Begin Patch") || line.starts_with("*** End Patch") {
            continue;
        } else {
            body_line(files.last_mut(), number, line)?;
        }
    }
    for file in &files {
        if let FilePatch::Update { path, to: None, hunks } = file
            && hunks.is_empty()
        {
            return Err(format!("the patch changes nothing in `{path}`"));
        }
    }
    Ok(files)
}

fn body_line(file: Option<&mut FilePatch>, number: usize, line: &str) -> Result<(), String> {
    match file {
        None if line.trim().is_empty() => Ok(()),
        None => Err(wrong(
            number,
            "before it there has to be `*** Add File:`, `*** Update File:` or `*** Delete File:`",
        )),
        Some(FilePatch::Delete { .. }) if line.trim().is_empty() => Ok(()),
        Some(FilePatch::Delete { .. }) => Err(wrong(number, "a deleted file has no content")),
        Some(FilePatch::Add { text, .. }) => match line.strip_prefix('+') {
            Some(line) => {
                text.push_str(line);
                text.push('\n');
                Ok(())
            }
            None if line.trim().is_empty() => Ok(()),
            None => Err(wrong(number, "every line of a new file begins with `+`")),
        },
        Some(FilePatch::Update { hunks, .. }) => {
            if let Some(anchor) = line.strip_prefix("@@") {
                let anchor = anchor.trim().trim_end_matches("@@").trim_end();
                let fresh = hunks.last().is_none_or(|hunk| !hunk.lines.is_empty());
                if fresh {
                    hunks.push(Hunk::default());
                }
                let hunk = hunks.last_mut().filter(|_| !anchor.is_empty());
                match (hunk, numbers(anchor)) {
                    (Some(hunk), Some(at)) => hunk.hint = Some(at),
                    (Some(hunk), None) => hunk.anchors.push(anchor.to_owned()),
                    (None, _) => {}
                }
                return Ok(());
            }
            if hunks.is_empty() {
                hunks.push(Hunk::default());
            }
            let Some(hunk) = hunks.last_mut() else { return Ok(()) };
            hunk.lines.push(
                hunk_line(line).ok_or_else(|| {
                    wrong(number, "it has to begin with a space, `+`, `-` or `@@`")
                })?,
            );
            Ok(())
        }
    }
}

fn hunk_line(line: &str) -> Option<HunkLine> {
    let mut characters = line.chars();
    match characters.next() {
        // A blank line that lost its space on the way.
        None => Some(HunkLine::Keep(String::new())),
        Some(' ') => Some(HunkLine::Keep(characters.as_str().to_owned())),
        Some('-') => Some(HunkLine::Remove(characters.as_str().to_owned())),
        Some('+') => Some(HunkLine::Add(characters.as_str().to_owned())),
        Some(_) => None,
    }
}

/// The first old line that `-12,3 +12,4` names, from 0.
fn numbers(text: &str) -> Option<usize> {
    let old = text.split(' ').find_map(|part| part.strip_prefix('-'))?;
    text.split(' ').find(|part| part.starts_with('+'))?;
    let (start, count) = old.split_once(',').unwrap_or((old, "1"));
    let start: usize = start.parse().ok()?;
    // An insertion names the line it comes after, everything else the line it begins at.
    Some(if count == "0" { start } else { start.saturating_sub(1) })
}

fn unified_diff(lines: &[&str]) -> Result<Vec<FilePatch>, String> {
    let mut files = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let heads = lines[at].starts_with("--- ")
            && lines.get(at + 1).is_some_and(|line| line.starts_with("+++ "));
        if !heads {
            at += 1;
            continue;
        }
        let (old, new) = (diff_path(lines[at], "a/"), diff_path(lines[at + 1], "b/"));
        at += 2;
        let mut hunks: Vec<Hunk> = Vec::new();
        let mut unended = false;
        while let Some(line) = lines.get(at) {
            if let Some(numbered) = line.strip_prefix("@@ ") {
                let (numbered, _) = numbered.split_once(" @@").unwrap_or((numbered, ""));
                hunks.push(Hunk { hint: numbers(numbered), ..Hunk::default() });
            } else if line.starts_with("\\ No newline") {
                unended = true;
            } else if hunks.is_empty()
                || line.starts_with("diff ")
                || line.starts_with("--- ")
                    && lines.get(at + 1).is_some_and(|line| line.starts_with("+++ "))
            {
                break;
            } else if let (Some(hunk), Some(read)) = (hunks.last_mut(), hunk_line(line)) {
                // A blank line between two files is not part of either.
                if !line.is_empty() || at + 1 < lines.len() {
                    hunk.lines.push(read);
                }
            } else {
                break;
            }
            at += 1;
        }
        files.push(file_patch(old, new, hunks, unended)?);
    }
    Ok(files)
}

fn diff_path(line: &str, prefix: &str) -> Option<String> {
    let path = line.get(4..)?.split('\t').next().unwrap_or_default().trim();
    (path != "/dev/null").then(|| path.strip_prefix(prefix).unwrap_or(path).to_owned())
}

fn file_patch(
    old: Option<String>,
    new: Option<String>,
    hunks: Vec<Hunk>,
    unended: bool,
) -> Result<FilePatch, String> {
    match (old, new) {
        (None, Some(path)) => {
            let added = hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(|line| match line {
                HunkLine::Add(text) => Some(text.as_str()),
                _ => None,
            });
            let mut text = added.collect::<Vec<_>>().join("\n");
            if !unended && !text.is_empty() {
                text.push('\n');
            }
            Ok(FilePatch::Add { path, text })
        }
        (Some(path), None) => Ok(FilePatch::Delete { path }),
        (Some(path), Some(new)) => {
            let to = (new != path).then_some(new);
            Ok(FilePatch::Update { path, to, hunks })
        }
        (None, None) => Err("a file of the diff has no name".to_owned()),
    }
}
