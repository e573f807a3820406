//! What an MCP server and the person whom a turn is for have to do with each other: a question that
//! the server puts while its tool runs, and a prompt of the server that the person chooses.

use crate::calls::picture;
use crate::messages::{text_of, typed_of};
use crate::one_off;
use crate::turn::{Broken, Turn};
use insula_capabilities::mcp::{Chosen, Person, PromptText};
use insula_domain::{Actor, Source, SourceKind};
use insula_registry::events::turn::TurnEnd;
use insula_store::{Accepted, AgentCommand, Join, Message, Part, Role, Usage};
use insula_tools::ToolRef;
use serde_json::json;

/// How the message with a prompt's text begins.
const CHOSEN: &str = "The user chose the prompt ";

impl Turn<'_> {
    /// Whether there is somebody whom the turn could ask.
    fn has_person(&self) -> bool {
        // A child is asked by its parent, and a conversation of one request has no second message.
        self.cx.kin.origin.is_none()
            && !self.cx.key.chat.as_str().starts_with(one_off::PREFIX)
            && self.cx.agent.tools().verdict("clarify").is_in()
    }

    /// Whom a server may ask while this tool of it runs. What is read in quarantine asks nobody:
    /// its words would be in the question.
    pub(super) fn person(&self, tool: &ToolRef, history: &[Message]) -> Option<Person> {
        let is_asked = self.has_person() && !tool.is_quarantined();
        is_asked.then(|| Person {
            session: self.cx.session,
            principal: self.cx.principal.clone(),
            said: self.typed(history),
        })
    }

    /// What the person typed that this turn answers.
    fn typed(&self, history: &[Message]) -> String {
        let own = history.iter().filter(|it| {
            it.turn == Some(self.cx.turn)
                && it.role == Role::User
                && it.principal == self.cx.principal
        });
        let said: Vec<String> = own.map(|it| typed_of(&it.parts)).collect();
        said.join("\n")
    }

    /// The turn sees a question, which is the words of the server that asks.
    pub(super) fn see_asker(&self, tool: &ToolRef) {
        if let Some(source) = tool.source("") {
            self.cx.see_words_of(source);
        }
        self.cx.seen.add_foreign();
    }

    /// Goes on with the call that waits for an answer of this turn's person: the same call, made
    /// once more in the journal, where its result belongs behind it.
    pub(super) async fn go_on_asked(
        &mut self,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let cx = self.cx;
        if !self.has_person() {
            return Ok(None);
        }
        let caps = &self.shop.caps;
        let waiting = caps.waiting_call(&cx.agent.id, cx.session, &cx.principal);
        let Some((name, arguments)) = waiting else { return Ok(None) };
        let (agent, turn) = (cx.agent.id.as_str(), cx.turn.to_string());
        let id: Box<str> = self.shop.world.random.stream(&["answered", agent, &turn]).id().into();
        let arguments = arguments.to_string();
        let call = Part::ToolCall { id: id.clone(), name: name.into(), arguments };
        let message = self.message(Role::Assistant, vec![call]);
        self.goes_on = Some(id);
        let end = self.answered(message, Usage::default(), history).await;
        self.goes_on = None;
        end
    }

    /// Puts the text of a prompt into the turn that its message chose; the end of the turn, where
    /// it can't be had.
    pub(super) async fn choose_prompt(
        &mut self,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let cx = self.cx;
        // A turn that goes on after a crash may have it.
        let is_told = |it: &Message| {
            it.turn == Some(cx.turn)
                && matches!(it.principal, Actor::Server(_))
                && text_of(&it.parts).starts_with(CHOSEN)
        };
        if cx.kin.origin.is_some() || cx.agent.mcp.servers.is_empty() || history.iter().any(is_told)
        {
            return Ok(None);
        }
        let typed = self.typed(history);
        let Some(chosen) = Chosen::read(&cx.agent, &typed) else { return Ok(None) };
        let (name, subject) = (chosen.tool_name(), chosen.subject());
        let arguments = json!({ "command": typed });
        let text = match self.before_call(&name, &arguments).await {
            Err(denial) => Err(denial.to_string()),
            Ok(_) => tokio::select! {
                biased;
                () = cx.live.cancel.cancelled() => {
                    return Err(Broken::Stopped(None, Usage::default()));
                }
                text = chosen.text(&self.shop.caps, &cx.agent) => text,
            },
        };
        let verdict = if text.is_ok() { "done" } else { "refused" };
        let audit = self.audit_about(("", &name), verdict, None, Some(subject.clone()));
        match text {
            Ok(text) => self.tell_prompt(text, audit, history).await.map(|()| None),
            Err(why) => {
                self.commit(vec![audit]).await?;
                // Some of why may be what the server had to say.
                cx.see_words_of(Source::new(SourceKind::Mcp, &subject.replacen(':', "/", 1)));
                let said = self.message(Role::Assistant, vec![Part::Text(why.clone())]);
                self.reply(vec![said], Usage::default(), None).await?;
                let usage = self.spent;
                Ok(Some(TurnEnd::Replied { text: why, usage, cut: None, calls: Vec::new() }))
            }
        }
    }

    async fn tell_prompt(
        &self,
        text: PromptText,
        audit: AgentCommand,
        history: &mut Vec<Message>,
    ) -> Result<(), Broken> {
        let PromptText { server, prompt, said } = text;
        self.cx.see_words_of(Source::new(SourceKind::Mcp, &format!("{server}/{prompt}")));
        self.cx.seen.add_foreign();
        let words = format!(
            "{CHOSEN}`{prompt}` of the MCP server `{server}`. Its text is what they ask:\n\n{}",
            said.text
        );
        let pictures = said.pictures.into_iter().map(picture);
        let parts = [Part::Text(words)].into_iter().chain(pictures).collect();
        let mut added = self.message(Role::System, parts);
        added.principal = Actor::server(&server);
        let join = Join { turn: self.cx.turn, message: added.clone(), idempotency: None };
        let done = self.commit(vec![audit, AgentCommand::Join(Box::new(join))]).await?;
        if let Some(Accepted::New { seq, .. }) = done.accepted() {
            history.push(self.placed(&added, seq));
        }
        Ok(())
    }
}
