//! Two children beside each other: neither sees what the other does, by no file that both have
//! and by no number that counts over both.

use crate::confinement::arena::{Arena, CANARY, is_root, sandbox_hiding, text};
use insula_sandbox::{Availability, Child, Finished, Hidden, Layer, Spec, Stdin};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

/// A child that says something, then waits to be told to go on.
struct Paused {
    child: Child,
    said: BufReader<tokio::net::unix::pipe::Receiver>,
    stdin: tokio::net::unix::pipe::Sender,
}

impl Paused {
    /// Starts it; the first line it says.
    async fn start(arena: &Arena, mut spec: Spec) -> (Self, String) {
        spec.stdin = Stdin::Pipe;
        spec.output = insula_sandbox::Output::Stream;
        let mut child = arena.sandbox.spawn(spec).await.unwrap();
        let stdin = child.take_stdin().unwrap();
        let mut said = BufReader::new(child.take_stdout().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).await.unwrap();
        (Self { child, said, stdin }, line)
    }

    /// Lets it go on; what it says until its end.
    async fn go_on(mut self) -> String {
        self.stdin.write_all(b"go\n").await.unwrap();
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).await.unwrap();
        self.child.finish().await.unwrap();
        rest
    }
}

fn succeeded(finished: &Finished) -> String {
    let (out, err) = (text(&finished.stdout.bytes()), text(&finished.stderr.bytes()));
    assert!(finished.exit.is_success(), "{:?}\n{out}\n{err}", finished.exit);
    out
}

async fn has(arena: &Arena, layer: Layer) -> bool {
    arena.sandbox.machine().await.availability(layer) == Availability::Enforced
}

/// Every file system in sight, by the number of its device, with one path of each.
const DEVICES: &str = "
import os
seen = {}
for top, folders, files in os.walk('/'):
    if top.startswith('/proc/') and top.split('/')[2].isdigit(): folders.clear(); continue
    folders[:] = [f for f in folders if not os.path.islink(os.path.join(top, f))][:64]
    for name in [''] + folders + files[:64]:
        path = os.path.join(top, name)
        try: seen.setdefault(os.lstat(path).st_dev, path)
        except OSError: pass
print(' '.join('%d=%s' % it for it in sorted(seen.items())), flush=True)
input()
";

#[tokio::test]
async fn two_children_have_no_file_in_common_but_what_both_were_granted() {
    let arena = Arena::new();
    let devices = |line: &str| -> BTreeSet<(String, String)> {
        let pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(device, path)| (device.to_owned(), path.to_owned())).collect()
    };
    let (one, first) = Paused::start(&arena, arena.python(DEVICES)).await;
    let (two, second) = Paused::start(&arena, arena.python(DEVICES)).await;
    let (first, second) = (devices(&first), devices(&second));
    assert!(first.len() > 4, "nothing was seen: {first:?}");
    let numbers: BTreeSet<&str> = second.iter().map(|(device, _)| device.as_str()).collect();
    let mut common: Vec<&str> = first
        .iter()
        .filter(|(device, _)| numbers.contains(device.as_str()))
        .map(|(_, path)| path.as_str())
        .collect();
    let granted = [arena.workspace.to_str().unwrap(), arena.shared.to_str().unwrap()];
    common.retain(|path| !granted.iter().any(|granted| path.starts_with(granted)));
    if !has(&arena, Layer::OwnDevices).await {
        // Only root can make device nodes; what that leaves is in SECURITY.md.
        assert!(!is_root());
        common.retain(|path| !path.starts_with("/dev/"));
    }
    assert_eq!(common, [""; 0], "{first:?}\n{second:?}");
    one.go_on().await;
    two.go_on().await;
}

/// Locks what every child can open, each way there is.
const HOLD: &str = "
import fcntl, struct
files = ['/usr/bin/env', '/usr/bin', '/etc/ld.so.cache', '/etc/ssl/certs', '/etc/hosts', '/proc/version', '/proc', '/tmp', '/', '/dev']
if E.get('DEVICES'): files += ['/dev/null', '/dev/zero', '/dev/urandom']
held, locks = [], []
for path in files:
    try: held.append((path, os.open(path, os.O_RDONLY)))
    except OSError: continue
def range_of(kind): return struct.pack('hhqqi4x', kind, 0, 0, 0, 0)
";

#[tokio::test]
async fn a_lock_of_one_child_is_not_seen_by_another() {
    let arena = Arena::new();
    let devices = if has(&arena, Layer::OwnDevices).await { "yes" } else { "" };
    let lock = format!(
        "{HOLD}
taken = 0
for path, fd in held:
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); taken += 1
    except OSError as error: print(path, error, file=sys.stderr)
    try: fcntl.fcntl(fd, 37, range_of(fcntl.F_RDLCK)); taken += 1
    except OSError as error: print(path, error, file=sys.stderr)
print(taken, flush=True)
input()"
    );
    let look = format!(
        "{HOLD}
for path, fd in held:
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.flock(fd, fcntl.LOCK_UN)
    except OSError as error: print('flock', path, error)
    try:
        if struct.unpack('hhqqi4x', fcntl.fcntl(fd, 36, range_of(fcntl.F_WRLCK)))[0] != fcntl.F_UNLCK: print('range', path)
    except OSError as error: print(path, error)"
    );
    let spec = |script: &str| {
        let mut spec = arena.python(script);
        spec.env.insert("DEVICES".into(), devices.into());
        spec
    };
    let (holder, taken) = Paused::start(&arena, spec(&lock)).await;
    assert!(taken.trim().parse::<u32>().unwrap() >= 12, "hardly anything was locked: {taken}");
    let seen = succeeded(&arena.run(spec(&look)).await.unwrap());
    assert_eq!(seen, "");
    holder.go_on().await;
}

/// Watches what every child has, and says what it saw.
const WATCH: &str = "
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
watched = [p for p in (b'/usr/bin', b'/usr/lib', b'/etc', b'/dev', b'/dev/null', b'/proc') if libc.inotify_add_watch(fd, p, 0xfff) >= 0]
print(len(watched), flush=True)
input()
try: print(os.read(fd, 1 << 16))
except OSError as error: print(error)
";

#[tokio::test]
async fn a_watch_on_the_system_tells_nothing_of_others() {
    let arena = Arena::new();
    let (watcher, watched) = Paused::start(&arena, arena.python(WATCH)).await;
    let may_watch = has(&arena, Layer::OwnDevices).await && has(&arena, Layer::SystemView).await;
    assert_eq!(watched.trim() == "6", may_watch, "{watched}");
    assert!(may_watch || watched.trim() == "0", "{watched}");
    // Neither another child nor the host.
    succeeded(&arena.run(arena.shell("tsort /dev/null; cat /etc/hosts >/dev/null")).await.unwrap());
    let by_host = Command::new("/usr/bin/tsort").arg("/dev/null").status().unwrap();
    assert!(by_host.success());
    let seen = watcher.go_on().await;
    assert!(!seen.contains("tsort") && !seen.starts_with("b'"), "{seen}");
}

#[tokio::test]
async fn a_watch_tells_a_child_of_its_own_files() {
    let arena = Arena::new();
    if !has(&arena, Layer::OwnDevices).await || !has(&arena, Layer::SystemView).await {
        return;
    }
    let script = "
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
for p in (b'/usr/bin', b'.'): assert libc.inotify_add_watch(fd, p, 0xfff) >= 0
subprocess.run(['tsort', '/dev/null'])
open('made', 'w').write('x')
seen = os.read(fd, 1 << 16)
print(b'tsort' in seen, b'made' in seen)";
    assert_eq!(succeeded(&arena.run(arena.python(script)).await.unwrap()), "True True\n");
}

/// All that is not of a process, below `/proc`, and what calls of the kernel count.
const COUNTERS: &str = "
out = {}
for top, folders, files in os.walk('/proc'):
    folders[:] = [f for f in folders if not f.isdigit()]
    for name in files:
        path = os.path.join(top, name)
        if path in ('/proc/uptime', '/proc/sys/kernel/random/uuid'): continue
        try: out[path] = open(path, 'rb').read().decode('latin1')
        except OSError as error: out[path] = str(error)
for name in ('cgroup', 'net/sockstat', 'net/softnet_stat', 'net/protocols', 'net/netstat', 'net/snmp', 'net/unix'):
    try: out[name] = open('/proc/self/' + name).read()
    except OSError as error: out[name] = str(error)
libc = ctypes.CDLL(None, use_errno=True)
memory = ctypes.create_string_buffer(1024)
for name in ('sysinfo',):
    out[name] = str(getattr(libc, name)(memory)) + str(memory.raw)
for path in ('/', '/usr', E['WORKSPACE'], '/tmp'):
    try: out['free ' + path] = str(os.statvfs(path))
    except OSError as error: out['free ' + path] = str(error)
print(json.dumps(out, sort_keys=True))
";

#[tokio::test]
async fn what_proc_counts_is_the_same_whatever_others_do() {
    let arena = Arena::new();
    let counters = format!("import json\n{COUNTERS}");
    let before = succeeded(&arena.run(arena.python(&counters)).await.unwrap());
    // Processes, memory, open files, sockets, cgroups and blocks of others.
    let busy = "
import socket
kept = [open('/usr/bin/env') for _ in range(20)] + [os.pipe() for _ in range(10)]
memory = bytearray(b'x') * (32 << 20)
open('blocks', 'wb').write(memory[:8 << 20])
print('busy', flush=True)
input()";
    let mut others = vec![];
    for _ in 0..3 {
        others.push(Paused::start(&arena, arena.python(busy)).await.0);
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let open: Vec<_> = (0..16).map(|_| std::net::TcpStream::connect(to).unwrap()).collect();
    let after = succeeded(&arena.run(arena.python(&counters)).await.unwrap());
    drop(open);
    for other in others {
        other.go_on().await;
    }
    let parsed = |text: &str| -> std::collections::BTreeMap<String, String> {
        serde_json::from_str(text).unwrap()
    };
    let (before, after) = (parsed(&before), parsed(&after));
    assert!(before.len() > 30, "hardly anything was seen: {:?}", before.keys());
    for (name, said) in &before {
        assert_eq!(after.get(name), Some(said), "{name} differs");
    }
    assert_eq!(before.len(), after.len());
    let groups = before.get("cgroup").unwrap();
    assert!(groups.lines().all(|line| line.ends_with(":/")), "{groups}");
    assert!(!before.get("/proc/meminfo").unwrap().is_empty());
}

#[tokio::test]
async fn programs_find_what_they_expect_in_proc() {
    let arena = Arena::new();
    let script = "set -e
        test \"$(nproc)\" -ge 1 && grep -c ^processor /proc/cpuinfo | grep -qx \"$(grep -c '^cpu[0-9]' /proc/stat)\"
        free -m | grep -q ' 256 ' && uptime > uptime.txt && ps -ef > /dev/null
        test \"$(cat /proc/sys/kernel/random/uuid)\" != \"$(cat /proc/sys/kernel/random/uuid)\"
        test \"$(cat /proc/sys/kernel/osrelease)\" = \"$(uname -r)\" && grep -q proc /proc/filesystems
        grep -q /usr /proc/mounts && readlink /proc/self/exe && cat <(echo fine)";
    let out = succeeded(&arena.run(arena.spec("/bin/bash", &["-c", script])).await.unwrap());
    assert!(out.contains("fine") && out.contains("readlink"), "{out}");
    for path in ["meminfo", "version", "sys/kernel/hostname", "cpuinfo", "self/comm"] {
        let script = format!("chmod u+w /proc/{path} || echo x > /proc/{path}");
        let refused = arena.run(arena.shell(&script)).await.unwrap();
        assert!(!refused.exit.is_success(), "{path} was changed");
    }
}

#[tokio::test]
async fn settings_among_the_systems_files_are_not_shown() {
    let arena = Arena::new();
    let script = "for f in /usr/etc /usr/local/etc; do ls -A $f 2>/dev/null; done; echo done";
    assert_eq!(succeeded(&arena.run(arena.shell(script)).await.unwrap()), "done\n");
}

#[tokio::test]
async fn a_hidden_folder_is_empty_also_in_a_granted_one_but_for_what_was_granted_in_it() {
    let mut arena = Arena::new();
    let home = arena.path("shared/daemon");
    let (vault, own): (PathBuf, PathBuf) = (home.join("vault"), home.join("agents/a/workspace"));
    std::fs::create_dir_all(&vault).unwrap();
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(vault.join("key"), CANARY).unwrap();
    std::fs::write(home.join("token"), CANARY).unwrap();
    std::fs::write(own.join("mine"), "mine").unwrap();
    let hidden = Hidden { around: vec![home.clone()], whole: vec![vault.clone()] };
    arena.sandbox = sandbox_hiding(hidden);
    let script = "ls -RA $SHARED/daemon; cat $SHARED/daemon/vault/key $SHARED/daemon/token; cat $SHARED/daemon/agents/a/workspace/mine $SHARED/readable; touch $SHARED/daemon/x; true";
    // Around it, and beside a grant inside of it.
    let out = succeeded(&arena.run(arena.shell(script)).await.unwrap());
    assert!(!out.contains("vault") && !out.contains("token") && !out.contains(CANARY), "{out}");
    assert!(out.contains("for everyone"), "{out}");
    let mut spec = arena.shell(script);
    spec.reads.push(own.clone());
    let out = succeeded(&arena.run(spec).await.unwrap());
    assert!(out.contains("minefor everyone") && !out.contains("token"), "{out}");
    assert!(!out.contains("vault") && !out.contains(CANARY), "{out}");
    assert!(!home.join("x").exists());
    let mut spec = arena.shell(script);
    spec.reads.push(vault);
    let error = arena.run(spec).await.unwrap_err();
    assert!(error.to_string().contains("keys"), "{error}");
}

#[tokio::test]
async fn a_hidden_folder_that_is_mounted_again_in_a_granted_one_is_empty_there() {
    if !is_root() {
        return;
    }
    // A mount of our own, in a namespace of our own: the tests run again inside of it.
    let inside = std::env::var_os("INSULA_MOUNTED_AGAIN").is_some();
    if !inside {
        let name =
            "neighbours::a_hidden_folder_that_is_mounted_again_in_a_granted_one_is_empty_there";
        let status = Command::new("unshare")
            .args(["--mount", "--propagation", "private"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env("INSULA_MOUNTED_AGAIN", "1")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let mut arena = Arena::new();
    let home = arena.path("home");
    let again = arena.shared.join("again");
    std::fs::create_dir(&again).unwrap();
    let bound = Command::new("mount").arg("--bind").args([&home, &again]).status().unwrap();
    assert!(bound.success());
    let script = "cat $SHARED/again/config.yaml; ls -A $SHARED/again; cat $SHARED/readable";
    let out = succeeded(&arena.run(arena.shell(script)).await.unwrap());
    assert!(out.contains(CANARY), "the mount is not seen, so this shows nothing: {out}");
    arena.sandbox = sandbox_hiding(Hidden { around: vec![home], whole: vec![] });
    assert_eq!(succeeded(&arena.run(arena.shell(script)).await.unwrap()), "for everyone");
}
