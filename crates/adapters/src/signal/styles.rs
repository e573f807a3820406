//! From Markdown, as models write it, to a text with Signal's styles: `start:length:STYLE`, in
//! UTF-16 units.

use crate::lines::{Span, Style, Styled, styled};

/// More marks than a text of ours has; what is beyond is shown plain.
const STYLES_MAX: usize = 500;

/// A text, and its styles as signal-cli takes them.
pub(super) fn text(markdown: &str) -> (String, Vec<String>) {
    let Styled { text, spans } = styled(markdown);
    let spans = &spans[..spans.len().min(STYLES_MAX)];
    let mut places: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end]).collect();
    places.sort_unstable();
    places.dedup();
    let mut units = Vec::with_capacity(places.len());
    let (mut at, mut unit) = (0, 0);
    for &place in &places {
        unit += text.get(at..place).map_or(0, |part| part.encode_utf16().count());
        at = place;
        units.push(unit);
    }
    let find = |place: usize| places.binary_search(&place).ok().map(|at| units[at]);
    let written = |span: &Span| {
        let (start, end) = (find(span.start)?, find(span.end)?);
        Some(format!("{start}:{}:{}", end - start, name(span.style)))
    };
    let styles = spans.iter().filter_map(written).collect();
    (text, styles)
}

fn name(style: Style) -> &'static str {
    match style {
        Style::Bold => "BOLD",
        Style::Italic => "ITALIC",
        Style::Strike => "STRIKETHROUGH",
        Style::Code | Style::CodeBlock => "MONOSPACE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_stand_where_they_are_seen() {
        let (said, styles) = text("\u{1f600} **bold _both_** `x`");
        assert_eq!(said, "\u{1f600} bold both x");
        assert_eq!(styles, ["3:9:BOLD", "8:4:ITALIC", "13:1:MONOSPACE"]);
        assert_eq!(text("plain"), ("plain".to_owned(), vec![]));
        let many = "**a** b ".repeat(STYLES_MAX + 9);
        assert_eq!(text(&many).1.len(), STYLES_MAX);
    }
}
