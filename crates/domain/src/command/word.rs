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
    },
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
}

impl Arg {
    /// An argument that is all known.
    pub(super) fn known(text: &str) -> Self {
        Self { text: text.to_owned(), is_known: true, ..Self::default() }
    }
}

/// The arguments one word becomes: braces expanded, values split.
pub(super) fn args(pieces: &[Piece]) -> Vec<Arg> {
    braces(pieces.to_vec(), 0).iter().flat_map(|pieces| fields(pieces)).collect()
}

/// Alternatives of one word that are followed: more becomes unknown.
const BRACES_DEPTH_MAX: usize = 6;

/// Expands the first `{a,b}` outside of quotes, and then the rest.
fn braces(pieces: Vec<Piece>, depth: usize) -> Vec<Vec<Piece>> {
    // Character by character, so that quotes inside an alternative stay where they are.
    let mut flat: Vec<Piece> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text { text, is_quoted: false, is_value: false } => {
                flat.extend(text.chars().map(|it| written(it.to_string())));
            }
            other => flat.push(other),
        }
    }
    let is = |piece: &Piece, mark: &str| matches!(piece, Piece::Text { text, is_quoted: false, is_value: false } if text == mark);
    for open in (0..flat.len()).filter(|at| is(&flat[*at], "{")) {
        let (mut level, mut commas, mut close) = (0usize, Vec::new(), None);
        for (at, piece) in flat.iter().enumerate().skip(open) {
            if is(piece, "{") {
                level += 1;
            } else if is(piece, "}") {
                level -= 1;
                if level == 0 {
                    close = Some(at);
                    break;
                }
            } else if is(piece, ",") && level == 1 {
                commas.push(at);
            }
        }
        let Some(close) = close.filter(|_| !commas.is_empty()) else { continue };
        if depth >= BRACES_DEPTH_MAX {
            return vec![vec![Piece::Unknown { is_quoted: false }]];
        }
        let mut all = Vec::new();
        let mut from = open + 1;
        for end in commas.into_iter().chain([close]) {
            let mut one = flat[..open].to_vec();
            one.extend_from_slice(&flat[from..end]);
            one.extend_from_slice(&flat[close + 1..]);
            all.extend(braces(one, depth + 1));
            from = end + 1;
        }
        return all;
    }
    vec![flat]
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
            Piece::Unknown { is_quoted } => {
                let arg = now.get_or_insert_with(|| Arg::known(""));
                arg.is_known = false;
                arg.is_open |= !is_quoted;
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
