//! What `read_file` answers, for every kind of thing a path can lead to.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use serde_json::json;
use std::os::unix::net::UnixListener;

#[tokio::test]
async fn a_file_is_shown_in_numbered_lines_and_pages() {
    let fixture =
        FileFixture::new(&[("a.txt", "one\ntwo\nthree\n"), ("empty", ""), ("crlf", "a\r\nb")]);
    let all = fixture.call("read_file", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(all, "     1|one\n     2|two\n     3|three\n");
    let page = fixture.call("read_file", json!({"path": "a.txt", "offset": 2, "limit": 1})).await;
    assert_eq!(page.unwrap(), "     2|two\n[3 lines in all; go on with offset 3]\n");
    assert!(
        fixture.error("read_file", json!({"path": "a.txt", "offset": 4})).await.contains("3 lines")
    );
    let empty = fixture.call("read_file", json!({"path": "empty"})).await.unwrap();
    assert_eq!(empty, "the file is empty");
    let crlf = fixture.call("read_file", json!({"path": "crlf"})).await.unwrap();
    assert_eq!(crlf, "     1|a\n     2|b\n[lines end with CR LF; no newline at the end]\n");
    // The full path of the same file is the same file.
    let full = fixture.path("a.txt").display().to_string();
    assert_eq!(fixture.call("read_file", json!({"path": full})).await.unwrap(), all);
}

#[tokio::test]
async fn a_page_is_bounded_in_lines_in_width_and_as_a_whole() {
    let fixture = FileFixture::new(&[]);
    fixture.put("long", "x\n".repeat(5_000));
    let page = fixture.call("read_file", json!({"path": "long", "limit": 9_999})).await.unwrap();
    assert!(page.ends_with("[5000 lines in all; go on with offset 2001]\n"), "{page}");
    fixture.put("wide", format!("{}\nend\n", "y".repeat(1_000_000)));
    let page = fixture.call("read_file", json!({"path": "wide"})).await.unwrap();
    assert!(
        page.len() < 3_000 && page.contains("goes on") && page.contains("     2|end"),
        "{page}"
    );
    fixture.put("both", format!("{}\n", "z".repeat(1_900)).repeat(200));
    let page = fixture.call("read_file", json!({"path": "both"})).await.unwrap();
    assert!(
        page.chars().count() < 101_000 && page.contains("go on with offset 53"),
        "{}",
        page.len()
    );
}

#[tokio::test]
async fn what_is_no_text_gets_a_clear_answer() {
    let fixture = FileFixture::new(&[("folder/a", ""), ("folder/b/c", "")]);
    fixture.put("image", b"\x89PNG\r\n\x1a\n");
    fixture.put("zeros", [0_u8; 100]);
    fixture.put("utf16", b"\xff\xfea\0");
    fixture.put("latin", b"caf\xe9\n");
    let large = std::fs::File::create(fixture.path("sparse")).unwrap();
    large.set_len(1 << 40).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(fixture.path("pipe")).status().unwrap();
    assert!(pipe.success());
    let _socket = UnixListener::bind(fixture.path("socket")).unwrap();
    for (path, expected) in [
        ("image", "a PNG image"),
        ("zeros", "a binary file"),
        ("utf16", "UTF-16 text"),
        ("sparse", "1099511627776 bytes"),
        ("pipe", "a named pipe"),
        ("socket", "a socket"),
        ("nothing", "does not exist"),
        ("folder/a/b", "does not exist"),
    ] {
        let error = fixture.error("read_file", json!({"path": path})).await;
        assert!(error.contains(expected), "{path}: {error}");
    }
    let latin = fixture.call("read_file", json!({"path": "latin"})).await.unwrap();
    assert!(latin.contains("caf\u{fffd}") && latin.contains("not UTF-8"), "{latin}");
    let folder = fixture.call("read_file", json!({"path": "folder"})).await.unwrap();
    assert_eq!(folder, "`folder` is a folder:\na\nb/\n");
    // Neither is a pipe written to, nor waited for, nor searched.
    let error = fixture.error("write_file", json!({"path": "pipe", "content": "x"})).await;
    assert!(error.contains("a named pipe"), "{error}");
    let found = fixture.call("search_files", json!({"pattern": "x"})).await.unwrap();
    assert_eq!(found, "[nothing was found]\n");
}

#[tokio::test]
async fn a_missing_file_names_its_neighbours() {
    let fixture =
        FileFixture::new(&[("src/Main.rs", ""), ("src/main_loop.rs", ""), ("src/zebra", "")]);
    let error = fixture.error("read_file", json!({"path": "src/main.rs"})).await;
    assert!(error.contains("near to it: `Main.rs`, `main_loop.rs`"), "{error}");
}

#[tokio::test]
async fn a_folder_of_many_files_is_listed_in_part() {
    let fixture = FileFixture::new(&[]);
    for number in 0..300 {
        fixture.put(&format!("many/{number}"), "");
    }
    let folder = fixture.call("read_file", json!({"path": "many"})).await.unwrap();
    assert!(folder.lines().count() == 202 && folder.contains("more than 200"), "{folder}");
}

#[tokio::test]
async fn strange_names_are_shown_and_not_sent() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = FileFixture::new(&[("a\u{1b}[2Jb", "")]);
    let name = std::ffi::OsStr::from_bytes(b"bad\xff");
    std::fs::write(fixture.path("").join(name), "").unwrap();
    let folder = fixture.call("read_file", json!({"path": "."})).await.unwrap();
    assert_eq!(folder, "`.` is a folder:\na\\u{1b}[2Jb\nbad\u{fffd}\n");
}
