//! What search finds in long conversations, and that nobody else's words take part in it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test over real files that fails by panicking"
)]

#[path = "../recall/mod.rs"]
mod set;

use crate::common::{agent, agent_db, open};
use insula_store::{AgentLease, Hit, Role};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use set::{Line, Score};

/// What search should find of the questions of each style. What is found today is a little more;
/// what is asked in other words altogether is found by luck.
const EXPECTED: [(char, f64); 4] = [('k', 0.7), ('q', 0.85), ('i', 0.85), ('p', 0.2)];

#[tokio::test]
async fn questions_are_answered_from_their_own_scope() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let questions = set::fill(&a).await;
    assert!(questions.len() >= 200);
    let (scores, foreign) = set::ask(&a, &questions).await;
    assert_eq!(foreign, 0);
    let sum = |wanted: &dyn Fn(&str, char) -> bool| {
        let of = scores.iter().filter(|((scope, style), _)| wanted(scope, *style));
        of.fold(Score::default(), |sum, (_, score)| Score {
            asked: sum.asked + score.asked,
            found: sum.found + score.found,
        })
    };
    for (style, least) in EXPECTED {
        let recall = sum(&|_, of| of == style).recall();
        assert!(recall >= least, "questions of style {style}: {recall}");
    }
    for scope in ["english", "german", "chinese", "japanese", "others"] {
        let recall = sum(&|of, _| of.ends_with(scope)).recall();
        assert!(recall >= 0.6, "{scope}: {recall}");
    }
    set::remember(&a).await;
    let (score, foreign) = set::ask_memory(&a, 10).await;
    assert_eq!(foreign, 0);
    assert!(score.recall() >= 0.82, "memory: {}", score.recall());
    store.shutdown().await;
}

/// All that is found, by every question.
async fn answers(a: &AgentLease, questions: &[set::Question]) -> Vec<Vec<Hit>> {
    let mut all = Vec::new();
    for question in questions {
        all.push(a.search(&question.scope.parse().unwrap(), &question.text, 10).await.unwrap());
    }
    all
}

#[tokio::test]
async fn a_home_with_an_older_index_finds_the_same() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    let questions = set::fill(&a).await;
    set::remember(&a).await;
    let (expected, remembered) = (answers(&a, &questions).await, set::ask_memory(&a, 3).await);
    store.shutdown().await;
    {
        let sql = rusqlite::Connection::open(agent_db(home.path(), "a")).unwrap();
        sql.execute_batch(
            "DELETE FROM posting WHERE term < 'm'; DELETE FROM fragment_posting WHERE term < 'm';
             UPDATE fragment_posting SET term = term || 's'; DROP TABLE search_index;
             ALTER TABLE turn DROP COLUMN said_at; ALTER TABLE turn DROP COLUMN ways;
             DROP INDEX audit_by_scope; DROP INDEX audit_by_session; DROP INDEX audit_by_actor;
             DROP INDEX audit_by_kind; DROP INDEX audit_by_time;
             DROP TRIGGER audit_changes_only_by_erasure;
             CREATE TRIGGER audit_changes_only_by_erasure BEFORE UPDATE ON audit
             BEGIN SELECT raise(ABORT, 'no'); END;
             ALTER TABLE audit DROP COLUMN form; ALTER TABLE audit DROP COLUMN scope;
             ALTER TABLE audit DROP COLUMN session; ALTER TABLE audit DROP COLUMN scope_seq;
             ALTER TABLE audit DROP COLUMN told; ALTER TABLE audit DROP COLUMN scope_link;
             DROP TRIGGER fragment_takes_its_vector; DROP TRIGGER message_takes_its_vector;
             DROP TABLE vector; DROP TABLE looked_through; DROP TABLE turn_note; DROP TABLE job; DROP TABLE job_run;
             DROP TABLE shown_part; DROP TABLE shown_frame; DROP TABLE shown_frame_part; DROP TABLE shown_call;
             ALTER TABLE origin DROP COLUMN tried_at; ALTER TABLE delivery DROP COLUMN tried_at;
             ALTER TABLE session DROP COLUMN model; ALTER TABLE session DROP COLUMN notes_wished;
             DROP TABLE audit_start; DROP TABLE audit_scope_start;
             DROP TRIGGER audit_keeps_records;
             CREATE TRIGGER audit_keeps_records BEFORE DELETE ON audit
             BEGIN SELECT raise(ABORT, 'no'); END;
             PRAGMA user_version = 13;",
        )
        .unwrap();
    }
    let store = open(home.path()).await;
    let owner = store.claim("test").await.unwrap();
    let a = owner.agent(&agent("a"));
    assert_eq!(answers(&a, &questions).await, expected);
    let again = set::ask_memory(&a, 3).await;
    assert_eq!((again.0.found, again.1), (remembered.0.found, remembered.1));
    let report = a.memory_verify().await.unwrap();
    assert!(report.ok, "{report:?}");
    store.shutdown().await;
}

/// A few words of a small vocabulary, so that messages share them.
fn words() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(vec!["river", "bridge", "walked", "東京", "the", "x1"]);
    proptest::collection::vec(word, 1..6).prop_map(|words| words.join(" "))
}

#[test]
fn strangers_in_the_same_conversation_change_neither_hits_nor_scores() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = tempfile::tempdir().unwrap();
    let store = runtime.block_on(open(home.path()));
    let owner = runtime.block_on(store.claim("test")).unwrap();
    let strangers = proptest::collection::vec(words(), 0..4);
    let strategy = proptest::collection::vec((words(), strangers), 1..120);
    let mut runner =
        TestRunner::new(Config { cases: 16, failure_persistence: None, ..Config::default() });
    let case = std::cell::Cell::new(0);
    let line =
        |text: &String| Line { role: Role::User, text: Some(text.clone()), is_evidence: false };
    let check = |said: Vec<(String, Vec<String>)>| {
        case.set(case.get() + 1);
        runtime.block_on(async {
            let alone = owner.agent(&agent(&format!("alone-{}", case.get())));
            let mixed = owner.agent(&agent(&format!("mixed-{}", case.get())));
            let (mut quiet, mut loud, mut places) = (Vec::new(), Vec::new(), Vec::new());
            for (own, strangers) in &said {
                quiet.extend(set::messages("custom:mine", &line(own), 0));
                for stranger in strangers {
                    loud.extend(set::messages("custom:other", &line(stranger), 0));
                }
                loud.extend(set::messages("custom:mine", &line(own), 0));
                places.push(loud.len() as u64);
            }
            for (a, said) in [(&alone, &quiet), (&mixed, &loud)] {
                let session = set::session(a, "custom:mine", "k").await;
                set::say(a, session, said).await;
            }
            let scope = "custom:mine".parse().unwrap();
            for query in ["river", "who walked over the bridge", "東京 x1 river", "the"] {
                let expected = alone.search(&scope, query, 20).await.unwrap();
                let expected = expected.into_iter().map(|hit| {
                    let place = places[usize::try_from(hit.seq.0).unwrap() - 1];
                    (place, hit.score.to_bits(), hit.snippet)
                });
                let expected: Vec<_> = expected.collect();
                let found = mixed.search(&scope, query, 20).await.unwrap();
                let found =
                    found.into_iter().map(|hit| (hit.seq.0, hit.score.to_bits(), hit.snippet));
                assert_eq!(found.collect::<Vec<_>>(), expected, "{query}");
            }
            store.close_idle(std::time::Duration::ZERO).await;
        });
        Ok(())
    };
    runner.run(&strategy, check).unwrap();
}
