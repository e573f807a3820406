//! One agent against another, by the arguments of every tool: A3 and A12 of the gauntlet.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use super::arena::{Arena, CANARY, Level};
use super::at_both_levels;
use super::puppet::Call;
use serde_json::{Value, json};

/// Calls in one turn: each is in the history that the next request carries.
const CALLS_A_TURN: usize = 24;

/// Names for the file of another, as a model could write them, whose folder is not granted.
fn paths(arena: &Arena) -> Vec<String> {
    let secret = arena.variable("SECRET_FILE");
    let shared = arena.shared.display();
    vec![
        secret.to_owned(),
        format!("/{secret}"),
        format!("/.{secret}"),
        "../../b/workspace/secret.txt".to_owned(),
        "./../../b/./workspace//secret.txt".to_owned(),
        "links/../../../b/workspace/secret.txt".to_owned(),
        format!("../../../../../../../../../..{secret}"),
        format!("/proc/self/root{secret}"),
        format!("/proc/{}/root{secret}", arena.stage.daemon.pid()),
        format!("/proc/{}/cwd{secret}", arena.victim),
        "/proc/self/cwd/../../b/workspace/secret.txt".to_owned(),
        "links/folder/secret.txt".to_owned(),
        "links/chain/workspace/secret.txt".to_owned(),
        format!("links/root{secret}"),
        format!("links/process{secret}"),
        format!("{shared}/{}", arena.variable("UP_FROM_SHARED")),
        format!("{shared}/escape-folder/secret.txt"),
    ]
}

/// Links to the file of another in folders that are granted.
fn links(arena: &Arena) -> [String; 2] {
    ["links/file".to_owned(), arena.shared.join("escape").display().to_string()]
}

/// Names that sound like another's and are names in one's own folder.
fn own(arena: &Arena) -> [String; 4] {
    let secret = arena.variable("SECRET_FILE");
    [
        format!("file://{secret}"),
        "b/workspace/secret.txt".to_owned(),
        "~b/workspace/secret.txt".to_owned(),
        format!("\\\\?{}", secret.replace('/', "\\")),
    ]
}

fn patch(text: &str) -> Value {
    json!({ "mode": "patch", "patch": format!("*** Begin Patch\n{text}\n*** End Patch") })
}

/// Everything that the tools could do to a file.
fn calls_on(path: &str) -> Vec<Call> {
    [
        ("read_file", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "mine" })),
        ("patch", json!({ "mode": "replace", "path": path, "old_string": "C", "new_string": "m" })),
        ("patch", patch(&format!("*** Update File: {path}\n@@\n-CANARY\n+mine"))),
        ("patch", patch(&format!("*** Delete File: {path}"))),
        ("patch", patch(&format!("*** Update File: {path}\n*** Move to: mine"))),
        ("patch", patch(&format!("*** Update File: own\n*** Move to: {path}"))),
        ("search_files", json!({ "pattern": ".", "path": path })),
        ("search_files", json!({ "pattern": "secret*", "target": "files", "file_glob": path })),
    ]
    .map(|(name, arguments)| (name.to_owned(), arguments))
    .into()
}

/// Everything that the tools could do to the folder of a file.
fn calls_beside(path: &str) -> Vec<Call> {
    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    [
        ("write_file", json!({ "path": format!("{folder}/planted"), "content": "mine" })),
        ("patch", patch(&format!("*** Add File: {folder}/planted\n+mine"))),
        ("search_files", json!({ "pattern": ".", "path": folder })),
        ("search_files", json!({ "pattern": "secret*", "target": "files", "path": folder })),
        ("terminal", json!({ "command": "cat secret.txt", "workdir": folder })),
    ]
    .map(|(name, arguments)| (name.to_owned(), arguments))
    .into()
}

/// Makes calls in as many turns as they need; each with what it gave back. Neighbours go to
/// different turns: those that differ by a field that no tool has are mended to the same call,
/// and a turn that makes one over and over is stopped.
fn make(arena: &Arena, kind: &str, calls: Vec<Call>) -> Vec<(Call, String)> {
    let turns = calls.len().div_ceil(CALLS_A_TURN);
    let mut done = Vec::new();
    for number in 0..turns {
        let some: Vec<Call> = calls.iter().skip(number).step_by(turns).cloned().collect();
        let results = arena.stage.calls("a", &format!("{kind}-{number}"), some.clone());
        done.extend(some.into_iter().zip(results));
    }
    done
}

/// Whether a tool did not do it.
fn is_refused(said: &str) -> bool {
    let words = ["refused: ", "the arguments are not valid"];
    words.iter().any(|word| said.starts_with(word))
        || said.contains("[exit status 1]")
        || said.contains("does not exist")
        || said.contains("is none of your folders")
        || said.starts_with("[nothing was found]")
}

fn a3_no_path_leads_to_the_folder_of_another(level: Level) {
    let arena = Arena::new(level);
    let (secret, theirs) = (arena.variable("SECRET_FILE"), arena.variable("OTHER"));
    let plant = format!(
        "mkdir links && cd links && ln -s {secret} file && ln -s {theirs} folder && ln -s ../../../b chain && ln -s / root && ln -s /proc/{}/root process && echo x > ../own",
        arena.stage.daemon.pid()
    );
    let said = arena.stage.sh("a", "links", &plant);
    assert!(!said.contains("[exit"), "{said}");
    let (away, linked) = (paths(&arena), links(&arena));
    let mut calls: Vec<Call> = away.iter().chain(&linked).flat_map(|path| calls_on(path)).collect();
    calls.extend(away.iter().flat_map(|path| calls_beside(path)));
    println!("{} calls on {} paths", calls.len(), away.len() + linked.len());
    let mut failures = Vec::new();
    for ((name, arguments), said) in make(&arena, "away", calls) {
        if said.contains(CANARY) || !is_refused(&said) {
            failures.push(format!("{name} {arguments}: {said}"));
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    let similar = own(&arena).iter().flat_map(|path| calls_on(path)).collect();
    for ((name, arguments), said) in make(&arena, "own", similar) {
        assert!(!said.contains(CANARY), "{name} {arguments}: {said}");
    }
    // The same tools on its own files do work, and what is shared can be read.
    let own = [
        ("write_file", json!({ "path": "new", "content": "words" })),
        ("read_file", json!({ "path": "new" })),
        ("read_file", json!({ "path": arena.shared.join("readable") })),
    ];
    let own = own.map(|(name, arguments)| (name.to_owned(), arguments)).into();
    let said = arena.stage.calls("a", "own", own);
    assert!(said[1].contains("words") && said[2].contains("for everyone"), "{said:?}");
    arena.assert_undisturbed();
}

/// Some value for an argument that a tool can't do without.
fn filler(name: &str, schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ if name == "command" || name == "code" => "true".into(),
        _ => "x".into(),
    }
}

/// Every tool with another's names in each of its arguments, and in arguments it does not have.
fn named(tools: &[Value], names: &[String]) -> Vec<Call> {
    let others = [
        "agent",
        "agent_id",
        "session",
        "session_id",
        "scope",
        "profile",
        "user",
        "workspace",
        "owner",
        "as",
    ];
    let mut calls = Vec::new();
    for tool in tools {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap();
        let properties = function["parameters"]["properties"].as_object().unwrap();
        let required = function["parameters"]["required"].as_array().cloned().unwrap_or_default();
        let given = |argument: &str, value: &Value| {
            let mut arguments: serde_json::Map<String, Value> = properties
                .iter()
                .filter(|(known, _)| required.contains(&Value::from(known.as_str())))
                .map(|(known, schema)| (known.clone(), filler(known, schema)))
                .collect();
            arguments.insert(argument.to_owned(), value.clone());
            (name.to_owned(), Value::Object(arguments))
        };
        let arguments = properties.keys().map(String::as_str);
        for argument in
            arguments.chain(others.into_iter().filter(|it| !properties.contains_key(*it)))
        {
            for value in names {
                calls.push(given(argument, &Value::from(value.as_str())));
            }
            // Numbers, for what takes only those.
            calls.push(given(argument, &1.into()));
            calls.push(given(argument, &json!([names[0]])));
        }
    }
    calls
}

fn a12_no_argument_names_another(level: Level) {
    let arena = Arena::new(level);
    let stage = &arena.stage;
    // Something in the other's history, and the tools as the model is offered them.
    stage.sh("b", "own", &format!("echo the word is {CANARY}"));
    let offered = stage.play("a", "tools", {
        let mut first = true;
        move |_| match std::mem::take(&mut first) {
            true => vec![("todo".to_owned(), json!({}))],
            false => Vec::new(),
        }
    });
    let tools = offered.tools.as_array().unwrap().clone();
    assert!(tools.len() >= 10, "{tools:#?}");
    let names = ["b", "own", "b/own", "p1", arena.variable("OTHER"), "../../b/workspace"];
    let names = names.map(str::to_owned);
    // A question ends its turn, so it comes in turns of its own.
    let (asking, calls): (Vec<Call>, Vec<Call>) =
        named(&tools, &names).into_iter().partition(|(name, _)| name == "clarify");
    println!("{} calls of {} tools", calls.len() + asking.len(), tools.len());
    for ((name, arguments), said) in make(&arena, "away", calls) {
        let text = arguments.to_string();
        assert!(!said.contains(CANARY), "{name} {text}: {said}");
        assert!(!said.contains("secret.txt"), "{name} {text}: {said}");
        let unknown = ["agent", "profile", "workspace", "owner", "as"];
        let is_unknown = |key: &str| unknown.contains(&key) && !text.is_empty();
        if arguments.as_object().unwrap().keys().any(|key| is_unknown(key)) {
            assert!(is_refused(&said), "{name} {text}: {said}");
        }
    }
    for (number, call) in asking.into_iter().enumerate() {
        let mut left = Some(vec![call]);
        let played =
            stage.play("a", &format!("asks-{number}"), move |_| left.take().unwrap_or_default());
        assert!(!format!("{:?}", played.results).contains(CANARY));
    }
    // The search of one's history: no word of another's, and another's session is no session.
    let search = |arguments: Value| stage.call("a", "own", "session_search", arguments);
    let said = search(json!({ "query": "word" }));
    assert!(!said.contains(CANARY) && !said.contains("the word is"), "{said}");
    for number in 1..4 {
        let said = search(json!({ "session_id": number, "around_message_id": 1 }));
        assert!(!said.contains(CANARY) && !said.contains("the word is"), "{said}");
    }
    arena.assert_undisturbed();
}

at_both_levels!(a3_no_path_leads_to_the_folder_of_another, a12_no_argument_names_another);
