//! `search_files`: finds lines by a pattern, or files by name.

mod walk;

use crate::files::{FileAccess, Patience};
use crate::workspace::FileError;
use crate::{Cleared, Habits, Hands, Output, Piece, Tool, ToolError, arguments, path_argument};
use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use insula_domain::{Source, SourceKind};
use serde::Deserialize;
use serde_json::Value;
use std::io;
use std::ops::ControlFlow;
use walk::{Found, Walk};

/// Results unless asked for fewer or more.
const LIMIT: usize = 50;
/// Most results: what a model can read at once.
const LIMIT_MAX: usize = 500;
/// Most lines around a match.
const CONTEXT_MAX: usize = 20;
/// Largest file that is searched; larger ones are data.
const SEARCHED_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Longest answer.
const OUTPUT_BYTES_MAX: usize = 50_000;
/// Characters shown of one line.
const LINE_CHARS_MAX: usize = 500;
/// Size of a compiled pattern: a small text can describe a huge automaton.
const PATTERN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Finds lines or files.
pub struct SearchFiles;

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    target: Target,
    path: Option<String>,
    #[serde(alias = "glob")]
    file_glob: Option<String>,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
    #[serde(default)]
    output_mode: OutputMode,
    #[serde(default)]
    context: usize,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
enum Target {
    #[default]
    Content,
    Files,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    FilesOnly,
    Count,
}

#[async_trait]
impl Tool for SearchFiles {
    fn name(&self) -> &'static str {
        "search_files"
    }

    fn description(&self) -> &'static str {
        "Search the contents of files for a regular expression, or (target `files`) find files whose name matches a glob. Ignored files and .git are left out."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"pattern":{"type":"string"},"target":{"type":"string","enum":["content","files"]},"path":{"type":"string"},"file_glob":{"type":"string"},"limit":{"type":"integer"},"offset":{"type":"integer"},"output_mode":{"type":"string","enum":["content","files_only","count"]},"context":{"type":"integer"}},"required":["pattern"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("glob", "file_glob"),
                ("query", "pattern"),
                ("regex", "pattern"),
                ("directory", "path"),
                ("dir", "path"),
                ("folder", "path"),
                ("max_results", "limit"),
            ],
            blank_is_nothing: &["path", "file_glob"],
            ..Habits::default()
        }
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        path_argument(arguments)
    }

    fn source(&self, shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::File, shown))
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let asked: Arguments = arguments(value)?;
        let query = Query::new(&asked)?;
        let others = match asked.target {
            Target::Files if asked.offset == 0 => otherwise(&asked),
            _ => Vec::new(),
        };
        let path = asked.path.unwrap_or_else(|| ".".to_owned());
        hands
            .files()?
            .work(move |access, patience| search(access, patience, &path, query, others))
            .await
    }
}

/// What is looked for, worked out before anything is opened.
struct Query {
    looking: Looking,
    only: Option<GlobMatcher>,
    offset: usize,
    limit: usize,
}

enum Looking {
    Names(GlobMatcher),
    NamesLike(RegexMatcher),
    Lines { matcher: RegexMatcher, mode: OutputMode, context: usize },
}

impl Query {
    fn new(asked: &Arguments) -> Result<Self, ToolError> {
        let only = asked.file_glob.as_deref().map(glob).transpose()?;
        let looking = match asked.target {
            Target::Files => Looking::Names(glob(&asked.pattern)?),
            Target::Content => {
                let matcher = RegexMatcherBuilder::new()
                    .line_terminator(Some(b'\n'))
                    .size_limit(PATTERN_BYTES_MAX)
                    .dfa_size_limit(PATTERN_BYTES_MAX)
                    .build(&asked.pattern)
                    .map_err(|error| {
                        let what = format!("`pattern` is no regular expression: {error}; put a backslash before characters that are meant as they are");
                        ToolError::Arguments(what)
                    })?;
                let context = asked.context.min(CONTEXT_MAX);
                Looking::Lines { matcher, mode: asked.output_mode, context }
            }
        };
        let limit = asked.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        Ok(Self { looking, only, offset: asked.offset, limit })
    }
}

/// A glob; without a slash it is about the name alone, wherever it stands.
fn glob(text: &str) -> Result<GlobMatcher, ToolError> {
    let anywhere = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
    let anywhere = anywhere.strip_prefix("./").unwrap_or(&anywhere);
    let glob = GlobBuilder::new(anywhere).literal_separator(true).build();
    let glob = glob.map_err(|error| ToolError::Arguments(format!("not a glob: {error}")))?;
    Ok(glob.compile_matcher())
}

/// What else may be meant by a glob that no file's name fits, with what is told of it: a regular
/// expression, as for contents; or a word in the files.
fn otherwise(asked: &Arguments) -> Vec<(Query, &'static str)> {
    let mut others = Vec::new();
    let lines = Query::new(&Arguments { target: Target::Content, ..asked.clone() });
    let Ok(Query { looking: Looking::Lines { matcher, mode, context }, only, offset, limit }) =
        lines
    else {
        return others;
    };
    let is_expression = asked.pattern.contains(['*', '+', '\\', '$', '^', '|', '(']);
    if is_expression {
        let looking = Looking::NamesLike(matcher.clone());
        let names = Query { looking, only: only.clone(), offset, limit };
        others.push((names, "taken as a regular expression, since no name fits it as a glob"));
    }
    if !asked.pattern.contains(['*', '?', '[', '{', '/', '.']) {
        let looking = Looking::Lines { matcher, mode, context };
        let inside = Query { looking, only, offset, limit };
        others.push((inside, "found in the files, and in no name"));
    }
    others
}

/// Searches. Where no name is found, each of the others is looked for in turn.
fn search(
    access: &FileAccess,
    patience: &Patience,
    path: &str,
    query: Query,
    others: Vec<(Query, &'static str)>,
) -> Result<Output, FileError> {
    let (results, left_out) = found(access, patience, path, &query)?;
    if results.found == 0 {
        for (other, note) in others {
            let (results, left_out) = found(access, patience, path, &other)?;
            if results.found > 0 {
                return Ok(results.told(path, other.offset, [Some(note), left_out]));
            }
        }
    }
    Ok(results.told(path, query.offset, [left_out, None]))
}

fn found(
    access: &FileAccess,
    patience: &Patience,
    path: &str,
    query: &Query,
) -> Result<(Results, Option<&'static str>), FileError> {
    let workspace = access.workspace()?;
    let mut results = Results::new(query.offset, query.limit);
    let mut searcher = match &query.looking {
        Looking::Lines { context, .. } => Some(searcher(*context)),
        Looking::NamesLike(_) => Some(searcher(0)),
        Looking::Names(_) => None,
    };
    let walk = Walk::new(&workspace, path, patience)?;
    let left_out = walk.run(&mut |found: &Found<'_>| {
        if query.only.as_ref().is_some_and(|only| !only.is_match(found.below())) {
            return ControlFlow::Continue(());
        }
        match (&query.looking, &mut searcher) {
            (Looking::Lines { matcher, mode, .. }, Some(searcher)) => {
                let Some(bytes) = found.read(SEARCHED_BYTES_MAX) else {
                    return ControlFlow::Continue(());
                };
                let mut lines = FileLines {
                    results: &mut results,
                    file: found.shown(),
                    is_foreign: found.is_foreign(),
                    mode: *mode,
                    count: 0,
                };
                // The only errors are of reading, and this is read already.
                let _ = searcher.search_slice(matcher, &bytes, &mut lines);
                let FileLines { file, count, .. } = lines;
                match mode {
                    OutputMode::FilesOnly if count > 0 => results.add(|| file),
                    OutputMode::Count if count > 0 => results.add(|| format!("{file}: {count}")),
                    _ => {}
                }
            }
            (Looking::Names(names), _) if names.is_match(found.below()) => {
                results.add(|| found.shown());
            }
            (Looking::NamesLike(names), Some(searcher)) => {
                let is_found = is_like(searcher, names, found);
                if is_found {
                    results.add(|| found.shown());
                }
            }
            _ => {}
        }
        if results.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok((results, left_out))
}

/// Whether the path of a file has what an expression describes.
fn is_like(searcher: &mut Searcher, names: &RegexMatcher, found: &Found<'_>) -> bool {
    let mut is_like = false;
    let path = found.below().to_string_lossy();
    let sink = Bytes(|_, _| {
        is_like = true;
        Ok(false)
    });
    // The only errors are of reading, and there is nothing to read.
    let _ = searcher.search_slice(names, path.as_bytes(), sink);
    is_like
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

/// What was found, as far as it is shown.
struct Results {
    skip: usize,
    left: usize,
    text: String,
    found: usize,
    cut: bool,
    /// Whether any of the lines are somebody else's.
    is_foreign: bool,
}

impl Results {
    fn new(offset: usize, limit: usize) -> Self {
        let (text, found) = (String::new(), 0);
        Self { skip: offset, left: limit, text, found, cut: false, is_foreign: false }
    }

    /// Takes one result, unless it stands before the page or after it.
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        if self.left == 0 {
            self.cut = true;
            return;
        }
        self.left -= 1;
        self.found += 1;
        self.push(&line());
    }

    fn push(&mut self, line: &str) {
        if self.text.len() + line.len() > OUTPUT_BYTES_MAX {
            self.cut = true;
            self.left = 0;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Whether one more than is shown was found: then the rest need not be.
    fn is_full(&self) -> bool {
        self.cut
    }

    fn told(self, path: &str, offset: usize, more: [Option<&'static str>; 2]) -> Output {
        let mut text = self.text;
        let mut notes = Vec::new();
        if self.found == 0 {
            notes.push("nothing was found".to_owned());
        }
        if self.cut {
            notes.push(format!("there is more; go on with offset {}", offset + self.found));
        }
        notes.extend(more.into_iter().flatten().map(str::to_owned));
        let notes = (!notes.is_empty()).then(|| format!("[{}]\n", notes.join("; ")));
        if self.is_foreign {
            let lines = Piece::Foreign { source: path.to_owned(), text };
            let notes = notes.map(Piece::Own);
            return Output::Pieces([lines].into_iter().chain(notes).collect());
        }
        text.extend(notes);
        Output::Text(text)
    }
}

/// The matches in one file.
struct FileLines<'r> {
    results: &'r mut Results,
    file: String,
    is_foreign: bool,
    mode: OutputMode,
    count: usize,
}

impl FileLines<'_> {
    fn line(&self, number: Option<u64>, mark: char, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let end = text.char_indices().nth(LINE_CHARS_MAX).map(|(at, _)| at);
        let more = if end.is_some() { "…" } else { "" };
        let number = number.unwrap_or_default();
        format!("{}{mark}{number}{mark}{}{more}", self.file, &text[..end.unwrap_or(text.len())])
    }
}

impl Sink for FileLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        match self.mode {
            OutputMode::FilesOnly => Ok(false),
            OutputMode::Count => Ok(true),
            OutputMode::Content => {
                let line = self.line(found.line_number(), ':', found.bytes());
                self.results.is_foreign |= self.is_foreign;
                self.results.add(|| line);
                Ok(!self.results.is_full())
            }
        }
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.mode == OutputMode::Content && self.results.skip == 0 && self.results.left > 0 {
            let line = self.line(around.line_number(), '-', around.bytes());
            self.results.push(&line);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod search_tests;
