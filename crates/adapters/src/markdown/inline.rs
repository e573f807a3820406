//! Marks within a line: stress, code, links.
//!
//! A mark that finds no partner is text. Partners are runs of the same sign and length, so
//! what closes always closes what was opened last, or what stands above it becomes text.

use super::{Mark, Piece};

/// Marks that wait for their partner, at most: the search for one looks at all of them.
const OPEN_MAX: usize = 32;
/// The longest text of a link, in bytes: each bracket is a search for its end.
const LABEL_LEN_MAX: usize = 512;
/// The longest address of a link.
const ADDRESS_LEN_MAX: usize = 2048;

/// Takes one line apart.
pub(super) fn parse<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) {
    scan(&[text], Links::Made, Blanks::Trimmed, pieces);
}

/// Takes the lines of one paragraph apart: what is opened on one may close on another.
pub(super) fn parse_lines<'a>(lines: &[&'a str], pieces: &mut Vec<Piece<'a>>) {
    scan(lines, Links::Made, Blanks::Trimmed, pieces);
}

/// The same, with the blanks at the ends of lines.
pub(super) fn parse_kept<'a>(lines: &[&'a str], pieces: &mut Vec<Piece<'a>>) {
    scan(lines, Links::Made, Blanks::Kept, pieces);
}

/// What becomes of blanks at the ends of a line.
#[derive(Clone, Copy, PartialEq)]
enum Blanks {
    Trimmed,
    Kept,
}

/// Whether links are looked for: there is none in the text of a link.
#[derive(Clone, Copy, PartialEq)]
enum Links {
    Made,
    Left,
}

fn scan<'a>(lines: &[&'a str], links: Links, blanks: Blanks, pieces: &mut Vec<Piece<'a>>) {
    let mut scan = Scan { out: vec![], open: vec![], links };
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            scan.out.push(Token::Piece(Piece::Break));
        }
        // Two blanks or a backslash at the end ask for a line end, which is there already.
        let line = if blanks == Blanks::Trimmed { line.trim() } else { line };
        let last = at + 1 == lines.len();
        scan.line(if last { line } else { line.strip_suffix('\\').unwrap_or(line) });
    }
    for token in scan.out {
        match token {
            Token::Piece(piece) => pieces.push(piece),
            Token::Run(text) => pieces.push(Piece::Text(text)),
            Token::Marks(marks) => pieces.extend(marks),
        }
    }
}

enum Token<'a> {
    Piece(Piece<'a>),
    /// A run of signs that may turn out to be a mark.
    Run(&'a str),
    /// What it turned out to be.
    Marks(Vec<Piece<'a>>),
}

/// A run that waits for its partner.
struct Waiting<'a> {
    run: &'a str,
    token: usize,
}

struct Scan<'a> {
    out: Vec<Token<'a>>,
    open: Vec<Waiting<'a>>,
    links: Links,
}

impl<'a> Scan<'a> {
    fn line(&mut self, line: &'a str) {
        let mut start = 0;
        let mut at = 0;
        while let Some(sign) = line[at..].chars().next() {
            let rest = &line[at..];
            let taken = match sign {
                '\\' => escaped(rest).map(|text| (2, vec![Piece::Text(text)])),
                '`' => code(rest),
                '[' | '!' if self.links == Links::Made => link(rest),
                '<' if self.links == Links::Made => automatic_link(rest),
                '*' | '_' | '~' => {
                    let len = rest.len() - rest.trim_start_matches(sign).len();
                    self.text(&line[start..at]);
                    self.run(line, at, len);
                    at += len;
                    start = at;
                    continue;
                }
                _ => None,
            };
            if let Some((len, found)) = taken {
                self.text(&line[start..at]);
                self.out.extend(found.into_iter().map(Token::Piece));
                at += len;
                start = at;
            } else if sign == '`' {
                // A run of backticks without a partner is text as a whole.
                at += rest.len() - rest.trim_start_matches('`').len();
            } else {
                at += sign.len_utf8();
            }
        }
        self.text(&line[start..]);
    }

    fn text(&mut self, text: &'a str) {
        if !text.is_empty() {
            self.out.push(Token::Piece(Piece::Text(text)));
        }
    }

    fn run(&mut self, line: &'a str, at: usize, len: usize) {
        let run = &line[at..at + len];
        let before = line[..at].chars().next_back();
        let after = line[at + len..].chars().next();
        let (can_open, can_close) = sides(run, before, after);
        let partner = self.open.iter().rposition(|waiting| waiting.run == run);
        if can_close && let Some(partner) = partner {
            let marks = marks(run);
            self.out[self.open[partner].token] =
                Token::Marks(marks.iter().cloned().map(Piece::Open).collect());
            self.out.push(Token::Marks(marks.into_iter().rev().map(Piece::Close).collect()));
            self.open.truncate(partner);
            return;
        }
        if can_open && !marks(run).is_empty() && self.open.len() < OPEN_MAX {
            self.open.push(Waiting { run, token: self.out.len() });
        }
        self.out.push(Token::Run(run));
    }
}

/// What a run of signs means between partners.
fn marks(run: &str) -> Vec<Mark<'static>> {
    match run {
        "*" | "_" => vec![Mark::Emphasis],
        "**" | "__" => vec![Mark::Strong],
        "***" | "___" => vec![Mark::Strong, Mark::Emphasis],
        "~~" => vec![Mark::Strike],
        _ => vec![],
    }
}

/// Whether a run may open and may close, by what stands beside it. Underscores inside a word
/// are part of the word.
fn sides(run: &str, before: Option<char>, after: Option<char>) -> (bool, bool) {
    let blank = |sign: Option<char>| sign.is_none_or(char::is_whitespace);
    let word = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    let (mut can_open, mut can_close) = (!blank(after), !blank(before));
    if run.starts_with('_') {
        can_open &= !word(before);
        can_close &= !word(after);
    }
    (can_open, can_close)
}

fn escaped(rest: &str) -> Option<&str> {
    let next = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
    Some(&rest[1..1 + next.len_utf8()])
}

fn code(rest: &str) -> Option<(usize, Vec<Piece<'_>>)> {
    let inner = rest.trim_start_matches('`');
    let len = rest.len() - inner.len();
    let mut at = 0;
    while let Some(found) = inner[at..].find('`') {
        let start = at + found;
        let run = inner[start..].len() - inner[start..].trim_start_matches('`').len();
        if run == len {
            let text = &inner[..start];
            // One blank at each side makes room for a backtick beside it.
            let bare = text.strip_prefix(' ').and_then(|text| text.strip_suffix(' '));
            let text = bare.filter(|bare| !bare.trim().is_empty()).unwrap_or(text);
            let pieces = vec![Piece::Open(Mark::Code), Piece::Text(text), Piece::Close(Mark::Code)];
            return Some((len + start + run, pieces));
        }
        at = start + run;
    }
    None
}

/// `[text](address)`, and `![text](address)`: a picture elsewhere is a link to it.
fn link(rest: &str) -> Option<(usize, Vec<Piece<'_>>)> {
    let head = if rest.starts_with('!') { 2 } else { 1 };
    if !rest[head - 1..].starts_with('[') {
        return None;
    }
    let label_len = balanced(&rest[head..], ('[', ']'), LABEL_LEN_MAX)?;
    let label = &rest[head..head + label_len];
    let behind = rest[head + label_len + 1..].strip_prefix('(')?;
    let inner_len = balanced(behind, ('(', ')'), ADDRESS_LEN_MAX)?;
    let mut parts = behind[..inner_len].trim().splitn(2, [' ', '\t']);
    let address = parts.next().unwrap_or_default();
    let address = address.strip_prefix('<').unwrap_or(address);
    let address = address.strip_suffix('>').unwrap_or(address);
    if !is_harmless(address) {
        return None;
    }
    let mut pieces = vec![Piece::Open(Mark::Link(address))];
    let mut inner = vec![];
    scan(&[label], Links::Left, Blanks::Trimmed, &mut inner);
    if inner.is_empty() {
        inner.push(Piece::Text(address));
    }
    pieces.extend(inner);
    pieces.push(Piece::Close(Mark::Link(address)));
    Some((head + label_len + 2 + inner_len + 1, pieces))
}

/// `<https://…>`.
fn automatic_link(rest: &str) -> Option<(usize, Vec<Piece<'_>>)> {
    let end = rest.bytes().take(ADDRESS_LEN_MAX).position(|byte| byte == b'>')?;
    let address = &rest[1..end];
    if !is_harmless(address) {
        return None;
    }
    let link = Mark::Link(address);
    let pieces = vec![Piece::Open(link.clone()), Piece::Text(address), Piece::Close(link)];
    Some((end + 1, pieces))
}

/// How many bytes there are before the sign that closes what is open already.
fn balanced(text: &str, (open, close): (char, char), len_max: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, sign) in text.char_indices().take_while(|(at, _)| *at < len_max) {
        if escaped {
            escaped = false;
        } else if sign == '\\' {
            escaped = true;
        } else if sign == open {
            depth += 1;
        } else if sign == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            }
        }
    }
    None
}

/// Whether an address may be made a link: nothing that runs, and nothing a reader can't see.
fn is_harmless(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let known = scheme.is_some_and(|scheme| ["http", "https", "mailto"].contains(&&*scheme));
    known && !address.chars().any(|sign| sign.is_whitespace() || sign.is_control())
}
