//! From Markdown, as models write it, to the signs that WhatsApp and Slack know: `*bold*`,
//! `_italic_`, `~struck out~`, `` `code` `` and lines of code between three backticks.
//!
//! A sign counts there only between words and within a line, and can't be escaped. What would not
//! be seen as it is meant is left without its sign.

use crate::lines::{Span, Style, Styled, styled};

/// The text of `markdown` as it is shown best, within `units_max` of UTF-16.
pub(crate) fn text(markdown: &str, units_max: usize) -> String {
    let fits = |text: &str| text.encode_utf16().count() <= units_max;
    let Styled { text, spans } = styled(markdown);
    let marked = marked(&text, &spans, str::to_owned);
    match () {
        () if fits(&marked) => marked,
        () if fits(&text) => text,
        () => markdown.to_owned(),
    }
}

/// The same without a limit, with `written` for what stands between signs.
pub(crate) fn text_written(markdown: &str, written: fn(&str) -> String) -> String {
    let Styled { text, spans } = styled(markdown);
    marked(&text, &spans, written)
}

fn marked(text: &str, spans: &[Span], written: fn(&str) -> String) -> String {
    let mut signs: Vec<(usize, usize, bool, &'static str)> = vec![];
    for (order, span) in spans.iter().enumerate() {
        for (start, end) in pieces(text, span) {
            if is_between_words(text, start, end) {
                let sign = sign(span.style);
                signs.push((start, order, true, sign));
                signs.push((end, order, false, sign));
            }
        }
    }
    // What ends goes before what begins, the inner before the outer.
    signs.sort_by_key(|&(at, order, opens, _)| match opens {
        false => (at, 0, usize::MAX - order),
        true => (at, 1, order),
    });
    let mut marked = String::with_capacity(text.len() + signs.len() * 3);
    let mut done = 0;
    for (at, _, _, sign) in signs {
        marked.push_str(&written(text.get(done..at).unwrap_or_default()));
        marked.push_str(sign);
        done = at;
    }
    marked.push_str(&written(text.get(done..).unwrap_or_default()));
    marked
}

/// The parts of a mark that can have signs of their own: each line, without blanks at its ends.
fn pieces(text: &str, span: &Span) -> Vec<(usize, usize)> {
    let inside = text.get(span.start..span.end).unwrap_or_default();
    if span.style == Style::CodeBlock {
        return vec![(span.start, span.end)];
    }
    let mut pieces = vec![];
    let mut at = span.start;
    for line in inside.split('\n') {
        let begin = at + (line.len() - line.trim_start().len());
        let end = at + line.trim_end().len();
        if begin < end {
            pieces.push((begin, end));
        }
        at += line.len() + 1;
    }
    pieces
}

fn is_between_words(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|it| it.chars().next_back());
    let behind = text.get(end..).and_then(|it| it.chars().next());
    let is_free = |it: Option<char>| it.is_none_or(|it| !it.is_alphanumeric());
    is_free(before) && is_free(behind)
}

fn sign(style: Style) -> &'static str {
    match style {
        Style::Bold => "*",
        Style::Italic => "_",
        Style::Strike => "~",
        Style::Code => "`",
        Style::CodeBlock => "```",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_stand_where_they_are_seen() {
        for (markdown, expected) in [
            ("plain", "plain"),
            ("**bold** _it_ ~~no~~ `x`", "*bold* _it_ ~no~ `x`"),
            ("**a _b_**", "*a _b_*"),
            ("a**b**c", "abc"),
            ("**two\nlines**", "*two*\n*lines*"),
            ("# Head\ntext", "*Head*\n\ntext"),
            ("```rs\nlet a;\n\nb\n```", "```let a;\n\nb```"),
            ("- a\n- b", "• a\n• b"),
        ] {
            assert_eq!(text(markdown, 4096), expected, "{markdown}");
        }
        assert_eq!(text("**a** b", 6), "*a* b", "five and two signs are within it");
        assert_eq!(text("**a** **b**", 6), "a b");
        assert_eq!(text("- a\n- b", 3), "- a\n- b", "what never fits is sent as it is written");
    }
}
