//! Pictures in whole turns: who makes them, who pays, where they are put, and what holds.

use crate::turns::support::{Fixture, build, calls, says, shown};
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_store::{Part, Role, UsageOf};
use insula_testkit::model::configured;
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::{Handles, auto_world, world};
use insula_vault::{Secret, SecretName, SecretOwner};
use insula_world::{Timestamp, World};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const SITE: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const KEY: &str = "picture-key-4a8a08f09d37b737";
/// The smallest PNG: its mark, and its end.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01....\0\0\0\0IEND\xae\x42\x60\x82";
const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEuLi4uAAAAAElFTkSuQmCC";

const PAINT: &str = "127.0.0.1:9191";
const REST: &str = "  paint: {kind: openai, base_url: 'http://127.0.0.1:9191/v1', api_key: daemons-own-key}
agents:
  a: {tools: [image_generate, read_file, write_file], images: {model: paint/m, sizes: [512x512, 1024x1024], quality: high, price: 0.04}}
  own: {tools: [image_generate], secrets: [KEY], images: {model: paint/m, api_key: '${secret:KEY}'}}
  thief: {tools: [image_generate], secrets: [KEY], images: {model: paint/m, api_key: '${secret:KEY}'}}
  poor: {tools: [image_generate], images: {model: paint/m, price: 0.04}, budget: {usd_per_day: 0.05}}
  unpriced: {tools: [image_generate], images: {model: paint/m}, budget: {usd_per_day: 5}}
  reaching: {tools: [image_generate], images: {model: paint/m}, network: [cdn.test]}
  ro: {tools: [image_generate], images: {model: paint/m}, workspace: {scope: chat}}
  none: {tools: [image_generate]}
prices: {fake/model: {input: 0, output: 0}}
";

/// A model that calls what it is told (`tool {arguments}`) and then says what came back.
fn script(seen: &Seen, number: usize) -> Vec<Step> {
    let said = shown(seen);
    match said.last() {
        Some((role, text)) if role == "tool" => says(text),
        Some((_, text)) => {
            let (tool, arguments) = text.split_once(' ').unwrap_or((text, "{}"));
            calls(&format!("c{number}"), tool, arguments)
        }
        None => says("nothing"),
    }
}

async fn open_fixture() -> Fixture {
    opened(world(7)).await
}

async fn opened((world, handles): (World, Handles)) -> Fixture {
    handles.network.name("cdn.test", [IpAddr::from(SITE)]);
    handles.network.name("elsewhere.test", [IpAddr::from(SITE)]);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let config = configured(&upstream, "model", REST);
    let fixture = build(world, config, Some(upstream)).await;
    Fixture { handles: Some(handles), ..fixture }
}

fn answer(status: u16, media_type: &str, body: &[u8]) -> Vec<Step> {
    let head = format!(
        "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nContent-Type: {media_type}\r\n\r\n",
        body.len()
    );
    vec![Step::Write([head.as_bytes(), body].concat())]
}

fn json_answer(status: u16, body: &Value) -> Vec<Step> {
    answer(status, "application/json", body.to_string().as_bytes())
}

fn picture() -> Value {
    json!({ "data": [{ "b64_json": PNG_BASE64 }] })
}

async fn paint(
    fixture: &Fixture,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Upstream {
    serve(fixture, PAINT.parse().unwrap(), script).await
}

async fn serve(
    fixture: &Fixture,
    at: SocketAddr,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Upstream {
    Upstream::listen(fixture.daemon.world(), at, script).await.unwrap()
}

fn wish(more: &Value) -> String {
    let mut arguments = json!({ "prompt": "A cat, on a mat" });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    format!("image_generate {arguments}")
}

fn workspace(fixture: &Fixture, agent: &str, path: &str) -> std::path::PathBuf {
    fixture.files.path().join(format!("agents/{agent}/workspace/{path}"))
}

async fn micros(fixture: &Fixture, agent: &str) -> u64 {
    let store = fixture.daemon.store_of(&AgentId::new(agent).unwrap());
    let totals = store.usage_of(UsageOf::Agent, Timestamp::from_millis(0)).await.unwrap();
    totals.usage.cost_micros
}

async fn set_key(fixture: &Fixture, agent: &str) {
    let owner = SecretOwner::Agent(AgentId::new(agent).unwrap());
    let name = SecretName::new("KEY").unwrap();
    fixture.daemon.set_secret(&owner, &name, Secret::new(KEY), &Actor::CommandLine).await.unwrap();
}

#[tokio::test]
async fn a_picture_is_made_paid_for_put_into_the_workspace_and_kept_for_the_reply() {
    let fixture = open_fixture().await;
    let paint = paint(&fixture, |_, _| json_answer(200, &picture())).await;
    let (inbound, key) = fixture.inbound("a", "one", &wish(&json!({})));
    let said = crate::turns::support::reply(fixture.engine.submit(inbound).await.unwrap()).await;
    assert!(said.starts_with("made images/a-cat-on-a-mat.png ("), "{said}");
    assert!(said.contains("goes along with your reply"), "{said}");
    let file = workspace(&fixture, "a", "images/a-cat-on-a-mat.png");
    assert_eq!(std::fs::read(file).unwrap(), PNG);
    let asked = paint.seen()[0].json();
    assert_eq!((&asked["size"], &asked["quality"]), (&json!("512x512"), &json!("high")));
    assert_eq!(paint.seen()[0].header("authorization"), Some("Bearer daemons-own-key"));
    assert_eq!(micros(&fixture, "a").await, 40_000);
    let messages = fixture.messages(&key).await;
    let attached: Vec<_> = messages
        .iter()
        .filter(|it| it.role == Role::Tool)
        .flat_map(|it| &it.parts)
        .filter_map(|part| match part {
            Part::Attachment { name, media_type, bytes, .. } => {
                Some((&**name, &**media_type, *bytes))
            }
            _ => None,
        })
        .collect();
    assert_eq!(attached, [("picture-1.png", "image/png", PNG.len() as u64)]);
    // What goes along is for people: the model is told of the file by the result alone.
    let shown_last = fixture.upstream().seen();
    let prompt = String::from_utf8_lossy(&shown_last.last().unwrap().body).into_owned();
    assert!(!prompt.contains("[attachment"), "{prompt}");
    // A second one of the same words gets a name of its own.
    let again = fixture.say("a", "one", &wish(&json!({ "size": "1024x1024" }))).await;
    assert!(again.starts_with("made images/a-cat-on-a-mat-2.png ("), "{again}");
    assert_eq!(paint.seen()[1].json()["size"], "1024x1024");
}

#[tokio::test]
async fn what_is_wrong_is_told_before_anything_is_paid() {
    let fixture = open_fixture().await;
    let paint = paint(&fixture, |_, _| json_answer(200, &picture())).await;
    std::fs::create_dir_all(workspace(&fixture, "a", "")).unwrap();
    std::fs::write(workspace(&fixture, "a", "taken.png"), "x").unwrap();
    for (more, expected) in [
        (json!({ "prompt": "  " }), "`prompt` takes"),
        (json!({ "size": "9x9" }), "`size` is one of 512x512, 1024x1024"),
        (json!({ "path": "taken.png" }), "exists already"),
        (json!({ "path": "../../../out.png" }), "refused"),
        (json!({ "path": "/etc/out.png" }), "refused"),
    ] {
        let said = fixture.say("a", "one", &wish(&more)).await;
        assert!(said.contains(expected), "{more}: {said}");
    }
    let said = fixture.say("unpriced", "one", &wish(&json!({}))).await;
    assert!(said.contains("`images.price`"), "{said}");
    let said = fixture.say("none", "one", &wish(&json!({}))).await;
    assert!(said.contains("`images.model` names one"), "{said}");
    assert!(paint.seen().is_empty());
    assert_eq!(micros(&fixture, "a").await, 0);
}

#[tokio::test]
async fn no_link_leads_a_picture_out_of_the_workspace() {
    let fixture = open_fixture().await;
    let paint = paint(&fixture, |_, _| json_answer(200, &picture())).await;
    let outside = fixture.files.path().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(workspace(&fixture, "a", "")).unwrap();
    for name in ["images", "link"] {
        std::os::unix::fs::symlink(&outside, workspace(&fixture, "a", name)).unwrap();
    }
    for more in [json!({ "path": "link/x.png" }), json!({})] {
        let said = fixture.say("a", "one", &wish(&more)).await;
        assert!(said.contains("leads out of the folder"), "{said}");
    }
    assert!(paint.seen().is_empty(), "nothing was paid");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[tokio::test]
async fn a_budget_that_is_used_up_refuses() {
    let fixture = open_fixture().await;
    let paint = paint(&fixture, |_, _| json_answer(200, &picture())).await;
    let said = fixture.say("poor", "one", &wish(&json!({}))).await;
    assert!(said.starts_with("made "), "{said}");
    let said = fixture.say("poor", "one", &wish(&json!({}))).await;
    assert!(said.starts_with("refused: ") && said.contains("budget"), "{said}");
    assert_eq!(paint.seen().len(), 1);
    assert_eq!(micros(&fixture, "poor").await, 40_000);
}

#[tokio::test]
async fn an_agents_own_key_is_sent_and_no_other_agent_can_send_it() {
    let fixture = open_fixture().await;
    let paint = paint(&fixture, |_, _| json_answer(200, &picture())).await;
    set_key(&fixture, "own").await;
    let said = fixture.say("own", "one", &wish(&json!({}))).await;
    assert!(said.starts_with("made "), "{said}");
    assert_eq!(paint.seen()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    let said = fixture.say("thief", "one", &wish(&json!({}))).await;
    assert!(said.contains("`images.api_key`") && said.contains("KEY"), "{said}");
    assert!(!said.contains(KEY), "{said}");
    assert_eq!(paint.seen().len(), 1, "neither key was sent for it");
}

#[tokio::test]
async fn what_a_provider_says_instead_of_a_picture_is_told_as_its_words() {
    let fixture = open_fixture().await;
    let too_long = "x".repeat(20);
    let slow_down = json!({ "error": { "message": "slow down" } }).to_string();
    let _paint = paint(&fixture, move |_, number| match number {
        0 => json_answer(
            400,
            &json!({ "error": { "code": "content_policy_violation", "message": "rejected by our safety system" } }),
        ),
        // Longer than anybody waits for a picture.
        1 => answer(429, "application/json\r\nRetry-After: 600", slow_down.as_bytes()),
        2 => json_answer(200, &json!({ "data": [{ "b64_json": "aGVsbG8=" }] })),
        3 => {
            let cut = &PNG_BASE64[..PNG_BASE64.len() - 8];
            json_answer(200, &json!({ "data": [{ "b64_json": cut }] }))
        }
        4 => json_answer(401, &json!({ "error": { "message": "bad daemons-own-key" } })),
        _ => answer(200, "text/html", too_long.as_bytes()),
    })
    .await;
    for (expected, is_marked) in [
        ("rules of its provider on content", true),
        ("limits the rate", true),
        ("what came is no picture", false),
        ("cut off", false),
        ("refused the key", true),
        ("no picture came", false),
    ] {
        // In a conversation of its own, which has read nobody's words yet.
        let said = fixture.say("a", expected, &wish(&json!({}))).await;
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(said.contains("<untrusted"), is_marked, "{expected}: {said}");
        assert!(!said.contains("daemons-own-key"), "{said}");
    }
    // What came and was no picture was paid for; what never came was not.
    assert_eq!(micros(&fixture, "a").await, 80_000);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_too_busy_is_asked_for_a_picture_again_when_it_says() {
    let fixture = opened(auto_world(7)).await;
    let paint = paint(&fixture, |_, number| match number {
        0 => answer(429, "application/json\r\nRetry-After: 3", b"{}"),
        1 => answer(503, "text/plain", b""),
        2 => json_answer(200, &picture()),
        _ => vec![Step::Close],
    })
    .await;
    let before = fixture.daemon.world().clock.elapsed();
    let said = fixture.say("a", "one", &wish(&json!({}))).await;
    assert!(said.starts_with("made images/"), "{said}");
    assert_eq!(paint.seen().len(), 3);
    assert!((fixture.daemon.world().clock.elapsed() - before).as_secs() >= 3);
    assert_eq!(micros(&fixture, "a").await, 40_000, "it is paid once");
    // One that breaks off may have been made, and is not asked for twice.
    fixture.say("a", "two", &wish(&json!({}))).await;
    assert_eq!(paint.seen().len(), 4);
}

#[tokio::test]
async fn an_address_is_fetched_from_the_providers_host_or_a_granted_one_and_no_other() {
    let fixture = open_fixture().await;
    let link = |url: &str| json_answer(200, &json!({ "data": [{ "url": url }] }));
    let _paint = paint(&fixture, move |seen, _| match &*seen.line {
        "GET /own.png" => answer(200, "image/png", PNG),
        "GET /page" => answer(200, "image/png", b"<p>hello"),
        "GET /misnamed" => answer(200, "text/html; charset=utf-8", PNG),
        "GET /large.png" => answer(200, "image/png", &vec![0; 9 << 20]),
        "GET /away" => vec![Step::Write(
            b"HTTP/1.1 302 x\r\nLocation: http://elsewhere.test/x.png\r\nContent-Length: 0\r\n\r\n"
                .to_vec(),
        )],
        _ => {
            let prompt = seen.json()["prompt"].as_str().unwrap_or_default().to_owned();
            link(&prompt)
        }
    })
    .await;
    let cdn = serve(&fixture, (SITE, 80).into(), |_, _| answer(200, "image/png", PNG)).await;
    for (agent, url, expected) in [
        ("a", "http://127.0.0.1:9191/own.png", "made images/"),
        ("a", "http://127.0.0.1:9191/page", "what came is no picture"),
        ("a", "http://127.0.0.1:9191/misnamed", "made images/"),
        ("a", "http://127.0.0.1:9191/large.png", "longer than"),
        ("a", "http://127.0.0.1:9191/away", "elsewhere.test"),
        ("a", "http://127.0.0.1:9192/x.png", "may not go"),
        ("a", "http://cdn.test/x.png", "may not go"),
        ("a", "file:///etc/passwd", "can't be fetched"),
        ("reaching", "http://cdn.test/x.png", "made images/"),
        ("reaching", "http://elsewhere.test/x.png", "may not go"),
        ("reaching", "http://127.0.0.1:9191@elsewhere.test/x.png", "can't be fetched"),
    ] {
        let said = fixture.say(agent, url, &wish(&json!({ "prompt": url }))).await;
        assert!(said.contains(expected), "{agent} {url}: {said}");
    }
    assert_eq!(cdn.seen().len(), 1, "only who was granted the host reached it");
}

#[tokio::test]
async fn each_conversation_has_pictures_of_its_own() {
    let fixture = open_fixture().await;
    let _paint = paint(&fixture, |_, _| json_answer(200, &picture())).await;
    let said = fixture.say("ro", "one", &wish(&json!({ "path": "p.png" }))).await;
    assert!(said.starts_with("made p.png"), "{said}");
    let said = fixture.say("ro", "two", &wish(&json!({ "path": "p.png" }))).await;
    assert!(said.starts_with("made p.png"), "another chat has another folder: {said}");
}
