//! Findings as people and programs read them.
//!
//! What stands in a file may be anything, so nothing of it reaches a terminal before its
//! control characters are replaced, and no place, however odd, is taken on trust.

use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport, Severity};
use crate::source::{Sources, Span};
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

/// Whether a text carries terminal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// None.
    Plain,
    /// ANSI escape codes.
    Ansi,
}

/// How far back the start of a line is looked for, and how much is shown after the place
/// that is meant: a file may well be one line of megabytes.
const BEFORE_BYTES_MAX: usize = 64 * 1024;
const AFTER_BYTES_MAX: usize = 240;

/// Columns a finding is laid out for.
const WIDTH: usize = 120;

/// Every finding, errors first, and a closing line with their number; empty when there is
/// none.
pub fn text(report: &LoadReport, colour: Colour) -> String {
    let renderer = match colour {
        Colour::Plain => Renderer::plain(),
        Colour::Ansi => Renderer::styled(),
    };
    let renderer = renderer.term_width(WIDTH);
    let mut out = String::new();
    let mut explained = HashSet::new();
    let sources = &report.sources.without(report.concealed());
    for found in report.errors().chain(report.warnings()) {
        let first = found.severity == Severity::Error && explained.insert(&found.owner);
        let consequence = if first { consequence(&found.owner) } else { None };
        let group = group(found, sources, consequence);
        let _ = write!(out, "{}\n\n", renderer.render(&[group]));
    }
    if !report.diagnostics.is_empty() {
        let _ = writeln!(out, "{}", counts(report));
    }
    out
}

/// `{ok, errors: [{file, line, column, message, help, agent}], warnings: [same]}`.
pub fn json(report: &LoadReport) -> Json {
    let list = |findings: Vec<&Diagnostic>| -> Json {
        findings.into_iter().map(|found| one(found, &report.sources)).collect()
    };
    json!({
        "ok": report.errors().next().is_none(),
        "errors": list(report.errors().collect()),
        "warnings": list(report.warnings().collect()),
    })
}

/// "3 errors, 1 warning".
pub fn counts(report: &LoadReport) -> String {
    let count = |number: usize, word: &str| match number {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{number} {word}s")),
    };
    let errors = count(report.errors().count(), "error");
    let warnings = count(report.warnings().count(), "warning");
    match (errors, warnings) {
        (Some(errors), Some(warnings)) => format!("{errors}, {warnings}"),
        (errors, warnings) => errors.or(warnings).unwrap_or_else(|| "no errors".to_owned()),
    }
}

fn one(found: &Diagnostic, sources: &Sources) -> Json {
    json!({
        "file": &*sources.get(found.span.source).name,
        "line": found.span.line,
        "column": found.span.column,
        "message": found.message,
        "help": found.help,
        "agent": match &found.owner {
            FindingOwner::Agent(name) => Some(name),
            FindingOwner::Shared | FindingOwner::EveryAgent | FindingOwner::Binding | FindingOwner::Account(_) => None,
        },
    })
}

/// What an error means for whoever owns it.
fn consequence(owner: &FindingOwner) -> Option<String> {
    match owner {
        FindingOwner::Shared => Some("nothing of this configuration is applied".to_owned()),
        FindingOwner::EveryAgent => Some("no agent is started".to_owned()),
        FindingOwner::Agent(name) => Some(format!("agent `{}` is not started", printable(name))),
        FindingOwner::Binding => Some("messages that match this binding are refused".to_owned()),
        FindingOwner::Account(name) => {
            Some(format!("account `{}` does not connect", printable(name)))
        }
    }
}

fn group<'r>(
    found: &Diagnostic,
    sources: &Sources,
    consequence: Option<String>,
) -> annotate_snippets::Group<'r> {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let label = found.label.as_deref().map(printable);
    let is_beside = |span: &Span| span.source == found.span.source && span.line == found.span.line;
    let mut marks =
        vec![Mark { span: found.span, label: label.clone(), kind: AnnotationKind::Primary }];
    let mut elsewhere = Vec::new();
    for (span, label) in &found.related {
        let mark =
            Mark { span: *span, label: Some(printable(label)), kind: AnnotationKind::Context };
        if is_beside(span) { marks.push(mark) } else { elsewhere.push(mark) }
    }
    let mut group = level.primary_title(printable(&found.message)).element(place(marks, sources));
    group = group.elements(elsewhere.into_iter().map(|mark| place(vec![mark], sources)));
    // What the place itself already says is not said twice.
    let help = found.help.as_deref().map(printable).filter(|help| Some(help) != label.as_ref());
    group = group.elements(help.map(|help| Level::HELP.message(help)));
    group.elements(consequence.map(|text| Level::NOTE.no_name().message(text)))
}

/// A place and what to say there.
struct Mark {
    span: Span,
    label: Option<String>,
    kind: AnnotationKind,
}

/// The place by name, and the line itself where it can be shown. All marks are of one line,
/// the one that names it first.
fn place<'r>(marks: Vec<Mark>, sources: &Sources) -> Element<'r> {
    let Span { source, line, column, .. } = marks[0].span;
    let source = sources.get(source);
    let name = printable(&source.name);
    let Some(excerpt) = Excerpt::of(&source.text, &marks) else {
        return Origin::path(name).line(line as usize).char_column(column as usize).into();
    };
    let marked = marks.into_iter().zip(excerpt.marked);
    let annotations = marked.map(|(mark, marked)| mark.kind.span(marked).label(mark.label));
    Snippet::source(excerpt.line)
        .line_start(line as usize)
        .path(name)
        .annotations(annotations)
        .into()
}

/// The line of some marks, from its start, and which parts of it are meant.
struct Excerpt {
    line: String,
    marked: Vec<Range<usize>>,
}

impl Excerpt {
    /// `None` where there is nothing to show, or where the line starts too far away.
    fn of(text: &str, marks: &[Mark]) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let is_break = |c: char| c == '\n' || c == '\r';
        let starts = marks.iter().map(|mark| text.floor_char_boundary(mark.span.start as usize));
        let (first, last) = (starts.clone().min()?, starts.max()?);
        let before = text.ceil_char_boundary(first.saturating_sub(BEFORE_BYTES_MAX));
        let after = text.floor_char_boundary(last.saturating_add(AFTER_BYTES_MAX));
        let from = match text[before..first].rfind(is_break) {
            Some(at) => before + at + 1,
            None if before == 0 => 0,
            None => return None,
        };
        let (to, rest) = match text[first..after].find(is_break) {
            Some(at) => (first + at, ""),
            None if after < text.len() => (after, "…"),
            None => (after, ""),
        };
        let shown_at = |byte: u32| {
            let byte = text.floor_char_boundary(byte as usize).clamp(from, to);
            safe(&text[from..byte]).len()
        };
        let marked = marks.iter().map(|Mark { span, .. }| {
            let start = shown_at(span.start);
            start..shown_at(span.end).max(start)
        });
        Some(Self { marked: marked.collect(), line: safe(&text[from..to]) + rest })
    }
}

/// A text of one line with nothing in it that could steer a terminal or hide what it says.
fn printable(text: &str) -> String {
    safe(text).replace('\t', "    ")
}

/// The same, tabs left alone: columns count them as one.
fn safe(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() && c != '\t'
            || matches!(c,
                '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.replace(steers, "\u{fffd}")
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod render_tests;
