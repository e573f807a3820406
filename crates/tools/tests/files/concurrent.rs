//! Several conversations of one agent over the same files: every stale write is refused and
//! recovered from, and no update is lost.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_world::World;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const WRITERS: usize = 5;
const FILES: usize = 20;
const EDITS: usize = 3;

/// Adds a line to a file by whichever tool, reading again as often as it is refused.
async fn append(
    fixture: &FileFixture,
    reader: &str,
    path: &str,
    line: &str,
    refused: &AtomicUsize,
) {
    let files = fixture.files(reader);
    loop {
        let shown = call(&files, "read_file", json!({"path": path})).await.unwrap();
        let lines: Vec<&str> =
            shown.lines().filter_map(|line| line.split_once('|').map(|(_, text)| text)).collect();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let written = if line.len().is_multiple_of(2) {
            let content = format!("{text}{line}\n");
            call(&files, "write_file", json!({"path": path, "content": content})).await
        } else {
            let patch = format!(
                "*** Begin Patch\n*** Update File: {path}\n {}\n+{line}\n*** End of File\n*** End Patch",
                lines.last().unwrap()
            );
            call(&files, "patch", json!({"mode": "patch", "patch": patch})).await
        };
        match written {
            Ok(_) => return,
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with("refused: "), "{error}");
                refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_conversations_edit_twenty_files_and_nothing_is_lost() {
    let names: Vec<String> = (0..FILES).map(|number| format!("f{number}")).collect();
    let start: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "begin\n")).collect();
    let fixture =
        Arc::new(FileFixture { world: World::real().unwrap(), ..FileFixture::new(&start) });
    let refused = Arc::new(AtomicUsize::new(0));
    let writers = (0..WRITERS).map(|writer| {
        let (fixture, names, refused) = (fixture.clone(), names.clone(), refused.clone());
        tokio::spawn(async move {
            for edit in 0..EDITS {
                for step in 0..FILES {
                    // Each begins elsewhere, and they meet.
                    let path = &names[(step * (writer + 1) + edit) % FILES];
                    let line = format!("writer {writer} edit {edit}{}", "!".repeat(step % 2));
                    append(&fixture, &format!("w{writer}"), path, &line, &refused).await;
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    // How often each line stands in all files together is how often it was written.
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for name in &names {
        for line in fixture.get(name).lines().skip(1) {
            *counts.entry(line.trim_end_matches('!').to_owned()).or_default() += 1;
        }
    }
    let expected: usize = WRITERS * EDITS * FILES;
    assert_eq!(counts.values().sum::<usize>(), expected, "{counts:#?}");
    assert!(counts.values().all(|count| *count == FILES), "{counts:#?}");
    eprintln!("{} stale writes were refused", refused.load(Ordering::Relaxed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patches_over_several_files_in_any_order_neither_lock_up_nor_lose() {
    let names: Vec<String> = (0..FILES).map(|number| format!("g{number}")).collect();
    let start: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "0\n")).collect();
    let fixture =
        Arc::new(FileFixture { world: World::real().unwrap(), ..FileFixture::new(&start) });
    let writers = (0..WRITERS).map(|writer| {
        let (fixture, mut names) = (fixture.clone(), names.clone());
        if writer % 2 == 1 {
            names.reverse();
        }
        tokio::spawn(async move {
            let files = fixture.files(&format!("w{writer}"));
            let mut done = 0;
            while done < EDITS {
                let mut patch = "*** Begin Patch\n".to_owned();
                for name in &names {
                    let shown = call(&files, "read_file", json!({"path": name})).await.unwrap();
                    let number: usize = shown.trim().strip_prefix("1|").unwrap().parse().unwrap();
                    patch += &format!("*** Update File: {name}\n-{number}\n+{}\n", number + 1);
                }
                patch += "*** End Patch";
                done += usize::from(
                    call(&files, "patch", json!({"mode": "patch", "patch": patch})).await.is_ok(),
                );
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for name in &names {
        assert_eq!(fixture.get(name), format!("{}\n", WRITERS * EDITS), "{name}");
    }
}
