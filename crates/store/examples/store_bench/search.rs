//! Search: what a query costs when other scopes are full, and when its own is.

use super::turns::{at, message, text};
use super::{agent, open, print};
use insula_store::{AgentCommand, AgentLease, Durability, OpenSession, Role, SessionRef};
use std::path::Path;
use std::time::Instant;

const FOREIGN: u64 = 50_000;
const SCOPES: u64 = 1_000;
const OWN: u64 = 2_000;
const QUERIES: u64 = 500;

async fn fill(a: &AgentLease, count: u64, scope: impl Fn(u64) -> String) {
    let open = OpenSession {
        key: scope(0).into(),
        scope: scope(0).parse().unwrap(),
        label: "private".into(),
        at: at(0),
    };
    let opened = a.commit(vec![AgentCommand::OpenSession(open)]).await.unwrap();
    let session = SessionRef::Id(opened.session().unwrap());
    for from in (0..count).step_by(64) {
        let say =
            |n| message(Role::User, &scope(n), format!("{} {}", text(n), text(n * 31 + 7)), n);
        let messages = (from..(from + 64).min(count)).map(say).collect();
        let append = AgentCommand::Append { session: session.clone(), messages };
        a.commit(vec![append]).await.unwrap();
    }
}

async fn queries(what: &str, a: &AgentLease, scope: &str) {
    let (mut times, mut hits) = (Vec::new(), 0);
    for n in 0..QUERIES {
        let query = format!("river word{} {}", n % 997, text(n).split(' ').next().unwrap());
        let start = Instant::now();
        hits += a.search(&scope.parse().unwrap(), &query, 10).await.unwrap().len();
        times.push(start.elapsed());
    }
    print(&format!("{what}, {} hits each", hits as u64 / QUERIES), times);
}

pub async fn run(home: &Path) {
    let store = open(home, Durability::Power, 256).await;
    let owner = store.claim("bench").await.unwrap();
    let a = owner.agent(&agent(0));
    fill(&a, OWN, |_| "custom:own".to_owned()).await;
    queries("search 2,000 messages, 3 terms", &a, "custom:own").await;
    let start = Instant::now();
    fill(&a, FOREIGN, |n| format!("custom:{}", n % SCOPES)).await;
    let each = start.elapsed() / u32::try_from(FOREIGN).unwrap();
    println!("{:<44} {each:.1?} a message", "append and index in 1,000 scopes");
    queries("  the same beside 50,000 foreign ones", &a, "custom:own").await;
    queries("search one of the 1,000 scopes", &a, "custom:77").await;
    store.shutdown().await;
}
