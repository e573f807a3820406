//! What was said while no session stood: where one can't be taken up, the channels are read from
//! the last message that was taken. Whatever comes twice so is recognised by its id.

use super::gateway::Session;
use super::known::Place;
use super::limits::Route;
use super::reading::{Scene, Telling};
use super::types::{Channel, Entry, Guild, Member, is_id, number};
use crate::trouble::Trouble;
use insula_channel::ConnectFault;
use serde_json::Value;
use std::collections::HashMap;

/// Messages of one answer.
const PAGE_LEN: usize = 100;
/// Answers that are read of one channel: five thousand messages.
const PAGES_MAX: usize = 50;
/// Channels of one server that are read: those that spoke last.
const CHANNELS_MAX: usize = 200;

impl Session<'_> {
    /// Reads what was said in direct chats that we know.
    pub(super) async fn catch_up_direct(&mut self) -> Result<(), ConnectFault> {
        let Some(since) = self.gap.since else { return Ok(()) };
        let mut all = Vec::new();
        for id in self.position.direct.clone() {
            if let Some(place) = self.us.place(&id, self.stop).await? {
                all.extend(self.said_since(&place, since).await?);
            }
        }
        self.hand_over_old(all).await
    }

    /// A server tells its channels: reads them, where we were on it before.
    pub(super) async fn catch_up_guild(&mut self, guild: &Guild) -> Result<(), ConnectFault> {
        let is_awaited = self.gap.awaited.contains(&guild.id);
        let all = || guild.channels.iter().chain(&guild.threads);
        if let Some(since) = self.gap.since.filter(|_| is_awaited) {
            let mut spoke: Vec<(u64, &Channel)> = all()
                .filter_map(|channel| Some((number(&channel.last_message_id)?, channel)))
                .filter(|(last, _)| *last > since)
                .collect();
            spoke.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
            let mut entries = Vec::new();
            for (_, channel) in spoke.into_iter().take(CHANNELS_MAX) {
                let place = self.us.known().places.get(channel.id.as_str()).cloned();
                if let Some(place) = place {
                    entries.extend(self.said_since(&place, since).await?);
                }
            }
            self.hand_over_old(entries).await?;
        } else {
            // What was said before we listened is history.
            let now = self.us.clock.now().as_millis();
            for channel in all() {
                self.position.took(&channel.last_message_id, now);
            }
        }
        self.gap.awaited.remove(&guild.id);
        Ok(())
    }

    /// What was said in a channel behind a message.
    async fn said_since(
        &self,
        place: &Place,
        since: u64,
    ) -> Result<Vec<(Place, Entry)>, ConnectFault> {
        let mut found = Vec::new();
        let mut after = since;
        for _ in 0..PAGES_MAX {
            let id = &place.id;
            let path = format!("/channels/{id}/messages?after={after}&limit={PAGE_LEN}");
            let route = Route::of("GET messages", id);
            let page: Vec<Value> = match self.us.api.get(route, path, self.stop).await {
                Ok(page) => page,
                // A channel whose history is not shown to us.
                Err(trouble) if trouble.is_no() => break,
                Err(trouble) => return Err(trouble.into_fault()),
            };
            // Reading may take long where there is much of it.
            self.inbox.alive();
            let is_last = page.len() < PAGE_LEN;
            // One that makes no sense does not take the others with it.
            let read = page.into_iter().filter_map(|it| serde_json::from_value::<Entry>(it).ok());
            let mut newest = after;
            for entry in read.filter(|it| it.is_sound() && *it.channel_id == **id) {
                newest = newest.max(number(&entry.id).unwrap_or(0));
                found.push((place.clone(), entry));
            }
            if is_last || newest <= after {
                break;
            }
            after = newest;
        }
        Ok(found)
    }

    async fn hand_over_old(&mut self, mut all: Vec<(Place, Entry)>) -> Result<(), ConnectFault> {
        all.sort_by_key(|(_, entry)| number(&entry.id));
        // Messages that are read do not tell who somebody is on their server.
        let mut members: HashMap<(Box<str>, String), Option<Member>> = HashMap::new();
        let mut envelopes = Vec::new();
        let now = self.us.clock.now().as_millis();
        for (place, mut entry) in all {
            self.position.took(&entry.id, now);
            if let Some(guild) = place.guild.clone().filter(|_| !entry.is_of_webhook()) {
                let key = (guild, entry.author.id.clone());
                if !members.contains_key(&key) {
                    let member = self.member(&key.0, &key.1).await?;
                    members.insert(key.clone(), member);
                }
                entry.member = members.get(&key).cloned().flatten();
            }
            let roles = self.own_roles(&place, &entry).await?;
            let scene =
                Scene { place: &place, user: Some(&entry.author), member: entry.member.as_ref() };
            self.us.keep_files(&entry);
            let reader = self.us.reader(&self.who);
            envelopes.extend(reader.entry(scene, &entry, Telling::Said, &roles));
        }
        if envelopes.is_empty() {
            return Ok(());
        }
        self.hand_over(envelopes).await
    }

    /// Somebody on a server; nothing where they are no longer there.
    pub(super) async fn member(
        &self,
        guild: &str,
        user: &str,
    ) -> Result<Option<Member>, ConnectFault> {
        if !is_id(guild) || !is_id(user) {
            return Ok(None);
        }
        let path = format!("/guilds/{guild}/members/{user}");
        match self.us.api.get(Route::of("GET member", guild), path, self.stop).await {
            Ok(member) => Ok(Some(member)),
            Err(trouble) if trouble.is_no() => Ok(None),
            Err(trouble) => Err(Trouble::into_fault(trouble)),
        }
    }
}
