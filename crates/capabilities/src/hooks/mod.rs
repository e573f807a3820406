//! Hooks: what an operator wants asked or told, in one place for everybody who does.
//!
//! [`ask`] goes through the hooks of one agent for one event, in order, and comes to one
//! [`HookDecision`]. Every answer is on the agent's audit trail. A hook that crashes, hangs or
//! answers nonsense has failed; unless it was allowed to, that is a no.

mod answer;
mod value;
mod way;

#[cfg(test)]
#[path = "answer_tests.rs"]
mod answer_tests;

pub use answer::{Action, HookAnswer, ScopeAnswer};
pub use value::expression_value;

use crate::Capabilities;
use insula_config::hook::{Hook, HookOwner, HookWay, OnFailure};
use insula_domain::Actor;
use insula_domain::hook::{HookEvent, HookPower};
use insula_domain::{PLACE_FACTS, Place, PlaceFact, ScopeName, SessionKey};
use insula_registry::context::{AgentContext, Whereabouts};
use insula_registry::tokens::Verb;
use insula_store::{About, SessionId};
use insula_tools::Files;
use serde_json::{Map, Value, json};

/// Longest text that a payload carries, in bytes: the rest is cut off, and the payload says so.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Whose hooks are asked, and where. What is not known of a place is simply not there.
#[derive(Clone, Copy)]
pub struct Occasion<'o> {
    pub agent: &'o AgentContext,
    /// The key of the conversation, and the number of its session.
    pub session: Option<(&'o str, SessionId)>,
    /// The memory scope, as text.
    pub scope: Option<&'o str>,
    /// Who began it, as records name them.
    pub principal: &'o Actor,
    /// Where they said what began it.
    pub at: Option<&'o Whereabouts>,
    /// The files of the conversation, in which a program can run.
    pub files: Option<&'o Files>,
}

impl Occasion<'_> {
    /// What records of it are about. Where the scope is not decided yet it is that of the
    /// conversation as it stands, or the agent's matter.
    fn about(&self) -> About {
        let scope = self.scope.and_then(|scope| scope.parse::<ScopeName>().ok());
        let key = self.session.map(|(key, _)| key.into());
        match (scope, key) {
            (Some(scope), Some(key)) => About::Conversation { scope, key },
            (Some(scope), None) => About::Scope(scope),
            (None, Some(key)) => About::Key(key),
            (None, None) => About::Agent,
        }
    }
}

/// What the hooks of an event come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookDecision {
    /// Nobody objects.
    Go(Go),
    /// It must not happen.
    Block {
        /// The hook that says so, or failed.
        hook: String,
        /// Why, for the model and for people.
        reason: String,
    },
}

/// What hooks that do not object have to say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Go {
    /// Who wants an admin to agree first, and why.
    pub approve: Option<(String, String)>,
    /// What the model is to know besides.
    pub context: Vec<String>,
    /// The text that takes the place of the one there was.
    pub text: Option<String>,
    /// Which scope an operation has.
    pub scope: Option<ScopeAnswer>,
    /// What becomes of a message.
    pub action: Option<Action>,
}

/// Asks the hooks of an event. `fields` are what this event has beside the occasion:
/// `tool_name`, `tool_input`, `text`, `operation`, `extra`; of memory `metadata` too.
///
/// Where the agent has none for the event this is a look at one number.
pub async fn ask(
    caps: &Capabilities,
    event: HookEvent,
    occasion: &Occasion<'_>,
    fields: impl FnOnce() -> Value,
) -> HookDecision {
    ask_of(caps, None, event, occasion, fields).await
}

/// The same, of those hooks alone that the daemon or the agent has; of all where nothing is
/// said.
pub async fn ask_of(
    caps: &Capabilities,
    owner: Option<HookOwner>,
    event: HookEvent,
    occasion: &Occasion<'_>,
    fields: impl FnOnce() -> Value,
) -> HookDecision {
    let hooks = &occasion.agent.hooks;
    if !hooks.has(event) {
        return HookDecision::Go(Go::default());
    }
    let mut payload = payload(caps, event, occasion, fields());
    let mut go = Go::default();
    let mut records = Vec::new();
    let mut blocked = None;
    let is_asked =
        |hook: &&Hook| hook.event == event && owner.is_none_or(|owner| hook.owner == owner);
    for hook in hooks.iter().filter(is_asked) {
        let tool = payload.get("tool_name").and_then(Value::as_str);
        if !hook.matches(tool) {
            continue;
        }
        let begun = caps.world.clock.elapsed();
        let answered = answer(caps, hook, occasion, &payload).await;
        let took = caps.world.clock.elapsed().saturating_sub(begun);
        let (verdict, why) = match take(hook, answered, &mut go, &mut payload) {
            Taken::Fine(verdict) => (verdict, None),
            Taken::Blocked(reason) => {
                blocked = Some((hook.name.to_string(), reason.clone()));
                ("block", Some(reason))
            }
            Taken::Failed(error) => {
                let (agent, name) = (&occasion.agent.id, &*hook.name);
                tracing::warn!(%agent, hook = name, error, "a hook failed");
                hooks.failed(format!("{name}: {error}"));
                match hook.on_failure {
                    OnFailure::Allow => ("failed, allowed", Some(error)),
                    OnFailure::Deny => {
                        let reason = "a hook of this agent failed, and so it is refused; the operator finds the reason in the log".to_owned();
                        blocked = Some((hook.name.to_string(), reason));
                        ("failed, denied", Some(error))
                    }
                }
            }
        };
        records.push(json!({
            "hook": &*hook.name,
            "way": hook.way.as_str(),
            "verdict": verdict,
            "why": why.map(|why| clip(&why, 500)),
            "ms": took.as_millis() as u64,
        }));
        if blocked.is_some() {
            break;
        }
    }
    if !records.is_empty() {
        let content = json!({
            "event": event.as_str(),
            "session": occasion.session.map(|(_, id)| id.0),
            "tool": payload.get("tool_name"),
            "answers": records,
        });
        let written = occasion
            .agent
            .audit
            .append(occasion.about(), occasion.principal, "hook", content)
            .await;
        if let Err(error) = written {
            tracing::error!(agent = %occasion.agent.id, %error, "the answer of a hook could not be recorded");
            // What can't be audited does not happen.
            if event.part() != HookPower::Observes && blocked.is_none() {
                let reason = "the answer of a hook could not be recorded".to_owned();
                blocked = Some((event.to_string(), reason));
            }
        }
    }
    match blocked {
        Some((hook, reason)) => HookDecision::Block { hook, reason },
        None => HookDecision::Go(go),
    }
}

/// Tells hooks that only hear.
pub async fn tell(
    caps: &Capabilities,
    event: HookEvent,
    occasion: &Occasion<'_>,
    fields: impl FnOnce() -> Value,
) {
    // An observer can't object, and its failure is on record.
    let _ = ask(caps, event, occasion, fields).await;
}

/// What became of an answer.
enum Taken {
    Fine(&'static str),
    Blocked(String),
    Failed(String),
}

/// Puts one answer to what the ones before came to.
fn take(
    hook: &Hook,
    answered: Result<HookAnswer, String>,
    go: &mut Go,
    payload: &mut Map<String, Value>,
) -> Taken {
    let answer = match answered {
        Ok(answer) => answer,
        Err(error) => return Taken::Failed(error),
    };
    if hook.event.part() == HookPower::Observes {
        return Taken::Fine("told");
    }
    match answer {
        HookAnswer::Nothing => Taken::Fine("allow"),
        HookAnswer::Block(reason) => Taken::Blocked(reason),
        HookAnswer::Approve(reason) => {
            go.approve.get_or_insert((hook.name.to_string(), reason));
            Taken::Fine("approve")
        }
        HookAnswer::Context(text) => {
            go.context.push(text);
            Taken::Fine("context")
        }
        HookAnswer::Text(text) => {
            payload.insert("text".to_owned(), text.clone().into());
            go.text = Some(text);
            Taken::Fine("text")
        }
        HookAnswer::Scope(scope) => {
            // The first one decides: two scopes would be two answers.
            go.scope.get_or_insert(scope);
            Taken::Fine("scope")
        }
        HookAnswer::Action(action) => {
            if let Action::Rewrite(text) = &action {
                // Who is asked next sees what was made of it.
                payload.insert("text".to_owned(), text.as_str().into());
                go.text = Some(text.clone());
            }
            go.action = match (go.action.take(), action) {
                // What was to be left out stays so, and a new text does not undo a way.
                (Some(Action::Skip), _) => Some(Action::Skip),
                (Some(route @ Action::Route(_)), Action::Rewrite(_)) => Some(route),
                (_, action) => Some(action),
            };
            Taken::Fine("action")
        }
    }
}

async fn answer(
    caps: &Capabilities,
    hook: &Hook,
    occasion: &Occasion<'_>,
    payload: &Map<String, Value>,
) -> Result<HookAnswer, String> {
    let way = async {
        match &hook.way {
            HookWay::Expr(expression) => {
                let bindings = answer::bindings(payload);
                let answered = expression.evaluate(&bindings).map_err(|error| error.what)?;
                answer::of_expression(hook.event, answered)
            }
            HookWay::Command(command) => {
                let said = way::command(caps, hook, occasion, command, payload).await?;
                answer::of_text(hook.event, &said)
            }
            HookWay::Http(url) => {
                let said = way::http(caps, hook, occasion, url, payload).await?;
                answer::of_text(hook.event, &said)
            }
        }
    };
    tokio::select! {
        biased;
        answered = way => answered,
        () = caps.world.clock.sleep(hook.timeout) => {
            Err(format!("no answer within {} ms", hook.timeout.as_millis()))
        }
    }
}

/// What a hook is told. The names of others' hooks are kept beside ours: `session_id` is the
/// key of the conversation, `cwd` where its files are.
fn payload(
    caps: &Capabilities,
    event: HookEvent,
    occasion: &Occasion<'_>,
    fields: Value,
) -> Map<String, Value> {
    let agent = occasion.agent;
    let key = occasion.session.map(|(key, _)| key);
    let parsed = key.and_then(|key| key.parse::<SessionKey>().ok());
    let parsed = parsed.as_ref();
    let user = occasion.principal.user_id();
    let user = user.filter(|user| !user.is_empty());
    let metadata = match occasion.at {
        Some(at) => caps.metadata(agent, &at.address),
        None => agent.config.metadata.clone(),
    };
    let metadata: Map<String, Value> =
        metadata.iter().map(|(name, value)| (name.to_string(), Value::from(&**value))).collect();
    let all = json!({
        "hook_event_name": event.as_str(),
        "agent_id": agent.id.as_str(),
        "session": key,
        "session_id": key,
        "scope": occasion.scope,
        "principal": occasion.principal.as_str(),
        "admin": caps.access.is_admin(agent, occasion.principal, Verb::Approve),
        "platform": parsed.map(|key| key.platform.as_str()),
        "account": parsed.map(|key| key.account.as_str()),
        "channel_id": parsed.map(|key| key.chat.as_str()),
        "topic_id": parsed.and_then(|key| Some(key.topic.as_ref()?.as_str().to_owned())),
        "user_id": user,
        "metadata": metadata,
        "cwd": agent.workspace.path.display().to_string(),
        "tool_name": null,
        "tool_input": null,
        "text": null,
        "operation": null,
        "extra": {},
    });
    let Value::Object(mut all) = all else { return Map::new() };
    all.extend(place(caps, occasion.at));
    if let Value::Object(fields) = fields {
        for (name, value) in fields {
            // What an event brings can't pass for who or where it is.
            let is_of_the_event =
                matches!(&*name, "tool_name" | "tool_input" | "text" | "operation" | "extra");
            if is_of_the_event {
                all.insert(name, bounded(value));
            }
        }
    }
    all
}

/// What is known of where something was said. Of what was said nowhere, nothing is.
fn place(caps: &Capabilities, at: Option<&Whereabouts>) -> Vec<(String, Value)> {
    let Some(at) = at else {
        return PLACE_FACTS.map(|name| (name.to_owned(), Value::Null)).into();
    };
    let token = caps.access.token_of(&at.address);
    let token = token.as_ref().map(|token| &*token.id);
    let place = Place { address: &at.address, person: at.person.as_ref(), token };
    let facts = place.facts().map(|(name, fact)| {
        let value = match fact {
            PlaceFact::Text(text) => Value::from(text),
            PlaceFact::Texts(texts) => Value::from(texts),
        };
        (name.to_owned(), value)
    });
    facts.into()
}

fn bounded(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES_MAX => {
            let mut cut = clip(&text, TEXT_BYTES_MAX);
            cut.push_str("\n[cut off]");
            Value::String(cut)
        }
        value => value,
    }
}

/// The first so many bytes of a text.
fn clip(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}
