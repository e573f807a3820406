//! How answers look: tables that fit a terminal, JSON where asked for, colour only there.

use crate::failure::{FAILED, Failure};
use crate::process;
use anstream::eprintln;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use insula_config::render::{self, Colour};
use serde_json::Value;
use std::io::{ErrorKind, Write as _};

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

/// Prints a table without lines.
pub fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(COLUMNS_WITHOUT_TERMINAL);
    }
    table.set_header(headers.iter().map(|header| header.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)));
    }
    put(&format!("{}\n", trim_lines(&table.to_string())));
}

/// Prints name and value, one a line, the values in one column.
pub fn facts(facts: &[(&str, String)]) {
    put(&facts_text(facts));
}

/// Name and value, one a line, the values in one column.
pub fn facts_text(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in facts {
        let value = clean(value);
        let mut lines = value.lines();
        let first = lines.next().unwrap_or_default();
        text += &format!("{DIM}{name:width$}{RESET}  {first}\n");
        for line in lines {
            text += format!("{:width$}  {line}", "").trim_end();
            text.push('\n');
        }
    }
    text
}

/// Prints a heading.
pub fn heading(text: &str) {
    put(&heading_text(text));
}

pub fn heading_text(text: &str) -> String {
    format!("{BOLD}{}{RESET}\n", clean(text))
}

/// Prints a line.
pub fn line(text: &str) {
    put(&format!("{}\n", clean(text)));
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
    eprintln!("{}", clean(text));
}

/// Prints why a command failed.
pub fn failure(failure: &Failure) {
    match failure {
        Failure::Failed(message)
        | Failure::WrongUse(message)
        | Failure::Refused { message, .. } => {
            eprintln!("{RED}error{RESET}: {}", clean(message));
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
