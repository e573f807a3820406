//! A daemon with two agents: one has things worth reaching, the other is driven by a script.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::puppet::{Call, Played, Puppet};
use crate::support::*;
use insula_testkit::{Daemon, Home, Output, run, run_with_input};
use serde_json::{Value, json};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// In all that is the other agent's or the daemon's.
pub const CANARY: &str = "CANARY-7f1c9a";

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// Who the daemon runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Root,
    Ordinary,
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

impl Level {
    /// Whether these tests can start a daemon as this user. Said, where they can't.
    pub fn can_be_had(self) -> bool {
        let can = self == Self::Ordinary || is_root();
        if !can {
            eprintln!("NOT RUN: the tests are not run as root, so neither is the daemon");
        }
        can
    }

    /// Whether the daemon is another user than the tests.
    fn differs(self) -> bool {
        self == Self::Ordinary && is_root()
    }
}

/// A home, the binary that runs in it as some user, and the model of its agents.
pub struct HostSetup {
    pub home: Home,
    pub puppet: Puppet,
    pub level: Level,
    /// What is started as the binary: it becomes the user, then the real one.
    program: PathBuf,
    folder: TempDir,
}

impl HostSetup {
    /// A home with this configuration after the provider's, its files given to the user.
    pub fn new(level: Level, config: &str) -> Self {
        Self::around(level, config, "")
    }

    /// The same, where a line of shell comes before the daemon.
    pub fn around(level: Level, config: &str, before: &str) -> Self {
        let puppet = Puppet::start();
        let config = format!(
            "providers: {{far: {{kind: openai, base_url: \"{}\"}}}}\nmodel: far/one\n{config}",
            puppet.url
        );
        let home = configured(&config);
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), 0o755);
        // The user may not reach the original.
        let binary = folder.path().join("insula");
        if std::fs::hard_link(INSULA, &binary).is_err() {
            std::fs::copy(INSULA, &binary).unwrap();
        }
        let become_user = match level.differs() {
            true => {
                format!("setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --inh-caps=-all ")
            }
            false => String::new(),
        };
        let script = format!(
            "#!/bin/sh\ncd /\nexport OF_THE_DAEMON={CANARY}\n{before}\nexec {become_user}{} \"$@\"\n",
            binary.display()
        );
        let program = folder.path().join("as-user");
        std::fs::write(&program, script).unwrap();
        open(&program, 0o755);
        let host = Self { home, puppet, level, program, folder };
        host.give(host.home.path());
        host
    }

    /// Gives a path and all below it to the user of the daemon.
    pub fn give(&self, path: &Path) {
        if self.level.differs() {
            for path in everything_below(path) {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
    }

    /// A folder that the daemon's user can reach.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The home, as the kernel names it.
    pub fn root(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    pub fn start(&self) -> Daemon {
        Daemon::start_with(&self.program, self.home.path(), &["--no-watch"]).unwrap()
    }

    /// Runs a command as the daemon's user.
    pub fn cli(&self, args: &[&str]) -> Output {
        run(&self.program, self.home.path(), args)
    }

    /// The answer of a command that has to succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        self.cli(&args).ok().json()
    }

    pub fn secret(&self, agent: &str, name: &str, value: &str) {
        let args = ["secret", "set", agent, name];
        run_with_input(&self.program, self.home.path(), &args, format!("{value}\n")).ok();
    }
}

/// A daemon on a host, and a token for its agents.
pub struct Stage {
    pub host: HostSetup,
    pub daemon: Daemon,
    token: String,
}

impl Stage {
    /// Starts it, for these agents.
    pub fn open(host: HostSetup, agents: &[&str]) -> Self {
        let daemon = host.start();
        let mut args = vec!["token", "create"];
        args.extend(agents.iter().flat_map(|agent| ["--agent", agent]));
        let token = host.json(&args)["token"].as_str().unwrap().to_owned();
        Self { host, daemon, token }
    }

    /// One turn of an agent whose model follows a script.
    pub fn play(
        &self,
        agent: &str,
        session: &str,
        script: impl FnMut(&[String]) -> Vec<Call> + Send + 'static,
    ) -> Played {
        let cue = self.host.puppet.learn(script);
        let body =
            json!({ "model": agent, "messages": [{ "role": "user", "content": cue.words() }] });
        let headers = [
            format!("Authorization: Bearer {}", self.token),
            format!("X-Insula-Session: {session}"),
            "Content-Type: application/json".to_owned(),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let to = self.daemon.listen();
        let answer = send(to, "POST", "/v1/chat/completions", &headers, &body.to_string());
        assert_eq!(answer.status, 200, "{agent} in {session}: {answer:?}\n{}", self.daemon.log());
        self.host.puppet.played(cue)
    }

    /// One turn that makes these calls; what each gave back.
    pub fn calls(&self, agent: &str, session: &str, calls: Vec<Call>) -> Vec<String> {
        let count = calls.len();
        let mut left = Some(calls);
        let played = self.play(agent, session, move |_| left.take().unwrap_or_default());
        assert_eq!(played.results.len(), count, "{agent} in {session}: {:#?}", played.results);
        played.results
    }

    /// What one call gives back.
    pub fn call(&self, agent: &str, session: &str, tool: &str, arguments: Value) -> String {
        self.calls(agent, session, vec![(tool.to_owned(), arguments)]).remove(0)
    }

    /// What a command gives back.
    pub fn sh(&self, agent: &str, session: &str, command: &str) -> String {
        self.call(agent, session, "terminal", json!({ "command": command }))
    }
}

/// Two agents, `a` who tries and `b` who has something; `proxied`, who has a proxy; and `open`,
/// who has no walls.
pub struct Arena {
    pub stage: Stage,
    /// What `a` was granted to read.
    pub shared: PathBuf,
    /// A file in the host's `/tmp`.
    pub marker: PathBuf,
    /// The process of `b` in the background, on the host.
    pub victim: u32,
    pub variables: Vec<(&'static str, String)>,
    _folder: TempDir,
    _sockets: (std::net::TcpListener, std::net::UdpSocket, [UnixListener; 3]),
}

const LIMITS: &str = "sandbox: {memory: 512MB, processes: 64, descriptors: 64, file_size: 80MB}";

impl Arena {
    pub fn new(level: Level) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().canonicalize().unwrap();
        let shared = outside.join("shared");
        std::fs::create_dir(&shared).unwrap();
        open(&outside, 0o777);
        open(&shared, 0o777);
        let marker = outside.join("marker");
        std::fs::write(&marker, CANARY).unwrap();
        open(&marker, 0o666);
        std::fs::write(shared.join("readable"), "for everyone").unwrap();

        let shares = format!("files: {{shared: [{}]}}", shared.display());
        let host = HostSetup::new(
            level,
            &format!(
                "approvals: {{mode: off}}\ndefaults: {{integrity: off}}\nagents:\n  a: {{default: true, tools: coding, {LIMITS}, {shares}}}\n  b: {{tools: coding, secrets: [KEY], env: {{SECRET: {CANARY}, TOKEN: \"${{secret:KEY}}\"}}}}\n  proxied: {{tools: coding, {LIMITS}, network: {{allow: [\"192.0.2.7\"]}}}}\n  open: {{tools: coding, sandbox: off, {shares}}}\n"
            ),
        );
        host.secret("b", "KEY", &format!("{CANARY}-secret"));
        let root = host.root();
        let [own, theirs] =
            ["a", "b"].map(|agent| root.join("agents").join(agent).join("workspace"));
        let secret = theirs.join("secret.txt");
        for path in [&own, &theirs] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(&secret, CANARY).unwrap();
        symlink(&secret, shared.join("escape")).unwrap();
        symlink(&theirs, shared.join("escape-folder")).unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let name = format!("insula-{}", root.file_name().unwrap().display());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let (beside, within) = (theirs.join("socket"), own.join("socket"));
        let unix = [
            UnixListener::bind_addr(&address).unwrap(),
            UnixListener::bind(&beside).unwrap(),
            UnixListener::bind(&within).unwrap(),
        ];
        host.give(host.home.path());

        let stage = Stage::open(host, &["a", "b", "proxied", "open"]);
        let sleep = format!("sleep 1{}", stage.host.puppet.port);
        let command = format!("echo {CANARY} > /tmp/own; exec {sleep}");
        let wish = json!({ "command": command, "background": true });
        let said = stage.call("b", "own", "terminal", wish);
        assert!(said.contains("started process p1"), "{said}");
        let victim = eventually("a process of b's", || process(&sleep));
        // Open to everyone, so that only the walls can be what refuses.
        for path in [root.clone(), root.join("agents"), root.join("agents/b"), theirs.clone()] {
            open(&path, 0o777);
        }
        for path in [&secret, &beside, &within, &root.join("config.yaml")] {
            open(path, 0o666);
        }
        let show = |path: &Path| path.to_str().unwrap().to_owned();
        let up = "../".repeat(shared.components().count() - 1);
        let variables = vec![
            ("WORKSPACE", show(&own)),
            ("SHARED", show(&shared)),
            ("OTHER", show(&theirs)),
            ("SECRET_FILE", show(&secret)),
            ("UP", "../../b/workspace/secret.txt".to_owned()),
            ("UP_FROM_SHARED", format!("{up}{}", show(&secret).trim_start_matches('/'))),
            ("CONFIG", show(&root.join("config.yaml"))),
            ("MARKER", show(&marker)),
            ("TCP_PORT", tcp.local_addr().unwrap().port().to_string()),
            ("UDP_PORT", udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
            ("SOCKET_BESIDE", show(&beside)),
            ("SOCKET_WITHIN", show(&within)),
            ("VICTIM", victim.to_string()),
            ("DAEMON", stage.daemon.pid().to_string()),
            ("GIVEN", given()),
            ("FILE_MB", "80".to_owned()),
            ("TMP_MB", "64".to_owned()),
        ];
        let sockets = (tcp, udp, unix);
        Self { stage, shared, marker, victim, variables, _folder: folder, _sockets: sockets }
    }

    /// What a variable of the attempts says.
    pub fn variable(&self, name: &str) -> &str {
        &self.variables.iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// Fails unless all that is not `a`'s is as it was.
    pub fn assert_undisturbed(&self) {
        let root = self.stage.host.root();
        assert_eq!(std::fs::read_to_string(self.variable("SECRET_FILE")).unwrap(), CANARY);
        assert_eq!(std::fs::read_to_string(&self.marker).unwrap(), CANARY);
        let names = |path: &Path| {
            let entries = std::fs::read_dir(path).unwrap();
            let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(Path::new(self.variable("OTHER"))), ["secret.txt", "socket"]);
        assert_eq!(names(&self.shared), ["escape", "escape-folder", "readable"]);
        assert!(!root.join("agents/a/made").exists());
        assert!(std::fs::read_to_string(root.join("config.yaml")).unwrap().contains("mode: off"));
        let sleep = format!("sleep 1{}", self.stage.host.puppet.port);
        assert_eq!(process(&sleep), Some(self.victim));
        let poll = json!({ "action": "poll", "session_id": "p1" });
        let said = self.stage.call("b", "own", "process", poll);
        assert!(said.starts_with("p1: runs"), "{said}");
        let said = self.stage.sh("b", "own", "cat secret.txt");
        assert!(said.starts_with(CANARY), "{said}");
    }
}

/// The process with exactly this command line.
pub fn process(words: &str) -> Option<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = entries.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|number| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == words
    })
}

pub fn open(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Does `work` to each, a few at a time; what came of each, in order.
pub fn several<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const AT_ONCE: usize = 4;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(one) = all.get(at) else { return };
                    let result = work(one);
                    done.lock().unwrap().push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The names of variables that a program is given: git is told of the granted folders by some.
fn given() -> String {
    let mut names = "PATH HOME LANG TERM PWD OLDPWD SHLVL _ LC_CTYPE GIT_CONFIG_COUNT".to_owned();
    for at in 0..8 {
        names.push_str(&format!(" GIT_CONFIG_KEY_{at} GIT_CONFIG_VALUE_{at}"));
    }
    names
}
