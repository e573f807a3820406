//! What git may take, and that nothing of it is left.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests touch files, processes and sockets"
)]

use super::*;
use insula_testkit::Home;
use std::io::Read as _;
use std::net::TcpListener;

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", folder);
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    assert!(command.args(args).stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
}

/// Bytes that nothing makes smaller.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes
}

fn repository(files: &[(&str, Vec<u8>)]) -> Home {
    let home = Home::empty().unwrap();
    git(home.path(), &["init", "-q"]);
    for (path, bytes) in files {
        home.write(path, bytes).unwrap();
    }
    git(home.path(), &["add", "."]);
    git(home.path(), &["commit", "-qm", "one"]);
    home
}

async fn fetched(url: &str, limits: &Limits) -> (Result<(), String>, Home) {
    let aside = Home::empty().unwrap();
    let world = World::real().unwrap();
    (fetch(url, aside.path(), &world, limits).await, aside)
}

#[tokio::test]
async fn a_repository_is_fetched_within_bounds_and_refused_beyond() {
    let files = [("SKILL.md", b"x".to_vec()), ("large", noise(3 << 20))];
    let repository = repository(&files);
    let url = format!("file://{}", repository.path().display());
    let (done, aside) = fetched(&url, &Limits::USUAL).await;
    done.unwrap();
    assert_eq!(aside.read("tree/SKILL.md").unwrap(), "x");
    let little = Limits { bytes: 1 << 20, ..Limits::USUAL };
    let (done, _aside) = fetched(&url, &little).await;
    assert!(done.is_err());
}

#[tokio::test]
async fn too_many_files_are_refused() {
    let files: Vec<(String, Vec<u8>)> =
        (0..ENTRIES_MAX + 10).map(|n| (format!("d{}/f{n}", n % 50), vec![])).collect();
    let files: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())).collect();
    let repository = repository(&files);
    let url = format!("file://{}", repository.path().display());
    let (done, _aside) = fetched(&url, &Limits::USUAL).await;
    assert!(done.unwrap_err().contains("more than 20000 files"));
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_with_all_that_was_started() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/x.git", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Ends when whoever holds the other end is gone, which is not git but its helper.
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    });
    let hasty = Limits { patience: Duration::from_secs(2), ..Limits::USUAL };
    let (done, _aside) = fetched(&url, &hasty).await;
    assert!(done.unwrap_err().contains("took longer than 2 s"));
    asked.join().unwrap();
}

#[tokio::test]
async fn other_ways_than_those_three_are_refused() {
    for url in ["http://127.0.0.1:1/x", "git://127.0.0.1:1/x", "ext::sh -c 'touch made'"] {
        let (done, aside) = fetched(url, &Limits::USUAL).await;
        assert!(done.unwrap_err().contains("git could not fetch it"), "{url}");
        assert!(!aside.has("made"));
    }
}

#[test]
fn the_cause_is_told_with_what_followed_from_it() {
    let said = "Cloning into 'tree'...\nHost key verification failed.\r\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n";
    assert_eq!(
        reason(said),
        "Cloning into 'tree'...; Host key verification failed.; fatal: Could not read from remote repository.; Please make sure you have the correct access rights; and the repository exists."
    );
    assert_eq!(reason("\n \n"), "no reason");
    let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
    assert_eq!(reason(&many), "line 0; line 1; line 2; line 3; line 96; line 97; line 98; line 99");
    assert!(reason(&"x".repeat(10_000)).len() <= 300);
}
