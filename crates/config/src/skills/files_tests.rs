//! Folders of skills on disk: names in any case, what was accepted, and what changed.
#![allow(clippy::disallowed_methods, reason = "tests write files and links")]

use super::files::{Top, read, read_file, read_single, stamps};
use super::{DOCUMENT, DOCUMENT_BYTES_MAX};
use crate::file_state::FileState;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

const SKILL: &str = "---\nname: deploy\ndescription: Ships it.\n---\nDo it.\n";

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_document_is_found_whatever_its_case_and_by_its_own_name_first() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    write(folder, "one/skill.md", SKILL);
    write(folder, "two/Skill.MD", "other");
    write(folder, "two/SKILL.md", SKILL);
    let found = read(folder, Top::IsFolder);
    assert_eq!(found.skills.len(), 2);
    for skill in &found.skills {
        assert_eq!(skill.document, FileState::Text(SKILL.into()));
    }
    assert!(found.skills[0].files.is_empty());
    assert_eq!(&*found.skills[1].files[0].path, "Skill.MD");
    for path in ["one/SKILL.md", "two/SKILL.md"] {
        let read = read_file(folder, Top::IsFolder, path, DOCUMENT_BYTES_MAX).unwrap();
        assert_eq!(read.as_deref(), Some(SKILL.as_bytes()), "{path}");
    }
    // No other file is guessed at here: which one is meant is for its skill to say.
    assert_eq!(read_file(folder, Top::IsFolder, "two/SKILL.MD", 9).unwrap(), None);
    assert_eq!(read_single(&folder.join("one"), Top::IsFolder).unwrap().folder, "".into());
    let names: Vec<_> = stamps(folder, Top::IsFolder, "one").unwrap();
    assert_eq!(&*names[0].path, DOCUMENT);
}

#[test]
fn a_document_that_is_a_link_is_none_in_any_case() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "outside", SKILL);
    fs::create_dir(home.path().join("one")).unwrap();
    symlink(home.path().join("outside"), home.path().join("one/skill.md")).unwrap();
    let found = read(home.path(), Top::IsFolder);
    assert_eq!(found.skills[0].document, FileState::Unreadable("is a link".to_owned()));
    assert_eq!(read_file(home.path(), Top::IsFolder, "one/SKILL.md", 999).unwrap(), None);
}

#[test]
fn what_changes_on_disk_changes_a_stamp_and_a_link_has_none() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    write(folder, "one/SKILL.md", SKILL);
    write(folder, "one/scripts/run", "echo 1\n");
    let of = || stamps(folder, Top::IsFolder, "one");
    let before = of().unwrap();
    assert_eq!(before, of().unwrap());
    assert!(!before[1].executable);
    let run = folder.join("one/scripts/run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    let after = of().unwrap();
    assert!(after[1].executable && after[1] != before[1] && after[0] == before[0]);
    // As many bytes as before, in another file of the same name.
    write(folder, "one/scripts/other", "echo 2\n");
    fs::rename(folder.join("one/scripts/other"), &run).unwrap();
    assert_ne!(of().unwrap(), after);
    symlink("/etc", folder.join("one/etc")).unwrap();
    assert!(of().unwrap_err().contains("has a link beside it"));
    assert!(stamps(folder, Top::IsFolder, "none").is_err());
}

#[test]
fn what_was_accepted_is_read_from_an_agents_own_folder_alone() {
    let home = tempfile::tempdir().unwrap();
    let lock = r#"{"version": 1, "skills": {
        "deploy": {"folder": "one", "accepted": {"0123": {"file": "a.md"}}},
        "other": {"folder": "two", "accepted": {}}, "odd": 3}}"#;
    write(home.path(), "skills.lock", lock);
    let accepted = read(home.path(), Top::IsFolder).accepted;
    assert_eq!(accepted, [("one".into(), ["0123".into()].into())].into());
    assert!(read(home.path(), Top::MayBeLink).accepted.is_empty());
    write(home.path(), "skills.lock", "no lock");
    assert!(read(home.path(), Top::IsFolder).accepted.is_empty());
}
