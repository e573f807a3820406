//! What a program learns of programs of another agent by what both have: files of the system
//! that are watched or locked, numbers of the kernel that count over all.

use super::arena::{Arena, Level};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::{Daemon, Home};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Waits for a file, then goes on.
const WAIT: &str = "
import ctypes, fcntl, hashlib, json, os, socket, struct, subprocess, sys, time
def wait(name):
    while not os.path.exists(name): time.sleep(0.02)
";

/// Watches files of the system, and says what was opened.
const WATCH: &str = "
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
watched = [p for p in (b'/usr/bin', b'/etc/ssl/certs', b'/dev/null') if libc.inotify_add_watch(fd, p, 0xfff) >= 0]
print('watching', len(watched), flush=True)
wait('go-watch')
seen = b''
try: seen = os.read(fd, 1 << 16)
except OSError: pass
names = sorted(set(part for part in seen.replace(b'\\0', b' ').decode('latin1').split() if part.isalnum()))
print('saw', len(seen), names, 'end', flush=True)
";

/// Locks all that two agents could have in common.
const FILES: &str = "
files = ['/usr/bin/env', '/usr/bin', '/usr/lib', '/etc/ld.so.cache', '/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/hosts', '/etc/passwd', '/proc/version', '/proc/cpuinfo', '/']
devices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom']
def of_kind(kind): return struct.pack('hhqqi4x', kind, 0, 0, 0, 0)
def opened(paths):
    for path in paths:
        try: yield path, os.open(path, os.O_RDONLY)
        except OSError: pass
";

const LOCK: &str = "
held = list(opened(files + devices))
taken = 0
for path, fd in held:
    for lock in (lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.fcntl(fd, 37, of_kind(fcntl.F_RDLCK))):
        try: lock(); taken += 1
        except OSError: pass
print('locked', taken, 'end', flush=True)
wait('go-lock')
";

const LOOK_AT_LOCKS: &str = "
for path, fd in opened(files if sys.argv[1] == 'files' else devices):
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.flock(fd, fcntl.LOCK_UN)
    except BlockingIOError: print('seen: flock on', path)
    except OSError: pass
    try:
        if struct.unpack('hhqqi4x', fcntl.fcntl(fd, 36, of_kind(fcntl.F_WRLCK)))[0] != fcntl.F_UNLCK: print('seen: a range of', path)
    except OSError: pass
print('looked')
";

/// Reads what counts, and says a sum of each.
const COUNT: &str = "
out = {}
names = ['loadavg', 'stat', 'vmstat', 'meminfo', 'zoneinfo', 'cgroups', 'diskstats', 'interrupts', 'softirqs', 'schedstat', 'buddyinfo', 'slabinfo', 'locks', 'partitions', 'swaps',
    'pressure/cpu', 'pressure/io', 'pressure/memory', 'sys/fs/file-nr', 'sys/fs/inode-nr', 'sys/fs/inode-state', 'sys/fs/dentry-state', 'sys/kernel/ns_last_pid', 'sys/kernel/random/entropy_avail',
    'sys/kernel/pty/nr', 'self/cgroup', '1/cgroup', 'self/net/sockstat', 'self/net/sockstat6', 'self/net/softnet_stat', 'self/net/protocols', 'thread-self/net/sockstat']
for name in names:
    try: out[name] = open('/proc/' + name).read()
    except OSError as error: out[name] = error.strerror
memory = ctypes.create_string_buffer(256)
libc = ctypes.CDLL(None, use_errno=True)
out['sysinfo'] = [libc.sysinfo(memory), struct.unpack('6LH', memory.raw[8:58])[:6], struct.unpack_from('H', memory.raw, 80)]
for path in ('/', '/usr', '.', '/tmp'):
    try: found = os.statvfs(path); out['free blocks of ' + path] = [found.f_bfree, found.f_ffree]
    except OSError as error: out['free blocks of ' + path] = error.strerror
for name in out: print('COUNTED', hashlib.sha1(json.dumps(out[name]).encode()).hexdigest(), name)
";

/// Takes some of everything that is counted.
const BUSY: &str = "
kept = [open('/usr/bin/env') for _ in range(20)]
held = bytearray(b'x') * (64 << 20)
open('blocks', 'wb').write(held[:16 << 20])
os.sync()
children = [subprocess.Popen(['sleep', '100']) for _ in range(4)]
print('busy', flush=True)
wait('go-busy')
for child in children: child.kill()
";

fn missing(ground: &Ground) -> Result<Option<Verdict>> {
    Ok(Arena::of(ground)?.missing.clone().map(Verdict::NotRun))
}

/// Puts a program into an agent's folder.
fn put(ground: &Ground, agent: &str, name: &str, parts: &[&str]) -> Result<()> {
    let path = ground.path(&format!("agents/{agent}/workspace/{name}"))?;
    machine::write(&path, parts.concat().as_bytes())?;
    beside::set_mode(&path, 0o644)
}

/// Starts a program of an agent and waits until it says something.
fn begin(ground: &Ground, agent: &str, name: &str, parts: &[&str], says: &str) -> Result<String> {
    put(ground, agent, name, parts)?;
    let wish = json!({ "command": format!("exec python3 -I {name}"), "background": true });
    let started = ground.call(agent, name, "terminal", wish)?;
    anyhow::ensure!(started.contains("p1"), "{started}");
    machine::eventually("it began", || said(ground, agent, name, says))
}

/// What a program said, once it has these words.
fn said(ground: &Ground, agent: &str, name: &str, words: &str) -> Result<Option<String>> {
    let log =
        ground.call(agent, name, "process", json!({ "action": "log", "session_id": "p1" }))?;
    anyhow::ensure!(!log.contains("Traceback"), "{log}");
    Ok(log.contains(words).then_some(log))
}

/// Lets a program that waits go on.
fn go_on(ground: &Ground, agent: &str, file: &str) -> Result<()> {
    machine::write(&ground.path(&format!("agents/{agent}/workspace/{file}"))?, b"")
}

fn tidy(ground: &Ground, agent: &str, names: &[&str]) -> Result<()> {
    for name in names {
        let path = ground.path(&format!("agents/{agent}/workspace/{name}"))?;
        drop(machine::remove(&path));
    }
    Ok(())
}

fn programs_by_a_watch(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    begin(ground, "shell", "watch.py", &[WAIT, WATCH], "watching")?;
    let run = ground.shell("b", "acts", "tsort /dev/null; echo ran")?;
    control!(run.contains("ran"), "the other's program did not run: {run}");
    go_on(ground, "shell", "go-watch")?;
    let log =
        machine::eventually("it says what it saw", || said(ground, "shell", "watch.py", " end"))?;
    tidy(ground, "shell", &["watch.py", "go-watch"])?;
    hold!(!log.contains("tsort"), "a watch told what another agent ran: {log}");
    hold!(log.contains("saw 0 "), "a watch told of something that is not its own: {log}");
    Ok(Verdict::Held)
}

fn bits_by_locks(ground: &Ground, on: &str) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    if on == "devices" && Arena::of(ground)?.level == Level::Ordinary {
        let why = "known to get through: an ordinary user can't make device nodes, so all programs have the machine's (SECURITY.md)";
        return Ok(Verdict::NotRun(why.to_owned()));
    }
    let name = if on == "files" { "lock.py" } else { "lock-devices.py" };
    let log = begin(ground, "b", name, &[WAIT, FILES, LOCK], " end")?;
    let taken = log.split("locked ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    put(ground, "shell", "look.py", &[WAIT, FILES, LOOK_AT_LOCKS])?;
    let seen = ground.shell("shell", "looks", &format!("python3 -I look.py {on}"))?;
    go_on(ground, "b", "go-lock")?;
    machine::eventually("the locks are gone", || {
        let list = ground.call("b", name, "process", json!({ "action": "list" }))?;
        Ok((!list.contains("runs")).then_some(()))
    })?;
    tidy(ground, "shell", &["look.py"])?;
    tidy(ground, "b", &[name, "go-lock"])?;
    control!(seen.contains("looked"), "nobody looked: {seen}");
    // Where no lock can be had, none can be seen.
    control!(taken.unwrap_or(0) > 10, "hardly anything was locked: {log}");
    hold!(!seen.contains("seen:"), "locks of another agent: {seen}");
    Ok(Verdict::Held)
}

fn bits_by_locks_on_files(ground: &Ground) -> Outcome {
    bits_by_locks(ground, "files")
}

fn bits_by_locks_on_devices(ground: &Ground) -> Outcome {
    bits_by_locks(ground, "devices")
}

/// What counts, as a program of `shell` reads it now: a sum of each, by name.
fn counted(ground: &Ground, session: &str) -> Result<BTreeMap<String, String>> {
    let told = ground.shell("shell", session, "python3 -I count.py")?;
    let lines = told.lines().filter_map(|line| line.split_once("COUNTED ")?.1.split_once(' '));
    Ok(lines.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect())
}

fn numbers_that_count_others(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    put(ground, "shell", "count.py", &[WAIT, COUNT])?;
    let before = counted(ground, "counts")?;
    begin(ground, "b", "busy.py", &[WAIT, BUSY], "busy")?;
    let after = counted(ground, "counts again")?;
    go_on(ground, "b", "go-busy")?;
    machine::eventually("b rests", || {
        let list = ground.call("b", "busy.py", "process", json!({ "action": "list" }))?;
        Ok((!list.contains("runs")).then_some(()))
    })?;
    tidy(ground, "shell", &["count.py"])?;
    tidy(ground, "b", &["busy.py", "go-busy", "blocks"])?;
    control!(before.len() > 30, "hardly anything was counted: {before:?}");
    let differ: Vec<&String> =
        before.iter().filter(|(name, sum)| after.get(*name) != Some(sum)).map(|it| it.0).collect();
    hold!(differ.is_empty(), "these differ while another agent is busy: {differ:?}");
    Ok(Verdict::Held)
}

/// Whether a daemon serves a home at this path; what it says if it does not.
fn serves(ground: &Ground, home: &Path) -> Option<String> {
    match Daemon::start(&ground.stage().insula, home) {
        Ok(daemon) => {
            drop(daemon.kill9());
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

fn a_home_where_all_programs_read(ground: &Ground) -> Outcome {
    if let Some(verdict) = missing(ground)? {
        return Ok(verdict);
    }
    if !machine::is_root() {
        return Ok(Verdict::NotRun("only root can put a folder below /usr".to_owned()));
    }
    let elsewhere = Home::empty()?;
    beside::set_mode(elsewhere.path(), 0o755)?;
    let link = elsewhere.path().join("home");
    for below in ["/usr/local/lib", "/usr/share"] {
        let folder = machine::scratch(Path::new(below))?;
        let home = folder.path().join("home");
        machine::write(&home.join("config.yaml"), b"agents: {a: {}}\n")?;
        machine::link(&home, &link)?;
        for path in [&home, &link] {
            let said = serves(ground, path);
            let path = path.display();
            let Some(said) = said else {
                return Ok(Verdict::Broken(format!(
                    "the daemon serves {path}, in {below}, where programs of every agent read"
                )));
            };
            control!(said.contains("programs of every agent"), "it did not serve {path}: {said}");
            hold!(said.contains("--home"), "it does not say what to do: {said}");
        }
        let made = machine::names(&home);
        hold!(made == ["config.yaml"], "{made:?} were made in {}", home.display());
        machine::remove(&link)?;
    }
    Ok(Verdict::Held)
}

macro_rules! both {
    ($who:literal) => {
        &[
            Attempt {
                row: "E3",
                variant: concat!("programs of another by a watch on the system (", $who, ")"),
                run: programs_by_a_watch,
            },
            Attempt {
                row: "E3",
                variant: concat!("bits by locks on the system's files (", $who, ")"),
                run: bits_by_locks_on_files,
            },
            Attempt {
                row: "E3",
                variant: concat!("bits by locks on device nodes (", $who, ")"),
                run: bits_by_locks_on_devices,
            },
            Attempt {
                row: "E5",
                variant: concat!("numbers that count what others do (", $who, ")"),
                run: numbers_that_count_others,
            },
            Attempt {
                row: "E1",
                variant: concat!("a home where programs of every agent read (", $who, ")"),
                run: a_home_where_all_programs_read,
            },
        ]
    };
}

/// With the daemon as root.
pub const AS_ROOT: &[Attempt] = both!("root");
/// With the daemon as an ordinary user.
pub const AS_USER: &[Attempt] = both!("user");
