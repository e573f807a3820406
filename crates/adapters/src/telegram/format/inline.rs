//! What stands inside a line: bold, italic, struck out, code, links.
//!
//! One pass. A mark that could begin something is put down as text, and becomes a tag when
//! its end is found; whatever was begun inside and not ended stays text. So tags always
//! nest, whatever the marks do.

use super::escape;

/// The longest label of a link that is looked for, in bytes; so that a text full of brackets
/// costs no more than its length, times this.
const LABEL_LEN_MAX: usize = 512;
/// The longest address of a link.
const URL_LEN_MAX: usize = 2048;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Bold,
    Italic,
    Struck,
}

impl Tag {
    fn name(self) -> &'static str {
        match self {
            Self::Bold => "b",
            Self::Italic => "i",
            Self::Struck => "s",
        }
    }
}

enum Piece {
    /// Rendered already.
    Html(String),
    /// Marks that have found no partner: text.
    Marks(char, usize),
    Open(Tag),
    Close(Tag),
}

/// A mark that waits for its end.
struct Opener {
    mark: char,
    /// 1 or 2.
    width: usize,
    piece: usize,
}

/// Renders `text`. Inside something bold, bold is not begun again.
pub(super) fn inline(text: &str, is_bold: bool) -> String {
    render(&Line::of(text).pieces, is_bold)
}

struct Line {
    pieces: Vec<Piece>,
    openers: Vec<Opener>,
    /// How many openers of each kind there are, so that none is looked for in vain.
    waiting: [usize; 8],
}

impl Line {
    fn of(text: &str) -> Self {
        let mut line = Self { pieces: vec![], openers: vec![], waiting: [0; 8] };
        line.read(text);
        line
    }

    fn read(&mut self, text: &str) {
        let mut at = 0;
        let mut plain = 0;
        while let Some(character) = text[at..].chars().next() {
            let rest = &text[at..];
            let (pieces, taken) = match character {
                '\\' => match rest[1..].chars().next().filter(char::is_ascii_punctuation) {
                    Some(escaped) => (Some(one(escape(&escaped.to_string()))), 2),
                    None => (None, 1),
                },
                '`' => {
                    let (code, taken) = code(rest);
                    (code.map(one), taken)
                }
                '[' => link(rest),
                '!' if rest[1..].starts_with('[') => match link(&rest[1..]) {
                    (Some(picture), taken) => (Some(picture), taken + 1),
                    (None, _) => (None, 1),
                },
                '*' | '_' | '~' => {
                    let run = rest.chars().take_while(|&c| c == character).count();
                    self.text(&text[plain..at]);
                    self.marks(character, run, text[..at].chars().next_back(), &rest[run..]);
                    at += run;
                    plain = at;
                    continue;
                }
                other => (None, other.len_utf8()),
            };
            if let Some(pieces) = pieces {
                self.text(&text[plain..at]);
                self.pieces.extend(pieces);
                plain = at + taken;
            }
            at += taken;
        }
        self.text(&text[plain..]);
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece::Html(escape(text)));
        }
    }

    /// A run of the same mark: ends what it can end, begins what it can begin.
    fn marks(&mut self, mark: char, run: usize, before: Option<char>, behind: &str) {
        let next = behind.chars().next();
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_gap = |c: Option<char>| c.is_none_or(char::is_whitespace);
        // An underscore inside a word is part of it.
        let is_inside = |c: Option<char>| mark == '_' && is_word(c);
        let may_open = !is_gap(next) && !is_inside(before);
        let may_close = !is_gap(before) && !is_inside(next);
        let mut left = run;
        while may_close && left > 0 {
            let Some(width) = self.close(mark, left) else { break };
            left -= width;
        }
        let widths: &[usize] = if mark == '~' { &[2] } else { &[2, 1] };
        for &width in widths {
            // More than three marks in a row are no emphasis.
            if may_open && left >= width && run <= 3 {
                self.openers.push(Opener { mark, width, piece: self.pieces.len() });
                self.waiting[kind(mark, width)] += 1;
                self.pieces.push(Piece::Marks(mark, width));
                left -= width;
            }
        }
        if left > 0 {
            self.pieces.push(Piece::Marks(mark, left));
        }
    }

    /// Ends the innermost thing of this mark that is no wider than `left`.
    fn close(&mut self, mark: char, left: usize) -> Option<usize> {
        let waits = |width: usize| left >= width && self.waiting[kind(mark, width)] > 0;
        if !waits(1) && !waits(2) {
            return None;
        }
        let fits = |opener: &Opener| opener.mark == mark && opener.width <= left;
        let found = self.openers.iter().rposition(fits)?;
        // Nothing between the two: `**` in a row is no emphasis of nothing.
        if self.openers[found].piece + 1 == self.pieces.len() {
            return None;
        }
        for opener in self.openers.drain(found + 1..) {
            self.waiting[kind(opener.mark, opener.width)] -= 1;
        }
        let opener = self.openers.pop()?;
        self.waiting[kind(opener.mark, opener.width)] -= 1;
        let tag = match (mark, opener.width) {
            ('~', _) => Tag::Struck,
            (_, 2) => Tag::Bold,
            _ => Tag::Italic,
        };
        self.pieces[opener.piece] = Piece::Open(tag);
        self.pieces.push(Piece::Close(tag));
        Some(opener.width)
    }
}

fn one(html: String) -> Vec<Piece> {
    vec![Piece::Html(html)]
}

fn kind(mark: char, width: usize) -> usize {
    let mark = match mark {
        '*' => 0,
        '_' => 1,
        _ => 2,
    };
    mark * 2 + width - 1
}

/// Writes the pieces; a tag inside the same tag is left out.
fn render(pieces: &[Piece], is_bold: bool) -> String {
    let mut html = String::new();
    let mut depth = [usize::from(is_bold), 0, 0];
    for piece in pieces {
        match piece {
            Piece::Html(piece) => html.push_str(piece),
            Piece::Marks(mark, count) => html.extend(std::iter::repeat_n(*mark, *count)),
            Piece::Open(tag) => {
                depth[*tag as usize] += 1;
                if depth[*tag as usize] == 1 {
                    html.push_str(&format!("<{}>", tag.name()));
                }
            }
            Piece::Close(tag) => {
                depth[*tag as usize] -= 1;
                if depth[*tag as usize] == 0 {
                    html.push_str(&format!("</{}>", tag.name()));
                }
            }
        }
    }
    html
}

/// Code between as many backticks as it began with. Without an end they are all text.
fn code(rest: &str) -> (Option<String>, usize) {
    let width = rest.bytes().take_while(|&byte| byte == b'`').count();
    let mut at = width;
    while let Some(next) = rest[at..].find('`') {
        let begin = at + next;
        let run = rest[begin..].bytes().take_while(|&byte| byte == b'`').count();
        if run == width {
            let inside = &rest[width..begin];
            let stripped = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' '));
            let inside = stripped.filter(|inside| !inside.trim().is_empty()).unwrap_or(inside);
            return (Some(format!("<code>{}</code>", escape(inside))), begin + run);
        }
        at = begin + run;
    }
    (None, width)
}

/// A link, or a picture without its `!`. Marks in its label find their partners there, and what
/// they become is told apart from what stands around the link only when all of it is written.
fn link(rest: &str) -> (Option<Vec<Piece>>, usize) {
    let none = (None, 1);
    let Some(label_end) = bracketed(rest, b'[', b']', LABEL_LEN_MAX) else { return none };
    let behind = &rest[label_end + 1..];
    if !behind.starts_with('(') {
        return none;
    }
    let Some(url_end) = bracketed(behind, b'(', b')', URL_LEN_MAX) else { return none };
    let label = &rest[1..label_end];
    // A title may follow the address; nobody would see it.
    let url = behind[1..url_end].split_whitespace().next().unwrap_or_default();
    let taken = label_end + 1 + url_end + 1;
    if label.trim().is_empty() || url.is_empty() {
        return none;
    }
    // No link inside a link: brackets in a label are text.
    let label = Line::of(&label.replace(['[', ']', '`'], "")).pieces;
    let is_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    let (before, behind) = if is_web {
        (format!("<a href=\"{}\">", escape(url)), "</a>".to_owned())
    } else {
        (String::new(), format!(" ({})", escape(url)))
    };
    let pieces = one(before).into_iter().chain(label).chain(one(behind));
    (Some(pieces.collect()), taken)
}

/// Where the bracket that `text` begins with ends, on the same line and within `len_max`.
fn bracketed(text: &str, open: u8, close: u8, len_max: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().take(len_max) {
        match byte {
            b'\n' => return None,
            byte if byte == open => depth += 1,
            byte if byte == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
