//! The public set: conversations of two people over months, and questions with the turns that
//! answer them. Each conversation is a scope, each of its meetings a session.

use super::recall::{self, Line, Score};
use super::{agent, print, print_times};
use insula_store::{AgentLease, LeaseHolder, MessageSeq, Role, SessionId};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// Whether a turn says who speaks.
#[derive(Clone, Copy)]
enum Speaker {
    Named,
    Unnamed,
}

/// One conversation: where each turn is by its name, what each says, and its questions.
struct Conversation {
    scope: String,
    places: HashMap<String, (SessionId, MessageSeq)>,
    texts: Vec<(String, String)>,
    questions: Vec<(String, HashSet<String>)>,
}

async fn read(a: &AgentLease, number: usize, value: &Value, speaker: Speaker) -> Conversation {
    let scope = format!("custom:conversation-{number}");
    let mut read = Conversation {
        scope: scope.clone(),
        places: HashMap::new(),
        texts: Vec::new(),
        questions: Vec::new(),
    };
    for meeting in 1.. {
        let name = format!("session_{meeting}");
        if value["conversation"].get(format!("{name}_date_time")).is_none() {
            break;
        }
        let Some(turns) = value["conversation"].get(&name).and_then(Value::as_array) else {
            continue;
        };
        let session = recall::session(a, &scope, &format!("{scope} {name}")).await;
        let mut said = Vec::new();
        for turn in turns {
            let (who, text) = (turn["speaker"].as_str().unwrap(), turn["text"].as_str().unwrap());
            let text = match speaker {
                Speaker::Named => format!("{who}: {text}"),
                Speaker::Unnamed => text.to_owned(),
            };
            let name = turn["dia_id"].as_str().unwrap().to_owned();
            read.places.insert(name.clone(), (session, MessageSeq(said.len() as u64 + 1)));
            read.texts.push((name, text.clone()));
            let line = Line { role: Role::User, text: Some(text), is_evidence: false };
            said.extend(recall::messages(&scope, &line, said.len()));
        }
        recall::say(a, session, &said).await;
    }
    for question in value["qa"].as_array().unwrap() {
        // The fifth kind asks for what was never said.
        if question["category"] == 5 {
            continue;
        }
        let evidence: HashSet<String> = question["evidence"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|names| names.as_str().unwrap().split([';', ' ', ',']))
            .map(str::to_owned)
            .filter(|name| read.places.contains_key(name))
            .collect();
        if !evidence.is_empty() {
            read.questions.push((question["question"].as_str().unwrap().to_owned(), evidence));
        }
    }
    read
}

async fn transcripts(owner: &LeaseHolder, id: &str, all: &[Value], speaker: Speaker) {
    let a = agent(owner, id);
    let (mut score, mut foreign, mut times) = (Score::default(), 0, Vec::new());
    let mut conversations = Vec::new();
    for (number, value) in all.iter().enumerate() {
        conversations.push(read(&a, number, value, speaker).await);
    }
    for conversation in &conversations {
        let own: HashSet<_> = conversation.places.values().collect();
        for (question, evidence) in &conversation.questions {
            let begun = Instant::now();
            let hits = a.search(&conversation.scope.parse().unwrap(), question, 10).await.unwrap();
            times.push(begun.elapsed());
            let places: Vec<_> = hits.iter().map(|hit| (hit.session, hit.seq)).collect();
            foreign += places.iter().filter(|place| !own.contains(place)).count();
            let found = |name: &String| places.contains(&conversation.places[name]);
            score.asked += 1;
            score.found += usize::from(evidence.iter().any(found));
        }
    }
    print(id, score);
    println!("  foreign hits: {foreign}");
    print_times(times);
}

/// The same questions to memory that has every turn as an entry.
async fn entries(owner: &LeaseHolder, all: &[Value]) {
    let (a, b) = (agent(owner, "entries"), agent(owner, "places"));
    let mut score = Score::default();
    for (number, value) in all.iter().enumerate() {
        let conversation = read(&b, number, value, Speaker::Named).await;
        let texts: Vec<String> = conversation.texts.iter().map(|(_, text)| text.clone()).collect();
        recall::remember_in(&a, &conversation.scope, &texts).await;
        for (question, evidence) in &conversation.questions {
            let scope = conversation.scope.parse().unwrap();
            let hits = a.memory_search(&scope, question, 10).await.unwrap();
            let answers: HashSet<&str> = conversation
                .texts
                .iter()
                .filter(|(name, _)| evidence.contains(name))
                .map(|(_, text)| text.as_str())
                .collect();
            score.asked += 1;
            score.found +=
                usize::from(hits.iter().any(|hit| answers.contains(hit.fragment.text.as_str())));
        }
    }
    print("turns as entries", score);
}

/// The same questions to memory that has what somebody noted of each meeting.
async fn notes(owner: &LeaseHolder, all: &[Value]) {
    let a = agent(owner, "notes");
    let b = agent(owner, "noted");
    let mut score = Score::default();
    for (number, value) in all.iter().enumerate() {
        let conversation = read(&b, number, value, Speaker::Named).await;
        let mut noted: Vec<(String, String)> = Vec::new();
        for meeting in 1..100 {
            let notes = &value["observation"][format!("session_{meeting}_observation")];
            for note in notes.as_object().into_iter().flat_map(|it| it.values()) {
                for note in note.as_array().unwrap() {
                    noted.push((note[0].as_str().unwrap().to_owned(), note[1].to_string()));
                }
            }
        }
        let texts: Vec<String> = noted.iter().map(|(text, _)| text.clone()).collect();
        recall::remember_in(&a, &conversation.scope, &texts).await;
        for (question, evidence) in &conversation.questions {
            let scope = conversation.scope.parse().unwrap();
            let hits = a.memory_search(&scope, question, 10).await.unwrap();
            let answers = |text: &str| {
                let names = |of: &&(String, String)| of.0 == text;
                noted
                    .iter()
                    .filter(names)
                    .any(|(_, of)| evidence.iter().any(|name| of.contains(&format!("\"{name}\""))))
            };
            score.asked += 1;
            score.found += usize::from(hits.iter().any(|hit| answers(&hit.fragment.text)));
        }
    }
    print("notes on each meeting", score);
}

/// Asks all questions of the file.
pub async fn run(owner: &LeaseHolder, file: &str) {
    let all: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    println!("a public set, in transcripts");
    transcripts(owner, "unnamed", &all, Speaker::Unnamed).await;
    transcripts(owner, "named", &all, Speaker::Named).await;
    println!("the same, in memory");
    entries(owner, &all).await;
    notes(owner, &all).await;
}
