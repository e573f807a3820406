//! Markdown as models write it, taken apart once for every platform that formats otherwise.
//!
//! [`parse`] gives pieces in order: marks that open and close, properly nested, and text between
//! them. What is no mark is text, so nothing a model writes gets lost; raw HTML is text too. A
//! platform walks over the pieces and writes what it has for each.
//!
//! The language is CommonMark with GitHub's tables and strikes, read by `pulldown-cmark`, whose
//! time is in proportion to a text's length whatever it is. Otherwise than there, indented code
//! is a paragraph, as models indent for other reasons. A line end inside a paragraph stays a
//! line end: in a chat it was meant.

mod reader;
#[cfg(test)]
mod tests;

use reader::Reader;

/// Quotes and lists inside each other, at most; those that are deeper are not marked.
const DEPTH_MAX: usize = 8;

/// Begins every line of what must not be read as blocks. It is punctuation, so a mark behind it
/// means what it means at the beginning of a line, and no living script uses it.
const GUARD: char = '\u{10a50}';

/// A part of a formatted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// What follows, up to the matching [`Piece::Close`], is marked.
    Open(Mark),
    /// The end of the mark opened last.
    Close(Mark),
    /// Text, with nothing in it to interpret.
    Text(String),
    /// A line end inside a paragraph.
    Break,
    /// A line across.
    Rule,
}

/// How text is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A paragraph.
    Paragraph,
    /// A heading, 1 to 6.
    Heading(u8),
    /// A quote.
    Quote,
    /// A list; a numbered one with its first number.
    List(Option<u64>),
    /// One entry of a list.
    Item,
    /// A block of code, with the language it names, or nothing.
    CodeBlock(String),
    /// A table.
    Table,
    /// One row of it; the first one is the heading.
    Row {
        /// Whether it is the first.
        is_heading: bool,
    },
    /// One field of a row.
    Cell {
        /// Whether it stands in the first row.
        is_heading: bool,
    },
    /// Important.
    Strong,
    /// Stressed.
    Emphasis,
    /// Crossed out.
    Strike,
    /// Code within a line.
    Code,
    /// A link, to an address whose scheme is harmless.
    Link(String),
}

/// Takes the lines of one paragraph apart, for a platform that has lines and no blocks. Blanks
/// at their beginnings stay.
pub(crate) fn inline(text: &str) -> Vec<Piece> {
    let lines: Vec<String> = text.split('\n').map(|line| format!("{GUARD}{line}")).collect();
    let mut pieces = Reader::read(&lines.join("\n"), Some(GUARD));
    let paragraph = Mark::Paragraph;
    pieces.retain(|it| !matches!(it, Piece::Open(mark) | Piece::Close(mark) if *mark == paragraph));
    pieces
}

/// Takes a text apart.
pub(crate) fn parse(text: &str) -> Vec<Piece> {
    Reader::read(text, None)
}
