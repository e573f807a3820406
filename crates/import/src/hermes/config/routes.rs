//! Where messages to a profile come from: the gateway's routes, and what platforms are set to.

use super::At;
use crate::doc::texts;
use crate::hermes::{ROOT_AGENT, on};
use crate::names::{self, is_secret};
use crate::plan::{BindingPlan, Fate, Note};
use insula_config::yaml::{MapEntry, Node};
use serde_json::{Map, json};

impl At<'_, '_> {
    pub(super) fn gateway(&mut self, entry: &MapEntry) {
        for inner in entry.value.entries() {
            match &*inner.key {
                "profile_routes" | "routes" => self.routes(inner),
                "multiplex_profiles" => {}
                key => {
                    let what = format!("gateway.{key}");
                    self.say(Fate::NoPlace, inner, &what, "a setting of the other program");
                }
            }
        }
    }

    pub(super) fn routes(&mut self, entry: &MapEntry) {
        for route in entry.value.items() {
            let text = |key: &str| route.get(key).and_then(Node::text).filter(|it| !it.is_empty());
            let from = self.doc.place(route.span);
            let what = format!("profile route {}", text("name").unwrap_or_default());
            let trouble = |note: String| (Fate::Trouble, note);
            let outcome = match (text("profile"), text("platform").and_then(names::platform)) {
                _ if route.get("enabled").is_some_and(|it| !on(it)) => {
                    Err((Fate::NoPlace, "it was switched off".to_owned()))
                }
                (None, _) => Err(trouble("it names no profile".to_owned())),
                (_, None) => Err(trouble("its platform is not known here".to_owned())),
                (Some(profile), Some(platform)) => {
                    let profile = if profile == "default" { ROOT_AGENT } else { profile };
                    match names::agent_id(profile) {
                        None => Err(trouble(format!("`{profile}` is no profile"))),
                        Some(agent) => {
                            let mut fields = Map::new();
                            fields.insert("account".to_owned(), json!(self.profile.account));
                            for (ours, theirs) in [
                                ("guild", "guild_id"),
                                ("chat", "chat_id"),
                                ("topic", "thread_id"),
                                ("user", "user_id"),
                            ] {
                                if let Some(value) = text(theirs) {
                                    fields.insert(ours.to_owned(), json!(value));
                                }
                            }
                            let mut whole = Map::new();
                            whole.insert(platform.to_string(), fields.into());
                            Ok(BindingPlan { agent, fields: whole, from: from.clone() })
                        }
                    }
                }
            };
            match outcome {
                Ok(binding) => {
                    let note = format!("a binding to `{}`", binding.agent);
                    self.plan.row(Fate::Comes, None, Note { what: what.trim(), from, note: &note });
                    self.plan.bindings.push(binding);
                }
                Err((fate, note)) => {
                    self.plan.row(fate, None, Note { what: what.trim(), from, note: &note })
                }
            }
        }
    }

    /// Settings of a platform, or of several below `platforms`.
    pub(super) fn platform(&mut self, entry: &MapEntry) {
        if &*entry.key == "platforms" {
            for inner in entry.value.entries() {
                self.platform(inner);
            }
            return;
        }
        for inner in entry.value.entries() {
            let what = format!("{}.{}", entry.key, inner.key);
            match &*inner.key {
                "require_mention" if on(&inner.value) => {
                    self.say(
                        Fate::Comes,
                        inner,
                        &what,
                        "it answers in groups when it is mentioned",
                    );
                }
                "require_mention" => {
                    let note = "it answered everything in groups; here it answers when it is mentioned. Write `group: {respond: all}` if you mean it";
                    self.say(Fate::Closed, inner, &what, note);
                }
                "free_response_channels" | "free_response_chats" | "free_response_rooms"
                    if !texts(&inner.value).is_empty() =>
                {
                    let note = "it answered everything there; here bind the chat with `group: {respond: all}`";
                    self.say(Fate::Closed, inner, &what, note);
                }
                "allowed_chats" | "allowed_channels" | "allowed_rooms"
                    if !texts(&inner.value).is_empty() =>
                {
                    let note = "here people decide and not chats: whoever may talk to it is answered in every chat; bind chats to say it more closely";
                    self.say(Fate::Changes, inner, &what, note);
                }
                "token" | "api_key"
                    if is_secret(&inner.key, inner.value.text().unwrap_or_default()) =>
                {
                    let note = "set it again by `insula secret set`, and name it in the account";
                    self.say(Fate::Changes, inner, &what, note);
                }
                _ => self.say(Fate::NoPlace, inner, &what, "a setting of the other program"),
            }
        }
    }
}
