//! How answers look: tables that fit a terminal, JSON where asked for, colour only there.

use crate::failure::Failure;
use anstream::{eprintln, print, println};
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use insula_config::render::{self, Colour};
use serde_json::Value;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[1;31m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Widest table where the terminal does not say how wide it is.
const COLUMNS_WITHOUT_TERMINAL: u16 = 160;

/// Prints JSON, indented.
pub fn json(value: &Value) {
    println!("{value:#}");
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
    println!("{}", trim_lines(&table.to_string()));
}

/// Prints name and value, one a line, the values in one column.
pub fn facts(facts: &[(&str, String)]) {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in facts {
        let mut lines = clean(value).lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
        println!("{DIM}{name:width$}{RESET}  {}", lines.next().unwrap_or_default());
        for line in lines {
            println!("{:width$}  {line}", "");
        }
    }
}

/// Prints a heading.
pub fn heading(text: &str) {
    println!("{BOLD}{}{RESET}", clean(text));
}

/// Prints a line.
pub fn line(text: &str) {
    println!("{}", clean(text));
}

/// Prints text that brings its own layout.
pub fn block(text: &str) {
    print!("{text}");
}

/// Prints why a command failed.
pub fn failure(failure: &Failure) {
    match failure {
        Failure::Failed(message) | Failure::WrongUse(message) => {
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

/// Text that can't move the cursor or colour what follows, whoever wrote it.
pub fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn trim_lines(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
