//! Kills under load: whatever was accepted is answered, once, and every conversation keeps its
//! order.
//!
//! Several people talk at once, some in one conversation; some go away before the reply. The
//! daemon is killed at a moment nobody chose. Afterwards everyone repeats what got no answer,
//! with the same key, and the model is asked what it was shown of each conversation: exactly
//! what was said, in order, each answered once. `scripts/turn-campaign` kills as often as told.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and threads, and fail by panicking"
)]

use crate::echo_model::{EchoModel, reply_to};
use crate::support::*;
use insula_testkit::{Daemon, Home};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Agents that are talked to.
const AGENTS: usize = 5;
/// Conversations, dealt out among the agents.
const CONVERSATIONS: usize = 9;
/// Messages after which a conversation is left and another begun: the model is shown all of
/// it, so it has to stay shorter than the window.
const CONVERSATION_LEN_MAX: usize = 24;
/// Repetitions before an answer counts as one that never comes: each is a whole request, so
/// this many take far longer than any turn.
const REPEATS_MAX: usize = 20_000;
/// The longest that a daemon is left alone under load, in milliseconds.
const ALIVE_MS_MAX: u64 = 160;

/// Choices that differ from kill to kill and not from run to run.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, below: u64) -> u64 {
        // Knuth's multiplier; the high bits are good enough for a choice.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// One who talks in a conversation, one message after the other.
struct Person {
    conversation: usize,
    name: String,
    dice: Dice,
    /// How much they have said in this conversation, and been answered.
    said: Vec<String>,
    /// What they said and got no answer to.
    open: Option<String>,
    answered: Option<(String, String)>,
}

/// Where everybody talks to.
struct ApiEndpoint {
    to: SocketAddr,
    token: String,
}

/// What came back.
enum Heard {
    /// This reply, by this turn.
    Reply { text: String, id: String },
    /// That it is being worked on.
    Later,
    /// Nothing, or half of something.
    Nothing,
}

impl Person {
    fn text(&mut self, epoch: usize) -> String {
        let mut text = format!("c{}.{epoch} {}-{}", self.conversation, self.name, self.said.len());
        if self.dice.once_in(4) {
            text.push_str(" todo");
        }
        if self.dice.once_in(3) {
            text.push_str(" slow");
        }
        text
    }

    /// Talks until told to stop or until the daemon is gone.
    fn talk(&mut self, place: &ApiEndpoint, epoch: usize, stop: &AtomicBool) {
        while !stop.load(Ordering::SeqCst) && self.open.is_none() {
            let text = self.text(epoch);
            self.open = Some(text.clone());
            let patient = !self.dice.once_in(8);
            let streamed = self.dice.once_in(2);
            match place.ask(self.conversation, &text, streamed, patient) {
                Heard::Reply { text: reply, id } => self.answered(text, reply, id),
                Heard::Later => panic!("`{text}` is new and was called known"),
                Heard::Nothing if patient => return,
                // They went away, and come back for the reply.
                Heard::Nothing => self.insist(place, stop),
            }
        }
    }

    /// Repeats what got no answer until it has one, or until the daemon is gone.
    fn insist(&mut self, place: &ApiEndpoint, stop: &AtomicBool) {
        for _ in 0..REPEATS_MAX {
            let Some(text) = self.open.clone() else { return };
            match place.ask(self.conversation, &text, false, true) {
                Heard::Reply { text: reply, id } => self.answered(text, reply, id),
                Heard::Later if stop.load(Ordering::SeqCst) => return,
                Heard::Later => {}
                Heard::Nothing => return,
            }
        }
        panic!("{:?} was accepted and is never answered", self.open);
    }

    fn answered(&mut self, text: String, reply: String, id: String) {
        assert_eq!(reply, reply_to(&text));
        self.open = None;
        self.said.push(text.clone());
        self.answered = Some((text, id));
    }

    /// Asks again for what was answered before: the same turn answers.
    fn ask_again(&self, place: &ApiEndpoint) {
        let Some((text, id)) = &self.answered else { return };
        match place.ask(self.conversation, text, false, true) {
            Heard::Reply { text: reply, id: again } => {
                assert_eq!((reply, &again), (reply_to(text), id), "{text} was answered anew");
            }
            _ => panic!("`{text}` was answered before, and now is not"),
        }
    }
}

impl ApiEndpoint {
    /// Says something once, under a key that is the text itself.
    fn ask(&self, conversation: usize, text: &str, streamed: bool, patient: bool) -> Heard {
        self.exchange(conversation, text, streamed, patient).unwrap_or(Heard::Nothing)
    }

    fn exchange(
        &self,
        conversation: usize,
        text: &str,
        streamed: bool,
        patient: bool,
    ) -> Option<Heard> {
        let agent = format!("a{}", conversation % AGENTS);
        let session = text.split(' ').next()?;
        let messages = json!([{ "role": "user", "content": text }]);
        let body = json!({ "model": agent, "messages": messages, "stream": streamed }).to_string();
        let mut stream = TcpStream::connect(self.to).ok()?;
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             X-Insula-Session: {session}\r\nIdempotency-Key: {text}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.to,
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        if !patient {
            stream.shutdown(Shutdown::Both).ok()?;
            return None;
        }
        let mut answer = vec![];
        stream.read_to_end(&mut answer).ok()?;
        heard(&String::from_utf8_lossy(&answer), streamed)
    }
}

/// Reads an answer; `None` for one that was cut off.
fn heard(answer: &str, streamed: bool) -> Option<Heard> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    match head.split(' ').nth(1)? {
        "200" => {}
        "409" => return Some(Heard::Later),
        _ => panic!("an answer that nobody expected: {answer}"),
    }
    let word = |value: &Value| value.as_str().map(str::to_owned);
    if !streamed {
        let reply: Value = serde_json::from_str(body).ok()?;
        let text = word(&reply["choices"][0]["message"]["content"])?;
        return Some(Heard::Reply { text, id: word(&reply["id"])? });
    }
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let (mut text, mut id, mut finished, mut done) = (String::new(), String::new(), false, false);
    for event in events {
        done = event == "[DONE]";
        let Ok(event) = serde_json::from_str::<Value>(event) else { continue };
        assert!(event["error"].is_null(), "an answer that nobody expected: {answer}");
        text += event["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
        finished |= event["choices"][0]["finish_reason"] == "stop";
        id = word(&event["id"]).unwrap_or(id);
    }
    (finished && done).then_some(Heard::Reply { text, id })
}

/// A daemon with many people, and what each of them knows.
struct Campaign {
    home: Home,
    model: EchoModel,
    token: String,
    people: Vec<Person>,
    /// How often each conversation was begun anew.
    epochs: Vec<usize>,
    dice: Dice,
}

impl Campaign {
    fn new(seed: u64) -> Self {
        let model = EchoModel::start();
        let mut config = format!(
            "model: echo/echo\nproviders: {{echo: {{kind: openai, base_url: \"{}\"}}}}\nagents:\n",
            model.url()
        );
        for agent in 0..AGENTS {
            config += &format!("  a{agent}: {{tools: [todo]}}\n");
        }
        let home = configured(&config);
        let daemon = start_still(&home);
        let mut create = vec!["token".to_owned(), "create".to_owned()];
        for agent in 0..AGENTS {
            create.extend(["--agent".to_owned(), format!("a{agent}")]);
        }
        let create: Vec<&str> = create.iter().map(String::as_str).collect();
        let token = json(&home, &create)["token"].as_str().unwrap().to_owned();
        daemon.terminate().unwrap();
        let mut dice = Dice(seed);
        let mut people = vec![];
        for conversation in 0..CONVERSATIONS {
            // Every third conversation is a group.
            for place in 0..if conversation % 3 == 0 { 3 } else { 1 } {
                let name = ["ann", "bob", "cyd"][place].to_owned();
                let dice = Dice(seed ^ dice.below(u64::MAX >> 34).rotate_left(17));
                let (said, open, answered) = (vec![], None, None);
                people.push(Person { conversation, name, dice, said, open, answered });
            }
        }
        Self { home, model, token, people, epochs: vec![0; CONVERSATIONS], dice }
    }

    fn place(&self, daemon: &Daemon) -> ApiEndpoint {
        ApiEndpoint { to: daemon.listen(), token: self.token.clone() }
    }

    /// One kill, and everything that must hold after it.
    fn kill(&mut self, number: u64) {
        let daemon = start_still(&self.home);
        let place = self.place(&daemon);
        let moment = Duration::from_micros(self.dice.below(ALIVE_MS_MAX * 1_000));
        // Not everybody is there every day.
        let present = 1 + self.dice.below(4);
        let stop = AtomicBool::new(false);
        let (people, epochs) = (&mut self.people, &self.epochs);
        thread::scope(|scope| {
            for (index, person) in people.iter_mut().enumerate() {
                if !(index as u64).is_multiple_of(present) {
                    continue;
                }
                let (place, stop, epoch) = (&place, &stop, epochs[person.conversation]);
                scope.spawn(move || person.talk(place, epoch, stop));
            }
            daemon.kill9_after(moment).unwrap();
            stop.store(true, Ordering::SeqCst);
        });
        let daemon = start_still(&self.home);
        let place = self.place(&daemon);
        self.settle(&place, number);
        self.check(&place, number);
        daemon.kill9().unwrap();
    }

    /// Everyone gets the answer they are still owed.
    fn settle(&mut self, place: &ApiEndpoint, number: u64) {
        let never = AtomicBool::new(false);
        thread::scope(|scope| {
            for person in self.people.iter_mut() {
                let never = &never;
                scope.spawn(move || person.insist(place, never));
            }
        });
        for person in &self.people {
            assert_eq!(person.open, None, "kill {number}: {} was never answered", person.name);
            person.ask_again(place);
        }
    }

    fn check(&mut self, place: &ApiEndpoint, number: u64) {
        for conversation in 0..CONVERSATIONS {
            self.check_conversation(place, conversation, number);
        }
        let complaints = self.model.complaints();
        assert!(complaints.is_empty(), "kill {number}: {complaints:#?}");
        assert_chains_hold(&self.home);
        let databases = everything_below(self.home.path()).into_iter();
        for file in databases.filter(|path| path.extension().is_some_and(|it| it == "db")) {
            let sql = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
            let verdict: String =
                sql.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(verdict, "ok", "kill {number}: {}", file.display());
        }
    }

    /// Says one thing more, so that the model is shown the whole conversation, and compares.
    fn check_conversation(&mut self, place: &ApiEndpoint, conversation: usize, number: u64) {
        let name = format!("c{conversation}.{}", self.epochs[conversation]);
        let probe = format!("{name} probe-{number}");
        match place.ask(conversation, &probe, false, true) {
            Heard::Reply { text, .. } => assert_eq!(text, reply_to(&probe)),
            _ => panic!("kill {number}: `{probe}` was not answered"),
        }
        let shown = self.model.said(&name);
        let here = |person: &&mut Person| person.conversation == conversation;
        let mut expected = 0;
        for person in self.people.iter_mut().filter(here) {
            let mine = format!("{name} {}-", person.name);
            let shown: Vec<&String> = shown.iter().filter(|text| text.starts_with(&mine)).collect();
            let said: Vec<&String> = person.said.iter().collect();
            assert_eq!(shown, said, "kill {number}: what {} said in {name}", person.name);
            expected += said.len();
        }
        let probes = shown.iter().filter(|text| text.contains(" probe-")).count();
        assert_eq!(shown.len(), expected + probes, "kill {number}: {name} holds {shown:?}");
        if shown.len() > CONVERSATION_LEN_MAX {
            self.epochs[conversation] += 1;
            self.model.forget(&name);
            self.people.iter_mut().filter(here).for_each(|person| person.said.clear());
        }
    }
}

/// How many messages were answered, all in all, is worth knowing: a campaign that never said
/// anything would hold too.
fn campaign_of(kills: u64, seed: u64) -> usize {
    let mut campaign = Campaign::new(seed);
    let mut answered = 0;
    for number in 0..kills {
        let before: usize = campaign.people.iter().map(|person| person.said.len()).sum();
        campaign.kill(number);
        let after: usize = campaign.people.iter().map(|person| person.said.len()).sum();
        answered += after.saturating_sub(before);
        if number % 50 == 49 {
            println!("{} kills", number + 1);
        }
    }
    answered
}

#[test]
fn rule_11_kills_under_load_lose_nothing_and_answer_nothing_twice() {
    assert!(campaign_of(10, 11) > 0, "nothing was said");
}

/// `scripts/turn-campaign` runs this.
#[test]
#[ignore = "takes as long as it is told; run it with scripts/turn-campaign"]
fn campaign() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("INSULA_KILLS").expect("INSULA_KILLS says how many");
    let seed = number("INSULA_SEED").unwrap_or(1);
    let answered = campaign_of(kills, seed);
    println!(
        "{kills} kills with seed {seed}: at least {answered} messages answered, once each and in order"
    );
}
