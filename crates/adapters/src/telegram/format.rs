//! From Markdown, as models write it, to the few tags the platform knows.
//!
//! Whatever comes in, what goes out is well formed: tags are closed in order, nothing stands
//! inside code, and every character that means something is escaped. What is seen is never
//! longer than what came in, so a text within the platform's limit stays within it.
//!
//! What stands inside a line is read by [`crate::markdown`], as for every platform. Blocks are not:
//! the platform has lines and no blocks, so lines stay as they were written, numbers and blank
//! lines included, which a tree of blocks would have lost.

mod inline;

use inline::inline;

/// The rendering of `markdown`, or `None` when nothing of it would be seen.
pub(super) fn html(markdown: &str) -> Option<String> {
    let clean: String =
        markdown.chars().filter(|&c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let lines: Vec<&str> = clean.split('\n').collect();
    let mut blocks: Vec<String> = vec![];
    let mut at = 0;
    while at < lines.len() {
        let (block, taken) = block(&lines[at..]);
        blocks.push(block);
        at += taken.max(1);
    }
    let html = blocks.join("\n");
    is_seen(&html).then_some(html)
}

/// The first block of some lines, rendered, and how many lines it took.
fn block(lines: &[&str]) -> (String, usize) {
    let line = lines[0];
    if let Some(fence) = Fence::opened_by(line) {
        return fenced(&fence, lines);
    }
    if let Some(text) = heading(line) {
        return (format!("<b>{}</b>", inline(text, true)), 1);
    }
    if is_rule(line) {
        return ("———".into(), 1);
    }
    if line.trim_start().starts_with('>') {
        return quotation(lines);
    }
    if is_table(lines) {
        return table(lines);
    }
    if let Some((indent, rest)) = bullet(line) {
        return (format!("{indent}• {}", inline(rest, false)), 1);
    }
    // Lines that are nothing else belong together: what is bold may go on in the next one.
    let more = lines[1..].iter().take_while(|line| is_plain(line)).count();
    let taken = if is_plain(line) { 1 + more } else { 1 };
    (inline(&lines[..taken].join("\n"), false), taken)
}

fn is_plain(line: &str) -> bool {
    let begin = line.trim_start();
    !begin.is_empty()
        && Fence::opened_by(line).is_none()
        && heading(line).is_none()
        && !is_rule(line)
        && !begin.starts_with(['>', '|'])
        && bullet(line).is_none()
        && !begin.starts_with(|c: char| c.is_ascii_digit())
}

struct Fence<'a> {
    mark: char,
    length: usize,
    language: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let begin = line.trim_start();
        let mark = begin.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = begin.chars().take_while(|&c| c == mark).count();
        let info = begin[length..].trim();
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        let language = info.split_whitespace().next().unwrap_or_default();
        is_fence.then_some(Self { mark, length, language })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.chars().count() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

fn fenced(fence: &Fence<'_>, lines: &[&str]) -> (String, usize) {
    let inside = lines[1..].iter().take_while(|line| !fence.is_closed_by(line)).count();
    let code = escape(&lines[1..=inside].join("\n"));
    let taken = (inside + 2).min(lines.len());
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_' | '.');
    if fence.language.is_empty() || !fence.language.chars().all(is_name) {
        return (format!("<pre>{code}</pre>"), taken);
    }
    let language = fence.language;
    (format!("<pre><code class=\"language-{language}\">{code}</code></pre>"), taken)
}

fn heading(line: &str) -> Option<&str> {
    let level = line.chars().take_while(|&c| c == '#').count();
    let text = line[level..].strip_prefix(' ')?;
    let text = text.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !text.is_empty()).then_some(text)
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && ['-', '*', '_'].iter().any(|&mark| line.chars().all(|c| c == mark))
}

fn quotation(lines: &[&str]) -> (String, usize) {
    let quoted: Vec<&str> = lines
        .iter()
        .map(|line| line.trim_start())
        .take_while(|line| line.starts_with('>'))
        // One inside another is not known there.
        .map(|line| line.trim_start_matches(['>', ' ']))
        .collect();
    (format!("<blockquote>{}</blockquote>", inline(&quoted.join("\n"), false)), quoted.len())
}

/// A table, which the platform does not have: each row is a line, its cells apart by dots and the
/// heading bold. Columns that stand below each other would take more room than came in, and a
/// phone would break them.
fn table(lines: &[&str]) -> (String, usize) {
    let taken = lines.iter().take_while(|line| line.trim_start().starts_with('|')).count();
    let row = |line: &str, is_heading: bool| {
        let cells = cells(line).into_iter().filter(|cell| !cell.is_empty());
        let cells: Vec<String> = cells.map(|cell| inline(&cell, is_heading)).collect();
        cells.join(" · ")
    };
    let heading = row(lines[0], true);
    let mut rows = Vec::new();
    if !heading.is_empty() {
        rows.push(format!("<b>{heading}</b>"));
    }
    rows.extend(lines[2..taken].iter().map(|line| row(line, false)));
    (rows.join("\n"), taken)
}

/// The cells of a row. A mark behind a backslash, or in code, parts nothing.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut cell, mut is_code) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => cell.extend(chars.next()),
            '|' if !is_code => cells.push(std::mem::take(&mut cell)),
            c => {
                is_code ^= c == '`';
                cell.push(c);
            }
        }
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

fn is_table(lines: &[&str]) -> bool {
    let is_ruler = |line: &str| {
        let line = line.trim();
        line.starts_with('|')
            && line.contains('-')
            && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
    };
    lines[0].trim_start().starts_with('|') && lines.get(1).is_some_and(|line| is_ruler(line))
}

/// A line of a list without numbers: what it is set in by, and what it says.
fn bullet(line: &str) -> Option<(&str, &str)> {
    let begin = line.trim_start_matches(' ');
    let indent = &line[..line.len() - begin.len()];
    let rest = begin.strip_prefix(['-', '*', '+'])?.strip_prefix(' ')?;
    Some((indent, rest))
}

/// Text in which nothing means anything.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Whether anything is left without tags and spaces.
fn is_seen(html: &str) -> bool {
    let mut inside = false;
    html.chars().any(|character| {
        match character {
            '<' => inside = true,
            '>' => inside = false,
            other => return !inside && !other.is_whitespace(),
        }
        false
    })
}
