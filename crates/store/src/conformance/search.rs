//! What a backend owes about search: in transcripts, and in what is remembered.

use super::sample::*;
use super::{Opener, agent};
use crate::{
    AgentCommand, AgentLease, Hit, NewMessage, OpenSession, Part, Role, SessionId, SessionRef,
};

/// Runs every check.
pub(super) async fn run(opener: &dyn Opener) {
    search_stays_in_its_scope(opener).await;
    what_stands_beside_a_message_counts_for_it(opener).await;
    what_is_silent_is_found_beside_several_words_only(opener).await;
    a_neighbour_is_of_the_same_conversation_and_scope(opener).await;
    a_question_finds_what_its_words_find(opener).await;
    words_are_found_in_scripts_without_spaces(opener).await;
}

const SCOPE: &str = "custom:1";

async fn session(a: &AgentLease, key: &str) -> SessionId {
    let open = AgentCommand::OpenSession(OpenSession { key: key.into(), ..opening("k") });
    a.commit(vec![open]).await.unwrap().session().unwrap()
}

async fn say(a: &AgentLease, session: SessionId, messages: Vec<NewMessage>) {
    for messages in messages.chunks(64) {
        let (session, messages) = (SessionRef::Id(session), messages.to_vec());
        a.commit(vec![AgentCommand::Append { session, messages }]).await.unwrap();
    }
}

async fn find(a: &AgentLease, query: &str) -> Vec<Hit> {
    a.search(&SCOPE.parse().unwrap(), query, 9).await.unwrap()
}

async fn seqs(a: &AgentLease, query: &str) -> Vec<u64> {
    find(a, query).await.into_iter().map(|hit| hit.seq.0).collect()
}

/// Enough small talk that whatever is asked for is rare.
fn small_talk(count: usize) -> Vec<NewMessage> {
    (0..count).map(|n| said(&format!("weather talk number {n}"))).collect()
}

async fn search_stays_in_its_scope(opener: &dyn Opener) {
    let store = opener.open("search").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let open = AgentCommand::OpenSession(opening("k"));
    let session = a.commit(vec![open]).await.unwrap().session().unwrap();
    let say = async |scope: &str, texts: &[&str]| {
        let say = |text: &&str| message_in(scope, Role::User, text);
        let messages = texts.iter().map(say).collect();
        let append = AgentCommand::Append { session: SessionRef::Id(session), messages };
        a.commit(vec![append]).await.unwrap();
    };
    say("custom:1", &["The RIVER is wide", "a café by the river, the river", "東京都に行く"]).await;
    say("custom:2", &["river secrets"]).await;
    let hits = a.search(&"custom:1".parse().unwrap(), "river", 9).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.seq.0).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(hits[0].session, session);
    let marked: Vec<_> = hits[0].marks.iter().map(|mark| &hits[0].snippet[mark.clone()]).collect();
    assert_eq!(marked, ["river", "river"]);
    let seqs = async |query: &str| {
        let hits = a.search(&"custom:1".parse().unwrap(), query, 9).await.unwrap();
        hits.into_iter().map(|hit| hit.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(seqs("Cafe").await, [2]);
    assert_eq!(seqs("京都").await, [3]);
    assert_eq!(seqs("secrets").await, [0_u64; 0]);
    assert_eq!(seqs("").await, [0_u64; 0]);
    assert_eq!(a.search(&"custom:1".parse().unwrap(), "river", 1).await.unwrap().len(), 1);
    assert_eq!(a.search(&"custom:3".parse().unwrap(), "river", 9).await.unwrap(), []);

    // More in other scopes, enough for any index to change shape, changes nothing here.
    for round in 0..20 {
        let text = format!("river café {round} wide wide");
        say("custom:2", &[text.as_str(); 20]).await;
    }
    assert_eq!(a.search(&"custom:1".parse().unwrap(), "river", 9).await.unwrap(), hits);
    // Nor does more in this scope that has other words, but for the scores.
    say("custom:1", &["nothing"; 60]).await;
    say("custom:1", &["to see"; 60]).await;
    say("custom:1", &["here"; 60]).await;
    assert_eq!(seqs("river").await, [2, 1]);
    store.shutdown().await;
}

async fn what_stands_beside_a_message_counts_for_it(opener: &dyn Opener) {
    let store = opener.open("search beside").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let s = session(&a, "k").await;
    let lines = ["what is the dog called", "Biscuit", "a dog barked", "far away", "in the night"];
    say(&a, s, lines.map(said).to_vec()).await;
    say(&a, s, small_talk(200)).await;
    say(&a, s, vec![said("a dog barked")]).await;
    say(&a, s, small_talk(9)).await;
    let hits = find(&a, "what was our dog called").await;
    // The answer has no word of the question, and is found beside it.
    let answer = hits.iter().position(|hit| hit.seq.0 == 2).unwrap();
    assert!(answer <= 1, "{hits:?}");
    assert_eq!((hits[answer].snippet.as_str(), hits[answer].marks.len()), ("Biscuit", 0));
    // Of two that say the same, the one beside more of it is better.
    let place = |seq: u64| hits.iter().position(|hit| hit.seq.0 == seq).unwrap();
    assert!(place(3) < place(206), "{hits:?}");
    // Three away nothing counts any more.
    assert!(hits.iter().all(|hit| hit.seq.0 != 5), "{hits:?}");
    store.shutdown().await;
}

async fn what_is_silent_is_found_beside_several_words_only(opener: &dyn Opener) {
    let store = opener.open("search silent").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let s = session(&a, "k").await;
    say(&a, s, vec![said("the violin lesson"), replied("yes"), said("and then")]).await;
    say(&a, s, small_talk(50)).await;
    assert_eq!(seqs(&a, "violin").await, [1]);
    assert_eq!(seqs(&a, "the violins").await, [1]);
    assert_eq!(seqs(&a, "violin lesson").await, [1, 2, 3]);
    // Of a question one word may be left, and of two words one may be one that nobody said.
    assert_eq!(seqs(&a, "when do I go to the violin?").await, [1, 2, 3]);
    assert_eq!(seqs(&a, "violin concerto").await, [1, 2, 3]);
    store.shutdown().await;
}

async fn a_neighbour_is_of_the_same_conversation_and_scope(opener: &dyn Opener) {
    let store = opener.open("search neighbours").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let (s, t) = (session(&a, "k").await, session(&a, "l").await);
    let call = Part::ToolCall { id: "1".into(), name: "x".into(), arguments: "{}".to_owned() };
    let call = || NewMessage { parts: vec![call.clone()], ..replied("") };
    let stranger = |text: &str| message_in("custom:2", Role::User, text);
    // Calls of tools and strangers between two messages do not part them.
    let mut said_here = vec![said("when is the violin lesson")];
    said_here.extend((0..5).map(|_| call()));
    said_here.extend((0..5).map(|_| stranger("the violin lesson is never")));
    said_here.push(replied("on Thursday"));
    let answer = said_here.len() as u64;
    say(&a, s, said_here).await;
    say(&a, s, small_talk(150)).await;
    // The end of one conversation is not the beginning of another.
    say(&a, t, vec![said("hello there")]).await;
    for _ in 0..2 {
        let hits = find(&a, "when is my violin lesson").await;
        let found: Vec<_> = hits.iter().map(|hit| (hit.session, hit.seq.0)).collect();
        assert_eq!(found, [(s, 1), (s, answer), (s, answer + 1)]);
        // Indexed or not, the same.
        say(&a, t, (0..200).map(|_| stranger("violin lesson")).collect()).await;
        assert_eq!(find(&a, "when is my violin lesson").await, hits);
    }
    store.shutdown().await;
}

async fn a_question_finds_what_its_words_find(opener: &dyn Opener) {
    let store = opener.open("search question").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let s = session(&a, "k").await;
    say(&a, s, small_talk(30)).await;
    say(&a, s, vec![said("my appointments with the dentist are on Tuesdays")]).await;
    say(&a, s, small_talk(30)).await;
    say(&a, s, vec![said("what is it that you do when you are there")]).await;
    say(&a, s, vec![said("der Heizungskeller steht unter Wasser"), said("die Häuser")]).await;
    say(&a, s, small_talk(30)).await;
    assert_eq!(seqs(&a, "dentist appointment").await[0], 31);
    let words = find(&a, "dentist appointment").await;
    let question = find(&a, "When do I have my appointment with the dentist?").await;
    let of = |hits: &[Hit]| hits.iter().map(|hit| hit.seq).collect::<Vec<_>>();
    assert_eq!(of(&question), of(&words));
    let marked: Vec<_> =
        question[0].marks.iter().map(|mark| &question[0].snippet[mark.clone()]).collect();
    assert_eq!(marked, ["appointments", "dentist"]);
    // Words that say nothing are looked for where there are no others.
    assert_eq!(seqs(&a, "what is it").await[0], 62);
    assert_eq!(seqs(&a, "die Heizung").await, [63]);
    assert_eq!(seqs(&a, "das Haus").await, [64]);
    store.shutdown().await;
}

async fn words_are_found_in_scripts_without_spaces(opener: &dyn Opener) {
    let store = opener.open("search scripts").await;
    let owner = store.claim("suite").await.unwrap();
    let a = owner.agent(&agent("a"));
    let s = session(&a, "k").await;
    for (n, text) in [
        "我家的猫叫芝麻",
        "給湯器のポンプの交換に六万四千円かかる",
        "นัดหมอฟันวันอังคารแปดโมงครึ่ง",
        "보일러의 펌프를 바꿔야 해요",
        "दाँत के डॉक्टर से समय मिल गया",
    ]
    .into_iter()
    .enumerate()
    {
        say(&a, s, vec![said(text)]).await;
        say(&a, s, small_talk(9)).await;
        assert_eq!(a.message_count(s).await.unwrap(), 10 * (n as u64 + 1));
    }
    for (query, expected) in [
        ("猫", 1),
        ("猫的名字是什么?", 1),
        ("ポンプの交換はいくらですか?", 11),
        ("หมอฟัน", 21),
        ("นัดหมอฟันเมื่อไร", 21),
        ("펌프", 31),
        ("보일러 펌프는 언제 바꿔요?", 31),
        ("डॉक्टर", 41),
    ] {
        assert_eq!(seqs(&a, query).await.first(), Some(&expected), "{query}");
    }
    store.shutdown().await;
}
