//! Changing files of the configuration: judged, shown, and written only so.

use crate::scene::Scene;
use insula_testkit::world;
use serde_json::{Value, json};

const AGENTS: &str = "# what we have\nagents:\n  a: {tools: [todo]} # the first\n  b: {tools: [todo], personality: \"hidden words\"}\nbindings:\n  - {agent: a, telegram: \"-1\"}\n";
const OWN: &str = "agents/c/agent.yaml";

async fn scene(config: &str) -> Scene {
    let (world, _handles) = world(7);
    Scene::new(&world, config, |_| {}).await
}

fn draft(file: &str, text: &str, was: &Value) -> Value {
    json!({ "file": file, "text": text, "was": was })
}

/// The paths and marks of every file that could be one of the configuration, with its text.
fn on_disk(scene: &Scene) -> Vec<Option<String>> {
    let names = ["config.yaml", "agents/a/SOUL.md", "agents/c/agent.yaml", "agents/c/SOUL.md"];
    names.iter().map(|name| scene.files.read(name).ok()).collect()
}

async fn kinds(scene: &Scene, path: &str) -> Vec<Value> {
    let records = scene.done(path, json!({})).await;
    records.as_array().unwrap().clone()
}

#[tokio::test]
async fn rule_04_what_would_not_load_is_told_with_its_place_and_not_written() {
    let scene = scene(AGENTS).await;
    let before = on_disk(&scene);
    let wrong = json!({ "files": [draft(OWN, "memory: true\ntools: codign\n", &Value::Null)] });
    let said = scene.done("POST /api/config/check", wrong.clone()).await;
    assert_eq!(said["ok"], json!(false));
    let error = &said["report"]["errors"][0];
    assert_eq!((&error["file"], &error["line"]), (&json!(OWN), &json!(2)));
    assert!(error["column"].as_u64().unwrap() > 1, "{error}");
    let mut write = wrong;
    write["shown"] = said["shown"].clone();
    let (status, said) = scene.admin("PUT /api/config/files", write).await;
    assert_eq!((status.as_u16(), &said["error"]["code"]), (422, &json!("configuration")));
    assert_eq!(said["check"]["report"]["errors"][0]["file"], json!(OWN));
    // Neither is one that takes everything down, nor one that says nothing.
    let config = scene.done("GET /api/config/files/config.yaml", json!({})).await;
    for text in ["agents: [\n", "# nothing\n", "tolls: 1\n"] {
        let files = json!([draft("config.yaml", text, &config["mark"])]);
        let said = scene.done("POST /api/config/check", json!({ "files": files })).await;
        assert_eq!(said["ok"], json!(false), "{text}");
        let write = json!({ "files": files, "shown": said["shown"] });
        let (status, _) = scene.admin("PUT /api/config/files", write).await;
        assert_eq!(status, 422, "{text}");
    }
    assert_eq!(on_disk(&scene), before);
    let me = scene.done("GET /api/me", json!({})).await;
    assert!(me["agents"].as_array().unwrap().iter().all(|it| it["state"] == "ready"), "{me}");
    let records = kinds(&scene, "GET /api/audit").await;
    assert!(records.iter().all(|it| it["kind"] != "config.changed"), "{records:?}");
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn what_is_written_is_what_was_shown_and_is_somebodys() {
    let scene = scene(AGENTS).await;
    let config = scene.done("GET /api/config/files/config.yaml", json!({})).await;
    let text = config["text"].as_str().unwrap();
    let edits = json!([{ "path": ["agents", "a", "memory"], "value": true }]);
    let edited = scene.done("POST /api/config/edit", json!({ "text": text, "edits": edits })).await;
    let new = edited["text"].as_str().unwrap();
    assert_eq!(new, text.replace("{tools: [todo]} # the", "{tools: [todo], memory: true} # the"));
    let soul = "agents/a/SOUL.md";
    let files = json!([
        draft(soul, "Be kind.\n", &Value::Null),
        draft("config.yaml", new, &config["mark"])
    ]);
    let said = scene.done("POST /api/config/check", json!({ "files": files })).await;
    assert_eq!(said["ok"], json!(true), "{said}");
    let told: Vec<&str> =
        said["changes"].as_array().unwrap().iter().map(|it| it["what"].as_str().unwrap()).collect();
    assert!(told.contains(&"a gains memory") && told.contains(&"a: soul changed"), "{told:?}");
    assert!(said["changes"].as_array().unwrap().iter().all(|it| it["agent"] == "a"), "{said}");
    // Not before it was looked at, and not if it does something else than that.
    for shown in ["", "made up"] {
        let write = json!({ "files": files, "shown": shown });
        let (status, answer) = scene.admin("PUT /api/config/files", write).await;
        assert_eq!((status.as_u16(), &answer["error"]["code"]), (409, &json!("not_shown")));
        assert_eq!(answer["check"]["shown"], said["shown"]);
    }
    assert!(scene.files.read(soul).is_err());
    let write = json!({ "files": files, "shown": said["shown"] });
    let done = scene.done("PUT /api/config/files", write.clone()).await;
    assert_eq!(done["applied"]["changed"], json!(["a"]));
    assert_eq!(scene.files.read(soul).unwrap(), "Be kind.\n");
    assert_eq!(scene.files.read("config.yaml").unwrap(), new);
    let context = scene.done("GET /api/agents/a/context", json!({})).await;
    assert_eq!(context["identity"]["soul"], json!("Be kind.\n"));
    assert!(context["memory"].is_object());
    let records = kinds(&scene, "GET /api/audit").await;
    let record = records.iter().find(|it| it["kind"] == "config.changed").unwrap();
    assert_eq!(record["actor"], json!("cli:local"));
    let content = record["content"].to_string();
    assert!(content.contains(soul) && content.contains("config.yaml"), "{content}");
    let own = kinds(&scene, "GET /api/agents/a/audit").await;
    let changed = own.iter().find(|it| it["kind"] == "agent.changed").unwrap();
    assert_eq!(changed["actor"], json!("cli:local"));
    // The same once more is about files that are others by now.
    let (status, answer) = scene.admin("PUT /api/config/files", write).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (409, &json!("changed")));
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_given_back_and_kept() {
    let scene = scene(AGENTS).await;
    scene.files.write("agents/a/SOUL.md", "First.\n").unwrap();
    let read = scene.done("GET /api/config/files/agents%2Fa%2FSOUL.md", json!({})).await;
    assert_eq!(read["text"], json!("First.\n"));
    let mine = json!({ "files": [draft("agents/a/SOUL.md", "Mine.\n", &read["mark"])] });
    let said = scene.done("POST /api/config/check", mine.clone()).await;
    assert_eq!((&said["ok"], &said["stale"]), (&json!(true), &json!([])));
    scene.files.write("agents/a/SOUL.md", "Theirs.\n").unwrap();
    let late = scene.done("POST /api/config/check", mine.clone()).await;
    assert_eq!((&late["ok"], &late["stale"][0]["text"]), (&json!(false), &json!("Theirs.\n")));
    let mut write = mine;
    write["shown"] = said["shown"].clone();
    let (status, answer) = scene.admin("PUT /api/config/files", write).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (409, &json!("changed")));
    let stale = &answer["check"]["stale"][0];
    assert_eq!((&stale["file"], &stale["text"]), (&json!("agents/a/SOUL.md"), &json!("Theirs.\n")));
    assert_eq!(scene.files.read("agents/a/SOUL.md").unwrap(), "Theirs.\n");
    // Over what is there now, it goes; and so does taking it away.
    for text in [json!("Mine.\n"), Value::Null] {
        let read = scene.done("GET /api/config/files/agents%2Fa%2FSOUL.md", json!({})).await;
        let files = json!([{ "file": "agents/a/SOUL.md", "text": text, "was": read["mark"] }]);
        let said = scene.done("POST /api/config/check", json!({ "files": files })).await;
        let write = json!({ "files": files, "shown": said["shown"] });
        scene.done("PUT /api/config/files", write).await;
        assert_eq!(
            scene.files.read("agents/a/SOUL.md").ok().map(Value::from).unwrap_or_default(),
            text
        );
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn all_files_are_written_or_none() {
    let scene = scene(AGENTS).await;
    // What is written aside can't be: something is in its place.
    scene.files.write(".config.yaml.new/x", "").unwrap();
    let config = scene.done("GET /api/config/files/config.yaml", json!({})).await;
    let text = config["text"].as_str().unwrap().replace("the first", "first");
    let files = json!([
        draft("config.yaml", &text, &config["mark"]),
        draft("agents/a/SOUL.md", "Be kind.\n", &Value::Null)
    ]);
    let before = on_disk(&scene);
    let said = scene.done("POST /api/config/check", json!({ "files": files })).await;
    let write = json!({ "files": files, "shown": said["shown"] });
    let (status, answer) = scene.admin("PUT /api/config/files", write).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (500, &json!("file")), "{answer}");
    assert_eq!(on_disk(&scene), before);
    let records = kinds(&scene, "GET /api/audit").await;
    assert!(records.iter().any(|it| it["kind"] == "config.change_failed"), "{records:?}");
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn rule_04_no_token_reads_or_changes_a_file_or_learns_of_others() {
    let scene = scene(AGENTS).await;
    let token = scene.token("a", &["chat", "read", "approve", "manage", "admin"]).await;
    let scoped = json!({ "agents": ["a"], "verbs": ["read"], "scope": "chat:telegram:main:1" });
    let scoped = scene.done("POST /api/tokens", scoped).await;
    let files = json!({ "files": [draft(OWN, "tolls: 1\n", &Value::Null)], "shown": "x" });
    let before = on_disk(&scene);
    for call in [
        "GET /api/config/files/config.yaml",
        "GET /api/config/files/agents%2Fa%2FSOUL.md",
        "GET /api/config/files/agents%2Fb%2FSOUL.md",
        "GET /api/config/schema",
        "GET /api/config/templates",
        "POST /api/config/templates/coder",
        "POST /api/config/check",
        "POST /api/config/edit",
        "PUT /api/config/files",
        "GET /api/gauntlet",
        "POST /api/gauntlet",
        "DELETE /api/gauntlet",
        "GET /api/gauntlet/events",
    ] {
        let (status, said) = scene.ask(&token, call, files.clone()).await;
        assert_eq!((status.as_u16(), &said["error"]["code"]), (403, &json!("forbidden")), "{call}");
        assert!(!said.to_string().contains("hidden") && !said.to_string().contains("\"b\""));
        let scoped = scoped["token"].as_str().unwrap();
        assert_eq!(scene.ask(scoped, call, files.clone()).await.0, 404, "{call}");
        assert_eq!(scene.ask("nobody", call, files.clone()).await.0, 401, "{call}");
    }
    assert_eq!(on_disk(&scene), before);
    // Its own agent it sees as it is, without the lines of a file that is about everybody.
    let context = scene.ask(&token, "GET /api/agents/a/context", json!({})).await.1;
    let settings = context["settings"].as_array().unwrap();
    let origins = settings.iter().map(|it| it["origin"].as_str().unwrap());
    assert!(origins.clone().count() > 0 && origins.clone().all(|it| !it.contains(':')));
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn only_files_of_the_configuration_are_reached() {
    let scene = scene(AGENTS).await;
    for name in [
        "run%2Fadmin.token",
        "..%2Fconfig.yaml",
        "agents%2Fa%2F..%2F..%2Fvault%2Fkey",
        "insula.db",
        "%2Fetc%2Fpasswd",
        "agents%2Fa%2Fmcp.json",
    ] {
        let (status, said) = scene.admin(&format!("GET /api/config/files/{name}"), json!({})).await;
        assert_eq!(status, 400, "{name}: {said}");
        let name = name.replace("%2F", "/");
        let files = json!([draft(&name, "x", &Value::Null)]);
        let write = json!({ "files": files, "shown": "" });
        for (call, body) in [
            ("POST /api/config/check", json!({ "files": files })),
            ("PUT /api/config/files", write),
        ] {
            let (status, said) = scene.admin(call, body).await;
            let message = said["error"]["message"].as_str().unwrap();
            assert_eq!(status, 400, "{call} {name}");
            assert!(message.contains("no file of the configuration"), "{name}: {message}");
        }
    }
    let twice = draft("SOUL.md", "x", &Value::Null);
    let (status, _) = scene
        .admin("POST /api/config/check", json!({ "files": [{ "file": "SOUL.md", "was": null }] }))
        .await;
    assert_eq!(status, 400, "what is left out removes nothing");
    for files in [json!([]), json!([twice.clone(), twice.clone()]), json!(vec![twice; 17])] {
        assert_eq!(scene.admin("POST /api/config/check", json!({ "files": files })).await.0, 400);
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn an_agent_is_added_from_a_template_once_it_was_looked_at() {
    let scene = scene(AGENTS).await;
    let templates = scene.done("GET /api/config/templates", json!({})).await;
    assert!(templates.as_array().unwrap().iter().any(|it| it["name"] == "coder"));
    let wish = json!({ "id": "c", "name": "Cee \"#\"" });
    let drafted = scene.done("POST /api/config/templates/coder", wish.clone()).await;
    assert!(scene.files.read(OWN).is_err(), "nothing is written before it was shown");
    let said = scene.done("POST /api/config/check", drafted.clone()).await;
    assert_eq!(
        (&said["ok"], &said["changes"][0]["what"]),
        (&json!(true), &json!("agent `c` is added"))
    );
    let write = json!({ "files": drafted["files"], "shown": said["shown"] });
    let done = scene.done("PUT /api/config/files", write).await;
    assert_eq!(done["applied"]["added"], json!(["c"]));
    let me = scene.done("GET /api/me", json!({})).await;
    let added = me["agents"].as_array().unwrap().iter().find(|it| it["id"] == "c").unwrap();
    assert_eq!((&added["state"], &added["name"]), (&json!("ready"), &json!("Cee \"#\"")));
    assert_eq!(scene.admin("POST /api/config/templates/coder", wish).await.0, 409);
    for (name, id) in [("nothing", "d"), ("coder", "../d"), ("coder", "")] {
        let call = format!("POST /api/config/templates/{name}");
        assert_eq!(scene.admin(&call, json!({ "id": id })).await.0, 400, "{name} {id}");
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn what_was_wrong_before_keeps_nobody_from_what_is_right() {
    let scene = scene(&AGENTS.replace("  b: {", "  b: {tolls: 1, ")).await;
    let draft = draft("agents/a/SOUL.md", "Be kind.\n", &Value::Null);
    let said = scene.done("POST /api/config/check", json!({ "files": [draft] })).await;
    assert_eq!(said["ok"], json!(true), "{said}");
    assert!(
        !said["report"]["errors"].as_array().unwrap().is_empty(),
        "and it is told all the same"
    );
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn where_nothing_is_to_be_changed_over_http_nothing_is() {
    let scene = scene(&format!("api: {{changes: false}}\n{AGENTS}")).await;
    for call in [
        "PUT /api/config/files",
        "POST /api/agents",
        "POST /api/agents/a/pause",
        "DELETE /api/agents/a",
        "POST /api/tokens",
        "POST /api/gauntlet",
        "POST /api/agents/a/skills",
    ] {
        let (status, said) = scene.admin(call, json!({})).await;
        assert_eq!(
            (status.as_u16(), &said["error"]["code"]),
            (403, &json!("changes_off")),
            "{call}"
        );
    }
    for call in ["GET /api/config/files/config.yaml", "GET /api/agents/a/context", "GET /api/me"] {
        assert_eq!(scene.admin(call, json!({})).await.0, 200, "{call}");
    }
    assert_eq!(scene.done("GET /api/me", json!({})).await["changes"], json!(false));
    let said = json!({ "session": "s", "text": "hello" });
    assert_eq!(scene.admin("POST /api/agents/a/messages", said).await.0, 200, "talking goes on");
    assert_eq!(scene.ask("nobody", "PUT /api/config/files", json!({})).await.0, 401);
    scene.daemon.close().await.unwrap();
}
