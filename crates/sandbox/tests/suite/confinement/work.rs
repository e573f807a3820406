//! Ordinary work goes on inside the walls, and refusals say what to do.

use crate::confinement::arena::{Arena, OWNER, is_root, sandbox, text};
use insula_sandbox::{
    AttemptVerdict, Error, Finished, Hidden, Layer, Network, Spec, Stdin, give_to,
};
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn succeeded(finished: &Finished) -> String {
    let (out, err) = (text(&finished.stdout.bytes()), text(&finished.stderr.bytes()));
    assert!(finished.exit.is_success(), "{:?}\n{out}\n{err}", finished.exit);
    out
}

#[tokio::test]
async fn pipelines_files_and_substitution_work_in_a_shell() {
    let arena = Arena::new();
    let script = "set -e
        printf 'b\\na\\nc\\n' > list && sort list | tail -n 2 | tr a-z A-Z
        mkdir -p deep/er && cp list deep/er/ && mv deep/er/list deep/list && rm -r deep/er
        find . -name list | sort
        test \"$(cat deep/list | wc -l)\" -eq 3
        cat $SHARED/readable && id -un && hostname
        echo x > /tmp/x && cat /tmp/x && ls -l /proc/self/fd > /dev/null && ps > /dev/null || true
        sed -i s/a/z/ list && grep z list && date > /dev/null && sleep 0";
    let out = succeeded(&arena.run(arena.shell(script)).await.unwrap());
    assert_eq!(out, "B\nC\n./deep/list\n./list\nfor everyoneagent\ninsula\nx\nz\n");
}

#[tokio::test]
async fn python_works_with_processes_threads_and_temporary_files() {
    let arena = Arena::new();
    let script = "import tempfile, threading, json, hashlib, random, multiprocessing, asyncio
with tempfile.NamedTemporaryFile() as f: f.write(b'x')
t = threading.Thread(target=lambda: None); t.start(); t.join()
print(subprocess.run(['echo', 'inner'], capture_output=True, text=True).stdout, end='')
async def main():
    p = await asyncio.create_subprocess_exec('true')
    return await p.wait()
print(asyncio.run(main()))
context = multiprocessing.get_context('fork')
q = context.SimpleQueue()
p = context.Process(target=lambda: q.put(5)); p.start(); p.join(); print(q.get())";
    let out = succeeded(&arena.run(arena.python(script)).await.unwrap());
    assert_eq!(out, "inner\n0\n5\n");
}

#[tokio::test]
async fn input_is_read_to_its_end() {
    let arena = Arena::new();
    let mut spec = arena.shell("wc -c");
    spec.stdin = Stdin::Bytes(vec![b'x'; 1_000_000]);
    assert_eq!(succeeded(&arena.run(spec).await.unwrap()).trim(), "1000000");
}

#[tokio::test]
async fn a_repository_can_be_cloned_changed_and_committed_to() {
    let arena = Arena::new();
    let origin = arena.path("origin");
    let git = |args: &[&str]| {
        let mut command = Command::new("/usr/bin/git");
        let name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let done = command.args(name).args(args).env_clear().env("HOME", "/nonexistent").output();
        assert!(done.unwrap().status.success(), "{args:?}");
    };
    let place = origin.to_str().unwrap();
    git(&["init", "-q", place]);
    std::fs::write(origin.join("file"), "content\n").unwrap();
    git(&["-C", place, "add", "file"]);
    git(&["-C", place, "commit", "-qm", "first"]);
    let script = format!(
        "set -e
        export HOME=/tmp
        git config --global --add safe.directory '*'
        git clone -q {place} clone && cd clone
        git config user.name a && git config user.email a@b
        echo more >> file && git commit -qam second && git log --oneline | wc -l"
    );
    // Without the grant the folder is not there.
    let refused = arena.run(arena.shell(&script)).await.unwrap();
    assert!(!refused.exit.is_success());
    let mut spec = arena.shell(&script);
    spec.reads.push(origin);
    assert_eq!(succeeded(&arena.run(spec).await.unwrap()).trim(), "2");
}

#[tokio::test]
async fn a_crate_builds_and_runs_with_its_toolchain_granted() {
    let Some((toolchain, rest)) = toolchain() else {
        // Said loudly, since it is what agents do all day.
        assert!(!is_root(), "no toolchain found to grant");
        eprintln!("NOT RUN: the toolchain is out of this user's reach");
        return;
    };
    let arena = Arena::new();
    let package = arena.workspace.join("tiny");
    std::fs::create_dir_all(package.join("src")).unwrap();
    let manifest =
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(
        package.join("build.rs"),
        "fn main() { println!(\"cargo:rustc-env=BUILT=yes\") }",
    )
    .unwrap();
    std::fs::write(
        package.join("src/main.rs"),
        "fn main() { println!(\"built: {}\", env!(\"BUILT\")) }",
    )
    .unwrap();
    if is_root() {
        give_to(&arena.workspace, OWNER).unwrap();
    }
    let script = format!(
        "export HOME=/tmp CARGO_HOME=/tmp/cargo PATH={}/bin:$PATH; cd tiny && cargo run -q --offline",
        toolchain.display()
    );
    let mut spec = arena.shell(&script);
    spec.limits.memory_bytes = 2 << 30;
    spec.limits.file_bytes = 1 << 30;
    spec.limits.descriptors = 1024;
    spec.limits.processes = 256;
    let refused = arena.run(spec.clone()).await.unwrap();
    assert!(!refused.exit.is_success(), "without the grant there is no toolchain");
    for path in [&toolchain, &rest] {
        spec.reads.push(path.clone());
        spec.executes.push(path.clone());
    }
    assert_eq!(succeeded(&arena.run(spec).await.unwrap()), "built: yes\n");
}

/// The toolchain that built this test, if this user can read it.
fn toolchain() -> Option<(PathBuf, PathBuf)> {
    let cargo = Path::new(env!("CARGO")).canonicalize().ok()?;
    let toolchain = cargo.parent()?.parent()?.to_owned();
    std::fs::read_dir(&toolchain).ok()?;
    let rest = toolchain.join("lib");
    Some((toolchain, rest))
}

#[tokio::test]
async fn the_listener_of_a_proxy_comes_out_and_is_the_whole_network() {
    let arena = Arena::new();
    let script = "assert E['HTTPS_PROXY'] == 'http://127.0.0.1:3128' and E['no_proxy'] == ''
s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'hello'); s.shutdown(socket.SHUT_WR)
print(s.recv(100).decode())";
    let mut spec = arena.python(script);
    spec.network = Network::Proxy { port: 3128 };
    let mut child = arena.sandbox.spawn(spec).await.unwrap();
    let listener = child.take_listener().unwrap();
    assert_eq!(listener.local_addr().unwrap().port(), 3128);
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "hello");
    stream.write_all(b"back").await.unwrap();
    drop(stream);
    assert_eq!(succeeded(&child.finish().await.unwrap()), "back\n");
}

#[tokio::test]
async fn two_children_with_the_same_port_have_two_networks() {
    let arena = Arena::new();
    let spec = || {
        let mut spec = arena.shell("sleep 1000");
        spec.network = Network::Proxy { port: 3128 };
        spec
    };
    let one = arena.sandbox.spawn(spec()).await.unwrap();
    let two = arena.sandbox.spawn(spec()).await.unwrap();
    drop((one, two));
}

#[tokio::test]
async fn many_children_at_once_do_not_disturb_each_other() {
    let arena = Arena::new();
    let mut running = vec![];
    for number in 0..20 {
        running.push(arena.sandbox.spawn(arena.shell(&format!("echo {number}"))).await.unwrap());
    }
    for (number, child) in running.into_iter().enumerate() {
        assert_eq!(succeeded(&child.finish().await.unwrap()), format!("{number}\n"));
    }
}

#[tokio::test]
async fn a_grant_through_a_link_is_refused_with_what_to_do() {
    let arena = Arena::new();
    let link = arena.path("link");
    std::os::unix::fs::symlink(arena.path("other"), &link).unwrap();
    for path in [link.clone(), link.join("secret.txt")] {
        let mut spec = arena.shell("true");
        spec.reads.push(path);
        let error = arena.run(spec).await.unwrap_err();
        assert!(error.to_string().contains("grant the real path"), "{error}");
    }
}

#[tokio::test]
async fn a_folder_that_became_a_link_inside_the_workspace_is_not_followed() {
    let arena = Arena::new();
    std::os::unix::fs::symlink(arena.path("other"), arena.workspace.join("sub")).unwrap();
    let mut spec = arena.shell("cat sub/secret.txt");
    spec.reads.push(arena.workspace.join("sub"));
    assert!(matches!(arena.run(spec).await, Err(Error::Grant { .. })));
}

#[tokio::test]
async fn a_folder_inside_another_can_be_narrower() {
    let arena = Arena::new();
    let inside = arena.workspace.join("kept");
    std::fs::create_dir(&inside).unwrap();
    if is_root() {
        give_to(&arena.workspace, OWNER).unwrap();
    }
    let mut spec = arena.shell("echo x > free && ! echo x > kept/file");
    spec.reads.push(inside.clone());
    let finished = arena.run(spec).await.unwrap();
    assert!(!inside.join("file").exists());
    succeeded(&finished);
}

#[tokio::test]
async fn what_can_not_be_given_or_executed_is_said() {
    let arena = Arena::new();
    let mut absent = arena.shell("true");
    absent.reads.push(arena.path("absent"));
    let error = arena.run(absent).await.unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");

    let error = arena.run(arena.spec("/usr/bin/no-such-program", &[])).await.unwrap_err();
    assert!(matches!(error, Error::Execute { .. }), "{error}");

    let ungranted = arena.path("other").join("program");
    let error = arena.run(arena.spec(ungranted.to_str().unwrap(), &[])).await.unwrap_err();
    assert!(error.to_string().contains("not granted"), "{error}");

    let mut elsewhere = arena.shell("true");
    elsewhere.cwd = arena.path("other");
    let error = arena.run(elsewhere).await.unwrap_err();
    assert!(error.to_string().contains("not granted"), "{error}");
}

#[tokio::test]
async fn files_belong_to_the_child_and_nothing_is_left_of_its_tmp() {
    use std::os::unix::fs::MetadataExt as _;
    let arena = Arena::new();
    let finished = arena.run(arena.shell("echo x > made; echo x > /tmp/insula-left; id -u")).await;
    let inside: u32 = succeeded(&finished.unwrap()).trim().parse().unwrap();
    let made = std::fs::metadata(arena.workspace.join("made")).unwrap();
    assert_eq!(made.uid(), inside);
    assert_ne!(inside, 0);
    assert!(!Path::new("/tmp/insula-left").exists());
}

#[tokio::test]
async fn every_layer_that_is_required_is_here_and_the_examination_holds() {
    let sandbox = sandbox();
    let examination = sandbox.examine(1).await;
    let missing: Vec<_> = examination
        .layers
        .iter()
        .filter(|report| report.required)
        .filter(|report| report.availability != insula_sandbox::Availability::Enforced)
        .collect();
    assert!(missing.is_empty(), "this machine can't run the sandbox: {missing:#?}");
    let open: Vec<_> = examination
        .attempts
        .iter()
        .filter(|attempt| attempt.verdict != AttemptVerdict::Held)
        .collect();
    assert!(open.is_empty(), "{open:#?}");
    assert_eq!(examination.layers.len(), Layer::ALL.len());
}

#[tokio::test]
async fn a_helper_that_is_none_is_a_failure_and_no_hang() {
    let world = insula_world::World::real().unwrap();
    let helper = insula_sandbox::Helper::at("/bin/true");
    let sandbox =
        insula_sandbox::Sandbox::new(world.clock.clone(), helper, Hidden::default()).unwrap();
    let mut spec = Spec::new("/bin/true");
    spec.owner = Some(OWNER);
    assert!(matches!(sandbox.spawn(spec).await, Err(Error::Missing { .. })));
}
