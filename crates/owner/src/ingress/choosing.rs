//! `/model`, `/sessions` and `/compress`: which model answers in a conversation, which of those that
//! there were in a chat goes on, and that the older part of one becomes notes.

use super::looking::BUSY;
use super::stored::StoredMessage;
use super::{Ingress, IngressContext};
use insula_channel::Happening;
use insula_config::model::ModelRef;
use insula_domain::{Actor, Address, marks};
use insula_registry::AgentContext;
use insula_registry::context::ModelChain;
use insula_store::{Message, MessageSeq, Role, Session, SessionState, StoreError};
use insula_turns::Wished;
use insula_turns::messages::text_of;

/// Conversations that one answer lists.
const SESSIONS_SHOWN: usize = 10;
/// Conversations that are looked through for those of one chat.
const SESSIONS_LOOKED_AT: usize = 500;
/// What stands for the models that the configuration names.
const USUAL: &str = "default";

impl Ingress {
    /// Says which models may answer here, or has one of them do it from now on.
    pub(super) async fn model(&self, cx: &IngressContext<'_>, wanted: &str) -> String {
        let ways = self.access.ways(&cx.agent.id, &cx.envelope.address);
        let served = match cx.agent.through(&ways) {
            Ok(served) => served,
            Err(why) => return format!("I can't serve here: {why}"),
        };
        let open = served.models.open_to(cx.caller.is_admin());
        let done = match wanted {
            "" => self.engine.chosen_model(&served, &cx.session).await.map(|chosen| {
                // One that a way in takes away is passed over.
                told(&served.models, chosen.as_ref(), &open)
            }),
            USUAL => self
                .choose(cx, None)
                .await
                .map(|()| format!("{} answers here again", first(&served))),
            wanted => match chosen(&served.models, &open, wanted) {
                Ok(model) => self.choose(cx, Some(model)).await.map(|()| {
                    format!(
                        "{model} answers here from your next message on; /model {USUAL} goes back"
                    )
                }),
                Err(why) => Ok(why),
            },
        };
        done.unwrap_or_else(|error| super::act::told(cx.agent, "that can't be changed now", &error))
    }

    async fn choose(
        &self,
        cx: &IngressContext<'_>,
        model: Option<&ModelRef>,
    ) -> Result<(), StoreError> {
        let IngressContext { agent, caller, envelope, session, .. } = cx;
        let Happening::Said(message) = &envelope.what else { return Ok(()) };
        let kept = StoredMessage::of(envelope, message, &caller.principal.user);
        let user = caller.principal.user.clone();
        let inbound = self.inbound(agent, session, &envelope.address, user, &kept, &kept);
        self.engine.choose_model(&inbound, model).await
    }

    /// The conversations that there were in this chat, the newest first; with a number, the one
    /// that goes on.
    pub(super) async fn sessions(
        &self,
        cx: &IngressContext<'_>,
        wanted: &str,
    ) -> Result<String, StoreError> {
        let all = self.sessions_here(cx).await?;
        if wanted.is_empty() {
            let mut lines = Vec::new();
            for (at, session) in all.iter().enumerate() {
                let now = if session.state == SessionState::Current { " (this one)" } else { "" };
                lines.push(format!("{}. {}{now}", at + 1, self.named_session(cx, session).await?));
            }
            return Ok(match lines.len() {
                0 => "nothing was said here yet".to_owned(),
                1 => lines.join("\n"),
                _ => lines.join("\n") + "\n/sessions NUMBER goes on with one of them",
            });
        }
        let number = wanted.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let Some(session) = number.and_then(|at| all.get(at)) else {
            return Ok(format!("there is no conversation {wanted} here; /sessions lists them"));
        };
        if session.state == SessionState::Current {
            return Ok("that is this one".to_owned());
        }
        // What was said in one scope never becomes the history of another.
        let known =
            Address { user: Some(cx.caller.principal.user.clone()), ..cx.envelope.address.clone() };
        let caps = self.engine.capabilities();
        let scope = caps.written_scope(cx.agent, &cx.agent.scope(&known), &cx.session).await;
        if session.scope != scope {
            return Ok("that one belongs to another memory than what is said here now".to_owned());
        }
        if self.engine.under_way(&cx.session) > 0 {
            return Ok(BUSY.to_owned());
        }
        self.engine.go_on_in(cx.agent, &cx.session, session.id).await?;
        Ok(format!("we go on where we were: {}", self.named_session(cx, session).await?))
    }

    /// When something was last said in a conversation, by the clocks of whoever asks, and what it is
    /// called or how it began.
    async fn named_session(
        &self,
        cx: &IngressContext<'_>,
        session: &Session,
    ) -> Result<String, StoreError> {
        let zone = cx.agent.conversations.zones.of(&Actor::from(&cx.envelope.address));
        let title = match &session.title {
            Some(title) => Some(title.clone()),
            None => {
                let store = &cx.agent.store;
                let first = store.messages_after(session.id, MessageSeq::default(), 1).await?;
                let first = first.first().filter(|it| it.role == Role::User);
                let words = |it: &Message| self.engine.told(cx.agent, text_of(&it.parts));
                first.and_then(|it| marks::title(&words(it)))
            }
        };
        let title = title.map(|it| format!(": {it}")).unwrap_or_default();
        Ok(format!("{}{title}", zone.minute(session.active_at.as_millis())))
    }

    /// Those that are listed, in their order.
    async fn sessions_here(&self, cx: &IngressContext<'_>) -> Result<Vec<Session>, StoreError> {
        let key = cx.session.to_string();
        let mut all = cx.agent.store.sessions(None, SESSIONS_LOOKED_AT).await?;
        all.retain(|it| *it.key == *key && it.state != SessionState::Forgotten);
        all.truncate(SESSIONS_SHOWN);
        Ok(all)
    }

    /// Has the older part of this conversation become notes.
    pub(super) async fn compress(&self, cx: &IngressContext<'_>) -> Result<String, StoreError> {
        Ok(match self.engine.compress_next(cx.agent, &cx.session).await? {
            Wished::Yes => {
                "before my next answer I make notes of what was said so far, and go on from those"
            }
            Wished::Nothing => "there is too little here to make notes of",
        }
        .to_owned())
    }
}

fn first(agent: &AgentContext) -> String {
    agent.models.models.first().map(ToString::to_string).unwrap_or_default()
}

/// Which of them a text means, or why none.
fn chosen<'m>(
    models: &'m ModelChain,
    open: &[&'m ModelRef],
    wanted: &str,
) -> Result<&'m ModelRef, String> {
    models.meant(open, wanted).ok_or_else(|| match open.is_empty() {
        true => "there is no other model to choose here".to_owned(),
        false => format!(
            "`{}` is none that you can choose; /model lists them",
            super::words::name(wanted)
        ),
    })
}

/// What answers here, and what else could.
fn told(models: &ModelChain, chosen: Option<&ModelRef>, open: &[&ModelRef]) -> String {
    let usual = models.models.iter().filter(|it| Some(*it) != chosen);
    let all: Vec<String> = chosen.into_iter().chain(usual).map(ToString::to_string).collect();
    let mut told = match all.as_slice() {
        [] => "no model answers here".to_owned(),
        [one] => format!("{one} answers here"),
        [first, rest @ ..] => format!("{first} answers here; where it can't: {}", rest.join(", ")),
    };
    let lines = open.iter().enumerate().map(|(at, model)| format!("\n{}. {model}", at + 1));
    let lines: String = lines.collect();
    if !lines.is_empty() {
        told += &format!("\n/model NUMBER or NAME has another one answer:{lines}");
    }
    told
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn model(provider: &str, name: &str) -> ModelRef {
        ModelRef { provider: provider.into(), name: name.into() }
    }

    fn models() -> ModelChain {
        ModelChain {
            models: vec![model("a", "one"), model("b", "two")],
            choices: vec![model("c", "three"), model("d", "two")],
            children: None,
            sees_images: Vec::new(),
        }
    }

    #[test]
    fn a_guest_chooses_what_is_offered_and_an_admin_also_what_is_asked_anyway() {
        let models = models();
        let (guest, admin) = (models.open_to(false), models.open_to(true));
        assert_eq!(chosen(&models, &guest, "1").unwrap(), &model("c", "three"));
        assert_eq!(chosen(&models, &guest, "three").unwrap(), &model("c", "three"));
        assert_eq!(chosen(&models, &guest, "d/two").unwrap(), &model("d", "two"));
        // Two are called so, and nobody guesses which one was meant.
        for wanted in ["two", "one", "a/one", "0", "3", "x"] {
            assert!(chosen(&models, &guest, wanted).is_err(), "{wanted}");
        }
        assert_eq!(chosen(&models, &admin, "a/one").unwrap(), &model("a", "one"));
        assert_eq!(chosen(&models, &admin, "4").unwrap(), &model("d", "two"));
        let alone = ModelChain { models: vec![model("a", "one")], choices: vec![], ..models };
        assert!(alone.open_to(true).is_empty(), "there is nothing to choose");
    }

    #[test]
    fn who_answers_is_told_in_the_order_they_are_asked() {
        let models = models();
        let open = models.open_to(false);
        assert_eq!(
            told(&models, Some(&model("b", "two")), &open),
            "b/two answers here; where it can't: a/one\n/model NUMBER or NAME has another one answer:\n1. c/three\n2. d/two"
        );
    }
}
