//! Everything again as an ordinary user, when the tests run as root.

use crate::confinement::arena::is_root;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

/// A user that owns nothing.
const NOBODY: &str = "65534";

/// All tests but this one, in a process of an ordinary user.
fn as_ordinary_user(filter: &[&str]) {
    if !is_root() {
        println!("not root: the other tests are the run as an ordinary user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let tests = folder.path().join("tests");
    let helper = folder.path().join("insula-confine");
    std::fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_insula-confine"), &helper).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all"])
        .arg(&tests)
        .args(filter)
        .args(["--test-threads", "4", "--skip", "ordinary_user::"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("INSULA_CONFINE", &helper)
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("running 0 tests"), "nothing was run:\n{said}");
}

#[test]
fn every_attempt_holds_for_an_ordinary_user() {
    as_ordinary_user(&["confinement::attempts::"]);
}

#[test]
fn ends_and_work_are_the_same_for_an_ordinary_user() {
    as_ordinary_user(&["confinement::ends::", "confinement::neighbours::", "confinement::work::"]);
}

#[test]
fn quotas_are_shared_out_among_accounts_of_an_ordinary_user() {
    as_ordinary_user(&["quotas::"]);
}
