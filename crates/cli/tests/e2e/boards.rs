//! Boards from outside: made, filled and changed at the command line and over HTTP, kept in a
//! backup, and not there for whoever has no right to them.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::run_with_input;
use serde_json::{Value, json};

#[test]
fn a_board_is_made_filled_and_worked_on_with_and_without_a_daemon() {
    let home = configured("# mine\nagents: {lead: {}, coder: {}}\n");
    let wish = ["board", "create", "work", "--agent", "coder=work", "--agent", "lead=manage"];
    insula(&home, &wish).ok();
    let text = std::fs::read_to_string(home.path().join("config.yaml")).unwrap();
    assert!(text.starts_with("# mine\nagents:") && text.contains("\nboards:\n"), "{text}");
    let again = insula(&home, &["board", "create", "work", "--agent", "lead=see"]);
    assert!(again.stderr.contains("there is a board `work` already"), "{again:?}");
    let wrong = insula(&home, &["board", "create", "other", "--agent", "ghost=work"]);
    assert!(wrong.stderr.contains("names agent `ghost`, which does not exist"), "{wrong:?}");
    assert_eq!(std::fs::read_to_string(home.path().join("config.yaml")).unwrap(), text);
    for daemon in [None, Some(start_still(&home))] {
        let added = json(&home, &["board", "add", "work", "Do it", "all of it"]);
        assert_eq!((&added["status"], &added["author"]), (&json!("triage"), &json!("cli:local")));
        let card = added["id"].to_string();
        let later = json(&home, &["board", "add", "work", "Then", "--after", &card]);
        assert_eq!(later["needs"], json!([{ "id": added["id"], "status": "triage" }]));
        json(&home, &["board", "comment", "work", &card, "half of it"]);
        let wrong = insula(&home, &["board", "assign", "work", &card, "nobody"]);
        assert!(wrong.stderr.contains("there are: coder, lead"), "{wrong:?}");
        let claimed = json(&home, &["board", "claim", "work", &card]);
        assert_eq!(
            (&claimed["status"], &claimed["worker"]),
            (&json!("running"), &json!("cli:local"))
        );
        let wrong = insula(&home, &["board", "claim", "work", &card]);
        assert!(wrong.stderr.contains("somebody works on it"), "{wrong:?}");
        let done = json(&home, &["board", "done", "work", &card, "it is done"]);
        assert_eq!((&done["status"], &done["result"]), (&json!("done"), &json!("it is done")));
        let kinds = done["history"].as_array().unwrap().iter().map(|it| it["kind"].clone());
        assert_eq!(kinds.collect::<Vec<_>>(), ["added", "commented", "claimed", "completed"]);
        let audit = json(&home, &["audit", "tail", "-n", "100"]).to_string();
        for what in ["added", "commented", "completed"] {
            let record = format!("\"what\":\"{what}\"");
            assert!(audit.contains("board.changed") && audit.contains(&record), "{audit}");
        }
        let wrong = insula(&home, &["board", "assign", "work", &card, "coder"]);
        assert!(wrong.stderr.contains("is `done`; move it to `triage` first"), "{wrong:?}");
        let told = insula(&home, &["board", "watch", "work", "--once"]).ok().stdout;
        assert!(told.lines().count() > 3 && told.contains("claimed"), "{told}");
        let listed = json(&home, &["board", "list", "work", "--status", "done"]);
        assert!(listed.as_array().unwrap().iter().any(|it| it["id"] == added["id"]), "{listed}");
        let missing = insula(&home, &["board", "show", "work", "999"]);
        assert!(missing.stderr.starts_with("error: board `work` has no card 999;"), "{missing:?}");
        let status = insula(&home, &["status", "--json"]).json();
        assert_eq!(status["boards"][0]["name"], "work");
        let Some(daemon) = daemon else { continue };
        // To the bearer of a token it is not there, whatever its agent may do.
        let token = json(&home, &["token", "create", "--agent", "lead", "--verb", "admin"]);
        let bearer = format!("Authorization: Bearer {}", token["token"].as_str().unwrap());
        let ask = |path: &str| send(daemon.listen(), "GET", path, &[&bearer], "");
        assert_eq!(ask("/api/boards").json(), json!([]));
        let (there, absent) = (ask("/api/boards/work/cards"), ask("/api/boards/wrok/cards"));
        assert_eq!((there.status, absent.status), (404, 404));
        assert_eq!(there.body, absent.body.replace("wrok", "work"));
        let person = format!("api:{}", token["id"].as_str().unwrap());
        let text = std::fs::read_to_string(home.path().join("config.yaml")).unwrap();
        let more = text
            .replace("\"work\":", "")
            .replace("work: {", &format!("work: {{\"people\": {{\"{person}\": \"see\"}}, "));
        home.write("config.yaml", &more).unwrap();
        insula(&home, &["reload"]).ok();
        assert_eq!(ask("/api/boards").json()[0]["rights"], json!(["see"]));
        assert_eq!(ask("/api/boards/work/cards").status, 200);
        let add = json!({ "title": "x" }).to_string();
        let headers = [&*bearer, "Content-Type: application/json"];
        let refused = send(daemon.listen(), "POST", "/api/boards/work/cards", &headers, &add);
        assert_eq!(refused.status, 403, "{}", refused.body);
    }
}

#[test]
fn a_backup_has_the_boards_and_restoring_examines_them() {
    let home = configured("agents: {a: {}}\nboards: {work: {agents: [a]}}\n");
    json(&home, &["board", "add", "work", "Keep this"]);
    let file = home.path().join("../boards.backup");
    let words = "four words of mine\n".to_owned();
    let path = file.to_str().unwrap();
    run_with_input(INSULA, home.path(), &["backup", path, "--json"], words.clone()).ok();
    std::fs::remove_dir_all(home.path().join("boards")).unwrap();
    let elsewhere = configured("");
    let folder = elsewhere.path().join("restored");
    run_with_input(INSULA, &folder, &["restore", path, "--json"], words).ok();
    std::fs::remove_file(&file).unwrap();
    let listed: Value =
        run_with_input(INSULA, &folder, &["board", "list", "work", "--json"], String::new()).json();
    assert_eq!(listed[0]["title"], "Keep this");
}
