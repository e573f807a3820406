//! A daemon that is killed while it commits: what was acknowledged is there.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a test that starts and kills a process of its own"
)]

use crate::common::{agent, audit, entry, open};
use insula_store::DaemonCommand;
use insula_world::World;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const HOME: &str = "INSULA_STORE_CRASH_HOME";
const KILLS: u32 = 30;

/// Not a test of its own: what the killed process runs. Queues and commits until it dies, and
/// prints each position after it was acknowledged.
#[tokio::test]
#[ignore = "run by the test below in a process of its own"]
async fn commits_until_killed() {
    let home = std::env::var(HOME).unwrap();
    let store = open(Path::new(&home)).await;
    let owner = store.claim("child").await.unwrap();
    let a = owner.agent(&agent("a"));
    for round in 0_u64.. {
        if round % 3 == 0 {
            let queued = DaemonCommand::QueueAudit(agent("a"), entry("queued"));
            owner.daemon().commit(vec![queued]).await.unwrap();
            println!("queued");
        }
        if round % 7 == 0 {
            store.close_idle(std::time::Duration::ZERO).await;
        }
        let done = a.commit(vec![audit("direct")]).await.unwrap();
        println!("seq {}", done.audit[0]);
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let mut random = World::real().unwrap().random.stream(&["kills"]);
    let (mut queued, mut direct) = (0, 0);
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::commits_until_killed", "--ignored", "--nocapture"])
            .env(HOME, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kill_after = random.bytes::<1>()[0] % 40;
        let (mut acknowledged, mut last) = (0, None);
        let mut take = |line: &str| {
            if line == "queued" {
                queued += 1;
            } else if let Some(seq) = line.strip_prefix("seq ") {
                direct += 1;
                last = Some(seq.parse::<u64>().unwrap());
            }
        };
        while acknowledged < kill_after {
            let Some(Ok(line)) = lines.next() else { panic!("the child ended by itself") };
            acknowledged += u8::from(line.starts_with("seq ") || line == "queued");
            take(&line);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines.map_while(Result::ok).for_each(|line| take(&line));

        let store = open(home.path()).await;
        let a = store.agent(&agent("a"));
        let report = a.audit_verify().await.unwrap();
        assert!(report.ok, "{report:?}");
        assert!(report.records >= last.unwrap_or(0));
        store.shutdown().await;
    }
    let store = open(home.path()).await;
    let (mut after, mut seen) = (insula_store::Seq::START, (0, 0));
    loop {
        let page = store.agent(&agent("a")).audit_after(after, 1_000).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        for record in &page {
            match &*record.kind {
                "queued" => seen.0 += 1,
                _ => seen.1 += 1,
            }
        }
    }
    // At most one of each per kill was done but not yet acknowledged.
    let unheard = u64::from(KILLS);
    assert!((queued..=queued + unheard).contains(&seen.0), "queued {queued}, there {seen:?}");
    assert!((direct..=direct + unheard).contains(&seen.1), "direct {direct}, there {seen:?}");
    assert!(direct > 0 && queued > 0);
}
