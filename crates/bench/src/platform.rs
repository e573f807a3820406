//! A platform in a process of its own: just enough of Telegram's Bot API, for as many bots as
//! wanted, and people who write to them.
//!
//! It keeps nothing that it need not, and looks at no more of a request than it must, so that
//! most of the machine is the daemon's. `POST /ready` is answered when every bot listens,
//! `POST /load` when everybody who spoke was answered; either when nothing changes any more.

use crate::machine;
use crate::wire::{BenchListener, Wire};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What a bot's token ends with.
pub const TOKEN: &str = "bench";
/// The id of the first person.
const PEOPLE_FROM: usize = 1_000_000;
/// Updates in one answer; what the platform allows.
const UPDATES_MAX: usize = 100;
/// How often people speak who speak at a given rate.
const TICK: Duration = Duration::from_millis(5);
/// A load in which nobody was answered for so long is over.
const STALLED: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Bot {
    pending: VecDeque<(usize, String)>,
    next_update: usize,
    listens: bool,
    wake: Rc<Notify>,
}

#[derive(Default)]
struct Chat {
    messages: usize,
    /// When what was not answered yet was said.
    said: VecDeque<Instant>,
}

struct Load {
    /// Messages that are still to be said.
    left: usize,
    waiting: usize,
    took_us: Vec<u32>,
    begun: Instant,
    ended: Instant,
}

#[derive(Default)]
struct State {
    bots: Vec<Bot>,
    chats: Vec<Chat>,
    /// Chats in the order they speak next.
    line: VecDeque<usize>,
    load: Option<Load>,
    /// Whether somebody who is answered makes the next one speak.
    is_closed: bool,
    requests: usize,
    change: Rc<Notify>,
}

type Shared = Rc<RefCell<State>>;

/// Serves until it is killed. Says where on standard output.
pub fn serve(accounts: usize, chats: usize) {
    machine::block_on(async move {
        let state = State {
            bots: (0..accounts).map(|_| Bot::default()).collect(),
            chats: (0..chats).map(|_| Chat::default()).collect(),
            line: (0..chats).collect(),
            ..State::default()
        };
        let shared = Rc::new(RefCell::new(state));
        let tasks = tokio::task::LocalSet::new();
        tasks.run_until(listen(shared)).await;
    });
}

async fn listen(shared: Shared) {
    let Ok(listener) = BenchListener::open().await else { return };
    let Ok(address) = listener.address() else { return };
    println!("{address}");
    while let Ok(wire) = listener.accept().await {
        tokio::task::spawn_local(connection(wire, shared.clone()));
    }
}

async fn connection(mut wire: Wire, shared: Shared) {
    loop {
        let asked = match wire.hear().await {
            Ok(Some(heard)) => Asked::read(heard.head, heard.body),
            _ => return,
        };
        let (status, body) = match asked {
            Some(asked) => (200, asked.answer(&shared).await),
            None => (404, json!({ "ok": false, "description": "Not Found" }).to_string()),
        };
        let head = format!("HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n");
        let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        if wire.say(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A request.
struct Asked {
    bot: Option<usize>,
    method: String,
    arguments: Value,
}

impl Asked {
    fn read(head: &[u8], body: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let path = head.split(' ').nth(1)?.strip_prefix('/')?;
        let arguments = serde_json::from_slice(body).unwrap_or_default();
        let (bot, method) = match path.strip_prefix("bot").and_then(|it| it.split_once('/')) {
            Some((token, method)) => (Some(token.split_once(':')?.0.parse().ok()?), method),
            None => (None, path),
        };
        Some(Self { bot, method: method.to_owned(), arguments })
    }

    fn number(&self, name: &str) -> usize {
        self.arguments[name].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(0)
    }

    async fn answer(&self, shared: &Shared) -> String {
        let Some(bot) = self.bot else { return self.control(shared).await };
        shared.borrow_mut().requests += 1;
        let result = match self.method.as_str() {
            "getMe" => json!({
                "id": bot, "is_bot": true, "first_name": "bench", "username": format!("bench{bot}"),
                "can_join_groups": true, "can_read_all_group_messages": true,
            })
            .to_string(),
            "getWebhookInfo" => json!({ "url": "", "pending_update_count": 0 }).to_string(),
            "getUpdates" => self.updates(bot, shared).await,
            "sendMessage" => shared.borrow_mut().hear(self.number("chat_id")),
            _ => "true".to_owned(),
        };
        format!("{{\"ok\":true,\"result\":{result}}}")
    }

    /// What waits for a bot, once something does.
    async fn updates(&self, bot: usize, shared: &Shared) -> String {
        let held = Duration::from_secs(self.number("timeout") as u64);
        let offset = self.number("offset");
        let mut late = std::pin::pin!(machine::rest(held));
        loop {
            let wake = {
                let mut state = shared.borrow_mut();
                let change = state.change.clone();
                let Some(bot) = state.bots.get_mut(bot) else { return "[]".to_owned() };
                if !std::mem::replace(&mut bot.listens, true) {
                    change.notify_waiters();
                }
                while bot.pending.front().is_some_and(|(id, _)| *id < offset) {
                    bot.pending.pop_front();
                }
                if !bot.pending.is_empty() {
                    let some = bot.pending.iter().take(UPDATES_MAX).map(|(_, raw)| raw.as_str());
                    return format!("[{}]", some.collect::<Vec<_>>().join(","));
                }
                bot.wake.clone()
            };
            tokio::select! {
                () = wake.notified() => {}
                () = &mut late => return "[]".to_owned(),
            }
        }
    }

    /// What the measurement asks for.
    async fn control(&self, shared: &Shared) -> String {
        match self.method.as_str() {
            "ready" => ready(shared).await,
            "load" => {
                let (messages, rate) = (self.number("messages"), self.number("rate"));
                run(shared, messages, rate, self.number("at_once")).await
            }
            _ => "null".to_owned(),
        }
    }
}

async fn ready(shared: &Shared) -> String {
    let change = shared.borrow().change.clone();
    loop {
        let changed = change.notified();
        let listening = shared.borrow().bots.iter().filter(|bot| bot.listens).count();
        if listening == shared.borrow().bots.len() {
            return "true".to_owned();
        }
        tokio::select! {
            () = changed => {}
            () = machine::rest(STALLED) => return "false".to_owned(),
        }
    }
}

/// Lets people speak: `at_once` of them, the next when one was answered; or at a rate.
async fn run(shared: &Shared, messages: usize, rate: usize, at_once: usize) -> String {
    let (begun, change) = {
        let mut state = shared.borrow_mut();
        let begun = machine::now();
        let took_us = Vec::with_capacity(messages);
        state.load = Some(Load { left: messages, waiting: 0, took_us, begun, ended: begun });
        state.is_closed = rate == 0;
        state.requests = 0;
        for _ in 0..at_once {
            state.next_speaks();
        }
        (begun, state.change.clone())
    };
    let mut due = 0;
    while rate > 0 && due < messages {
        machine::rest(TICK).await;
        let until = (machine::since(begun).as_secs_f64() * rate as f64) as usize;
        let mut state = shared.borrow_mut();
        for _ in due..until.min(messages) {
            state.next_speaks();
        }
        due = until.min(messages);
    }
    loop {
        let changed = change.notified();
        let before = {
            let state = shared.borrow();
            match &state.load {
                Some(load) if load.left > 0 || load.waiting > 0 => load.took_us.len(),
                _ => break,
            }
        };
        tokio::select! {
            () = changed => {}
            () = machine::rest(STALLED) => {
                let state = shared.borrow();
                if state.load.as_ref().is_none_or(|load| load.took_us.len() == before) {
                    break;
                }
            }
        }
    }
    shared.borrow_mut().report()
}

impl State {
    /// The next in line says something.
    fn next_speaks(&mut self) {
        let Some(load) = self.load.as_mut().filter(|load| load.left > 0) else { return };
        let Some(index) = self.line.pop_front() else { return };
        // At a rate, people speak whether they were answered or not.
        if !self.is_closed {
            self.line.push_back(index);
        }
        load.left -= 1;
        load.waiting += 1;
        let bots = self.bots.len().max(1);
        let chat = &mut self.chats[index];
        chat.messages += 1;
        chat.said.push_back(machine::now());
        let (person, message) = (PEOPLE_FROM + index, chat.messages);
        let bot = &mut self.bots[index % bots];
        bot.next_update += 1;
        let id = bot.next_update;
        let mut raw = String::new();
        // A string takes everything.
        let _ = write!(
            raw,
            r#"{{"update_id":{id},"message":{{"message_id":{message},"date":1700000000,"chat":{{"id":{person},"type":"private"}},"from":{{"id":{person},"is_bot":false,"first_name":"P"}},"text":"ping"}}}}"#
        );
        bot.pending.push_back((id, raw));
        bot.wake.notify_one();
    }

    /// A bot says something to somebody.
    fn hear(&mut self, person: usize) -> String {
        let index = person.wrapping_sub(PEOPLE_FROM);
        let now = machine::now();
        let Some(chat) = self.chats.get_mut(index) else { return "null".to_owned() };
        chat.messages += 1;
        let message = chat.messages;
        if let (Some(said), Some(load)) = (chat.said.pop_front(), &mut self.load) {
            let took = now.saturating_duration_since(said).as_micros();
            load.took_us.push(u32::try_from(took).unwrap_or(u32::MAX));
            load.waiting = load.waiting.saturating_sub(1);
            load.ended = now;
            if load.waiting == 0 && load.left == 0 {
                self.change.notify_waiters();
            }
            if self.is_closed {
                self.line.push_back(index);
                self.next_speaks();
            }
        }
        format!(
            r#"{{"message_id":{message},"date":1700000000,"chat":{{"id":{person},"type":"private"}}}}"#
        )
    }

    fn report(&mut self) -> String {
        let Some(mut load) = self.load.take() else { return "null".to_owned() };
        load.took_us.sort_unstable();
        let seconds = load.ended.saturating_duration_since(load.begun).as_secs_f64();
        json!({
            "answered": load.took_us.len(), "unanswered": load.waiting, "seconds": seconds,
            "requests": self.requests, "took_us": load.took_us,
        })
        .to_string()
    }
}

/// Reads an answer of [`run`].
pub fn outcome(body: &[u8]) -> Result<crate::driver::Outcome> {
    let told: Value = serde_json::from_slice(body)?;
    let took = told["took_us"].as_array().context("no figures in the answer")?;
    let unanswered = told["unanswered"].as_u64().and_then(|it| usize::try_from(it).ok());
    let unanswered = unanswered.filter(|it| *it > 0).map(|count| (0, count));
    Ok(crate::driver::Outcome {
        turns: took.len(),
        errors: unanswered.into_iter().collect(),
        seconds: told["seconds"].as_f64().unwrap_or(f64::NAN),
        took_us: took.iter().filter_map(|it| u32::try_from(it.as_u64()?).ok()).collect(),
    })
}
