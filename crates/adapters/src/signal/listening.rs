//! Listening to the stream of events, which says something every 15 seconds.
//!
//! A stream can fall silent while the daemon answers everything else: what counts is what was
//! heard. The stream acknowledges nothing. A daemon that numbers its events is asked for those
//! behind the last one taken; what could not be taken is kept here until it can.

use super::Signal;
use super::api::STREAM_SILENCE_MAX;
use super::failure::Failure;
use super::known::Membership;
use super::people::Person;
use super::reading::{Heard, Reader};
use super::stream::{StreamEvent, StreamParser};
use super::types::{Group, KnownContact, Received};
use insula_channel::{ConnectFault, Cursor, Envelope, Happening, Inbox};
use insula_wire::{Body, WireFault};
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longer than the stream may be silent, and than it takes to begin another.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(75);
/// Events that could not be taken and wait for the next try.
pub(super) const UNTAKEN_MAX: usize = 1000;

/// Why hearing ended.
enum End {
    Stopped,
    /// Nothing came for too long; whether anything had come before.
    Silent {
        was_heard: bool,
    },
}

impl Signal {
    pub(super) async fn hear(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let listened = self.hear_until(inbox, stop).await;
        if stop.is_cancelled() { Ok(()) } else { listened }
    }

    async fn hear_until(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let fault = |failure: Failure| failure.to_fault();
        self.learn_who_we_are(stop).await.map_err(fault)?;
        self.call_ourselves(stop).await;
        self.learn_groups(stop).await.map_err(fault)?;
        let untaken = std::mem::take(&mut *self.untaken());
        self.take(inbox, untaken, None).await?;
        let cursor = inbox.cursor().await.map_err(|error| broken(&error.0))?;
        let mut behind = cursor.map(|cursor| cursor.0);
        loop {
            let mut stream = self.daemon.events(behind.as_deref(), stop).await.map_err(fault)?;
            // The answer began; what it says is heard below.
            inbox.alive();
            match self.follow(&mut stream, inbox, &mut behind, stop).await? {
                End::Stopped => return Ok(()),
                End::Silent { was_heard } => {
                    self.daemon.check(stop).await.map_err(fault)?;
                    let why = format!(
                        "signal-cli answers, and its stream of events said nothing for {} s",
                        STREAM_SILENCE_MAX.as_secs()
                    );
                    // Another stream may be well; if it is not, waiting longer is better.
                    if !was_heard {
                        return Err(broken(&why));
                    }
                    tracing::warn!(account = %self.account, "{why}; it is begun anew");
                }
            }
        }
    }

    async fn follow(
        &self,
        stream: &mut Body,
        inbox: &dyn Inbox,
        behind: &mut Option<Box<str>>,
        stop: &CancellationToken,
    ) -> Result<End, ConnectFault> {
        let mut parser = StreamParser::default();
        let mut was_heard = false;
        loop {
            let piece = match stream.piece().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return Err(broken("signal-cli ended its stream of events")),
                Err(WireFault::Cancelled) => return Ok(End::Stopped),
                Err(WireFault::TimedOut { .. }) => return Ok(End::Silent { was_heard }),
                Err(fault) => return Err(Failure::Wire(fault).to_fault()),
            };
            was_heard = true;
            inbox.alive();
            let events = parser.push(&piece);
            if events.is_empty() {
                continue;
            }
            let mut heard = vec![];
            let mut failed = None;
            for StreamEvent { id, data } in events {
                match self.read(&data, stop).await {
                    Ok(envelopes) => heard.extend(envelopes),
                    // What comes behind it waits with it.
                    Err(failure) => {
                        failed = Some(failure.to_fault());
                        break;
                    }
                }
                if id.is_some() {
                    *behind = id;
                }
            }
            self.take(inbox, heard, behind.clone()).await?;
            if let Some(fault) = failed {
                return Err(fault);
            }
        }
    }

    /// Hands events over; what is not taken is kept for the next time.
    async fn take(
        &self,
        inbox: &dyn Inbox,
        envelopes: Vec<Envelope>,
        behind: Option<Box<str>>,
    ) -> Result<(), ConnectFault> {
        let cursor = behind.map(Cursor);
        if envelopes.is_empty() && cursor.is_none() {
            return Ok(());
        }
        if let Err(error) = inbox.take(envelopes.clone(), cursor).await {
            let mut untaken = self.untaken();
            untaken.extend(envelopes);
            if untaken.len() > UNTAKEN_MAX {
                let lost = untaken.len() - UNTAKEN_MAX;
                untaken.drain(..lost);
                tracing::error!(account = %self.account, lost, "messages could not be kept and are lost");
            }
            return Err(broken(&error.0));
        }
        Ok(())
    }

    /// The envelopes of one event. What can't be read is left out: it would be the same the next
    /// time.
    async fn read(
        &self,
        data: &[u8],
        cancel: &CancellationToken,
    ) -> Result<Vec<Envelope>, Failure> {
        let received = match serde_json::from_slice::<Received>(data) {
            Ok(received) => received,
            Err(error) => {
                // The error names fields and places, not what was said.
                let (line, column) = (error.line(), error.column());
                tracing::warn!(
                    account = %self.account,
                    "an event that can't be read was left out ({:?} at {line}:{column})",
                    error.classify()
                );
                return Ok(vec![]);
            }
        };
        if let Some(exception) = &received.exception {
            let kind = insula_wire::excerpt(exception.kind.as_deref().unwrap_or("unknown"));
            tracing::warn!(account = %self.account, kind, "signal-cli could not read a message");
        }
        let heard = {
            let mut known = self.known();
            let ours = &self.ours;
            let (platform, account) = (self.platform, &self.account);
            Reader { platform, account, ours, known: &mut known }.read(received)
        };
        match heard {
            None => Ok(vec![]),
            Some(Heard::Event(envelope)) => Ok(vec![*envelope]),
            Some(Heard::Group { group, revision, by }) => {
                let what = self.membership_changed(&group, revision, cancel).await?;
                Ok(what.map(|what| Envelope { what, ..*by }).into_iter().collect())
            }
        }
    }

    /// What it means for us that a group changed.
    async fn membership_changed(
        &self,
        group: &str,
        revision: i64,
        cancel: &CancellationToken,
    ) -> Result<Option<Happening>, Failure> {
        use Membership::{Member, Outside, Pending};
        let now = self.ask_membership(group, cancel).await?;
        let mut known = self.known();
        let before = known.membership(group);
        known.learn_membership(group, now);
        Ok(match (before, now) {
            (Outside, Member | Pending) => Some(Happening::Added),
            // Whoever makes a group with us in it invites nobody: its first state is all there is.
            (Member, Member) if revision == 0 => Some(Happening::Added),
            (Member | Pending, Outside) => Some(Happening::Removed),
            _ => None,
        })
    }

    async fn ask_membership(
        &self,
        group: &str,
        cancel: &CancellationToken,
    ) -> Result<Membership, Failure> {
        let asked = self.daemon.call("listGroups", json!({ "groupId": [group] }), cancel).await;
        let groups: Vec<Group> = match asked {
            // It does not know the group: we are not in it.
            Err(failure) if failure.is_no() => return Ok(Membership::Outside),
            asked => asked?,
        };
        let found = groups.iter().find(|it| it.id == group);
        Ok(found.map_or(Membership::Outside, |found| self.membership_in(found)))
    }

    fn membership_in(&self, group: &Group) -> Membership {
        let known = self.known();
        let is_us = |uuid: Option<&str>, number: Option<&str>| {
            Person::new(uuid, number).is_some_and(|person| known.us.is(&person))
        };
        match group {
            Group { is_member: true, .. } => Membership::Member,
            Group { pending_members, .. }
                if pending_members
                    .iter()
                    .any(|it| is_us(it.uuid.as_deref(), it.number.as_deref())) =>
            {
                Membership::Pending
            }
            _ => Membership::Outside,
        }
    }

    /// Which groups we are in, so that it shows when that changes. An invitation that waits is
    /// not noted: the next word from its group brings it.
    async fn learn_groups(&self, cancel: &CancellationToken) -> Result<(), Failure> {
        let groups: Vec<Group> = match self.daemon.call("listGroups", json!({}), cancel).await {
            // A daemon that can't tell has told us all that it can.
            Err(failure) if failure.is_no() => return Ok(()),
            groups => groups?,
        };
        for group in &groups {
            if group.is_member {
                self.known().learn_membership(&group.id, Membership::Member);
            }
        }
        Ok(())
    }

    /// Asks for our own UUID and name. Without the UUID a mention of us is not recognised where
    /// our number is hidden.
    pub(super) async fn learn_who_we_are(&self, cancel: &CancellationToken) -> Result<(), Failure> {
        let arguments = json!({ "recipient": [self.ours], "allRecipients": true });
        let asked = self.daemon.call("listContacts", arguments, cancel).await;
        let contacts: Vec<KnownContact> = match asked {
            Err(failure) if failure.is_no() => vec![],
            asked => asked?,
        };
        for contact in &contacts {
            let person = Person::new(contact.uuid.as_deref(), contact.number.as_deref());
            let Some(person) = person else { continue };
            let mut known = self.known();
            if !known.us.is(&person) {
                continue;
            }
            if !super::people::is_number(&person.id) {
                known.us.uuid = Some(person.id.clone());
            }
            if known.us.number.is_none() {
                known.us.number.clone_from(&person.number);
            }
            if let Some(profile) = &contact.profile {
                let given = profile.given_name.as_deref().unwrap_or_default();
                let family = profile.family_name.as_deref().unwrap_or_default();
                known.us.name = format!("{given} {family}").trim().into();
            }
        }
        Ok(())
    }

    /// Gives the account the name that the settings want people to see.
    async fn call_ourselves(&self, cancel: &CancellationToken) {
        let Some(wanted) = &self.profile_name else { return };
        if self.known().us.name == *wanted {
            return;
        }
        let arguments = json!({ "givenName": wanted, "familyName": "" });
        match self.daemon.call::<Value>("updateProfile", arguments, cancel).await {
            Ok(_) => self.known().us.name.clone_from(wanted),
            Err(failure) => {
                tracing::warn!(account = %self.account, "the profile's name could not be set: {failure}");
            }
        }
    }
}

pub(super) fn broken(why: &str) -> ConnectFault {
    ConnectFault::Broken { why: why.into(), wait: None }
}
