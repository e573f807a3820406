//! What the kernel counts by user: what one account uses up, another still has.

use crate::confinement::arena::{Arena, OWNER, is_root, text};
use insula_sandbox::holdings::{device, holdings};
use insula_sandbox::{Child, HostUser, Output, QuotaAccount, Spec, Stdin};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe::Receiver;

/// Takes instances of `inotify` until there are no more.
const WATCHERS: &str = "
import ctypes
libc = ctypes.CDLL(None)
taken = 0
while taken < 1000 and libc.inotify_init1(0) >= 0: taken += 1
";

/// Starts processes until that fails.
const PROCESSES: &str = "
import os, time
taken = 0
while taken < 1000:
    try: child = os.fork()
    except OSError: break
    if child == 0:
        time.sleep(1000)
        os._exit(0)
    taken += 1
";

/// Has signals wait until no more can.
const SIGNALS: &str = "
import ctypes, os, signal
libc = ctypes.CDLL(None)
number = signal.SIGRTMIN + 3
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
taken = 0
while taken < 5000 and libc.sigqueue(os.getpid(), number, None) == 0: taken += 1
";

/// Says how much was taken, and holds it until its input ends.
const HOLD: &str = "
import sys
print(taken, flush=True)
sys.stdin.read()
";

/// A program that takes all it gets of something, for one of so many accounts.
fn greedy(arena: &Arena, takes: &str, account: u32, of: usize) -> Spec {
    let script = format!("{takes}{HOLD}");
    let mut spec = arena.spec("/usr/bin/python3", &["-I", "-c", &script]);
    spec.cwd = "/".into();
    (spec.reads, spec.writes, spec.executes) = (vec![], vec![], vec![]);
    spec.stdin = Stdin::Pipe;
    spec.output = Output::Stream;
    spec.limits.descriptors = 512;
    spec.owner = Some(HostUser { uid: OWNER.uid + account, gid: OWNER.gid + account });
    spec.account = QuotaAccount { name: format!("account {account}"), of };
    spec
}

/// A program that holds what it took.
struct Holder {
    _child: Child,
    _input: tokio::net::unix::pipe::Sender,
    _lines: Lines<BufReader<Receiver>>,
    took: u64,
}

async fn holding(arena: &Arena, takes: &str, account: u32, of: usize) -> Holder {
    let mut child = arena.sandbox.spawn(greedy(arena, takes, account, of)).await.unwrap();
    let input = child.take_stdin().unwrap();
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    let line = lines.next_line().await.unwrap();
    let took = line.as_deref().unwrap_or("0").parse().unwrap();
    Holder { _child: child, _input: input, _lines: lines, took }
}

#[tokio::test]
async fn one_account_can_not_take_the_watches_of_files_of_another() {
    let arena = Arena::new();
    let first = holding(&arena, WATCHERS, 1, 8).await;
    // Whose device nodes are the machine's has no watches at all: they would tell of others.
    if !is_root() && first.took == 0 {
        return;
    }
    let again = holding(&arena, WATCHERS, 1, 8).await;
    assert!(first.took > 0 && again.took == 0, "{} and {}", first.took, again.took);
    let other = holding(&arena, WATCHERS, 2, 8).await;
    assert_eq!(other.took, first.took, "the second account has as much as the first");
    // The rest of the machine has as much as all accounts may have together.
    if !is_root() {
        let quota = std::fs::read_to_string("/proc/sys/user/max_inotify_instances").unwrap();
        let quota: u64 = quota.trim().parse().unwrap();
        assert!(first.took * 8 <= quota / 2, "{} of {quota}", first.took);
    }
}

#[tokio::test]
async fn one_account_can_not_take_the_processes_of_another() {
    let arena = Arena::new();
    // Of so many accounts, each has the least there is.
    let first = holding(&arena, PROCESSES, 11, 100_000).await;
    let mut second = greedy(&arena, PROCESSES, 11, 100_000);
    second.limits.processes = 30;
    let second = arena.sandbox.spawn(second).await;
    // It could not even begin, or had what the first had left.
    if let Ok(mut child) = second {
        let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
        let line = lines.next_line().await.unwrap();
        let took: u64 = line.as_deref().unwrap_or("0").parse().unwrap_or(0);
        assert!(first.took + took < 32, "{} and {took} of one account", first.took);
    }
    let other = holding(&arena, PROCESSES, 12, 100_000).await;
    assert!(other.took > 20, "the second account started {}", other.took);
}

#[tokio::test]
async fn one_account_can_not_take_the_signals_of_another() {
    let arena = Arena::new();
    let first = holding(&arena, SIGNALS, 21, 100_000).await;
    let again = holding(&arena, SIGNALS, 21, 100_000).await;
    assert!(first.took >= 60 && again.took <= 4, "{} and {}", first.took, again.took);
    let other = holding(&arena, SIGNALS, 22, 100_000).await;
    assert!(other.took >= 60, "the second account has {}", other.took);
}

#[tokio::test]
async fn where_there_is_not_one_for_everybody_files_can_not_be_watched() {
    let arena = Arena::new();
    let one = holding(&arena, WATCHERS, 31, 100_000).await;
    // As root each account is a user of its own, and has what every user has.
    assert_eq!(one.took > 0, is_root(), "{}", one.took);
}

#[tokio::test]
async fn leases_notes_and_larger_pipes_are_refused() {
    let arena = Arena::new();
    let script = "
import fcntl, os
file = os.open('leased', os.O_RDWR | os.O_CREAT)
for what, call in {
    'a lease': lambda: fcntl.fcntl(file, 1024, fcntl.F_WRLCK),
    'a note': lambda: fcntl.fcntl(os.open('.', os.O_RDONLY), 1026, 1),
    'a larger pipe': lambda: fcntl.fcntl(os.pipe()[1], 1031, 1 << 20),
}.items():
    try:
        call()
        print(what)
    except OSError:
        pass
# What everybody needs goes on.
fcntl.fcntl(file, fcntl.F_GETFL)
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print('done')
";
    let finished = arena.run(arena.python(script)).await.unwrap();
    assert_eq!(text(&finished.stdout.bytes()), "done\n", "{}", text(&finished.stderr.bytes()));
}

#[tokio::test]
async fn descriptors_are_not_passed_where_their_number_is_everybodys() {
    let arena = Arena::new();
    let script = "
import socket
one, other = socket.socketpair()
try:
    socket.send_fds(one, [b'x'], [0])
    print('passed')
except PermissionError:
    print('refused')
";
    let finished = arena.run(arena.python(script)).await.unwrap();
    let expected = if is_root() { "passed\n" } else { "refused\n" };
    assert_eq!(text(&finished.stdout.bytes()), expected);
}

/// Writes 6 MB each to a file without a name, to one that is only mapped, and watches a little.
const NAMELESS: &str = "
import mmap, os, select
first = os.open('.', os.O_TMPFILE | os.O_RDWR)
os.write(first, b'x' * 6_000_000)
second = os.open('second', os.O_CREAT | os.O_RDWR)
os.write(second, b'x' * 6_000_000)
kept = mmap.mmap(second, 4096)
kept_too = os.dup(first)
os.unlink('second')
os.close(second)
os.fsync(first)
epoll = select.epoll()
for number in os.pipe() + os.pipe(): epoll.register(number)
import ctypes
ctypes.CDLL(None).prctl(4, 0)
taken = 1
";

#[tokio::test]
async fn content_without_a_name_is_seen_also_of_a_process_that_closes_itself() {
    let arena = Arena::new();
    let script = format!("{NAMELESS}{HOLD}");
    let mut spec = arena.spec("/usr/bin/python3", &["-I", "-c", &script]);
    spec.stdin = Stdin::Pipe;
    spec.output = Output::Stream;
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    let _input = child.take_stdin().unwrap();
    let mut lines = BufReader::new(child.take_stdout().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "1");
    let held = holdings(child.id());
    let disk = device(&arena.workspace).unwrap();
    let nameless = held.nameless.get(&disk).copied().unwrap_or_default();
    // Python's own mapping keeps a descriptor of the second file.
    assert!((12_000_000..13_000_000).contains(&nameless.bytes), "{held:?}");
    assert_eq!((nameless.files, held.watches), (2, 4), "{held:?}");
    assert!(!held.unseen && held.hidden.is_empty() && !held.in_flight, "{held:?}");
}
