//! Two runs with the same seed and inputs produce the same bytes.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use insula_testkit::{Handles, world};
use insula_world::process::Finished;
use insula_world::{ProcessSpec, World};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// A run that uses every part of the world and writes down all it sees.
async fn transcript(world: World, handles: Handles) -> Vec<String> {
    let (log, mut lines) = mpsc::unbounded_channel();

    for (name, period_ms) in [("slow", 70), ("quick", 30)] {
        let (world, log) = (world.clone(), log.clone());
        tokio::spawn(async move {
            for step in 0..5 {
                world.clock.sleep(Duration::from_millis(period_ms)).await;
                let id = world.random.stream(&["step", name, &step.to_string()]).id();
                let length = world.storage.run(move || id.len() + step).await.unwrap();
                let id = world.random.stream(&["step", name, &step.to_string()]).id();
                log.send(format!("{} {name} {id} {length}", world.clock.now())).unwrap();
            }
        });
    }

    let listener = world.network.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (server, server_log) = (world.clone(), log.clone());
    tokio::spawn(async move {
        let (mut stream, from) = listener.accept().await.unwrap();
        let mut word = String::new();
        stream.read_to_string(&mut word).await.unwrap();
        server_log.send(format!("{} {word} from {from}", server.clock.now())).unwrap();
    });
    let client = world.clone();
    tokio::spawn(async move {
        client.clock.sleep(Duration::from_millis(100)).await;
        let mut stream = client.network.connect(address).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
    });

    let done = Finished { code: Some(0), stdout: b"done".to_vec(), stderr: vec![] };
    handles.processes.answer("/bin/tool", done);
    let spec = ProcessSpec {
        program: "/bin/tool".into(),
        args: vec![],
        env: BTreeMap::new(),
        cwd: "/".into(),
    };
    let process = world.processes.launch(spec).await.unwrap();
    let id = process.id();
    log.send(format!("{id:?} {:?}", process.finish().await.unwrap())).unwrap();

    handles.clock.advance(Duration::from_secs(1)).await;
    log.send(format!("end {}", world.clock.now())).unwrap();
    drop(log);

    let mut seen = vec![];
    while let Some(line) = lines.recv().await {
        seen.push(line);
    }
    seen
}

#[tokio::test]
async fn rule_10_same_seed_same_bytes() {
    let run = async |seed| {
        let (world, handles) = world(seed);
        transcript(world, handles).await
    };
    let first = run(7).await;
    assert_eq!(first.len(), 13, "{first:#?}");
    assert!(first.iter().any(|line| line.contains("hello from 127.0.0.1:49153")), "{first:#?}");
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
}
