//! Markdown as lines of plain text, and which parts of them are marked: for platforms that have
//! styles and no blocks. What is a mark is decided in [`crate::markdown`], as for every platform.

use crate::markdown::{Mark, Piece, parse};

/// How a part of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Bold,
    Italic,
    Strike,
    /// Code within a line.
    Code,
    /// Lines of code.
    CodeBlock,
}

/// A marked part, from where to where in bytes. Parts lie inside each other or apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) style: Style,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A text with its marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Styled {
    pub(crate) text: String,
    /// In the order in which they begin, the outer before the inner.
    pub(crate) spans: Vec<Span>,
}

/// The text of `markdown`, or the text as it was written when nothing of it would be seen.
pub(crate) fn styled(markdown: &str) -> Styled {
    let mut writer = Writer::default();
    for piece in parse(markdown) {
        match piece {
            Piece::Open(mark) => writer.open(mark),
            Piece::Close(mark) => writer.close(&mark),
            Piece::Text(text) => writer.text(&text),
            Piece::Break => writer.gap = writer.gap.max(Gap::Line),
            Piece::Rule => {
                writer.apart(Gap::Blank);
                writer.text("———");
                writer.apart(Gap::Blank);
            }
        }
    }
    let Writer { text, mut spans, .. } = writer;
    if text.trim().is_empty() {
        return Styled { text: markdown.to_owned(), spans: vec![] };
    }
    spans.retain(|span| span.start < span.end);
    spans.sort_by_key(|span| (span.start, usize::MAX - span.end));
    Styled { text, spans }
}

/// What stands between what was written and what comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Line,
    Blank,
}

#[derive(Default)]
struct Writer {
    text: String,
    spans: Vec<Span>,
    /// Marks that are open, with where they began, or will with the next text.
    open: Vec<(Style, Option<usize>)>,
    gap: Gap,
    quotes: usize,
    /// How many quotes the last line stands in.
    quoted: usize,
    /// Lists that are open, with the number of the next entry.
    lists: Vec<Option<u64>>,
    /// What stands before the first text of an entry.
    bullet: Option<String>,
    cells: usize,
    link: usize,
}

impl Writer {
    fn apart(&mut self, gap: Gap) {
        // Entries of a list stand close.
        let gap = if self.lists.is_empty() { gap } else { gap.min(Gap::Line) };
        self.gap = self.gap.max(gap);
    }

    fn begin(&mut self, style: Style) {
        self.open.push((style, None));
    }

    fn end(&mut self, style: Style) {
        let Some(at) = self.open.iter().rposition(|(open, _)| *open == style) else { return };
        if let (style, Some(start)) = self.open.remove(at) {
            self.spans.push(Span { style, start, end: self.text.len() });
        }
    }

    fn open(&mut self, mark: Mark) {
        match mark {
            Mark::Paragraph | Mark::Table => self.apart(Gap::Blank),
            Mark::Heading(_) => {
                self.apart(Gap::Blank);
                self.begin(Style::Bold);
            }
            Mark::Quote => {
                self.apart(Gap::Blank);
                self.quotes += 1;
            }
            Mark::List(first) => {
                self.apart(Gap::Blank);
                self.lists.push(first);
            }
            Mark::Item => {
                self.apart(Gap::Line);
                self.bullet = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let shown = format!("{number}. ");
                        *number = number.saturating_add(1);
                        shown
                    }
                    _ => "• ".to_owned(),
                });
            }
            Mark::CodeBlock(_) => {
                self.apart(Gap::Blank);
                self.begin(Style::CodeBlock);
            }
            Mark::Row { is_heading } => {
                self.apart(Gap::Line);
                self.cells = 0;
                if is_heading {
                    self.begin(Style::Bold);
                }
            }
            Mark::Cell { .. } => {
                if self.cells > 0 {
                    self.text(" · ");
                }
                self.cells += 1;
            }
            Mark::Strong => self.begin(Style::Bold),
            Mark::Emphasis => self.begin(Style::Italic),
            Mark::Strike => self.begin(Style::Strike),
            Mark::Code => self.begin(Style::Code),
            Mark::Link(_) => {
                self.flush();
                self.link = self.text.len();
            }
        }
    }

    fn close(&mut self, mark: &Mark) {
        match mark {
            Mark::Paragraph | Mark::Table => self.apart(Gap::Blank),
            Mark::Heading(_) => {
                self.end(Style::Bold);
                self.apart(Gap::Blank);
            }
            Mark::Quote => {
                self.quotes = self.quotes.saturating_sub(1);
                self.apart(Gap::Blank);
            }
            Mark::List(_) => {
                self.lists.pop();
                self.apart(Gap::Blank);
            }
            Mark::Item => {
                // One that says nothing is shown all the same.
                if self.bullet.is_some() {
                    self.flush();
                }
                self.apart(Gap::Line);
            }
            Mark::CodeBlock(_) => {
                self.end(Style::CodeBlock);
                self.apart(Gap::Blank);
            }
            Mark::Row { is_heading } => {
                if *is_heading {
                    self.end(Style::Bold);
                }
                self.apart(Gap::Line);
            }
            Mark::Cell { .. } => {}
            Mark::Strong => self.end(Style::Bold),
            Mark::Emphasis => self.end(Style::Italic),
            Mark::Strike => self.end(Style::Strike),
            Mark::Code => self.end(Style::Code),
            Mark::Link(address) => {
                // Nobody can follow what is not seen.
                let shown = self.text.get(self.link..).unwrap_or_default().trim();
                if shown != address && Some(shown) != address.strip_prefix("mailto:") {
                    self.text(&format!(" ({address})"));
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.gap = self.gap.max(Gap::Line);
                self.flush();
            }
            if line.is_empty() {
                continue;
            }
            self.flush();
            let start = self.text.len();
            for (_, begun) in &mut self.open {
                begun.get_or_insert(start);
            }
            self.text.extend(line.chars().filter(|it| !it.is_control() || *it == '\t'));
        }
    }

    /// Writes what stands before the text that comes: line ends, quotes, bullets.
    fn flush(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let is_begin = self.text.is_empty();
        let prefix = "> ".repeat(self.quotes);
        if !is_begin && gap == Gap::Blank {
            self.text.push('\n');
            self.text.push_str("> ".repeat(self.quotes.min(self.quoted)).trim_end());
        }
        if !is_begin && gap != Gap::None {
            self.text.push('\n');
        }
        let is_line = is_begin || gap != Gap::None;
        if is_line {
            self.quoted = self.quotes;
            self.text.push_str(&prefix);
            let depth = self.lists.len();
            let indent = if self.bullet.is_some() { depth.saturating_sub(1) } else { depth };
            self.text.push_str(&"  ".repeat(indent));
        }
        if let Some(bullet) = self.bullet.take() {
            self.text.push_str(&bullet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text with letters where marks begin and end.
    fn shown(markdown: &str) -> String {
        let Styled { text, spans } = styled(markdown);
        let mut signs: Vec<(usize, bool, char)> = vec![];
        for span in &spans {
            let sign = match span.style {
                Style::Bold => 'b',
                Style::Italic => 'i',
                Style::Strike => 's',
                Style::Code => 'c',
                Style::CodeBlock => 'p',
            };
            signs.extend([(span.start, true, sign), (span.end, false, sign)]);
        }
        let mut shown = String::new();
        for (at, character) in text.char_indices().chain([(text.len(), '\0')]) {
            for (_, _, sign) in signs.iter().filter(|it| it.0 == at && !it.1) {
                shown.push_str(&format!("</{sign}>"));
            }
            for (_, _, sign) in signs.iter().filter(|it| it.0 == at && it.1) {
                shown.push_str(&format!("<{sign}>"));
            }
            if character != '\0' {
                shown.push(character);
            }
        }
        shown
    }

    #[test]
    fn marks_are_kept_and_blocks_become_lines() {
        for (markdown, expected) in [
            ("plain", "plain"),
            ("a\nb\n\nc", "a\nb\n\nc"),
            ("**b** _i_ ~~s~~ `c`", "<b>b</b> <i>i</i> <s>s</s> <c>c</c>"),
            ("**a *b* c**", "<b>a <i>b</i> c</b>"),
            ("# Head\ntext", "<b>Head</b>\n\ntext"),
            ("- a\n- b\n  - c\n\nend", "• a\n• b\n  • c\n\nend"),
            ("3. a\n4. b", "3. a\n4. b"),
            ("- a\n\n  more", "• a\n  more"),
            ("> q\n> r\n\nend", "> q\n> r\n\nend"),
            ("> a\n>\n> b", "> a\n>\n> b"),
            ("a\n\n> b", "a\n\n> b"),
            ("```rust\nfn a() {\n\n}\n```\nend", "<p>fn a() {\n\n}</p>\n\nend"),
            ("a\n\n---\n\nb", "a\n\n———\n\nb"),
            ("|a|b|\n|-|-|\n|1|2|", "<b>a · b</b>\n1 · 2"),
            ("[x](https://e.org/)", "x (https://e.org/)"),
            ("<https://e.org/>", "https://e.org/"),
            ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
            ("**never closed", "**never closed"),
            ("a\\*b", "a*b"),
            ("\\", "\\"),
            ("<b>x</b> & y", "<b>x</b> & y"),
        ] {
            assert_eq!(shown(markdown), expected, "{markdown:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_seen_and_marks_lie_inside(
            markdown in "[-*_~`#>|\\[\\]()a-c \n0-9.\u{1f600}]{0,80}",
        ) {
            let Styled { text, spans } = styled(&markdown);
            prop_assert!(text.trim().is_empty() <= markdown.trim().is_empty());
            for span in &spans {
                prop_assert!(span.start < span.end && text.get(span.start..span.end).is_some());
            }
            // The name of a language is not shown.
            let is_code = ["```", "~~~"].iter().any(|fence| markdown.contains(fence));
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).count();
            prop_assert!(is_code || letters(&text) >= letters(&markdown), "{text:?}");
        }
    }
}
