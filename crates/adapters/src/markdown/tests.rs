//! What is a mark, what is text, and that nothing gets lost.

use super::*;
use proptest::prelude::*;

/// Pieces as one line, easy to read in a table.
fn shown(text: &str) -> String {
    let mut line = String::new();
    for piece in parse(text) {
        match piece {
            Piece::Open(mark) => line.push_str(&format!("<{}>", name(&mark))),
            Piece::Close(mark) => line.push_str(&format!("</{}>", name(&mark))),
            Piece::Text(text) => line.push_str(&text),
            Piece::Break => line.push('⏎'),
            Piece::Rule => line.push('―'),
        }
    }
    line
}

fn name(mark: &Mark) -> String {
    match mark {
        Mark::Paragraph => "p".into(),
        Mark::Heading(level) => format!("h{level}"),
        Mark::Quote => "q".into(),
        Mark::List(None) => "ul".into(),
        Mark::List(Some(first)) => format!("ol{first}"),
        Mark::Item => "li".into(),
        Mark::CodeBlock(language) => format!("pre {language}"),
        Mark::Table => "table".into(),
        Mark::Row { .. } => "tr".into(),
        Mark::Cell { is_heading: true } => "th".into(),
        Mark::Cell { is_heading: false } => "td".into(),
        Mark::Strong => "b".into(),
        Mark::Emphasis => "i".into(),
        Mark::Strike => "s".into(),
        Mark::Code => "code".into(),
        Mark::Link(address) => format!("a {address}"),
    }
}

#[test]
fn blocks_are_recognised_by_how_their_lines_begin() {
    for (text, expected) in [
        ("", ""),
        ("a\nb\n\nc", "<p>a⏎b</p><p>c</p>"),
        ("# One #\n## Two\n#no", "<h1>One</h1><h2>Two</h2><p>#no</p>"),
        ("a\n\n---\n* * *\nb", "<p>a</p>――<p>b</p>"),
        ("> a\n> > b\n\nc", "<q><p>a</p><q><p>b</p></q></q><p>c</p>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        (
            "3. a\n4. b\n   - c\n   - d",
            "<ol3><li>a</li><li>b<ul><li>c</li><li>d</li></ul></li></ol3>",
        ),
        ("- a\n\n  more\n- b\n\nc", "<ul><li>a<p>more</p></li><li>b</li></ul><p>c</p>"),
        ("- a\n* b", "<ul><li>a</li></ul><ul><li>b</li></ul>"),
        ("```rust x\n<a> **b**\n\n  c\n```\nd", "<pre rust><a> **b**\n\n  c</pre rust><p>d</p>"),
        ("~~~\n```\n~~~", "<pre >```</pre >"),
        ("```\nnever closed", "<pre >never closed</pre >"),
        ("```one line```", "<p><code>one line</code></p>"),
        ("- a\n  ```\n  b\n  ```", "<ul><li>a<pre >b</pre ></li></ul>"),
        (
            "|a|b|\n|-|:-:|\n|1|`x\\|y`|\n|2|\n|3|4|5|6|\n\nend",
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><code>x|y</code></td></tr>\
             <tr><td>2</td><td></td></tr><tr><td>3</td><td>4</td><td>5|6</td></tr></table>\
             <p>end</p>",
        ),
        ("a | b\nc", "<p>a | b⏎c</p>"),
        ("2026. was", "<ol2026><li>was</li></ol2026>"),
        ("1.5 times\n-5", "<p>1.5 times⏎-5</p>"),
        ("    in *x*\n    y", "<p>in <i>x</i>⏎y</p>"),
        ("<details>\n*x*\n</details>\n\ny", "<p><details>⏎<i>x</i>⏎</details></p><p>y</p>"),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
}

#[test]
fn marks_within_a_line_need_a_partner() {
    for (text, expected) in [
        ("**a** *b* __c__ _d_ ~~e~~", "<b>a</b> <i>b</i> <b>c</b> <i>d</i> <s>e</s>"),
        ("***a***", "<i><b>a</b></i>"),
        ("**a *b* c**", "<b>a <i>b</i> c</b>"),
        ("**a *b** c*", "<i><i>a <i>b</i></i> c</i>"),
        ("about ~5 or ~6~ &amp; <b>x</b>", "about ~5 or ~6~ &amp; <b>x</b>"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name and a*b", "snake_case_name and a*b"),
        ("**open", "**open"),
        ("a\\*b\\*", "a*b*"),
        ("`a*b*` ``x`y`` `", "<code>a*b*</code> <code>x`y</code> `"),
        ("[a *b*](https://x.y/(z))", "<a https://x.y/(z)>a <i>b</i></a https://x.y/(z)>"),
        ("![p](http://x)", "<a http://x>p</a http://x>"),
        ("[a](javascript:x) [b](x) [c]", "[a](javascript:x) [b](x) [c]"),
        ("<https://x.y> <b>", "<a https://x.y>https://x.y</a https://x.y> <b>"),
        ("**a\nb**", "<b>a⏎b</b>"),
        ("a  \nb\\\nc", "a⏎b⏎c"),
    ] {
        assert_eq!(shown(text), format!("<p>{expected}</p>"), "{text:?}");
    }
}

/// What a reader would be left with: letters and digits, in order.
fn letters(text: &str) -> String {
    text.chars().filter(|sign| sign.is_alphanumeric()).collect()
}

proptest! {
    #[test]
    fn marks_nest_and_no_letter_gets_lost(
        // Without `[` and `<` every letter is text; there are no digits to number a list with,
        // and no fence, whose language is none of the text.
        text in r"([ab é\n>#|*_\\.+-]|`a|``b|~~a|\*\*|\n\n|\n- |    ){0,60}"
    ) {
        let mut open = vec![];
        let mut read = String::new();
        for piece in parse(&text) {
            match piece {
                Piece::Open(mark) => open.push(mark),
                Piece::Close(mark) => prop_assert_eq!(open.pop(), Some(mark)),
                Piece::Text(text) => read.push_str(&text),
                Piece::Break | Piece::Rule => {}
            }
        }
        prop_assert!(open.is_empty());
        prop_assert_eq!(letters(&read), letters(&text));
    }

    #[test]
    fn anything_can_be_taken_apart(text in r"([a0 \n>#|*_~\\.+()!:<\[\]-]|```|https://x|\PC){0,80}") {
        let mut depth = 0_i64;
        for piece in parse(&text) {
            match piece {
                Piece::Open(_) => depth += 1,
                Piece::Close(_) => depth -= 1,
                _ => {}
            }
            prop_assert!(depth >= 0);
        }
        prop_assert_eq!(depth, 0);
    }
}

#[test]
fn hostile_text_takes_time_in_proportion() {
    for text in ["[", "*a ", "`a``", "> ", "- ", "![a](", "<a", "|a|\n|-|\n", "**_", "\\", "1. "] {
        parse(&text.repeat(16_000 / text.len()));
        let deep: String = (0..400).map(|depth| format!("{}{text}\n", " ".repeat(depth))).collect();
        parse(&deep);
    }
}
