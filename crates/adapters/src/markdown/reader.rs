//! From the library's events to pieces.

use super::{DEPTH_MAX, Mark, Piece, inline};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

pub(super) struct Reader<'a> {
    source: &'a str,
    /// What is no part of the text, wherever it stands.
    guard: Option<char>,
    pieces: Vec<Piece>,
    /// What each open tag is marked as, if it is.
    open: Vec<Option<Mark>>,
    /// Quotes and lists that are open.
    depth: usize,
    /// The lines of a block that is not taken further apart.
    raw: Option<String>,
    /// What is left of the row of a table that is being read.
    row: Range<usize>,
    is_in_link: bool,
    /// Tags that are open inside of what stands as text already.
    passed: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn read(source: &'a str, guard: Option<char>) -> Vec<Piece> {
        let mut reader = Self {
            source,
            guard,
            pieces: vec![],
            open: vec![],
            depth: 0,
            raw: None,
            row: 0..0,
            is_in_link: false,
            passed: 0,
        };
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
            reader.event(event, range);
        }
        reader.pieces
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(_) if self.passed > 0 => self.passed += 1,
            Event::End(_) if self.passed > 0 => self.passed -= 1,
            _ if self.passed > 0 => {}
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                if let Some(raw) = &mut self.raw {
                    raw.push_str(&text);
                    return;
                }
                // A name for a character is text, as raw HTML is.
                let written = &self.source[range];
                self.text(if written.starts_with('&') { written } else { &text });
            }
            Event::Code(text) => {
                self.pieces.push(Piece::Open(Mark::Code));
                self.text(&text);
                self.pieces.push(Piece::Close(Mark::Code));
            }
            Event::SoftBreak | Event::HardBreak => self.pieces.push(Piece::Break),
            Event::Rule => self.pieces.push(Piece::Rule),
            // Of languages that were not asked for.
            Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => self.text(&self.source[range]),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let is_deep = self.depth >= DEPTH_MAX;
        let mark = match tag {
            // An entry's first paragraph is not worth a paragraph's distance.
            Tag::Paragraph if self.pieces.last() == Some(&Piece::Open(Mark::Item)) => None,
            Tag::Paragraph => Some(Mark::Paragraph),
            Tag::Heading { level, .. } => Some(Mark::Heading(level as u8)),
            Tag::BlockQuote(_) | Tag::List(_) => {
                self.depth += 1;
                let mark = match tag {
                    Tag::List(first) => Mark::List(first),
                    _ => Mark::Quote,
                };
                (!is_deep).then_some(mark)
            }
            Tag::Item => (self.depth <= DEPTH_MAX).then_some(Mark::Item),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                self.raw = Some(String::new());
                let language = info.split_whitespace().next().unwrap_or_default();
                Some(Mark::CodeBlock(self.own(language)))
            }
            Tag::CodeBlock(CodeBlockKind::Indented) | Tag::HtmlBlock => {
                self.raw = Some(String::new());
                Some(Mark::Paragraph)
            }
            Tag::Table(_) => Some(Mark::Table),
            Tag::TableHead => Some(Mark::Row { is_heading: true }),
            Tag::TableRow => {
                self.row = range;
                Some(Mark::Row { is_heading: false })
            }
            Tag::TableCell => {
                self.row.start = range.end;
                let is_heading = self.open.last() == Some(&Some(Mark::Row { is_heading: true }));
                Some(Mark::Cell { is_heading })
            }
            Tag::Strong => Some(Mark::Strong),
            Tag::Emphasis => Some(Mark::Emphasis),
            // One sign is how people write "about".
            Tag::Strikethrough if !self.source[range.clone()].starts_with("~~") => {
                self.text("~");
                None
            }
            Tag::Strikethrough => Some(Mark::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let address = self.own(&dest_url);
                if !is_harmless(&address) {
                    self.text(&self.source[range]);
                    self.passed = 1;
                    return;
                }
                // A picture in a link leads where the link does.
                let is_outer = !std::mem::replace(&mut self.is_in_link, true);
                is_outer.then_some(Mark::Link(address))
            }
            _ => None,
        };
        self.pieces.extend(mark.clone().map(Piece::Open));
        self.open.push(mark);
    }

    fn end(&mut self, tag: TagEnd) {
        if matches!(tag, TagEnd::BlockQuote(_) | TagEnd::List(_)) {
            self.depth -= 1;
        }
        let mark = self.open.pop().flatten();
        if let Some(raw) = self.raw.take() {
            let raw = self.own(raw.strip_suffix('\n').unwrap_or(&raw));
            match tag {
                TagEnd::CodeBlock if mark != Some(Mark::Paragraph) => self.text(&raw),
                _ => self.pieces.extend(inline(&raw)),
            }
        }
        match (&mark, tag) {
            (Some(Mark::Link(address)), _) => {
                self.is_in_link = false;
                // Without words of its own it shows where it leads.
                if matches!(self.pieces.last(), Some(Piece::Open(Mark::Link(_)))) {
                    self.pieces.push(Piece::Text(address.clone()));
                }
            }
            (None, TagEnd::Strikethrough) => self.text("~"),
            (_, TagEnd::TableRow) => self.rest_of_row(),
            _ => {}
        }
        self.pieces.extend(mark.map(Piece::Close));
    }

    /// Fields of a row that its table has no columns for. The library leaves them out.
    fn rest_of_row(&mut self) {
        let rest = self.source.get(self.row.clone()).unwrap_or_default();
        let rest = rest.trim().trim_matches('|').trim();
        if !rest.is_empty() {
            let cell = Mark::Cell { is_heading: false };
            self.pieces.push(Piece::Open(cell.clone()));
            self.text(rest);
            self.pieces.push(Piece::Close(cell));
        }
    }

    fn text(&mut self, text: &str) {
        let text = self.own(text);
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text));
        }
    }

    fn own(&self, text: &str) -> String {
        match self.guard {
            Some(guard) => text.replace(guard, ""),
            None => text.to_owned(),
        }
    }
}

/// Whether an address may be made a link: nothing that runs, and nothing a reader can't see.
fn is_harmless(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let known = scheme.is_some_and(|scheme| ["http", "https", "mailto"].contains(&&*scheme));
    known && !address.chars().any(|sign| sign.is_whitespace() || sign.is_control())
}
