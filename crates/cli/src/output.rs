//! How answers look: tables that fit a terminal, JSON where asked for, colour only there.

use crate::failure::{FAILED, Failure};
use crate::layout::{longest_word, width, wrap};
use crate::process;
use anstream::eprintln;
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, Width};
use insula_config::render::{self, Colour};
use rustix::termios::tcgetwinsize;
use serde_json::Value;
use std::io::{ErrorKind, IsTerminal, Write as _};

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[1;31m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Widest table where the terminal does not say how wide it is.
const COLUMNS_WITHOUT_TERMINAL: u16 = 160;

/// Writes to standard output. A reader that has seen enough ends the command, quietly; any
/// other failure ends it as a failure, because half an answer is none.
fn put(text: &str) {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::end(0),
        Err(error) => {
            eprintln!("{RED}error{RESET}: the answer can't be written: {error}");
            process::end(FAILED);
        }
    }
}

/// Prints JSON, indented.
pub fn json(value: &Value) {
    put(&format!("{value:#}\n"));
}

/// The columns of a terminal; `None` for what is none.
fn columns(of: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    let size = tcgetwinsize(of).ok().filter(|_| of.is_terminal())?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Prints a table without lines. Where a terminal is too narrow for it, each row is told below the
/// other, so that no word is broken.
pub fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let clean_row = |row: Vec<String>| row.iter().map(|cell| clean(cell)).collect::<Vec<_>>();
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(clean_row).collect();
    let headers = &without_idle(headers, &mut rows)[..];
    let columns = columns(&std::io::stdout());
    let least = least_widths(headers, &rows);
    // Each column has a blank on both sides.
    let needed: usize = least.iter().map(|least| least + 2).sum();
    if let Some(columns) = columns
        && needed > columns
    {
        return put(&stacked(headers, &rows, columns));
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(COLUMNS_WITHOUT_TERMINAL);
    }
    table.set_header(headers.iter().map(|header| header.to_uppercase()));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(|(at, cell)| {
            let colour = headers.get(at).and_then(|header| colour_of(header, &cell));
            let cell = Cell::new(cell);
            match colour {
                Some(colour) => cell.fg(colour),
                None => cell,
            }
        }));
    }
    if columns.is_some() {
        for (at, least) in least.into_iter().enumerate() {
            let least = Width::Fixed(u16::try_from(least + 2).unwrap_or(u16::MAX));
            if let Some(column) = table.column_mut(at) {
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
    }
    put(&format!("{}\n", trim_lines(&table.to_string())));
}

/// Columns that say something only of some rows, and nothing where there are none of those.
const MAY_BE_IDLE: [&str; 1] = ["name"];

/// The headers without such columns where no row has anything in them.
fn without_idle<'h>(headers: &[&'h str], rows: &mut [Vec<String>]) -> Vec<&'h str> {
    let mut kept = headers.to_vec();
    let is_idle = |at: usize, header: &str, rows: &[Vec<String>]| {
        MAY_BE_IDLE.contains(&header)
            && rows.iter().all(|row| row.get(at).is_none_or(String::is_empty))
    };
    for at in (0..headers.len()).rev() {
        if is_idle(at, headers[at], rows) {
            kept.remove(at);
            rows.iter_mut().filter(|row| at < row.len()).for_each(|row| drop(row.remove(at)));
        }
    }
    kept
}

/// The columns that each column of a table needs so that no word of it is broken.
fn least_widths(headers: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let of = |at: usize| rows.iter().filter_map(move |row| row.get(at)).map(|it| longest_word(it));
    headers.iter().enumerate().map(|(at, it)| of(at).max().unwrap_or(0).max(width(it))).collect()
}

/// Rows one below the other, each a list of facts.
fn stacked(headers: &[&str], rows: &[Vec<String>], columns: usize) -> String {
    let row = |row: &Vec<String>| {
        let cells = headers.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<(String, String)> =
            cells.map(|(it, cell)| (it.to_uppercase(), cell.clone())).collect();
        let cells: Vec<(&str, String)> =
            cells.iter().map(|(it, cell)| (it.as_str(), cell.clone())).collect();
        laid_out(&cells, Some(columns))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// How the state of something looks, by the name of its column. Never by colour alone: the word
/// stands there.
fn colour_of(header: &str, state: &str) -> Option<Color> {
    if !["state", "status", "outcome"].iter().any(|it| header.eq_ignore_ascii_case(it)) {
        return None;
    }
    match state.split([' ', ',', ':']).next()? {
        "ready" | "ok" | "connected" | "running" | "active" | "done" | "replied" | "approved"
        | "allowed" | "sent" => Some(Color::Green),
        "paused" | "waiting" | "waits" | "archived" | "pending" | "connecting" | "warning"
        | "held" | "off" | "stopped" => Some(Color::Yellow),
        "failed" | "down" | "error" | "deleted" | "denied" | "missing" | "blocked" | "refused"
        | "lost" => Some(Color::Red),
        _ => None,
    }
}

/// The sequence of a colour.
fn sequence(colour: Color) -> &'static str {
    match colour {
        Color::Green => "\x1b[32m",
        Color::Yellow => "\x1b[33m",
        _ => "\x1b[31m",
    }
}

/// Prints name and value, one a line, the values in one column.
pub fn facts(facts: &[(&str, String)]) {
    put(&facts_text(facts));
}

/// Name and value, one a line, the values in one column.
pub fn facts_text(facts: &[(&str, String)]) -> String {
    laid_out(facts, columns(&std::io::stdout()))
}

/// Room that a value needs beside its name; with less it stands below.
const VALUE_COLUMNS_MIN: usize = 20;

fn laid_out(facts: &[(&str, String)], columns: Option<usize>) -> String {
    let names = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let beside = columns.is_none_or(|columns| columns >= names + 2 + VALUE_COLUMNS_MIN);
    let indent = if beside { names + 2 } else { 2 };
    let mut text = String::new();
    for (name, value) in facts {
        let value = clean(value);
        let value = match columns {
            Some(columns) => wrap(&value, columns.saturating_sub(indent).max(1), 0),
            None => value,
        };
        let mut lines = value.lines();
        let paint = |line: &str| match colour_of(name, line) {
            Some(colour) => format!("{}{line}{RESET}", sequence(colour)),
            None => line.to_owned(),
        };
        if beside {
            let first = paint(lines.next().unwrap_or_default());
            text += &format!("{DIM}{name:names$}{RESET}  {first}\n");
        } else {
            text += &format!("{DIM}{name}{RESET}\n");
        }
        for line in lines {
            text += format!("{:indent$}{}", "", paint(line)).trim_end();
            text.push('\n');
        }
    }
    text
}

/// Lines for standard output, broken between words where a terminal reads it.
pub fn text_block(text: &str) -> String {
    folded(text, &std::io::stdout()) + "\n"
}

/// Commands and what each shows, in two columns, or below each other where there is no room.
pub fn pairs_text(pairs: &[(String, &str)]) -> String {
    let names = pairs.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let needed = pairs.iter().map(|(_, what)| width(what)).max().unwrap_or(0) + names + 4;
    let is_wide = columns(&std::io::stdout()).is_none_or(|columns| columns >= needed);
    let line = |(name, what): &(String, &str)| match is_wide {
        true => format!("  {name}{} {what}\n", " ".repeat(names - width(name) + 1)),
        false => text_block(&format!("  {name}")) + &text_block(&format!("      {what}")),
    };
    pairs.iter().map(line).collect()
}

/// Prints a heading.
pub fn heading(text: &str) {
    put(&heading_text(text));
}

pub fn heading_text(text: &str) -> String {
    format!("{BOLD}{}{RESET}\n", clean(text))
}

/// Prints a line, or as many as a terminal needs for it.
pub fn line(text: &str) {
    put(&format!("{}\n", folded(text, &std::io::stdout())));
}

/// A text without what could move the cursor, broken between words where a terminal reads it.
fn folded(text: &str, out: &(impl IsTerminal + std::os::fd::AsFd)) -> String {
    match columns(out) {
        Some(columns) => wrap(&clean(text), columns, 2),
        None => clean(text),
    }
}

/// Prints what a daemon says at its start. Nobody listening is no reason not to serve.
pub fn announce(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints text that brings its own layout.
pub fn block(text: &str) {
    put(text);
}

/// Tells whoever waits for an answer something that is no part of it.
pub fn notice(text: &str) {
    eprintln!("{}", folded(text, &std::io::stderr()));
}

/// Prints why a command failed.
pub fn failure(failure: &Failure) {
    match failure {
        Failure::Failed(message)
        | Failure::WrongUse(message)
        | Failure::Refused { message, .. } => {
            let told = folded(&format!("error: {message}"), &std::io::stderr());
            let rest = told.strip_prefix("error").unwrap_or(&told);
            eprintln!("{RED}error{RESET}{rest}");
        }
        Failure::Configuration(report) => eprintln!("{}", render::text(report, Colour::Ansi)),
        Failure::RemoteConfiguration(report) => {
            for found in report["errors"].as_array().into_iter().flatten() {
                let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
                eprintln!("{RED}error{RESET}: {}", clean(&text("message")));
                eprintln!("  --> {}:{}:{}", text("file"), found["line"], found["column"]);
                if found["help"].is_string() {
                    eprintln!("  = help: {}", clean(&text("help")));
                }
            }
            eprintln!("nothing was changed; what ran before still runs");
        }
    }
}

/// A number and what it counts.
pub fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// Text that can't move the cursor, colour what follows or turn it around, whoever wrote it.
pub fn clean(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmless = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || turns(*c));
    text.chars().filter(harmless).collect()
}

fn trim_lines(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
