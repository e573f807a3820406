//! Honest work inside of the walls: a repository is cloned and a crate built, where the grants
//! for it were given; where one is missing, it is named.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{HostSetup, Level, Stage, open};
use super::at_both_levels;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A repository with a small crate, in a folder that everybody can read.
fn repository(place: &Path) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        let name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        assert!(command.args(name).args(args).output().unwrap().status.success(), "{args:?}");
    };
    let origin = place.to_str().unwrap();
    git(&["init", "-q", origin]);
    std::fs::create_dir(place.join("src")).unwrap();
    let manifest =
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(place.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(place.join("src/main.rs"), "fn main() { println!(\"built\") }").unwrap();
    git(&["-C", origin, "add", "."]);
    git(&["-C", origin, "commit", "-qm", "first"]);
}

fn a_repository_is_cloned_and_a_crate_built(level: Level) {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().canonicalize().unwrap();
    open(&root, 0o755);
    let origin = root.join("origin");
    repository(&origin);
    let cargo = Path::new(env!("CARGO")).canonicalize().unwrap();
    let installed = cargo.parent().unwrap().parent().unwrap();
    // Where the daemon's user can't reach the toolchain, it is mounted where it can.
    let (toolchain, before) = match level {
        Level::Root => (installed.to_owned(), String::new()),
        Level::Ordinary if rustix::process::getuid().is_root() => {
            let toolchain = root.join("toolchain");
            std::fs::create_dir(&toolchain).unwrap();
            let before = format!(
                "if [ -z \"$MOUNTED\" ]; then export MOUNTED=1; exec unshare --mount --propagation private \"$0\" \"$@\"; fi\nmount --bind {} {} || exit 1",
                installed.display(),
                toolchain.display()
            );
            (toolchain, before)
        }
        Level::Ordinary => (installed.to_owned(), String::new()),
    };
    let (place, tools) = (origin.display(), toolchain.display());
    let env = format!(
        "env: {{PATH: \"{tools}/bin:/usr/local/bin:/usr/bin:/bin\", CARGO_HOME: /tmp/cargo}}"
    );
    let config = format!(
        "approvals: {{mode: off}}\ndefaults: {{integrity: off}}\nagents:\n  coder: {{default: true, tools: coding, {env}, files: {{shared: [{tools}, {place}]}}}}\n  no-repository: {{tools: coding, {env}, files: {{shared: [{tools}]}}}}\n  no-toolchain: {{tools: coding, files: {{shared: [{place}]}}}}\n  read-only: {{tools: coding, files: {{shared: [{place}]}}}}\n"
    );
    let host = HostSetup::around(level, &config, &before);
    let agents = ["coder", "no-repository", "no-toolchain", "read-only"];
    let stage = Stage::open(host, &agents);
    let clone = format!(
        "git config --global --add safe.directory '*'; git clone -q {place} clone && ls clone && git -C clone log --oneline"
    );
    let build = "cd clone && cargo build --offline 2>&1 && ./target/debug/tiny";
    let run = |agent: &str, command: &str| {
        stage.call(agent, "s", "terminal", json!({ "command": command, "timeout": 110 }))
    };
    let said = run("coder", &clone);
    assert!(said.contains("Cargo.toml\n") && said.contains("first\n"), "{said}");
    let said = run("coder", build);
    assert!(said.contains("Finished") && said.contains("\nbuilt\n"), "{said}");
    // Without the grant it does not go, and the grant is named.
    let said = run("no-repository", &clone);
    let missing = format!("not granted: `{place}`; the operator can add it to `files.shared`");
    assert!(said.contains(&missing) && !said.contains("Cargo.toml"), "{said}");
    let said = run("no-toolchain", &clone);
    assert!(said.contains("Cargo.toml\n"), "{said}");
    let said = run("no-toolchain", build);
    assert!(said.contains("not among the programs of the system: `cargo`"), "{said}");
    assert!(said.contains("`files.shared`") && said.contains("`env.PATH`"), "{said}");
    // What was granted to read stays as it is.
    let said = run("read-only", &format!("touch {place}/mine"));
    assert!(said.contains("[exit status 1]"), "{said}");
    let said = run("read-only", "git clone -q https://example.com/x.git away");
    assert!(said.contains("`network.allow`"), "{said}");
    assert!(!origin.join("mine").exists());
}

at_both_levels!(a_repository_is_cloned_and_a_crate_built);
