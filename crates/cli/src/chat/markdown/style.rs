//! How a piece of text looks, and the few sequences that make it so. Nothing else here writes
//! to a terminal, so nothing else can put a sequence into what it shows.

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Bold, italics and colours.
    Colour,
    /// The text as it was written, laid out.
    Plain,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Strong.
    pub bold: bool,
    /// In the background.
    pub dim: bool,
    /// Emphasised.
    pub italic: bool,
    /// A link, or something as outstanding.
    pub underline: bool,
    /// No longer so.
    pub strike: bool,
    pub code: bool,
    /// Something that somebody has to look at.
    pub alert: bool,
    /// Something that went wrong.
    pub bad: bool,
}

/// A piece of text that looks the same throughout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    /// Its looks.
    pub style: Style,
}

impl Style {
    /// In the background.
    pub const DIM: Self = Self { dim: true, ..Self::PLAIN };
    /// Code.
    pub const CODE: Self = Self { code: true, ..Self::PLAIN };
    /// Nothing special.
    pub const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        code: false,
        alert: false,
        bad: false,
    };
    /// A question that waits.
    pub const ASK: Self = Self { bold: true, alert: true, ..Self::PLAIN };
    /// Something that went wrong.
    pub const BAD: Self = Self { bad: true, ..Self::PLAIN };

    /// Both at once.
    pub fn and(self, other: Self) -> Self {
        Self {
            bold: self.bold || other.bold,
            dim: self.dim || other.dim,
            italic: self.italic || other.italic,
            underline: self.underline || other.underline,
            strike: self.strike || other.strike,
            code: self.code || other.code,
            alert: self.alert || other.alert,
            bad: self.bad || other.bad,
        }
    }

    /// Appends `text` in this style.
    pub fn paint_into(self, out: &mut String, text: &str, paint: Paint) {
        if paint == Paint::Plain || self == Self::PLAIN || text.is_empty() {
            out.push_str(text);
            return;
        }
        let codes = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.strike, "9"),
            (self.code, "36"),
            (self.alert, "33"),
            (self.bad, "31"),
        ];
        let codes: Vec<&str> = codes.iter().filter(|(on, _)| *on).map(|(_, code)| *code).collect();
        out.push_str("\x1b[");
        out.push_str(&codes.join(";"));
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[0m");
    }

    /// `text` in this style.
    pub fn paint(self, text: &str, paint: Paint) -> String {
        let mut out = String::new();
        self.paint_into(&mut out, text, paint);
        out
    }
}

impl Span {
    /// A piece of text.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}
