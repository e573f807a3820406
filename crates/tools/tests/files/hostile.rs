//! A3 and A12 of the gauntlet, for files: whatever a path says, it leads nowhere else.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_domain::AccessMode;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

const CANARY: &str = "canary-7f3a";

/// A desk with another agent's file beside it, and links to it in every manner.
fn besieged() -> FileFixture {
    let fixture = FileFixture::new(&[("own", "mine\n"), ("sub/own", "mine\n")]);
    fixture.home.write("home/agents/b/workspace/secret", CANARY).unwrap();
    fixture.home.write("home/config.yaml", CANARY).unwrap();
    let theirs = fixture.root().join("agents/b/workspace");
    for (target, name) in [
        (theirs.join("secret").display().to_string(), "absolute"),
        (theirs.display().to_string(), "folder"),
        ("../../b/workspace/secret".into(), "relative"),
        ("../../b/workspace".into(), "relative_folder"),
        ("absolute".into(), "chain"),
        ("sub/../relative".into(), "chain_up"),
        ("/proc/self/root".into(), "root"),
        ("/proc/self/cwd".into(), "cwd"),
        ("endless".into(), "endless"),
        ("/etc/passwd".into(), "passwd"),
    ] {
        symlink(target, fixture.path(name)).unwrap();
    }
    fixture
}

fn paths(fixture: &FileFixture) -> Vec<String> {
    let theirs = fixture.root().join("agents/b/workspace/secret").display().to_string();
    let own = fixture.path("").display().to_string();
    let mut paths: Vec<String> = [
        "absolute",
        "folder/secret",
        "relative",
        "relative_folder/secret",
        "chain",
        "chain_up",
        "endless",
        "endless/x",
        "passwd",
        "root/etc/passwd",
        "cwd/Cargo.toml",
        "..",
        "../../b/workspace/secret",
        "sub/../../../b/workspace/secret",
        "./.././../b/workspace/secret",
        "sub/../../workspace/../../b/workspace/secret",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        "/proc/1/environ",
        "/dev/stdin",
        "/dev/null",
        "/",
        "//etc/passwd",
        "~/.ssh/id_rsa",
        "~root/.ssh/id_rsa",
        "file:///etc/passwd",
        "\\\\?\\C:\\x",
        "agents/b/workspace/secret",
        "b:secret",
        "SECRET",
        "own\u{0}/../../b/workspace/secret",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(theirs.clone());
    paths.push(theirs.to_uppercase());
    paths.push(format!("/proc/self/root{theirs}"));
    paths.push(format!("{own}/../../b/workspace/secret"));
    paths.push(format!("{own}/../workspace/../../b/workspace/secret"));
    paths.push(format!("{own}//../../b/workspace/secret"));
    paths.push(format!("{}/config.yaml", fixture.root().display()));
    paths.push("../".repeat(200) + "etc/passwd");
    paths.push("a/".repeat(5_000));
    paths.push("x".repeat(300));
    paths.push("x".repeat(100_000));
    paths
}

#[tokio::test]
async fn no_path_reads_what_was_not_given() {
    let fixture = besieged();
    for path in paths(&fixture) {
        let error = fixture.error("read_file", json!({"path": path})).await;
        assert!(!error.contains(CANARY) && !error.contains("root:x"), "{path}: {error}");
        assert!(error.len() < 5_000, "{path}");
    }
}

#[tokio::test]
async fn no_path_lists_or_searches_what_was_not_given() {
    let fixture = besieged();
    for path in paths(&fixture) {
        for target in ["content", "files"] {
            let arguments = json!({"pattern": "*a*", "target": target, "path": path});
            let arguments = match target {
                "content" => json!({"pattern": "canary|root", "path": path}),
                _ => arguments,
            };
            let answer = match fixture.call("search_files", arguments).await {
                Ok(text) => text,
                Err(error) => error.to_string(),
            };
            assert!(!answer.contains("secret:1") && !answer.contains("root:x"), "{path}: {answer}");
            assert!(!answer.contains(CANARY), "{path}: {answer}");
        }
    }
    let found = fixture.call("search_files", json!({"pattern": "canary"})).await.unwrap();
    assert_eq!(found, "[nothing was found]\n");
}

#[tokio::test]
async fn no_path_writes_what_was_not_given() {
    let fixture = besieged();
    let before = tree(fixture.home.path());
    for path in paths(&fixture) {
        // These would be new files of its own, which is fine.
        if ["file:", "\\\\", "agents/", "b:", "SECRET", "~"].iter().any(|own| path.starts_with(own))
        {
            continue;
        }
        fixture.error("write_file", json!({"path": path, "content": "broken"})).await;
        let patch = format!("*** Begin Patch\n*** Add File: {path}/x\n+broken\n*** End Patch");
        let _ = fixture.call("patch", json!({"mode": "patch", "patch": patch})).await;
        let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
        fixture.error("patch", json!({"mode": "patch", "patch": patch})).await;
        fixture.call("read_file", json!({"path": "own"})).await.unwrap();
        let patch = format!(
            "*** Begin Patch\n*** Update File: own\n*** Move to: {path}\n mine\n*** End Patch"
        );
        fixture.error("patch", json!({"mode": "patch", "patch": patch})).await;
    }
    let own = fixture.path("");
    let outside = |tree: &[(std::path::PathBuf, Vec<u8>)]| -> Vec<_> {
        tree.iter().filter(|(path, _)| !path.starts_with(&own)).cloned().collect()
    };
    assert_eq!(outside(&tree(fixture.home.path())), outside(&before));
}

/// Every file below a folder with its content; links are not followed.
fn tree(path: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => all.extend(tree(&entry.path())),
            kind if kind.is_file() => {
                all.push((entry.path(), std::fs::read(entry.path()).unwrap()))
            }
            _ => {}
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn arguments_that_name_somebody_are_refused() {
    let fixture = besieged();
    for extra in ["agent", "agent_id", "session", "scope", "profile", "user", "workspace", "root"] {
        for (tool, mut arguments) in [
            ("read_file", json!({"path": "own"})),
            ("write_file", json!({"path": "new", "content": ""})),
            (
                "patch",
                json!({"mode": "replace", "path": "own", "old_string": "m", "new_string": "n"}),
            ),
            ("search_files", json!({"pattern": "x"})),
        ] {
            arguments[extra] = json!("b");
            assert!(fixture.error(tool, arguments).await.contains("not valid"), "{tool} {extra}");
        }
    }
}

#[tokio::test]
async fn a_folder_granted_to_read_is_not_written() {
    let granted = tempfile::tempdir().unwrap();
    std::fs::write(granted.path().join("f"), "old\n").unwrap();
    std::fs::create_dir(granted.path().join("inner")).unwrap();
    let inner = granted.path().join("inner");
    // Read only outside, read and write in one folder inside; and the other way round.
    for (outer, within, writable) in
        [(AccessMode::Ro, AccessMode::Rw, "inner/n"), (AccessMode::Rw, AccessMode::Ro, "n")]
    {
        let mut fixture = FileFixture::new(&[]);
        fixture.shared = vec![shared(granted.path(), outer), shared(&inner, within)];
        let _ = std::fs::remove_file(granted.path().join("inner/n"));
        let _ = std::fs::remove_file(granted.path().join("alias"));
        symlink("inner", granted.path().join("alias")).unwrap();
        fixture.call("read_file", json!({"path": granted.path().join("f")})).await.unwrap();
        for name in ["n", "inner/n", "inner/deep/n", "alias/n", "alias/../inner/n"] {
            let path = granted.path().join(name);
            let made = fixture.call("write_file", json!({"path": path, "content": "x"})).await;
            let expected =
                name == writable || (within == AccessMode::Rw && name.starts_with("inner"));
            assert_eq!(made.is_ok(), expected, "{outer:?} {name}: {made:?}");
        }
    }
}

#[tokio::test]
async fn a_granted_folder_around_the_home_does_not_open_it() {
    let mut fixture = besieged();
    let around = fixture.home.path().to_owned();
    let (home, secret) = (fixture.root(), "agents/b/workspace/secret");
    fixture.shared = vec![shared(&around, AccessMode::Rw)];
    for path in [home.join(secret), home.join("config.yaml"), home.clone(), home.join("agents")] {
        let error = fixture.error("read_file", json!({"path": path})).await;
        assert!(error.contains("home of the daemon"), "{error}");
        let error =
            fixture.error("write_file", json!({"path": path.join("x"), "content": ""})).await;
        assert!(error.starts_with("refused") || error.contains("not a folder"), "{error}");
    }
    let search = json!({"pattern": CANARY, "path": around, "limit": 500});
    assert!(!fixture.call("search_files", search).await.unwrap().contains(secret));
    // Its own folder, which is in there too, it still has.
    fixture.call("read_file", json!({"path": fixture.path("own")})).await.unwrap();
    let mut whole = besieged();
    whole.shared = vec![shared(&whole.root(), AccessMode::Rw)];
    let error = whole.error("read_file", json!({"path": whole.root().join(secret)})).await;
    assert!(error.contains("home of the daemon"), "{error}");
}

#[tokio::test]
async fn rule_3_of_the_home_only_an_agents_own_folder_can_be_granted_to_it() {
    for folder in ["vault", "run", "agents", "agents/b", "agents/b/workspace", "notes"] {
        let mut fixture = besieged();
        let file = fixture.root().join(folder).join("secret");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, CANARY).unwrap();
        fixture.shared = vec![shared(file.parent().unwrap(), AccessMode::Rw)];
        let error = fixture.error("read_file", json!({"path": file})).await;
        assert!(!error.contains(CANARY) && error.contains("granted"), "{folder}: {error}");
        let error = fixture.error("write_file", json!({"path": file, "content": "x"})).await;
        assert!(!error.is_empty(), "{folder}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), CANARY, "{folder}");
    }
    let mut fixture = besieged();
    let notes = fixture.root().join("agents/a/notes");
    std::fs::create_dir_all(&notes).unwrap();
    std::fs::write(notes.join("n"), "mine").unwrap();
    fixture.shared = vec![shared(&notes, AccessMode::Ro)];
    let read = fixture.call("read_file", json!({"path": notes.join("n")})).await.unwrap();
    assert!(read.contains("mine"), "{read}");
}

#[tokio::test]
async fn a_granted_path_through_a_link_is_not_opened() {
    let real = tempfile::tempdir().unwrap();
    std::fs::create_dir(real.path().join("data")).unwrap();
    symlink("data", real.path().join("link")).unwrap();
    let mut fixture = FileFixture::new(&[]);
    fixture.shared = vec![
        shared(&real.path().join("link"), AccessMode::Rw),
        shared("/nowhere".as_ref(), AccessMode::Ro),
    ];
    let error = fixture.error("read_file", json!({"path": real.path().join("link/x")})).await;
    assert!(
        error.contains("write its real path")
            && error.contains("`/nowhere` was granted and does not exist"),
        "{error}"
    );
}

struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A child that swaps a folder for a link, over and over, while the agent's own tools go
/// through it.
#[test]
fn a_folder_swapped_for_a_link_in_the_middle_leads_nowhere() {
    let fixture = besieged();
    let theirs = fixture.root().join("agents/b/workspace");
    let (turn, trap) = (fixture.path("turn"), fixture.path("trap"));
    std::fs::create_dir(&turn).unwrap();
    std::fs::write(turn.join("secret"), "honest").unwrap();
    symlink(&theirs, &trap).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &turn, CWD, &trap, RenameFlags::EXCHANGE).unwrap();
            }
        });
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            // However it ends, the other thread has to.
            let _stop = Stop(&stop);
            runtime.block_on(async {
                let mut answers = [0, 0];
                // Until both sides have been seen often, however fast either is.
                while answers.iter().any(|count| *count < 50) {
                    let read = fixture.call("read_file", json!({"path": "turn/secret"})).await;
                    let read = read.unwrap_or_else(|error| error.to_string());
                    assert!(!read.contains(CANARY), "{read}");
                    answers[usize::from(read.contains("|honest"))] += 1;
                    let _ = fixture
                        .call("write_file", json!({"path": "turn/new", "content": "broken"}))
                        .await;
                    let _ = fixture
                        .call("write_file", json!({"path": "turn/deep/new", "content": "broken"}))
                        .await;
                    let found =
                        fixture.call("search_files", json!({"pattern": "canary"})).await.unwrap();
                    assert!(!found.contains(CANARY), "{found}");
                }
            });
        });
    });
    assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 1, "nothing was made there");
    assert_eq!(std::fs::read_to_string(theirs.join("secret")).unwrap(), CANARY);
}
