//! Memory where somebody tries to get around its rules: through error texts, retries, scopes
//! of their own making, and conversations that are none.

use crate::turns::memory::{add, add_everywhere, context, fragments, open};
use crate::turns::support::{Fixture, reply};
use insula_capabilities::memory::{AskError, Asking, Forgot, Remembered};
use serde_json::json;

fn call(arguments: serde_json::Value) -> String {
    format!("call memory {arguments}")
}

#[tokio::test]
async fn an_error_shows_only_what_the_turn_may_read() {
    let fixture = open(
        r#"agents:
  a: {memory: {scope: "operation == 'write' ? 'inbox' : 'desk'", limits: {memory: 200}}}
"#,
    )
    .await;
    let told = fixture.say("a", "one", &add("the canary is zx81")).await;
    assert!(told.starts_with("result: done") && !told.contains("1 entry"), "{told}");
    for arguments in [
        json!({"action": "remove", "target": "memory", "old_text": "canary"}),
        json!({"action": "remove", "target": "memory", "old_text": "absent"}),
        json!({"action": "replace", "target": "memory", "old_text": "a", "content": "b"}),
        json!({"action": "add", "target": "memory", "content": "x".repeat(300)}),
    ] {
        let told = fixture.say("a", "one", &call(arguments)).await;
        assert!(!told.contains("zx81") && told.contains("read"), "{told}");
    }
    assert_eq!(fragments(&fixture, "a").await.len(), 1);
    // People are shown the same as their model, and erase nothing that they can't see.
    let agent = context(&fixture, "a");
    let (here, _) = fixture.inbound("a", "one", "");
    let asking = Asking {
        agent: &agent,
        session: &here.session,
        at: &here.scope,
        principal: &"api:ann".into(),
    };
    let Remembered::Lists { lists, .. } =
        fixture.engine.capabilities().remembered(&asking).await.unwrap()
    else {
        panic!()
    };
    assert!(lists.iter().all(|list| list.fragments.is_empty()));
    let refused = fixture.engine.capabilities().forget_here(&asking, "all").await;
    assert!(matches!(refused, Err(AskError::Apart)), "{refused:?}");
    assert_eq!(fragments(&fixture, "a").await.len(), 1);
}

async fn forget_all(fixture: &Fixture, agent: &str, chat: &str) -> Forgot {
    let context = context(fixture, agent);
    let (here, _) = fixture.inbound(agent, chat, "");
    let asking = Asking {
        agent: &context,
        session: &here.session,
        at: &here.scope,
        principal: &"api:ann".into(),
    };
    fixture.engine.capabilities().forget_here(&asking, "all").await.unwrap()
}

#[tokio::test]
async fn a_retry_does_not_teach_again_what_was_forgotten() {
    let fixture = open("agents:\n  a: {memory: true}\n").await;
    fixture.say("a", "one", &add("the canary is zx81")).await;
    assert_eq!(forget_all(&fixture, "a", "one").await, Forgot::Entries(1));
    // Again, and once more: each takes the place of the one before.
    for _ in 0..2 {
        let (inbound, _) = fixture.inbound("a", "one", "");
        let again = fixture.engine.retry(inbound).await.unwrap().expect("something was said");
        let told = reply(again).await;
        assert!(told.contains("was forgotten, so nothing is learned from it again"), "{told}");
        assert!(fragments(&fixture, "a").await.is_empty());
    }
    // Said anew it is a new message, and so is what comes after.
    let told = fixture.say("a", "one", &add("the canary is zx81")).await;
    assert!(told.starts_with("result: done"), "{told}");
    // Learned by the retry of a message, forgotten, tried again.
    let (inbound, _) = fixture.inbound("a", "one", "");
    fixture.engine.retry(inbound).await.unwrap().map(reply).unwrap().await;
    assert_eq!(forget_all(&fixture, "a", "one").await, Forgot::Entries(1));
    let (inbound, _) = fixture.inbound("a", "one", "");
    let told = fixture.engine.retry(inbound).await.unwrap().map(reply).unwrap().await;
    assert!(told.contains("was forgotten"), "{told}");
}

#[tokio::test]
async fn a_scope_of_the_models_own_making_is_refused_and_nobody_is_asked() {
    let fixture = open("agents:\n  a: {memory: true}\n").await;
    for scope in [json!("chat:api:token:victim"), json!("GLOBAL"), json!(["global"]), json!(7)] {
        let arguments =
            json!({"action": "add", "target": "memory", "content": "leak", "scope": scope});
        // Were an admin asked, this would wait for one.
        let told = fixture.say("a", "one", &call(arguments)).await;
        assert!(told.contains("scope") || told.contains("not valid"), "{told}");
        let waiting = fixture.engine.approvals().list(&context(&fixture, "a")).await.unwrap();
        assert!(waiting.is_empty());
    }
    assert!(fragments(&fixture, "a").await.is_empty());
}

/// What is told to a request that has no conversation of its own.
async fn once(fixture: &Fixture, agent: &str, text: &str) -> String {
    let name = context(fixture, agent).one_off_name(fixture.daemon.world());
    let (inbound, _) = fixture.inbound(agent, &name, text);
    reply(fixture.engine.submit_once(inbound).await.unwrap()).await
}

#[tokio::test]
async fn a_request_without_a_conversation_leaves_no_memory_of_its_own() {
    let fixture = open(
        r#"agents:
  chat: {memory: true}
  room: {memory: {scope: "'room:' + channel_id"}}
  user: {memory: {scope: user}}
  org: {memory: {scope: "'org'"}}
  all: {memory: {global_writes: allow}}
"#,
    )
    .await;
    for agent in ["chat", "room"] {
        let told = once(&fixture, agent, &add("leak")).await;
        assert!(told.contains("no conversation of its own"), "{told}");
        assert!(fragments(&fixture, agent).await.is_empty());
        assert!(!fixture.files().path().join("agents").join(agent).join("memories").exists());
    }
    // What the operator or the caller said is for more than this request stays.
    for (agent, scope) in [("user", "user:"), ("org", "custom:org")] {
        assert!(once(&fixture, agent, &add("kept")).await.contains("done"));
        assert!(fragments(&fixture, agent).await[0].0.starts_with(scope));
    }
    assert!(once(&fixture, "all", &add_everywhere("kept")).await.contains("done"));
    assert_eq!(fragments(&fixture, "all").await[0].0, "global");
}

#[tokio::test]
async fn an_error_of_a_file_says_nothing_of_the_machine() {
    let fixture = open("agents:\n  a: {memory: true}\n").await;
    fixture.say("a", "one", &add("known")).await;
    let (_, key) = fixture.inbound("a", "one", "");
    let account = key.account.to_string();
    let file = format!("agents/a/memories/contexts/chat=api={account}=one/MEMORY.md");
    let file = fixture.files().path().join(file);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let told = fixture.say("a", "one", &add("more")).await;
    assert!(told.contains("`MEMORY.md` of this list is not a file"), "{told}");
    let home = fixture.files().path().to_str().unwrap().to_owned();
    assert!(!told.contains(&home) && !told.contains("contexts"), "{told}");
}
