//! The claims: what an adapter may make of an event, whatever the event holds.

use super::event::{Noise, Told};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What is said behind each batch: once it is heard, the batch was.
pub const MARK: &str = "mark it";
/// How much longer than what came something may be: names of what has no text.
const SIZE_BEYOND: usize = 1000;
/// How many conversations are told apart.
const CONVERSATIONS_MAX: usize = 200_000;

/// The longest name of a place that may be learned; platforms have shorter ones.
const LEARNED_LEN_MAX: usize = 32;

/// What was made of an event, and what would become of it.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// Everything that names something of the platform: chats, topics, people, roles.
    pub ids: Vec<String>,
    /// Who says it, by every id.
    pub users: Vec<String>,
    /// How much was said, in bytes.
    pub size: usize,
    /// What was said, where that is one text.
    pub text: String,
    /// Account, chat, topic and kind: what tells two conversations apart.
    pub place: String,
    /// The name of the conversation that it would belong to.
    pub session: String,
    /// Whether an agent that lets only the friend in would let this in.
    pub is_admitted: bool,
}

#[derive(Default)]
struct State {
    /// What was told since the last look, as it came and as it reads.
    told: String,
    /// What places were told to lie in, ever.
    learned: HashSet<String>,
    longest: usize,
    is_strangers: bool,
    heard: usize,
    admitted: usize,
    /// The place of each conversation, both by their hashes.
    conversations: HashMap<u64, u64>,
    /// The first claim that did not hold.
    fault: Option<String>,
}

/// Looks at each event beside what it came from, and keeps none.
pub struct Judge {
    friend: String,
    /// What may be named without standing in an event.
    known: String,
    state: Mutex<State>,
    marks: watch::Sender<usize>,
}

impl Judge {
    pub fn new(friend: &str, known: &[&str]) -> Self {
        let known = known.join(" ");
        let state = State { told: known.clone(), ..State::default() };
        Self {
            friend: friend.to_owned(),
            known,
            state: Mutex::new(state),
            marks: watch::channel(0).0,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A batch begins, of events in which this is noise.
    pub(super) fn begin(&self, noise: Noise) {
        let mut state = self.state();
        (state.told, state.longest) = (self.known.clone(), 0);
        state.is_strangers = noise == Noise::ButTheSpeaker;
    }

    /// This is told from now on.
    pub(super) fn tell(&self, told: &Told) {
        let (text, value) = (told.text(), told.value());
        let mut state = self.state();
        state.longest = state.longest.max(text.len());
        state.told.push('\n');
        state.told.push_str(&text);
        if let Some(value) = value {
            state.told.push('\n');
            state.told.push_str(&value.to_string());
            read(&value, &mut state.told);
        }
    }

    /// This tells where a place lies, which an adapter knows from then on: what it names may be
    /// named as a place whenever that place is.
    pub fn learn(&self, place: &Value) {
        match place {
            Value::String(id) if id.len() <= LEARNED_LEN_MAX => {
                self.state().learned.insert(id.clone());
            }
            Value::Array(items) => items.iter().for_each(|it| self.learn(it)),
            Value::Object(fields) => fields.values().for_each(|it| self.learn(it)),
            _ => {}
        }
    }

    /// How many events were heard, and how many of them an agent would have heard.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.heard, state.admitted)
    }

    /// Waits until so many marks were heard, or a claim did not hold.
    pub async fn until_marks(&self, count: usize) {
        let is_over = |marks: &usize| *marks >= count || self.fault().is_some();
        // The sender is this judge's own.
        let _ = self.marks.subscribe().wait_for(is_over).await;
    }

    /// The first claim that did not hold.
    pub fn fault(&self) -> Option<String> {
        self.state().fault.clone()
    }

    /// Holds one event against the claims. What looks may be a task of the adapter's, which would
    /// take a panic for its own: whether all held is asked afterwards.
    pub fn look(&self, heard: &Heard) {
        if heard.text.trim() == MARK && heard.users.contains(&self.friend) {
            self.marks.send_modify(|marks| *marks += 1);
            return;
        }
        let mut state = self.state();
        state.heard += 1;
        state.admitted += usize::from(heard.is_admitted);
        if let Err(fault) = self.holds(&mut state, heard) {
            state.fault.get_or_insert(format!("{fault}: {heard:?}"));
            drop(state);
            self.marks.send_modify(|_| {});
        }
    }

    fn holds(&self, state: &mut State, heard: &Heard) -> Result<(), String> {
        let claim = |holds: bool, fault: &str| holds.then_some(()).ok_or_else(|| fault.to_owned());
        let is_learned = |id: &&String| state.learned.contains(*id);
        let places = heard.ids.iter().filter(|id| !is_learned(id));
        for id in places.chain(&heard.users) {
            claim(is_said(&state.told, id), &format!("`{id}` came from nowhere"))?;
        }
        claim(heard.size <= state.longest * 2 + SIZE_BEYOND, "it outgrew what came")?;
        if state.is_strangers {
            claim(!heard.users.contains(&self.friend), "a stranger speaks as another")?;
            claim(!heard.is_admitted, "a stranger would be answered")?;
        }
        if heard.is_admitted {
            claim(heard.users.contains(&self.friend), "nobody let them in")?;
        }
        let (session, place) = (hash(&heard.session), hash(&heard.place));
        if state.conversations.len() < CONVERSATIONS_MAX {
            let known = *state.conversations.entry(session).or_insert(place);
            claim(known == place, "two places share a conversation")?;
        }
        Ok(())
    }
}

/// Whether an id stands in what was told. It may be written with escapes there, or, where ids
/// have no case, otherwise.
fn is_said(told: &str, id: &str) -> bool {
    let escaped = json!(id).to_string();
    told.contains(id)
        || told.contains(escaped.trim_matches('"'))
        || told.to_ascii_lowercase().contains(&id.to_ascii_lowercase())
}

/// Adds the JSON texts that stand in a value.
fn read(value: &Value, told: &mut String) {
    match value {
        Value::String(text) if text.starts_with('{') => {
            if let Ok(inner) = serde_json::from_str::<Value>(text) {
                told.push('\n');
                told.push_str(&inner.to_string());
            }
        }
        Value::Object(fields) => fields.values().for_each(|inner| read(inner, told)),
        _ => {}
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
