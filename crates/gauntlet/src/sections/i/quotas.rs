//! I4: every limit that a kernel counts for a user or for all, used up by the program of one
//! agent, and measured by another's and by the host.

use super::super::e::arena::{Level, surrounded};
use super::derive::Names;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::Home;
use serde_json::{Value, json};
use std::path::Path;

const PROGRAM: &str = include_str!("quotas.py");

/// Limits of the kernel, by the path or name it gives them, and the probe that uses each up.
const PROBED: [(&str, &str); 63] = [
    ("user/max_inotify_instances", "inotify instances"),
    ("user/max_inotify_watches", "inotify watches"),
    ("user/max_fanotify_groups", "fanotify"),
    ("user/max_fanotify_marks", "fanotify"),
    ("user/max_cgroup_namespaces", "namespaces"),
    ("user/max_ipc_namespaces", "namespaces"),
    ("user/max_mnt_namespaces", "namespaces"),
    ("user/max_net_namespaces", "namespaces"),
    ("user/max_pid_namespaces", "namespaces"),
    ("user/max_time_namespaces", "namespaces"),
    ("user/max_user_namespaces", "namespaces"),
    ("user/max_uts_namespaces", "namespaces"),
    ("fs/inotify/max_queued_events", "inotify instances"),
    ("fs/inotify/max_user_instances", "inotify instances"),
    ("fs/inotify/max_user_watches", "inotify watches"),
    ("fs/fanotify/max_queued_events", "fanotify"),
    ("fs/fanotify/max_user_groups", "fanotify"),
    ("fs/fanotify/max_user_marks", "fanotify"),
    ("fs/epoll/max_user_watches", "epoll watches"),
    ("fs/mqueue/msg_default", "message queues"),
    ("fs/mqueue/msg_max", "message queues"),
    ("fs/mqueue/msgsize_default", "message queues"),
    ("fs/mqueue/msgsize_max", "message queues"),
    ("fs/mqueue/queues_max", "message queues"),
    ("fs/aio-max-nr", "aio"),
    ("fs/file-max", "descriptors"),
    ("fs/nr_open", "descriptors"),
    ("fs/mount-max", "namespaces"),
    ("fs/pipe-max-size", "pipes"),
    ("fs/pipe-user-pages-hard", "pipes"),
    ("fs/pipe-user-pages-soft", "pipes"),
    ("kernel/keys/maxbytes", "keys"),
    ("kernel/keys/maxkeys", "keys"),
    ("kernel/keys/root_maxbytes", "keys"),
    ("kernel/keys/root_maxkeys", "keys"),
    ("kernel/pty/max", "terminals"),
    ("kernel/pty/reserve", "terminals"),
    ("kernel/threads-max", "threads"),
    ("kernel/pid_max", "processes"),
    ("kernel/msgmax", "messages"),
    ("kernel/msgmnb", "messages"),
    ("kernel/msgmni", "messages"),
    ("kernel/sem", "semaphores"),
    ("kernel/shmall", "shared memory"),
    ("kernel/shmmax", "shared memory"),
    ("kernel/shmmni", "shared memory"),
    ("kernel/io_uring_group", "io_uring"),
    ("kernel/io_uring_disabled", "io_uring"),
    ("Max cpu time", "processes"),
    ("Max file size", "disk blocks"),
    ("Max data size", "memory"),
    ("Max stack size", "memory"),
    ("Max core file size", "disk blocks"),
    ("Max resident set", "memory"),
    ("Max processes", "processes"),
    ("Max open files", "descriptors"),
    ("Max locked memory", "locked memory"),
    ("Max address space", "memory"),
    ("Max file locks", "lock of /usr/bin/env"),
    ("Max pending signals", "signals"),
    ("Max msgqueue size", "message queues"),
    ("Max realtime timeout", "processes"),
    ("Max nice priority", "processes"),
];

/// What looks like a limit and is none that one user could use up for another, and why.
const NEUTRAL: [(&str, &str); 37] = [
    ("fs/fanotify/watchdog_timeout", "a time"),
    ("Max realtime priority", "a rank, of which there is no end"),
    ("kernel/pty/nr", "a count"),
    ("kernel/keys/gc_delay", "a time"),
    ("kernel/keys/persistent_keyring_expiry", "a time"),
    ("kernel/msg_next_id", "of a namespace of its own"),
    ("kernel/sem_next_id", "of a namespace of its own"),
    ("kernel/shm_next_id", "of a namespace of its own"),
    ("kernel/shm_rmid_forced", "a switch"),
    ("kernel/auto_msgmni", "a switch"),
    ("kernel/ns_last_pid", "of a namespace of its own"),
    ("kernel/max_lock_depth", "of a lock, not of a user"),
    ("kernel/max_rcu_stall_to_panic", "of the kernel itself"),
    ("kernel/ngroups_max", "of each process"),
    ("fs/aio-nr", "a count"),
    ("fs/dentry-negative", "a switch"),
    ("fs/dentry-state", "a count"),
    ("fs/dir-notify-enable", "a switch"),
    ("fs/file-nr", "a count"),
    ("fs/inode-nr", "a count"),
    ("fs/inode-state", "a count"),
    ("fs/lease-break-time", "a time"),
    ("fs/leases-enable", "a switch"),
    ("fs/overflowgid", "an id"),
    ("fs/overflowuid", "an id"),
    ("fs/protected_fifos", "a switch"),
    ("fs/protected_hardlinks", "a switch"),
    ("fs/protected_regular", "a switch"),
    ("fs/protected_symlinks", "a switch"),
    ("fs/suid_dumpable", "a switch"),
    ("fs/binfmt_misc", "root's"),
    ("fs/verity", "root's"),
    ("fs/quota", "counts"),
    ("fs/nfs", "root's"),
    ("fs/xfs", "root's"),
    ("fs/fuse", "the file system's own"),
    ("fs/lockd", "root's"),
];

/// Limits of this kernel that are neither probed nor known to be none.
fn unknown() -> Vec<String> {
    let known = |name: &str| {
        let is_it = |it: &str| name == it || name.starts_with(&format!("{it}/"));
        PROBED.iter().any(|(it, _)| is_it(it)) || NEUTRAL.iter().any(|(it, _)| is_it(it))
    };
    limits().into_iter().filter(|name| !known(name)).collect()
}

/// What this kernel counts, by its own names.
fn limits() -> Names {
    let sys = Path::new("/proc/sys");
    let mut all = Names::new();
    for folder in ["user", "fs", "kernel/keys", "kernel/pty"] {
        let files = machine::files_below(&sys.join(folder));
        let name = |path: &Path| path.strip_prefix(sys).map(|it| it.display().to_string()).ok();
        all.extend(files.iter().filter_map(|path| name(path)));
    }
    let counts = |name: &str| {
        let marks = ["max", "msg", "sem", "shm", "io_uring"];
        let is_of_others = ["sched", "perf", "printk", "softlockup", "hung", "warn", "random"];
        marks.iter().any(|it| name.contains(it)) && !is_of_others.iter().any(|it| name.contains(it))
    };
    let kernel = machine::names(&sys.join("kernel"));
    all.extend(kernel.iter().filter(|it| counts(it)).map(|it| format!("kernel/{it}")));
    let own = machine::read(Path::new("/proc/self/limits")).unwrap_or_default();
    let lines = String::from_utf8_lossy(&own).into_owned();
    // A name ends where the columns begin.
    let name = |line: &str| line.split("  ").next().map(|it| it.trim().to_owned());
    all.extend(lines.lines().skip(1).filter_map(name).filter(|it| it.starts_with("Max ")));
    all
}

/// What this scene has of its own.
struct Measured {
    /// As whom the host measures.
    level: Level,
    outside: Home,
}

/// Low enough to be reached soon, and for the machine to have room for all.
const LIMITS: &str =
    "sandbox: {memory: 1500MB, processes: 100, descriptors: 1000, growth: 100MB, new_files: 4000}";

/// The daemon as whoever runs this.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let level = if machine::is_root() { Level::Root } else { Level::Ordinary };
    raised(stage, level)
}

fn raised(stage: &Stage, level: Level) -> Result<Ground> {
    let outside = Home::empty()?;
    let folder = machine::real(outside.path())?;
    beside::set_mode(&folder, 0o777)?;
    let stage = surrounded(stage, &folder, level, "CANARY", None)?;
    machine::write(&folder.join("host/quotas.py"), PROGRAM.as_bytes())?;
    beside::set_mode(&folder.join("host"), 0o777)?;
    let plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("a", &format!("tools: coding, {LIMITS}"))
        .agent("b", &format!("tools: coding, {LIMITS}"))
        .file("agents/a/workspace/quotas.py", PROGRAM)
        .file("agents/b/workspace/quotas.py", PROGRAM);
    let ground = Ground::raise(&stage, plan)?;
    Ok(ground.with(Measured { level, outside }))
}

/// What another agent's program can still have, by probe.
fn by_neighbour(ground: &Ground) -> Result<Value> {
    let said = ground.shell("b", "measures", "python3 -I quotas.py can told.json")?;
    let told = ground.text("agents/b/workspace/told.json");
    ground.shell("b", "measures", "rm -f told.json block-* inode-*")?;
    serde_json::from_str(&told).with_context(|| format!("b's program told nothing: {said}"))
}

/// What the host's programs can still have, as the daemon's user.
fn by_host(ground: &Ground) -> Result<Value> {
    let own: &Measured = ground.own()?;
    let folder = machine::real(own.outside.path())?.join("host");
    let as_user = own.level == Level::Ordinary && machine::is_root();
    let told = beside::host_program(
        &folder,
        &["/usr/bin/python3", "-I", "quotas.py", "can", "-"],
        as_user,
    )?;
    let line = told.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("the host's program told nothing: {told}"))
}

/// What an ordinary user's daemon shares with the host and SECURITY.md says so: only root can make
/// device nodes of each child's own.
const DECLARED: [&str; 1] = ["lock of /dev/null"];

/// Probes that could be had before and cannot now.
fn lost(before: &Value, after: &Value, level: Level) -> Vec<String> {
    let got = |it: &Value, name: &str| it[name][0].as_u64().unwrap_or(0);
    let names = before.as_object().into_iter().flat_map(|it| it.keys());
    let is_declared = |name: &str| level == Level::Ordinary && DECLARED.contains(&name);
    let is_lost = |name: &&String| got(after, name) < got(before, name) && !is_declared(name);
    let told = |name: &String| {
        format!(
            "{name} ({} instead of {}: {})",
            got(after, name),
            got(before, name),
            after[name][1]
        )
    };
    names.filter(is_lost).map(told).collect()
}

fn used_up(ground: &Ground) -> Outcome {
    let unknown = unknown();
    control!(unknown.is_empty(), "no probe for {unknown:?}");
    let (b_before, host_before) = (by_neighbour(ground)?, by_host(ground)?);
    for (_, probe) in PROBED {
        control!(!b_before[probe].is_null(), "there is no probe `{probe}`: {b_before}");
    }
    for probe in ["pipes", "timers", "processes", "descriptors", "memory", "disk blocks"] {
        control!(b_before[probe][0] == 8, "b can't have any `{probe}`: {b_before}");
    }
    let wish = json!({ "command": "exec python3 -I quotas.py hold held.json", "background": true });
    let said = ground.call("a", "holds", "terminal", wish)?;
    control!(said.contains("started process"), "{said}");
    let held = "agents/a/workspace/held.json";
    machine::eventually("a holds all it gets", || Ok(ground.has(held).then_some(())))?;
    let taken: Value = serde_json::from_str(&ground.text(held))?;
    let after = (by_neighbour(ground), by_host(ground));
    let ended = ground.admin("POST", "/api/agents/a/pause", &Value::Null)?;
    control!(ended.status == 200, "{ended:?}");
    ground.admin("POST", "/api/agents/a/resume", &Value::Null)?;
    ground.shell("a", "tidies", "rm -f block-* inode-* held.json; true")?;
    let level = ground.own::<Measured>()?.level;
    let b_lost = lost(&b_before, &after.0?, level);
    let host_lost = lost(&host_before, &after.1?, level);
    let what = |list: &[String]| list.join(", ");
    hold!(
        b_lost.is_empty() && host_lost.is_empty(),
        "b lost [{}], the host lost [{}]; a took {taken}",
        what(&b_lost),
        what(&host_lost)
    );
    Ok(Verdict::Held)
}

/// After the other, never beside it: what is used up is the machine's.
fn used_up_as_user(ground: &Ground) -> Outcome {
    if !machine::is_root() {
        return Ok(Verdict::NotRun("the daemon is an ordinary user anyway".to_owned()));
    }
    used_up(&raised(ground.stage(), Level::Ordinary)?)
}

/// I4.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I4", variant: "every limit, the daemon as it is run here", run: used_up },
    Attempt {
        row: "I4",
        variant: "every limit, the daemon as an ordinary user",
        run: used_up_as_user,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_lost_where_less_can_be_had_than_before() {
        let before = json!({ "x": [8, null], "y": [0, "1"], "z": [8, null] });
        let after = json!({ "x": [3, "24"], "y": [0, "1"], "z": [8, null] });
        assert_eq!(lost(&before, &after, Level::Root), ["x (3 instead of 8: \"24\")"]);
    }
}
