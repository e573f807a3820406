//! Markdown to the part of HTML that Matrix clients show.
//!
//! Everything a model wrote is escaped; tags and attributes come from this file alone.

use crate::markdown::{Mark, Piece, parse};

/// The text as HTML, or nothing when there is no mark in it that plain text would lose.
pub(super) fn formatted(markdown: &str) -> Option<String> {
    let pieces = parse(markdown);
    let is_plain = pieces.iter().all(|piece| match piece {
        Piece::Open(mark) | Piece::Close(mark) => *mark == Mark::Paragraph,
        Piece::Text(_) | Piece::Break => true,
        Piece::Rule => false,
    });
    // A backslash that only escaped something is not meant to be seen, yet is in the source.
    if is_plain && !markdown.contains('\\') {
        return None;
    }
    let paragraphs = pieces.iter().filter(|it| **it == Piece::Open(Mark::Paragraph)).count();
    let alone = paragraphs == 1 && pieces.first() == Some(&Piece::Open(Mark::Paragraph));
    let alone = alone && pieces.last() == Some(&Piece::Close(Mark::Paragraph));
    let mut html = String::with_capacity(markdown.len() * 2);
    for piece in &pieces {
        match piece {
            Piece::Open(Mark::Paragraph) | Piece::Close(Mark::Paragraph) if alone => {}
            Piece::Open(mark) => open(mark, &mut html),
            Piece::Close(mark) => close(mark, &mut html),
            Piece::Text(text) => escape(text, &mut html),
            Piece::Break => html.push_str("<br>"),
            Piece::Rule => html.push_str("<hr>"),
        }
    }
    Some(html)
}

fn open(mark: &Mark, html: &mut String) {
    match mark {
        Mark::List(Some(first)) if *first != 1 => {
            html.push_str(&format!("<ol start=\"{first}\">"));
        }
        Mark::CodeBlock(language) => {
            html.push_str("<pre><code");
            if !language.is_empty() {
                html.push_str(" class=\"language-");
                escape(language, html);
                html.push('"');
            }
            html.push('>');
        }
        Mark::Link(address) => {
            html.push_str("<a href=\"");
            escape(address, html);
            html.push_str("\">");
        }
        _ => html.push_str(&format!("<{}>", tag(mark))),
    }
}

fn close(mark: &Mark, html: &mut String) {
    match mark {
        Mark::CodeBlock(_) => html.push_str("\n</code></pre>"),
        _ => html.push_str(&format!("</{}>", tag(mark))),
    }
}

fn tag(mark: &Mark) -> &'static str {
    match mark {
        Mark::Paragraph => "p",
        Mark::Heading(1) => "h1",
        Mark::Heading(2) => "h2",
        Mark::Heading(3) => "h3",
        Mark::Heading(4) => "h4",
        Mark::Heading(5) => "h5",
        Mark::Heading(_) => "h6",
        Mark::Quote => "blockquote",
        Mark::List(None) => "ul",
        Mark::List(Some(_)) => "ol",
        Mark::Item => "li",
        Mark::CodeBlock(_) => "pre",
        Mark::Table => "table",
        Mark::Row { .. } => "tr",
        Mark::Cell { is_heading: true } => "th",
        Mark::Cell { is_heading: false } => "td",
        Mark::Strong => "strong",
        Mark::Emphasis => "em",
        Mark::Strike => "del",
        Mark::Code => "code",
        Mark::Link(_) => "a",
    }
}

/// Writes text so that no reader of HTML finds anything but text in it.
fn escape(text: &str, html: &mut String) {
    for sign in text.chars() {
        match sign {
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '&' => html.push_str("&amp;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            // HTML has no name for it.
            '\0' => html.push('\u{fffd}'),
            _ => html.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_become_tags_and_everything_else_is_escaped() {
        for (text, expected) in [
            ("plain\ntext <b>", None),
            ("**a** & <script>", Some("<strong>a</strong> &amp; &lt;script&gt;")),
            ("a *b*\nc", Some("a <em>b</em><br>c")),
            ("a\n\n*b*", Some("<p>a</p><p><em>b</em></p>")),
            ("# T\n- x", Some("<h1>T</h1><ul><li>x</li></ul>")),
            ("2. x", Some("<ol start=\"2\"><li>x</li></ol>")),
            (
                "```c\"x\na < b\n```",
                Some("<pre><code class=\"language-c&quot;x\">a &lt; b\n</code></pre>"),
            ),
            ("[t](https://x/?a=\"&b=')", Some("<a href=\"https://x/?a=&quot;&amp;b=&#39;\">t</a>")),
            ("a\\*b", Some("a*b")),
        ] {
            assert_eq!(formatted(text).as_deref(), expected, "{text:?}");
        }
    }

    /// The tags of a text in order, each without attributes; panics where a bracket is no tag.
    fn tags(html: &str) -> Vec<String> {
        let mut found = vec![];
        let mut rest = html;
        while let Some(at) = rest.find(['<', '>']) {
            assert!(rest[at..].starts_with('<'), "a bracket alone in {html}");
            let end = rest[at..].find('>').unwrap() + at;
            let inside = &rest[at + 1..end];
            assert!(!inside.contains('<'), "a bracket within a tag in {html}");
            let (name, attribute) = inside.split_once(' ').unwrap_or((inside, ""));
            if !attribute.is_empty() {
                let (key, value) = attribute.split_once('=').unwrap();
                assert!(["href", "class", "start"].contains(&key), "{html}");
                assert!(value.len() >= 2 && value.matches('"').count() == 2, "{html}");
                assert!(value.starts_with('"') && value.ends_with('"'), "{html}");
            }
            found.push(name.to_owned());
            rest = &rest[end + 1..];
        }
        found
    }

    proptest! {
        #[test]
        fn html_is_well_formed_whatever_a_model_writes(
            text in r#"([a0 \n>#|*_~\\.+()!:<"'&\[\]-]|```|<b>|https://x|\]\(http://y|\PC){0,80}"#
        ) {
            let Some(html) = formatted(&text) else { return Ok(()) };
            let mut open = vec![];
            for tag in tags(&html) {
                match tag.strip_prefix('/') {
                    Some(name) => prop_assert_eq!(open.pop(), Some(name.to_owned())),
                    None if tag == "br" || tag == "hr" => {}
                    None => open.push(tag),
                }
            }
            prop_assert!(open.is_empty(), "{} in {}", open.join(" "), html);
        }
    }
}
