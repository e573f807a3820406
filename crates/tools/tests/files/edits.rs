//! Writing and patching: whole or not at all, and only over what was seen.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_domain::StaleWrites;
use serde_json::json;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let fixture = FileFixture::new(&[]);
    let said =
        fixture.call("write_file", json!({"path": "a/b/c.txt", "content": "one\ntwo"})).await;
    assert_eq!(said.unwrap(), "made a/b/c.txt (2 lines, 7 bytes)");
    assert_eq!(fixture.get("a/b/c.txt"), "one\ntwo");
    // Its writer knows it.
    fixture.call("write_file", json!({"path": "a/b/c.txt", "content": "x"})).await.unwrap();
    assert_eq!(fixture.get("a/b/c.txt"), "x");
    let names: Vec<_> = std::fs::read_dir(fixture.path("a/b")).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing is left over");
    for path in ["a/b", "a/", ".", ""] {
        let error = fixture.error("write_file", json!({"path": path, "content": "x"})).await;
        assert!(error.contains("folder") || error.contains("empty"), "{path}: {error}");
    }
    let error = fixture.error("write_file", json!({"path": "a/b/c.txt/d", "content": "x"})).await;
    assert!(error.contains("a part of it is a file"), "{error}");
}

#[tokio::test]
async fn what_was_not_seen_is_not_written_over() {
    let fixture = FileFixture::new(&[("f", "1\n2\n3\n4\n")]);
    let write = |content: &str| json!({"path": "f", "content": content});
    let unread = fixture.error("write_file", write("x")).await;
    assert!(unread.contains("you have not read it") && unread.contains("read_file"), "{unread}");
    fixture.call("read_file", json!({"path": "f", "limit": 2})).await.unwrap();
    let partial = fixture.error("write_file", write("x")).await;
    assert!(partial.contains("not read all"), "{partial}");
    // A change of lines that were seen is fine, of others not.
    let patch = |old: &str, new: &str| json!({"mode": "replace", "path": "f", "old_string": old, "new_string": new});
    fixture.call("patch", patch("2", "two")).await.unwrap();
    assert!(fixture.error("patch", patch("3", "three")).await.contains("not read all"));
    fixture.call("read_file", json!({"path": "f", "offset": 3})).await.unwrap();
    fixture.call("patch", patch("3", "three")).await.unwrap();
    fixture.call("write_file", write("1\n")).await.unwrap();
    fixture.put("f", "from outside\n");
    let changed = fixture.error("write_file", write("x")).await;
    assert!(changed.contains("it has changed since you read it"), "{changed}");
    let (ann, ben) = (fixture.files("ann"), fixture.files("ben"));
    for files in [&ann, &ben] {
        call(files, "read_file", json!({"path": "f"})).await.unwrap();
    }
    call(&ben, "write_file", write("ben\n")).await.unwrap();
    let sibling = call(&ann, "write_file", write("ann\n")).await.unwrap_err().to_string();
    assert!(sibling.contains("another conversation or a child"), "{sibling}");
    assert_eq!(fixture.get("f"), "ben\n");
}

#[tokio::test]
async fn who_gives_what_a_file_says_may_change_that_without_having_read_it() {
    const TEXT: &str = "name = heron\nport = 8080\nhost = a\nhost = b\n";
    let fixture = FileFixture::new(&[("f", TEXT)]);
    let patch = |old: &str, new: &str| json!({"path": "f", "old_string": old, "new_string": new});
    // Neither what stands there twice, or by chance, or almost, nor what does not: and nothing is
    // said of what does.
    for old in ["host", "80", "port  =  8080", "port = 8081", "port = 8080 "] {
        let unread = fixture.error("patch", patch(old, "new")).await;
        assert!(unread.contains("you have not read it"), "{old}: {unread}");
        assert!(!unread.contains("heron") && !unread.contains("line"), "{old}: {unread}");
        assert_eq!(fixture.get("f"), TEXT, "{old}");
    }
    fixture.call("patch", patch("port = 8080", "port = 9090")).await.unwrap();
    assert_eq!(fixture.get("f"), TEXT.replace("8080", "9090"));
    fixture.call("patch", patch("9090", "7070")).await.unwrap();
    // It knows what it gave, and not the rest.
    assert!(fixture.error("patch", patch("ron", "8")).await.contains("you have not read it"));
    let whole = fixture.error("write_file", json!({"path": "f", "content": "x"})).await;
    assert!(whole.contains("you have not read it"), "{whole}");
    // Nor where somebody else has changed what it knew.
    fixture.call("read_file", json!({"path": "f"})).await.unwrap();
    fixture.put("f", TEXT);
    let changed = fixture.error("patch", patch("port = 8080", "port = 1")).await;
    assert!(changed.contains("it has changed since you read it"), "{changed}");
}

#[tokio::test]
async fn lines_are_added_to_a_file_that_nobody_read() {
    let files = [
        ("ended", "one\n"),
        ("open", "one"),
        ("windows", "one\r\n"),
        ("empty", ""),
        ("flush", "one\n"),
    ];
    let fixture = FileFixture::new(&files);
    for (path, content, expected) in [
        ("ended", "two", "one\ntwo\n"),
        ("ended", "\nthree\n", "one\ntwo\nthree\n"),
        ("open", "two", "one\ntwo"),
        ("windows", "two", "one\r\ntwo\r\n"),
        ("empty", "one", "one"),
        ("flush", "\n two", "one\ntwo\n"),
        ("flush", "\n  three", "one\ntwo\n  three\n"),
        ("flush", "\n four", "one\ntwo\n  three\n four\n"),
        ("new/file", "one\n", "one\n"),
    ] {
        let asked = json!({"path": path, "content": content, "append": true});
        let said = fixture.call("write_file", asked).await.unwrap();
        assert!(said.starts_with(&format!("added to {path}")), "{said}");
        assert_eq!(fixture.get(path), expected, "{path}");
    }
    // Its writer does not know what else is in it.
    let whole = fixture.error("write_file", json!({"path": "ended", "content": "x"})).await;
    assert!(whole.contains("you have not read it"), "{whole}");
    // Nor is anything added where somebody else has changed what it knew.
    fixture.call("read_file", json!({"path": "ended"})).await.unwrap();
    fixture.put("ended", "from outside\n");
    let asked = json!({"path": "ended", "content": "two", "append": true});
    let changed = fixture.error("write_file", asked).await;
    assert!(changed.contains("it has changed since you read it"), "{changed}");
}

#[tokio::test]
async fn where_the_operator_says_so_it_is_written_with_a_warning() {
    let fixture =
        FileFixture { stale_writes: StaleWrites::Warn, ..FileFixture::new(&[("f", "old")]) };
    let said = fixture.call("write_file", json!({"path": "f", "content": "new"})).await.unwrap();
    assert!(said.contains("warning: `f` was written although you have not read it"), "{said}");
    assert_eq!(fixture.get("f"), "new");
}

#[tokio::test]
async fn rights_stay_and_other_names_of_a_file_keep_its_content() {
    let fixture = FileFixture::new(&[("run.sh", "old")]);
    std::fs::set_permissions(fixture.path("run.sh"), PermissionsExt::from_mode(0o4750)).unwrap();
    // Somebody else's file that got a name in here is not written through.
    std::fs::hard_link(fixture.path("run.sh"), fixture.home.path().join("theirs")).unwrap();
    fixture.call("read_file", json!({"path": "run.sh"})).await.unwrap();
    let said =
        fixture.call("write_file", json!({"path": "run.sh", "content": "new"})).await.unwrap();
    assert!(said.contains("1 more hard links, which keep the old content"), "{said}");
    let meta = std::fs::metadata(fixture.path("run.sh")).unwrap();
    assert_eq!((meta.mode() & 0o7777, meta.nlink()), (0o750, 1));
    assert_eq!(fixture.home.read("theirs").unwrap(), "old");
}

#[tokio::test]
async fn a_link_inside_is_followed_and_stays_a_link() {
    let fixture = FileFixture::new(&[("real/f", "old")]);
    std::os::unix::fs::symlink("real", fixture.path("folder")).unwrap();
    std::os::unix::fs::symlink("folder/f", fixture.path("link")).unwrap();
    fixture.call("read_file", json!({"path": "real/f"})).await.unwrap();
    // One file, whatever it is called: what was read by one name may be written by another.
    fixture.call("write_file", json!({"path": "link", "content": "new"})).await.unwrap();
    assert_eq!(fixture.get("real/f"), "new");
    assert!(std::fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    std::os::unix::fs::symlink("nowhere/x", fixture.path("dangling")).unwrap();
    fixture.call("write_file", json!({"path": "dangling", "content": "made"})).await.unwrap();
    assert_eq!(fixture.get("nowhere/x"), "made");
}

const SEVERAL: &str = "*** Begin Patch\n*** Update File: a\n-one\n+ONE\n*** Update File: b\n*** Move to: sub/c\n two\n+three\n*** Add File: new\n+hello\n*** Delete File: gone\n*** End Patch";

#[tokio::test]
async fn several_files_change_together() {
    let files = [("a", "one\n"), ("b", "two\n"), ("gone", "x\n")];
    let fixture = FileFixture::new(&files);
    for (path, _) in files {
        fixture.call("read_file", json!({"path": path})).await.unwrap();
    }
    let said = fixture.call("patch", json!({"mode": "patch", "patch": SEVERAL})).await.unwrap();
    assert_eq!(said.lines().count(), 5, "{said}");
    assert_eq!(
        (fixture.get("a"), fixture.get("sub/c"), fixture.get("new")),
        ("ONE\n".into(), "two\nthree\n".into(), "hello\n".into())
    );
    assert!(!fixture.path("b").exists() && !fixture.path("gone").exists());
}

#[tokio::test]
async fn one_file_that_does_not_fit_leaves_all_as_they_were() {
    let files = [("a", "one\n"), ("b", "two\n"), ("gone", "x\n")];
    let fixture = FileFixture::new(&files);
    for (path, _) in &files[..2] {
        fixture.call("read_file", json!({"path": path})).await.unwrap();
    }
    let error = fixture.error("patch", json!({"mode": "patch", "patch": SEVERAL})).await;
    assert!(error.contains("`gone` was not written: you have not read it"), "{error}");
    for (path, content) in files {
        assert_eq!(fixture.get(path), content);
    }
    assert!(!fixture.path("new").exists());
    let left: Vec<_> =
        std::fs::read_dir(fixture.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".insula")), "{left:?}");
    let twice = "*** Begin Patch\n*** Update File: a\n-one\n+1\n*** Update File: ./a\n-one\n+2\n*** End Patch";
    assert!(
        fixture.error("patch", json!({"mode": "patch", "patch": twice})).await.contains("twice")
    );
    let over = "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch";
    assert!(
        fixture
            .error("patch", json!({"mode": "patch", "patch": over}))
            .await
            .contains("exists already")
    );
}

#[tokio::test]
async fn a_full_disk_leaves_the_old_content() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(folder.path())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        // Only root can make a disk that is full; elsewhere this has to be seen by eye.
        eprintln!("not run: no right to mount");
        return;
    }
    std::fs::write(folder.path().join("f"), "old").unwrap();
    let mut fixture = FileFixture::new(&[]);
    fixture.shared.push(shared(folder.path(), insula_domain::AccessMode::Rw));
    let path = folder.path().join("f").display().to_string();
    fixture.call("read_file", json!({"path": path})).await.unwrap();
    let error =
        fixture.error("write_file", json!({"path": path, "content": "x".repeat(200_000)})).await;
    assert!(error.contains("nearly full"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.path().join("f")).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    drop(fixture);
    std::process::Command::new("umount").arg(folder.path()).status().unwrap();
}
