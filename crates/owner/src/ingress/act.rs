//! Carries out commands. Who may is asked once, for all of them, where it is asked for buttons,
//! plain words and the API as well.

use super::answering::{Meant, which};
use super::commands::{self, Command, For, Typed};
use super::{Ingress, IngressContext};
use insula_capabilities::memory::{Asking, Forgot, Remembered};
use insula_domain::Actor;
use insula_domain::{Address, Asker, ChatId, ChatType, TopicId};
use insula_registry::AgentContext;
use insula_registry::home_chats::HomeChat;
use insula_store::MemoryList as List;
use insula_turns::approvals::{ApprovalAnswer, ApprovalDuration};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Entries of memory that one answer shows.
const SHOWN_MAX: usize = 50;
/// Characters of one of them.
const ENTRY_CHARS_MAX: usize = 300;

impl Ingress {
    /// Carries out a command; what is said to whoever typed it, if anything is.
    pub(super) async fn act(
        &self,
        cx: &IngressContext<'_>,
        command: Command,
        argument: &str,
    ) -> String {
        let IngressContext { agent, caller, .. } = cx;
        if command.whose() == For::Admins && !self.access.may_answer(agent, &caller.actor()) {
            return format!("only an admin may use /{}", command.name());
        }
        match command {
            Command::Start => {
                let name = &agent.identity.name;
                format!("hello, I am {name}; write to me, and /help lists what else you can do")
            }
            Command::Help => {
                let prompts = insula_capabilities::mcp::prompts(agent);
                commands::help(caller.is_admin()) + &commands::help_of_prompts(&prompts)
            }
            Command::Whoami => whoami(cx),
            Command::Agents => self.agents(cx).await,
            Command::Back => or_told(agent, self.back(cx).await),
            Command::New => self.new_session(cx).await,
            Command::Stop => self.stop(cx),
            Command::Status => self.status(cx).await,
            Command::Tools => self.tools(cx),
            Command::Model => self.model(cx, argument).await,
            Command::Compress => or_told(agent, self.compress(cx).await),
            Command::Retry => self.retry(cx).await,
            Command::Undo => self.undo(cx).await,
            Command::Sessions => or_told(agent, self.sessions(cx, argument).await),
            Command::Usage => or_told(agent, self.usage(cx).await),
            Command::Who => or_told(agent, self.who(cx).await),
            Command::Logs => self.logs(cx).await,
            Command::Cron => self.clerk().cron(&cx.typing(), argument).await,
            Command::Board => self.clerk().board(&cx.typing(), argument).await,
            Command::Memory => self.memory(cx).await,
            Command::Forget => self.forget(cx, argument).await,
            Command::Approve => self.approve(cx, argument).await,
            Command::Deny => self.deny(cx, argument).await,
            Command::Pair => self.pair(cx, argument).await,
            Command::Reload => match self.daemon.reload(Some(&agent.id), &caller.actor()).await {
                Ok(_) => "read again, and applied".to_owned(),
                Err(error) => format!("not applied: {}", error.reason()),
            },
            Command::Pause => {
                match self.engine.capabilities().pause(&agent.id, &caller.actor()).await {
                    Ok(()) => "paused; /resume lets me go on".to_owned(),
                    Err(error) => error.reason(),
                }
            }
            Command::Resume => "I am serving already".to_owned(),
            Command::SetHome => self.set_home(cx, argument).await,
        }
    }

    /// What somebody hears from an agent that is paused: its admins can let it go on, and whoever
    /// was handed to it gets back. Whether it goes on.
    pub(super) async fn while_paused(&self, cx: &IngressContext<'_>, text: &str) -> bool {
        let IngressContext { agent, caller, envelope, .. } = cx;
        let typed = commands::read(text);
        let wants = matches!(typed, Typed::Command(Command::Resume, _));
        let goes_back = matches!(typed, Typed::Command(Command::Back, _))
            && self.access.handed_from(&agent.id, &envelope.address).is_some();
        let (goes_on, told) = if goes_back {
            (false, or_told(agent, self.back(cx).await))
        } else if wants && self.access.may_answer(agent, &caller.actor()) {
            match self.engine.capabilities().resume(&agent.id, &caller.actor()).await {
                Ok(()) => (true, "going on".to_owned()),
                Err(error) => (false, error.reason()),
            }
        } else {
            (false, "I am paused at the moment".to_owned())
        };
        self.whisper(cx.agent.clone(), cx.place(), told).await;
        goes_on
    }

    async fn new_session(&self, cx: &IngressContext<'_>) -> String {
        let key = &cx.session;
        match self.engine.begin_anew(cx.agent, key).await {
            Ok(()) => "we begin anew".to_owned(),
            Err(error) => told(cx.agent, "a conversation could not be ended", &error),
        }
    }

    /// Ends that the conversation is this agent's, where another handed it over.
    async fn back(&self, cx: &IngressContext<'_>) -> Result<String, insula_store::StoreError> {
        let address = &cx.envelope.address;
        let Some(from) = self.access.handed_from(&cx.agent.id, address) else {
            return Ok("nobody handed this conversation to me".to_owned());
        };
        self.handoffs.end(&from.session_key(address)).await?;
        let content = serde_json::json!({ "to": from.id.as_str(), "as": "handoff" });
        let about = insula_store::About::Conversation {
            scope: self
                .engine
                .capabilities()
                .written_scope(cx.agent, &cx.agent.scope(address), &cx.session)
                .await,
            key: cx.session.to_string().into(),
        };
        let actor = cx.caller.actor();
        let record = self.trail.record(cx.agent, about, &actor, "link.ended", content);
        cx.agent.store.commit(vec![insula_store::AgentCommand::Audit(record)]).await?;
        Ok(format!("{} answers here again", from.identity.name))
    }

    fn stop(&self, cx: &IngressContext<'_>) -> String {
        let key = &cx.session;
        // What others began in a shared conversation is theirs to stop, and an admin's.
        let stopped = match cx.caller.is_admin() {
            true => self.engine.stop(key),
            false => self.engine.stop_own(key, &cx.caller.actor()),
        };
        match stopped {
            0 => "nothing of yours is running here".to_owned(),
            // The turn that was stopped says so itself, where its reply would have been.
            _ => String::new(),
        }
    }

    async fn status(&self, cx: &IngressContext<'_>) -> String {
        let agent = cx.agent;
        let key = &cx.session;
        let running = match self.engine.under_way(key) {
            0 => "nothing is running".to_owned(),
            1 => "one turn is running".to_owned(),
            more => format!("one turn is running and {} wait", more - 1),
        };
        let waiting = self.waiting_here(cx).await.map_or(0, |waiting| waiting.len());
        let asks = match waiting {
            0 => String::new(),
            1 => "; one call waits for approval".to_owned(),
            more => format!("; {more} calls wait for approval"),
        };
        let memory = if agent.memory.is_some() { "I remember" } else { "I don't remember" };
        format!("{}: {running}{asks}; {memory}", agent.identity.name)
    }

    /// The agents that this person may reach in this chat: its own topics included, and
    /// nothing that lies elsewhere.
    async fn agents(&self, cx: &IngressContext<'_>) -> String {
        let snapshot = self.registry.snapshot();
        let here = &cx.envelope.address;
        let is_here = |chat: &ChatId| *chat == here.chat || Some(chat) == here.parent.as_ref();
        let mut topics: BTreeSet<Option<TopicId>> = BTreeSet::from([here.topic.clone()]);
        for binding in snapshot.router.bindings() {
            let rule = &binding.matches;
            let same = rule.platform == here.platform && rule.chat.as_ref().is_some_and(is_here);
            if same {
                topics.insert(rule.topic.clone());
            }
        }
        let mut lines: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        let sender = &cx.envelope.sender;
        // This place first.
        let others = topics.iter().filter(|topic| **topic != here.topic);
        for topic in std::iter::once(&here.topic).chain(others) {
            let address = Address { topic: topic.clone(), ..here.clone() };
            let Ok(answering) = snapshot.route(&address) else { continue };
            let agent = answering.context;
            if !seen.insert((agent.id.clone(), topic.clone())) {
                continue;
            }
            let asker = Asker { address: &address, also: &sender.also, is_bot: sender.is_bot };
            if !matches!(self.access.admit(&agent, asker).await, Ok(Some(_))) {
                continue;
            }
            let place = match topic {
                _ if *topic == here.topic => "here".to_owned(),
                Some(topic) => format!("in topic {topic}"),
                None => "outside of topics".to_owned(),
            };
            let about = agent.identity.description.as_deref().unwrap_or_default();
            let about = if about.is_empty() { String::new() } else { format!(": {about}") };
            lines.push(format!("{} ({place}){about}", agent.identity.name));
        }
        lines.join("\n")
    }

    async fn memory(&self, cx: &IngressContext<'_>) -> String {
        let (session, at, principal) = parts(cx);
        let asking = Asking { agent: cx.agent, session: &session, at: &at, principal: &principal };
        let (lists, held_back) = match self.engine.capabilities().remembered(&asking).await {
            Ok(Remembered::Off) => return "I don't remember anything beyond this chat".to_owned(),
            Ok(Remembered::Lists { lists, held_back }) => (lists, held_back),
            Err(error) => return told(cx.agent, "memory could not be read", &error),
        };
        let mut lines = Vec::new();
        let mut number = 0;
        for list in lists {
            for fragment in list.fragments {
                number += 1;
                let text: String = fragment.text.chars().take(ENTRY_CHARS_MAX).collect();
                let of = match list.target {
                    List::Memory => String::new(),
                    List::User => " (about you)".to_owned(),
                    List::Day(day) => format!(" (noted on {day})"),
                };
                lines.push(format!("{number}. {text}{of}"));
            }
        }
        let elsewhere = (held_back > 0).then(|| {
            let (entries, were) =
                if held_back == 1 { ("entry", "was") } else { ("entries", "were") };
            // In a direct chat that is shared with others there is no better place to name.
            let own = match cx.envelope.address.chat_type {
                ChatType::Dm => "",
                _ => ", or in a chat of your own",
            };
            format!(
                "{held_back} {entries} {were} said where not everyone here can read; ask me there{own}"
            )
        });
        if lines.is_empty() {
            return elsewhere.unwrap_or_else(|| "I remember nothing here".to_owned());
        }
        let more = lines.len().saturating_sub(SHOWN_MAX);
        lines.truncate(SHOWN_MAX);
        if more > 0 {
            lines.push(format!("… and {more} more"));
        }
        lines.extend(elsewhere);
        lines.push("/forget NUMBER forgets one of them".to_owned());
        lines.join("\n")
    }

    async fn forget(&self, cx: &IngressContext<'_>, what: &str) -> String {
        if what.is_empty() {
            return "say what: a number of /memory, some words of the entry, or `all`".to_owned();
        }
        let (session, at, principal) = parts(cx);
        let asking = Asking { agent: cx.agent, session: &session, at: &at, principal: &principal };
        match self.engine.capabilities().forget_here(&asking, what).await {
            Ok(Forgot::Off) => "I don't remember anything beyond this chat".to_owned(),
            Ok(Forgot::Entries(0)) if what == "all" => "there was nothing to forget".to_owned(),
            Ok(Forgot::Entries(0)) => "nothing here is like that".to_owned(),
            Ok(Forgot::Entries(1)) => "forgotten".to_owned(),
            Ok(Forgot::Entries(count)) => format!("forgotten: {count} entries"),
            Ok(Forgot::Partly(_)) => {
                "forgotten; a file may still have the words, which an operator has to put right"
                    .to_owned()
            }
            Ok(Forgot::Unclear(texts)) => {
                let texts = texts.iter().map(|text| format!("- {text}"));
                format!("several entries are like that:\n{}", texts.collect::<Vec<_>>().join("\n"))
            }
            Err(error) => told(cx.agent, "memory could not be changed", &error),
        }
    }

    /// What an answer is about: the call of this id, or the only one that waits here.
    async fn meant<'t>(
        &self,
        cx: &IngressContext<'_>,
        argument: &'t str,
    ) -> Result<(Box<str>, &'t str), String> {
        let here = self.answerable_here(cx).await;
        let here = here.map_err(|error| told(cx.agent, "approvals can't be read", &error))?;
        let (word, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        let all = self.engine.approvals().list(cx.agent).await.unwrap_or_default();
        // From anywhere by its name; whether a yes to it counts is seen where it is answered.
        if let Some(named) = all.iter().find(|it| *it.id == *word) {
            return Ok((named.id.clone(), rest.trim()));
        }
        if here.is_empty() {
            return Err("nothing waits for approval here".to_owned());
        }
        let meant = self.meant_here(cx, &here).await;
        match meant.map_err(|error| told(cx.agent, "approvals can't be read", &error))? {
            Meant::One(id) => Ok((id, argument)),
            Meant::Several => Err(which(&here)),
            Meant::None => {
                Err("what waits was not shown here before you said that; say the id too, as it \
                 stands in the question"
                    .to_owned())
            }
        }
    }

    async fn approve(&self, cx: &IngressContext<'_>, argument: &str) -> String {
        let (id, rest) = match self.meant(cx, argument).await {
            Ok(meant) => meant,
            Err(told) => return told,
        };
        let reach = if rest.is_empty() {
            Some(ApprovalDuration::Once)
        } else {
            ApprovalDuration::parse(rest)
        };
        match reach {
            Some(reach) => self.answer_seen(cx, &id, ApprovalAnswer::Approve(reach)).await,
            None => "say `/approve ID`, and behind it `session` or `always` if you like".to_owned(),
        }
    }

    async fn deny(&self, cx: &IngressContext<'_>, argument: &str) -> String {
        match self.meant(cx, argument).await {
            Ok((id, reason)) => {
                let reason = (!reason.is_empty()).then(|| reason.to_owned());
                self.answer(cx, &id, ApprovalAnswer::Deny(reason)).await
            }
            Err(told) => told,
        }
    }

    /// Makes this chat the one that hears what becomes of the agent, or no chat.
    async fn set_home(&self, cx: &IngressContext<'_>, argument: &str) -> String {
        let IngressContext { agent, caller, envelope, .. } = cx;
        let (home, done) = match argument.trim().to_lowercase().as_str() {
            "" => {
                let actor = caller.actor();
                let home =
                    HomeChat { address: envelope.address.clone(), by: actor.as_str().into() };
                // A hook may have sent it on: then this chat is another agent's.
                if !home.leads_to(&self.registry.snapshot(), &agent.id) {
                    return "no binding sends this chat to me, so I can't make it my home"
                        .to_owned();
                }
                (
                    Some(home),
                    "this is my home chat now: here I tell what becomes of me; /sethome off ends that",
                )
            }
            "off" | "none" => {
                (None, "I have no home chat any more, and tell nobody what becomes of me")
            }
            _ => {
                return "say `/sethome` where I should tell what becomes of me, or `/sethome off`"
                    .to_owned();
            }
        };
        match self.daemon.set_home(&agent.id, home, &caller.actor()).await {
            Ok(true) => done.to_owned(),
            Ok(false) => format!("it was so already: {done}"),
            Err(error) => told(agent, "my home chat could not be set", &error.reason()),
        }
    }

    async fn pair(&self, cx: &IngressContext<'_>, code: &str) -> String {
        if code.is_empty() {
            return "say the code too, as the one who asks was told it".to_owned();
        }
        let IngressContext { agent, caller, envelope, .. } = cx;
        let on = Some(envelope.address.platform);
        match self.access.approve_pairing(agent, code, on, &caller.actor()).await {
            Ok(request) => {
                let name = if request.name.is_empty() { &*request.who.user } else { &request.name };
                format!("{name} may talk to me now")
            }
            Err(error) => error.to_string(),
        }
    }
}

fn whoami(cx: &IngressContext<'_>) -> String {
    let caller = &cx.caller;
    let person = caller.principal.person.as_ref();
    let person = person.map(|person| format!(", known as {person}")).unwrap_or_default();
    let standing = if caller.is_admin() { "; you are an admin" } else { "" };
    format!("you are {}{person}, talking to {}{standing}", caller.actor(), cx.agent.identity.name)
}

/// Where somebody speaks, for what is remembered there.
fn parts(
    cx: &IngressContext<'_>,
) -> (insula_domain::SessionKey, insula_registry::context::Whereabouts, Actor) {
    let address = &cx.envelope.address;
    let user = Some(cx.caller.principal.user.clone());
    let known = Address { user, ..address.clone() };
    (cx.session.clone(), cx.agent.scope(&known), cx.caller.actor())
}

/// What was found, or that it can't be read.
fn or_told(agent: &Arc<AgentContext>, found: Result<String, insula_store::StoreError>) -> String {
    found.unwrap_or_else(|error| told(agent, "that can't be read now", &error))
}

/// What people are told of a fault: that there is one. The rest is the operator's.
pub(super) fn told(agent: &Arc<AgentContext>, what: &str, error: &dyn std::fmt::Display) -> String {
    tracing::error!(agent = %agent.id, %error, "{what}");
    format!("{what}; the operator finds the reason in the log")
}
