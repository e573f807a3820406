//! I3: every file of the kernel that a child can read, looked at while others rest and while they
//! act. What differs tells of them, unless its reason stands here.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

const SIGHT: &str = include_str!("sight.py");
const NOISE: &str = include_str!("noise.py");
const WATCH: &str = include_str!("watch.py");

/// What may differ from look to look though nobody else acts: a process's own. `*` stands for one
/// part of a path.
const OWN: &[(&str, &str)] = &[
    ("/proc/*/stat", "times, faults and memory of the process itself"),
    ("/proc/*/statm", "its memory"),
    ("/proc/*/status", "its memory and switches"),
    ("/proc/*/sched", "its time"),
    ("/proc/*/schedstat", "its time"),
    ("/proc/*/io", "what it read and wrote"),
    ("/proc/*/maps", "where its memory lies, at random"),
    ("/proc/*/numa_maps", "where its memory lies, at random"),
    ("/proc/*/smaps", "where its memory lies, at random"),
    ("/proc/*/smaps_rollup", "its memory"),
    ("/proc/*/auxv", "where its memory lies, at random"),
    ("/proc/*/syscall", "what it does"),
    ("/proc/*/wchan", "what it waits for"),
    ("/proc/*/stack", "what it does"),
    ("/proc/*/environ", "its environment, which stands among the ids"),
    ("/proc/*/oom_score", "its memory"),
    ("/proc/*/arch_status", "its time"),
    ("/proc/*/task/*/stat", "as its process"),
    ("/proc/*/task/*/statm", "as its process"),
    ("/proc/*/task/*/status", "as its process"),
    ("/proc/*/task/*/sched", "as its process"),
    ("/proc/*/task/*/schedstat", "as its process"),
    ("/proc/*/task/*/io", "as its process"),
    ("/proc/*/task/*/maps", "as its process"),
    ("/proc/*/task/*/smaps", "as its process"),
    ("/proc/*/task/*/auxv", "as its process"),
    ("/proc/*/task/*/syscall", "as its process"),
    ("/proc/*/task/*/wchan", "as its process"),
    ("/proc/*/task/*/oom_score", "as its process"),
    ("/proc/*/task/*/arch_status", "as its process"),
    ("/proc/*/task/*/numa_maps", "as its process"),
    ("/proc/*/task/*/smaps_rollup", "as its process"),
    ("/proc/*/task/*/net/netlink", "as its process"),
    ("/proc/*/net/netlink", "where the kernel keeps its own sockets, hashed"),
    ("/proc/sys/kernel/random/uuid", "chance"),
    ("/proc/uptime", "time, which everybody may know"),
];

/// What a kernel that is shared tells whoever asks it: it numbers pipes, mounts and namespaces for
/// all, and `fstat` alone tells as much. Only a kernel of one's own would not.
const DECLARED: &[(&str, &str)] = &[
    ("/proc/*/autogroup", "sessions are numbered for all"),
    ("/proc/*/fd/*", "pipes are numbered for all"),
    ("/proc/*/fdinfo/*", "pipes and mounts are numbered for all"),
    ("/proc/*/mountinfo", "mounts are numbered for all"),
    ("/proc/*/ns/*", "namespaces are numbered for all"),
    ("/proc/*/task/*/fd/*", "as its process"),
    ("/proc/*/task/*/fdinfo/*", "as its process"),
    ("/proc/*/task/*/mountinfo", "as its process"),
    ("/proc/*/task/*/ns/*", "as its process"),
];

/// The same of ids, by how they begin.
const DECLARED_IDS: &[(&str, &str)] = &[
    ("device of ", "file systems in memory are numbered for all"),
    ("inode of a pipe", "pipes are numbered for all"),
    ("inode of a socket", "sockets are numbered for all"),
    ("inode of a new file", "files of one disk are numbered for all who write to it"),
    ("space of ", "how full a disk is that all write to"),
    ("links of /proc", "the kernel counts all processes there, whoever looks"),
];

/// Looks that were taken, kept for both attempts.
#[derive(Default)]
struct Looks(Mutex<Option<(Vec<Value>, Vec<Value>)>>);

/// One who looks, and one who acts.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let limits = "sandbox: {memory: 400MB}";
    let plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("a", &format!("tools: coding, {limits}"))
        .agent("b", &format!("tools: coding, {limits}"))
        .file("agents/a/workspace/sight.py", SIGHT)
        .file("agents/a/workspace/watch.py", WATCH)
        .file("agents/b/workspace/noise.py", NOISE);
    Ok(Ground::raise(stage, plan)?.with(Looks::default()))
}

fn look(ground: &Ground) -> Result<Value> {
    let said = ground.shell("a", "looks", "python3 -I sight.py seen.json")?;
    let text = ground.text("agents/a/workspace/seen.json");
    serde_json::from_str(&text).with_context(|| format!("nothing was written down: {said}"))
}

/// Looks while others rest, and looks while they act; in turns, so that what only passes by is in
/// both.
fn looks(ground: &Ground) -> Result<(Vec<Value>, Vec<Value>)> {
    let Looks(kept) = ground.own()?;
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(looks) = &*kept {
        return Ok(looks.clone());
    }
    let (mut quiet, mut loud) = (vec![look(ground)?, look(ground)?], vec![]);
    for round in 0..2 {
        let stop = format!("stop-{round}");
        let command = format!("rm -f ready; exec python3 -I noise.py {stop}");
        let wish = json!({ "command": command, "background": true });
        let session = format!("acts-{round}");
        let said = ground.call("b", &session, "terminal", wish)?;
        anyhow::ensure!(said.contains("started process"), "{said}");
        machine::eventually("the other acts", || {
            Ok(ground.has("agents/b/workspace/ready").then_some(()))
        })?;
        loud.push(look(ground)?);
        ground.shell("b", "ends", &format!("touch {stop}; rm -rf noise ready"))?;
        quiet.push(look(ground)?);
    }
    *kept = Some((quiet.clone(), loud.clone()));
    Ok((quiet, loud))
}

/// Whether a path is one of the pattern's.
fn is_like(path: &str, pattern: &str) -> bool {
    let (mut path, mut pattern) = (path.split('/'), pattern.split('/'));
    loop {
        match (path.next(), pattern.next()) {
            (None, None) => return true,
            (Some(_), Some("*")) => {}
            (Some(one), Some(other)) if one == other => {}
            _ => return false,
        }
    }
}

/// The values of every key in all looks.
fn by_key(looks: &[Value], part: &str) -> BTreeMap<String, Vec<String>> {
    let keys: BTreeSet<&String> =
        looks.iter().filter_map(|look| look[part].as_object()).flat_map(|it| it.keys()).collect();
    let value = |look: &Value, key: &str| look[part][key].to_string();
    let values = |key: &String| looks.iter().map(|look| value(look, key)).collect();
    keys.into_iter().map(|key| (key.clone(), values(key))).collect()
}

/// What differs and has no reason to, told as those that others change and those that change
/// anyway, which nobody could tell apart from the work of others.
fn differing(
    ground: &Ground,
    part: &str,
    is_allowed: impl Fn(&str) -> bool,
) -> Result<(Vec<String>, usize)> {
    let (quiet, loud) = looks(ground)?;
    let all: Vec<Value> = quiet.iter().chain(&loud).cloned().collect();
    let mut told = vec![];
    let every = by_key(&all, part);
    for (key, values) in &every {
        if values.iter().all(|value| *value == values[0]) {
            continue;
        }
        if is_allowed(key) {
            continue;
        }
        let rest = &values[..quiet.len()];
        let when = match rest.iter().all(|value| *value == rest[0]) {
            true => "when others act",
            false => "from look to look",
        };
        let example = first_difference(values);
        told.push(format!("{key} {when} ({example})"));
    }
    Ok((told, every.len()))
}

/// Where two of these first differ.
fn first_difference(values: &[String]) -> String {
    let Some(other) = values.iter().find(|it| **it != values[0]) else { return String::new() };
    let at = values[0].chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
    let part = |text: &str| text.chars().skip(at.saturating_sub(12)).take(40).collect::<String>();
    format!("…{} / …{}", part(&values[0]), part(other))
}

fn files(ground: &Ground) -> Outcome {
    let is_allowed =
        |path: &str| OWN.iter().chain(DECLARED).any(|(pattern, _)| is_like(path, pattern));
    let (told, count) = differing(ground, "files", is_allowed)?;
    control!(count > 30, "only {count} files were seen");
    hold!(told.is_empty(), "{} of {count} tell of others: {}", told.len(), told.join(", "));
    Ok(Verdict::Held)
}

fn ids(ground: &Ground) -> Outcome {
    let is_allowed = |id: &str| DECLARED_IDS.iter().any(|(begins, _)| id.starts_with(begins));
    let (told, count) = differing(ground, "ids", is_allowed)?;
    control!(count > 20, "only {count} ids were seen");
    hold!(told.is_empty(), "{} of {count} tell of others: {}", told.len(), told.join(", "));
    Ok(Verdict::Held)
}

/// A watch on what all programs see tells nothing of the programs of others.
fn watches(ground: &Ground) -> Outcome {
    let wish = json!({ "command": "exec python3 -I watch.py", "background": true });
    let said = ground.call("a", "watches", "terminal", wish)?;
    control!(said.contains("started process"), "{said}");
    let own = |name: &str| format!("agents/a/workspace/{name}");
    machine::eventually("it watches or may not", || {
        Ok(ground.has(&own("watching")).then_some(()))
    })?;
    for _ in 0..5 {
        ground.shell("b", "runs", "env true; ls / > /dev/null; cat /etc/passwd > /dev/null")?;
    }
    ground.shell("a", "stops", "touch stop-watching")?;
    machine::eventually("it wrote down what it heard", || {
        Ok(ground.has(&own("heard")).then_some(()))
    })?;
    let heard = machine::read(&ground.path(&own("heard"))?)?;
    let text = String::from_utf8_lossy(&heard);
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let names: BTreeSet<&str> = text.split(|c| !is_name(c)).filter(|it| it.len() > 1).collect();
    hold!(heard.is_empty(), "{} bytes of events, with {names:?}", heard.len());
    Ok(Verdict::Held)
}

/// I3.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I3", variant: "every file below /proc and /sys", run: files },
    Attempt { row: "I3", variant: "watches on what everybody has", run: watches },
    Attempt { row: "I3", variant: "every id, name, space and number", run: ids },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_single_parts() {
        assert!(is_like("/proc/7/stat", "/proc/*/stat"));
        assert!(!is_like("/proc/stat", "/proc/*/stat"));
        assert!(!is_like("/proc/7/task/7/stat", "/proc/*/stat"));
    }

    #[test]
    fn what_differs_is_shown_where_it_does() {
        let told = first_difference(&["abc 1".to_owned(), "abc 1".to_owned(), "abc 2".to_owned()]);
        assert_eq!(told, "…abc 1 / …abc 2");
    }
}
