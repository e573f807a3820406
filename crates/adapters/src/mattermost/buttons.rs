//! Buttons, and the requests that a server makes when one is pressed.
//!
//! Those requests are signed by nobody. What we put into a button comes back with them, and no
//! client is shown it: so it carries a mark that only we can make, for this account, chat and
//! button.

use super::Mattermost;
use super::reading::Scene;
use super::types::{Pressed, is_id};
use crate::seal::Seal;
use insula_channel::{Button, Inbox, Press, WebAnswer, WebMethod, WebRequest};
use insula_domain::AccountId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The longest words of a button, in characters: clients cut what is longer.
const LABEL_CHARS_MAX: usize = 40;
/// The most of what whoever pressed is told, in characters.
const TOLD_CHARS_MAX: usize = 1000;

/// Where buttons lead, and what marks them.
pub(super) struct Hook {
    url: Box<str>,
    seal: Seal,
}

impl Hook {
    /// Buttons that lead to `public_url`, marked with `secret`.
    pub(super) fn new(account: &AccountId, public_url: &str, secret: &[u8]) -> Self {
        Self {
            url: format!("{}/hooks/mattermost/{account}", public_url.trim_end_matches('/')).into(),
            seal: Seal::new("insula 2026-11 mattermost buttons", secret),
        }
    }

    /// The mark of a button.
    fn mark(&self, account: &AccountId, channel: &str, data: &str) -> String {
        self.seal.mark(&[account.as_str(), channel, data])
    }

    fn is_ours(&self, account: &AccountId, pressed: &Pressed) -> bool {
        let Pressed { channel_id, context, .. } = pressed;
        self.seal.is_of(&[account.as_str(), channel_id, &context.data], &context.mac)
    }

    /// What a message has besides its words for these buttons.
    pub(super) fn attachments(
        &self,
        account: &AccountId,
        channel: &str,
        buttons: &[Vec<Button>],
    ) -> Value {
        let actions = buttons.iter().flatten().enumerate().map(|(number, button)| {
            let label: String = button.label.chars().take(LABEL_CHARS_MAX).collect();
            json!({
                // Letters and digits, or the server does not find the button again.
                "id": format!("b{number}"),
                "type": "button",
                "name": label,
                "integration": {
                    "url": &*self.url,
                    "context": {
                        "data": &*button.data,
                        "mac": self.mark(account, channel, &button.data),
                    },
                },
            })
        });
        let actions: Vec<Value> = actions.collect();
        if actions.is_empty() { json!([]) } else { json!([{ "text": "", "actions": actions }]) }
    }
}

impl Mattermost {
    /// Takes a request that says that a button was pressed.
    pub(super) async fn pressed(&self, request: &WebRequest, inbox: &dyn Inbox) -> WebAnswer {
        let Some(hook) = self.hook.as_ref().filter(|_| request.method == WebMethod::Post) else {
            return WebAnswer::refused();
        };
        let Ok(pressed) = serde_json::from_slice::<Pressed>(&request.body) else {
            return WebAnswer::refused();
        };
        if !hook.is_ours(&self.account, &pressed) {
            return WebAnswer::refused();
        }
        let Pressed { user_id, post_id, channel_id, trigger_id, context } = pressed;
        let stop = CancellationToken::new();
        let (Ok(us), Ok(note), Ok(channel), Ok(person)) = (
            self.us(),
            self.note(&post_id, &stop).await,
            self.channel(&channel_id, &stop).await,
            self.person(&user_id, &stop).await,
        ) else {
            return WebAnswer::later();
        };
        let (Some(note), Some(channel), Some(person)) = (note, channel, person) else {
            return WebAnswer::refused();
        };
        // The button stands under a message of ours, where it says that it does.
        if *note.user != *us.id || *note.channel != *channel_id {
            return WebAnswer::refused();
        }
        let handle: Box<str> = match trigger_id.is_empty() || trigger_id.len() > 512 {
            true => return WebAnswer::refused(),
            // One name for one press, and short whatever the server's is.
            false => blake3::hash(trigger_id.as_bytes()).to_hex().as_str().into(),
        };
        let message = insula_channel::MessageId(post_id.into());
        let press = Press { handle: handle.clone(), message, data: context.data.into() };
        let scene = Scene { channel: &channel, root: note.root.as_deref(), person: Some(&person) };
        let now = self.clock.now().as_millis();
        let Some(envelope) = self.reader(&us).press(scene, press, now) else {
            return WebAnswer::refused();
        };
        if inbox.take(vec![envelope], None).await.is_err() {
            return WebAnswer::later();
        }
        let told = self.known().answers.remove(&handle).unwrap_or_default();
        let told: String = told.chars().take(TOLD_CHARS_MAX).collect();
        let answer = if told.is_empty() { json!({}) } else { json!({ "ephemeral_text": told }) };
        WebAnswer::json(200, answer.to_string())
    }

    /// Whether a button can lead anywhere.
    pub(super) fn has_buttons(&self) -> bool {
        self.hook.is_some()
    }

    /// What a message has besides its words.
    pub(super) fn props(&self, channel: &str, buttons: &[Vec<Button>]) -> Value {
        match self.hook.as_ref().filter(|_| is_id(channel)) {
            Some(hook) => {
                json!({ "attachments": hook.attachments(&self.account, channel, buttons) })
            }
            None => json!({ "attachments": [] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_good_for_its_account_chat_and_button_alone() {
        let account = |name: &str| AccountId::new(name).unwrap();
        let hook = Hook::new(&account("a"), "https://e.org/in/", b"secret");
        assert_eq!(&*hook.url, "https://e.org/in/hooks/mattermost/a");
        let rows = [vec![Button { label: "Yes".into(), data: "d1".into() }]];
        let made = hook.attachments(&account("a"), "c1", &rows);
        let context = &made[0]["actions"][0]["integration"]["context"];
        let mac = context["mac"].as_str().unwrap();
        let pressed = |channel: &str, data: &str, mac: &str| Pressed {
            user_id: "u".into(),
            post_id: "p".into(),
            channel_id: channel.into(),
            trigger_id: "t".into(),
            context: super::super::types::PressedContext { data: data.into(), mac: mac.into() },
        };
        assert!(hook.is_ours(&account("a"), &pressed("c1", "d1", mac)));
        for (name, channel, data, mac) in [
            ("b", "c1", "d1", mac),
            ("a", "c2", "d1", mac),
            ("a", "c1", "d2", mac),
            ("a", "c1", "d1", &mac[..62]),
            ("a", "c1", "d1", ""),
            ("a", "c1", "d1", "zz"),
            ("a", "c1", "d1", &"é".repeat(32)),
        ] {
            assert!(!hook.is_ours(&account(name), &pressed(channel, data, mac)));
        }
        let other = Hook::new(&account("a"), "https://e.org/in/", b"another");
        assert!(!other.is_ours(&account("a"), &pressed("c1", "d1", mac)));
        assert_eq!(hook.attachments(&account("a"), "c1", &[]), json!([]));
    }
}
