//! Rules that the text of the sources shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file longer than this is two files.
const FILE_LINES_MAX: usize = 800;

/// The files that own an authority `clippy.toml` takes from everyone else, and why. Paths
/// are relative to `crates/`.
pub(super) const OWNERS: &[(&str, &str)] = &[
    ("archive/src/files.rs", "packing and unpacking files where an operator says"),
    ("bench/src/daemon.rs", "a measuring program: the daemon it measures"),
    ("bench/src/homes.rs", "a measuring program: the homes it measures"),
    ("bench/src/machine.rs", "a measuring program: the clock, threads, /proc, a file to flush"),
    ("bench/src/messenger.rs", "a measuring program: itself, as the platform"),
    ("bench/src/wire.rs", "a measuring program: sockets of the driver and the instant model"),
    (
        "cli/src/process.rs",
        "start-up: the environment, the process itself, its log file, a server that a person wants",
    ),
    ("cli/src/supervisor.rs", "what started the process, as systemd: units, its commands"),
    ("config/src/files.rs", "reading the files of a configuration"),
    ("config/src/policies/files.rs", "reading folders of policies, never by a link"),
    ("config/src/skills/files.rs", "reading folders of skills, beneath a folder opened once"),
    ("gauntlet/src/beside.rs", "an attacking program: /proc, rights of files, threads, its clock"),
    ("gauntlet/src/machine.rs", "an attacking program: its files, sockets, threads and clock"),
    ("gauntlet/src/sections/e/host.rs", "an attacking program: sockets its attempts aim at"),
    (
        "gauntlet/src/noninterference/clock.rs",
        "the paused timer of the runtime, to notice that all wait",
    ),
    ("gauntlet/src/noninterference/disk.rs", "homes of runs that are compared, and what is left"),
    ("import/src/source_home.rs", "reading homes of other runtimes that an operator names"),
    ("import/src/sqlite.rs", "opening copies of databases of other runtimes"),
    ("memory/src/files.rs", "an agent's memory files, below its own folder"),
    ("registry/src/agent_logs/files.rs", "logs of agents: appending, reading, removing files"),
    ("registry/src/kept_files.rs", "what agents have on the disk: measuring, old attachments"),
    (
        "registry/src/home/files.rs",
        "the home folder: creating, locking, writing and removing in it",
    ),
    ("registry/src/home/agent_folders.rs", "folders of agents: making, renaming, removing them"),
    ("registry/src/home/configuration_folders.rs", "which folders of the home are watched"),
    ("registry/src/policy_folders.rs", "folders of policies: putting in place, taking away"),
    ("registry/src/watch/looked.rs", "looking at the files of configuration where watches fail"),
    ("capabilities/src/skills/disk.rs", "writing agents' own skills, and what was installed"),
    ("capabilities/src/skills/git.rs", "running git for an operator, and measuring what it writes"),
    ("capabilities/src/skills/source.rs", "where skills are installed from: folders and archives"),
    ("capabilities/src/static_models.rs", "reading static models from folders operators name"),
    ("sandbox/src/bin/insula-confine.rs", "start-up of the helper that tests use: its arguments"),
    ("sandbox/src/cgroup.rs", "cgroups of confined processes, which are folders and files"),
    ("sandbox/src/conversation.rs", "the socket between the daemon and its helper"),
    ("sandbox/src/disk.rs", "what the folders of confined processes take up"),
    ("sandbox/src/helper/root.rs", "a confined process's root folder: mounts, links, pivoting"),
    ("sandbox/src/helper/start.rs", "the helper's own descriptors, /proc, and what it starts"),
    ("sandbox/src/holdings.rs", "what confined processes hold open, which is below /proc"),
    ("sandbox/src/launcher.rs", "the launcher thread, the helpers it starts, their id maps"),
    ("sandbox/src/listener.rs", "the listener that a confined process's network passed out"),
    ("sandbox/src/quota.rs", "the machine's own limits, which are files below /proc/sys"),
    ("store/src/files.rs", "the store's own files: keys, anchors, folders of databases"),
    ("store/src/sqlite/glance.rs", "the first bytes of a database, without opening it"),
    ("store/src/sqlite/open.rs", "opening database files, in one function"),
    ("testkit/src/daemon.rs", "processes that tests start, and the threads that read them"),
    ("testkit/src/editor.rs", "an editor of a test: the command it starts, and its threads"),
    ("testkit/src/fuzz/memory.rs", "how much memory a test holds"),
    ("testkit/src/home.rs", "the files of a test's temporary home, and a disk of its own"),
    ("testkit/src/synapse/person.rs", "people of a test's homeserver: their connections to it"),
    ("testkit/src/synapse/server.rs", "the homeserver of a test: its process, folder and port"),
    ("testkit/src/world/clock.rs", "the paused timer of the runtime, to notice that all wait"),
    ("tools/src/workspace/kernel.rs", "the folders an agent was given, and all beneath them"),
    ("vault/src/files.rs", "the files of the vault: its key and its sealed secrets"),
    ("world/src/local.rs", "the socket of the command line: its file, and connections to it"),
    ("world/src/real.rs", "clock, entropy, processes and sockets of the machine"),
    ("world/src/threads.rs", "the threads that storage work runs on"),
];

/// Files with state of the whole process, and why it carries no identity.
const STATICS: &[(&str, &str)] = &[
    ("adapters/src/others.rs", "no static: a cell of one gateway's, filled once it has accounts"),
    ("domain/src/expr/mod.rs", "the functions of expressions: made once, the same for everybody"),
    ("domain/src/scan/words.rs", "the phrases of the scanner, taken apart once"),
    ("store/src/sqlite/open.rs", "no static: an empty database, made once a store"),
    ("turns/src/facts.rs", "no static: what the rules about one call ask for, made once"),
    ("testkit/src/synapse/server.rs", "which ports the homeservers of one test run have had"),
];

/// What no file may say outside [`STATICS`].
const PROCESS_STATE: [&str; 8] = [
    "static mut ",
    "thread_local!",
    "task_local!",
    "lazy_static",
    "OnceLock",
    "LazyLock",
    "OnceCell",
    "LazyCell",
];

/// What the pure room may not say.
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio",
    "async fn",
];

struct Source {
    /// Relative to `crates/`.
    path: String,
    /// As it stands.
    text: String,
    /// Without comments and inline test modules.
    code: String,
}

impl Source {
    fn is_test(&self) -> bool {
        self.path.ends_with("_tests.rs") || self.path.ends_with("/tests.rs")
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every source file under `crates/*/src`.
fn sources() -> Vec<Source> {
    let crates = crates();
    let mut found = vec![];
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
                found.push(Source { path, code: code(&text), text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(found.len() > 10, "only {} sources found: is the search broken?", found.len());
    found
}

/// The text without whole-line comments and without inline `#[cfg(test)] mod … { … }`, which
/// rustfmt closes with a brace in the first column.
fn code(text: &str) -> String {
    let mut kept: Vec<&str> = vec![];
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            kept.push(line);
            continue;
        }
        let mut item = vec![line];
        for line in lines.by_ref() {
            item.push(line);
            let module = line.starts_with("mod ") || line.starts_with("pub mod ");
            if module && line.ends_with('{') {
                item.clear();
                break;
            }
            let attribute = line.starts_with(['#', ' ', ')', ']']);
            if !attribute {
                break;
            }
        }
        if item.is_empty() {
            lines.by_ref().find(|&line| line == "}");
        }
        kept.extend(item);
    }
    kept.join("\n")
}

/// A `static` whose type lets it change behind a shared reference.
fn is_changeable_static(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
    let cells = ["Atomic", "Mutex", "RwLock", "Cell", "ArcSwap", "OnceLock", "LazyLock"];
    line.starts_with("static ") && cells.iter().any(|cell| line.contains(cell))
}

/// Compares the files that do something with the list that says which may.
fn compare(what: &str, doing: BTreeSet<&str>, listed: &[(&str, &str)]) {
    let listed: BTreeMap<&str, &str> = listed.iter().copied().collect();
    assert!(listed.values().all(|reason| !reason.is_empty()), "{what}: a reason is missing");
    let listed: BTreeSet<&str> = listed.into_keys().collect();
    let unlisted: Vec<_> = doing.difference(&listed).collect();
    assert!(unlisted.is_empty(), "{what}: list these with a reason, or change them: {unlisted:?}");
    let stale: Vec<_> = listed.difference(&doing).collect();
    assert!(stale.is_empty(), "{what}: listed without need: {stale:?}");
}

#[test]
fn rule_01_no_ambient_identity() {
    let sources = sources();
    let having = |needles: &[&str]| -> BTreeSet<&str> {
        let production = sources.iter().filter(|source| !source.is_test());
        let having =
            production.filter(|source| needles.iter().any(|needle| source.code.contains(needle)));
        having.map(|source| source.path.as_str()).collect()
    };
    let mut stateful = having(&PROCESS_STATE);
    stateful.extend(sources.iter().filter(|source| !source.is_test()).filter_map(|source| {
        source.code.lines().any(is_changeable_static).then_some(source.path.as_str())
    }));
    compare("state of the whole process", stateful, STATICS);
    let lifting = ["clippy::disallowed_", "clippy::all", "clippy::style", "allow(warnings"];
    compare("lifting the lint", having(&lifting), OWNERS);
}

/// What ships clears a call in one place, so that there is no way around the gate.
#[test]
fn rule_06_only_the_gate_clears_a_call() {
    let clears = |it: &&Source| !it.is_test() && it.code.contains("Cleared::by_the_gate(");
    let sources = sources();
    let files: Vec<&str> = sources.iter().filter(clears).map(|source| &*source.path).collect();
    assert_eq!(files, ["turns/src/gate/mod.rs"]);
}

/// What would let the front read or write what belongs to one agent.
const STORES_OF_AGENTS: [&str; 5] =
    ["AgentStore", "insula_store", "agent.store", "context.store", "store.agent("];

/// What would let the gateway reach an agent at all: it names them, and its own state of the daemon
/// is `Front`.
const AGENTS: [&str; 5] = ["AgentStore", "AgentContext", "Daemon", "insula_turns", ".agent("];

/// What would let the owner of agents judge a token, which the front has done.
const TEXTS_OF_TOKENS: [&str; 3] = ["AUTHORIZATION", "daemon.tokens", "AdminToken"];

/// An agent may live in another process than the listener: what is an agent's is its owner's, and
/// what is a token's is the front's.
#[test]
fn rule_02_the_front_holds_no_agents_store_and_the_owner_no_token() {
    let sources = sources();
    let says = |room: &str, needles: &[&str]| -> Vec<String> {
        let own =
            sources.iter().filter(|source| source.path.starts_with(room) && !source.is_test());
        own.flat_map(|source| {
            let said = needles.iter().filter(|needle| source.code.contains(**needle));
            said.map(|needle| format!("{}: {needle}", source.path))
        })
        .collect()
    };
    let mut faults = says("http/", &STORES_OF_AGENTS);
    faults.extend(says("gateway/", &AGENTS));
    assert!(faults.is_empty(), "{faults:?}: ask the owner, by `insula_channel::Owner`");
    let faults = says("api/", &TEXTS_OF_TOKENS);
    assert!(faults.is_empty(), "{faults:?}: who asks is the `Caller` beside a request");
}

#[test]
fn rule_01_an_owner_lifts_the_lint_for_one_file_only() {
    for source in sources().iter().filter(|source| source.code.contains("clippy::disallowed_")) {
        let root = ["/src/lib.rs", "/src/main.rs"].iter().any(|root| source.path.ends_with(root));
        assert!(!root, "{}: here it would hold for the whole crate", source.path);
        let mut lines = source.code.lines().map(str::trim);
        let parent = lines.find(|line| line.contains("mod ") && line.ends_with(';'));
        assert!(
            source.is_test() || parent.is_none_or(|line| line.ends_with("tests;")),
            "{}: the exception would hold for `{}` too",
            source.path,
            parent.unwrap_or_default()
        );
    }
}

#[test]
fn rule_01_the_domain_is_pure() {
    for source in sources().iter().filter(|source| source.path.starts_with("domain/")) {
        for needle in IMPURE {
            let tests_may = source.is_test();
            assert!(tests_may || !source.code.contains(needle), "{}: {needle}", source.path);
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_is_short_enough_to_read() {
    let mut faults = vec![];
    for Source { path, text, .. } in sources() {
        if !text.starts_with("//! ") {
            faults.push(format!("{path}: the first line is no `//!`"));
        }
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{path}: {lines} lines, {FILE_LINES_MAX} are too many to read"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let workspace = fs::read_to_string(crates().join("../Cargo.toml")).unwrap();
    for line in [
        r#"unsafe_code = "forbid""#,
        r#"disallowed_methods = "deny""#,
        r#"disallowed_types = "deny""#,
    ] {
        assert!(workspace.contains(line), "the workspace no longer says {line}");
    }
    for entry in fs::read_dir(crates()).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(text.contains("[lints]\nworkspace = true\n"), "{}", manifest.display());
    }
}

#[test]
fn the_scan_keeps_code_and_drops_comments_and_inline_tests() {
    let text =
        "//! a\nuse b;\n#[cfg(test)]\n#[allow(\n    c\n)]\nmod tests {\n    d\n}\nfn e() {}\n";
    assert_eq!(code(text), "use b;\nfn e() {}");
    let text = "#[cfg(test)]\nmod tests;\nfn e() {}\n";
    assert_eq!(code(text), text.trim_end());
    let text = "#[cfg(test)]\nfn helper() {\n    c\n}\n";
    assert_eq!(code(text), text.trim_end());
    assert!(is_changeable_static("    pub static COUNT: AtomicU64 = AtomicU64::new(0);"));
    assert!(!is_changeable_static("static NAMES: [&str; 2] = [\"a\", \"b\"];"));
}
