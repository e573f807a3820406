//! What a folder is known by.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests make folders and links"
)]

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

fn ground() -> (tempfile::TempDir, PathBuf) {
    let ground = tempfile::tempdir().unwrap();
    let own = fs::canonicalize(ground.path()).unwrap().join("own");
    fs::create_dir_all(own.join("scratch/deeper")).unwrap();
    (ground, own)
}

#[test]
fn a_folder_is_the_same_by_whatever_words_lead_to_it() {
    let (_ground, own) = ground();
    let granted = [own.clone()];
    let one = Ground::at(&own.join("scratch"), &granted);
    assert!(one.begins().unwrap().identity.is_some());
    for words in ["scratch/", "./scratch", "scratch/deeper/..", "../own/scratch"] {
        assert_eq!(Ground::at(&own.join(words), &granted), one, "{words}");
    }
    symlink("scratch", own.join("link")).unwrap();
    assert_eq!(Ground::at(&own.join("link"), &granted), one);
    assert_ne!(Ground::at(&own.join("scratch/deeper"), &granted).identity(), one.identity());
}

#[test]
fn what_takes_the_place_of_a_folder_is_another_one() {
    let (_ground, own) = ground();
    let granted = [own.clone()];
    let scratch = own.join("scratch");
    let before = Ground::at(&scratch, &granted);
    fs::rename(&scratch, own.join("aside")).unwrap();
    assert_eq!(Ground::at(&scratch, &granted).state, State::Nothing);
    fs::create_dir(&scratch).unwrap();
    assert_ne!(Ground::at(&scratch, &granted).identity(), before.identity());
    fs::remove_dir(&scratch).unwrap();
    symlink(&own, &scratch).unwrap();
    let linked = Ground::at(&scratch, &granted);
    assert_eq!(linked.path(), own.to_string_lossy());
    assert_ne!(linked.identity(), before.identity());
}

#[test]
fn what_is_not_among_the_folders_is_not_looked_at() {
    let (ground, own) = ground();
    let granted = [own.clone()];
    let outside = fs::canonicalize(ground.path()).unwrap().join("outside");
    let absent = Ground::at(&outside, &granted);
    fs::create_dir(&outside).unwrap();
    assert_eq!(Ground::at(&outside, &granted), absent);
    assert_eq!(absent.state, State::Elsewhere);
    // A link that leads there is as nothing, whether or not there is anything.
    symlink(&outside, own.join("out")).unwrap();
    symlink(outside.join("missing"), own.join("nowhere")).unwrap();
    for link in ["out", "nowhere", "missing", "scratch/file"] {
        let state = Ground::at(&own.join(link), &granted).state;
        assert_eq!(state, State::Nothing, "{link}");
    }
    let up = Ground::at(&own.join("../outside"), &granted);
    assert_eq!(up, absent);
}
