//! Whose a place is that a tool writes to, however its path is spelt: what ends up in a folder of
//! others is known to, before it is written.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_domain::{AccessMode, StaleWrites};
use insula_testkit::Home;
use insula_tools::workspace::states::FileReader;
use insula_tools::workspace::{Absent, AgentFolders, FilePlace, Granted, Site, Within};
use insula_tools::{Files, find};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WORDS: &str = "words-5e1f\n";

/// A workspace with a shared folder in it, another one in the user's home, and links of the agent's
/// own to the first.
struct Nested {
    home: Home,
    files: Files,
}

impl Nested {
    fn new() -> Self {
        let home = Home::empty().unwrap();
        let root = home.path().join("home");
        let user = home.path().join("user");
        let (own, theirs) = (root.join(OWN), user.join("shared"));
        for folder in [own.join("mine/deep"), own.join("sub/inner"), theirs.join("inner")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for (target, name) in [
            ("sub", "link"),
            ("sub/inner", "mine/up"),
            ("../sub/inner", "mine/inner"),
            ("sub/new.txt", "new"),
            ("sub/missing/new.txt", "dangling"),
            ("sub/missing", "lost"),
            ("../mine", "sub/back"),
        ] {
            symlink(target, own.join(name)).unwrap();
        }
        let rw = |path: &Path| shared(path, AccessMode::Rw);
        let granted =
            Granted { site: Site::Home(OWN.into()), mode: AccessMode::Rw, absent: Absent::Make };
        let common = vec![granted, rw(&own.join("sub")), rw(&theirs)];
        let place = Arc::new(AgentFolders::new(root, Some(user), common).of("agents/a".into()));
        let (states, reader) = (Arc::default(), FileReader::new("ann"));
        let world = insula_testkit::world(1).0;
        let files = Files::new(place, None, states, reader, StaleWrites::Warn, None, world);
        Self { home, files }
    }

    fn own(&self, path: &str) -> PathBuf {
        self.home.path().join("home").join(OWN).join(path)
    }

    async fn places(&self, path: &str) -> Vec<FilePlace> {
        self.files.places_of(vec![path.to_owned()]).await.unwrap()
    }

    async fn is_shared(&self, path: &str) -> bool {
        self.places(path).await.iter().any(|it| it.within == Within::Shared)
    }

    /// The files that have the words, by their real paths.
    fn written(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.home.path().to_owned()];
        let mut written = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && std::fs::read(entry.path()).unwrap() == WORDS.as_bytes()
                {
                    written.push(entry.path());
                }
            }
        }
        written
    }

    fn is_theirs(&self, path: &Path) -> bool {
        let theirs = [self.own("sub"), self.home.path().join("user/shared")];
        theirs.iter().any(|folder| path.starts_with(folder))
    }
}

#[tokio::test]
async fn a_shared_folder_is_shared_by_whatever_name_it_is_reached() {
    let nested = Nested::new();
    let absolute = |path: &str| nested.own(path).display().to_string();
    for path in [
        "sub/x",
        "sub",
        "./mine/../sub/x",
        "link/x",
        "link/a/b/x",
        "mine/inner/x",
        "new",
        "dangling",
        "~/shared/x",
        "~/shared",
        "missing/../sub/x",
        ".",
        &absolute("sub/x"),
        &absolute("link/x"),
        &absolute(""),
    ] {
        assert!(nested.is_shared(path).await, "{path}");
    }
    for path in ["x", "mine/x", "a/b/x", "sub/../x", "sub/back/../x", &absolute("mine/deep/x")] {
        assert!(!nested.is_shared(path).await, "{path}");
    }
    assert_eq!(nested.places("/etc/passwd").await, []);
    let place = nested.places("link/a/x").await.remove(0);
    assert_eq!(place.path, nested.own("sub").canonicalize().unwrap().join("a/x"));
}

#[test]
fn a_patch_writes_what_it_names_and_what_its_text_names() {
    let patch = "*** Begin Patch\n*** Add File: /shared/a\n+x\n*** Delete File: b\n\
                 *** Update File: c\n*** Move to: /shared/d\n@@\n-x\n+y\n*** End Patch";
    let arguments = json!({ "mode": "patch", "path": "innocent.txt", "patch": patch });
    let writes = find("patch").unwrap().writes(&arguments);
    for path in ["innocent.txt", "/shared/a", "b", "c", "/shared/d"] {
        assert!(writes.iter().any(|it| it == path), "{path}: {writes:?}");
    }
}

fn spelling() -> impl Strategy<Value = String> {
    let parts = [
        "sub", "link", "mine", "inner", "up", "back", "deep", "new", "dangling", "lost", "missing",
        "x", "..", ".", "",
    ];
    let begin = select(vec!["", "", "", "OWN/", "OWN/sub/", "~/shared/", "~/"]);
    (begin, proptest::collection::vec(select(parts.to_vec()), 1..6))
        .prop_map(|(begin, parts)| format!("{begin}{}", parts.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_written_to_others_was_known_to_be(spelt in spelling(), patches: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let nested = Nested::new();
            let path = spelt.replace("OWN", &nested.own("").display().to_string());
            let places = nested.places(&path).await;
            let done = match patches {
                true => {
                    let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{WORDS}*** End Patch");
                    call(&nested.files, "patch", json!({ "mode": "patch", "patch": patch })).await
                }
                false => {
                    call(&nested.files, "write_file", json!({ "path": path, "content": WORDS })).await
                }
            };
            let written = nested.written();
            prop_assert_eq!(done.is_ok(), written.len() == 1, "{} {:?} {:?}", path, done, written);
            for file in written {
                let is_shared = places.iter().any(|it| it.within == Within::Shared);
                prop_assert!(is_shared || !nested.is_theirs(&file), "{} {:?}", path, places);
                // Where it is noted, if others had a word in it.
                let file = file.canonicalize().unwrap();
                prop_assert!(places.iter().any(|it| file.starts_with(&it.path)), "{} {:?}", path, places);
            }
            Ok(())
        })?;
    }
}
