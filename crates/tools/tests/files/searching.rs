//! What `search_files` finds, and what it leaves out.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_domain::AccessMode;
use serde_json::json;

fn fixture() -> FileFixture {
    FileFixture::new(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".git/config", "needle\n"),
        (".github/ci.yml", "needle in ci\n"),
        ("a.log", "needle\n"),
        ("keep.log", "needle kept\n"),
        ("src/a.rs", "one\nneedle two\nthree\nneedle four\n"),
        ("src/b.txt", "Needle\n"),
        ("target/x.rs", "needle\n"),
    ])
}

#[tokio::test]
async fn lines_are_found_with_their_place() {
    let fixture = fixture();
    let found = fixture.call("search_files", json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(
        found,
        ".github/ci.yml:1:needle in ci\nkeep.log:1:needle kept\nsrc/a.rs:2:needle two\nsrc/a.rs:4:needle four\n"
    );
    let found = fixture
        .call("search_files", json!({"pattern": "needle t", "path": "src", "context": 1}))
        .await
        .unwrap();
    assert_eq!(found, "src/a.rs-1-one\nsrc/a.rs:2:needle two\nsrc/a.rs-3-three\n");
    let found =
        fixture.call("search_files", json!({"pattern": "(?i)needle", "file_glob": "*.txt"})).await;
    assert_eq!(found.unwrap(), "src/b.txt:1:Needle\n");
    let found = fixture.call("search_files", json!({"pattern": "two", "path": "src/a.rs"})).await;
    assert_eq!(found.unwrap(), "src/a.rs:2:needle two\n");
    // What is ignored is searched when it is named.
    let found = fixture.call("search_files", json!({"pattern": "needle", "path": "target"})).await;
    assert_eq!(found.unwrap(), "target/x.rs:1:needle\n");
}

#[tokio::test]
async fn results_come_in_pages_by_file_or_as_counts() {
    let fixture = fixture();
    let page = |offset: usize| json!({"pattern": "needle", "limit": 2, "offset": offset});
    let first = fixture.call("search_files", page(0)).await.unwrap();
    assert!(first.ends_with("[there is more; go on with offset 2]\n"), "{first}");
    let rest = fixture.call("search_files", page(2)).await.unwrap();
    assert_eq!(rest, "src/a.rs:2:needle two\nsrc/a.rs:4:needle four\n");
    let mode = |mode: &str| json!({"pattern": "needle", "path": "src", "output_mode": mode});
    assert_eq!(fixture.call("search_files", mode("files_only")).await.unwrap(), "src/a.rs\n");
    assert_eq!(fixture.call("search_files", mode("count")).await.unwrap(), "src/a.rs: 2\n");
    let files = json!({"pattern": "*.rs", "target": "files"});
    assert_eq!(fixture.call("search_files", files).await.unwrap(), "src/a.rs\n");
    let none = fixture.call("search_files", json!({"pattern": "haystack"})).await.unwrap();
    assert_eq!(none, "[nothing was found]\n");
    assert!(
        fixture.error("search_files", json!({"pattern": "("})).await.contains("regular expression")
    );
}

#[tokio::test]
async fn a_word_that_no_file_is_called_is_looked_for_in_the_files() {
    let fixture = fixture();
    let names = |pattern: &str| json!({"pattern": pattern, "target": "files", "path": "src"});
    let found = fixture.call("search_files", names("four")).await.unwrap();
    assert_eq!(found, "src/a.rs:4:needle four\n[found in the files, and in no name]\n");
    // Nor is an expression a glob.
    for (pattern, expected) in [(r".*", "src/a.rs\nsrc/b.txt\n"), (r"\.txt$", "src/b.txt\n")] {
        let found = fixture.call("search_files", names(pattern)).await.unwrap();
        let note = "[taken as a regular expression, since no name fits it as a glob]\n";
        assert_eq!(found, format!("{expected}{note}"), "{pattern}");
    }
    for pattern in ["four*x", "a.txt", "nowhere"] {
        let none = fixture.call("search_files", names(pattern)).await.unwrap();
        assert_eq!(none, "[nothing was found]\n", "{pattern}");
    }
}

#[tokio::test]
async fn links_are_not_followed_and_an_answer_is_bounded() {
    let mut fixture = fixture();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "needle canary\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), fixture.path("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), fixture.path("file")).unwrap();
    std::os::unix::fs::symlink(".", fixture.path("loop")).unwrap();
    let found = fixture.call("search_files", json!({"pattern": "needle|canary"})).await.unwrap();
    assert!(!found.contains("canary") && !found.contains("loop"), "{found}");
    for path in ["out", "file", "..", "/", outside.path().to_str().unwrap()] {
        let error = fixture.error("search_files", json!({"pattern": "x", "path": path})).await;
        assert!(
            error.starts_with("refused") || error.contains("does not exist"),
            "{path}: {error}"
        );
    }
    fixture.put("big", format!("{} needle\n", "x".repeat(400)).repeat(1_000));
    let found =
        fixture.call("search_files", json!({"pattern": "needle", "limit": 500, "path": "big"}));
    let found = found.await.unwrap();
    assert!(found.len() < 51_000 && found.contains("there is more"), "{}", found.len());
    // A granted folder is searched under its own path.
    fixture = FileFixture {
        shared: vec![shared(outside.path(), AccessMode::Ro)],
        ..FileFixture::new(&[])
    };
    let path = outside.path().display().to_string();
    let found =
        fixture.call("search_files", json!({"pattern": "canary", "path": path})).await.unwrap();
    assert_eq!(found, format!("{path}/secret:1:needle canary\n"));
}
