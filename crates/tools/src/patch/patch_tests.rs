//! Patches over texts, without files: tables, and edit scripts that are generated.

use super::apply::{Hunk, HunkLine, Occurrences, hunks, replace};
use super::parse::{FilePatch, patch};
use proptest::prelude::*;

fn replaced(text: &str, old: &str, new: &str) -> Result<String, String> {
    replace(text, old, new, Occurrences::One).map(|edited| edited.text)
}

#[test]
fn a_piece_of_text_is_replaced_where_it_stands_once() {
    let cases = [
        ("one two three\n", "two", "2", "one 2 three\n"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\nb\nc", "c", "d", "a\nb\nd"),
        // Whatever the file has at the ends of its lines stays.
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("\u{feff}a\r\nb\r\n", "b", "c", "\u{feff}a\r\nc\r\n"),
        // Space at the ends, then indentation, then typography.
        ("if x:  \n    y()\n", "if x:\n    y()", "if z:\n    w()", "if z:\n    w()\n"),
        (
            "    if x:\n        y()\n",
            "if x:\n    y()",
            "if z:\n    w()",
            "    if z:\n        w()\n",
        ),
        ("say “hello” — now\n", "say \"hello\" - now", "bye", "bye\n"),
        ("a\u{a0}b\n", "a b", "c", "c\n"),
        // What ends in a letter of several bytes ends there, too.
        ("un café\n", "café", "thé", "un thé\n"),
        ("a\nb —\nc\n", "a\nb —", "d 🦀", "d 🦀\nc\n"),
    ];
    for (text, old, new, expected) in cases {
        assert_eq!(replaced(text, old, new).as_deref(), Ok(expected), "{text:?} {old:?}");
    }
}

#[test]
fn what_is_nowhere_or_everywhere_is_refused_with_the_lines() {
    let twice = replaced("a\nb\na\n", "a", "c").unwrap_err();
    assert!(twice.contains("2 places (lines 1, 3)"), "{twice}");
    let all = replace("a\nb\na a\n", "a", "c", Occurrences::All).unwrap();
    assert_eq!((all.text.as_str(), all.changes), ("c\nb\nc c\n", vec![(0..1, 1), (2..3, 1)]));
    // However often: each place is not counted from the beginning again.
    let many = replace(&"a\n".repeat(100_000), "a", "é", Occurrences::All).unwrap();
    assert_eq!((many.changes.len(), many.changes.last()), (100_000, Some(&(99_999..100_000, 1))));
    let none = replaced("def f():\n    pass\n", "def f():\n    return", "x").unwrap_err();
    assert!(none.contains("like line 1"), "{none}");
    for (old, new) in [("", "x"), ("a", "a")] {
        assert!(replaced("a\n", old, new).is_err());
    }
    // Exactly once wins over nearly twice.
    assert_eq!(replaced("x \nx\ny\n", "x\ny", "z").as_deref(), Ok("x \nz\n"));
    // A blank line is not found in every other one.
    assert!(replaced("a\n   \nb\n\t\n", "\n \n\n", "").is_err());
}

const MARKED: &str = "*** Begin Patch
*** Update File: src/a.rs
@@ fn second
     one
-    two
+    TWO
*** Add File: new.txt
+first
+
+third
*** Delete File: old.txt
*** Update File: b.txt
*** Move to: c.txt
 keep
+added
*** End Patch";

#[test]
fn a_marked_patch_is_read_whole() {
    let files = patch(MARKED).unwrap();
    let [FilePatch::Update { path, to: None, hunks: changes }, add, delete, moved] =
        files.as_slice()
    else {
        panic!("{files:?}");
    };
    assert_eq!(path, "src/a.rs");
    let text = "fn first\n    one\n    two\nfn second\n    one\n    two\n";
    let done = hunks(text, changes).unwrap();
    assert_eq!(done.text, "fn first\n    one\n    two\nfn second\n    one\n    TWO\n");
    assert_eq!(done.changes, [(4..6, 2)]);
    let text = "first\n\nthird\n".to_owned();
    assert_eq!(*add, FilePatch::Add { path: "new.txt".into(), text });
    assert_eq!(*delete, FilePatch::Delete { path: "old.txt".into() });
    assert!(matches!(moved, FilePatch::Update { to: Some(to), .. } if to == "c.txt"), "{moved:?}");
}

#[test]
fn a_unified_diff_is_read_too() {
    let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\t2020\n+++ b/x\t2021\n@@ -2,2 +2,2 @@ head\n same\n-same\n+other\n@@ -9,0 +10,1 @@\n+tail\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+only\n\\ No newline at end of file\n--- a/o\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n";
    let files = patch(text).unwrap();
    let [FilePatch::Update { path, to: None, hunks: changes }, add, delete] = files.as_slice()
    else {
        panic!("{files:?}");
    };
    assert_eq!(path, "x");
    let old = "0\nsame\nsame\nsame\nsame\n5\n6\n7\n8\n9\n";
    let new = "0\nsame\nother\nsame\nsame\n5\n6\n7\n8\ntail\n9\n";
    assert_eq!(hunks(old, changes).unwrap().text, new, "the line numbers say which");
    assert_eq!(*add, FilePatch::Add { path: "n".into(), text: "only".into() });
    assert_eq!(*delete, FilePatch::Delete { path: "o".into() });
}

#[test]
fn what_is_no_patch_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "no patch"),
        ("hello", "no patch"),
        ("*** Begin Patch\n*** End Patch", "names no file"),
        ("*** Begin Patch\n+x\n", "line 2"),
        ("*** Add File: a\nplain\n", "line 2"),
        ("*** Update File: a\n@@\n?x\n", "line 3"),
        ("*** Update File: a\n*** End Patch", "changes nothing"),
        ("*** Delete File: a\n-x\n", "line 2"),
        ("*** Move to: a\n", "line 1"),
    ] {
        let error = patch(text).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn hunks_that_do_not_fit_say_which() {
    let hunk = |lines: &[&str]| Hunk {
        lines: lines.iter().map(|line| HunkLine::Remove((*line).to_owned())).collect(),
        ..Hunk::default()
    };
    let text = "a\nb\na\n";
    assert!(hunks(text, &[hunk(&["a"])]).unwrap_err().contains("2 places"));
    let error = hunks(text, &[hunk(&["b"]), hunk(&["z"])]).unwrap_err();
    assert!(error.contains("part 2 of 2"), "{error}");
    assert!(hunks(text, &[hunk(&["a", "b"]), hunk(&["b", "a"])]).is_err(), "the same line twice");
    let end = Hunk { at_end: true, ..hunk(&["a"]) };
    assert_eq!(hunks(text, &[end]).unwrap().text, "a\nb\n");
}

/// One step of an edit script over the lines of a file.
#[derive(Debug, Clone)]
enum Step {
    Keep,
    Remove,
    Change(Vec<String>),
    InsertAfter(Vec<String>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let new = || prop::collection::vec("[a-z “”\t]{0,6}", 1..3);
    let step = prop_oneof![
        6 => Just(Step::Keep),
        1 => Just(Step::Remove),
        1 => new().prop_map(Step::Change),
        1 => new().prop_map(Step::InsertAfter),
    ];
    prop::collection::vec(step, 1..60)
}

/// The old and new lines of a script, and its hunks: each with one line of context before.
/// Old lines carry their number, so that every hunk has one place.
fn script(steps: &[Step]) -> (Vec<String>, Vec<String>, Vec<Hunk>) {
    let (mut old, mut new, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut hunk: Option<Hunk> = None;
    for (number, step) in steps.iter().enumerate() {
        let line = format!("{} line {number}", " ".repeat(number % 5));
        old.push(line.clone());
        if let Step::Keep = step {
            new.push(line.clone());
            all.extend(hunk.take().filter(changes));
            hunk = Some(Hunk { lines: vec![HunkLine::Keep(line)], ..Hunk::default() });
            continue;
        }
        let hunk = hunk.get_or_insert_default();
        match step {
            Step::Keep | Step::Remove => hunk.lines.push(HunkLine::Remove(line)),
            Step::Change(lines) => {
                hunk.lines.push(HunkLine::Remove(line));
                hunk.lines.extend(lines.iter().cloned().map(HunkLine::Add));
                new.extend(lines.iter().cloned());
            }
            Step::InsertAfter(lines) => {
                hunk.lines.push(HunkLine::Keep(line.clone()));
                hunk.lines.extend(lines.iter().cloned().map(HunkLine::Add));
                new.push(line);
                new.extend(lines.iter().cloned());
            }
        }
    }
    all.extend(hunk.filter(changes));
    (old, new, all)
}

fn changes(hunk: &Hunk) -> bool {
    hunk.lines.iter().any(|line| !matches!(line, HunkLine::Keep(_)))
}

fn written(hunks: &[Hunk]) -> String {
    let mut text = "*** Begin Patch\n*** Update File: f\n".to_owned();
    for hunk in hunks {
        text.push_str("@@\n");
        for line in &hunk.lines {
            let (mark, line) = match line {
                HunkLine::Keep(line) => (' ', line),
                HunkLine::Remove(line) => ('-', line),
                HunkLine::Add(line) => ('+', line),
            };
            text.push_str(&format!("{mark}{line}\n"));
        }
    }
    text + "*** End Patch\n"
}

fn joined(lines: &[String], end: &str) -> String {
    lines.iter().map(|line| format!("{line}{end}")).collect()
}

proptest! {
    #[test]
    fn an_edit_script_does_what_it_says(steps in steps(), crlf in any::<bool>()) {
        let (old, new, all) = script(&steps);
        prop_assume!(!all.is_empty());
        let end = if crlf { "\r\n" } else { "\n" };
        let Ok(files) = patch(&written(&all)) else { return Err(TestCaseError::fail("unread")) };
        let [FilePatch::Update { hunks: read, .. }] = files.as_slice() else {
            return Err(TestCaseError::fail("not one update"));
        };
        prop_assert_eq!(read, &all);
        let edited = hunks(&joined(&old, end), read).unwrap();
        prop_assert_eq!(&edited.text, &joined(&new, end));
        // The record of changes accounts for every line.
        let grown: isize = edited.changes.iter().map(|(o, n)| *n as isize - o.len() as isize).sum();
        prop_assert_eq!(old.len() as isize + grown, new.len() as isize);
    }

    #[test]
    fn any_text_is_parsed_or_refused_and_never_panics(text in "(\\*\\*\\* (Add|Update|Delete) File: a\n|@@ ?[a-z0-9,+-]*\n|[ +-][a-c]*\n|--- a\n\\+\\+\\+ b\n|\n|.){0,20}", file in "([a-c]{0,2}\r?\n){0,8}") {
        if let Ok(files) = patch(&text) {
            for it in files {
                if let FilePatch::Update { hunks: all, .. } = it {
                    let _ = hunks(&file, &all);
                }
            }
        }
        let _ = replace(&file, &text, "x\ny", Occurrences::All);
    }

    #[test]
    fn what_is_replaced_exactly_leaves_the_rest(before in "[a-z\n]{0,20}", old in "[A-Z]{1,3}(\n[A-Z]{1,3}){0,2}", new in "[0-9\n]{0,8}", after in "[a-z\n]{0,20}") {
        let text = format!("{before}{old}{after}");
        prop_assert_eq!(replaced(&text, &old, &new).unwrap(), format!("{before}{new}{after}"));
    }
}
