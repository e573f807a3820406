//! What the journal knows of replies that a client was given: which calls they asked for, what was
//! said in them, and what the agent did before.
//!
//! A client is told none of the agent's own steps. So when it comes back with what became of its
//! calls, those steps are put back where they were: the ids of the calls say which they are.

use super::error::OpenAiError;
use super::ids::{self, ReplyId};
use super::item::SaidCall;
use crate::caller::Caller;
use insula_domain::{Audience, Flow, Label, SessionKey};
use insula_registry::AgentContext;
use insula_store::{
    MESSAGE_PAGE_MAX, Message, MessageSeq, Part, Role, SessionRef, StoreError, Turn,
};
use insula_turns::client::calls_of;
use insula_turns::messages::text_of;
use insula_turns::{ClientCall, SubmitError};

/// The journal of one agent, as one caller may see it.
pub struct Journal<'j> {
    pub caller: &'j Caller,
    pub agent: &'j AgentContext,
}

/// A turn that ended with calls for its caller.
pub struct Handed {
    pub turn: Turn,
    /// The conversation it was in.
    pub key: SessionKey,
    /// The calls, in order.
    pub calls: Vec<ClientCall>,
}

fn failed(error: StoreError) -> OpenAiError {
    SubmitError::from(error).into()
}

impl Journal<'_> {
    /// The reply that an id of this caller's is about, and which part of it. `None` where there
    /// is none, or none any more.
    pub async fn reply(&self, id: &str, prefix: &str) -> Result<Option<(Turn, u8)>, OpenAiError> {
        let Some(ReplyId { turn, part }) = ids::open_part(self.caller, &self.agent.id, id, prefix)
        else {
            return Ok(None);
        };
        let turn = self.agent.store.turn(turn).await.map_err(failed)?;
        Ok(turn.map(|turn| (turn, part)))
    }

    /// The turn that asked for a call, and which of its calls that is.
    pub async fn handed(
        &self,
        id: &str,
        prefix: &str,
    ) -> Result<Option<(Handed, usize)>, OpenAiError> {
        let Some((turn, index)) = self.reply(id, prefix).await? else { return Ok(None) };
        let Some(reply) = turn.reply else { return Ok(None) };
        let before = MessageSeq(reply.0.saturating_sub(1));
        let store = &self.agent.store;
        let found = store.messages_after(turn.session, before, 1).await.map_err(failed)?;
        let calls = found.first().map(|it| calls_of(&it.parts)).unwrap_or_default();
        let session = store.session(SessionRef::Id(turn.session)).await.map_err(failed)?;
        let key = session.and_then(|session| session.key.parse().ok());
        let index = usize::from(index);
        Ok(key.filter(|_| index < calls.len()).map(|key| (Handed { turn, key, calls }, index)))
    }

    /// The turn that asked for all of these calls, and the calls as it knows them. `None` where
    /// it is not known any more, or they are not what it asked for.
    pub async fn handed_all(
        &self,
        calls: &[SaidCall],
    ) -> Result<Option<(Handed, Vec<ClientCall>)>, OpenAiError> {
        let Some(first) = calls.first() else { return Ok(None) };
        let Some((handed, _)) = self.handed(&first.id, ids::CALL).await? else { return Ok(None) };
        let asked = |call: &SaidCall| {
            let id = ids::open_part(self.caller, &self.agent.id, &call.id, ids::CALL);
            let id = id.filter(|id| id.turn == handed.turn.id)?;
            let asked = handed.calls.get(usize::from(id.part));
            asked.filter(|asked| *asked.name == *call.name).cloned()
        };
        let asked: Option<Vec<ClientCall>> = calls.iter().map(asked).collect();
        Ok(asked.map(|asked| (handed, asked)))
    }

    /// The messages of a turn after the one that began it.
    async fn steps(&self, turn: &Turn) -> Result<Vec<Message>, OpenAiError> {
        let store = &self.agent.store;
        let page = store.messages_after(turn.session, turn.message, MESSAGE_PAGE_MAX).await;
        let mut messages = page.map_err(failed)?;
        messages.retain(|message| message.turn == Some(turn.id));
        Ok(messages)
    }

    /// What the agent did and said in a turn, and what that tells of elsewhere.
    pub async fn done(
        &self,
        handed: &Handed,
    ) -> Result<(Vec<(Role, Vec<Part>)>, Label), OpenAiError> {
        let mut seen = Label::anyone();
        let mut done = Vec::new();
        let own = Label::of(audience(&handed.key));
        for message in self.steps(&handed.turn).await? {
            if !matches!(message.role, Role::Assistant | Role::Tool) {
                continue;
            }
            let label: Label = message.label.parse().unwrap_or_else(|_| Label::unknown());
            seen = seen.join(&elsewhere(&label, &own));
            done.push((message.role, message.parts));
        }
        Ok((done, seen))
    }

    /// What was said in a turn at one place: each message of the agent's is one.
    pub async fn said(&self, turn: &Turn, place: u8) -> Result<Option<String>, OpenAiError> {
        let messages = self.steps(turn).await?;
        let answers = messages.iter().filter(|message| message.role == Role::Assistant);
        let mut texts = answers.map(|message| text_of(&message.parts));
        let texts: Vec<String> = texts.by_ref().filter(|text| !text.is_empty()).collect();
        // What was said and did not count is no message: the last one stands for it.
        Ok(texts.get(usize::from(place)).or(texts.last()).cloned())
    }
}

fn audience(key: &SessionKey) -> Audience {
    Audience {
        platform: key.platform,
        account: key.account.clone(),
        chat: key.chat.clone(),
        topic: key.topic.clone(),
    }
}

/// A label without the conversation that `own` stands for: whoever was told there comes back with
/// it now.
fn elsewhere(label: &Label, own: &Label) -> Label {
    let mut others = label.audiences().filter(|it| !own.audiences().any(|own| own == *it));
    let here = own.audiences().next();
    let is_unknown = here.is_some_and(|here| label.may_flow_to(here) == Flow::Unknown);
    let audiences = match is_unknown {
        true => Label::nobody(),
        false => others.by_ref().cloned().map(Label::of).fold(Label::anyone(), |a, b| a.join(&b)),
    };
    audiences.with(label.integrity())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_from_elsewhere_stays_and_the_conversation_itself_goes() {
        let own: Label = "api:t:one".parse().unwrap();
        for (text, left) in [
            ("api:t:one", "anyone"),
            ("api:t:one;web:a.org", "anyone;web:a.org"),
            ("api:t:one,telegram:main:7", "telegram:main:7"),
            ("anyone", "anyone"),
            ("nobody;many", "nobody;many"),
        ] {
            let label: Label = text.parse().unwrap();
            assert_eq!(elsewhere(&label, &own).to_string(), left, "{text}");
        }
    }
}
