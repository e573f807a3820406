//! What fuzz targets call: answers of a homeserver of any shape. Built only for them.

use super::text::{Names, mentions, without_fallback, without_mention};
use super::wire::{Event, Sync, relation};
use serde_json::value::RawValue;

/// How many events are in an answer to `/sync`, each read as far as that takes no other answer.
pub fn sync(bytes: &[u8]) -> Option<usize> {
    let sync: Sync<'_> = serde_json::from_slice(bytes).ok()?;
    let rooms = sync.rooms.join.values().chain(sync.rooms.leave.values());
    let said = rooms.flat_map(|room| room.state.events.iter().chain(&room.timeline.events));
    let invited = sync.rooms.invite.values().flat_map(|room| &room.invite_state.events);
    let all = said.chain(invited).chain(&sync.account_data.events);
    Some(all.filter_map(|raw| event(raw)).count())
}

fn event(raw: &RawValue) -> Option<()> {
    let event = Event::read(raw)?;
    let us = "@bot:x";
    let _ = (event.is_arrival(us), event.is_departure(us), event.is_member(us));
    let _ = (event.relation(), relation(&event.before));
    let names = Names { user: us, shown: vec!["Bot", "The Bot"] };
    let body = without_fallback(event.text("body")?);
    let shorter = without_mention(&event.content, body, &names);
    assert!(shorter.len() <= body.len());
    let _ = mentions(&event.content, body, &names);
    Some(())
}

/// A text as Matrix is given it.
pub fn html(markdown: &str) -> Option<String> {
    super::html::formatted(markdown)
}
