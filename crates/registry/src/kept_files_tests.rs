//! What came with messages goes by age and by size, and nothing else does.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests that make files")]

use super::*;
use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

fn put(folder: &Path, name: &str, bytes: usize, at_s: u64) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![7; bytes]).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(at_s)).unwrap();
    path
}

fn named(number: u8) -> String {
    format!("{OUTPUT}/s{}/{}.jpg", number % 2, format!("{number:02x}").repeat(12))
}

#[test]
fn what_is_too_old_or_too_much_goes_the_oldest_first() {
    let agent = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> =
        (1..=5).map(|at| put(agent.path(), &named(at), 100, u64::from(at) * 1_000)).collect();
    let other = [
        put(agent.path(), &format!("{OUTPUT}/s1/1.txt"), 100, 1),
        put(agent.path(), &format!("{OUTPUT}/s1/workspace/{}.jpg", "aa".repeat(12)), 100, 1),
        put(agent.path(), &format!("workspace/{}.jpg", "aa".repeat(12)), 100, 1),
    ];
    assert_eq!(forget_attachments(agent.path(), None, None), (0, 0));
    assert_eq!(forget_attachments(agent.path(), Some(2_500_000), None), (2, 200));
    assert_eq!(forget_attachments(agent.path(), None, Some(250)), (1, 100));
    let left: Vec<bool> = files.iter().map(|it| it.exists()).collect();
    assert_eq!(left, [false, false, false, true, true]);
    assert!(other.iter().all(|it| it.exists()), "what programs made is not ours to remove");
    assert_eq!(forget_attachments(&agent.path().join("none"), Some(i64::MAX), None), (0, 0));
}

#[test]
fn no_link_is_followed() {
    let (agent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let theirs = put(elsewhere.path(), &format!("{}.jpg", "aa".repeat(12)), 100, 1);
    fs::create_dir_all(agent.path().join(OUTPUT)).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), agent.path().join(OUTPUT).join("s")).unwrap();
    assert_eq!(forget_attachments(agent.path(), Some(i64::MAX), None), (0, 0));
    assert!(theirs.exists());
    assert_eq!(measure(agent.path()).total(), 0);
}

#[test]
fn what_an_agent_has_is_measured_apart_from_its_database() {
    let agent = tempfile::tempdir().unwrap();
    put(agent.path(), "agent.db", 10_000, 1);
    put(agent.path(), "agent.db-wal", 10_000, 1);
    put(agent.path(), "workspace/a/b", 50_000, 1);
    let found = measure(agent.path());
    assert!(found.database >= 20_000 && found.database < 50_000, "{found:?}");
    assert!(found.files >= 50_000 && !found.is_cut, "{found:?}");
    assert_eq!(found.total(), found.database + found.files);
}
