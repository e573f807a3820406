//! Who may talk to an agent and how it behaves among people, out of its settings.

use super::Reader;
use crate::agent::{AccessPolicy, Busy, People, Quote};
use crate::rules;
use crate::yaml::Node;
use insula_domain::{
    AllowList, ChatId, GroupRule, Platform, Reset, Respond, RoleId, Unknown, UserId,
};
use std::time::Duration;

/// Longest wait for the rest of a message: somebody waits for an answer meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Largest attachment that can be asked for: it is held in memory once.
const ATTACHMENT_BYTES_MAX: u64 = 200_000_000;

impl Reader<'_> {
    pub(super) fn access(&mut self, people: &People) -> AccessPolicy {
        let usual = AccessPolicy::default();
        let switch = |reader: &Self, path: &str, usual: bool| {
            reader.at(path).and_then(Node::bool).unwrap_or(usual)
        };
        let group = GroupRule {
            respond: match self.text("group.respond") {
                Some("all") => Respond::All,
                Some("never") => Respond::Never,
                _ => Respond::Mention,
            },
            observe: switch(self, "group.observe", usual.group.observe),
            invites: switch(self, "group.invites", usual.group.invites),
            threads: switch(self, "group.threads", usual.group.threads),
        };
        let burst = self.wait("sessions.burst").unwrap_or(usual.burst);
        let quiet = self.wait("sessions.quiet").unwrap_or(usual.quiet);
        let attachments = self.text("files.attachments").and_then(rules::size);
        let too_large = attachments.is_some_and(|size| size > ATTACHMENT_BYTES_MAX);
        if let Some(node) = self.at("files.attachments").filter(|_| too_large) {
            let span = node.span;
            let message = format!("agent `{}` would take in attachments of any size", self.id);
            let help = format!("at most {}MB are accepted", ATTACHMENT_BYTES_MAX / 1_000_000);
            self.error(span, message, Some(help));
        }
        AccessPolicy {
            allow: self.allow(people),
            unknown: match self.text("access.unknown") {
                Some("ignore") => Unknown::Ignore,
                _ => Unknown::Pair,
            },
            group,
            burst,
            quiet,
            busy: match self.text("sessions.busy") {
                Some("steer") => Busy::Steer,
                Some("interrupt") => Busy::Interrupt,
                _ => Busy::Queue,
            },
            reactions: switch(self, "sessions.reactions", usual.reactions),
            reset: self.reset(),
            attachment_bytes: attachments.unwrap_or(usual.attachment_bytes),
            quote: match self.text("quote") {
                Some("groups") => Quote::Groups,
                Some("never") => Quote::Never,
                _ => Quote::Always,
            },
        }
    }

    /// How long somebody is kept waiting for the rest of a message.
    fn wait(&mut self, path: &str) -> Option<Duration> {
        let wait = self.text(path).and_then(rules::duration)?;
        if let Some(node) = self.at(path).filter(|_| wait > WAIT_MAX) {
            let span = node.span;
            let message = format!("agent `{}` would wait long before every answer", self.id);
            let help = format!("give `{path}` at most {} s", WAIT_MAX.as_secs());
            self.error(span, message, Some(help));
        }
        Some(wait)
    }

    fn reset(&self) -> Reset {
        let idle = self.text("sessions.reset.idle").and_then(rules::duration);
        let minute = |text: &str| -> Option<u16> {
            let (hours, minutes) = text.split_once(':')?;
            Some(hours.parse::<u16>().ok()? * 60 + minutes.parse::<u16>().ok()?)
        };
        Reset {
            idle_ms: idle.and_then(|idle| u64::try_from(idle.as_millis()).ok()),
            daily_minute: self.text("sessions.reset.daily").and_then(minute),
        }
    }

    fn allow(&self, people: &People) -> AllowList {
        let mut allow = AllowList::default();
        for entry in self.at("access.allow").map(Node::items).unwrap_or_default() {
            let Some(text) = entry.text() else { continue };
            let Some((platform, who)) = text.split_once(':') else { continue };
            let Ok(platform) = Platform::new(platform) else { continue };
            if who == "*" {
                allow.everybody(platform);
            } else if let Some(role) = who.strip_prefix("role:") {
                if let Ok(role) = RoleId::new(role) {
                    allow.role(platform, role);
                }
            } else if let Some(chat) = who.strip_prefix("chat:") {
                if let Ok(chat) = ChatId::new(chat) {
                    allow.chat(platform, chat);
                }
            } else if let Ok(user) = UserId::new(who) {
                allow.user(platform, user, people.linked(text).cloned());
            }
        }
        allow
    }
}
