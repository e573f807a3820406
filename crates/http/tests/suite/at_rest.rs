//! Looking at everything leaves agents at rest: their databases are closed as before.

use crate::scene::Scene;
use insula_testkit::world;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// More than one answer tells of.
const COUNT: usize = 105;

/// Agents with something to do by the clock, and with memory.
fn agents() -> String {
    let one = |number| {
        format!(
            "  a{number:03}: {{memory: true, cron: {{report: {{schedule: daily at 9am, prompt: report}}}}}}\n"
        )
    };
    format!("agents:\n{}", (0..COUNT).map(one).collect::<String>())
}

/// A daemon whose agents all have a database, none of which is open.
async fn at_rest() -> Scene {
    let (world, _handles) = world(7);
    let scene = Scene::new(&world, &agents(), |_| {}).await;
    for number in 0..COUNT {
        let call = format!("POST /api/agents/a{number:03}/jobs");
        scene.done(&call, json!({ "schedule": "every 2h", "prompt": "look around" })).await;
    }
    rest(&scene).await;
    scene
}

async fn rest(scene: &Scene) {
    scene.daemon.opened().parts.store.close_idle(Duration::ZERO).await;
    assert_eq!(scene.daemon.opened().parts.store.open_count(), 0);
}

/// Every list there is: what can be read without naming anything.
async fn lists(scene: &Scene) -> BTreeSet<String> {
    let described = scene.done("GET /api/openapi.json", Value::Null).await;
    let all = described["paths"].as_object().unwrap().iter();
    let lists = all.filter(|(path, does)| path.starts_with("/api/") && does.get("get").is_some());
    let lists = lists.map(|(path, _)| path.clone()).filter(|path| !path.contains('{'));
    lists.filter(|path| path != "/api/events").collect()
}

#[tokio::test]
async fn no_list_of_all_agents_leaves_a_database_open() {
    let scene = at_rest().await;
    let lists = lists(&scene).await;
    for one in ["/api/calendar", "/api/jobs", "/api/inbox/grants", "/api/sessions", "/api/costs"] {
        assert!(lists.contains(one), "{lists:?}");
    }
    for path in &lists {
        let asks = if path == "/api/sessions/search" { "?q=report" } else { "" };
        let (status, said) = scene.admin(&format!("GET {path}{asks}"), Value::Null).await;
        assert!(status.is_success() || status == 404, "{path}: {status} {said}");
        assert_eq!(scene.daemon.opened().parts.store.open_count(), 0, "{path}");
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_calendar_comes_in_parts_that_have_every_agent_once_and_nobody_elses() {
    let scene = at_rest().await;
    let read = async |token: &str| {
        let mut next = Some("/api/calendar?from=2026-11-01T00:00:00Z".to_owned());
        let (mut parts, mut agents) = (Vec::new(), Vec::new());
        while let Some(path) = next {
            let answer = scene.answer(token, &format!("GET {path}"), &Value::Null).await;
            let link = answer.headers().get("link").map(|it| it.to_str().unwrap().to_owned());
            next = link.map(|it| {
                let path = it.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
                path.to_owned()
            });
            let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            let jobs: Value = serde_json::from_slice(&body).unwrap();
            let jobs = jobs.as_array().unwrap();
            parts.push(jobs.len());
            agents.extend(jobs.iter().map(|it| it["agent"].as_str().unwrap().to_owned()));
            assert_eq!(scene.daemon.opened().parts.store.open_count(), 0);
        }
        (parts, agents)
    };
    let (parts, agents) = read(&scene.admin_token()).await;
    assert_eq!(parts, [200, 10], "two jobs an agent");
    assert_eq!(agents.iter().collect::<BTreeSet<_>>().len(), COUNT);
    let one = scene.token("a104", &["read"]).await;
    let (parts, agents) = read(&one).await;
    assert_eq!((parts, agents), (vec![2], vec!["a104".to_owned(); 2]));
    scene.daemon.close().await.unwrap();
}
