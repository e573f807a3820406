//! Attempts to get out. Each is one test; it fails when the attempt gets through, and also when
//! it could not be made. Those marked `also_unconfined` must get through without a sandbox, so
//! that what holds them is the sandbox and not a mistake in the attempt.

use crate::confinement::arena::{Arena, CANARY, is_root, text};
use insula_sandbox::{ExitOutcome, Network};
use insula_testkit::attempts::GOT_THROUGH;

async fn attempt(script: &str, network: Network) {
    let mut arena = Arena::new();
    let mut spec = arena.python(script);
    spec.network = network;
    let finished = arena.run(spec).await.unwrap();
    let shown = format!("{}\n{}", text(&finished.stdout.bytes()), text(&finished.stderr.bytes()));
    assert_eq!(finished.exit.outcome, ExitOutcome::Exited(0), "not held, or not run:\n{shown}");
    assert!(!shown.contains(CANARY), "it leaked:\n{shown}");
    assert!(shown.contains("held"), "the attempt did not say that it was made:\n{shown}");
    assert!(arena.is_undisturbed(), "something outside has changed");
}

fn control(script: &str) {
    if is_root() {
        let code = Arena::new().unconfined(script);
        assert_eq!(code, Some(GOT_THROUGH), "without a sandbox it fails too, so it shows nothing");
    }
}

macro_rules! tests {
    ($($group:ident { $($name:ident $(($flag:ident))? : $script:expr;)* })*) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $( tests!(@ $flag $script); )?
                attempt($script, network(stringify!($group))).await;
            }
        )*)*
    };
    (@ also_unconfined $script:expr) => { control($script); };
}

fn network(group: &str) -> Network {
    if group == "beside_a_proxy" { Network::Proxy { port: 3128 } } else { Network::None }
}

insula_testkit::attempts!(tests);
