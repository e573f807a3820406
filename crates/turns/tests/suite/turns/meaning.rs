//! Finding things by what they mean: by a provider or a static model, beside full-text search,
//! inside one scope, paid for and cleared of secrets as everything else.

use crate::turns::memory::{add, puppet};
use crate::turns::support::{Fixture, build};
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_registry::key_name::{KeyName, KeySource};
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::world;
use insula_vault::{Secret, SecretName, SecretOwner};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const KEY: &str = "embed-3Wq8ZtR5mB1xLk7VdY4n";
const OWN: &str = "own-yR3bGk7MzD5sEvH0iJlAx";

/// A model to which all that has wheels is one thing, and all that grows another.
fn meaning(text: &str) -> [f32; 3] {
    let has = |words: &[&str]| words.iter().any(|word| text.to_lowercase().contains(word));
    [
        f32::from(u8::from(has(&["automobile", "lorry", "vehicle"]))),
        f32::from(u8::from(has(&["tulip", "oak", "plant"]))),
        0.1,
    ]
}

fn answer(status: u16, body: &Value) -> Vec<Step> {
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len());
    vec![Step::Write(format!("{head}{body}").into_bytes())]
}

fn embeds(seen: &Seen) -> Vec<Step> {
    let texts = seen.json()["input"].as_array().cloned().unwrap_or_default();
    let data = texts.iter().enumerate().map(
        |(index, text)| json!({ "index": index, "embedding": meaning(text.as_str().unwrap()) }),
    );
    let data: Vec<Value> = data.collect();
    answer(200, &json!({ "data": data, "usage": { "prompt_tokens": 5 * texts.len() } }))
}

struct Found {
    fixture: Fixture,
    embedder: Upstream,
    works: Arc<AtomicBool>,
}

const AGENTS: &str = "
agents:
  a: {tools: [memory, memory_search, session_search], memory: {embeddings: {model: embed/m}}, secrets: [OWN]}
  words: {tools: [memory, memory_search, session_search], memory: true}
";

async fn open(agents: &str) -> Found {
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, puppet).await.unwrap();
    let works = Arc::new(AtomicBool::new(true));
    let is_up = works.clone();
    let embedder = Upstream::start(&world, move |seen, _| match is_up.load(Ordering::SeqCst) {
        true => embeds(seen),
        false => answer(503, &json!({ "error": { "message": "down" } })),
    });
    let embedder = embedder.await.unwrap();
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: '{}'}}\n  embed: {{kind: openai, base_url: '{}', api_key: '${{secret:KEY}}', agents: [a]}}\n{agents}",
        upstream.url("/v1"),
        embedder.url("/v1")
    );
    let fixture = build(world, config, Some(upstream)).await;
    let fixture = Fixture { handles: Some(handles), ..fixture };
    let own = SecretOwner::Agent(AgentId::new("a").unwrap());
    for (owner, name, value) in [(SecretOwner::Daemon, "KEY", KEY), (own, "OWN", OWN)] {
        let (name, by) = (SecretName::new(name).unwrap(), Actor::CommandLine);
        fixture.daemon.set_secret(&owner, &name, Secret::new(value), &by).await.unwrap();
    }
    Found { fixture, embedder, works }
}

impl Found {
    async fn say(&self, agent: &str, chat: &str, text: &str) -> String {
        self.fixture.say(agent, chat, text).await
    }

    async fn in_memory(&self, agent: &str, chat: &str, query: &str) -> String {
        self.say(agent, chat, &format!("call memory_search {}", json!({ "query": query }))).await
    }

    async fn said(&self, agent: &str, chat: &str, query: &str) -> String {
        self.say(agent, chat, &format!("call session_search {}", json!({ "query": query }))).await
    }

    /// All that the model of embeddings was sent.
    fn sent(&self) -> String {
        let seen = self.embedder.seen();
        seen.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect()
    }
}

#[tokio::test]
async fn entries_are_found_in_altogether_other_words_and_only_where_that_is_wanted() {
    let found = open(AGENTS).await;
    for agent in ["a", "words"] {
        for chat in ["one", "two"] {
            found.say(agent, chat, &add(&format!("the automobile of {chat} is blue"))).await;
            found.say(agent, chat, &add(&format!("a tulip stands in {chat}"))).await;
        }
    }
    assert!(found.embedder.seen().is_empty(), "nothing is sent before somebody searches");
    let hits = found.in_memory("a", "one", "vehicle").await;
    assert!(hits.contains("the automobile of one is blue"), "{hits}");
    assert!(!hits.contains("tulip") && !hits.contains("of two"), "{hits}");
    let hits = found.in_memory("words", "one", "vehicle").await;
    assert!(!hits.contains("automobile"), "{hits}");
    assert_eq!(found.embedder.seen().len(), 1, "one request for the question and all entries");
    // What is known already is not sent again.
    found.in_memory("a", "one", "plant").await;
    let last = found.embedder.seen().last().unwrap().json();
    assert_eq!(last["input"], json!(["plant"]));
}

#[tokio::test]
async fn rule_03_a_search_by_meaning_compares_nothing_of_another_scope() {
    let found = open(AGENTS).await;
    found.say("a", "two", &add("the lorry of strangers")).await;
    found.say("a", "two", "we talked about an automobile").await;
    for agent_of_scope in ["two", "one"] {
        found.in_memory("a", agent_of_scope, "vehicle").await;
        found.said("a", agent_of_scope, "vehicle").await;
    }
    let asked = found.embedder.seen().len();
    let (memory, said) =
        (found.in_memory("a", "one", "vehicle").await, found.said("a", "one", "vehicle").await);
    for hits in [memory, said] {
        assert!(!hits.contains("lorry") && !hits.contains("talked"), "{hits}");
    }
    // Nor does a search in one scope send what another has.
    let seen = found.embedder.seen();
    let sent: Vec<String> =
        seen[asked..].iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect();
    assert!(!sent.concat().contains("lorry") && !sent.concat().contains("talked"), "{sent:?}");
}

#[tokio::test]
async fn conversations_are_found_in_altogether_other_words() {
    let found = open(AGENTS).await;
    found.say("a", "one", "yesterday we sold the automobile").await;
    found.say("a", "one", "the weather was fine").await;
    let hits = found.said("a", "one", "which vehicle went away").await;
    assert!(hits.contains("we sold the automobile"), "{hits}");
}

#[tokio::test]
async fn secrets_do_not_reach_the_model_of_embeddings() {
    let found = open(AGENTS).await;
    found.say("a", "one", &format!("the lorry has the code {OWN}")).await;
    found.said("a", "one", &format!("vehicle {OWN}")).await;
    let sent = found.sent();
    assert!(sent.contains("the lorry has the code") && !sent.contains(OWN), "{sent}");
}

#[tokio::test]
async fn it_is_paid_with_the_key_that_was_granted_and_counted() {
    let found = open(AGENTS).await;
    found.say("a", "one", &add("the automobile is blue")).await;
    found.in_memory("a", "one", "vehicle").await;
    let seen = found.embedder.seen();
    assert_eq!(seen[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    let store = found.fixture.daemon.store_of(&AgentId::new("a").unwrap());
    let report = store.usage_since(Timestamp::from_millis(0)).await.unwrap();
    let name = KeyName::new("embed", KeySource::Shared, Some(KEY)).to_string();
    let (_, paid) = report.keys.iter().find(|(key, _)| **key == *name).unwrap();
    assert_eq!((paid.turns, paid.usage.input), (1, 10), "two texts");
}

#[tokio::test]
async fn who_lost_the_provider_still_finds_by_words() {
    let found = open(AGENTS).await;
    found.say("a", "one", &add("the automobile is blue")).await;
    let config = found.fixture.files().read("config.yaml").unwrap();
    let config = config.replace("agents: [a]}", "agents: []}");
    found.fixture.files().write("config.yaml", config).unwrap();
    found.fixture.daemon.reload(None, &Actor::CommandLine).await.unwrap();
    let hits = found.in_memory("a", "one", "blue vehicle").await;
    assert!(hits.contains("the automobile is blue"), "{hits}");
    assert!(found.embedder.seen().is_empty());
}

#[tokio::test]
async fn a_provider_that_fails_is_left_alone_for_a_while_and_words_are_found_meanwhile() {
    let found = open(AGENTS).await;
    found.works.store(false, Ordering::SeqCst);
    found.say("a", "one", &add("the automobile is blue")).await;
    for _ in 0..3 {
        let hits = found.in_memory("a", "one", "blue vehicle").await;
        assert!(hits.contains("the automobile is blue"), "{hits}");
    }
    assert_eq!(found.embedder.seen().len(), 1, "it is not waited for again at once");
    found.works.store(true, Ordering::SeqCst);
    found.fixture.handles.as_ref().unwrap().clock.advance(std::time::Duration::from_secs(61)).await;
    let hits = found.in_memory("a", "one", "vehicle").await;
    assert!(hits.contains("the automobile is blue"), "{hits}");
}

#[tokio::test]
async fn a_budget_that_is_used_up_ends_it() {
    let agents = AGENTS.replace("secrets: [OWN]", "budget: {usd_per_day: 5}")
        + "prices: {fake/model: {input: 0, output: 0}}\n";
    let found = open(&agents).await;
    found.say("a", "one", &add("the automobile is blue")).await;
    let hits = found.in_memory("a", "one", "blue vehicle").await;
    assert!(hits.contains("the automobile is blue"), "{hits}");
    assert!(found.embedder.seen().is_empty(), "nobody knows what it costs");
}

#[tokio::test]
async fn what_is_forgotten_is_found_by_nothing() {
    let found = open(AGENTS).await;
    found.say("a", "one", &add("the automobile is blue")).await;
    found.in_memory("a", "one", "vehicle").await;
    let remove = json!({ "action": "remove", "target": "memory", "old_text": "automobile" });
    found.say("a", "one", &format!("call memory {remove}")).await;
    let hits = found.in_memory("a", "one", "vehicle").await;
    assert!(!hits.contains("automobile"), "{hits}");
}

/// A tokenizer of five words, and a table in which two of them are one thing.
fn static_model(folder: &std::path::Path) {
    let words = ["[UNK]", "automobile", "vehicle", "tulip", "the"];
    let vocab: serde_json::Map<String, Value> =
        words.iter().enumerate().map(|(at, word)| ((*word).to_owned(), json!(at))).collect();
    let tokenizer = json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": { "type": "WordPiece", "vocab": vocab },
    });
    let rows: [[f32; 2]; 5] = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.0]];
    let data: Vec<u8> = rows.iter().flatten().flat_map(|it| it.to_le_bytes()).collect();
    let header = json!({ "embeddings": { "dtype": "F32", "shape": [5, 2], "data_offsets": [0, data.len()] } });
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut table = (header.len() as u64).to_le_bytes().to_vec();
    table.extend(header);
    table.extend(data);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(folder.join("model.safetensors"), table).unwrap();
}

#[tokio::test]
async fn a_static_model_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    static_model(folder.path());
    let path = format!("path: '{}'", folder.path().display());
    let found = open(&AGENTS.replace("model: embed/m", &path)).await;
    found.say("a", "one", &add("the automobile")).await;
    found.say("a", "one", &add("the tulip")).await;
    found.say("a", "two", &add("the automobile of strangers")).await;
    found.in_memory("a", "two", "vehicle").await;
    let hits = found.in_memory("a", "one", "vehicle").await;
    assert!(hits.contains("the automobile"), "{hits}");
    assert!(!hits.contains("tulip") && !hits.contains("strangers"), "{hits}");
    assert!(found.embedder.seen().is_empty());
}

#[tokio::test]
async fn a_folder_without_a_model_leaves_words() {
    let agents = AGENTS.replace("model: embed/m", "path: /nowhere/at/all");
    let found = open(&agents).await;
    found.say("a", "one", &add("the automobile is blue")).await;
    let hits = found.in_memory("a", "one", "blue vehicle").await;
    assert!(hits.contains("the automobile is blue"), "{hits}");
}
