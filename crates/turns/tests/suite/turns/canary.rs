//! Canaries: random strings planted in scopes of several agents, random conversations, and a
//! byte search for each canary everywhere it must not be. Short here; `scripts/canary-campaign`
//! runs it long.

use crate::turns::memory::puppet;
use crate::turns::support::with_tools;
use insula_domain::AgentId;
use insula_store::{Counted, FragmentId};
use insula_testkit::upstream::Seen;
use insula_world::Random;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const AGENTS: usize = 5;
const SCOPES: usize = 10;
/// Canaries of one scope in the short run.
const PER_SCOPE: usize = 1;
/// Turns of the short run.
const TURNS: usize = 60;

/// What the campaign script wants otherwise: how many turns, and which ones.
#[allow(clippy::disallowed_methods, reason = "the campaign script says how long it runs")]
fn asked(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Which canary belongs to which agent and chat.
type Canaries = BTreeMap<String, (usize, usize)>;

/// Whether an agent's chats share one scope: its scope is the user, and the fixture's user is
/// the same in all of them.
fn is_shared(agent: usize) -> bool {
    agent % 5 == 2
}

fn may(canaries: &Canaries, canary: &str, agent: usize, chat: usize) -> bool {
    let (of, place) = canaries[canary];
    of == agent && (place == chat || is_shared(agent))
}

/// The canaries in some bytes that have no business there.
fn strays(canaries: &Canaries, bytes: &[u8], agent: usize, chat: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let found = canaries.keys().filter(|canary| text.contains(canary.as_str()));
    found.filter(|canary| !may(canaries, canary, agent, chat)).cloned().collect()
}

/// Every file below a folder, with its bytes.
#[allow(clippy::disallowed_methods, reason = "a test looks at the files themselves")]
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found
}

fn has(bytes: &[u8], needle: &str) -> bool {
    // Canaries are plain letters, and bytes that are no text have none of them.
    String::from_utf8_lossy(bytes).contains(needle)
}

#[tokio::test]
async fn no_canary_is_found_outside_its_scope() {
    let agents: String = (0..AGENTS)
        .map(|n| {
            let scope = ["auto", "chat", "user", "auto", "\"'room:' + channel_id\""][n % 5];
            format!("  a{n}: {{memory: {{scope: {scope}, limits: {{memory: 100000}}}}}}\n")
        })
        .collect();
    let agents = format!("agents:\n{agents}");
    let seed = u8::try_from(asked("INSULA_CANARY_SEED", 42) % 256).unwrap();
    let random = Random::from_seed([seed; 32]);
    let mut canaries = Canaries::new();
    for agent in 0..AGENTS {
        for chat in 0..SCOPES {
            for n in 0..asked("INSULA_CANARY_PER_SCOPE", PER_SCOPE) {
                let purpose = [&agent.to_string(), &chat.to_string(), &n.to_string()];
                let id = random.stream(&purpose.map(String::as_str)).id();
                canaries.insert(format!("canary{}", &id[..20]), (agent, chat));
            }
        }
    }
    let canaries = Arc::new(canaries);
    // Every prompt is looked at as it comes, by whose turn it is.
    let turn_of = Arc::new(Mutex::new((0, 0)));
    let found = Arc::new(Mutex::new(Vec::<String>::new()));
    let script = {
        let (canaries, turn_of, found) = (canaries.clone(), turn_of.clone(), found.clone());
        move |seen: &Seen, number: usize| {
            let (agent, chat) = *turn_of.lock().unwrap();
            let strays = strays(&canaries, &seen.body, agent, chat);
            found.lock().unwrap().extend(strays);
            puppet(seen, number)
        }
    };
    let fixture = with_tools(None, &agents, insula_tools::BUILT_IN, script).await;
    let say = async |agent: usize, chat: usize, text: &str| {
        *turn_of.lock().unwrap() = (agent, chat);
        let said = fixture.say(&format!("a{agent}"), &format!("c{chat}"), text).await;
        let strays = strays(&canaries, said.as_bytes(), agent, chat);
        assert!(strays.is_empty(), "a reply of a{agent} in c{chat} has {strays:?}");
        said
    };
    for (canary, (agent, chat)) in canaries.iter() {
        let arguments =
            json!({"action": "add", "target": "memory", "content": format!("planted {canary}")});
        let text = format!("call memory {arguments}");
        let said = say(*agent, *chat, &text).await;
        assert!(said.contains("done"), "{said}");
    }
    let names: Vec<&String> = canaries.keys().collect();
    for turn in 0..asked("INSULA_CANARY_TURNS", TURNS) {
        let mut stream = random.stream(&["turn", &turn.to_string()]);
        let [a, b, c, d] = stream.bytes::<4>();
        let (agent, chat) = (usize::from(a) % AGENTS, usize::from(b) % SCOPES);
        let foreign = names[(usize::from(d) * 7 + turn) % names.len()];
        let (id, room) = (format!("a{agent}"), format!("c{chat}"));
        let text = match c % 6 {
            0 => "hello".to_owned(),
            1 => "call memory_search {\"query\": \"planted\", \"limit\": 30}".to_owned(),
            2 => "call session_search {\"query\": \"planted\", \"limit\": 50}".to_owned(),
            3 => {
                let store = fixture.daemon.store_of(&AgentId::new(&id).unwrap());
                let session = store.seals().seal(Counted::Session, i64::from(d % 60));
                format!(
                    "call session_search {{\"session_id\": \"{session}\", \"around_message_id\": 1}}"
                )
            }
            4 => {
                // A new session is shown what is remembered.
                let (inbound, key) = fixture.inbound(&id, &room, "");
                fixture.engine.begin_anew(&inbound.agent, &key).await.unwrap();
                "what do you remember?".to_owned()
            }
            _ if may(&canaries, foreign, agent, chat) => "hello again".to_owned(),
            // The needle is cut, so that the question itself is no find.
            _ => format!("call memory_search {{\"query\": \"{}\"}}", &foreign[..14]),
        };
        say(agent, chat, &text).await;
    }
    assert_eq!(*found.lock().unwrap(), Vec::<String>::new(), "prompts have these");
    // Rows.
    for agent in 0..AGENTS {
        let id = AgentId::new(&format!("a{agent}")).unwrap();
        let store = fixture.daemon.store_of(&id);
        for fragment in store.fragments_after(FragmentId::START, 1_000).await.unwrap() {
            for (canary, (of, chat)) in canaries.iter() {
                if fragment.text.contains(canary.as_str()) {
                    let is_own = fragment.scope.as_str().ends_with(&format!("c{chat}"))
                        || (is_shared(agent) && fragment.scope.as_str().starts_with("user:"));
                    assert!(*of == agent && is_own, "{canary} is in {}", fragment.scope);
                }
            }
        }
        assert!(store.memory_verify().await.unwrap().ok);
    }
    // Files: an agent's only below its folder, a chat's only in its own mirror, none in logs.
    let home = fixture.files().path().to_owned();
    for (path, bytes) in files(&home) {
        let relative = path.strip_prefix(&home).unwrap().to_string_lossy().into_owned();
        for (canary, (agent, chat)) in canaries.iter().filter(|(canary, _)| has(&bytes, canary)) {
            assert!(
                relative.starts_with(&format!("agents/a{agent}/")),
                "{canary} is in {relative}"
            );
            assert!(!relative.contains("/logs/"), "{canary} is in {relative}");
            if relative.contains("/memories/") && !is_shared(*agent) {
                assert!(relative.contains(&format!("c{chat}/")), "{canary} is in {relative}");
            }
        }
    }
}
