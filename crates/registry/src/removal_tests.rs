//! What an agent's programs can make of a folder, and that it goes all the same.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests make what programs make"
)]

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

fn ground() -> (tempfile::TempDir, PathBuf) {
    let ground = tempfile::tempdir().unwrap();
    let tree = ground.path().join("tree");
    fs::create_dir(&tree).unwrap();
    (ground, tree)
}

fn close(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn nothing_there_is_nothing_to_do() {
    let (_ground, tree) = ground();
    remove_whole(&tree.join("missing")).unwrap();
    remove_whole(&tree.join("missing/deeper")).unwrap();
    fs::write(tree.join("file"), "x").unwrap();
    remove_whole(&tree.join("file")).unwrap();
    remove_whole(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn modes_that_let_nobody_in_hold_nothing() {
    for mode in [0o000, 0o100, 0o200, 0o400, 0o500, 0o1000, 0o2000] {
        let (_ground, tree) = ground();
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::write(tree.join("a/b/c/file"), "x").unwrap();
        close(&tree.join("a/b/c"), mode);
        close(&tree.join("a/b"), mode);
        close(&tree.join("a"), mode);
        close(&tree, mode);
        remove_whole(&tree).unwrap();
        assert!(!tree.exists(), "{mode:o}");
    }
}

#[test]
fn links_go_and_what_they_lead_to_stays() {
    let (ground, tree) = ground();
    let outside = ground.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "x").unwrap();
    close(&outside, 0o500);
    symlink(&outside, tree.join("link")).unwrap();
    symlink("..", tree.join("up")).unwrap();
    symlink("nowhere", tree.join("dangling")).unwrap();
    fs::hard_link(outside.join("kept"), tree.join("same")).unwrap();
    remove_whole(&tree).unwrap();
    assert!(!tree.exists());
    assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "x");
    assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o500);
    close(&outside, 0o700);
}

#[test]
fn a_link_in_place_of_the_folder_is_removed_and_not_followed() {
    let (ground, tree) = ground();
    fs::write(tree.join("kept"), "x").unwrap();
    let link = ground.path().join("link");
    symlink(&tree, &link).unwrap();
    remove_whole(&link).unwrap();
    assert!(link.symlink_metadata().is_err());
    assert!(tree.join("kept").exists());
}

#[test]
fn names_that_are_no_text_go() {
    let (_ground, tree) = ground();
    for name in [&b"\xff\xfe"[..], b"\n", b" ", b"-rf", b"...", b".deep-1", b"\x1b[2J"] {
        fs::write(tree.join(std::ffi::OsStr::from_bytes(name)), "x").unwrap();
    }
    rustix::fs::mkfifoat(CWD, tree.join("pipe"), Mode::from_raw_mode(0)).unwrap();
    remove_whole(&tree).unwrap();
    assert!(!tree.exists());
}

/// Some five times what a path can hold, with modes that let nobody in, and with the names in
/// the way that deep folders are moved to.
#[test]
fn nestings_longer_than_any_path_go() {
    let (_ground, tree) = ground();
    for name in [".deep-1", ".deep-2"] {
        fs::create_dir(tree.join(name)).unwrap();
        fs::write(tree.join(name).join("file"), "x").unwrap();
    }
    let name = "n".repeat(20);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::openat(CWD, &tree, flags, Mode::empty()).unwrap();
    let mut above = Vec::new();
    for depth in 0..1_000 {
        rustix::fs::mkdirat(&folder, &name, Mode::from_raw_mode(0o700)).unwrap();
        let next = rustix::fs::openat(&folder, &name, flags, Mode::empty()).unwrap();
        let before = std::mem::replace(&mut folder, next);
        if depth % 10 == 0 {
            above.push(before);
        }
    }
    drop(folder);
    for folder in above.iter().rev() {
        rustix::fs::fchmod(folder, Mode::from_raw_mode(0)).unwrap();
    }
    drop(above);
    remove_whole(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn wide_folders_go() {
    let (_ground, tree) = ground();
    for number in 0..5_000 {
        fs::write(tree.join(format!("{number}")), "").unwrap();
    }
    remove_whole(&tree).unwrap();
    assert!(!tree.exists());
}
