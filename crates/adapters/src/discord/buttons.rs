//! Buttons and the commands of the menu: what is put into a button, and what is answered when one
//! is pressed, which has to be within three seconds.
//!
//! What a button carries comes back from a client. It has a mark that only we can make, for this
//! account, channel and button; the rest is the gateway's to look up.

use super::Discord;
use super::api::Call;
use super::limits::Route;
use super::types::{Interaction, is_id};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use insula_channel::Button;
use insula_domain::AccountId;
use insula_wire::Method;
use ring::hmac;
use serde_json::{Value, json};

/// The longest words of a button, in characters.
const LABEL_CHARS_MAX: usize = 80;
/// Buttons of a row, and rows of a message.
const ROW_MAX: usize = 5;
/// How much of a mark is in a button, in bytes: with what a button carries it has to be within a
/// hundred characters.
const MARK_LEN: usize = 16;
/// The most of what whoever pressed is told, in characters.
const TOLD_CHARS_MAX: usize = 2000;
/// What makes an answer visible to nobody but whom it is for.
pub(super) const ONLY_THEM: u64 = 1 << 6;

/// What marks buttons.
pub(super) struct Marks {
    key: hmac::Key,
}

impl Marks {
    pub(super) fn new(token: &str) -> Self {
        let key = blake3::derive_key("insula 2026-11 discord buttons", token.as_bytes());
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &key) }
    }

    fn mark(&self, account: &AccountId, channel: &str, data: &str) -> String {
        // No part has a zero byte in it, so no two read alike.
        let marked = [account.as_str(), channel, data].join("\0");
        let tag = hmac::sign(&self.key, marked.as_bytes());
        URL_SAFE_NO_PAD.encode(&tag.as_ref()[..MARK_LEN])
    }

    /// What is in a button of ours.
    pub(super) fn unmarked<'b>(
        &self,
        account: &AccountId,
        channel: &str,
        custom_id: &'b str,
    ) -> Option<&'b str> {
        let (mark, data) = custom_id.split_once('.')?;
        let expected = self.mark(account, channel, data);
        // Compared in constant time.
        let is_same = mark.len() == expected.len()
            && mark.bytes().zip(expected.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0;
        is_same.then_some(data)
    }

    /// Buttons as a message has them.
    pub(super) fn rows(
        &self,
        account: &AccountId,
        channel: &str,
        buttons: &[Vec<Button>],
    ) -> Value {
        let rows = buttons.iter().flat_map(|row| row.chunks(ROW_MAX)).take(ROW_MAX);
        let rows = rows.map(|row| {
            let row = row.iter().map(|button| {
                let label: String = button.label.chars().take(LABEL_CHARS_MAX).collect();
                let mark = self.mark(account, channel, &button.data);
                json!({
                    "type": 2, "style": 2, "label": label,
                    "custom_id": format!("{mark}.{}", button.data),
                })
            });
            json!({ "type": 1, "components": row.collect::<Vec<_>>() })
        });
        rows.collect()
    }
}

/// What is answered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtOnce {
    /// The press was heard; what comes of it shows in the message.
    Heard,
    /// The command was heard; the answer comes as a message.
    Thinking,
    /// Neither is ours.
    NoLonger,
}

impl Discord {
    /// Answers an interaction before its three seconds are over.
    pub(super) async fn answer(&self, interaction: &Interaction, how: AtOnce) {
        let body = match how {
            AtOnce::Heard => json!({ "type": 6 }),
            AtOnce::Thinking => json!({ "type": 5, "data": { "flags": ONLY_THEM } }),
            AtOnce::NoLonger => json!({ "type": 4, "data": {
                "flags": ONLY_THEM, "content": "this is no longer good",
                "allowed_mentions": { "parse": [] },
            } }),
        };
        let Interaction { id, token, .. } = interaction;
        let call = Call {
            route: Route::of_interaction("POST callback", id),
            method: Method::POST,
            path: format!("/interactions/{id}/{token}/callback"),
        };
        if let Err(trouble) = self.api.tell(call, Some(&body)).await {
            let account = &self.account;
            tracing::debug!(%account, ?trouble, "an interaction was not answered in time");
        }
    }

    /// Tells whoever pressed a button something, and nobody else.
    pub(super) async fn tell_presser(&self, press: &str, text: &str) {
        let token = self.known().presses.remove(press);
        let (Some(token), Some(us)) = (token, self.known().us.clone()) else { return };
        if text.trim().is_empty() {
            return;
        }
        let text: String = text.chars().take(TOLD_CHARS_MAX).collect();
        let body = json!({
            "content": text, "flags": ONLY_THEM, "allowed_mentions": { "parse": [] },
        });
        let call = Call {
            route: Route::of_interaction("POST webhook", &token),
            method: Method::POST,
            path: format!("/webhooks/{}/{token}", us.application),
        };
        let _ = self.api.tell(call, Some(&body)).await;
    }

    /// Shows whoever used a command what was heard, in the place of what shows that it is heard.
    pub(super) async fn echo(&self, interaction: &Interaction, application: &str, text: &str) {
        let text: String = text.chars().take(TOLD_CHARS_MAX - 2).collect();
        let shown = format!("`{}`", text.replace('`', "'"));
        let body = json!({ "content": shown, "allowed_mentions": { "parse": [] } });
        let token = &interaction.token;
        let call = Call {
            route: Route::of_interaction("PATCH webhook", token),
            method: Method::PATCH,
            path: format!("/webhooks/{application}/{token}/messages/@original"),
        };
        let _ = self.api.tell(call, Some(&body)).await;
    }
}

impl Interaction {
    /// Whether its ids are some, and can stand in an address.
    pub(super) fn is_sound(&self) -> bool {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'=');
        is_id(&self.id)
            && is_id(&self.channel_id)
            && (1..=1024).contains(&self.token.len())
            && self.token.bytes().all(is_plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_good_for_its_account_channel_and_button_alone() {
        let account = |name: &str| AccountId::new(name).unwrap();
        let marks = Marks::new("token");
        let data = "d".repeat(64);
        let button = |label: &str| Button { label: label.into(), data: data.as_str().into() };
        let rows = marks.rows(&account("a"), "1", &[vec![button(&"l".repeat(99))]]);
        let made = &rows[0]["components"][0];
        assert_eq!(made["label"].as_str().unwrap().len(), 80);
        let id = made["custom_id"].as_str().unwrap();
        assert!(id.len() <= 100, "{}", id.len());
        assert_eq!(marks.unmarked(&account("a"), "1", id), Some(data.as_str()));
        let other = format!("{id}x");
        for (name, channel, id) in [
            ("b", "1", id),
            ("a", "2", id),
            ("a", "1", other.as_str()),
            ("a", "1", &data),
            ("a", "1", ""),
            ("a", "1", "é.d"),
        ] {
            assert_eq!(marks.unmarked(&account(name), channel, id), None);
        }
        assert_eq!(Marks::new("another").unmarked(&account("a"), "1", id), None);
    }

    #[test]
    fn rows_have_five_buttons_at_most_and_messages_five_rows() {
        let marks = Marks::new("token");
        let button = || Button { label: "l".into(), data: "d".into() };
        let account = AccountId::new("a").unwrap();
        let many = vec![(0..12).map(|_| button()).collect(), vec![button()], vec![button()]];
        let rows = marks.rows(&account, "1", &many);
        let lens: Vec<usize> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["components"].as_array().unwrap().len())
            .collect();
        assert_eq!(lens, [5, 5, 2, 1, 1]);
        assert_eq!(marks.rows(&account, "1", &[]), json!([]));
    }
}
