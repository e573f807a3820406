//! Tests of the rendering: no place and no text breaks it.

use super::*;
use proptest::prelude::*;

fn report(text: &str, span: (u32, u32, u32, u32), message: &str) -> LoadReport {
    let mut report = LoadReport::default();
    let source = report.sources.add("config.yaml", text);
    let (line, column, start, end) = span;
    let span = Span { source, line, column, start, end };
    report.push(
        Diagnostic::error(&FindingOwner::Agent("coder".into()), span, message)
            .label("did you mean `tools`?")
            .help("did you mean `tools`?"),
    );
    report
}

#[test]
fn a_finding_shows_its_line_and_what_to_do() {
    let text_of_file = "agents:\n  coder:\n    tolls: coding\n";
    let report = report(text_of_file, (3, 5, 21, 26), "unknown key `tolls` in agent `coder`");
    assert_eq!(
        text(&report, Colour::Plain),
        "\
error: unknown key `tolls` in agent `coder`
 --> config.yaml:3:5
  |
3 |     tolls: coding
  |     ^^^^^ did you mean `tools`?
  |
  = agent `coder` is not started

1 error
"
    );
    assert!(text(&report, Colour::Ansi).contains("\u{1b}["));
    assert_eq!(
        json(&report),
        serde_json::json!({
            "ok": false,
            "errors": [{
                "file": "config.yaml", "line": 3, "column": 5,
                "message": "unknown key `tolls` in agent `coder`",
                "help": "did you mean `tools`?", "agent": "coder",
            }],
            "warnings": [],
        })
    );
}

#[test]
fn nothing_found_says_nothing() {
    assert_eq!(text(&LoadReport::default(), Colour::Plain), "");
    assert_eq!(json(&LoadReport::default())["ok"], true);
}

#[test]
fn a_file_can_not_steer_the_terminal() {
    let hostile = "name: \u{1b}[2J\u{7}\u{202e}\u{9b}31m\u{0} x\r\nnext";
    let report = report(hostile, (1, 7, 6, 20), "bad \u{1b}]0;title\u{7} message");
    let shown = text(&report, Colour::Plain);
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn a_line_of_megabytes_is_cut() {
    let long = format!("a: [{}]", "x, ".repeat(1_000_000));
    let report = report(&long, (1, 1_500_000, 1_500_000, 1_500_001), "somewhere");
    assert!(text(&report, Colour::Plain).len() < 2_000);
}

proptest! {
    #[test]
    fn no_place_in_any_text_panics(
        file in "(\\PC|[\\x00-\\x1f\u{7f}\u{85}\u{2028}\u{202e}\u{1f600}\u{4e2d}\u{301}]|\r\n|\n|\t){0,60}",
        line in 0_u32..80,
        column in 0_u32..300,
        start in 0_u32..300,
        len in -20_i64..300,
        other in 0_u32..300,
    ) {
        let end = u32::try_from((i64::from(start) + len).max(0)).unwrap();
        let mut report = report(&file, (line, column, start, end), &file);
        let source = report.diagnostics[0].span.source;
        let found = report.diagnostics[0].clone();
        let span = Span { source, line: column, column: line, start: other, end: other };
        report.push(found.related(span, file.clone()));
        let shown = text(&report, Colour::Plain);
        prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{:?}", shown);
        text(&report, Colour::Ansi);
        json(&report);
    }

    #[test]
    fn a_place_past_the_end_is_shown_at_the_end(start in any::<u32>(), end in any::<u32>()) {
        text(&report("a: 1", (9, 9, start, end), "gone"), Colour::Plain);
        text(&report("", (9, 9, start, end), "gone"), Colour::Plain);
    }
}
