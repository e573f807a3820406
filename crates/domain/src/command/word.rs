//! Words of a command line: as they are read, and as a program gets them.

/// One part of a word, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Known text. What is not quoted may be a pattern, and is split if it came from a
    /// variable.
    Text {
        /// The text.
        text: String,
        /// Whether it stands in quotes, or behind a backslash.
        is_quoted: bool,
        /// Whether it is the value of something, rather than written here.
        is_value: bool,
    },
    /// Something that is only known when it runs.
    Unknown {
        /// Whether it stands in quotes, and so stays one word.
        is_quoted: bool,
        kind: Unknown,
    },
}

/// What is known of something that is only known when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Nothing.
    Plain,
    /// A command prints it.
    Printed,
    /// It is one of many, or all of them.
    Many,
}

impl Piece {
    pub(super) fn unknown(is_quoted: bool) -> Self {
        Self::Unknown { is_quoted, kind: Unknown::Plain }
    }
}

/// One argument, as a program gets it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arg {
    /// What is known of it.
    pub(super) text: String,
    /// Whether that is all of it.
    pub(super) is_known: bool,
    /// Whether it may become several arguments, or options.
    pub(super) is_open: bool,
    /// Whether it is a pattern for names of files.
    pub(super) is_glob: bool,
    /// Whether a command prints it.
    pub(super) is_printed: bool,
    /// Whether it is one of many, or all of them.
    pub(super) is_many: bool,
}

impl Arg {
    /// An argument that is all known.
    pub(super) fn known(text: &str) -> Self {
        Self { text: text.to_owned(), is_known: true, ..Self::default() }
    }

    /// As much of it as this text is, known as well as the whole.
    pub(super) fn but(&self, text: &str) -> Self {
        // The text is not copied twice: it may be long, and there may be many pieces of it.
        let Self { text: _, is_known, is_open, is_glob, is_printed, is_many } = *self;
        Self { text: text.to_owned(), is_known, is_open, is_glob, is_printed, is_many }
    }
}

/// The arguments one word becomes: braces expanded, values split. Takes from `left` the letters
/// of all that the braces stand for; `None` where that is not enough.
pub(super) fn args(pieces: &[Piece], left: &mut usize) -> Option<Vec<Arg>> {
    let has_braces = |piece: &Piece| matches!(piece, Piece::Text { text, is_quoted: false, is_value: false } if text.contains('{'));
    if !pieces.iter().any(has_braces) {
        return Some(fields(pieces));
    }
    let all = braces(flat(pieces), 0, left)?;
    Some(all.iter().flat_map(|pieces| fields(pieces)).collect())
}

/// Braces of one word that are followed, one after or inside of another.
const BRACES_MAX: usize = 16;

/// Character by character, so that quotes inside an alternative stay where they are.
fn flat(pieces: &[Piece]) -> Vec<Piece> {
    let mut flat: Vec<Piece> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text { text, is_quoted: false, is_value: false } => {
                flat.extend(text.chars().map(|it| written(it.to_string())));
            }
            other => flat.push(other.clone()),
        }
    }
    flat
}

/// Expands the first `{a,b}` outside of quotes, and then the rest; `None` where that is too
/// much.
fn braces(flat: Vec<Piece>, depth: usize, left: &mut usize) -> Option<Vec<Vec<Piece>>> {
    *left = left.checked_sub(flat.len())?;
    let Some(Alternatives { open, commas, close }) = first_alternatives(&flat) else {
        return Some(vec![flat]);
    };
    if depth >= BRACES_MAX {
        return None;
    }
    let mut all = Vec::new();
    let mut from = open + 1;
    for end in commas.into_iter().chain([close]) {
        let one = [&flat[..open], &flat[from..end], &flat[close + 1..]].concat();
        all.extend(braces(one, depth + 1, left)?);
        from = end + 1;
    }
    Some(all)
}

/// Where a `{a,b}` stands.
struct Alternatives {
    open: usize,
    commas: Vec<usize>,
    close: usize,
}

/// The first opening brace that is closed, with a comma of its own in between.
fn first_alternatives(flat: &[Piece]) -> Option<Alternatives> {
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut first: Option<Alternatives> = None;
    for (at, piece) in flat.iter().enumerate() {
        let Piece::Text { text, is_quoted: false, is_value: false } = piece else { continue };
        match &**text {
            "{" => open.push((at, Vec::new())),
            "," => open.last_mut().into_iter().for_each(|(_, commas)| commas.push(at)),
            "}" => {
                let Some((open, commas)) = open.pop() else { continue };
                let is_first = first.as_ref().is_none_or(|first| open < first.open);
                if !commas.is_empty() && is_first {
                    first = Some(Alternatives { open, commas, close: at });
                }
            }
            _ => {}
        }
    }
    first
}

/// Text as it was written, outside of quotes.
pub(super) fn written(text: String) -> Piece {
    Piece::Text { text, is_quoted: false, is_value: false }
}

/// Splits values at blanks, as a shell does.
fn fields(pieces: &[Piece]) -> Vec<Arg> {
    let mut done = Vec::new();
    let mut now: Option<Arg> = None;
    for piece in pieces {
        match piece {
            Piece::Unknown { is_quoted, kind } => {
                let arg = now.get_or_insert_with(|| Arg::known(""));
                arg.is_known = false;
                arg.is_open |= !is_quoted;
                arg.is_printed |= *kind == Unknown::Printed;
                arg.is_many |= *kind == Unknown::Many;
            }
            Piece::Text { text, is_quoted, is_value: true } if !is_quoted => {
                for letter in text.chars() {
                    if letter.is_whitespace() {
                        done.extend(now.take());
                    } else {
                        push(now.get_or_insert_with(|| Arg::known("")), letter, false);
                    }
                }
            }
            Piece::Text { text, is_quoted, .. } => {
                let arg = now.get_or_insert_with(|| Arg::known(""));
                text.chars().for_each(|letter| push(arg, letter, *is_quoted));
            }
        }
    }
    done.extend(now);
    done
}

fn push(arg: &mut Arg, letter: char, is_quoted: bool) {
    arg.is_glob |= !is_quoted && matches!(letter, '*' | '?' | '[');
    arg.text.push(letter);
}
