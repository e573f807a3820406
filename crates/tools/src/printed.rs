//! What a program printed, in a form and a length that a model can use.

use crate::files::Files;
use crate::output::QuotedSource;
use crate::shell::{End, Printed};
use std::fmt::Write as _;

/// Most that is shown of what a program printed, in bytes.
const SHOWN_BYTES_MAX: usize = 50_000;
/// Most lines that are shown.
const SHOWN_LINES_MAX: usize = 2_000;
/// Most of one line that is shown, in characters.
const LINE_CHARS_MAX: usize = 2_000;

/// Text in a form a model can use; and whether anything was left out of it.
pub(crate) struct PrintedText {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// What was printed, its beginning and its end.
pub(crate) fn shown(printed: &Printed) -> PrintedText {
    let mut is_cut = printed.dropped() > 0;
    let (head, tail) = (plain(&printed.head), plain(&printed.tail));
    let whole = if is_cut { String::new() } else { format!("{head}{tail}") };
    let (first, last) = if is_cut { (&*head, &*tail) } else { (&*whole, "") };
    let lines = |text: &str| text.matches('\n').count();
    let too_much =
        first.len() + last.len() > SHOWN_BYTES_MAX || lines(first) + lines(last) > SHOWN_LINES_MAX;
    let (first, last) = match (is_cut, too_much) {
        (false, false) => (first, ""),
        (true, false) => (first, last),
        (false, true) => (beginning(first), ending(first)),
        (true, true) => (beginning(first), ending(last)),
    };
    is_cut |= too_much;
    let mut text = narrow(first, &mut is_cut);
    if is_cut && !last.is_empty() {
        text.push_str("\n[… left out …]\n");
        let last = narrow(last, &mut is_cut);
        text.push_str(&last);
    }
    PrintedText { text, is_cut }
}

/// What is said about a program that ended or runs: its words, what was left out and where
/// that is, how it ended. The whole is kept in `files`, where there are any.
pub(crate) async fn report(
    files: Option<&Files>,
    printed: &Printed,
    end: Option<&End>,
    words: QuotedSource,
) -> String {
    let PrintedText { mut text, is_cut } = shown(printed);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if is_cut {
        let kept = keep(files, printed, words).await;
        let what = if printed.dropped() > 0 { "what was kept" } else { "the whole" };
        let _ = match kept {
            Some(path) => writeln!(
                text,
                "[{} bytes in all; {what} is in {path}, for read_file and search_files]",
                printed.total
            ),
            None => writeln!(text, "[{} bytes in all]", printed.total),
        };
        let _ = match (printed.dropped(), printed.tail.is_empty()) {
            (0, _) => Ok(()),
            (bytes, false) => writeln!(
                text,
                "[{bytes} bytes in the middle were not kept; print less, or into a file]"
            ),
            (bytes, true) => {
                writeln!(text, "[{bytes} bytes at the end were not taken; ask for less]")
            }
        };
    }
    match end {
        Some(End::Exited(0)) if text.is_empty() => text.push_str("(no output)\n"),
        Some(End::Exited(0)) | None => {}
        Some(end) => {
            let _ = writeln!(text, "[{}]", ended(end));
        }
    }
    text
}

/// How something ended, in words.
pub(crate) fn ended(end: &End) -> String {
    match end {
        End::Exited(status) => format!("exit status {status}"),
        End::Signaled(signal) => format!("ended by signal {signal}"),
        End::Limited(what) => format!("ended: {what}"),
        End::Killed => "ended from outside".to_owned(),
    }
}

/// Keeps the whole in a file of this conversation; where. Without a place for it there is none.
async fn keep(files: Option<&Files>, printed: &Printed, words: QuotedSource) -> Option<String> {
    let mut whole = printed.head.clone();
    if printed.dropped() > 0 {
        whole.extend_from_slice(
            format!("\n[… {} bytes were not kept …]\n", printed.dropped()).as_bytes(),
        );
    }
    whole.extend_from_slice(&printed.tail);
    files?.keep_output(whole, words).await.ok()
}

fn beginning(text: &str) -> &str {
    let end = text.match_indices('\n').nth(SHOWN_LINES_MAX / 2 - 1).map_or(text.len(), |it| it.0);
    let end = end.min(SHOWN_BYTES_MAX / 2);
    text.get(..floor(text, end)).unwrap_or_default()
}

fn ending(text: &str) -> &str {
    let line = text.rmatch_indices('\n').nth(SHOWN_LINES_MAX / 2).map_or(0, |it| it.0 + 1);
    let start = line.max(text.len().saturating_sub(SHOWN_BYTES_MAX / 2));
    text.get(ceil(text, start)..).unwrap_or_default()
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Cuts lines that are too long.
fn narrow(text: &str, is_cut: &mut bool) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.char_indices().nth(LINE_CHARS_MAX) {
            Some((at, _)) if line.len() > at + 1 => {
                *is_cut = true;
                out.push_str(line.get(..at).unwrap_or_default());
                out.push_str(" [… line cut …]");
                if line.ends_with('\n') {
                    out.push('\n');
                }
            }
            _ => out.push_str(line),
        }
    }
    out
}

/// Text without what would move a cursor or colour a screen, which is for neither a model nor
/// the terminal of whoever reads along.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            '\n' | '\t' => out.push(next),
            '\u{1b}' => match chars.next() {
                Some('[') => {
                    while chars.next().is_some_and(|it| !('\u{40}'..='\u{7e}').contains(&it)) {}
                }
                Some(']') => {
                    while let Some(it) = chars.next() {
                        if it == '\u{7}' {
                            break;
                        }
                        if it == '\u{1b}' {
                            chars.next();
                            break;
                        }
                    }
                }
                _ => {}
            },
            it if it.is_control() => {}
            it => out.push(it),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Printed {
        Printed { head: text.into(), tail: vec![], total: text.len() as u64 }
    }

    #[test]
    fn little_is_shown_whole_and_without_escape_sequences() {
        let shown = shown(&of("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}ok\r\nnext\u{8}"));
        assert_eq!((&*shown.text, shown.is_cut), ("red ok\nnext", false));
    }

    #[test]
    fn much_is_shown_by_its_beginning_and_its_end() {
        let many: String = (0..10_000).map(|n| format!("{n}\n")).collect();
        let PrintedText { text, is_cut } = shown(&of(&many));
        assert!(is_cut && text.starts_with("0\n1\n") && text.ends_with("9998\n9999\n"));
        assert!(text.lines().count() <= SHOWN_LINES_MAX + 3, "{}", text.lines().count());
        let long = "é".repeat(100_000);
        let PrintedText { text, is_cut } = shown(&of(&long));
        assert!(is_cut && text.len() < SHOWN_BYTES_MAX);
    }

    #[test]
    fn what_was_not_kept_shows() {
        let printed = Printed { head: b"a\n".into(), tail: b"z\n".into(), total: 1_000 };
        let PrintedText { text, is_cut } = shown(&printed);
        assert!(is_cut);
        assert_eq!(text, "a\n\n[… left out …]\nz\n");
    }
}
