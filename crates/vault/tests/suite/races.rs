//! Writers that meet, and writers that are killed.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the files of a temporary vault"
)]

use crate::common::{Home, agent, name};
use insula_vault::Secret;
use std::fs::{self, File};
use std::time::{Duration, Instant};

/// The value of one round: long enough that half of one would show.
fn value(round: usize) -> Secret {
    Secret::new(char::from(b'a' + (round % 26) as u8).to_string().repeat(1 + round * 97 % 5_000))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_reads_while_others_write_gets_one_value_whole() {
    let home = Home::new();
    // Two vaults, as a daemon and a command have them: neither knows of the other's writes.
    let vaults = [home.vault().await, home.vault().await];
    let mut tasks = vec![];
    for task in 0..8 {
        let secrets = vaults[task % 2].agent(&agent("coder"));
        tasks.push(tokio::spawn(async move {
            for round in 0..20 {
                secrets.set(&name("A"), value(task * 20 + round)).await.unwrap();
                let read = secrets.get(&name("A")).await.unwrap().unwrap();
                let first = read.reveal().as_bytes()[0];
                assert!(read.reveal().bytes().all(|byte| byte == first));
            }
        }));
    }
    // More vaults are opened, and sweep, meanwhile.
    for _ in 0..50 {
        home.vault().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fs::read_dir(home.path("new")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_come_first_at_once_end_with_one_key() {
    for _ in 0..20 {
        let home = Home::new();
        let mut tasks = vec![];
        for task in 0..4 {
            let secrets = home.vault().await.agent(&agent("coder"));
            tasks.push(tokio::spawn(async move {
                secrets.set(&name(&format!("N{task}")), value(task)).await.unwrap();
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let secrets = home.vault().await.agent(&agent("coder"));
        for task in 0..4 {
            let read = secrets.get(&name(&format!("N{task}"))).await.unwrap();
            assert_eq!(read, Some(value(task)));
        }
    }
}

#[tokio::test]
async fn what_a_killed_writer_left_is_swept_and_what_is_being_written_stays() {
    let home = Home::new();
    let secrets = home.vault().await.agent(&agent("coder"));
    secrets.set(&name("A"), Secret::new("kept")).await.unwrap();
    fs::write(home.path("new/0123"), "half of a sec").unwrap();
    let writing = File::create(home.path("new/4567")).unwrap();
    writing.try_lock().unwrap();
    home.vault().await;
    assert!(!home.path("new/0123").exists());
    assert!(home.path("new/4567").exists());
    drop(writing);
    home.vault().await;
    assert!(!home.path("new/4567").exists());
    assert_eq!(secrets.get(&name("A")).await.unwrap(), Some(Secret::new("kept")));
}

/// The program that is killed: writes until it is.
#[test]
fn writes_until_killed() {
    let Ok(home) = std::env::var("VAULT_TEST_HOME") else { return };
    let world = insula_world::World::real().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let vault = insula_vault::Vault::open(home.as_ref(), &world).await.unwrap();
        for round in 0.. {
            vault.daemon().set(&name("A"), value(round)).await.unwrap();
        }
    });
}

#[tokio::test]
#[allow(clippy::disallowed_types, reason = "the test kills a program it started")]
async fn a_writer_killed_at_any_moment_leaves_a_whole_value() {
    let home = Home::new();
    home.vault().await.daemon().set(&name("A"), value(0)).await.unwrap();
    for round in 0..20 {
        let mut writer = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "races::writes_until_killed"])
            .env("VAULT_TEST_HOME", home.home())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Until it has written something, and then a little longer each time.
        let before = fs::read(home.path("daemon/A")).unwrap();
        let begun = Instant::now();
        while fs::read(home.path("daemon/A")).unwrap() == before {
            assert!(begun.elapsed() < Duration::from_secs(30), "the writer does not write");
            std::thread::yield_now();
        }
        let until = Instant::now() + Duration::from_micros(round * 137);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let vault = home.vault().await;
        let read = vault.daemon().get(&name("A")).await.unwrap().unwrap();
        let first = read.reveal().as_bytes()[0];
        assert!(read.reveal().bytes().all(|byte| byte == first));
        assert_eq!(fs::read_dir(home.path("new")).unwrap().count(), 0);
    }
}
