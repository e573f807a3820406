//! Markdown as models write it, taken apart once for every platform that formats otherwise.
//!
//! [`parse`] gives pieces in order: marks that open and close, properly nested, and text between
//! them. What is no mark is text, so nothing a model writes gets lost; raw HTML is text too. A
//! platform walks over the pieces and writes what it has for each.
//!
//! The language is the common part of CommonMark and GitHub's: headings, paragraphs, quotes,
//! lists, fenced code, tables, rules; strong, emphasis, strike, code, links. Indented code is a
//! paragraph, as models indent for other reasons. A line end inside a paragraph stays a line
//! end: in a chat it was meant.

mod blocks;
mod inline;
#[cfg(test)]
mod tests;

/// Quotes and lists inside each other, at most; what is deeper is read as text.
const DEPTH_MAX: usize = 8;

/// A part of a formatted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// What follows, up to the matching [`Piece::Close`], is marked.
    Open(Mark<'a>),
    /// The end of the mark opened last.
    Close(Mark<'a>),
    /// Text, with nothing in it to interpret.
    Text(&'a str),
    /// A line end inside a paragraph.
    Break,
    /// A line across.
    Rule,
}

/// How text is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark<'a> {
    /// A paragraph.
    Paragraph,
    /// A heading, 1 to 6.
    Heading(u8),
    /// A quote.
    Quote,
    /// A list; a numbered one with its first number.
    List(Option<u32>),
    /// One entry of a list.
    Item,
    /// A block of code, with the language it names, or nothing.
    CodeBlock(&'a str),
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
    Link(&'a str),
}

/// Takes the lines of one paragraph apart, for a platform that has lines and no blocks. Blanks
/// at their ends stay.
pub(crate) fn inline(text: &str) -> Vec<Piece<'_>> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut pieces = vec![];
    inline::parse_kept(&lines, &mut pieces);
    pieces
}

/// Takes a text apart.
pub(crate) fn parse(text: &str) -> Vec<Piece<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut pieces = vec![];
    blocks::parse(&lines, 0, &mut pieces);
    pieces
}
