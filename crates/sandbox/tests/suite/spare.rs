//! The helper that is started ahead: it may die, and it never outlives the sandbox.
//!
//! Alone in its file, because it looks at every child of its process.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test looks at processes and ends them"
)]

use insula_sandbox::{Helper, Hidden, HostUser, Sandbox, Spec};
use rustix::process::{Pid, Signal, kill_process};

/// The processes that this one started and that have not ended.
fn children() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let lists = tasks.map(|task| {
        // A thread may have ended meanwhile.
        std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default()
    });
    let numbers = lists.collect::<String>();
    let is_alive = |id: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        !status.is_empty() && !status.contains("State:\tZ")
    };
    numbers.split_whitespace().map(|id| id.parse().unwrap()).filter(is_alive).collect()
}

/// Waits until something about the children holds; the test's own time limit is the only clock.
async fn until(holds: impl Fn(&[i32]) -> bool) -> Vec<i32> {
    loop {
        let now = children();
        if holds(&now) {
            return now;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_spare_helper_serves_the_next_child_may_die_and_ends_with_the_sandbox() {
    let world = insula_world::World::real().unwrap();
    let helper = Helper::at(env!("CARGO_BIN_EXE_insula-confine"));
    let sandbox = Sandbox::new(world.clock.clone(), helper, Hidden::default()).unwrap();
    let run = async || {
        let mut spec = Spec::new("/bin/true");
        spec.owner = Some(HostUser { uid: 65_534, gid: 65_534 });
        let finished = sandbox.spawn(spec).await.unwrap().finish().await.unwrap();
        assert!(finished.exit.is_success());
    };
    run().await;
    let first = until(|children| children.len() == 1).await;
    run().await;
    let second = until(|children| children.len() == 1).await;
    assert_ne!(first, second, "the spare was used for the second child, and another began");

    kill_process(Pid::from_raw(second[0]).unwrap(), Signal::KILL).unwrap();
    until(<[i32]>::is_empty).await;
    run().await;
    until(|children| children.len() == 1).await;
    drop(sandbox);
    until(<[i32]>::is_empty).await;
}
