//! What the platform tells our webhook: what people say, and what became of what we said.
//!
//! A request is believed by `X-Hub-Signature-256`, an HMAC of its raw body with the app's secret.
//! The signature has no time in it, so a copy of an old request would be believed again: what is
//! older than the platform ever delivers is left out, and the rest the ledger of events knows.

use super::WhatsApp;
use super::failure::Failure;
use super::known::Outcome;
use super::reading::Reader;
use super::types::{Called, Changed, Status};
use crate::hex::unhexed;
use insula_channel::{Cursor, Envelope, Inbox, WebAnswer, WebMethod, WebRequest};
use ring::hmac;
use secrecy::ExposeSecret as _;

/// How long the platform tries to deliver something. What is older is a copy.
const DELIVERED_FOR_S: i64 = 7 * 24 * 3600;
/// Changes of one request, at most.
const CHANGES_MAX: usize = 2000;

impl WhatsApp {
    pub(super) async fn called(&self, request: &WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        match request.method {
            WebMethod::Get => self.asked(request),
            WebMethod::Post => self.told(request, inbox).await,
        }
    }

    /// The platform asks whether this is the place, when an operator enters it there.
    fn asked(&self, request: &WebRequest) -> WebAnswer {
        let said = request.query("hub.verify_token").unwrap_or_default();
        // Hashes are compared in constant time, and have one length.
        let hash = |text: &str| blake3::hash(text.as_bytes());
        let is_right = hash(&said) == hash(self.verify_token.expose_secret());
        let is_asked = request.query("hub.mode").as_deref() == Some("subscribe");
        match request.query("hub.challenge") {
            Some(challenge) if is_right && is_asked => WebAnswer::text(200, challenge),
            _ => WebAnswer::refused(),
        }
    }

    async fn told(&self, request: &WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        if !self.is_signed(request) {
            return WebAnswer::refused();
        }
        inbox.alive();
        let called = match serde_json::from_slice::<Called>(&request.body) {
            Ok(called) => called,
            Err(error) => {
                // The error names fields and places, not what was said.
                let (line, column) = (error.line(), error.column());
                tracing::warn!(
                    account = %self.account,
                    "an event that can't be read was left out ({:?} at {line}:{column})",
                    error.classify()
                );
                return WebAnswer::empty(200);
            }
        };
        let is_ours = called.object == "whatsapp_business_account";
        let changes = called.entry.into_iter().flat_map(|entry| entry.changes);
        let changes = changes.filter(|it| is_ours && it.field == "messages").take(CHANGES_MAX);
        let mut envelopes = vec![];
        let mut statuses = vec![];
        for change in changes {
            if !self.is_for_us(&change.value) {
                continue;
            }
            envelopes.extend(self.read(&change.value));
            statuses.extend(change.value.statuses);
        }
        if !envelopes.is_empty() && self.take(envelopes, inbox).await.is_err() {
            return WebAnswer::later();
        }
        for status in statuses {
            self.became(status).await;
        }
        WebAnswer::empty(200)
    }

    fn is_signed(&self, request: &WebRequest) -> bool {
        let signature = request.header("x-hub-signature-256");
        let hex = signature.and_then(|it| it.strip_prefix("sha256=")).unwrap_or_default();
        let Some(tag) = unhexed(hex) else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.expose_secret().as_bytes());
        hmac::verify(&key, &request.body, &tag).is_ok()
    }

    /// An app with several numbers is told of all in one place, unless each has a place of its own.
    fn is_for_us(&self, changed: &Changed) -> bool {
        let number = &changed.metadata.phone_number_id;
        if *number == *self.phone {
            return true;
        }
        if !std::mem::replace(&mut self.known().told_of_strangers, true) {
            tracing::warn!(
                account = %self.account,
                number = %insula_wire::excerpt(number),
                "WhatsApp tells this account of messages to another number; they are left out. Set \
                 `public_url`, so that each number has an address of its own"
            );
        }
        false
    }

    fn read(&self, changed: &Changed) -> Vec<Envelope> {
        let (platform, account) = (self.platform, &self.account);
        let mut envelopes = Reader { platform, account, phone: &self.phone }.read(changed);
        let oldest = self.now() - DELIVERED_FOR_S;
        let count = envelopes.len();
        envelopes.retain(|envelope| envelope.at.as_millis() / 1000 >= oldest);
        let lost = count - envelopes.len();
        if lost > 0 {
            tracing::warn!(account = %self.account, lost, "events that are older than WhatsApp delivers any were left out");
        }
        envelopes
    }

    async fn take(
        &self,
        mut envelopes: Vec<Envelope>,
        inbox: &dyn Inbox,
    ) -> Result<(), insula_channel::NotTaken> {
        self.load(inbox).await?;
        envelopes.sort_by_key(|envelope| envelope.at);
        let heard: Vec<(String, i64, String)> = envelopes
            .iter()
            .map(|it| {
                let id = it.event.0.rsplit_once('/').map_or(&*it.event.0, |(_, id)| id);
                (it.address.chat.to_string(), it.at.as_millis() / 1000, id.to_owned())
            })
            .collect();
        let cursor = {
            let mut known = self.known();
            for (chat, at, message) in &heard {
                known.hear(chat, *at, message);
            }
            Cursor(known.cursor().into())
        };
        inbox.take(envelopes, Some(cursor)).await
    }

    /// Reads, once, when chats last wrote before this run.
    pub(super) async fn load(&self, inbox: &dyn Inbox) -> Result<(), insula_channel::NotTaken> {
        if self.known().is_loaded {
            return Ok(());
        }
        let cursor = inbox.cursor().await?;
        self.known().load(cursor.as_ref().map(|cursor| &*cursor.0));
        Ok(())
    }

    /// What became of a message of ours.
    async fn became(&self, status: Status) {
        let mark = status.biz_opaque_callback_data.as_deref().filter(|mark| mark.len() <= 512);
        let failed = status.status == "failed";
        if let Some(mark) = mark {
            let outcome = match failed {
                true => Outcome::Failed(Failure::of_status(&status.errors)),
                false => Outcome::Taken(status.id.as_str().into()),
            };
            self.known().settle(mark, outcome);
            self.settled.send_modify(|count| *count = count.wrapping_add(1));
        }
        let waiting = self.known().confirmed(&status.id);
        if !failed {
            return;
        }
        let failure = Failure::of_status(&status.errors);
        if !failure.is_window_over() {
            tracing::warn!(account = %self.account, message = %insula_wire::excerpt(&status.id), "a message that WhatsApp had taken was not delivered: {failure}");
            return;
        }
        let chat = waiting.as_ref().map(|it| it.target.chat.to_string()).or(status.recipient_id);
        if let Some(chat) = &chat {
            self.known().close(chat);
        }
        // The platform took it and changed its mind: what it said goes by the template.
        let told = match waiting {
            Some(waiting) => self.reopen(&waiting.target, &waiting.text, mark).await.map(|_| ()),
            None => Err(failure.to_post_error(crate::class::Repeat::Doubles)),
        };
        if let Err(error) = told {
            tracing::warn!(account = %self.account, message = %insula_wire::excerpt(&status.id), "a message was not delivered: {error}");
        }
    }
}
