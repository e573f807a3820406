//! Conversations to find something in, and questions about them, for measuring what search
//! finds. Hand-written episodes in several languages, between made-up small talk that has the
//! same words, beside strangers who say the same things in other scopes. The same every time.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "what tests and measuring programs read"
)]

mod small_talk;

use insula_domain::ScopeName;
use insula_store::{
    AgentCommand, AgentLease, FragmentHit, Hit, MemoryEntry, MemoryList, MemoryOrigin,
    MemorySource, MessageSeq, NewFragment, NewMessage, OpenSession, Part, Remember, Role,
    SessionId, SessionRef,
};
use insula_world::Timestamp;
use small_talk::{Dice, SmallTalk};
use std::collections::{BTreeMap, HashSet};

/// How many lines of small talk are between two episodes.
const BETWEEN: usize = 14;
/// How many episodes a session has.
const PER_SESSION: usize = 3;
/// Messages of one commit.
const TOGETHER: usize = 64;

/// The episodes, file by file: the scope they are said in, and the language of the small talk.
const FILES: [(&str, SmallTalk, &str); 5] = [
    ("custom:english", SmallTalk::English, include_str!("english.txt")),
    ("custom:german", SmallTalk::German, include_str!("german.txt")),
    ("custom:chinese", SmallTalk::Chinese, include_str!("chinese.txt")),
    ("custom:japanese", SmallTalk::Japanese, include_str!("japanese.txt")),
    ("custom:others", SmallTalk::English, include_str!("others.txt")),
];

/// One thing that was said, or a call of a tool that has no words.
#[derive(Debug, Clone)]
pub struct Line {
    pub role: Role,
    /// `None` for a call of a tool and its result.
    pub text: Option<String>,
    /// Whether a question of its episode is answered here.
    pub is_evidence: bool,
}

/// A piece of conversation, and what is asked about it.
#[derive(Debug, Clone)]
pub struct Episode {
    pub lines: Vec<Line>,
    /// What an agent would remember of it.
    pub note: String,
    /// The style (`k` words, `q` a whole question, `p` other words, `i` other forms), and the text.
    pub questions: Vec<(char, String)>,
}

/// A question, where it is asked and where it is answered.
#[derive(Debug, Clone)]
pub struct Question {
    pub scope: &'static str,
    pub style: char,
    pub text: String,
    pub evidence: HashSet<Place>,
}

/// Where a message is.
pub type Place = (SessionId, MessageSeq);

/// What came of all questions of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Score {
    pub asked: usize,
    pub found: usize,
}

impl Score {
    /// The share of questions whose answer was found.
    #[expect(clippy::cast_precision_loss, reason = "a few hundred questions")]
    pub fn recall(self) -> f64 {
        self.found as f64 / self.asked.max(1) as f64
    }
}

fn episodes(text: &str) -> Vec<Episode> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let blocks: Vec<Vec<&str>> = lines.fold(vec![Vec::new()], |mut blocks, line| {
        match line.trim() {
            "" => blocks.push(Vec::new()),
            line => blocks.last_mut().unwrap().push(line),
        }
        blocks
    });
    blocks.iter().filter(|block| !block.is_empty()).map(|block| episode(block)).collect()
}

fn episode(block: &[&str]) -> Episode {
    let mut episode = Episode { lines: Vec::new(), note: String::new(), questions: Vec::new() };
    for line in block {
        let (mark, text) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(style) = mark.strip_prefix('?') {
            episode.questions.push((style.chars().next().unwrap(), text.to_owned()));
            continue;
        }
        if mark == "m" {
            text.clone_into(&mut episode.note);
            continue;
        }
        let is_evidence = mark.starts_with('*');
        let (role, text) = match mark.trim_start_matches('*') {
            "u" => (Role::User, Some(text.to_owned())),
            "a" => (Role::Assistant, Some(text.to_owned())),
            "t" => (Role::Tool, None),
            other => unreachable!("a line that begins with {other}"),
        };
        episode.lines.push(Line { role, text, is_evidence });
    }
    assert!(!episode.questions.is_empty() && !episode.note.is_empty());
    assert!(episode.lines.iter().any(|line| line.is_evidence));
    episode
}

fn at(n: usize) -> Timestamp {
    Timestamp::from_millis(1_794_708_747_004 + i64::try_from(n).unwrap() * 1_000)
}

/// The messages of a line.
pub fn messages(scope: &str, line: &Line, n: usize) -> Vec<NewMessage> {
    let message = |role, parts| NewMessage {
        role,
        parts,
        principal: "api:token".into(),
        scope: scope.parse().unwrap(),
        label: "private".into(),
        generation: 1,
        at: at(n),
    };
    let Some(text) = &line.text else {
        let (id, name) = ("1".into(), "calendar".into());
        let call = Part::ToolCall { id, name, arguments: "{}".to_owned() };
        let text = "done".to_owned();
        let result = Part::ToolResult { call: "1".into(), text, is_error: false, untrusted: false };
        return vec![message(Role::Assistant, vec![call]), message(Role::Tool, vec![result])];
    };
    vec![message(line.role, vec![Part::Text(text.clone())])]
}

/// Begins a conversation.
pub async fn session(a: &AgentLease, scope: &str, key: &str) -> SessionId {
    let (key, label) = (key.into(), "private".into());
    let open = OpenSession { key, scope: scope.parse().unwrap(), label, at: at(0) };
    a.commit(vec![AgentCommand::OpenSession(open)]).await.unwrap().session().unwrap()
}

/// Says something in a conversation.
pub async fn say(a: &AgentLease, session: SessionId, messages: &[NewMessage]) {
    for some in messages.chunks(TOGETHER) {
        let session = SessionRef::Id(session);
        let append = AgentCommand::Append { session, messages: some.to_vec() };
        a.commit(vec![append]).await.unwrap();
    }
}

/// Says everything, and gives the questions.
pub async fn fill(a: &AgentLease) -> Vec<Question> {
    let mut dice = Dice::new(7);
    let strangers: Vec<Line> =
        FILES.iter().flat_map(|(_, _, text)| episodes(text)).flat_map(|it| it.lines).collect();
    // Somebody else says all of it, three times over, where nobody asks.
    for round in 0..3 {
        let scope = "custom:stranger";
        let session = session(a, scope, &format!("stranger {round}")).await;
        let lines = strangers.iter().enumerate();
        let all: Vec<_> = lines.flat_map(|(n, line)| messages(scope, line, n)).collect();
        say(a, session, &all).await;
    }
    let mut questions = Vec::new();
    for (scope, talk, text) in FILES {
        for (number, some) in episodes(text).chunks(PER_SESSION).enumerate() {
            let session = session(a, scope, &format!("{scope} {number}")).await;
            let mut said: Vec<NewMessage> = Vec::new();
            for episode in some {
                for _ in 0..BETWEEN {
                    let line = talk.line(&mut dice);
                    said.extend(messages(scope, &line, said.len()));
                    // A guest, in the same conversation.
                    if dice.below(4) == 0 {
                        let line = &strangers[dice.below(strangers.len())];
                        said.extend(messages("custom:guest", line, said.len()));
                    }
                }
                let mut evidence = HashSet::new();
                for line in &episode.lines {
                    if line.is_evidence {
                        evidence.insert((session, MessageSeq(said.len() as u64 + 1)));
                    }
                    said.extend(messages(scope, line, said.len()));
                    if dice.below(8) == 0 {
                        let line = &strangers[dice.below(strangers.len())];
                        said.extend(messages("custom:guest", line, said.len()));
                    }
                }
                questions.extend(episode.questions.iter().map(|(style, text)| Question {
                    scope,
                    style: *style,
                    text: text.clone(),
                    evidence: evidence.clone(),
                }));
            }
            say(a, session, &said).await;
        }
    }
    questions
}

/// Asks all questions: what came of it by scope and style, and how many hits were foreign.
pub async fn ask(
    a: &AgentLease,
    questions: &[Question],
) -> (BTreeMap<(&'static str, char), Score>, usize) {
    let mut scores: BTreeMap<(&'static str, char), Score> = BTreeMap::new();
    let mut foreign = 0;
    for question in questions {
        let scope: ScopeName = question.scope.parse().unwrap();
        let hits: Vec<Hit> = a.search(&scope, &question.text, 10).await.unwrap();
        let score = scores.entry((question.scope, question.style)).or_default();
        score.asked += 1;
        score.found +=
            usize::from(hits.iter().any(|hit| question.evidence.contains(&(hit.session, hit.seq))));
        for hit in &hits {
            let before = MessageSeq(hit.seq.0 - 1);
            let said = a.messages_after(hit.session, before, 1).await.unwrap();
            foreign += usize::from(said[0].scope != scope);
        }
    }
    (scores, foreign)
}

/// Remembers a note on each episode, in the scope it was said in, and elsewhere too.
pub async fn remember(a: &AgentLease) {
    for (scope, _, text) in FILES {
        let notes: Vec<String> = episodes(text).into_iter().map(|episode| episode.note).collect();
        for scope in [scope.to_owned(), format!("{scope}-stranger")] {
            remember_in(a, &scope, &notes).await;
        }
    }
}

/// Makes these the entries of a scope.
pub async fn remember_in(a: &AgentLease, scope: &str, entries: &[String]) {
    let entry = |text: &String| {
        let new = NewFragment { text: text.clone(), blocked: None, parents: Vec::new() };
        MemoryEntry::New(new)
    };
    let origin = MemoryOrigin {
        source: MemorySource::Tool,
        principal: "telegram:1".into(),
        platform: "telegram".into(),
        session: None,
        message: None,
        call: None,
        generation: 1,
        at: at(0),
        approved_by: None,
        label: None,
    };
    let change = Remember {
        scope: scope.parse().unwrap(),
        target: MemoryList::Memory,
        expects: Vec::new(),
        entries: entries.iter().map(entry).collect(),
        origin,
        digest: [0; 32],
    };
    a.commit(vec![AgentCommand::Remember(Box::new(change))]).await.unwrap();
}

/// Asks memory all questions, for as many hits: what came of it, and how many hits were foreign.
pub async fn ask_memory(a: &AgentLease, limit: usize) -> (Score, usize) {
    let (mut score, mut foreign) = (Score::default(), 0);
    for (scope, _, text) in FILES {
        let episodes = episodes(text);
        let scope: ScopeName = scope.parse().unwrap();
        for episode in &episodes {
            for (_, question) in &episode.questions {
                let hits = a.memory_search(&scope, question, limit).await.unwrap();
                let note = |hit: &FragmentHit| hit.fragment.text == episode.note;
                score.asked += 1;
                score.found += usize::from(hits.iter().any(note));
                foreign += hits.iter().filter(|hit| hit.fragment.scope != scope).count();
            }
        }
    }
    (score, foreign)
}

/// What [`remember`] notes and is asked: the scope, the note and a question, each in turn.
#[allow(dead_code, reason = "not every program asks so")]
pub fn notes() -> Vec<(&'static str, String, String)> {
    let of_file = |(scope, _, text): (&'static str, SmallTalk, &str)| {
        let asked = |episode: Episode| {
            let note = episode.note;
            episode.questions.into_iter().map(move |(_, text)| (scope, note.clone(), text))
        };
        episodes(text).into_iter().flat_map(asked).collect::<Vec<_>>()
    };
    FILES.into_iter().flat_map(of_file).collect()
}
