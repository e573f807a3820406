//! Tokens of the API: each for some agents and some verbs, kept as hashes.
//!
//! A token is shown once, when it is made. What is kept can check it and can't make it.

use crate::signal::{Changes, Signal};
use arc_swap::ArcSwap;
use insula_config::way_in;
use insula_domain::{AgentId, Metadata, Narrowing, ScopeName};
use insula_store::{Feed, FeedChange, Subscription};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name under which the store keeps all tokens.
pub(crate) const KEPT: &str = "tokens";

/// What a token's text begins with, so that people and scanners recognise one.
pub(crate) const PREFIX: &str = "insula_";

/// What a token may do with its agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Talk to them.
    Chat,
    /// Read their sessions, usage and events.
    Read,
    /// Answer their approvals.
    Approve,
    /// Pause, resume and reload them.
    Manage,
    /// All of these.
    Admin,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 5] = [Self::Chat, Self::Read, Self::Approve, Self::Manage, Self::Admin];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Read => "read",
            Self::Approve => "approve",
            Self::Manage => "manage",
            Self::Admin => "admin",
        }
    }

    /// Finds a verb by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == text)
    }
}

/// How much of its agents a token is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TokenReach {
    /// Them as a whole, by its verbs.
    #[default]
    Whole,
    /// What one scope of its one agent may read, and nothing else: no verb of it holds elsewhere.
    Scope(ScopeName),
}

/// A token, without the part that is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id: the account of whoever uses it.
    pub id: Box<str>,
    /// The hash of its secret.
    pub(crate) hash: [u8; 32],
    pub agents: BTreeSet<AgentId>,
    /// What it may do with them.
    pub verbs: BTreeSet<Verb>,
    /// How much of them it is for.
    pub reach: TokenReach,
    /// What it is for, in its maker's words.
    pub note: Option<Box<str>>,
    /// When it was made.
    pub created: Box<str>,
    /// Values for hooks and expressions.
    pub metadata: Metadata,
    /// What it takes away from its agents, as it was written.
    pub less: Option<Box<str>>,
    /// The same, read.
    pub narrowing: Option<Arc<Narrowing>>,
}

impl Token {
    /// Whether it lets its bearer do `verb` with `agent` as a whole. One for a scope never does:
    /// where nobody looks for its scope it opens nothing.
    pub fn allows(&self, agent: &AgentId, verb: Verb) -> bool {
        self.reach == TokenReach::Whole
            && self.agents.contains(agent)
            && (self.verbs.contains(&verb) || self.verbs.contains(&Verb::Admin))
    }

    /// The one scope it is for, if it is for one.
    pub fn scope(&self) -> Option<&ScopeName> {
        match &self.reach {
            TokenReach::Whole => None,
            TokenReach::Scope(scope) => Some(scope),
        }
    }

    /// A key that only this token leads to, for what is to be read back only by its bearer.
    pub fn key(&self, purpose: &str) -> [u8; 32] {
        *blake3::keyed_hash(&self.hash, purpose.as_bytes()).as_bytes()
    }

    fn to_json(&self) -> Value {
        json!({
            "hash": self.hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "agents": self.agents.iter().map(AgentId::as_str).collect::<Vec<_>>(),
            "verbs": self.verbs.iter().map(|verb| verb.as_str()).collect::<Vec<_>>(),
            "scope": self.scope().map(ScopeName::as_str),
            "note": self.note,
            "created": self.created,
            "metadata": self.metadata,
            "less": self.less,
        })
    }

    /// Reads one back; `None` for anything that is not whole, which then opens nothing.
    fn from_json(id: &str, value: &Value) -> Option<Self> {
        let texts =
            |key: &str| value[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let hash = value["hash"].as_str()?;
        let bytes: Option<Vec<u8>> = (0..hash.len() / 2)
            .map(|at| u8::from_str_radix(hash.get(at * 2..at * 2 + 2)?, 16).ok())
            .collect();
        let less = match &value["less"] {
            Value::Null => None,
            less => Some(less.as_str()?),
        };
        Some(Self {
            id: id.into(),
            hash: bytes?.try_into().ok()?,
            agents: texts("agents").map(AgentId::new).collect::<Result<_, _>>().ok()?,
            verbs: texts("verbs").map(Verb::parse).collect::<Option<_>>()?,
            // Of an older version it is of the whole; what is no scope opens nothing.
            reach: match value.get("scope") {
                None | Some(Value::Null) => TokenReach::Whole,
                Some(scope) => TokenReach::Scope(scope.as_str()?.parse().ok()?),
            },
            note: value["note"].as_str().map(Into::into),
            created: value["created"].as_str()?.into(),
            metadata: value["metadata"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())))
                .collect::<Option<_>>()?,
            less: less.map(Into::into),
            // A token that can't be narrowed as it was to be opens nothing.
            narrowing: match less {
                Some(less) => way_in::of_token(id, less).ok()?,
                None => None,
            },
        })
    }
}

/// The tokens there are. Looking one up never waits.
#[derive(Default)]
pub struct Tokens {
    known: ArcSwap<BTreeMap<Box<str>, Arc<Token>>>,
    /// Told of every change, for whoever holds a stream open by one.
    changed: Signal,
    /// Counts changes: what was allowed before one is judged anew after it.
    version: AtomicU64,
}

impl Tokens {
    pub(crate) fn load(text: Option<&str>) -> Self {
        Self { known: ArcSwap::from_pointee(read(text)), ..Self::default() }
    }

    /// Hears of tokens that are made and revoked.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let tokens = self.clone();
        feed.subscribe(move |change| match change {
            FeedChange::Value { key, value } if &**key == KEPT => {
                tokens.keep(read(value.as_deref()))
            }
            _ => {}
        })
    }

    fn keep(&self, known: BTreeMap<Box<str>, Arc<Token>>) {
        self.known.store(Arc::new(known));
        self.version.fetch_add(1, Ordering::SeqCst);
        self.changed.send();
    }

    /// How often something about any of them changed.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Hears of every change of any token from now on.
    pub fn changes(&self) -> Changes {
        self.changed.listen()
    }

    /// Waits until the token of this id does not allow `verb` with `agent`: it was revoked, or
    /// the agent taken out of it.
    pub async fn lost(&self, id: &str, agent: &AgentId, verb: Verb) {
        let mut changes = self.changed.listen();
        while self.known.load().get(id).is_some_and(|token| token.allows(agent, verb)) {
            changes.changed().await;
        }
    }

    /// Whose token `text` is; `None` when it is nobody's.
    pub fn find(&self, text: &str) -> Option<Arc<Token>> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let token = self.known.load().get(id).cloned()?;
        // Hashes of 256-bit secrets: blake3's own comparison takes the same time always.
        (blake3::Hash::from_bytes(token.hash) == blake3::hash(secret.as_bytes())).then_some(token)
    }

    /// The token of this id.
    pub fn get(&self, id: &str) -> Option<Arc<Token>> {
        self.known.load().get(id).cloned()
    }

    pub(crate) fn all(&self) -> BTreeMap<Box<str>, Arc<Token>> {
        (**self.known.load()).clone()
    }

    /// Every token, by id.
    pub fn list(&self) -> Vec<Arc<Token>> {
        self.known.load().values().cloned().collect()
    }
}

/// The tokens as the store keeps them.
pub(crate) fn kept(known: &BTreeMap<Box<str>, Arc<Token>>) -> String {
    let kept = known.iter().map(|(id, token)| (id.to_string(), token.to_json()));
    Value::Object(kept.collect()).to_string()
}

/// The tokens as they are kept.
fn read(text: Option<&str>) -> BTreeMap<Box<str>, Arc<Token>> {
    let kept: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let entries = kept.as_object().into_iter().flatten();
    let known = entries.filter_map(|(id, value)| {
        Some((id.as_str().into(), Arc::new(Token::from_json(id, value)?)))
    });
    known.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn token(scope: &Value) -> Option<Arc<Token>> {
        let hash = "00".repeat(32);
        let mut one = json!({ "hash": hash, "agents": ["a"], "verbs": ["read"], "created": "x" });
        if *scope != Value::Null {
            one["scope"] = scope.clone();
        }
        let all = json!({ "t": one }).to_string();
        Tokens::load(Some(&all)).get("t")
    }

    #[test]
    fn rule_04_a_token_for_a_scope_opens_nothing_where_nobody_looks_for_its_scope() {
        let (agent, other) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        let whole = token(&Value::Null).unwrap();
        assert!(whole.allows(&agent, Verb::Read) && whole.scope().is_none());
        assert!(!whole.allows(&other, Verb::Read));
        let one = token(&json!("custom:acme")).unwrap();
        assert_eq!(one.scope().map(ScopeName::as_str), Some("custom:acme"));
        assert!(Verb::ALL.iter().all(|verb| !one.allows(&agent, *verb)));
    }

    #[test]
    fn a_kept_token_whose_scope_is_none_is_nobodys() {
        for scope in [json!("everything"), json!(""), json!(7), json!(["global"]), json!({})] {
            assert_eq!(token(&scope), None, "{scope}");
        }
        // What is written is what is read.
        let one = token(&json!("custom:acme")).unwrap();
        let kept = kept(&BTreeMap::from([(one.id.clone(), one.clone())]));
        assert_eq!(Tokens::load(Some(&kept)).get("t"), Some(one));
    }
}
