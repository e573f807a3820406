//! Which scope an operation on memory belongs to: the rule an operator chose, what it is asked
//! about, and its answer. An answer that can't be had is a refusal, never a wider scope.

use crate::address::Address;
use crate::binding::Metadata;
use crate::expr::{Answer, Bindings, ExprError, Expression, Record, Value, Variable};
use crate::id::{AgentId, PersonId};
use crate::place::{PLACE_VARIABLES, Place};
use crate::scope::{ContextId, CustomId, MemoryScope, Scope};
use crate::session_key::SessionKey;

/// What an expression about scopes may name.
pub const SCOPE_VARIABLES: &[Variable] = &{
    let [chat_type, guild, team, parent, roles, person, token] = PLACE_VARIABLES;
    [
        Variable::open("operation"),
        Variable::open("session_id"),
        Variable::open("platform"),
        Variable::open("account"),
        Variable::open("channel_id"),
        Variable::open("topic_id"),
        Variable::open("user_id"),
        Variable::open("agent_id"),
        Variable::open("metadata"),
        Variable::open("GLOBAL"),
        chat_type,
        guild,
        team,
        parent,
        roles,
        person,
        token,
    ]
};

/// How the scope of a message is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRule {
    /// By name.
    Named(MemoryScope),
    /// By an expression that answers the name of a context, or `GLOBAL`.
    Expression(Expression),
}

impl Default for ScopeRule {
    fn default() -> Self {
        Self::Named(MemoryScope::Auto)
    }
}

impl ScopeRule {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Named(scope) => scope.as_str(),
            Self::Expression(expression) => expression.text(),
        }
    }
}

/// What is to be done with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOperation {
    /// Read it.
    Read,
    /// Write to it.
    Write,
}

impl MemoryOperation {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Why there is no scope, and so no operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeDenied {
    /// an expression gave no answer
    #[error("`{expression}` gave no scope ({error}), so memory is closed here")]
    Expression {
        /// The expression.
        expression: Box<str>,
        /// What went wrong.
        error: ExprError,
    },
    /// an answer is no name
    #[error("{who} answered {what}, so memory is closed here")]
    Answer {
        /// Who answered.
        who: Box<str>,
        /// What it was.
        what: &'static str,
    },
    /// a hook did not answer
    #[error("the hook `memory:scope` gave no scope ({0}), so memory is closed here")]
    Hook(Box<str>),
    /// a hook is asked when the operation comes, and not before
    #[error("the hook `memory:scope` decides it, for each operation when that comes")]
    NotAsked,
}

/// What a rule is asked about.
#[derive(Debug, Clone)]
pub struct ScopePayload<'p> {
    /// What is to be done.
    pub operation: MemoryOperation,
    /// Whose memory it is.
    pub agent: &'p AgentId,
    /// The conversation.
    pub session: &'p SessionKey,
    /// Where the message was said.
    pub address: &'p Address,
    /// The person its sender is linked to.
    pub person: Option<&'p PersonId>,
    /// The id of the token that they speak by.
    pub token: Option<&'p str>,
    /// Values of the agent, the account, the binding and the token, in that order. Never what
    /// a request brought.
    pub metadata: &'p Metadata,
}

impl<'p> ScopePayload<'p> {
    /// Where it was said.
    pub fn place(&self) -> Place<'p> {
        Place { address: self.address, person: self.person, token: self.token }
    }

    /// As the variables of an expression.
    pub fn bindings(&self) -> Bindings {
        let text = |text: &str| Value::text(text);
        let maybe = |text: Option<&str>| text.map_or_else(Value::null, Value::text);
        let mut metadata = Record::new();
        for (key, value) in self.metadata {
            metadata.insert(&**key, Value::text(&**value));
        }
        let bindings = Bindings::new()
            .with("operation", text(self.operation.as_str()))
            .with("session_id", text(&self.session.to_string()))
            .with("platform", text(&self.address.platform.to_string()))
            .with("account", text(self.address.account.as_str()))
            .with("channel_id", text(self.address.chat.as_str()))
            .with("topic_id", maybe(self.address.topic.as_ref().map(|topic| topic.as_str())))
            .with("user_id", maybe(self.address.user.as_ref().map(|user| user.as_str())))
            .with("agent_id", text(self.agent.as_str()))
            .with("metadata", metadata.build())
            .with("GLOBAL", Value::global());
        let facts = self.place().facts().into_iter();
        facts.fold(bindings, |bindings, (name, fact)| bindings.with(name, fact.value()))
    }
}

impl ScopeRule {
    /// The scope of an operation.
    pub fn decide(&self, payload: &ScopePayload<'_>) -> Result<Scope, ScopeDenied> {
        match self {
            Self::Named(named) => {
                let place = payload.session.place(payload.address);
                Ok(named.resolve(&place, payload.person))
            }
            Self::Expression(expression) => answered(expression, &payload.bindings()),
        }
    }
}

/// The scope that an expression answers.
pub fn answered(expression: &Expression, bindings: &Bindings) -> Result<Scope, ScopeDenied> {
    let denied = |what| ScopeDenied::Answer { who: format!("`{expression}`").into(), what };
    let answer = expression
        .evaluate(bindings)
        .map_err(|error| ScopeDenied::Expression { expression: expression.text().into(), error })?;
    match answer {
        Answer::Global => Ok(Scope::Global),
        Answer::Text(text) => custom(&text).ok_or_else(|| denied("no usable name")),
        Answer::Bool(_) => Err(denied("true or false, and no name")),
        Answer::Texts(_) => Err(denied("a list, and no name")),
    }
}

/// The scope of a name that a hook or an expression answered; `None` for none that can be.
pub fn custom(text: &str) -> Option<Scope> {
    CustomId::new(text).map(|id| Scope::Context(ContextId::Custom(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_operations_are_shown_as_they_are_written() {
        assert_eq!(ScopeRule::default().as_str(), "auto");
        let expression = Expression::compile("'org:' + metadata.org", SCOPE_VARIABLES).unwrap();
        assert_eq!(ScopeRule::Expression(expression).as_str(), "'org:' + metadata.org");
        let operations = [MemoryOperation::Read, MemoryOperation::Write];
        assert_eq!(operations.map(MemoryOperation::as_str), ["read", "write"]);
    }

    use crate::{AccountId, ChatId, ChatType, Platform, TopicId, UserId};

    fn decide(
        rule: &str,
        topic: Option<&str>,
        metadata: &[(&str, &str)],
    ) -> Result<String, String> {
        let address = Address {
            platform: Platform::new("telegram").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new("-1").unwrap(),
            chat_type: ChatType::Group,
            topic: topic.map(|topic| TopicId::new(topic).unwrap()),
            parent: None,
            community: None,
            user: Some(UserId::new("7").unwrap()),
            roles: Vec::new(),
        };
        let agent = AgentId::new("a").unwrap();
        let session = SessionKey::of(&agent, &address, Default::default());
        let metadata = metadata.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let payload = ScopePayload {
            operation: MemoryOperation::Write,
            agent: &agent,
            session: &session,
            address: &address,
            person: None,
            token: None,
            metadata: &metadata,
        };
        let rule = match MemoryScope::parse(rule) {
            Some(named) => ScopeRule::Named(named),
            None => ScopeRule::Expression(Expression::compile(rule, SCOPE_VARIABLES).unwrap()),
        };
        rule.decide(&payload).map(|it| it.to_string()).map_err(|it| it.to_string())
    }

    #[test]
    fn the_three_policies_and_their_failures() {
        assert_eq!(decide("chat", Some("5"), &[]).unwrap(), "chat:telegram:main:-1");
        assert_eq!(decide("auto", Some("5"), &[]).unwrap(), "topic:telegram:main:-1:5");
        assert_eq!(decide("user", None, &[]).unwrap(), "user:telegram:main:7");
        let org = "'org:' + metadata.org_id";
        assert_eq!(decide(org, None, &[("org_id", "acme")]).unwrap(), "custom:org%3Aacme");
        let denied = decide(org, None, &[]).unwrap_err();
        assert!(denied.contains("org_id") && denied.contains("closed"), "{denied}");
        assert_eq!(decide("GLOBAL", None, &[]).unwrap(), "global");
        let topic = "topic_id == null ? channel_id : topic_id";
        assert_eq!(decide(topic, None, &[]).unwrap(), "custom:-1");
        assert_eq!(decide(topic, Some("5"), &[]).unwrap(), "custom:5");
    }

    #[test]
    fn an_answer_cannot_name_a_derived_scope() {
        for (expression, expected) in [
            ("'global'", "custom:global"),
            ("'chat:telegram:main:-2'", "custom:chat%3Atelegram%3Amain%3A-2"),
            ("'../..'", "custom:..%2F.."),
        ] {
            assert_eq!(decide(expression, None, &[]).unwrap(), expected);
        }
        for nonsense in ["''", "true", "['a']", "metadata", "1 / 0 == 1 ? 'a' : 'b'", "null"] {
            assert!(decide(nonsense, None, &[]).is_err(), "{nonsense}");
        }
        let long = format!("'{}'", "x".repeat(600));
        assert!(decide(&long, None, &[]).is_err());
    }
}
