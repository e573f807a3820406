//! The gauntlet's page: what was recorded, and runs that are bounded, one at a time, and apart.

use crate::scene::Scene;
use futures_util::StreamExt as _;
use insula_http::Programs;
use insula_testkit::{Home, world};
use insula_world::process::Finished;
use serde_json::{Value, json};

const UNSHARE: &str = "/usr/bin/unshare";

fn finished(said: &Value) -> Finished {
    Finished { code: Some(0), stdout: said.to_string().into_bytes(), stderr: b"why".to_vec() }
}

fn board(broken: u64) -> Value {
    let totals = json!({ "attempts": 1, "held": 1 - broken, "broken": broken, "missed": 0, "not_run": 0, "failed": 0 });
    json!({ "totals": totals, "sections": [{ "id": "A", "title": "t", "totals": totals, "attempts": [] }] })
}

/// The states of the sections, once the run has ended.
async fn ended(scene: &Scene) -> (Value, Vec<Value>) {
    let admin = scene.admin_token();
    let answer = scene.answer(&admin, "GET /api/gauntlet/events", &json!({})).await;
    let mut frames = answer.into_body().into_data_stream();
    let mut last = String::new();
    while let Some(frame) = frames.next().await {
        last = String::from_utf8_lossy(&frame.unwrap()).into_owned();
    }
    let data = last.split_once("data: ").unwrap().1;
    let run: Value = serde_json::from_str(data.trim()).unwrap();
    let states = run["sections"].as_array().unwrap().iter().map(|it| it["state"].clone());
    (run["state"].clone(), states.collect())
}

#[tokio::test]
async fn a_run_goes_section_by_section_one_at_a_time_and_can_be_ended() {
    let (world, handles) = world(7);
    let beside = Home::with([("insula-gauntlet", "")]).unwrap();
    let programs = Programs {
        insula: beside.path().join("insula"),
        gauntlet: beside.path().join("insula-gauntlet"),
        is_root: false,
    };
    let scene = Scene::new(&world, "agents: {a: {tools: [todo]}}\n", |server| {
        server.gauntlet.programs = Some(programs);
    })
    .await;
    let view = scene.done("GET /api/gauntlet", json!({})).await;
    assert_eq!((&view["missing"], &view["run"]["state"]), (&Value::Null, &json!("none")));
    assert!(view["recorded"]["totals"]["held"].as_u64().unwrap() > 100, "{}", view["recorded"]);
    for sections in [json!([]), json!(["E"]), json!(["A", "A"]), json!(["A --only x"])] {
        let (status, _) = scene.admin("POST /api/gauntlet", json!({ "sections": sections })).await;
        assert_eq!(status, 400, "{sections}");
    }
    handles.processes.answer(UNSHARE, finished(&board(0)));
    scene.done("POST /api/gauntlet", json!({ "sections": ["A", "B"] })).await;
    assert_eq!(ended(&scene).await, (json!("done"), vec![json!("held"), json!("held")]));
    assert_eq!(handles.processes.launched().len(), 2);
    // What broke is told as lost, and what said nothing as failed.
    for (said, state) in [(board(1), "lost"), (json!("no board"), "failed")] {
        handles.processes.answer(UNSHARE, finished(&said));
        scene.done("POST /api/gauntlet", json!({ "sections": ["A"] })).await;
        assert_eq!(ended(&scene).await, (json!("done"), vec![json!(state)]));
    }
    handles.processes.hang(UNSHARE);
    scene.done("POST /api/gauntlet", json!({ "sections": ["A", "B"] })).await;
    let (status, said) = scene.admin("POST /api/gauntlet", json!({ "sections": ["A"] })).await;
    assert_eq!((status.as_u16(), &said["error"]["code"]), (409, &json!("under_way")));
    while handles.processes.launched().len() < 5 {
        tokio::task::yield_now().await;
    }
    scene.done("DELETE /api/gauntlet", json!({})).await;
    assert_eq!(ended(&scene).await, (json!("stopped"), vec![json!("stopped"), json!("stopped")]));
    assert_eq!(handles.processes.killed(), [5], "with all it had started");
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn where_the_program_is_not_there_it_says_how_to_have_it() {
    let (world, _handles) = world(7);
    let scene = Scene::new(&world, "agents: {a: {tools: [todo]}}\n", |server| {
        let nowhere = std::path::PathBuf::from("/nowhere/insula-gauntlet");
        let programs = Programs { insula: nowhere.clone(), gauntlet: nowhere, is_root: false };
        server.gauntlet.programs = Some(programs);
    })
    .await;
    let view = scene.done("GET /api/gauntlet", json!({})).await;
    assert!(view["missing"].as_str().unwrap().contains("cargo build -p insula-gauntlet"));
    let (status, said) = scene.admin("POST /api/gauntlet", json!({ "sections": ["A"] })).await;
    assert_eq!((status.as_u16(), &said["error"]["code"]), (409, &json!("not_here")));
    scene.daemon.close().await.unwrap();
}
