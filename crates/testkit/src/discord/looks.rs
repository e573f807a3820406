//! What a test looks at in the fake, and how it breaks it.

use super::Discord;
use super::state::{Said, SessionState, Trouble};
use crate::world::locked;
use serde_json::Value;

impl Discord {
    /// An event as it stands, to every session of a bot.
    pub fn event(&self, bot: &str, event: &str, data: &Value) {
        self.with(|state, _| {
            let sessions: Vec<String> = state
                .sessions
                .iter()
                .filter(|(_, session)| session.bot == bot)
                .map(|(id, _)| id.clone())
                .collect();
            for session in sessions {
                state.tell_session(&session, event, data);
            }
        });
    }

    fn tell_all(&self, said: &Said) {
        self.with(|state, _| {
            for session in state.sessions.values_mut() {
                if let Some(live) = &session.live {
                    let _ = live.send(said.clone());
                }
            }
        });
    }

    /// Whatever this is, as a frame to everybody.
    pub fn raw(&self, text: &str) {
        self.tell_all(&Said::Text(text.to_owned()));
    }

    /// The gateway asks everybody to come back.
    pub fn ask_back(&self) {
        self.raw(r#"{"op":7,"d":null,"s":null,"t":null}"#);
    }

    /// The gateway closes every socket with a code.
    pub fn close(&self, code: u16) {
        self.tell_all(&Said::Close(code));
    }

    /// A session that stands for a bot before anybody connects; its name.
    pub fn session(&self, bot: &str) -> String {
        self.with(|state, now| {
            let id = format!("session{}", state.fresh(now));
            let (bot, kept) = (bot.to_owned(), vec![]);
            let session = SessionState { bot, intents: u64::MAX, next: 1, kept, live: None };
            state.sessions.insert(id.clone(), session);
            id
        })
    }

    /// What somebody said and did not delete, in order.
    pub fn messages_of(&self, user: &str) -> Vec<Value> {
        let state = locked(&self.shared.state);
        state.messages.values().filter(|it| it["author"]["id"] == user).cloned().collect()
    }

    /// A message.
    pub fn get(&self, message: &str) -> Value {
        let state = locked(&self.shared.state);
        let found = message.parse().ok().and_then(|id: u64| state.messages.get(&id)).cloned();
        found.unwrap_or_default()
    }

    /// The content of a file that somebody sent.
    pub fn content(&self, file: &str) -> Option<Vec<u8>> {
        locked(&self.shared.state).files.get(file).map(|(_, content)| content.clone())
    }

    /// Every request so far: its method and path, and its body.
    pub fn requests(&self) -> Vec<(String, Value)> {
        locked(&self.shared.state).requests.clone()
    }

    /// What sessions began with, and were taken up with: `op` and `d` of each.
    pub fn begun(&self) -> Vec<Value> {
        locked(&self.shared.state).begun.clone()
    }

    /// Who was shown typing, and where.
    pub fn typing(&self) -> Vec<(String, String)> {
        locked(&self.shared.state).typing.clone()
    }

    /// With which codes clients left.
    pub fn goodbyes(&self) -> Vec<Option<u16>> {
        locked(&self.shared.state).goodbyes.clone()
    }

    /// Heartbeats that came.
    pub fn beats(&self) -> usize {
        locked(&self.shared.state).beats
    }

    /// What is to become of the next request whose method and path begin so.
    pub fn trouble(&self, request: &str, trouble: Trouble) {
        self.with(|state, _| state.troubles.push((request.to_owned(), trouble)));
    }

    /// Each kind of request about a channel is taken so often in so many seconds.
    pub fn limit(&self, requests: u64, seconds: f64) {
        self.with(|state, _| state.bucket = Some((requests, seconds)));
    }

    /// So many sessions may begin today.
    pub fn starts_left(&self, left: u64) {
        self.with(|state, _| state.starts_left = Some(left));
    }

    /// How often clients are to speak, in milliseconds.
    pub fn heartbeat(&self, ms: u64) {
        self.with(|state, _| state.heartbeat_ms = Some(ms));
    }

    /// A token is good no more.
    pub fn revoke(&self, token: &str) {
        self.with(|state, _| state.tokens.remove(token));
    }

    /// Every socket breaks, without a goodbye.
    pub fn break_sockets(&self) {
        self.with(|state, _| {
            for session in state.sessions.values_mut() {
                session.live = None;
            }
        });
    }

    /// Sessions can't be taken up any more.
    pub fn forget_sessions(&self) {
        self.with(|state, _| state.sessions.clear());
    }

    /// What was sent and asked so far is kept no longer.
    pub fn forget_the_past(&self) {
        self.with(|state, _| {
            state.requests.clear();
            state.answers.clear();
            for session in state.sessions.values_mut() {
                session.kept.clear();
            }
        });
    }

    /// Sockets stay open, and nothing goes by them, or goes again.
    pub fn deafen(&self, is_deaf: bool) {
        self.with(|state, _| state.is_deaf = is_deaf);
    }

    /// The next event is cut after so many bytes of its frame, and the connection with it.
    pub fn cut_next_event(&self, len: usize) {
        self.with(|state, _| state.cut_at = Some(len));
    }

    /// How many sockets have a session.
    pub fn sockets(&self) -> usize {
        let state = locked(&self.shared.state);
        let live = |it: &&SessionState| it.live.as_ref().is_some_and(|live| !live.is_closed());
        state.sessions.values().filter(live).count()
    }

    /// The most sockets that were open at once.
    pub fn sockets_max(&self) -> usize {
        locked(&self.shared.state).open.1
    }

    /// Waits until it looks like this.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if holds(self) {
                return;
            }
            // It can't be dropped: `self` holds it.
            let _ = changed.changed().await;
        }
    }
}
