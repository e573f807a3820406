//! Markdown: what it looks like, that it stays within its lines, and that a stranger's text
//! stays text.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use proptest::prelude::*;

fn render(paint: Paint, columns: usize, pieces: &[&str]) -> String {
    let mut renderer = Renderer::new(paint, columns);
    let mut out: String = pieces.iter().map(|piece| renderer.push(piece)).collect();
    out += &renderer.finish();
    out
}

fn colour(text: &str) -> String {
    render(Paint::Colour, 60, &[text])
}

fn without_colour(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// The looks, with a letter for each: `<b>bold</>`.
fn looks(text: &str) -> String {
    let mut out = colour(text).replace("\x1b[0m", "</>");
    for (code, name) in
        [("1", "b"), ("2", "dim"), ("3", "i"), ("4", "u"), ("9", "s"), ("36", "c"), ("1;3", "bi")]
    {
        out = out.replace(&format!("\x1b[{code}m"), &format!("<{name}>"));
    }
    out
}

#[test]
fn marks_become_looks() {
    for (source, shown) in [
        ("plain", "plain\n"),
        ("a **bold** word", "a <b>bold</> word\n"),
        ("an *italic* one and _another_", "an <i>italic</> one and <i>another</>\n"),
        ("***both***", "<bi>both</>\n"),
        ("~~gone~~", "<s>gone</>\n"),
        ("some `code` here", "some <c>code</> here\n"),
        ("``a ` b``", "<c>a</><c> `</><c> b</>\n"),
        ("`*not*`", "<c>*not*</>\n"),
        ("\\*not\\*", "*not*\n"),
        ("# A title", "\x1b[1;4mA</>\x1b[1;4m title</>\n"),
        ("### Part", "<b>Part</>\n"),
        ("#hashtag", "#hashtag\n"),
        ("[here](https://a.example)", "<u>here</><dim> (https://a.example)</>\n"),
        ("[https://a.example](https://a.example)", "<u>https://a.example</>\n"),
        ("<https://a.example>", "<u>https://a.example</>\n"),
        ("a <b> c", "a <b> c\n"),
        ("[x] and [1]", "[x] and [1]\n"),
    ] {
        assert_eq!(looks(source), shown, "{source}");
    }
}

#[test]
fn what_only_looks_like_a_mark_is_left_alone() {
    for source in [
        "2 * 3 * 4",
        "a ** b",
        "*args and **kwargs",
        "snake_case_name",
        "unclosed `code",
        "[link](unclosed",
        "5 < 6 and 7 > 6",
        "wow! really!",
        "--flag",
        "-1 degrees",
        "1.5 litres",
        "2026. A year.x",
        "~/src",
    ] {
        assert_eq!(colour(source), format!("{source}\n"));
    }
}

#[test]
fn lists_hang_and_quotes_have_a_bar() {
    let text = "- one two three four five\n  - nested\n1. first\n10) tenth\n- [ ] open\n- [x] done\n> said *well* by somebody\n> > twice\n";
    let shown = without_colour(&render(Paint::Colour, 20, &[text]));
    assert_eq!(
        shown,
        "• one two three four\n  five\n  • nested\n1. first\n10) tenth\n☐ open\n☑ done\n▏ said well by\n▏ somebody\n▏ ▏ twice\n"
    );
}

#[test]
fn code_is_shown_as_it_is() {
    let text = "before\n```rust\nlet x = \"**not bold**\";   // long line that is wider than the terminal is\n\n\tindented\n```\nafter";
    let shown = without_colour(&render(Paint::Colour, 30, &[text]));
    let rule = "─".repeat(30);
    let head = format!("── rust {}", "─".repeat(22));
    assert_eq!(
        shown,
        format!(
            "before\n{head}\nlet x = \"**not bold**\";   // long line that is wider than the terminal is\n\n\tindented\n{rule}\nafter\n"
        )
    );
    // A fence inside a longer one is code, and one that is never closed is closed.
    let shown = without_colour(&render(Paint::Colour, 30, &["````\n```\n````"]));
    assert_eq!(shown, format!("{rule}\n```\n{rule}\n"));
    assert!(without_colour(&colour("```\nx")).ends_with(&format!("x\n{}\n", "─".repeat(60))));
}

#[test]
fn tables_have_columns_and_fit() {
    let text = "| Name | What it **does** |\n|:--|---|\n| `one` | the first of all things there are |\n| zwei \\| two | x |\nafter";
    let shown = without_colour(&render(Paint::Colour, 60, &[text]));
    assert_eq!(
        shown,
        "Name        What it does\n──────────  ─────────────────────────────────\none         the first of all things there are\nzwei | two  x\nafter\n"
    );
    let narrow = without_colour(&render(Paint::Colour, 30, &[text]));
    assert_eq!(
        narrow,
        "Name        What it does\n──────────  ──────────────────\none         the first of all\n            things there are\nzwei | two  x\nafter\n"
    );
    assert_eq!(colour("| no table\nbut text"), "| no table\nbut text\n");
}

#[test]
fn blank_lines_stand_between_and_not_around() {
    assert_eq!(colour("\n\none\n\n\n\ntwo\n\n"), "one\n\ntwo\n");
    assert_eq!(colour(""), "");
    assert_eq!(colour("\n"), "");
}

#[test]
fn without_colour_the_text_stays_as_written() {
    let text = "# Title\n- **bold** and [link](https://a.example)\n```sh\nls\n```\n---\n";
    assert_eq!(render(Paint::Plain, 80, &[text]), text);
}

#[test]
fn words_are_shown_as_they_come() {
    let mut renderer = Renderer::new(Paint::Colour, 80);
    assert_eq!(renderer.push("Hello wor"), "Hello");
    assert_eq!(renderer.push("ld and"), " world");
    assert_eq!(renderer.push(" **bo"), " and");
    assert_eq!(renderer.push("ld** x"), " \x1b[1mbold\x1b[0m");
    assert_eq!(renderer.finish(), " x\n");
}

#[test]
fn scripts_without_spaces_are_broken_too() {
    let shown = render(Paint::Colour, 20, &["漢字は空白なしで書かれるので行はどこでも折れる"]);
    assert!(shown.lines().all(|line| line.width() <= 20), "{shown}");
    assert_eq!(shown.lines().count(), 3);
}

#[test]
fn sequences_in_a_reply_do_not_reach_the_terminal() {
    let evil = "\x1b]0;title\x07\x1b[2J\u{9b}31m red \r over\u{8} `\x1b[31m` [a](http://\x1b]8;;x) \u{202e}txt";
    for paint in [Paint::Colour, Paint::Plain] {
        let shown = without_our_own(&render(paint, 60, &[evil]));
        assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        assert!(!shown.contains('\u{202e}'));
    }
}

/// Takes out the sequences that the renderer itself writes.
fn without_our_own(text: &str) -> String {
    let mut text = text.replace("\x1b[0m", "");
    while let Some(start) = text.find("\x1b[") {
        let rest = &text[start + 2..];
        let end = rest.find('m').unwrap_or_else(|| panic!("{text:?}"));
        assert!(rest[..end].split(';').all(|code| ["1", "2", "3", "4", "9", "36"].contains(&code)));
        text.replace_range(start..start + 3 + end, "");
    }
    text
}

/// Text with many marks in it.
fn marked() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "*",
            "**",
            "***",
            "_",
            "`",
            "``",
            "```",
            "```rust\n",
            "~~",
            "[",
            "](",
            ")",
            "![",
            "<",
            "https://a.example",
            ">",
            "> ",
            "- ",
            "* ",
            "1. ",
            "# ",
            "|",
            "| a | b |\n|---|---|\n",
            "---",
            "\n",
            "\n\n",
            " ",
            "  ",
            "\t",
            "\\",
            "漢字",
            "👨‍👩‍👧",
            "é",
            "- [ ] ",
            "\x1b[31m",
            "\r",
            "\u{202e}",
            "\u{9b}",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,12}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_outcome_does_not_depend_on_the_pieces(text in marked(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let chars: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
        cuts.extend([0, chars.len()]);
        cuts.sort_unstable();
        let pieces: Vec<String> = cuts.windows(2).map(|cut| chars[cut[0]..cut[1]].iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        for paint in [Paint::Colour, Paint::Plain] {
            let at_once = render(paint, 40, &[&text]);
            let in_pieces = render(paint, 40, &pieces);
            // Code is shown as it comes, painted piece by piece.
            let joined = |text: &str| text.replace("\x1b[0m\x1b[36m", "");
            prop_assert_eq!(joined(&in_pieces), joined(&at_once));
        }
    }

    #[test]
    fn nothing_but_our_own_sequences_comes_out(text in marked(), columns in 0_usize..120) {
        for paint in [Paint::Colour, Paint::Plain] {
            let shown = without_our_own(&render(paint, columns, &[&text]));
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{:?}", shown);
            prop_assert!(shown.is_empty() || shown.ends_with('\n'));
        }
    }

    #[test]
    fn prose_stays_within_the_width(words in prop::collection::vec("[a-zé漢*_`]{1,10}", 1..60), columns in 24_usize..120) {
        let shown = without_our_own(&render(Paint::Colour, columns, &[&words.join(" ")]));
        for line in shown.lines() {
            prop_assert!(line.width() <= columns, "{line:?} is wider than {columns}");
        }
    }
}
