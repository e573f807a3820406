//! What was said while nothing was heard: conversations are read from our note on, one at a time and
//! next to what is heard meanwhile, since events have to be acknowledged within three seconds.
//!
//! What is read becomes the envelopes that the events would have been, by the same names: what was
//! heard before is recognised. A conversation where somebody speaks is read at once, so that what
//! was said there comes in its order.
//!
//! Rows of a history name neither their channel nor the workspace, and a thread is no part of it:
//! threads are read that show an answer since, and those that we are in.

use super::Slack;
use super::api::Patience;
use super::failure::Failure;
use super::known::Us;
use super::listened::{Chat, Reach, Taken, chat_of};
use super::reading::Telling;
use super::types::{Entry, is_id, is_ts, micros};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use insula_channel::{ConnectFault, Envelope, Happening, Inbox, NotTaken};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Duration;

/// Conversations that are read of one gap: a request each at the least, of some fifty a minute.
const CHATS_MAX: usize = 200;
/// Messages of one page. Slack gives fewer where it likes.
const PAGE_LEN: &str = "200";
/// Pages that are read of one conversation or thread: five thousand messages.
const PAGES_MAX: usize = 25;
/// Threads that are read of one conversation.
const THREADS_MAX: usize = 50;
/// Conversations of one page of the list; more Slack advises against.
const LIST_LEN: &str = "200";
/// Pages of the list.
const LIST_PAGES_MAX: usize = 10;
/// How often something is asked that may be answered later.
const TRIES_MAX: usize = 5;
/// How long to wait where Slack names no time.
const RETRY: Duration = Duration::from_secs(5);
/// The longest that is waited because Slack asks for it.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// Conversations that can't be read in a row until the rest is left for another time.
const FAILURES_MAX: usize = 3;
/// How long somebody who speaks now waits for what was said there before.
const BEFORE_WITHIN: Duration = Duration::from_millis(1_500);
/// Kinds of conversations, and the scope that lets each be listed.
const KINDS: [(&str, &str); 4] = [
    ("public_channel", "channels:read"),
    ("private_channel", "groups:read"),
    ("mpim", "mpim:read"),
    ("im", "im:read"),
];

/// What is found of a gap.
pub(super) enum Found {
    /// What was said in a conversation, the oldest first.
    Missed { chat: String, envelopes: Vec<Envelope> },
    /// That was all, and all of it could be read.
    Whole,
}

/// What is found, as it is read.
pub(super) type Missing<'a> = BoxStream<'a, Result<Found, ConnectFault>>;

/// The reading of one gap.
struct Reading<'a> {
    us: &'a Slack,
    since: i64,
    /// Whether conversations have to be listed first.
    lists: bool,
    pending: VecDeque<Chat>,
    /// Conversations that could not be read.
    failures: usize,
    is_over: bool,
}

/// One page of messages.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    response_metadata: Value,
}

/// One page of the list of conversations.
#[derive(Deserialize)]
struct List {
    #[serde(default)]
    channels: Vec<Value>,
    #[serde(default)]
    response_metadata: Value,
}

impl Slack {
    /// Looks up how far we had listened.
    pub(super) async fn take_up(&self, inbox: &dyn Inbox) -> Result<(), ConnectFault> {
        let kept = inbox.cursor().await.map_err(|error| not_taken(&error))?;
        self.listened().take_up(kept.as_ref(), self.clock.now());
        Ok(())
    }

    /// A silence is over: what is missing is read from now on.
    pub(super) async fn catch_up(&self, reach: Reach, inbox: &dyn Inbox) -> Option<Missing<'_>> {
        let begun = self.listened().begin_gap(reach, self.clock.now());
        // Where listening begins is worth keeping, though nothing was said yet; if it can't be kept
        // now, it is with what is said next.
        if let Err(error) = self.hand_over(vec![], inbox).await {
            tracing::debug!(account = %self.account, "our note could not be kept: {error}");
        }
        let (since, known) = begun?;
        let (lists, pending) = (reach == Reach::Whole, known.into());
        let reading = Reading { us: self, since, lists, pending, failures: 0, is_over: false };
        Some(stream::unfold(reading, step).boxed())
    }

    /// Takes what was found of a gap.
    pub(super) async fn take_missed(
        &self,
        found: Option<Result<Found, ConnectFault>>,
        missing: &mut Option<Missing<'_>>,
        inbox: &dyn Inbox,
    ) -> Result<(), ConnectFault> {
        let taken = match found.transpose()? {
            Some(Found::Missed { chat, envelopes }) => {
                let taken = self.hand_over(envelopes, inbox).await;
                taken.map(|()| self.listened().read(&chat))
            }
            Some(Found::Whole) => {
                self.listened().end_gap();
                self.hand_over(vec![], inbox).await
            }
            None => {
                *missing = None;
                Ok(())
            }
        };
        taken.map_err(|error| not_taken(&error))
    }

    /// Hands over what somebody does now, and before it what was said there and is not read yet.
    pub(super) async fn hand_over_new(
        &self,
        envelopes: Vec<Envelope>,
        inbox: &dyn Inbox,
    ) -> Result<(), NotTaken> {
        for envelope in envelopes.iter().filter(|it| matches!(it.what, Happening::Said(_))) {
            let chat = chat_of(envelope);
            let Some(since) = self.listened().unread_since(&chat.id) else { continue };
            let missed = tokio::select! {
                biased;
                missed = self.missed_in(&chat, since) => missed,
                () = self.clock.sleep(BEFORE_WITHIN) => continue,
            };
            // What can't be read now is read with the rest, or told then.
            let Ok(missed) = missed else { continue };
            self.hand_over(missed, inbox).await?;
            self.listened().read(&chat.id);
        }
        self.hand_over(envelopes, inbox).await
    }

    /// Hands over envelopes, and our note with them.
    async fn hand_over(&self, envelopes: Vec<Envelope>, inbox: &dyn Inbox) -> Result<(), NotTaken> {
        let taken = Taken::of(&envelopes, self.clock.now());
        let note = self.listened().note_after(&taken);
        if envelopes.is_empty() && note.is_none() {
            return Ok(());
        }
        inbox.take(envelopes, note).await?;
        self.listened().took(&taken);
        Ok(())
    }

    /// What was said in a conversation behind a moment, and is not ours.
    async fn missed_in(&self, chat: &Chat, since: i64) -> Result<Vec<Envelope>, Failure> {
        let Some(us) = self.known().us.clone() else { return Ok(vec![]) };
        let team = if us.is_everywhere { chat.team.as_str() } else { &*us.team };
        // Without its workspace nothing would be recognised.
        let id = chat.id.as_str();
        if !is_id(team) || !is_id(id) {
            return Ok(vec![]);
        }
        let mut envelopes = vec![];
        for entry in self.entries_since(&us, id, since).await? {
            envelopes.extend(self.said(&us, (team, id), &entry, Telling::Said).await);
            // It may have been said and taken before, and be known as it was then.
            let edited = entry.edited.as_ref().map(|edited| edited.ts.as_str());
            if let Some(at) = edited.filter(|at| micros(at).is_some_and(|at| at > since)) {
                envelopes.extend(self.said(&us, (team, id), &entry, Telling::Edited(at)).await);
            }
        }
        Ok(envelopes)
    }

    /// The messages of a conversation and its threads behind a moment, in their order.
    async fn entries_since(&self, us: &Us, chat: &str, since: i64) -> Result<Vec<Entry>, Failure> {
        let mut all = self.pages("conversations.history", chat, None, since).await?;
        let is_later = |ts: &str| micros(ts).is_some_and(|at| at > since);
        let shown = all.iter().rev().filter_map(|entry| match is_later(&entry.latest_reply) {
            true => Some(entry.ts.as_str()),
            false => entry.thread(),
        });
        let mut threads: Vec<String> = shown.map(str::to_owned).collect();
        threads.extend(self.listened().threads_in(chat));
        let mut seen = HashSet::new();
        threads.retain(|root| is_ts(root) && seen.insert(root.clone()));
        for root in threads.iter().take(THREADS_MAX) {
            match self.pages("conversations.replies", chat, Some(root), since).await {
                Ok(more) => all.extend(more),
                // A thread that is there no more.
                Err(failure) if failure.is_no() => {}
                Err(failure) => return Err(failure),
            }
        }
        // What is shown in a thread and below it is one message.
        let mut in_order: BTreeMap<i64, Entry> = BTreeMap::new();
        for entry in all {
            if let Some(at) = micros(&entry.ts).filter(|at| *at > since) {
                in_order.insert(at, entry);
            }
        }
        // What was said before we came is not for us.
        let joined = |entry: &Entry| {
            let is_join = matches!(entry.subtype.as_str(), "channel_join" | "group_join");
            is_join && *entry.user == *us.user
        };
        let from = in_order.iter().rev().find(|(_, entry)| joined(entry)).map(|(at, _)| *at);
        Ok(in_order.into_iter().filter(|(at, _)| Some(*at) > from).map(|it| it.1).collect())
    }

    /// The pages of a history or a thread behind a moment, in no order that holds: where only the
    /// oldest moment is named, Slack begins there with some pages and elsewhere with others.
    async fn pages(
        &self,
        method: &'static str,
        chat: &str,
        root: Option<&str>,
        since: i64,
    ) -> Result<Vec<Entry>, Failure> {
        let oldest = format!("{}.{:06}", since / 1_000_000, since % 1_000_000);
        let mut found = vec![];
        let mut cursor = String::new();
        for _ in 0..PAGES_MAX {
            let mut about =
                vec![("channel", chat), ("oldest", oldest.as_str()), ("limit", PAGE_LEN)];
            about.extend(root.map(|root| ("ts", root)));
            if !cursor.is_empty() {
                about.push(("cursor", &cursor));
            }
            let page: Page = self.ask_patiently(method, &about).await?;
            // One that makes no sense does not take the others with it.
            let read = page.messages.into_iter().filter_map(|it| Entry::deserialize(it).ok());
            found.extend(read.map(|entry| Entry { channel: chat.to_owned(), ..entry }));
            cursor = next_cursor(&page.response_metadata);
            if cursor.is_empty() {
                return Ok(found);
            }
        }
        tracing::warn!(
            account = %self.account, chat,
            "more was said in a conversation while nothing was heard than is read; the rest is left out"
        );
        Ok(found)
    }

    /// The conversations that we are in, as far as Slack lists them for us.
    async fn conversations(&self) -> Result<Vec<Chat>, Failure> {
        let scopes = self.known().scopes.clone();
        let has = |scope: &str| match &scopes {
            Some(scopes) => scopes.split(',').any(|it| it.trim() == scope),
            // Without them it is not known, and these it can't do without.
            None => !matches!(scope, "mpim:read" | "im:read"),
        };
        let kinds: Vec<&str> = KINDS.iter().filter(|it| has(it.1)).map(|it| it.0).collect();
        let us = self.known().us.clone();
        // Where we are in many workspaces, the list is one of each.
        let Some(us) = us.filter(|us| !us.is_everywhere && !kinds.is_empty()) else {
            return Ok(vec![]);
        };
        let kinds = kinds.join(",");
        let (mut found, mut cursor) = (vec![], String::new());
        for _ in 0..LIST_PAGES_MAX {
            let mut about =
                vec![("types", kinds.as_str()), ("exclude_archived", "true"), ("limit", LIST_LEN)];
            if !cursor.is_empty() {
                about.push(("cursor", &cursor));
            }
            let list: List = self.ask_patiently("users.conversations", &about).await?;
            let ids = list.channels.iter().filter_map(|it| it["id"].as_str());
            let team = us.team.to_string();
            found.extend(
                ids.filter(|id| is_id(id)).map(|id| Chat { id: id.into(), team: team.clone() }),
            );
            cursor = next_cursor(&list.response_metadata);
            if cursor.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// Asks, and again where that may help.
    async fn ask_patiently<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        about: &[(&str, &str)],
    ) -> Result<T, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let failure = match self.api.ask(method, about, Patience::Whole).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let ConnectFault::Broken { wait, .. } = failure.clone().into_fault() else {
                return Err(failure);
            };
            let wait = wait.unwrap_or(RETRY);
            if failure.is_no() || tries == TRIES_MAX || wait > WAIT_MAX {
                return Err(failure);
            }
            self.clock.sleep(wait).await;
        }
    }

    /// A conversation, or the list of them, is not shown to us.
    fn tell_of_unread(&self, what: &str, failure: &Failure) {
        let Some(scope) = failure.missing_scope() else {
            tracing::debug!(account = %self.account, what, "not read: {failure}");
            return;
        };
        if self.known().unread_for.insert(scope.into()) {
            tracing::warn!(
                account = %self.account,
                "what was said while nothing was heard is not all read: {failure}"
            );
        }
    }
}

impl Reading<'_> {
    /// What is found next; nothing where that is all that can be read now.
    async fn next(&mut self) -> Option<Result<Found, ConnectFault>> {
        if std::mem::take(&mut self.lists)
            && let Err(fault) = self.list().await
        {
            return Some(Err(fault));
        }
        while self.failures < FAILURES_MAX {
            let Some(chat) = self.pending.pop_front() else { break };
            // Somebody spoke there meanwhile, and it was read before that.
            if self.us.listened().unread_since(&chat.id).is_none() {
                continue;
            }
            match self.us.missed_in(&chat, self.since).await {
                Ok(envelopes) => return Some(Ok(Found::Missed { chat: chat.id, envelopes })),
                Err(failure) if failure.is_no() => {
                    self.us.tell_of_unread(&chat.id, &failure);
                    self.us.listened().read(&chat.id);
                }
                Err(failure) => match self.failed(&chat.id, failure) {
                    Ok(()) => {}
                    Err(fault) => return Some(Err(fault)),
                },
            }
        }
        if self.failures > 0 || std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        Some(Ok(Found::Whole))
    }

    async fn list(&mut self) -> Result<(), ConnectFault> {
        match self.us.conversations().await {
            Ok(listed) => {
                let known: HashSet<String> = self.pending.iter().map(|it| it.id.clone()).collect();
                self.pending.extend(listed.into_iter().filter(|it| !known.contains(&it.id)));
                if self.pending.len() > CHATS_MAX {
                    tracing::warn!(
                        account = %self.us.account,
                        "the bot is in {} conversations; what was said in {} of them while nothing \
                         was heard is read", self.pending.len(), CHATS_MAX
                    );
                    self.pending.truncate(CHATS_MAX);
                }
                Ok(())
            }
            Err(failure) if failure.is_no() => {
                self.us.tell_of_unread("the list of conversations", &failure);
                Ok(())
            }
            Err(failure) => self.failed("the list of conversations", failure),
        }
    }

    /// Something can't be read now. It is an end where our token is good no more.
    fn failed(&mut self, what: &str, failure: Failure) -> Result<(), ConnectFault> {
        tracing::warn!(
            account = %self.us.account, what,
            "what was said while nothing was heard can't be read yet: {failure}"
        );
        self.failures += 1;
        match failure.into_fault() {
            ConnectFault::Broken { .. } => Ok(()),
            refused => Err(refused),
        }
    }
}

async fn step(mut reading: Reading<'_>) -> Option<(Result<Found, ConnectFault>, Reading<'_>)> {
    Some((reading.next().await?, reading))
}

/// What is found next, if a gap is being read.
pub(super) async fn next(missing: &mut Option<Missing<'_>>) -> Option<Result<Found, ConnectFault>> {
    match missing {
        Some(missing) => missing.next().await,
        None => std::future::pending().await,
    }
}

fn next_cursor(metadata: &Value) -> String {
    metadata["next_cursor"].as_str().unwrap_or_default().to_owned()
}

fn not_taken(error: &NotTaken) -> ConnectFault {
    ConnectFault::Broken { why: error.to_string().into(), wait: None }
}
