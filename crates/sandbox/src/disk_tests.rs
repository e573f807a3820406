//! What a program hides in its folders is found: deep, behind modes, and in folders themselves.
#![allow(clippy::disallowed_methods, reason = "a test makes the files it looks at")]

use super::*;
use rustix::thread::CapabilitySet;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

const MB: u64 = 1 << 20;

/// Looks without what lets root in everywhere: as its user would.
fn as_ordinary_user(folder: &Path, since_ms: i64, owned: Option<u32>) -> Written {
    let look = || {
        let mut held = rustix::thread::capabilities(None).unwrap();
        let all =
            [CapabilitySet::DAC_OVERRIDE, CapabilitySet::DAC_READ_SEARCH, CapabilitySet::FOWNER];
        all.into_iter().for_each(|one| held.effective.remove(one));
        rustix::thread::set_capabilities(None, held).unwrap();
        written_since(folder, since_ms, owned).unwrap()
    };
    // A thread of its own: what it gives up is its own.
    std::thread::scope(|threads| threads.spawn(look).join().unwrap())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Makes folders in folders, one file of a megabyte in the last, and tells of each as it is open.
fn nest(top: &Path, depth: usize, mut each: impl FnMut(&OwnedFd)) {
    let mut folder = rustix::fs::openat(CWD, top, FOLDER, Mode::empty()).unwrap();
    let mut all = Vec::new();
    for _ in 0..depth {
        let name = "n".repeat(20);
        rustix::fs::mkdirat(&folder, &name, Mode::from_raw_mode(0o700)).unwrap();
        let next = rustix::fs::openat(&folder, &name, FOLDER, Mode::empty()).unwrap();
        all.push(std::mem::replace(&mut folder, next));
        all.drain(..all.len().saturating_sub(8));
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, "large", flags, Mode::from_raw_mode(0o600)).unwrap();
    fs::File::from(file).write_all(&vec![1; MB as usize]).unwrap();
    all.push(folder);
    all.iter().rev().for_each(&mut each);
}

#[test]
fn what_was_written_is_counted_and_links_are_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("large"), vec![1; 1 << 20]).unwrap();
    fs::create_dir(home.path().join("deep")).unwrap();
    fs::write(home.path().join("deep/one"), vec![1; 100_000]).unwrap();
    std::os::unix::fs::symlink(outside.path(), home.path().join("away")).unwrap();
    let written = written_since(home.path(), 0, None).unwrap();
    assert_eq!(written.files, 3);
    assert!((100_000..500_000).contains(&written.bytes), "{written:?}");
    assert_eq!(written_since(home.path(), i64::MAX, None).unwrap().files, 0);
    // What belongs to somebody else was somebody else's doing.
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(written_since(home.path(), 0, Some(own)).unwrap().files, 3);
    assert_eq!(written_since(home.path(), 0, Some(own + 1)).unwrap().files, 0);
    assert!(space(home.path()).unwrap().total_bytes > 0);
    assert!(written_since(&home.path().join("none"), 0, None).is_err());
}

/// Five times what a path can hold, and more folders than a process may have open.
#[test]
fn what_lies_deeper_than_any_path_is_counted() {
    let home = tempfile::tempdir().unwrap();
    nest(home.path(), 1_500, |_| {});
    fs::write(home.path().join("after"), vec![1; MB as usize]).unwrap();
    let written = written_since(home.path(), 0, None).unwrap();
    assert_eq!((written.files, written.unseen), (1_502, None));
    assert!(written.bytes >= 2 * MB, "{written:?}");
    // Of what was there before, nothing counts and nobody is blamed.
    let later = written_since(home.path(), i64::MAX, None).unwrap();
    assert_eq!((later.bytes, later.files, later.unseen), (0, 0, None));
}

#[test]
fn deep_folders_beside_each_other_are_all_counted() {
    let home = tempfile::tempdir().unwrap();
    let deep: PathBuf = std::iter::once(home.path().to_owned())
        .chain((0..OPEN_MAX + 5).map(|_| "d".into()))
        .collect();
    for one in 0..5 {
        for other in 0..5 {
            let folder = deep.join(format!("{one}/{other}/x/y"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
        }
    }
    let written = written_since(home.path(), 0, None).unwrap();
    let folders = OPEN_MAX + 5 + 5 + 25 * 3;
    assert_eq!((written.files, written.unseen), (folders as u64 + 25, None));
}

#[test]
fn the_way_up_from_a_folder_that_was_moved_is_not_taken() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("a/inner")).unwrap();
    fs::create_dir(home.path().join("b")).unwrap();
    let stat = |name: &str| rustix::fs::stat(home.path().join(name)).unwrap();
    let a = place(&stat("a"));
    let inner =
        rustix::fs::openat(CWD, home.path().join("a/inner"), FOLDER, Mode::empty()).unwrap();
    assert!(up(&inner, a).is_ok());
    fs::rename(home.path().join("a/inner"), home.path().join("b/inner")).unwrap();
    assert_eq!(up(&inner, a).unwrap_err(), Some(Unseen::Deep));
    // What is removed while it is looked at leads up all the same: removing is no hiding.
    let b = place(&stat("b"));
    fs::remove_dir_all(home.path().join("b")).unwrap();
    assert!(up(&inner, b).is_ok());
}

#[test]
fn folders_that_keep_their_owner_out_are_looked_into() {
    let home = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    set_mode(outside.path(), 0);
    for (name, mode) in [("none", 0), ("names", 0o400), ("reach", 0o100), ("write", 0o300)] {
        let folder = home.path().join(name);
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(folder.join("inner/large"), vec![1; MB as usize]).unwrap();
        if name == "none" {
            nest(&folder, 200, |folder| {
                rustix::fs::fchmod(folder, Mode::from_raw_mode(0)).unwrap();
            });
        }
        set_mode(&folder.join("inner"), mode);
        set_mode(&folder, mode);
    }
    std::os::unix::fs::symlink(outside.path(), home.path().join("away")).unwrap();
    set_mode(home.path(), 0);
    let written = as_ordinary_user(home.path(), 0, None);
    assert_eq!((written.files, written.unseen), (4 * 3 + 1 + 201, None));
    assert!(written.bytes >= 5 * MB, "{written:?}");
    // Through a link nothing got another mode.
    let mode = fs::metadata(outside.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0);
    set_mode(outside.path(), 0o700);
}

/// A folder of somebody else's stands for what can't be opened: without the rights of root
/// its mode can't be changed.
#[test]
fn what_stays_closed_is_told_if_it_was_closed_since() {
    let home = tempfile::tempdir().unwrap();
    let closed = home.path().join("closed");
    fs::create_dir(&closed).unwrap();
    set_mode(&closed, 0);
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let other = rustix::process::geteuid().as_raw() + 4_242;
    std::os::unix::fs::chown(&closed, Some(other), None).unwrap();
    let unseen = |since, owned| as_ordinary_user(home.path(), since, owned).unseen;
    assert_eq!(unseen(0, Some(other)), Some(Unseen::Closed));
    assert_eq!(unseen(i64::MAX, Some(other)), None);
    // Another's folder is another's doing.
    assert_eq!(unseen(0, None), None);
}

#[test]
fn what_a_folder_itself_takes_is_counted() {
    let home = tempfile::tempdir().unwrap();
    let (top, inner) = (home.path().to_owned(), home.path().join("inner"));
    fs::create_dir(&inner).unwrap();
    fs::write(top.join("one"), "").unwrap();
    for folder in [&top, &inner] {
        for number in 0..2_000 {
            let name = format!("{number:0>200}");
            fs::hard_link(top.join("one"), folder.join(name)).unwrap();
        }
    }
    let size = |folder: &Path| {
        let stat = rustix::fs::stat(folder).unwrap();
        u64::try_from(stat.st_size.max(stat.st_blocks * 512)).unwrap()
    };
    let written = written_since(&top, 0, None).unwrap();
    assert_eq!(written.bytes, size(&top) + size(&inner));
    assert!(written.bytes >= 2 * 2_000 * 20, "{written:?}");
}
