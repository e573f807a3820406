//! What events name and don't describe: channels, people and messages, kept once they were asked for.

use super::Mattermost;
use super::known::Note;
use super::types::{Channel, Entry, Person, is_id};
use crate::trouble::Trouble;
use insula_channel::ConnectFault;
use tokio_util::sync::CancellationToken;

impl Mattermost {
    /// The channels that we are in.
    pub(super) async fn channels(
        &self,
        stop: &CancellationToken,
    ) -> Result<Vec<Channel>, ConnectFault> {
        let channels: Vec<Channel> =
            self.server.get("/users/me/channels", stop).await.map_err(Trouble::into_fault)?;
        let channels: Vec<Channel> = channels.into_iter().filter(|it| is_id(&it.id)).collect();
        let mut known = self.known();
        for channel in &channels {
            known.channels.insert(channel.id.as_str().into(), channel.clone());
        }
        Ok(channels)
    }

    /// What a channel is; nothing where the server does not show it to us.
    pub(super) async fn channel(
        &self,
        id: &str,
        stop: &CancellationToken,
    ) -> Result<Option<Channel>, ConnectFault> {
        if let Some(channel) = self.known().channels.get(id) {
            return Ok(Some(channel.clone()));
        }
        let channel: Option<Channel> = self.look_up(&format!("/channels/{id}"), id, stop).await?;
        let channel = channel.filter(|channel| channel.id == id);
        if let Some(channel) = &channel {
            self.known().channels.insert(id.into(), channel.clone());
        }
        Ok(channel)
    }

    /// Who somebody is.
    pub(super) async fn person(
        &self,
        id: &str,
        stop: &CancellationToken,
    ) -> Result<Option<Person>, ConnectFault> {
        if let Some(person) = self.known().people.get(id) {
            return Ok(Some(person.clone()));
        }
        let person: Option<Person> = self.look_up(&format!("/users/{id}"), id, stop).await?;
        let person = person.filter(|person| person.id == id);
        if let Some(person) = &person {
            self.known().people.insert(id.into(), person.clone());
        }
        Ok(person)
    }

    /// Whose a message is, and where it stands.
    pub(super) async fn note(
        &self,
        id: &str,
        stop: &CancellationToken,
    ) -> Result<Option<Note>, ConnectFault> {
        if let Some(note) = self.known().notes.get(id) {
            return Ok(Some(note.clone()));
        }
        let entry: Option<Entry> = self.look_up(&format!("/posts/{id}"), id, stop).await?;
        let entry = entry.filter(|entry| entry.id == id && entry.is_sound());
        Ok(entry.map(|entry| self.keep_note(&entry)))
    }

    pub(super) fn keep_note(&self, entry: &Entry) -> Note {
        let note = Note::of(entry);
        self.known().notes.insert(entry.id.as_str().into(), note.clone());
        note
    }

    /// Asks for something that may be gone.
    async fn look_up<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        id: &str,
        stop: &CancellationToken,
    ) -> Result<Option<T>, ConnectFault> {
        if !is_id(id) {
            return Ok(None);
        }
        match self.server.get(path, stop).await {
            Ok(found) => Ok(Some(found)),
            Err(trouble) if trouble.is_no() => Ok(None),
            Err(trouble) => Err(trouble.into_fault()),
        }
    }
}
