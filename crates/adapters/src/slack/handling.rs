//! What is told to us, however it comes: who is asked about before it becomes an envelope, and what
//! is left out.

use super::Slack;
use super::api::Patience;
use super::known::{Note, Us};
use super::listened::Thread;
use super::reading::{Reader, Scene, Telling, is_by_program, is_ours, is_said, short};
use super::text::named;
use super::types::{Callback, Commanded, Entry, Person, is_id, is_ts};
use insula_channel::{Envelope, Happening, ReactionChange};
use serde::Deserialize;
use serde_json::Value;

/// People named in a message whose names are asked for.
const NAMED_MAX: usize = 8;

/// Something told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Event,
    Interaction,
    Command,
}

impl Slack {
    /// The envelopes of something told; none where it concerns nobody.
    pub(super) async fn envelopes(&self, told: Told, payload: &Value) -> Vec<Envelope> {
        let Some(us) = self.known().us.clone() else { return vec![] };
        let found = match told {
            Told::Event => self.event(&us, payload).await,
            Told::Interaction => self.pressed(&us, payload).await,
            Told::Command => self.commanded(&us, payload).await,
        };
        found.into_iter().collect()
    }

    async fn event(&self, us: &Us, payload: &Value) -> Option<Envelope> {
        let Ok(callback) = Callback::deserialize(payload) else {
            tracing::warn!(account = %self.account, "an event that can't be read was left out");
            return None;
        };
        let Callback { team_id, event, authorizations, .. } = &callback;
        let is_of_us =
            |it: &super::types::Authorization| *it.team_id == *us.team || *it.user_id == *us.user;
        let is_here = match authorizations.as_slice() {
            [] => *team_id == *us.team,
            for_whom => for_whom.iter().any(is_of_us),
        };
        if !is_here && !us.is_everywhere {
            self.tell_of_strangers(team_id);
            return None;
        }
        let team = if us.is_everywhere && is_id(team_id) { team_id.as_str() } else { &us.team };
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        match text("type") {
            "message" | "app_mention" => {
                let Ok(entry) = Entry::deserialize(event) else {
                    tracing::warn!(account = %self.account, "a message that can't be read was left out");
                    return None;
                };
                self.entry(us, team, &entry).await
            }
            "reaction_added" => self.reaction(us, team, event, ReactionChange::Put).await,
            "reaction_removed" => self.reaction(us, team, event, ReactionChange::Taken).await,
            "member_joined_channel" if *text("user") == *us.user => {
                // By ourselves is by nobody who would be asked.
                let by = Some(text("inviter")).filter(|by| is_id(by) && **by != *us.user);
                self.change(us, (team, event), by, "added", Happening::Added).await
            }
            "member_left_channel" if *text("user") == *us.user => {
                self.change(us, (team, event), None, "removed", Happening::Removed).await
            }
            "member_left_channel" => {
                let who = Some(text("user"));
                self.change(us, (team, event), who, "left", Happening::Left).await
            }
            "channel_left" | "group_left" => {
                let by = Some(text("actor_id"));
                self.change(us, (team, event), by, "removed", Happening::Removed).await
            }
            "user_change" => {
                let id = event.pointer("/user/id").and_then(Value::as_str);
                id.map(|id| self.known().people.remove(id));
                None
            }
            _ => None,
        }
    }

    async fn entry(&self, us: &Us, team: &str, entry: &Entry) -> Option<Envelope> {
        let channel = entry.channel.as_str();
        match entry.subtype.as_str() {
            "message_changed" => {
                let said = entry.message.as_deref()?;
                if said.subtype == "tombstone" {
                    return self.gone(us, team, (channel, &said.ts, &entry.event_ts), entry).await;
                }
                // A preview that was added, or a thread that grew, changes nothing that is said.
                let edited = said.edited.as_ref().filter(|it| is_ts(&it.ts))?;
                let before = entry.previous_message.as_deref();
                if before.is_some_and(|before| before.edited.as_ref() == Some(edited)) {
                    return None;
                }
                self.said(us, (team, channel), said, Telling::Edited(&edited.ts)).await
            }
            "message_deleted" => {
                let at = (channel, entry.deleted_ts.as_str(), entry.event_ts.as_str());
                self.gone(us, team, at, entry).await
            }
            _ => self.said(us, (team, channel), entry, Telling::Said).await,
        }
    }

    pub(super) async fn said(
        &self,
        us: &Us,
        (team, channel): (&str, &str),
        entry: &Entry,
        telling: Telling<'_>,
    ) -> Option<Envelope> {
        if !is_id(channel) || !is_said(entry) {
            return None;
        }
        self.keep_note(channel, entry);
        if is_ours(us, entry) {
            return None;
        }
        let user = Some(entry.user.as_str()).filter(|user| is_id(user));
        if user.is_none() && !is_by_program(entry) {
            return None;
        }
        let person = self.person_if(user).await;
        self.learn_names(us, &entry.text).await;
        let scene = Scene { team, channel, thread: entry.thread(), user, person: person.as_ref() };
        let name = |id: &str| self.name_of(id);
        self.reader(us, &name).entry(scene, entry, telling)
    }

    async fn gone(
        &self,
        us: &Us,
        team: &str,
        (channel, ts, at): (&str, &str, &str),
        entry: &Entry,
    ) -> Option<Envelope> {
        let before = entry.previous_message.as_deref();
        if !is_ts(ts) || before.is_some_and(|before| is_ours(us, before) || !is_said(before)) {
            return None;
        }
        let user = before.map(|before| before.user.as_str()).filter(|user| is_id(user));
        let person = self.person_if(user).await;
        let thread = before.and_then(Entry::thread);
        let scene = Scene { team, channel, thread, user, person: person.as_ref() };
        self.reader(us, &|_| None).deleted(scene, ts, at)
    }

    async fn reaction(
        &self,
        us: &Us,
        team: &str,
        event: &Value,
        change: ReactionChange,
    ) -> Option<Envelope> {
        let text =
            |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (user, channel, ts) = (text("/user"), text("/item/channel"), text("/item/ts"));
        let is_sound = is_id(user) && is_id(channel) && is_ts(ts) && is_ts(text("/event_ts"));
        if !is_sound || *user == *us.user {
            return None;
        }
        let mut note = self.note(channel, ts).await;
        if let Some(author) = Some(text("/item_user")).filter(|author| is_id(author)) {
            let thread = note.and_then(|note| note.thread);
            note = Some(Note { user: author.into(), thread });
        }
        let person = self.person_if(Some(user)).await;
        let thread = note.as_ref().and_then(|note| note.thread.as_deref());
        let scene = Scene { team, channel, thread, user: Some(user), person: person.as_ref() };
        let about = (ts, text("/reaction"), note.as_ref());
        self.reader(us, &|_| None).reaction(scene, about, (change, text("/event_ts")))
    }

    async fn change(
        &self,
        us: &Us,
        (team, event): (&str, &Value),
        by: Option<&str>,
        word: &str,
        what: Happening,
    ) -> Option<Envelope> {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let user = by.filter(|user| is_id(user));
        let person = self.person_if(user).await;
        let scene =
            Scene { team, channel: text("channel"), thread: None, user, person: person.as_ref() };
        self.reader(us, &|_| None).change(scene, word, text("event_ts"), what)
    }

    async fn commanded(&self, us: &Us, payload: &Value) -> Option<Envelope> {
        let said = Commanded::deserialize(payload).ok()?;
        if !us.is_everywhere && *said.team_id != *us.team {
            self.tell_of_strangers(&said.team_id);
            return None;
        }
        let user = Some(said.user_id.as_str()).filter(|user| is_id(user))?;
        let person = self.person_if(Some(user)).await;
        self.learn_names(us, &said.text).await;
        let (team, channel) = (said.team_id.as_str(), said.channel_id.as_str());
        let scene =
            Scene { team, channel, thread: None, user: Some(user), person: person.as_ref() };
        let commands = self.known().commands.clone();
        let (name, now) = (|id: &str| self.name_of(id), self.clock.now());
        let is_offered = |word: &str| commands.contains(word);
        self.reader(us, &name).command(scene, &said, &is_offered, now)
    }

    pub(super) fn reader<'a>(
        &'a self,
        us: &'a Us,
        name: &'a dyn Fn(&str) -> Option<String>,
    ) -> Reader<'a> {
        Reader { platform: self.platform, account: &self.account, us, name }
    }

    /// Somebody who did something, as far as it can be learned while they wait.
    pub(super) async fn person_if(&self, user: Option<&str>) -> Option<Person> {
        let user = user.filter(|user| is_id(user))?;
        if let Some(person) = self.known().people.get(user) {
            return Some(person.clone());
        }
        #[derive(Deserialize)]
        struct Found {
            user: Person,
        }
        let found = self.api.ask("users.info", &[("user", user)], Patience::Aside).await;
        let person = match found {
            Ok(Found { user: person }) if person.id == user => person,
            // What Slack does not show us it does not show us the next time.
            Err(failure) if failure.is_no() => Person { id: user.to_owned(), ..Person::default() },
            _ => return None,
        };
        self.known().people.insert(user.into(), person.clone());
        Some(person)
    }

    async fn learn_names(&self, us: &Us, text: &str) {
        for id in named(text).filter(|id| **id != *us.user).take(NAMED_MAX) {
            self.person_if(Some(id)).await;
        }
    }

    fn name_of(&self, id: &str) -> Option<String> {
        let known = self.known();
        known.people.get(id).map(|it| short(it.shown()).into_string()).filter(|it| !it.is_empty())
    }

    /// Whose a message is, and where it stands.
    pub(super) async fn note(&self, channel: &str, ts: &str) -> Option<Note> {
        if let Some(note) = self.known().notes.get(&(channel.into(), ts.into())) {
            return Some(note.clone());
        }
        #[derive(Deserialize)]
        struct Found {
            messages: Vec<Entry>,
        }
        let about = [
            ("channel", channel),
            ("ts", ts),
            ("oldest", ts),
            ("latest", ts),
            ("inclusive", "true"),
            ("limit", "10"),
        ];
        let found: Found =
            self.api.ask("conversations.replies", &about, Patience::Aside).await.ok()?;
        if let Some(entry) = found.messages.iter().find(|entry| entry.ts == ts) {
            return Some(self.keep_note(channel, entry));
        }
        // The first message of the thread, and not the one that was asked for.
        let root = found.messages.first().filter(|root| is_ts(&root.ts))?;
        Some(Note { user: "".into(), thread: Some(root.ts.as_str().into()) })
    }

    pub(super) fn keep_note(&self, channel: &str, entry: &Entry) -> Note {
        let thread = entry.thread().map(Into::into);
        let is_our_user = self.known().us.as_ref().is_some_and(|us| *us.user == *entry.user);
        if let Some(root) = entry.thread().filter(|_| is_our_user) {
            let (chat, root) = (channel.to_owned(), root.to_owned());
            self.listened().spoke_in(Thread { chat, root });
        }
        let note = Note { user: entry.user.as_str().into(), thread };
        self.known().notes.insert((channel.into(), entry.ts.as_str().into()), note.clone());
        note
    }

    /// An app that is in several workspaces is told of all of them by one connection.
    pub(super) fn tell_of_strangers(&self, team: &str) {
        if !std::mem::replace(&mut self.known().told_of_strangers, true) {
            tracing::warn!(
                account = %self.account,
                team = %insula_wire::excerpt(team),
                "Slack tells of another workspace that the app is in, and no account listens there; \
                 that is left out. Add an account with the same `app_token` and that workspace's \
                 `token`, or remove the app there"
            );
        }
    }
}
