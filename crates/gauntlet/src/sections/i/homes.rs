//! I9: every home that the daemon accepts. It refuses clearly, or serves and exposes nothing.

use super::super::e::arena::{Level, surrounded};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::obey;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::{Daemon, Home, run_with_input};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A daemon whose programs show what is mounted.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("a", "tools: coding");
    Ground::raise(stage, plan)
}

/// The configuration of a home that these attempts make.
fn config(ground: &Ground) -> String {
    format!(
        "providers: {{puppet: {{kind: openai, base_url: '{}'}}}}\nstore: {{durability: process}}\napprovals: {{mode: off}}\nagents:\n  h: {{model: puppet/h, tools: coding}}\n",
        ground.puppets.url()
    )
}

/// A folder that is gone with this.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = beside::remove_all(&self.0);
    }
}

/// What a program of the agent there says.
fn shell_at(ground: &Ground, daemon: &Daemon, home: &Path, command: &str) -> Result<String> {
    let admin = machine::read(&home.join("run/admin.token"))?;
    let script = obey::one("terminal", json!({ "command": command }));
    let tag = ground.puppets.learn(script);
    let body =
        json!({ "model": "h", "messages": [{ "role": "user", "content": format!("do {tag}") }] });
    let bearer = format!("Authorization: Bearer {}", String::from_utf8_lossy(&admin).trim());
    let headers = [bearer.as_str(), "Content-Type: application/json", "X-Insula-Session: s"];
    let path = "/v1/chat/completions";
    let answer = machine::request(daemon.listen(), "POST", path, &headers, &body.to_string())?;
    let turn = ground.so_far(&tag);
    anyhow::ensure!(!turn.results.is_empty(), "no program ran: {answer:?}");
    Ok(turn.told())
}

/// Starts a daemon in this home, by this name of it, as who runs this and as an ordinary user;
/// what is wrong with what became of it.
fn judged(ground: &Ground, home: &Path, named: &Path) -> Result<Option<String>> {
    let levels: &[Level] =
        if machine::is_root() { &[Level::Root, Level::Ordinary] } else { &[Level::Ordinary] };
    for level in levels {
        let outside = Home::empty()?;
        let folder = machine::real(outside.path())?;
        beside::set_mode(&folder, 0o777)?;
        let stage = surrounded(ground.stage(), &folder, *level, "CANARY", None)?;
        machine::write(&home.join("config.yaml"), config(ground).as_bytes())?;
        beside::set_mode(home, 0o700)?;
        if *level == Level::Ordinary && machine::is_root() {
            let text = home.display().to_string();
            let give = ["chown", "-R", "65534:65534", &text];
            beside::host_program(Path::new("/"), &give, false)?;
        }
        if let Some(what) = judged_by(ground, &stage.insula, home, named)? {
            return Ok(Some(format!("{what} ({level:?})")));
        }
    }
    Ok(None)
}

fn judged_by(ground: &Ground, insula: &Path, home: &Path, named: &Path) -> Result<Option<String>> {
    let daemon = match Daemon::start_with(insula, named, &["--no-watch"]) {
        Err(refused) => {
            let why = refused.to_string();
            let is_clear = why.contains("home") && !why.contains("panicked");
            return Ok((!is_clear).then(|| format!("it ends without saying why: {why}")));
        }
        Ok(daemon) => daemon,
    };
    let secret =
        String::from_utf8_lossy(&machine::read(&home.join("run/admin.token"))?).into_owned();
    let own = home.display();
    // Open to everyone, so that only the walls can be what refuses.
    let text = own.to_string();
    beside::host_program(Path::new("/"), &["chmod", "-R", "a+rX", &text], false)?;
    let names: Vec<String> = [format!("{own}"), format!("{}", named.display())].into();
    let mut told = String::new();
    for name in names {
        told += &shell_at(
            ground,
            &daemon,
            home,
            &format!(
                "cat {name}/run/admin.token; ls {name}/vault {name}/agents; head -c 16 {name}/insula.db; cat {name}/config.yaml"
            ),
        )?;
    }
    let exposes = [secret.trim(), "SQLite format", "base_url"];
    let seen = exposes.iter().find(|it| told.contains(**it));
    daemon.terminate()?;
    Ok(seen.map(|_| "a program reads the home of the daemon".to_owned()))
}

/// Where the folders are that every program sees, as one of them tells.
fn base_mounts(ground: &Ground) -> Result<Vec<PathBuf>> {
    let told = ground.shell("a", "mounts", "cat /proc/self/mountinfo; ls -d /*")?;
    let own = ground.path("")?;
    let point = |line: &str| line.split(' ').nth(4).map(PathBuf::from);
    let mut all: Vec<PathBuf> = told.lines().filter_map(point).collect();
    all.extend(told.lines().filter(|it| it.starts_with('/')).map(PathBuf::from));
    let is_base = |path: &PathBuf| {
        let not = ["/proc", "/dev", "/sys", "/tmp", "/run"];
        let is_not = not.iter().any(|it| path.starts_with(it));
        path.parent().is_some() && !is_not && !path.starts_with(&own) && !own.starts_with(path)
    };
    all.retain(is_base);
    all.retain(|path| machine::real(path).is_ok_and(|it| beside::is_folder(&it)));
    all.sort();
    all.dedup();
    Ok(all)
}

/// Below every folder that programs see.
fn below_base_mounts(ground: &Ground) -> Outcome {
    if !machine::is_root() {
        return Ok(Verdict::NotRun("only root can make folders below /usr".to_owned()));
    }
    let bases = base_mounts(ground)?;
    control!(bases.iter().any(|it| it == Path::new("/usr")), "no /usr among {bases:?}");
    let mut told = vec![];
    let mut tried = 0;
    for base in &bases {
        let name = format!("insula-gauntlet-{}", &ground.stage().random(&["below"])[..8]);
        for inside in ["", "local", "local/etc", "share", "lib"] {
            let parent = base.join(inside);
            if !machine::is_there(&parent) {
                continue;
            }
            let folder = Folder(parent.join(&name));
            if machine::make_folder(&folder.0).is_err() {
                continue;
            }
            tried += 1;
            beside::set_mode(&folder.0, 0o755)?;
            let home = folder.0.join("home");
            machine::make_folder(&home)?;
            if let Some(what) = judged(ground, &home, &home)? {
                told.push(format!("{}: {what}", parent.display()));
            }
        }
    }
    control!(tried > 0, "nowhere in {bases:?} could a home be made");
    hold!(told.is_empty(), "{}", told.join("; "));
    Ok(Verdict::Held)
}

/// Named by a link, which may lead below a base mount too.
fn on_a_link(ground: &Ground) -> Outcome {
    let outside = Home::empty()?;
    let folder = machine::real(outside.path())?;
    beside::set_mode(&folder, 0o755)?;
    let home = folder.join("real");
    machine::make_folder(&home)?;
    let link = folder.join("link");
    machine::link(&home, &link)?;
    if let Some(what) = judged(ground, &home, &link)? {
        return Ok(Verdict::Broken(format!("by a link: {what}")));
    }
    let nested = folder.join("folder-link");
    machine::link(&folder, &nested)?;
    if let Some(what) = judged(ground, &home, &nested.join("real"))? {
        return Ok(Verdict::Broken(format!("below a link: {what}")));
    }
    if machine::is_root() {
        let below = Folder(PathBuf::from(format!(
            "/usr/local/insula-gauntlet-{}",
            &ground.stage().random(&["link"])[..8]
        )));
        machine::make_folder(&below.0.join("home"))?;
        beside::set_mode(&below.0, 0o755)?;
        let link = folder.join("into-usr");
        machine::link(&below.0.join("home"), &link)?;
        if let Some(what) = judged(ground, &below.0.join("home"), &link)? {
            return Ok(Verdict::Broken(format!("a link to a folder below /usr: {what}")));
        }
    }
    Ok(Verdict::Held)
}

/// A disk that is full before the daemon is done.
fn on_a_small_disk(ground: &Ground) -> Outcome {
    if !machine::is_root() {
        return Ok(Verdict::NotRun("only root can make a disk".to_owned()));
    }
    let home = Home::on_own_disk(2, &config(ground))?;
    let path = machine::real(home.path())?;
    let daemon = match Daemon::start_with(&ground.stage().insula, &path, &["--no-watch"]) {
        Err(refused) => {
            let why = refused.to_string();
            hold!(!why.contains("panicked"), "{why}");
            return Ok(Verdict::Held);
        }
        Ok(daemon) => daemon,
    };
    // By its own program, or where that is refused by whoever shares the disk.
    let filled = shell_at(ground, &daemon, &path, "head -c 4000000 /dev/zero > filler; ls -l");
    let _ = machine::write(&path.join("filler"), &vec![0; 4_000_000]);
    let after = shell_at(ground, &daemon, &path, "echo still here");
    let alive = machine::request(daemon.listen(), "GET", "/healthz", &[], "")?;
    let log = daemon.log();
    hold!(alive.status == 200, "it does not live: {alive:?} {filled:?} {after:?}");
    hold!(!log.contains("panicked"), "it panics: {log}");
    let chains = run_with_input(&ground.stage().insula, &path, &["audit", "verify"], "");
    hold!(!chains.stdout.contains("broken"), "no room counts as forgery: {}", chains.stdout);
    beside::remove_all(&path.join("filler"))?;
    beside::remove_all(&path.join("agents/h/workspace/filler"))?;
    daemon.terminate()?;
    let again = Daemon::start_with(&ground.stage().insula, &path, &["--no-watch"]);
    let again = again.context("it does not start again once there is room")?;
    let said = shell_at(ground, &again, &path, "echo again")?;
    hold!(said.contains("again"), "it does not serve again: {said}");
    Ok(Verdict::Held)
}

/// A disk that nobody may write to.
fn on_a_read_only_disk(ground: &Ground) -> Outcome {
    if !machine::is_root() {
        return Ok(Verdict::NotRun("only root can make a disk".to_owned()));
    }
    let home = Home::on_own_disk(4, &config(ground))?;
    let path = machine::real(home.path())?;
    let text = path.display().to_string();
    let root = Path::new("/");
    beside::host_program(root, &["mount", "-o", "remount,ro", &text], false)?;
    let started = Daemon::start_with(&ground.stage().insula, &path, &["--no-watch"]);
    let verdict = match started {
        Ok(_) => Verdict::Broken("it serves from a home that it can't write to".to_owned()),
        Err(refused) => {
            let why = refused.to_string();
            let is_clear = why.contains("ead-only") && !why.contains("panicked");
            match is_clear {
                true => Verdict::Held,
                false => Verdict::Broken(format!("it does not say why: {why}")),
            }
        }
    };
    beside::host_program(root, &["mount", "-o", "remount,rw", &text], false)?;
    Ok(verdict)
}

/// What a program can leave behind for whoever has to remove it.
const HOSTILE: [(&str, &str); 8] = [
    (
        "a folder that nobody may open",
        "mkdir -p x/y && touch x/y/z && chmod 000 x/y && chmod 000 x",
    ),
    ("a folder that nobody may change", "mkdir -p x/y && touch x/y/z && chmod 555 x/y x"),
    (
        "folders deep in folders",
        "python3 -c \"import os\nfor i in range(3000): os.mkdir('d'*50); os.chdir('d'*50)\"",
    ),
    (
        "names of any bytes",
        "python3 -c \"import os\nfor n in (b'\\xff\\xfe', b'a\\nb', b'-rf', b'x'*255, b' ', b'\\x1b[2J', '\\u202e'.encode()): open(n,'w').close(); os.mkdir(n[:200]+b'.d')\"",
    ),
    (
        "links to everywhere",
        "ln -s / root; ln -s .. up; ln -s loop loop; ln -s ../../n neighbour; ln -s /etc/passwd p",
    ),
    (
        "pipes and sockets",
        "mkfifo pipe; chmod 000 pipe; python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.bind('s')\"",
    ),
    ("many small files", "mkdir many && cd many && seq 5000 | xargs touch && chmod 000 ."),
    ("a workspace that nobody may open", "touch f; chmod 000 ."),
];

fn hostile_folders(ground: &Ground, level: Level) -> Outcome {
    let outside = Home::empty()?;
    let folder = machine::real(outside.path())?;
    beside::set_mode(&folder, 0o777)?;
    let stage = surrounded(ground.stage(), &folder, level, "CANARY", None)?;
    let mut plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("n", "tools: coding");
    for number in 0..HOSTILE.len() {
        let id = format!("h{number}");
        plan = plan.agent(&id, "tools: coding, secrets: [KEY]").secret(&id, "KEY", "0123456789abc");
    }
    let there = Ground::raise(&stage, plan)?;
    let mut told = vec![];
    for (number, (name, command)) in HOSTILE.iter().enumerate() {
        let id = format!("h{number}");
        let said = there.shell(&id, "makes", command)?;
        let token = there.token(&id)?.text.clone();
        let deleted = there.cli(&["agents", "delete", &id, "--yes"]);
        if deleted.code != Some(0) {
            told.push(format!("{name}: it can't be deleted: {} {said}", deleted.stderr.trim()));
        }
        let answer = there.api(&token, "GET", "/v1/models", &Value::Null)?;
        if answer.status != 401 && answer.body.contains(&format!("\"{id}\"")) {
            told.push(format!("{name}: the token of a deleted agent is good"));
        }
        let secrets = there.admin("GET", "/api/secrets", &Value::Null)?;
        if secrets.body.contains(&format!("\"{id}\"")) {
            told.push(format!("{name}: the secret of a deleted agent is kept"));
        }
        let calm = there.shell("n", "calm", "echo calm")?;
        if calm != "calm\n" {
            told.push(format!("{name}: the neighbour is disturbed: {calm}"));
        }
    }
    there.stop()?;
    if let Err(error) = there.start_again() {
        told.push(format!("the next start fails for all: {error:#}"));
    } else if there.shell("n", "calm", "echo calm")? != "calm\n" {
        told.push("after a restart the neighbour is disturbed".to_owned());
    }
    hold!(told.is_empty(), "{}", told.join("; "));
    Ok(Verdict::Held)
}

fn hostile_as_it_is(ground: &Ground) -> Outcome {
    let level = if machine::is_root() { Level::Root } else { Level::Ordinary };
    hostile_folders(ground, level)
}

fn hostile_as_user(ground: &Ground) -> Outcome {
    if !machine::is_root() {
        return Ok(Verdict::NotRun("the daemon is an ordinary user anyway".to_owned()));
    }
    hostile_folders(ground, Level::Ordinary)
}

/// I9.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I9", variant: "below every folder that programs see", run: below_base_mounts },
    Attempt { row: "I9", variant: "by a link", run: on_a_link },
    Attempt { row: "I9", variant: "on a small disk", run: on_a_small_disk },
    Attempt { row: "I9", variant: "on a disk that can't be written", run: on_a_read_only_disk },
    Attempt { row: "I9", variant: "folders an agent made hostile", run: hostile_as_it_is },
    Attempt {
        row: "I9",
        variant: "folders an agent made hostile, the daemon as an ordinary user",
        run: hostile_as_user,
    },
];
