//! The ground of section E: one agent has things worth reaching, others make attempts, from
//! inside of their walls and, as a control, from outside of them.

use super::host::{Names, Site, Sockets, plain, redirect};
use crate::attempt::Verdict;
use crate::beside;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::stage::Stage;
use anyhow::{Context as _, Result, bail};
use insula_testkit::Home;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// What the agents' programs begin with: an MCP server and a runner of attempts in one.
pub const ATTACKER: &str = include_str!("attacker.py");

/// Low enough to be reached quickly.
const LIMITS: &str =
    "sandbox: {memory: 512MB, processes: 64, descriptors: 64, file_size: 80MB, new_files: 20000}";

/// What a name that changes its mind leads to: somewhere on the internet, then inside.
const REBOUND: &[Ipv4Addr] = &[Ipv4Addr::new(93, 184, 216, 34), Ipv4Addr::LOCALHOST];

/// Who the daemon runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Root.
    Root,
    /// A user with no rights.
    Ordinary,
}

/// What came of the attempts of one agent's door, by their names.
pub type AttemptResults = BTreeMap<String, Value>;

/// Everything that stands around the daemon of this section.
pub struct Arena {
    /// Who the daemon runs as.
    pub level: Level,
    /// Why nothing can be tried here, where nothing can.
    pub missing: Option<String>,
    /// In all that is the other agent's or the daemon's.
    pub canary: String,
    /// What agents were granted to read.
    pub shared: PathBuf,
    /// The command line of the other agent's process, which is there once.
    pub sleep: String,
    /// That process.
    pub victim: u32,
    /// What the attempts aim at, but for what differs between agents.
    pub aims: BTreeMap<&'static str, String>,
    /// A site that nobody was granted.
    pub inside: Site,
    /// A site that `proxied` was granted.
    pub granted: Site,
    /// A site that `proxied` was granted, for tunnels.
    pub secure: Site,
    /// The name server of the daemon, where it could be given one.
    pub names: Option<Names>,
    /// What came of the attempts so far, by agent and group.
    pub told: Mutex<AllResults>,
    outside: Home,
    _sockets: Sockets,
}

type AllResults = BTreeMap<(String, &'static str), Result<AttemptResults, String>>;

/// Raises the ground with the daemon as root.
pub fn as_root(stage: &Stage) -> Result<Ground> {
    raise(stage, Level::Root)
}

/// Raises the ground with the daemon as an ordinary user.
pub fn as_ordinary_user(stage: &Stage) -> Result<Ground> {
    raise(stage, Level::Ordinary)
}

/// The stage with another daemon: a script in `folder` that becomes the user and then the real
/// one, in surroundings of its own.
pub fn surrounded(
    stage: &Stage,
    folder: &Path,
    level: Level,
    canary: &str,
    names: Option<&Names>,
) -> Result<Stage> {
    // The user may not reach the original.
    let binary = folder.join("insula");
    beside::copy(&stage.insula, &binary)?;
    let (give, become_user) = match level == Level::Ordinary && machine::is_root() {
        true => (
            format!("case \"$3\" in up|secret) chown -R {NOBODY}:{NOBODY} \"$2\";; esac"),
            format!("setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --inh-caps=-all "),
        ),
        false => (String::new(), String::new()),
    };
    let own_names = match names {
        Some(names) => {
            let file = folder.join("resolv.conf");
            machine::write(&file, format!("nameserver {}\n", names.address).as_bytes())?;
            beside::set_mode(&file, 0o644)?;
            format!(
                "if [ -z \"$OWN_NAMES\" ]; then export OWN_NAMES=1; exec unshare --mount --propagation private \"$0\" \"$@\"; fi\nmount --bind {} /etc/resolv.conf || exit 1",
                file.display()
            )
        }
        None => String::new(),
    };
    let script = format!(
        "#!/bin/sh\ncd /\nexport OF_THE_DAEMON={canary}\n{own_names}\n{give}\nexec {become_user}{} \"$@\"\n",
        binary.display()
    );
    let program = folder.join("as-user");
    machine::write(&program, script.as_bytes())?;
    beside::set_mode(&program, 0o755)?;
    Ok(Stage { insula: program, ..stage.clone() })
}

fn plan(arena_shared: &Path, canary: &str, granted: &Site, secure: &Site, inside: &Site) -> Plan {
    let shares = format!("files: {{shared: ['{}']}}", arena_shared.display());
    let server = "mcp_servers: {x: {command: python3, args: ['-I', attacker.py, serve]}}";
    let allow = format!(
        "network: {{allow: ['192.0.2.7', 'localhost:{}', 'localhost:{}', 'rebind.test:{}']}}",
        granted.port(),
        secure.port(),
        inside.port()
    );
    let coding = "tools: coding";
    let both = "tools: {profile: coding, also_allow: ['mcp__x__*']}";
    let mut plan = Plan::new()
        .top("approvals: {mode: off}\nstore: {durability: process}")
        .agent("shell", &format!("{coding}, {LIMITS}, {shares}"))
        .agent("server", &format!("{both}, {LIMITS}, {shares}, {server}"))
        .agent("proxied", &format!("{both}, {LIMITS}, {allow}, {server}"))
        .agent("open", &format!("{coding}, sandbox: off, {shares}"))
        .agent(
            "b",
            &format!(
                "{coding}, secrets: [KEY], env: {{SECRET: '{canary}', TOKEN: '${{secret:KEY}}'}}"
            ),
        )
        .secret("b", "KEY", &format!("{canary}-secret"))
        .file("agents/b/workspace/secret.txt", canary)
        .file("agents/b/SOUL.md", &format!("You guard {canary}."));
    for agent in ["shell", "server", "proxied", "open"] {
        plan = plan.file(&format!("agents/{agent}/workspace/attacker.py"), ATTACKER);
    }
    plan
}

fn raise(stage: &Stage, level: Level) -> Result<Ground> {
    let outside = Home::empty()?;
    let folder = machine::real(outside.path())?;
    beside::set_mode(&folder, 0o777)?;
    let canary = format!("CANARY-{}", stage.random(&["part E", &folder.display().to_string()]));
    let shared = folder.join("shared");
    machine::make_folder(&shared)?;
    beside::set_mode(&shared, 0o777)?;
    let marker = folder.join("marker");
    machine::write(&marker, canary.as_bytes())?;
    beside::set_mode(&marker, 0o666)?;
    machine::write(&shared.join("readable"), b"for everyone")?;

    let inside = Site::saying(&canary)?;
    let away = format!("http://127.0.0.1:{}/", inside.port());
    let granted = Site::open(move |asked| match asked.contains("/away") {
        true => redirect(&away),
        false => plain("granted"),
    })?;
    let secure = Site::saying("secure")?;
    // A name server of one's own needs the port of name servers, and another `/etc`.
    let names = if machine::is_root() { Names::open(REBOUND).ok() } else { None };
    let stage = surrounded(stage, &folder, level, &canary, names.as_ref())?;
    let ground = Ground::raise(&stage, plan(&shared, &canary, &granted, &secure, &inside))?;

    let root = ground.path("")?;
    let theirs = root.join("agents/b/workspace");
    let secret = theirs.join("secret.txt");
    machine::link(&secret, &shared.join("escape"))?;
    machine::link(&theirs, &shared.join("escape-folder"))?;
    let abstract_name = format!("insula-{}", folder.file_name().unwrap_or_default().display());
    let within = |agent: &str| root.join("agents").join(agent).join("workspace/socket");
    let paths = [theirs.join("socket"), within("shell"), within("server"), within("open")];
    let sockets = Sockets::open(&abstract_name, &paths, &secret)?;

    let sleep = format!("sleep 1{}", inside.port());
    let command = format!("echo {canary} > /tmp/own; exec {sleep}");
    let said =
        ground.call("b", "own", "terminal", json!({ "command": command, "background": true }))?;
    anyhow::ensure!(said.contains("started process p1"), "{said}");
    let victim = machine::eventually("there is a process of b's", || Ok(beside::process(&sleep)))?;
    // Open to everyone, so that only the walls can be what refuses.
    for path in ["", "agents", "agents/b", "agents/b/workspace"] {
        beside::set_mode(&root.join(path), 0o777)?;
    }
    for path in paths.iter().chain([&secret, &root.join("config.yaml")]) {
        beside::set_mode(path, 0o666)?;
    }
    let show = |path: &Path| path.display().to_string();
    let up = "../".repeat(shared.components().count() - 1);
    let aims = BTreeMap::from([
        ("ROOT", show(&root)),
        ("SHARED", show(&shared)),
        ("OTHER", show(&theirs)),
        ("SECRET_FILE", show(&secret)),
        ("UP", "../../b/workspace/secret.txt".to_owned()),
        ("UP_FROM_SHARED", format!("{up}{}", show(&secret).trim_start_matches('/'))),
        ("CONFIG", show(&root.join("config.yaml"))),
        ("MARKER", show(&marker)),
        ("TCP_PORT", sockets.tcp.to_string()),
        ("UDP_PORT", sockets.udp.to_string()),
        ("ABSTRACT", abstract_name),
        ("SOCKET_BESIDE", show(&paths[0])),
        ("VICTIM", victim.to_string()),
        ("DAEMON", ground.pid()?.to_string()),
        ("GIVEN", given()),
        ("FILE_MB", "80".to_owned()),
        ("TMP_MB", "64".to_owned()),
        ("INSIDE", inside.port().to_string()),
        ("GRANTED", granted.port().to_string()),
        ("SECURE", secure.port().to_string()),
    ]);
    let missing = (level == Level::Root && !machine::is_root())
        .then(|| "the gauntlet does not run as root, so neither does the daemon".to_owned());
    let arena = Arena {
        level,
        missing,
        canary,
        shared,
        sleep,
        victim,
        aims,
        inside,
        granted,
        secure,
        names,
        told: Mutex::default(),
        outside,
        _sockets: sockets,
    };
    Ok(ground.with(arena))
}

impl Arena {
    /// The arena of a ground of this section.
    pub fn of(ground: &Ground) -> Result<&Self> {
        ground.own()
    }

    /// What an attempt of this agent's aims at.
    pub fn aims_of(&self, ground: &Ground, agent: &str, first_descriptor: u32) -> Result<Value> {
        let workspace = ground.path(&format!("agents/{agent}/workspace"))?;
        let mut aims = self.aims.clone();
        aims.insert("WORKSPACE", workspace.display().to_string());
        aims.insert("SOCKET_WITHIN", workspace.join("socket").display().to_string());
        aims.insert("FIRST_DESCRIPTOR", first_descriptor.to_string());
        Ok(serde_json::to_value(aims)?)
    }

    /// A file beside everything, in the host's `/tmp`.
    pub fn marker(&self) -> Result<PathBuf> {
        Ok(machine::real(self.outside.path())?.join("marker"))
    }

    /// What of all that is not the attackers' is not as it was.
    pub fn disturbed(&self, ground: &Ground) -> Result<Option<String>> {
        let theirs = ground.path("agents/b/workspace")?;
        let text = |path: &Path| {
            machine::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let aim = |name: &str| self.aims.get(name).context("an aim that is not known");
        for path in [PathBuf::from(aim("SECRET_FILE")?), self.marker()?] {
            if text(&path).ok().as_deref() != Some(&*self.canary) {
                return Ok(Some(format!("{} is not as it was", path.display())));
            }
        }
        if machine::names(&theirs) != ["secret.txt", "socket"] {
            return Ok(Some(format!("in the folder of b: {:?}", machine::names(&theirs))));
        }
        if machine::names(&self.shared) != ["escape", "escape-folder", "readable"] {
            return Ok(Some(format!("in the shared folder: {:?}", machine::names(&self.shared))));
        }
        for agent in ["shell", "server"] {
            let of_the_agent = machine::names(&ground.path(&format!("agents/{agent}"))?);
            let planted = ["agent.yaml", "SOUL.md", "hooks", "skills", "made"];
            if let Some(name) = of_the_agent.iter().find(|it| planted.contains(&it.as_str())) {
                return Ok(Some(format!("{agent} made its own `{name}`")));
            }
        }
        if !text(&ground.path("config.yaml")?)?.contains("mode: off") {
            return Ok(Some("the configuration is not as it was".to_owned()));
        }
        if beside::process(&self.sleep) != Some(self.victim) {
            return Ok(Some("the process of b is gone".to_owned()));
        }
        if let [first, ..] = &*self.inside.heard() {
            return Ok(Some(format!("the site inside was asked: {first}")));
        }
        if self.secure.heard().iter().any(|hello| hello.contains("inside.example")) {
            return Ok(Some("a tunnel was used for another name".to_owned()));
        }
        // The other and the daemon go on with their work.
        let said = ground.call("b", "own", "terminal", json!({ "command": "cat secret.txt" }))?;
        let goes_on = said.starts_with(&self.canary);
        Ok((!goes_on).then(|| format!("b can't read its own file: {said}")))
    }
}

/// Nothing that is not the attackers' was changed or heard by any attempt before this one.
pub fn nothing_else_was_touched(ground: &Ground) -> Result<Verdict> {
    let arena = Arena::of(ground)?;
    if let Some(why) = &arena.missing {
        return Ok(Verdict::NotRun(why.clone()));
    }
    match arena.disturbed(ground)? {
        Some(what) => Ok(Verdict::Broken(what)),
        None => Ok(Verdict::Held),
    }
}

/// What a door of an agent told of a batch, by name.
pub fn parsed(said: &str, count: usize) -> Result<AttemptResults> {
    let lines = said.lines().filter(|line| line.starts_with("{\"attempt\""));
    let told: AttemptResults = lines
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some((line["attempt"].as_str()?.to_owned(), line)))
        .collect();
    if told.len() != count {
        bail!("{} of {count} attempts were told about: {said}", told.len());
    }
    Ok(told)
}

/// The names of variables that a program is given: git is told of the granted folders by some.
fn given() -> String {
    let mut names = "PATH HOME LANG TERM PWD OLDPWD SHLVL _ LC_CTYPE GIT_CONFIG_COUNT".to_owned();
    for at in 0..8 {
        names.push_str(&format!(" GIT_CONFIG_KEY_{at} GIT_CONFIG_VALUE_{at}"));
    }
    names
}
