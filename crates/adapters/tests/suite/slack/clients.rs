//! Slack's own SDKs against the fake workspace.

use crate::slack::support::{APP_TOKEN, SECRET, TOKEN, signed};
use insula_testkit::slack::{BOT, Slack};
use insula_world::World;
use serde_json::json;
use std::process::Command;

/// Runs a client, and does meanwhile what it is to hear.
async fn accepts(mut command: Command, more: &[String]) {
    let world = World::real().unwrap();
    let platform = Slack::start(&world, TOKEN, APP_TOKEN).await.unwrap();
    let ann = platform.person("Ann Lee");
    let town = platform.channel("C", &[BOT, &ann]);
    let places = [platform.url(), TOKEN.to_owned(), APP_TOKEN.to_owned(), town.clone()];
    command.args(places).args(more);
    let client = tokio::task::spawn_blocking(move || command.output().unwrap());
    let talk = async {
        platform.until(|platform| platform.sockets() == 1).await;
        platform.say(&town, &ann, "<@U0BOT> hello");
        let asked = platform.said()[0]["ts"].as_str().unwrap().to_owned();
        platform.tell("interactive", platform.press(&ann, &town, &asked, 0));
        platform.tell(
            "slash_commands",
            json!({
                "command": "/ada", "text": "new", "user_id": ann, "channel_id": town,
                "team_id": "T0TEAM", "trigger_id": "1.1", "response_url": "https://e.org/",
            }),
        );
        platform.until(|platform| platform.waiting() == 0).await;
        platform.disconnect("refresh_requested");
        let opened = |platform: &Slack| {
            let requests = platform.requests();
            requests.iter().filter(|it| it.0 == "apps.connections.open").count()
        };
        platform.until(|platform| opened(platform) >= 2 && platform.sockets() == 1).await;
        platform.say(&town, &ann, "by another socket");
        platform.say(&town, &ann, "that was all");
        std::future::pending::<()>().await;
    };
    let output = tokio::select! {
        output = client => output.unwrap(),
        () = talk => unreachable!("it waits for the client"),
    };
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stdout));
}

fn script(name: &str) -> String {
    format!("{}/../../tests/platforms/slack/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it needs packages from npm: scripts/slack-clients"]
async fn slacks_sdk_for_node_accepts_the_fake() {
    let mut command = Command::new("node");
    command.arg(script("client.cjs"));
    accepts(command, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it needs packages from PyPI: scripts/slack-clients"]
async fn slacks_sdk_for_python_accepts_the_fake_and_its_signatures() {
    let python = std::env::var("INSULA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(python);
    command.arg(script("client.py"));
    let (at, body) = (1_700_000_000, r#"{"type":"event_callback"}"#);
    let request = signed("application/json", body, at);
    let signature = request.header("x-slack-signature").unwrap().to_owned();
    accepts(command, &[SECRET.to_owned(), at.to_string(), signature, body.to_owned()]).await;
}
