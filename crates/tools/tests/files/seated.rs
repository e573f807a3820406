//! A conversation that works in a folder of its own choosing, with an editor or without.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_domain::AccessMode;
use insula_testkit::Home;
use insula_tools::workspace::{Absent, Granted, Site, Within};
use insula_tools::{Buffers, FileChange, Seat};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

fn granted(path: PathBuf, mode: AccessMode) -> Granted {
    Granted { site: Site::Path(path), mode, absent: Absent::Leave }
}

fn desk() -> (Home, PathBuf) {
    let desk = Home::with([("a.txt", "on disk\n")]).unwrap();
    let path = desk.path().canonicalize().unwrap();
    (desk, path)
}

#[tokio::test]
async fn paths_begin_in_the_folder_and_it_counts_as_one_that_others_have() {
    let fixture = FileFixture::new(&[("own.txt", "mine")]);
    let (_desk, path) = desk();
    let seat = Seat::Before(granted(path.clone(), AccessMode::Ro));
    let files = fixture.files("ann").seated(seat, None);
    assert!(
        call(&files, "read_file", json!({ "path": "a.txt" })).await.unwrap().contains("on disk")
    );
    let own = fixture.path("own.txt");
    assert!(call(&files, "read_file", json!({ "path": own })).await.unwrap().contains("mine"));
    let places = files.places_of(vec!["a.txt".to_owned()]).await.unwrap();
    assert_eq!((places[0].within, &places[0].path), (Within::Shared, &path.join("a.txt")));
    let error = call(&files, "write_file", json!({ "path": "b.txt", "content": "x" })).await;
    assert!(error.unwrap_err().to_string().contains("may only read"));
}

#[tokio::test]
async fn rule_05_instead_of_its_own_folder_leaves_that_out_for_its_children_too() {
    let fixture = FileFixture::new(&[("own.txt", "mine")]);
    let (_desk, path) = desk();
    let files = fixture.files("ann");
    let plain = fixture.files("child");
    let seated = files.seated(Seat::Instead(granted(path, AccessMode::Rw)), None);
    let own = json!({ "path": fixture.path("own.txt") });
    assert!(call(&plain, "read_file", own.clone()).await.is_ok());
    let refused = call(&seated, "read_file", own).await.unwrap_err().to_string();
    assert!(refused.contains("outside of the folders"), "{refused}");
    assert_eq!(seated.folders().await.unwrap().len(), 1);
}

#[tokio::test]
async fn rule_02_a_folder_around_the_home_does_not_open_it() {
    let fixture = FileFixture::new(&[("own.txt", "mine")]);
    let around = fixture.root().parent().unwrap().canonicalize().unwrap();
    let secret = fixture.root().join("run/admin.token");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "token-of-the-home").unwrap();
    let seat = Seat::Instead(granted(around, AccessMode::Rw));
    let files = fixture.files("ann").seated(seat, None);
    let error = call(&files, "read_file", json!({ "path": "home/run/admin.token" })).await;
    assert!(error.unwrap_err().to_string().contains("home of the daemon"));
    // And the home itself, or another agent's folder in it, is no folder to work in.
    for inside in [fixture.root(), fixture.root().join("run")] {
        let inside = inside.canonicalize().unwrap();
        let files =
            fixture.files("ann").seated(Seat::Before(granted(inside, AccessMode::Rw)), None);
        assert!(call(&files, "read_file", json!({ "path": "admin.token" })).await.is_err());
    }
}

#[tokio::test]
async fn what_an_editor_has_open_is_what_is_read_and_changed() {
    let fixture = FileFixture::new(&[]);
    let (desk, path) = desk();
    let buffers = Arc::new(Buffers::default());
    let seat = Seat::Before(granted(path.clone(), AccessMode::Rw));
    let files = fixture.files("ann").seated(seat, Some(buffers.clone()));
    let file = path.join("a.txt");
    buffers.put(file.clone(), "not saved\n".to_owned());
    let read = call(&files, "read_file", json!({ "path": "a.txt" })).await.unwrap();
    assert!(read.contains("not saved"), "{read}");
    let edit = json!({ "path": "a.txt", "old_string": "not saved", "new_string": "saved" });
    call(&files, "patch", edit.clone()).await.unwrap();
    assert_eq!(desk.read("a.txt").unwrap(), "saved\n");
    let change = FileChange {
        path: file,
        old: Some("not saved\n".to_owned()),
        new: Some("saved\n".to_owned()),
    };
    assert_eq!(buffers.take_changes(), [change]);
    // For the next call nothing is open, and nothing was changed.
    assert_eq!(buffers.take_changes(), []);
    assert!(call(&files, "patch", edit).await.is_err());
}
