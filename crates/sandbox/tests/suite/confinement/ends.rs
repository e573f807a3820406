//! How confined processes end: by themselves, by a limit, by being dropped, and never alone.

use crate::confinement::arena::{Arena, text};
use insula_sandbox::{ExitOutcome, Limit, Output, Stdin};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[tokio::test]
async fn children_stand_behind_everyone_else_unless_told_otherwise() {
    let arena = Arena::new();
    let mut spec = arena.shell("nice");
    spec.priority = insula_sandbox::Priority::Idle;
    assert_eq!(text(&arena.run(spec).await.unwrap().stdout.bytes()), "19\n");
    let finished = arena.run(arena.shell("nice")).await.unwrap();
    assert_ne!(text(&finished.stdout.bytes()), "19\n");
}

/// Processes of the host whose command line holds a word.
fn processes_with(word: &str) -> usize {
    let holds = |entry: std::io::Result<std::fs::DirEntry>| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(text(&line).contains(word))
    };
    std::fs::read_dir("/proc").unwrap().filter_map(holds).filter(|found| *found).count()
}

/// A word that stands in no other command line.
fn word(arena: &Arena) -> String {
    let folder = arena.workspace.parent().unwrap().file_name().unwrap();
    format!("word-{}", folder.to_str().unwrap().trim_start_matches('.'))
}

/// A child that has started a second session and says so, then sleeps.
const DAEMON: &str =
    "setsid sh -c 'trap \"\" TERM INT HUP; echo away; while :; do sleep 1000; done' \"$1\" & wait";

#[tokio::test]
async fn an_exit_code_and_both_streams_come_back() {
    let arena = Arena::new();
    let finished = arena.run(arena.shell("echo out; echo err >&2; exit 7")).await.unwrap();
    assert_eq!(finished.exit.outcome, ExitOutcome::Exited(7));
    assert_eq!(text(&finished.stdout.bytes()), "out\n");
    assert_eq!(text(&finished.stderr.bytes()), "err\n");
    assert!(finished.exit.reached.is_empty());
}

#[tokio::test]
async fn a_signal_it_sent_itself_is_told() {
    let arena = Arena::new();
    let finished = arena.run(arena.shell("kill -SEGV $$")).await.unwrap();
    assert_eq!(finished.exit.outcome, ExitOutcome::Signaled(11));
}

#[tokio::test]
async fn an_output_flood_is_cut_and_counted() {
    let arena = Arena::new();
    let mut spec = arena.shell("head -c 100000000 /dev/zero | tr '\\0' x; echo end");
    spec.limits.output_bytes = 1000;
    let finished = arena.run(spec).await.unwrap();
    assert!(finished.exit.is_success());
    assert_eq!(finished.stdout.total, 100_000_004);
    assert_eq!(finished.stdout.bytes().len(), 1000);
    assert_eq!(finished.stdout.dropped(), 99_999_004);
    assert!(finished.stdout.bytes().ends_with(b"xend\n"));
}

#[tokio::test]
async fn a_memory_hog_ends() {
    let arena = Arena::new();
    let hog = "x = []\nwhile True: x.append(bytearray(8 << 20))";
    let mut spec = arena.python(hog);
    spec.limits.memory_bytes = 128 << 20;
    let finished = arena.run(spec).await.unwrap();
    // Each process is bounded by itself, and tells so.
    assert!(!finished.exit.is_success(), "{finished:?}");
}

#[tokio::test]
async fn memory_is_counted_over_the_whole_tree() {
    let arena = Arena::new();
    let hogs = "import time\nfor _ in range(12):\n    if os.fork() == 0:\n        x = bytearray(48 << 20)\n        while True: time.sleep(1000)\nwhile True: time.sleep(1000)";
    let mut spec = arena.python(hogs);
    spec.limits.memory_bytes = 128 << 20;
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    // A cgroup kills the hogs one by one and leaves the waiting parent; a watchdog ends all.
    let machine = arena.sandbox.machine().await;
    let counted = machine.availability(insula_sandbox::Layer::MemoryCgroup);
    if counted == insula_sandbox::Availability::Enforced {
        let arena = Arena::new();
        let hogs = "for _ in range(12):\n    if os.fork() == 0:\n        x = bytearray(48 << 20)\n        signal.pause()\nstatus = os.wait()[1]\nos._exit(7 if os.WIFSIGNALED(status) and os.WTERMSIG(status) == 9 else 1)";
        let mut spec = arena.python(hogs);
        spec.limits.memory_bytes = 128 << 20;
        let exit = arena.run(spec).await.unwrap().exit;
        assert_eq!(exit.outcome, ExitOutcome::Exited(7));
        assert!(exit.reached.contains(&Limit::Memory), "{exit:?}");
    } else {
        let exit = child.wait().await.unwrap();
        assert_eq!(exit.outcome, ExitOutcome::Ended(Limit::Memory));
    }
}

#[tokio::test]
async fn shared_memory_is_counted_too() {
    let arena = Arena::new();
    let hog = "import mmap, time\nx = mmap.mmap(-1, 400 << 20)\nfor n in range(0, 400 << 20, 4096): x[n] = 1\nwhile True: time.sleep(1000)";
    let mut spec = arena.python(hog);
    spec.limits.memory_bytes = 128 << 20;
    let exit = arena.run(spec).await.unwrap().exit;
    assert_eq!(exit.outcome, ExitOutcome::Ended(Limit::Memory), "{exit:?}");
}

#[tokio::test]
async fn a_fork_bomb_is_bounded() {
    let arena = Arena::new();
    let bomb = "n = 0\ntry:\n    while True:\n        if os.fork() == 0: signal.pause()\n        n += 1\nexcept OSError: print(n)";
    let mut spec = arena.python(bomb);
    spec.limits.processes = 20;
    let finished = arena.run(spec).await.unwrap();
    assert!(finished.exit.is_success(), "{}", text(&finished.stderr.bytes()));
    let count: u64 = text(&finished.stdout.bytes()).trim().parse().unwrap();
    assert!((15..=20).contains(&count), "{count} processes");
}

#[tokio::test]
async fn threads_count_as_processes() {
    let arena = Arena::new();
    let bomb = "import threading\nn = 0\ntry:\n    while n < 200:\n        threading.Thread(target=signal.pause, daemon=True).start()\n        n += 1\nexcept RuntimeError: pass\nprint(n, flush=True)\nos._exit(0)";
    let mut spec = arena.python(bomb);
    spec.limits.processes = 20;
    let finished = arena.run(spec).await.unwrap();
    let count: u64 = text(&finished.stdout.bytes()).trim().parse().unwrap();
    assert!(count <= 20, "{count} threads");
}

#[tokio::test]
async fn the_wall_clock_ends_a_process_that_ignores_signals() {
    let arena = Arena::new();
    let mut spec = arena.shell("trap '' TERM INT HUP; while :; do sleep 1000; done");
    spec.limits.wall_clock = Some(Duration::from_millis(300));
    let exit = arena.run(spec).await.unwrap().exit;
    assert_eq!(exit.outcome, ExitOutcome::Ended(Limit::WallClock));
    assert!(exit.reached.contains(&Limit::WallClock));
}

#[tokio::test]
async fn processor_time_ends_a_process_that_spins() {
    let arena = Arena::new();
    let mut spec = arena.python("while True: pass");
    spec.limits.cpu_time = Duration::from_secs(1);
    let exit = arena.run(spec).await.unwrap().exit;
    assert_eq!(exit.outcome, ExitOutcome::Ended(Limit::CpuTime));
}

#[tokio::test]
async fn a_file_too_large_ends_a_process_that_does_not_care() {
    let arena = Arena::new();
    let mut spec = arena.shell("exec head -c 2000000 /dev/zero > large");
    spec.limits.file_bytes = 1_000_000;
    let exit = arena.run(spec).await.unwrap().exit;
    assert_eq!(exit.outcome, ExitOutcome::Ended(Limit::FileSize));
    assert_eq!(std::fs::metadata(arena.workspace.join("large")).unwrap().len(), 1_000_000);
}

#[tokio::test]
async fn a_daemonised_grandchild_ends_with_the_program() {
    let arena = Arena::new();
    let word = word(&arena);
    let script = "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1000; done' \"$0\" >/dev/null 2>&1 & exit 0";
    let finished = arena.run(arena.spec("/bin/sh", &["-c", script, &word])).await.unwrap();
    assert!(finished.exit.is_success());
    assert_eq!(processes_with(&word), 0);
}

#[tokio::test]
async fn killing_ends_the_whole_tree_and_waits_for_it() {
    let arena = Arena::new();
    let word = word(&arena);
    let mut spec = arena.spec("/bin/sh", &["-c", DAEMON, "sh", &word]);
    spec.output = Output::Stream;
    spec.limits.wall_clock = None;
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "away");
    assert!(processes_with(&word) >= 2);
    assert!(child.try_exit().is_none());
    let exit = child.kill().await.unwrap();
    assert_eq!(exit.outcome, ExitOutcome::Killed);
    assert_eq!(processes_with(&word), 0);
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn dropping_ends_the_whole_tree() {
    let arena = Arena::new();
    let word = word(&arena);
    let mut spec = arena.spec("/bin/sh", &["-c", DAEMON, "sh", &word]);
    spec.output = Output::Stream;
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "away");
    drop(child);
    // The pipe ends when its last writer is gone.
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn dropping_the_sandbox_ends_its_children() {
    let arena = Arena::new();
    let mut spec = arena.spec("/bin/sh", &["-c", DAEMON, "sh", &word(&arena)]);
    spec.output = Output::Stream;
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "away");
    // The child is leaked, as by a panic elsewhere: only the launcher's end is left.
    std::mem::forget(child);
    drop(arena);
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_child_can_be_talked_to() {
    let arena = Arena::new();
    let mut spec = arena.shell("while read line; do echo \"heard $line\"; done; echo over");
    spec.stdin = Stdin::Pipe;
    spec.output = Output::Stream;
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    let mut input = child.take_stdin().unwrap();
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    for word in ["one", "two"] {
        input.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("heard {word}"));
    }
    drop(input);
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "over");
    assert!(child.wait().await.unwrap().is_success());
}

#[tokio::test]
async fn no_cgroup_is_left_behind() {
    let arena = Arena::new();
    let groups = || {
        let mark = format!("insula-{}-", std::process::id());
        let mut found = vec![];
        for top in ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"] {
            let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
            found.extend(
                entries.map(|e| e.file_name()).filter(|n| n.to_str().unwrap().starts_with(&mark)),
            );
        }
        found
    };
    for _ in 0..3 {
        assert!(arena.run(arena.shell("true")).await.unwrap().exit.is_success());
    }
    // The next start does what the last end could not yet.
    let child = arena.sandbox.spawn(arena.shell("sleep 1000")).await.unwrap();
    let left = groups();
    assert!(left.len() <= 4 || !Path::new("/sys/fs/cgroup/memory").exists(), "{left:?}");
    drop(child);
}
