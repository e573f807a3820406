//! What stands inside a line: emphasis, code, links. Works on a line that is still coming:
//! what can't be decided yet is left for later, so that the outcome never depends on where
//! the pieces of a stream happen to end.

use super::style::{Span, Style};

/// How far a mark waits for its other half. Past that it is taken as a character; waiting
/// longer would hold a reply back for an asterisk that was only an asterisk.
const REACH_MAX: usize = 300;

/// How deep marks may stand inside each other.
const DEPTH_MAX: usize = 6;

/// Reads one line.
#[derive(Debug, Clone, Copy)]
pub struct Inline {
    style: Style,
    /// The character before what comes next.
    before: char,
    depth: usize,
}

/// What a mark at the start of the rest turned out to be.
enum Found {
    /// Nothing yet: more has to come.
    Undecided,
    /// The character itself, and as many after it as this.
    Literal(usize),
    /// Spans that took this many characters.
    Spans(Vec<Span>, usize),
}

impl Inline {
    /// At the start of a line in this style.
    pub fn new(style: Style) -> Self {
        Self { style, before: ' ', depth: 0 }
    }

    /// Takes from `rest` what can be decided; `whole` when nothing more of the line comes.
    pub fn take(&mut self, rest: &mut String, whole: bool) -> Vec<Span> {
        let chars: Vec<char> = rest.chars().collect();
        let mut spans: Vec<Span> = vec![];
        let mut at = 0;
        while at < chars.len() {
            let here = &chars[at..];
            let (found, taken) = match self.look(here, whole) {
                Found::Undecided => break,
                Found::Literal(count) => {
                    let text: String = here[..count].iter().collect();
                    (vec![Span::new(text, self.style)], count)
                }
                Found::Spans(found, taken) => (found, taken),
            };
            for span in found {
                match spans.last_mut() {
                    Some(last) if last.style == span.style => last.text += &span.text,
                    _ => spans.push(span),
                }
            }
            at += taken;
            self.before = chars[at - 1];
        }
        *rest = chars[at..].iter().collect();
        spans
    }

    fn look(&self, here: &[char], whole: bool) -> Found {
        match here[0] {
            '\\' => match here.get(1) {
                None if !whole => Found::Undecided,
                Some(&next) if next.is_ascii_punctuation() => {
                    Found::Spans(vec![Span::new(next, self.style)], 2)
                }
                _ => Found::Literal(1),
            },
            '`' => self.code(here, whole),
            '*' | '_' | '~' => self.emphasis(here, whole),
            '[' => self.link(here, 0, whole),
            '!' => match here.get(1) {
                None if !whole => Found::Undecided,
                Some('[') => self.link(here, 1, whole),
                _ => Found::Literal(1),
            },
            '<' => self.address(here, whole),
            _ => {
                let marks = ['\\', '`', '*', '_', '~', '[', '!', '<'];
                Found::Literal(here.iter().take_while(|c| !marks.contains(c)).count())
            }
        }
    }

    /// A mark without its other half: wait for it, or stop waiting.
    fn alone(here: &[char], count: usize, whole: bool) -> Found {
        if whole || here.len() >= REACH_MAX { Found::Literal(count) } else { Found::Undecided }
    }

    fn code(&self, here: &[char], whole: bool) -> Found {
        let count = run(here, 0);
        if may_grow(here, 0, whole) {
            return Found::Undecided;
        }
        let reach = here.len().min(REACH_MAX);
        let mut at = count;
        while at < reach {
            if here[at] != '`' {
                at += 1;
                continue;
            }
            let closing = run(here, at);
            if may_grow(here, at, whole) {
                return Found::Undecided;
            }
            if closing == count {
                let text: String = here[count..at].iter().collect();
                let padded = text.len() > 2 && text.starts_with(' ') && text.ends_with(' ');
                let text = if padded { &text[1..text.len() - 1] } else { &text[..] };
                let span = Span::new(text, self.style.and(Style::CODE));
                return Found::Spans(vec![span], at + closing);
            }
            at += closing;
        }
        Self::alone(here, count, whole)
    }

    fn emphasis(&self, here: &[char], whole: bool) -> Found {
        let (mark, count) = (here[0], run(here, 0));
        if may_grow(here, 0, whole) {
            return Found::Undecided;
        }
        let wanted = if mark == '~' { 2..=2 } else { 1..=3 };
        let opens = wanted.contains(&count)
            && here.get(count).is_some_and(|next| !next.is_whitespace())
            && !(mark == '_' && self.before.is_alphanumeric())
            && self.depth < DEPTH_MAX;
        if !opens {
            return Found::Literal(count);
        }
        let reach = here.len().min(REACH_MAX);
        let mut at = count;
        while at < reach {
            match here[at] {
                '\\' => at += 2,
                '`' => match after_code(here, at, reach, whole) {
                    Some(after) => at = after,
                    None if whole || here.len() >= REACH_MAX => at += run(here, at),
                    None => return Found::Undecided,
                },
                c if c == mark => {
                    let closing = run(here, at);
                    let end = at + closing;
                    if may_grow(here, at, whole) {
                        return Found::Undecided;
                    }
                    let fits = closing == count || (closing == 3 && count < 3 && mark != '~');
                    let inside = mark == '_' && here.get(end).is_some_and(|c| c.is_alphanumeric());
                    if fits && !inside && !here[at - 1].is_whitespace() {
                        return Found::Spans(
                            self.within(&here[count..end - count], mark, count),
                            end,
                        );
                    }
                    at = end;
                }
                _ => at += 1,
            }
        }
        Self::alone(here, count, whole)
    }

    /// What stands between two marks.
    fn within(&self, inner: &[char], mark: char, count: usize) -> Vec<Span> {
        let style = match (mark, count) {
            ('~', _) => Style { strike: true, ..Style::PLAIN },
            (_, 1) => Style { italic: true, ..Style::PLAIN },
            (_, 2) => Style { bold: true, ..Style::PLAIN },
            _ => Style { bold: true, italic: true, ..Style::PLAIN },
        };
        self.inside(inner, style)
    }

    fn inside(&self, inner: &[char], style: Style) -> Vec<Span> {
        let style = self.style.and(style);
        let mut inline = Self { style, before: ' ', depth: self.depth + 1 };
        inline.take(&mut inner.iter().collect(), true)
    }

    /// `[text](address)`, which begins after `skip` characters.
    fn link(&self, here: &[char], skip: usize, whole: bool) -> Found {
        let reach = here.len().min(REACH_MAX);
        let Some(close) = balanced(here, skip, reach, ('[', ']')) else {
            return Self::alone(here, skip + 1, whole);
        };
        match here.get(close + 1) {
            None if !whole => return Found::Undecided,
            Some('(') => {}
            _ => return Found::Literal(skip + 1),
        }
        let Some(end) = balanced(here, close + 1, reach, ('(', ')')) else {
            return Self::alone(here, skip + 1, whole);
        };
        if self.depth >= DEPTH_MAX {
            return Found::Literal(skip + 1);
        }
        let address: String = here[close + 2..end].iter().collect();
        let address = address.split_whitespace().next().unwrap_or_default();
        let address = address.trim_start_matches('<').trim_end_matches('>');
        let underline = Style { underline: true, ..Style::PLAIN };
        let mut spans = self.inside(&here[skip + 1..close], underline);
        let text: String = spans.iter().map(|span| span.text.as_str()).collect();
        // Where a link leads is shown, whatever its text claims.
        if text != address && !address.is_empty() {
            spans.push(Span::new(format!(" ({address})"), self.style.and(Style::DIM)));
        }
        Found::Spans(spans, end + 1)
    }

    /// `<https://…>`
    fn address(&self, here: &[char], whole: bool) -> Found {
        let reach = here.len().min(REACH_MAX);
        let end = here[..reach].iter().position(|c| *c == '>' || c.is_whitespace());
        let Some(end) = end else { return Self::alone(here, 1, whole) };
        let text: String = here[1..end].iter().collect();
        let known =
            ["https://", "http://", "mailto:"].iter().any(|scheme| text.starts_with(scheme));
        if here[end] != '>' || !known {
            return Found::Literal(1);
        }
        let style = self.style.and(Style { underline: true, ..Style::PLAIN });
        Found::Spans(vec![Span::new(text, style)], end + 1)
    }
}

/// How often the character at `at` stands there in a row, as far as it matters.
fn run(chars: &[char], at: usize) -> usize {
    chars[at..].iter().take(REACH_MAX).take_while(|c| **c == chars[at]).count()
}

/// Whether the row at `at` reaches the end of what has come, so that more may belong to it.
fn may_grow(chars: &[char], at: usize, whole: bool) -> bool {
    let count = run(chars, at);
    !whole && at + count == chars.len() && count < REACH_MAX
}

/// Past the code that begins at `at`; `None` where its end is not in reach.
fn after_code(chars: &[char], at: usize, reach: usize, whole: bool) -> Option<usize> {
    let count = run(chars, at);
    let mut next = at + count;
    while next < reach {
        if chars[next] != '`' {
            next += 1;
            continue;
        }
        let closing = run(chars, next);
        if may_grow(chars, next, whole) {
            return None;
        }
        next += closing;
        if closing == count {
            return Some(next);
        }
    }
    None
}

/// Where the bracket that opens at `at` closes.
fn balanced(chars: &[char], at: usize, reach: usize, pair: (char, char)) -> Option<usize> {
    let mut depth = 0;
    let mut next = at;
    while next < reach {
        match chars[next] {
            '\\' => next += 1,
            c if c == pair.0 => depth += 1,
            c if c == pair.1 => {
                depth -= 1;
                if depth == 0 {
                    return Some(next);
                }
            }
            _ => {}
        }
        next += 1;
    }
    None
}
