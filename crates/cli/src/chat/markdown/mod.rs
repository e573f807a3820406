//! Markdown for the terminal, as it comes: every word is shown as soon as what it is can't
//! change any more. Line breaks of the source are kept, since models mean them.
//!
//! What comes in is text from a stranger. Control characters are taken out on the way in,
//! and only [`style`] adds any, so that a reply can't move the cursor, colour what is not
//! its own, or talk to the terminal.

mod block;
mod inline;
mod style;
mod table;
mod wrap;

#[cfg(test)]
mod tests;

pub use style::{Paint, Style};

use crate::output::clean;
use block::{Block, Fence, decide};
use inline::Inline;
use style::Span;
use unicode_width::UnicodeWidthStr as _;
use wrap::Wrapper;

/// Widest lines of prose: longer ones are hard to read.
const PROSE_COLUMNS_MAX: usize = 100;
/// Narrower than this, lines are broken as if it were this wide.
const COLUMNS_MIN: usize = 20;
/// How long a line across is at most.
const RULE_COLUMNS_MAX: usize = 60;
/// Rows of a table that are held until its columns are known. A longer one is shown in parts.
const TABLE_ROWS_MAX: usize = 200;

/// Turns a reply into text for the terminal.
#[derive(Debug)]
pub struct Renderer {
    paint: Paint,
    /// Of the terminal.
    columns: usize,
    /// What has come of the current line and is not shown yet.
    line: String,
    at: At,
    /// Rows of a table whose end is not seen.
    table: Vec<String>,
    /// A blank line is due before whatever comes next.
    blank: bool,
    shown: bool,
}

/// Where in the text the renderer is.
#[derive(Debug)]
enum At {
    /// At the start of a line.
    Start,
    /// In a line of text.
    Text(Wrapper, Inline),
    /// At the start of a line of code.
    CodeStart(Fence),
    /// In a line of code.
    Code(Fence),
}

impl Renderer {
    /// A renderer for a terminal this wide.
    pub fn new(paint: Paint, columns: usize) -> Self {
        Self {
            paint,
            columns: columns.max(COLUMNS_MIN),
            line: String::new(),
            at: At::Start,
            table: vec![],
            blank: false,
            shown: false,
        }
    }

    /// Takes more of the text; what can be shown of it.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for piece in clean(text).split_inclusive('\n') {
            self.line.push_str(piece);
            self.advance(&mut out);
        }
        out
    }

    /// The rest. What was shown ends with a line break, if anything was shown.
    pub fn finish(mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() || matches!(self.at, At::Text(..) | At::Code(_)) {
            self.line.push('\n');
            self.advance(&mut out);
        }
        self.end_table(&mut out);
        if matches!(self.at, At::CodeStart(_)) && self.paint == Paint::Colour {
            self.across(&mut out, "", "");
        }
        out
    }

    /// Shows what can be shown of the current line, and ends it when all of it has come.
    fn advance(&mut self, out: &mut String) {
        let whole = self.line.ends_with('\n');
        if whole {
            self.line.pop();
        }
        let at = std::mem::replace(&mut self.at, At::Start);
        self.at = match at {
            At::Start => self.start(out, whole),
            At::Text(wrapper, inline) => self.text(out, wrapper, inline, whole),
            At::CodeStart(fence) if whole && fence.closes(&self.line) => {
                let line = std::mem::take(&mut self.line);
                self.across(out, "", &line);
                At::Start
            }
            At::CodeStart(fence) if !whole && fence.may_close(&self.line) => At::CodeStart(fence),
            At::CodeStart(fence) | At::Code(fence) => {
                Style::CODE.paint_into(out, &std::mem::take(&mut self.line), self.paint);
                if whole {
                    out.push('\n');
                }
                if whole { At::CodeStart(fence) } else { At::Code(fence) }
            }
        };
    }

    fn start(&mut self, out: &mut String, whole: bool) -> At {
        let Some(block) = decide(&self.line, whole, self.paint) else { return At::Start };
        if block == Block::Row {
            self.table.push(std::mem::take(&mut self.line));
            if self.table.len() > TABLE_ROWS_MAX {
                self.end_table(out);
            }
            return At::Start;
        }
        self.end_table(out);
        match block {
            Block::Text(opening) => {
                self.begin(out);
                self.line.drain(..opening.taken);
                let width = self.columns.min(PROSE_COLUMNS_MAX);
                let (first, hanging) = (&opening.first, opening.hanging);
                let wrapper = Wrapper::begin(out, self.paint, width, first, hanging);
                self.text(out, wrapper, Inline::new(opening.style), whole)
            }
            Block::Rule => {
                self.begin(out);
                let line = std::mem::take(&mut self.line);
                self.across(out, "", &line);
                At::Start
            }
            Block::Fence(fence) => {
                self.begin(out);
                let line = std::mem::take(&mut self.line);
                self.across(out, &fence.language, &line);
                At::CodeStart(fence)
            }
            Block::Blank | Block::Row => {
                self.line.clear();
                self.blank = self.shown;
                At::Start
            }
        }
    }

    fn text(
        &mut self,
        out: &mut String,
        mut wrapper: Wrapper,
        mut inline: Inline,
        whole: bool,
    ) -> At {
        let spans = match self.paint {
            Paint::Colour => inline.take(&mut self.line, whole),
            Paint::Plain => vec![Span::new(std::mem::take(&mut self.line), Style::PLAIN)],
        };
        for span in &spans {
            wrapper.push(out, span);
        }
        if whole {
            wrapper.end(out);
            return At::Start;
        }
        At::Text(wrapper, inline)
    }

    /// Before anything is shown: the blank line that is due.
    fn begin(&mut self, out: &mut String) {
        if std::mem::take(&mut self.blank) {
            out.push('\n');
        }
        self.shown = true;
    }

    /// Shows the table that has come, or its lines as they are where it is none.
    fn end_table(&mut self, out: &mut String) {
        let lines = std::mem::take(&mut self.table);
        if lines.is_empty() {
            return;
        }
        self.begin(out);
        if lines.get(1).is_some_and(|line| table::is_rule(line)) {
            out.push_str(&table::lay_out(&lines, self.paint, self.columns));
            return;
        }
        for line in lines {
            let width = self.columns.min(PROSE_COLUMNS_MAX);
            let mut wrapper = Wrapper::begin(out, self.paint, width, &[], vec![]);
            wrapper.push(out, &Span::new(line, Style::PLAIN));
            wrapper.end(out);
        }
    }

    /// A line across, with a word in it, in place of the source's own line.
    fn across(&self, out: &mut String, word: &str, source: &str) {
        if self.paint == Paint::Plain {
            out.push_str(source);
        } else {
            let columns = self.columns.min(RULE_COLUMNS_MAX);
            let word: String = word.chars().take(columns / 2).collect();
            let begin = if word.is_empty() { String::new() } else { format!("── {word} ") };
            let rest = columns.saturating_sub(begin.as_str().width());
            Style::DIM.paint_into(out, &(begin + &"─".repeat(rest)), self.paint);
        }
        out.push('\n');
    }
}
