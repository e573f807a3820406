//! What is known of a turn and of a call, in the words that argument rules, hooks and their
//! expressions use.

use crate::made::{Made, argument, is_same};
use crate::messages::{text_of, typed_of};
use crate::turn::TurnContext;
use insula_capabilities::Capabilities;
use insula_capabilities::hooks::expression_value;
use insula_domain::argument::{Arguments, CallArguments, Earlier, FoundArgument, mentions};
use insula_domain::expr::{Record, Value};
use insula_domain::{Metadata, Place, SessionKey};
use insula_registry::Access;
use insula_registry::tokens::Verb;
use insula_store::{Message, Role};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

/// Metadata as expressions see it.
pub fn metadata_value(metadata: &Metadata) -> Value {
    let mut record = Record::new();
    for (name, value) in metadata.iter() {
        record.insert(&**name, Value::text(&**value));
    }
    record.build()
}

/// The fields of a turn, as [`insula_domain::argument::TURN_FIELDS`] names them. What people
/// said in it is `said`; what tools and models said is no part of it.
pub(crate) fn turn_value(
    (caps, access): (&Capabilities, &Access),
    cx: &TurnContext,
    said: &str,
) -> Value {
    let text = |text: &str| Value::text(text);
    let maybe = |text: Option<&str>| text.map_or_else(Value::null, Value::text);
    let session = cx.live.voice.session();
    let key = session.parse::<SessionKey>().ok();
    let user = cx.principal.user_id();
    let found = mentions(said);
    let token = access.token_of(&cx.from.address);
    let token = token.as_ref().map(|token| &*token.id);
    let place = Place { address: &cx.from.address, person: cx.from.person.as_ref(), token };
    let metadata = caps.metadata(&cx.agent, &cx.from.address);
    let known = Record::new()
        .with("agent", text(cx.agent.id.as_str()))
        .with("session", text(session))
        .with("scope", text(cx.scope.as_str()))
        .with("principal", text(cx.principal.as_str()))
        .with("platform", maybe(key.as_ref().map(|key| key.platform.as_str())))
        .with("account", maybe(key.as_ref().map(|key| key.account.as_str())))
        .with("chat", maybe(key.as_ref().map(|key| key.chat.as_str())))
        .with("topic", maybe(key.as_ref().and_then(|key| Some(key.topic.as_ref()?.as_str()))))
        .with("user", maybe(user))
        .with("admin", Value::bool(access.is_admin(&cx.agent, &cx.principal, Verb::Approve)))
        .with("text", text(said))
        .with("mentioned_addresses", Value::texts(found.addresses))
        .with("mentioned_urls", Value::texts(found.urls))
        .with("mentioned_hosts", Value::texts(found.hosts))
        .with("metadata", metadata_value(&metadata));
    let facts = place.facts().into_iter();
    facts.fold(known, |known, (name, fact)| known.with(name, fact.value())).build()
}

/// What whoever a turn works for typed in it so far. What others said in the same turn, and what
/// came along in a message, was not said by them.
pub(crate) fn said(cx: &TurnContext, history: &[Message]) -> String {
    let own = |it: &&Message| is_said_in(cx, it) && it.principal == cx.principal;
    let said: Vec<String> = history.iter().filter(own).map(|it| typed_of(&it.parts)).collect();
    said.join("\n")
}

/// All that the messages of a turn say, for hooks to look at.
pub(crate) fn heard(cx: &TurnContext, history: &[Message]) -> String {
    let heard = history.iter().filter(|it| is_said_in(cx, it)).map(|it| text_of(&it.parts));
    heard.collect::<Vec<_>>().join("\n")
}

fn is_said_in(cx: &TurnContext, message: &Message) -> bool {
    message.turn == Some(cx.turn) && message.role == Role::User
}

/// What is around a call, for rules that ask: the turn it is made in.
pub(crate) trait Surroundings {
    /// The fields of the turn.
    fn turn(&self) -> Value;
    /// What people said in it.
    fn said(&self) -> String;
    /// The calls that were made in it before.
    fn made(&self) -> Vec<Arc<Made>>;
}

/// A turn, and what was said in its conversation.
pub(crate) struct InTurn<'t> {
    pub(crate) caps: &'t Capabilities,
    pub(crate) access: &'t Access,
    pub(crate) cx: &'t TurnContext,
    pub(crate) history: &'t [Message],
}

impl Surroundings for InTurn<'_> {
    fn turn(&self) -> Value {
        turn_value((self.caps, self.access), self.cx, &self.said())
    }

    fn said(&self) -> String {
        said(self.cx, self.history)
    }

    fn made(&self) -> Vec<Arc<Made>> {
        self.cx.made.all()
    }
}

/// The same, after other calls.
pub(crate) struct Among<'t> {
    pub(crate) around: &'t dyn Surroundings,
    pub(crate) made: &'t [Arc<Made>],
}

impl Surroundings for Among<'_> {
    fn turn(&self) -> Value {
        self.around.turn()
    }

    fn said(&self) -> String {
        self.around.said()
    }

    fn made(&self) -> Vec<Arc<Made>> {
        self.made.to_vec()
    }
}

/// A call in a turn, as argument rules see it. What only some rules ask for is made when one
/// does.
pub(crate) struct CallFacts<'c> {
    arguments: &'c Json,
    around: &'c dyn Surroundings,
    turn: RefCell<Option<Arc<Value>>>,
    made: OnceCell<Vec<Arc<Made>>>,
}

impl<'c> CallFacts<'c> {
    pub(crate) fn new(arguments: &'c Json, around: &'c dyn Surroundings) -> Self {
        Self { arguments, around, turn: RefCell::default(), made: OnceCell::new() }
    }
}

impl Arguments for CallFacts<'_> {
    fn at(&self, path: &[Box<str>]) -> FoundArgument<'_> {
        argument(self.arguments, path)
    }
}

impl CallArguments for CallFacts<'_> {
    fn arguments(&self) -> Value {
        expression_value(self.arguments)
    }

    fn turn(&self) -> Arc<Value> {
        let mut made = self.turn.borrow_mut();
        made.get_or_insert_with(|| Arc::new(self.around.turn())).clone()
    }

    fn said(&self) -> Cow<'_, str> {
        self.around.said().into()
    }

    fn earlier(&self) -> Vec<Earlier<'_>> {
        let made = self.made.get_or_init(|| self.around.made());
        let earlier = |it: &'_ Arc<Made>| is_same(&it.arguments, self.arguments);
        let all = made.iter().map(|it| (it, earlier(it)));
        all.map(|(it, is_same)| Earlier { tool: &it.tool, arguments: &**it, is_same }).collect()
    }
}
