//! What a line is, as far as its beginning tells: a heading, an item, a quote, or a sentence.

use super::style::{Paint, Span, Style};

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text, which begins after this many bytes of the line.
    Text(Opening),
    /// A line across.
    Rule,
    /// A line that opens a block of code, with the mark that closes it.
    Fence(Fence),
    /// A row of a table, if others follow.
    Row,
    /// Nothing.
    Blank,
}

/// How a line of text begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Bytes of the line that the marks take.
    pub taken: usize,
    /// What stands before the text.
    pub first: Vec<Span>,
    /// What stands before further lines of it.
    pub hanging: Vec<Span>,
    /// How the text looks.
    pub style: Style,
}

/// The mark that closes a block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    mark: char,
    count: usize,
    /// What language it is said to be.
    pub language: String,
}

impl Fence {
    /// Whether a line may still turn out to close the block.
    pub fn may_close(&self, line: &str) -> bool {
        let line = line.trim_start_matches(' ').trim_end();
        line.chars().all(|c| c == self.mark)
    }

    /// Whether a whole line closes the block.
    pub fn closes(&self, line: &str) -> bool {
        self.may_close(line) && line.trim().len() >= self.count
    }
}

/// Deepest indentation kept: what stands further in would have no room.
const INDENT_MAX: usize = 12;
/// Deepest quote within quotes.
const QUOTES_MAX: usize = 4;
/// More digits are a year or a quantity, and not the mark of an item.
const DIGITS_MAX: usize = 3;

/// Says what a line is; `None` while its beginning does not tell. `whole` when all of it has
/// come.
pub fn decide(line: &str, whole: bool, paint: Paint) -> Option<Block> {
    let (quotes, start) = quotes(line, whole)?;
    let rest = &line[start..];
    let text = rest.trim_start_matches([' ', '\t']);
    if text.is_empty() {
        if !whole {
            return None;
        }
        if quotes == 0 {
            return Some(Block::Blank);
        }
    }
    let indent: usize =
        rest[..rest.len() - text.len()].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
    let mut opening = Opening::quoted(quotes, indent.min(INDENT_MAX), paint);
    opening.taken = line.len() - text.len();
    let Some(mark) = text.chars().next() else { return Some(Block::Text(opening)) };
    let again = text.chars().take_while(|c| *c == mark).count();
    match mark {
        '#' => heading(text, again, whole, paint, opening),
        '-' | '*' | '+' | '_' => match text[1..].chars().next() {
            None if !whole => None,
            Some(' ') if mark != '_' => item(text, &mark.to_string(), whole, paint, opening),
            _ if mark != '+' && text.trim_end().chars().all(|c| c == mark) => match whole {
                false => None,
                true if again >= 3 => Some(Block::Rule),
                true => Some(Block::Text(opening)),
            },
            _ => Some(Block::Text(opening)),
        },
        '`' | '~' => match (again >= 3, whole) {
            (true, true) if !text[again..].contains('`') => {
                let language = text[again..].trim().to_owned();
                Some(Block::Fence(Fence { mark, count: again, language }))
            }
            (true, false) => None,
            (false, false) if again == text.len() => None,
            _ => Some(Block::Text(opening)),
        },
        '|' if quotes == 0 => whole.then_some(Block::Row),
        '0'..='9' => numbered(text, whole, paint, opening),
        _ => Some(Block::Text(opening)),
    }
}

/// How many quote marks a line begins with, and where what is quoted begins.
fn quotes(line: &str, whole: bool) -> Option<(usize, usize)> {
    let (mut count, mut at) = (0, 0);
    loop {
        let rest = &line[at..];
        let text = rest.trim_start_matches(' ');
        if !text.starts_with('>') || count == QUOTES_MAX || rest.len() - text.len() > 3 {
            return Some((count, at));
        }
        count += 1;
        at = line.len() - text.len() + 1;
        match line[at..].chars().next() {
            None if !whole => return None,
            Some(' ') => at += 1,
            _ => {}
        }
        // Spaces may be followed by a further mark.
        if line[at..].trim_start_matches(' ').is_empty() && !whole {
            return None;
        }
    }
}

fn heading(
    text: &str,
    level: usize,
    whole: bool,
    paint: Paint,
    mut opening: Opening,
) -> Option<Block> {
    match text[level..].chars().next() {
        None if !whole && level <= 6 => None,
        Some(' ') if level <= 6 => {
            if paint == Paint::Colour {
                // The text begins where the spaces after the marks end, which has to be seen.
                let spaces = text[level..].len() - text[level..].trim_start_matches(' ').len();
                if level + spaces == text.len() && !whole {
                    return None;
                }
                opening.taken += level + spaces;
            }
            opening.style = Style { bold: true, underline: level == 1, ..Style::PLAIN };
            Some(Block::Text(opening))
        }
        _ => Some(Block::Text(opening)),
    }
}

/// An item whose mark is `mark` and a space.
fn item(text: &str, mark: &str, whole: bool, paint: Paint, mut opening: Opening) -> Option<Block> {
    let mut taken = mark.len() + 1;
    let mut shown = match paint {
        Paint::Colour if mark.len() == 1 => "•".to_owned(),
        _ => mark.to_owned(),
    };
    let rest = &text[taken..];
    for (task, sign) in [("[ ] ", "☐"), ("[x] ", "☑"), ("[X] ", "☑")] {
        if !whole && task.starts_with(rest) {
            return None;
        }
        if paint == Paint::Colour && rest.starts_with(task) {
            taken += task.len();
            shown = sign.to_owned();
        }
    }
    let width = shown.chars().count() + 1;
    opening.taken += taken;
    opening.first.push(Span::new(shown + " ", Style::DIM));
    opening.hanging.push(Span::new(" ".repeat(width), Style::PLAIN));
    Some(Block::Text(opening))
}

fn numbered(text: &str, whole: bool, paint: Paint, opening: Opening) -> Option<Block> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mut after = text[digits..].chars();
    match (after.next(), after.next()) {
        _ if digits > DIGITS_MAX => Some(Block::Text(opening)),
        (None, _) | (Some('.' | ')'), None) if !whole => None,
        (Some('.' | ')'), Some(' ')) => item(text, &text[..=digits], whole, paint, opening),
        _ => Some(Block::Text(opening)),
    }
}

impl Opening {
    fn quoted(quotes: usize, indent: usize, paint: Paint) -> Self {
        let mut first = vec![];
        if quotes > 0 {
            let mark = if paint == Paint::Colour { "▏ " } else { "> " };
            first.push(Span::new(mark.repeat(quotes), Style::DIM));
        }
        if indent > 0 {
            first.push(Span::new(" ".repeat(indent), Style::PLAIN));
        }
        let style = Style { italic: quotes > 0, ..Style::PLAIN };
        Self { taken: 0, hanging: first.clone(), first, style }
    }
}
