//! What a backend owes about sessions and their messages.

use super::sample::*;
use super::{Opener, agent};
use crate::{
    AgentCommand, CommandOutcome, MessageSeq, NotesWish, OpenSession, Part, Role, Session,
    SessionId, SessionRef, SessionState, StoreError, Summary, TurnStatus, Window,
};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    a_key_means_its_newest_session(opener).await;
    a_session_of_another_scope_begins_anew(opener).await;
    a_wish_for_notes_waits_until_there_are_some(opener).await;
    an_ended_session_goes_on(opener).await;
    messages_come_back_as_they_were(opener).await;
    windows_end_where_they_should(opener).await;
    a_forgotten_session_leaves_a_row_without_words(opener).await;
}

fn key(key: &str) -> SessionRef {
    SessionRef::Key(key.into())
}

async fn a_key_means_its_newest_session(opener: &dyn Opener) {
    let store = opener.open("sessions").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(a.session(key("k")).await.unwrap(), None);
    let open = || AgentCommand::OpenSession(opening("k"));
    let title = |title: &str| AgentCommand::TitleSession {
        session: key("k"),
        title: Some(title.to_owned()),
    };
    let done = a.commit(vec![open(), open(), title("one")]).await.unwrap();
    let first = done.session().unwrap();
    assert_eq!(done.outcomes[1], CommandOutcome::Session(first));
    take(&a, "k", "hello").await;
    let end = || AgentCommand::EndSession { session: key("k"), at: at(7) };
    a.commit(vec![end(), end()]).await.unwrap();
    assert_eq!(a.session(key("k")).await.unwrap(), None);
    let missing = a.commit(vec![title("?")]).await;
    assert!(matches!(missing, Err(StoreError::NoSession { .. })), "{missing:?}");

    let second = take(&a, "k", "again").await.session();
    assert!(second > first);
    let touch = AgentCommand::TouchSession { session: key("k"), at: at(50) };
    let append = AgentCommand::Append { session: key("k"), messages: vec![said("x"), said("y")] };
    let done = a.commit(vec![touch, append]).await.unwrap();
    let appended = CommandOutcome::Appended { session: second, first: MessageSeq(2), count: 2 };
    assert_eq!(done.outcomes[1], appended);
    let summary = Some(Summary { upto: MessageSeq(1), message: MessageSeq(3) });
    let summarise = |summary| AgentCommand::SummariseSession { session: key("k"), summary };
    a.commit(vec![summarise(summary)]).await.unwrap();
    let beyond = Some(Summary { upto: MessageSeq(9), message: MessageSeq(3) });
    assert!(a.commit(vec![summarise(beyond)]).await.is_err());
    let current = a.session(key("k")).await.unwrap().unwrap();
    assert_eq!(
        current,
        Session {
            id: second,
            key: "k".into(),
            scope: "custom:1".parse().unwrap(),
            label: "private".into(),
            title: None,
            created_at: at(0),
            active_at: at(50),
            state: SessionState::Current,
            summary,
            last: MessageSeq(3),
            model: None,
            notes: NotesWish::Settled,
        }
    );
    let old = a.session(SessionRef::Id(first)).await.unwrap().unwrap();
    assert_eq!((old.title.as_deref(), old.state), (Some("one"), SessionState::Ended));
    assert_eq!(old.last, MessageSeq(1));
    let ids = |page: Vec<Session>| page.into_iter().map(|session| session.id).collect::<Vec<_>>();
    assert_eq!(ids(a.sessions(None, 9).await.unwrap()), [second, first]);
    assert_eq!(ids(a.sessions(Some(second), 9).await.unwrap()), [first]);
    assert_eq!(ids(a.sessions(None, 1).await.unwrap()), [second]);
    store.shutdown().await;
}

async fn a_wish_for_notes_waits_until_there_are_some(opener: &dyn Opener) {
    let store = opener.open("notes").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    take(&a, "k", "one").await;
    let wish = |wish| AgentCommand::WishNotes { session: key("k"), wish };
    let made = async || a.session(key("k")).await.unwrap().unwrap().notes;
    assert_eq!(made().await, NotesWish::Settled);
    a.commit(vec![wish(NotesWish::Made)]).await.unwrap();
    take(&a, "k", "two").await;
    assert_eq!(made().await, NotesWish::Made);
    let summary = Some(Summary { upto: MessageSeq(1), message: MessageSeq(2) });
    a.commit(vec![AgentCommand::SummariseSession { session: key("k"), summary }]).await.unwrap();
    assert_eq!(made().await, NotesWish::Settled);
    a.commit(vec![wish(NotesWish::Made), wish(NotesWish::Settled)]).await.unwrap();
    assert_eq!(made().await, NotesWish::Settled);
    store.shutdown().await;
}

async fn an_ended_session_goes_on(opener: &dyn Opener) {
    let store = opener.open("resumed").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let first = take(&a, "k", "one").await.session();
    a.commit(vec![AgentCommand::EndSession { session: key("k"), at: at(5) }]).await.unwrap();
    let second = take(&a, "k", "two").await.session();
    let choose = |model: Option<&str>| AgentCommand::ChooseModel {
        session: key("k"),
        model: model.map(Into::into),
    };
    a.commit(vec![choose(Some("p/m"))]).await.unwrap();
    let resume = |session| AgentCommand::ResumeSession { session, at: at(50) };
    // Twice: the one that goes on already goes on.
    a.commit(vec![resume(first), resume(first)]).await.unwrap();
    let current = a.session(key("k")).await.unwrap().unwrap();
    assert_eq!((current.id, current.state), (first, SessionState::Current));
    assert_eq!((current.active_at, current.model), (at(50), None));
    let other = a.session(SessionRef::Id(second)).await.unwrap().unwrap();
    assert_eq!((other.state, other.model.as_deref()), (SessionState::Ended, Some("p/m")));
    assert_eq!(take(&a, "k", "three").await.session(), first);
    a.commit(vec![choose(Some("p/m")), choose(None)]).await.unwrap();
    assert_eq!(a.session(key("k")).await.unwrap().unwrap().model, None);
    a.commit(vec![AgentCommand::ForgetSession { session: second, at: at(60) }]).await.unwrap();
    for missing in [second, SessionId(99)] {
        let refused = a.commit(vec![resume(missing)]).await;
        assert!(matches!(refused, Err(StoreError::NoSession { .. })), "{refused:?}");
    }
    assert_eq!(a.session(key("k")).await.unwrap().unwrap().id, first);
    store.shutdown().await;
}

async fn a_session_of_another_scope_begins_anew(opener: &dyn Opener) {
    let store = opener.open("rescoped").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let first = take(&a, "k", "hello").await.session();
    let open = OpenSession { scope: "custom:2".parse().unwrap(), ..opening("k") };
    let done = a.commit(vec![AgentCommand::OpenSession(open)]).await.unwrap();
    let second = done.session().unwrap();
    assert_ne!(first, second);
    let old = a.session(SessionRef::Id(first)).await.unwrap().unwrap();
    assert_eq!(old.state, SessionState::Ended);
    assert_eq!(a.message_count(second).await.unwrap(), 0);
    store.shutdown().await;
}

async fn messages_come_back_as_they_were(opener: &dyn Opener) {
    let store = opener.open("messages").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let mut message = message_in("custom:%C3%A4", Role::Tool, "");
    message.parts = vec![
        Part::Text("ünï \0 code".to_owned()),
        Part::Attachment {
            hash: [200; 32],
            name: "a b.pdf".into(),
            media_type: "application/pdf".into(),
            bytes: u64::MAX,
        },
        Part::Image { source: "blake3:00".into(), media_type: "image/png".into() },
        Part::ToolCall { id: "c".into(), name: "todo".into(), arguments: "{\"a\":1}".to_owned() },
        Part::ToolResult {
            call: "c".into(),
            text: String::new(),
            is_error: true,
            untrusted: false,
        },
        Part::ToolResult {
            call: "c".into(),
            text: "fine".to_owned(),
            is_error: false,
            untrusted: true,
        },
        Part::Reasoning { text: "hm".to_owned(), signature: None },
        Part::Reasoning { text: String::new(), signature: Some("sealed".to_owned()) },
    ];
    message.generation = u64::MAX;
    let session = take(&a, "k", "hello").await.session();
    let append = |messages| AgentCommand::Append { session: SessionRef::Id(session), messages };
    a.commit(vec![append(vec![message.clone()])]).await.unwrap();
    let back = a.messages_tail(session, ALL).await.unwrap().pop().unwrap();
    assert_eq!((back.session, back.seq, back.turn), (session, MessageSeq(2), None));
    assert_eq!((back.role, &back.parts), (message.role, &message.parts));
    assert_eq!((back.principal, back.scope), (message.principal, message.scope));
    assert_eq!((back.label, back.generation, back.at), (message.label, u64::MAX, message.at));
    store.shutdown().await;
}

async fn windows_end_where_they_should(opener: &dyn Opener) {
    let store = opener.open("windows").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let mut sessions = Vec::new();
    for session in ["k", "l", "m"] {
        let append = |from: u64| AgentCommand::Append {
            session: key(session),
            messages: (from..from + 20).map(|n| said(&format!("{session}{n:03}"))).collect(),
        };
        let open = AgentCommand::OpenSession(opening(session));
        let done = a.commit(vec![open, append(1), append(21)]).await.unwrap();
        sessions.push(done.session().unwrap());
    }
    let l = sessions[1];
    let seqs = |messages: Vec<crate::Message>| {
        assert!(messages.iter().all(|message| text(message) == format!("l{:03}", message.seq.0)));
        messages.iter().map(|message| message.seq.0).collect::<Vec<_>>()
    };
    let span = |from: u64, to: u64| (from..=to).collect::<Vec<_>>();
    let tail =
        async |messages, bytes| seqs(a.messages_tail(l, Window { messages, bytes }).await.unwrap());
    assert_eq!(tail(3, usize::MAX).await, span(38, 40));
    assert_eq!(tail(0, usize::MAX).await, [0_u64; 0]);
    assert_eq!(tail(100, usize::MAX).await, span(1, 40));
    assert_eq!(tail(9, 0).await, span(40, 40));
    let few = tail(99, 50).await;
    assert!(few.len() > 1 && few.len() < 20 && few.last() == Some(&40), "{few:?}");
    let after = async |seq, n| seqs(a.messages_after(l, MessageSeq(seq), n).await.unwrap());
    assert_eq!(after(0, 5).await, span(1, 5));
    assert_eq!(after(38, 5).await, span(39, 40));
    assert_eq!(after(40, 5).await, [0_u64; 0]);
    assert_eq!(after(u64::MAX, 5).await, [0_u64; 0]);
    let before = async |seq, n| seqs(a.messages_before(l, MessageSeq(seq), n).await.unwrap());
    assert_eq!(before(1, 5).await, [0_u64; 0]);
    assert_eq!(before(0, 5).await, [0_u64; 0]);
    assert_eq!(before(10, 5).await, span(5, 9));
    assert_eq!(before(u64::MAX, 2).await, span(39, 40));
    assert_eq!(a.message_count(l).await.unwrap(), 40);
    assert_eq!(a.message_count(SessionId(99)).await.unwrap(), 0);
    store.shutdown().await;
}

async fn a_forgotten_session_leaves_a_row_without_words(opener: &dyn Opener) {
    let store = opener.open("forgotten").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    for _ in 0..70 {
        turn(&a, "kept", "the river").await;
    }
    let before = a.search(&"custom:1".parse().unwrap(), "river", 9).await.unwrap();
    let first = turn(&a, "k", "a secret river").await;
    for _ in 0..70 {
        turn(&a, "k", "more secret").await;
    }
    let open = take(&a, "k", "secret").await;
    let title = AgentCommand::TitleSession { session: key("k"), title: Some("secret".to_owned()) };
    a.commit(vec![title]).await.unwrap();
    assert_eq!(a.search(&"custom:1".parse().unwrap(), "secret", 100).await.unwrap().len(), 72);
    let session = first.session();
    let forget = AgentCommand::ForgetSession { session, at: at(9) };
    a.commit(vec![forget.clone(), forget]).await.unwrap();

    assert_eq!(a.message_count(session).await.unwrap(), 0);
    assert_eq!(a.messages_tail(session, ALL).await.unwrap(), []);
    assert_eq!(a.search(&"custom:1".parse().unwrap(), "secret", 9).await.unwrap(), []);
    assert_eq!(a.search(&"custom:1".parse().unwrap(), "river", 9).await.unwrap(), before);
    let left = a.session(SessionRef::Id(session)).await.unwrap().unwrap();
    assert_eq!((left.state, left.title), (SessionState::Forgotten, None));
    let stopped = a.turn(open.turn()).await.unwrap().unwrap();
    assert_eq!(stopped.status, TurnStatus::Stopped);
    assert_eq!(a.unfinished().await.unwrap(), []);
    let late = a.commit(vec![conclude(open.turn(), "late")]).await;
    assert!(matches!(late, Err(StoreError::TurnOver { .. })), "{late:?}");
    let append =
        AgentCommand::Append { session: SessionRef::Id(session), messages: vec![said("late")] };
    let late = a.commit(vec![append]).await;
    assert!(matches!(late, Err(StoreError::NoSession { .. })), "{late:?}");
    let next = take(&a, "k", "new").await;
    assert_ne!(next.session(), session);
    store.shutdown().await;
}
