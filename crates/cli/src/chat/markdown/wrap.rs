//! Breaks lines between words, as the words come. A word that is longer than a line stands
//! whole on a line of its own: a broken address can't be copied.

use super::style::{Paint, Span, Style};
use unicode_width::UnicodeWidthStr as _;

/// One line of the source on its way to as many lines of the terminal as it takes.
#[derive(Debug)]
pub struct Wrapper {
    paint: Paint,
    width: usize,
    /// What further lines begin with.
    hanging: Vec<Span>,
    /// The column where the text of every line begins.
    margin: usize,
    column: usize,
    /// Spaces before the word that is being read, and how they look.
    spaces: usize,
    spaces_style: Style,
    word: Vec<Span>,
}

impl Wrapper {
    /// Begins a line with `first`; every further one begins with `hanging`.
    pub fn begin(
        out: &mut String,
        paint: Paint,
        width: usize,
        first: &[Span],
        hanging: Vec<Span>,
    ) -> Self {
        let margin = spans_width(first);
        put(out, first, paint);
        Self {
            paint,
            width,
            hanging,
            margin,
            column: margin,
            spaces: 0,
            spaces_style: Style::PLAIN,
            word: vec![],
        }
    }

    /// Takes more of the line.
    pub fn push(&mut self, out: &mut String, span: &Span) {
        for c in span.text.chars() {
            match c {
                ' ' | '\t' | '\n' => {
                    self.flush(out);
                    self.spaces += if c == '\t' { 4 } else { 1 };
                    self.spaces_style = span.style;
                }
                c if may_break_around(c) => {
                    self.flush(out);
                    self.add(c, span.style);
                    self.flush(out);
                }
                c => self.add(c, span.style),
            }
        }
    }

    /// Ends the line.
    pub fn end(mut self, out: &mut String) {
        self.flush(out);
        out.push('\n');
    }

    fn add(&mut self, c: char, style: Style) {
        match self.word.last_mut() {
            Some(last) if last.style == style => last.text.push(c),
            _ => self.word.push(Span::new(c, style)),
        }
    }

    fn flush(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let width = spans_width(&self.word);
        let fits = self.column + self.spaces + width <= self.width;
        if fits || self.column == self.margin {
            // An indentation that leaves no room for the word is worth less than the word.
            if fits {
                self.put_spaces(out);
            }
        } else {
            out.push('\n');
            put(out, &self.hanging, self.paint);
            self.column = self.margin;
        }
        put(out, &self.word, self.paint);
        self.column += width;
        self.spaces = 0;
        self.word.clear();
    }

    /// A line below or through words goes on between them.
    fn put_spaces(&mut self, out: &mut String) {
        let spaces = " ".repeat(self.spaces);
        self.column += self.spaces;
        match self.word.first_mut() {
            Some(first) if first.style == self.spaces_style => first.text.insert_str(0, &spaces),
            _ => out.push_str(&spaces),
        }
    }
}

/// Scripts that are written without spaces: a line may end after any character.
fn may_break_around(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3fffd}')
}

/// The columns that pieces of text take.
pub fn spans_width(spans: &[Span]) -> usize {
    let text: String = spans.iter().map(|span| span.text.as_str()).collect();
    text.width()
}

/// Appends pieces of text.
pub fn put(out: &mut String, spans: &[Span], paint: Paint) {
    for span in spans {
        span.style.paint_into(out, &span.text, paint);
    }
}
