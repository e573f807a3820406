//! Measures how long a confined process takes to start and to end:
//! `cargo run --release -p insula-sandbox --example spawn_bench -- [RUNS [HELPER]]`.
//!
//! It is its own helper, as a daemon without `insula-confine` beside it is; HELPER is another.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a measuring program")]

use insula_sandbox::{Helper, Hidden, HostUser, Sandbox, Spec};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    if let Some(code) = insula_sandbox::helper_main(std::env::args_os().skip(1)) {
        return code;
    }
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(300);
    let helper = std::env::args().nth(2).map_or_else(Helper::found, Helper::at);
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(measure(runs, helper));
    ExitCode::SUCCESS
}

async fn measure(runs: usize, helper: Helper) {
    let world = insula_world::World::real().unwrap();
    let sandbox = Sandbox::new(world.clock.clone(), helper, Hidden::default()).unwrap();
    let started = Instant::now();
    let machine = sandbox.machine().await;
    println!("root: {}; machine tried in {:?}", machine.is_root(), started.elapsed());
    let spec = || {
        let mut spec = Spec::new("/bin/true");
        spec.owner = Some(HostUser { uid: 65_534, gid: 65_534 });
        spec
    };
    sandbox.spawn(spec()).await.unwrap().finish().await.unwrap();
    let (mut set_up, mut whole) = (vec![], vec![]);
    for _ in 0..runs {
        let started = Instant::now();
        let child = sandbox.spawn(spec()).await.unwrap();
        set_up.push(started.elapsed());
        assert!(child.finish().await.unwrap().exit.is_success());
        whole.push(started.elapsed());
    }
    print("set-up", &mut set_up);
    print("`true`", &mut whole);
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!("{what}: p50 {:?}, p90 {:?}, p99 {:?}, max {:?}", at(50), at(90), at(99), at(100));
}
