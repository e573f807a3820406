//! What Markdown becomes, and that it is always something the platform takes.

use super::format::html;
use insula_testkit::telegram::visible;
use proptest::prelude::*;

#[test]
fn markdown_becomes_tags() {
    for (markdown, expected) in [
        ("plain", "plain"),
        ("a < b & c > \"d\"", "a &lt; b &amp; c &gt; &quot;d&quot;"),
        ("**bold** and *italic* and ~~gone~~", "<b>bold</b> and <i>italic</i> and <s>gone</s>"),
        ("__bold__ _italic_", "<b>bold</b> <i>italic</i>"),
        ("***both***", "<i><b>both</b></i>"),
        ("**a *b* c**", "<b>a <i>b</i> c</b>"),
        ("**two\nlines**", "<b>two\nlines</b>"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("**open", "**open"),
        ("*a **b* c**", "<i>a b c</i>"),
        ("\\*not\\*", "*not*"),
        ("`a<b` and ``c`d``", "<code>a&lt;b</code> and <code>c`d</code>"),
        ("`*not*`", "<code>*not*</code>"),
        ("`open", "`open"),
        ("# Head **x**", "<b>Head x</b>"),
        ("#tag", "#tag"),
        ("- one\n* two\n  + three", "• one\n• two\n  • three"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("> said\n> **so**\nafter", "<blockquote>said\n<b>so</b></blockquote>\nafter"),
        (
            "```rust\nlet a = *b;\n```\nafter",
            "<pre><code class=\"language-rust\">let a = *b;</code></pre>\nafter",
        ),
        ("```\n**x**", "<pre>**x**</pre>"),
        ("~~~\n```\n~~~", "<pre>```</pre>"),
        ("```a\"b\nx\n```", "<pre>x</pre>"),
        (
            "[here](https://example.org/?a=1&b=2)",
            "<a href=\"https://example.org/?a=1&amp;b=2\">here</a>",
        ),
        ("[**here**](https://e.org/a_(b))", "<a href=\"https://e.org/a_(b)\"><b>here</b></a>"),
        ("![pic](https://e.org/x.png \"t\")", "<a href=\"https://e.org/x.png\">pic</a>"),
        ("[you](tg://user?id=1)", "[you](tg://user?id=1)"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[me](mailto:a@e.org)", "me (mailto:a@e.org)"),
        ("<https://e.org/>", "<a href=\"https://e.org/\">https://e.org/</a>"),
        ("  1. one\n  two", "  1. one\n  two"),
        ("[`a`](https://e.org/)", "<a href=\"https://e.org/\">a</a>"),
        ("[not] (a link) [nor](", "[not] (a link) [nor]("),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nend", "<b>a · b</b>\n1 · 2\nend"),
        (
            "| a | **b** |\n|:--|--:|\n| `x|y` | z\\|w |\n| | <2> |",
            "<b>a · b</b>\n<code>x|y</code> · z|w\n&lt;2&gt;",
        ),
        ("<b>raw</b>", "&lt;b&gt;raw&lt;/b&gt;"),
    ] {
        assert_eq!(html(markdown).as_deref(), Some(expected), "{markdown}");
        visible(expected).unwrap();
    }
}

#[test]
fn what_would_not_be_seen_is_not_rendered() {
    for nothing in ["", "  \n ", "```\n```", "> \n>"] {
        assert_eq!(html(nothing), None, "{nothing:?}");
    }
}

#[test]
fn hostile_marks_cost_no_more_than_their_length() {
    // Each of these is slow in a renderer that looks ahead from every mark.
    for unit in ["*", "_ ", "[", "[](", "`", "` `` ", "**a ", "~~", "> ", "![", "\\", "*_~"] {
        let long = unit.repeat(40_000 / unit.len());
        if let Some(html) = html(&long) {
            visible(&html).unwrap_or_else(|why| panic!("{unit}: {why}"));
        }
    }
}

/// Text of what means something, and a little that does not.
fn markish() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "*",
        "**",
        "***",
        "_",
        "__",
        "~~",
        "~",
        "`",
        "``",
        "```",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "# ",
        "[",
        "]",
        "(",
        ")",
        "](",
        "https://e.org/",
        "|",
        "|---|",
        "<",
        ">",
        "&",
        "\"",
        "\\",
        " ",
        "a",
        "b c",
        "é",
        "😀",
        "1. ",
        "---",
        "!",
        "&amp;",
        "</b>",
        "\t",
        "\r",
        "\0",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

#[test]
fn emphasis_in_a_link_within_the_same_emphasis_is_said_once() {
    let html = html("*[a *b*](https://e.org/)*").unwrap();
    assert_eq!(html, r#"<i><a href="https://e.org/">a b</a></i>"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_comes_in_the_platform_takes_what_goes_out(markdown in markish()) {
        let units = |text: &str| text.encode_utf16().count();
        if let Some(html) = html(&markdown) {
            match visible(&html) {
                Ok(seen) => prop_assert!(
                    units(&seen) <= units(&markdown),
                    "{markdown:?} became {seen:?}, which is longer"
                ),
                Err(why) => prop_assert!(false, "{markdown:?} became {html:?}: {why}"),
            }
        }
    }

    #[test]
    fn any_text_at_all_is_taken(markdown in "\\PC{0,200}") {
        if let Some(html) = html(&markdown) {
            prop_assert!(visible(&html).is_ok(), "{markdown:?} became {html:?}");
        }
    }
}
