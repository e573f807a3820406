//! A daemon that is killed while turns run: every acknowledged message is there, no turn is
//! concluded twice, and every session keeps its order.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a test that starts and kills a process of its own"
)]

use crate::common::{agent, open};
use insula_store::{
    Accept, Accepted, AgentCommand, AgentLease, AgentStore, Arrival, Conclude, Flush,
    IdempotencyKey, Message, MessageSeq, NewMessage, NewStep, OpenSession, Part, Role, SessionRef,
    StoreError, TurnId, TurnOutcome, Usage,
};
use insula_world::{Timestamp, World};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const HOME: &str = "INSULA_STORE_TURNS_CRASH_HOME";
const KILLS: u32 = 30;
const SESSIONS: u64 = 6;
const NOW: Timestamp = Timestamp::from_millis(1_794_708_747_004);

fn key(session: u64) -> Box<str> {
    format!("session-{session}").into()
}

fn message(role: Role, text: String) -> NewMessage {
    NewMessage {
        role,
        parts: vec![Part::Text(text)],
        principal: "cli:local".into(),
        scope: "global".parse().unwrap(),
        label: "private".into(),
        generation: 1,
        at: NOW,
    }
}

fn accept(session: u64, n: u64) -> AgentCommand {
    AgentCommand::Accept(Box::new(Accept {
        session: OpenSession {
            key: key(session),
            scope: "global".parse().unwrap(),
            label: "private".into(),
            at: NOW,
        },
        message: message(Role::User, format!("u{n}")),
        idempotency: Some(IdempotencyKey {
            who: key(session),
            key: n.to_string().into(),
            request: [0; 32],
        }),
        origin: None,
        // Half of them each way: a crash of the process must lose neither.
        arrival: Arrival::default(),
        flush: if n.is_multiple_of(2) { Flush::Now } else { Flush::Later },
    }))
}

fn conclude(turn: TurnId, n: u64) -> AgentCommand {
    AgentCommand::Conclude(Box::new(Conclude {
        turn,
        messages: vec![message(Role::Assistant, format!("r{n}"))],
        usage: Usage { input: 1, ..Usage::default() },
        outcome: TurnOutcome::Replied { cut: None },
        at: NOW,
    }))
}

fn number(message: &Message) -> (char, u64) {
    let [Part::Text(text)] = &message.parts[..] else { panic!("{message:?}") };
    (text.chars().next().unwrap(), text[1..].parse().unwrap())
}

/// Everything said in a session.
async fn transcript(a: &AgentStore, session: u64) -> Vec<(char, u64)> {
    let Some(found) = a.session(SessionRef::Key(key(session))).await.unwrap() else {
        return Vec::new();
    };
    let (mut said, mut after) = (Vec::new(), MessageSeq::START);
    loop {
        let page = a.messages_after(found.id, after, 1_000).await.unwrap();
        let Some(last) = page.last() else { return said };
        assert_eq!(last.seq.0, after.0 + page.len() as u64);
        after = last.seq;
        said.extend(page.iter().map(number));
    }
}

async fn serve(a: AgentLease, session: u64) {
    let from = transcript(&a, session).await.last().map_or(0, |(_, n)| *n);
    if from > 0 {
        // A redelivery of the last one is known, whatever became of it.
        let again = a.commit(vec![accept(session, from)]).await.unwrap();
        let again = again.accepted().unwrap();
        assert!(matches!(again, Accepted::Known { .. }), "{again:?}");
        let twice = a.commit(vec![conclude(again.turn(), from)]).await;
        assert!(matches!(twice, Err(StoreError::TurnOver { .. })), "{twice:?}");
    }
    for n in from + 1.. {
        let taken = a.commit(vec![accept(session, n)]).await.unwrap().accepted().unwrap();
        println!("u {session} {n}");
        let turn = taken.turn();
        if n % 3 == 0 {
            let message = message(Role::Assistant, format!("s{n}"));
            let answered = NewStep::Answered { message, usage: Usage::default() };
            let begun = NewStep::CallBegun { call: "c".into(), name: "t".into(), at: NOW };
            let steps =
                [answered, begun].map(|step| AgentCommand::Step { turn, step: Box::new(step) });
            a.commit(steps.into()).await.unwrap();
            println!("s {session} {n}");
        }
        a.commit(vec![conclude(turn, n)]).await.unwrap();
        println!("r {session} {n}");
    }
}

/// Not a test of its own: what the killed process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test below in a process of its own"]
async fn turns_until_killed() {
    let home = std::env::var(HOME).unwrap();
    let store = open(Path::new(&home)).await;
    let owner = store.claim("child").await.unwrap();
    let a = owner.agent(&agent("a"));
    for unfinished in a.unfinished().await.unwrap() {
        let session = unfinished.turn.session;
        let asked = a.messages_after(session, MessageSeq(unfinished.turn.message.0 - 1), 1).await;
        let n = number(&asked.unwrap()[0]).1;
        let began = unfinished.steps.len() == 2;
        assert_eq!(unfinished.interrupted().len(), usize::from(began));
        a.commit(vec![conclude(unfinished.turn.id, n)]).await.unwrap();
    }
    let tasks: Vec<_> =
        (0..SESSIONS).map(|session| tokio::spawn(serve(a.clone(), session))).collect();
    for round in 0_u64.. {
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        if round % 5 == 0 {
            store.close_idle(std::time::Duration::ZERO).await;
        }
        assert!(tasks.iter().all(|task| !task.is_finished()));
    }
}

#[tokio::test]
async fn accepted_turns_survive_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let mut random = World::real().unwrap().random.stream(&["kills"]);
    let mut heard: BTreeMap<(char, u64), u64> = BTreeMap::new();
    let (mut unfinished_seen, mut messages_seen) = (0, 0);
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "turns_crash::turns_until_killed", "--ignored", "--nocapture"])
            .env(HOME, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut take = |line: &str| -> bool {
            let fields: Vec<&str> = line.split(' ').collect();
            let [kind @ ("u" | "s" | "r"), session, n] = fields[..] else { return false };
            let kind = kind.chars().next().unwrap();
            heard.insert((kind, session.parse().unwrap()), n.parse().unwrap());
            true
        };
        let kill_after = u32::from(random.bytes::<1>()[0]) * 2;
        let mut acknowledged = 0;
        while acknowledged < kill_after {
            let Some(Ok(line)) = lines.next() else { panic!("the child ended by itself") };
            acknowledged += u32::from(take(&line));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            take(&line);
        }

        let store = open(home.path()).await;
        let busy = store.daemon().busy().await.unwrap();
        let a = store.agent(&agent("a"));
        let unfinished = a.unfinished().await.unwrap();
        assert!(unfinished.is_empty() || busy == [agent("a")], "an unfinished turn is not marked");
        unfinished_seen += unfinished.len();
        for session in 0..SESSIONS {
            let said = transcript(&a, session).await;
            check_order(&said);
            messages_seen = messages_seen.max(said.len());
            for kind in ['u', 's', 'r'] {
                let last = said.iter().filter(|(it, _)| *it == kind).map(|(_, n)| *n).max();
                let heard = heard.get(&(kind, session)).copied();
                assert!(last >= heard, "{kind} of session {session}: {last:?}, heard {heard:?}");
            }
        }
        let report = a.audit_verify().await.unwrap();
        assert!(report.ok, "{report:?}");
        store.shutdown().await;
    }
    assert!(unfinished_seen > 0 && messages_seen > 20, "{unfinished_seen} {messages_seen}");
}

/// Each turn whole and in order; only the last may lack its end.
fn check_order(said: &[(char, u64)]) {
    let mut expected = (1_u64..).flat_map(|n| {
        let step = (n % 3 == 0).then_some(('s', n));
        [Some(('u', n)), step, Some(('r', n))].into_iter().flatten()
    });
    let mut said = said.iter().copied().peekable();
    while let Some(next) = said.next() {
        let mut due = expected.next().unwrap();
        // A turn that was continued after a crash went on without its step.
        if due.0 == 's' && next.0 == 'r' {
            due = expected.next().unwrap();
        }
        assert_eq!(next, due, "before {:?}", said.peek());
    }
}
