//! Every attempt that the sandbox itself is tested with, made by an agent's programs: one process
//! makes a group of them, each in a process of its own.

use super::arena::{Arena, AttemptResults, Level, parsed};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::Ground;
use crate::machine;
use anyhow::{Context as _, Result, bail};
use insula_testkit::attempts::{GOT_THROUGH, NO_CONTROL, NOT_FOR_AGENTS, ORDINARY, PRELUDE};
use serde_json::json;
use std::sync::PoisonError;

/// Attempts that one process makes. A tool gives back only so much.
const BATCH: usize = 16;

/// The attempt that needs a name server which changes its mind.
const REBINDING: &str = "rebinding";

/// Where an attempt is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptFrom {
    /// A program that `terminal` started.
    Shell,
    /// An MCP server on standard streams.
    Server,
}

/// One attempt, as a program.
#[derive(Debug, Clone, Copy)]
pub struct Escape {
    /// Which kind.
    pub group: &'static str,
    pub name: &'static str,
    /// It gets through where there are no walls.
    pub unconfined: bool,
    /// The program, in Python.
    pub script: &'static str,
}

macro_rules! table {
    ($($group:ident { $($name:ident $(($flag:ident))? : $script:expr;)* })*) => {
        &[$($(Escape {
            group: stringify!($group),
            name: stringify!($name),
            unconfined: false $(|| !stringify!($flag).is_empty())?,
            script: $script,
        },)*)*]
    };
}

/// All that the sandbox is tested with.
const ESCAPES: &[Escape] = insula_testkit::attempts!(table);

/// The row of a group.
pub const fn row(group: &str) -> &'static str {
    match group.as_bytes() {
        b"files" => "E1",
        b"processes" => "E2",
        b"talk" => "E3",
        b"network" | b"beside_a_proxy" | b"through_the_proxy" => "E4",
        b"kernel" => "E5",
        b"exhaustion" => "E6",
        _ => "E7",
    }
}

/// Makes a macro that turns a table of attempts into attempts by one door.
macro_rules! by_a_door {
    ($d:tt $name:ident, $all:expr, $door:expr, $who:literal) => {
        macro_rules! $name {
            ($d($d group:ident { $d($d name:ident $d(($d flag:ident))? : $d script:expr;)* })*) => {
                &[$d($d(Attempt {
                    row: row(stringify!($d group)),
                    variant: concat!(stringify!($d name), " (", $who, ")"),
                    run: |ground| made(ground, $door, $all, stringify!($d group), stringify!($d name)),
                },)*)*]
            };
        }
    };
}
pub(super) use by_a_door;

by_a_door!($ shell_root, ESCAPES, AttemptFrom::Shell, "shell tool, root");
by_a_door!($ shell_user, ESCAPES, AttemptFrom::Shell, "shell tool, user");
by_a_door!($ server_root, ESCAPES, AttemptFrom::Server, "MCP server, root");
by_a_door!($ server_user, ESCAPES, AttemptFrom::Server, "MCP server, user");

/// By a program of the shell tool.
pub const BY_SHELL_AS_ROOT: &[Attempt] = insula_testkit::attempts!(shell_root);
/// The same where the daemon is an ordinary user.
pub const BY_SHELL_AS_USER: &[Attempt] = insula_testkit::attempts!(shell_user);
/// By an MCP server.
pub const BY_SERVER_AS_ROOT: &[Attempt] = insula_testkit::attempts!(server_root);
/// The same where the daemon is an ordinary user.
pub const BY_SERVER_AS_USER: &[Attempt] = insula_testkit::attempts!(server_user);

/// What came of an attempt. The first of its group makes all of them.
pub fn made(
    ground: &Ground,
    from: AttemptFrom,
    all: &[Escape],
    group: &'static str,
    name: &'static str,
) -> Outcome {
    let arena = Arena::of(ground)?;
    if let Some(why) = &arena.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    if let Some((_, why)) = NOT_FOR_AGENTS.iter().find(|(known, _)| *known == name) {
        return Ok(Verdict::NotRun((*why).to_owned()));
    }
    if name == REBINDING && arena.names.is_none() {
        let why = "only root can give the daemon a name server of its own";
        return Ok(Verdict::NotRun(why.to_owned()));
    }
    let through_a_proxy = group.contains("_proxy");
    let agent = match (from, through_a_proxy) {
        (_, true) => "proxied",
        (AttemptFrom::Shell, false) => "shell",
        (AttemptFrom::Server, false) => "server",
    };
    let escape = all.iter().find(|it| it.name == name).context("no such attempt")?;
    let of_group = || all.iter().filter(|it| it.group == group).copied().collect::<Vec<_>>();
    let told = told(ground, arena, (from, agent, all.len()), group, of_group)?;
    let told = told.get(name).context("it was not told about")?;
    let words = told["told"].as_str().unwrap_or_default();
    if told["code"] == GOT_THROUGH || words.contains(&arena.canary) {
        return Ok(Verdict::Broken(words.to_owned()));
    }
    if told["code"] != 0 || told["held"] != true {
        bail!("it was not made: {told}");
    }
    if let (true, Some(names)) = (name == REBINDING, &arena.names) {
        crate::control!(names.asked() > 1, "the daemon asked for the name {} times", names.asked());
    }
    // What holds it must be the wall and not a mistake in the attempt.
    if from == AttemptFrom::Shell && !through_a_proxy && has_control(arena.level, escape) {
        let with_control = || of_group().into_iter().filter(|it| has_control(arena.level, it));
        let whose = (from, "open", all.len());
        let control = self::told(ground, arena, whose, group, || with_control().collect())?;
        let control = control.get(name).context("its control was not told about")?;
        crate::control!(control["code"] == GOT_THROUGH, "without walls it fails too: {control}");
    }
    Ok(Verdict::Held)
}

fn has_control(level: Level, escape: &Escape) -> bool {
    match level {
        Level::Root => escape.unconfined && !NO_CONTROL.contains(&escape.name),
        Level::Ordinary => ORDINARY.contains(&escape.name),
    }
}

/// What was told of a group by a door, which is asked once.
fn told(
    ground: &Ground,
    arena: &Arena,
    (from, agent, table): (AttemptFrom, &str, usize),
    group: &'static str,
    escapes: impl FnOnce() -> Vec<Escape>,
) -> Result<AttemptResults> {
    // Two tables have groups of the same name, and never the same length.
    let key = (format!("{from:?} {agent} {table}"), group);
    let mut known = arena.told.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains_key(&key) {
        let told = make_all(ground, arena, from, agent, &escapes());
        known.insert(key.clone(), told.map_err(|error| format!("{error:#}")));
    }
    match known.get(&key) {
        Some(Ok(told)) => Ok(told.clone()),
        Some(Err(why)) => bail!("{why}"),
        None => bail!("nothing was told"),
    }
}

fn make_all(
    ground: &Ground,
    arena: &Arena,
    from: AttemptFrom,
    agent: &str,
    escapes: &[Escape],
) -> Result<AttemptResults> {
    let mut told = AttemptResults::new();
    let here = |it: &&Escape| NOT_FOR_AGENTS.iter().all(|(name, _)| *name != it.name);
    let escapes: Vec<Escape> = escapes.iter().filter(here).copied().collect();
    for (number, some) in escapes.chunks(BATCH).enumerate() {
        // The shell of `terminal` has one descriptor more, to tell where it ended.
        let first = if from == AttemptFrom::Shell { 4 } else { 3 };
        let attempts: Vec<_> = some.iter().map(|it| json!([it.name, it.script])).collect();
        let aims = arena.aims_of(ground, agent, first)?;
        let batch = json!({ "prelude": PRELUDE, "aims": aims, "attempts": attempts }).to_string();
        let group = some.first().map_or("", |it| it.group);
        let session = format!("{group}-{number}-{from:?}");
        let said = match from {
            AttemptFrom::Shell => {
                let name = format!("{session}.json");
                let path = ground.path(&format!("agents/{agent}/workspace/{name}"))?;
                machine::write(&path, batch.as_bytes())?;
                beside::set_mode(&path, 0o644)?;
                ground.shell(agent, &session, &format!("exec python3 -I attacker.py run {name}"))?
            }
            AttemptFrom::Server => {
                ground.call(agent, &session, "mcp__x__attempt", json!({ "batch": batch }))?
            }
        };
        told.extend(parsed(&said, some.len())?);
    }
    Ok(told)
}
