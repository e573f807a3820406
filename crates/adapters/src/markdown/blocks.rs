//! Blocks: what a line is by how it begins.

use super::{DEPTH_MAX, Mark, Piece, inline};

/// Takes lines apart into blocks.
pub(super) fn parse<'a>(lines: &[&'a str], depth: usize, pieces: &mut Vec<Piece<'a>>) {
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        if line.trim().is_empty() {
            at += 1;
            continue;
        }
        let rest = &lines[at..];
        at += match kind(line) {
            Kind::Fence(fence) => code_block(rest, &fence, pieces),
            Kind::Heading(level, title) => {
                pieces.push(Piece::Open(Mark::Heading(level)));
                inline::parse(title, pieces);
                pieces.push(Piece::Close(Mark::Heading(level)));
                1
            }
            Kind::Rule => {
                pieces.push(Piece::Rule);
                1
            }
            Kind::Quote if depth < DEPTH_MAX => quote(rest, depth, pieces),
            Kind::Item(_) if depth < DEPTH_MAX => list(rest, depth, pieces),
            _ if is_table(rest) => table(rest, pieces),
            _ => paragraph(rest, pieces),
        };
    }
}

/// What a line is, by itself.
enum Kind<'a> {
    Fence(Fence<'a>),
    Heading(u8, &'a str),
    Rule,
    Quote,
    Item(Bullet<'a>),
    Plain,
}

struct Fence<'a> {
    mark: char,
    len: usize,
    indent: usize,
    language: &'a str,
}

/// The head of a list's entry.
struct Bullet<'a> {
    /// Its number, for a numbered list.
    number: Option<u32>,
    /// Which sign it uses: another sign begins another list.
    sign: char,
    indent: usize,
    /// Where its text begins.
    width: usize,
    text: &'a str,
}

fn kind(line: &str) -> Kind<'_> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    if let Some(fence) = fence(text, indent) {
        return Kind::Fence(fence);
    }
    let hashes = text.bytes().take_while(|&byte| byte == b'#').count();
    if let (1..=6, Ok(level)) = (hashes, u8::try_from(hashes)) {
        let title = &text[hashes..];
        if title.is_empty() || title.starts_with([' ', '\t']) {
            let title = title.trim();
            let open = title.trim_end_matches('#');
            let closed = open.is_empty() || open.ends_with([' ', '\t']);
            return Kind::Heading(level, if closed { open.trim_end() } else { title });
        }
    }
    if is_rule(text) {
        return Kind::Rule;
    }
    if text.starts_with('>') {
        return Kind::Quote;
    }
    bullet(text, indent).map_or(Kind::Plain, Kind::Item)
}

fn fence(text: &str, indent: usize) -> Option<Fence<'_>> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let len = text.len() - info.len();
    // A backtick behind a fence of backticks: it was code within a line.
    if len < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let language = info.split_whitespace().next().unwrap_or_default();
    Some(Fence { mark, len, indent, language })
}

fn is_rule(text: &str) -> bool {
    let mut signs = text.chars().filter(|sign| !sign.is_whitespace());
    let Some(first) = signs.next().filter(|sign| matches!(sign, '-' | '*' | '_')) else {
        return false;
    };
    let mut count = 1;
    for sign in signs {
        if sign != first {
            return false;
        }
        count += 1;
    }
    count >= 3
}

fn bullet(text: &str, indent: usize) -> Option<Bullet<'_>> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, head) = match digits {
        0 => (None, 0),
        1..=9 => (text[..digits].parse().ok(), digits),
        _ => return None,
    };
    let sign = text[head..].chars().next()?;
    let is_sign = match number {
        Some(_) => matches!(sign, '.' | ')'),
        None => matches!(sign, '-' | '*' | '+'),
    };
    let rest = &text[head + sign.len_utf8()..];
    if !is_sign || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let inner = rest.trim_start();
    Some(Bullet { number, sign, indent, width: indent + head + 2, text: inner })
}

/// The block of code that begins here; a fence nobody closed lasts to the end.
fn code_block<'a>(lines: &[&'a str], fence: &Fence<'a>, pieces: &mut Vec<Piece<'a>>) -> usize {
    pieces.push(Piece::Open(Mark::CodeBlock(fence.language)));
    let mut taken = 1;
    let mut first = true;
    for line in &lines[1..] {
        taken += 1;
        let text = line.trim();
        if text.len() >= fence.len && text.chars().all(|sign| sign == fence.mark) {
            break;
        }
        if !first {
            pieces.push(Piece::Text("\n"));
        }
        first = false;
        pieces.push(Piece::Text(without_indent(line, fence.indent)));
    }
    pieces.push(Piece::Close(Mark::CodeBlock(fence.language)));
    taken
}

/// The line without its first `width` columns of blanks, or as many as it has.
fn without_indent(line: &str, width: usize) -> &str {
    let blanks = line.bytes().take_while(|&byte| byte == b' ' || byte == b'\t').count();
    &line[blanks.min(width)..]
}

fn quote<'a>(lines: &[&'a str], depth: usize, pieces: &mut Vec<Piece<'a>>) -> usize {
    let quoted: Vec<&str> = lines
        .iter()
        .map_while(|line| line.trim_start().strip_prefix('>'))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    pieces.push(Piece::Open(Mark::Quote));
    parse(&quoted, depth + 1, pieces);
    pieces.push(Piece::Close(Mark::Quote));
    quoted.len()
}

fn list<'a>(lines: &[&'a str], depth: usize, pieces: &mut Vec<Piece<'a>>) -> usize {
    let Kind::Item(first) = kind(lines[0]) else { return paragraph(lines, pieces) };
    pieces.push(Piece::Open(Mark::List(first.number)));
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        let Kind::Item(bullet) = kind(line) else { break };
        let same = bullet.sign == first.sign && bullet.number.is_some() == first.number.is_some();
        if !same || bullet.indent < first.indent {
            break;
        }
        let mut inside = vec![bullet.text];
        at += 1;
        at += continuation(&lines[at..], &bullet, &mut inside);
        pieces.push(Piece::Open(Mark::Item));
        item(&inside, depth + 1, pieces);
        pieces.push(Piece::Close(Mark::Item));
    }
    pieces.push(Piece::Close(Mark::List(first.number)));
    at
}

/// What belongs to an entry beyond its first line: what is indented further than its sign, and
/// the lines its paragraph goes on with. Gives how many lines that is.
fn continuation<'a>(lines: &[&'a str], bullet: &Bullet<'_>, inside: &mut Vec<&'a str>) -> usize {
    let mut taken = 0;
    let mut after_blank = false;
    for (at, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            after_blank = true;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let deeper = indent > bullet.indent;
        let goes_on = !after_blank && matches!(kind(line), Kind::Plain);
        if !deeper && !goes_on {
            break;
        }
        if after_blank {
            inside.push("");
        }
        after_blank = false;
        inside.push(without_indent(line, bullet.width));
        taken = at + 1;
    }
    taken
}

/// An entry's lines. A first paragraph alone is not worth a paragraph's distance.
fn item<'a>(lines: &[&'a str], depth: usize, pieces: &mut Vec<Piece<'a>>) {
    let start = pieces.len();
    parse(lines, depth, pieces);
    if pieces.get(start) != Some(&Piece::Open(Mark::Paragraph)) {
        return;
    }
    let end = pieces[start..].iter().position(|it| *it == Piece::Close(Mark::Paragraph));
    if let Some(end) = end {
        pieces.remove(start + end);
        pieces.remove(start);
    }
}

fn paragraph<'a>(lines: &[&'a str], pieces: &mut Vec<Piece<'a>>) -> usize {
    let goes_on = |at: usize| {
        let line = lines[at];
        !line.trim().is_empty() && matches!(kind(line), Kind::Plain) && !is_table(&lines[at..])
    };
    let count = (1..lines.len()).find(|&at| !goes_on(at)).unwrap_or(lines.len());
    pieces.push(Piece::Open(Mark::Paragraph));
    inline::parse_lines(&lines[..count], pieces);
    pieces.push(Piece::Close(Mark::Paragraph));
    count
}

fn is_table(lines: &[&str]) -> bool {
    let [head, line, ..] = lines else { return false };
    let is_line = |text: &str| {
        text.contains('-') && text.chars().all(|sign| matches!(sign, '|' | '-' | ':' | ' ' | '\t'))
    };
    head.contains('|')
        && line.contains('|')
        && is_line(line)
        && cells(head).len() == cells(line).len()
}

fn table<'a>(lines: &[&'a str], pieces: &mut Vec<Piece<'a>>) -> usize {
    let columns = cells(lines[0]).len();
    let rows = lines.iter().take_while(|line| line.contains('|')).count();
    pieces.push(Piece::Open(Mark::Table));
    for (at, line) in lines[..rows].iter().enumerate().filter(|(at, _)| *at != 1) {
        let is_heading = at == 0;
        pieces.push(Piece::Open(Mark::Row { is_heading }));
        let found = cells(line);
        // A row may be short; one that is too long keeps what it has.
        for column in 0..columns.max(found.len()) {
            pieces.push(Piece::Open(Mark::Cell { is_heading }));
            inline::parse(found.get(column).copied().unwrap_or_default(), pieces);
            pieces.push(Piece::Close(Mark::Cell { is_heading }));
        }
        pieces.push(Piece::Close(Mark::Row { is_heading }));
    }
    pieces.push(Piece::Close(Mark::Table));
    rows
}

/// The fields of a row, split where a bar is neither escaped nor in code.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut found = vec![];
    let (mut start, mut in_code, mut escaped) = (0, false, false);
    for (at, sign) in line.char_indices() {
        match sign {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '`' if !escaped => in_code = !in_code,
            '|' if !escaped && !in_code => {
                found.push(line[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        escaped = false;
    }
    let last = line[start..].trim();
    if !last.is_empty() || found.is_empty() {
        found.push(last);
    }
    found
}
