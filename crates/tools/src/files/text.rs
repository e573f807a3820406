//! A text file as lines, and back again without changing what was not meant.

/// How a text ends its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a line feed.
    Lf,
    /// With a carriage return and a line feed, every one of them.
    CrLf,
}

/// The lines of a text, without their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) lines: Vec<String>,
    pub(crate) ending: Ending,
    /// Whether the last line has an end too.
    ended: bool,
    marked: bool,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Document {
    pub(crate) fn parse(text: &str) -> Self {
        let marked = text.starts_with(BYTE_ORDER_MARK);
        let text = text.trim_start_matches(BYTE_ORDER_MARK);
        let (all, with_return) = (text.matches('\n').count(), text.matches("\r\n").count());
        let ending = if all > 0 && all == with_return { Ending::CrLf } else { Ending::Lf };
        let ended = text.ends_with('\n') || text.is_empty();
        let mut lines: Vec<String> = text
            .split('\n')
            .map(|line| match ending {
                Ending::CrLf => line.strip_suffix('\r').unwrap_or(line).to_owned(),
                Ending::Lf => line.to_owned(),
            })
            .collect();
        if ended {
            lines.pop();
        }
        Self { lines, ending, ended, marked }
    }

    /// Whether it begins with a byte order mark.
    pub(crate) fn is_marked(&self) -> bool {
        self.marked
    }

    /// The text with other lines, otherwise as it was.
    pub(crate) fn with(&self, lines: &[String]) -> String {
        let end = match self.ending {
            Ending::Lf => "\n",
            Ending::CrLf => "\r\n",
        };
        let mut text = lines.join(end);
        if self.ended && !lines.is_empty() {
            text.push_str(end);
        }
        if self.marked {
            text.insert(0, BYTE_ORDER_MARK);
        }
        text
    }
}

/// How many lines there are, as readers count them: a last one without an end counts too.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was() {
        for text in [
            "",
            "a",
            "a\n",
            "a\nb",
            "a\r\nb\r\n",
            "a\r\nb\n",
            "\n",
            "\n\n",
            "\u{feff}a\r\n",
            "\r\n",
            "a\r\nb",
        ] {
            let document = Document::parse(text);
            assert_eq!(document.with(&document.lines), text, "{text:?}");
        }
        assert_eq!(Document::parse("a\nb").lines.len(), lines("a\nb").len());
    }
}
