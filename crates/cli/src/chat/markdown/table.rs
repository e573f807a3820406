//! Tables: columns as wide as they need to be, narrower where the terminal is.

use super::inline::Inline;
use super::style::{Paint, Span, Style};
use super::wrap::{Wrapper, spans_width};
use unicode_width::UnicodeWidthStr as _;

/// What stands between two columns.
const GAP: &str = "  ";
/// Narrower, a column can't be read.
const COLUMN_MIN: usize = 6;

/// Whether a line is the one below the head of a table.
pub fn is_rule(line: &str) -> bool {
    let cells = cells(line);
    !cells.is_empty()
        && cells.iter().all(|cell| {
            let dashes = cell.trim_start_matches(':').trim_end_matches(':');
            !dashes.is_empty() && dashes.chars().all(|c| c == '-')
        })
}

/// Lays out the rows of a table: its head, the line below it, and the rest.
pub fn lay_out(lines: &[String], paint: Paint, width: usize) -> String {
    let head = Style { bold: true, ..Style::PLAIN };
    let rows: Vec<Vec<Vec<Span>>> = lines
        .iter()
        .enumerate()
        .filter(|(number, _)| *number != 1)
        .map(|(number, line)| {
            let style = if number == 0 { head } else { Style::PLAIN };
            cells(line).iter().map(|cell| spans(cell, style, paint)).collect()
        })
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let natural: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|c| spans_width(c)).max())
        .map(|widest| widest.unwrap_or(0).max(1))
        .collect();
    let widths = fit(&natural, width.saturating_sub(GAP.len() * columns.saturating_sub(1)));
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        put_row(&mut out, row, &widths, paint);
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            Style::DIM.paint_into(&mut out, &rules.join(GAP), paint);
            out.push('\n');
        }
    }
    out
}

fn spans(cell: &str, style: Style, paint: Paint) -> Vec<Span> {
    match paint {
        Paint::Colour => Inline::new(style).take(&mut cell.to_owned(), true),
        Paint::Plain => vec![Span::new(cell, style)],
    }
}

/// Takes from the widest columns until all fit, as far as columns can be narrowed.
fn fit(natural: &[usize], room: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    let total: usize = widths.iter().sum();
    for _ in room..total {
        let widest = widths.iter_mut().max().filter(|widest| **widest > COLUMN_MIN);
        let Some(widest) = widest else { break };
        *widest -= 1;
    }
    widths
}

fn put_row(out: &mut String, row: &[Vec<Span>], widths: &[usize], paint: Paint) {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| {
            let mut text = String::new();
            let mut wrapper = Wrapper::begin(&mut text, paint, *width, &[], vec![]);
            for span in cell {
                wrapper.push(&mut text, span);
            }
            wrapper.end(&mut text);
            text.lines().map(str::to_owned).collect()
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut text = String::new();
        for (column, width) in widths.iter().enumerate() {
            let cell = cells.get(column).and_then(|cell| cell.get(line));
            let cell = cell.map_or("", String::as_str);
            let blank = width.saturating_sub(shown_width(cell));
            text.push_str(cell);
            text.push_str(&" ".repeat(blank));
            text.push_str(GAP);
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}

/// The columns a painted text takes.
fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

/// The cells of a row. A bar after a backslash is a bar.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => {
                chars.next();
                last(&mut cells).push('|');
            }
            '|' => cells.push(String::new()),
            c => last(&mut cells).push(c),
        }
    }
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn last(cells: &mut [String]) -> &mut String {
    let end = cells.len() - 1;
    &mut cells[end]
}
