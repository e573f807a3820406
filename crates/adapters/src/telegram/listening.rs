//! Listening, in both of the platform's ways.
//!
//! Asking: the `offset` of the next question acknowledges what came before, so it is raised
//! only after the gateway has taken what came. Being called: the answer 2xx acknowledges.

use super::Telegram;
use super::failure::Failure;
use super::reading::Reader;
use super::types::{Update, UpdateId, WebhookInfo};
use super::words::Myself;
use insula_channel::{ConnectFault, Cursor, Envelope, Inbox, WebAnswer, WebRequest};
use insula_world::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long the platform is asked to hold its answer back: what it allows.
const HELD: Duration = Duration::from_secs(50);
/// How often the platform is asked whether it still calls us.
const WEBHOOK_CHECKED: Duration = Duration::from_secs(60);
/// More than either; the next answer may take its time.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(120);
/// How many updates come at once; what the platform allows.
const UPDATES_MAX: usize = 100;
/// How long a stored offset means anything. After a week without updates the platform begins to
/// count anywhere, and a stale offset would acknowledge what nobody has seen.
const CURSOR_KEPT_S: i64 = 5 * 24 * 3600;
/// What is listened to.
const ALLOWED: [&str; 8] = [
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "callback_query",
    "message_reaction",
    "my_chat_member",
    "chat_member",
];
/// The header by which the platform proves that it calls.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";

impl Telegram {
    /// Asks for updates until `stop`.
    pub(super) async fn poll(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let fault = |failure: Failure| failure.to_fault();
        let myself = self.myself().await.map_err(fault)?;
        // Asking is refused while a webhook is set.
        let _: Value = self.api.call("deleteWebhook", &json!({})).await.map_err(fault)?;
        inbox.alive();
        let cursor = inbox.cursor().await.map_err(|error| broken(&error.0))?;
        let mut offset = cursor.and_then(|cursor| offset(&cursor, self.clock.now()));
        let mut limit = UPDATES_MAX;
        loop {
            let mut arguments = json!({
                "timeout": HELD.as_secs(),
                "limit": limit,
                "allowed_updates": ALLOWED,
            });
            if let Some(offset) = offset {
                arguments["offset"] = json!(offset);
            }
            let asked =
                self.api.wait::<Vec<Box<RawValue>>>("getUpdates", &arguments, HELD, stop).await;
            if stop.is_cancelled() {
                return Ok(());
            }
            let updates = match asked {
                // Many long messages at once, as a flood has them: fewer at a time.
                Err(Failure::Wire(insula_wire::WireFault::TooMuch { .. })) if limit > 1 => {
                    limit /= 4;
                    limit = limit.max(1);
                    continue;
                }
                asked => asked.map_err(fault)?,
            };
            limit = UPDATES_MAX;
            inbox.alive();
            if updates.is_empty() {
                // What came is acknowledged by now, and the platform remembers that itself.
                offset = None;
                continue;
            }
            let (envelopes, next) = self.read_all(&updates, &myself)?;
            let cursor = Cursor(format!("{next} {}", self.clock.now().as_millis() / 1000).into());
            inbox.take(envelopes, Some(cursor)).await.map_err(|error| broken(&error.0))?;
            offset = Some(next);
        }
    }

    /// The envelopes of some updates, and the offset that acknowledges them all.
    fn read_all(
        &self,
        updates: &[Box<RawValue>],
        myself: &Myself,
    ) -> Result<(Vec<Envelope>, i64), ConnectFault> {
        let mut envelopes = vec![];
        let mut next = None;
        for raw in updates {
            // Without its id an update can't be acknowledged, and would come for ever.
            let Ok(UpdateId { update_id }) = serde_json::from_str(raw.get()) else { continue };
            next = next.max(Some(update_id.saturating_add(1)));
            envelopes.extend(self.read(raw.get().as_bytes(), myself));
        }
        let next = next.ok_or_else(|| broken("Telegram sent updates that have no id"))?;
        Ok((envelopes, next))
    }

    /// The envelope of one update. What can't be read is left out: it would be the same the
    /// next time, and nothing behind it would ever come.
    fn read(&self, raw: &[u8], myself: &Myself) -> Option<Envelope> {
        let reader = Reader {
            platform: self.platform,
            account: &self.account,
            myself,
            now: self.clock.now(),
        };
        match serde_json::from_slice::<Update>(raw) {
            Ok(update) => reader.read(update),
            Err(error) => {
                // The error names fields and places, not what was said.
                let (line, column) = (error.line(), error.column());
                tracing::warn!(
                    account = %self.account,
                    "an update that can't be read was left out ({:?} at {line}:{column})",
                    error.classify()
                );
                None
            }
        }
    }

    /// Has the platform call us until `stop`, and looks now and then whether it still would.
    pub(super) async fn be_called(
        &self,
        url: &str,
        secret: &SecretString,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let fault = |failure: Failure| failure.to_fault();
        self.myself().await.map_err(fault)?;
        let arguments = json!({
            "url": url,
            "secret_token": secret.expose_secret(),
            "allowed_updates": ALLOWED,
            // One after the other: two at once would change their order.
            "max_connections": 1,
        });
        let _: Value = self.api.call("setWebhook", &arguments).await.map_err(fault)?;
        loop {
            inbox.alive();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = self.clock.sleep(WEBHOOK_CHECKED) => {}
            }
            let info: WebhookInfo =
                self.api.call("getWebhookInfo", &json!({})).await.map_err(fault)?;
            if info.url != url {
                return Err(broken(
                    "another program changed this bot's webhook; stop it, or make a bot of its \
                     own for each",
                ));
            }
        }
    }

    /// Takes a request that says it comes from the platform.
    pub(super) async fn called(
        &self,
        request: &WebRequest,
        secret: &SecretString,
        inbox: &dyn Inbox,
    ) -> WebAnswer {
        let said = request.header(SECRET_HEADER);
        // Hashes are compared in constant time, and have one length.
        let hash = |text: &str| blake3::hash(text.as_bytes());
        let is_right = said.is_some_and(|said| hash(said) == hash(secret.expose_secret()));
        if !is_right {
            return WebAnswer::refused();
        }
        let Ok(myself) = self.myself().await else { return WebAnswer::later() };
        inbox.alive();
        let envelopes: Vec<Envelope> = self.read(&request.body, &myself).into_iter().collect();
        if !envelopes.is_empty() && inbox.take(envelopes, None).await.is_err() {
            return WebAnswer::later();
        }
        WebAnswer::empty(200)
    }
}

/// The offset in a cursor that is young enough to mean something.
fn offset(cursor: &Cursor, now: Timestamp) -> Option<i64> {
    let (offset, at) = cursor.0.split_once(' ')?;
    let age = now.as_millis() / 1000 - at.parse::<i64>().ok()?;
    offset.parse().ok().filter(|_| age.abs() < CURSOR_KEPT_S)
}

fn broken(why: &str) -> ConnectFault {
    ConnectFault::Broken { why: why.into(), wait: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_forgotten_before_the_platform_counts_anew() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let read = |text: &str| offset(&Cursor(text.into()), now);
        assert_eq!(read("17 1000000000"), Some(17));
        assert_eq!(read("17 999600000"), Some(17));
        assert_eq!(read("17 999500000"), None);
        for nonsense in ["", "17", "x 1000000000", "17 x", "17 999999999 1"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
