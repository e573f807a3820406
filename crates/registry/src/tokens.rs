//! Tokens of the API: each for some agents and some verbs, kept as hashes.
//!
//! A token is shown once, when it is made. What is kept can check it and can't make it.

use crate::daemon::{Actor, Daemon};
use crate::error::RuntimeError;
use crate::lifecycle::wrong_state;
use crate::registry::AgentState;
use crate::signal::{Changes, Signal};
use arc_swap::ArcSwap;
use insula_config::rules::is_identifier;
use insula_domain::{AgentId, Metadata};
use insula_store::{DaemonCommand, Feed, FeedChange, Subscription};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// The name under which the store keeps all tokens.
pub(crate) const KEPT: &str = "tokens";

/// What a token's text begins with, so that people and scanners recognise one.
const PREFIX: &str = "insula_";

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

/// A token, without the part that is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id: the account of whoever uses it.
    pub id: Box<str>,
    /// The hash of its secret.
    hash: [u8; 32],
    pub agents: BTreeSet<AgentId>,
    /// What it may do with them.
    pub verbs: BTreeSet<Verb>,
    /// What it is for, in its maker's words.
    pub note: Option<Box<str>>,
    /// When it was made.
    pub created: Box<str>,
    /// Values for hooks and expressions.
    pub metadata: Metadata,
}

impl Token {
    /// Whether it lets its bearer do `verb` with `agent`.
    pub fn allows(&self, agent: &AgentId, verb: Verb) -> bool {
        self.agents.contains(agent)
            && (self.verbs.contains(&verb) || self.verbs.contains(&Verb::Admin))
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
            "note": self.note,
            "created": self.created,
            "metadata": self.metadata,
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
        Some(Self {
            id: id.into(),
            hash: bytes?.try_into().ok()?,
            agents: texts("agents").map(AgentId::new).collect::<Result<_, _>>().ok()?,
            verbs: texts("verbs").map(Verb::parse).collect::<Option<_>>()?,
            note: value["note"].as_str().map(Into::into),
            created: value["created"].as_str()?.into(),
            metadata: value["metadata"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())))
                .collect::<Option<_>>()?,
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
    fn load(text: Option<&str>) -> Self {
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

    /// Every token, by id.
    pub fn list(&self) -> Vec<Arc<Token>> {
        self.known.load().values().cloned().collect()
    }
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

impl Daemon {
    /// Makes a token and gives its text, which is not kept.
    pub async fn create_token(
        &self,
        agents: BTreeSet<AgentId>,
        verbs: BTreeSet<Verb>,
        note: Option<Box<str>>,
        actor: &Actor,
    ) -> Result<(Arc<Token>, String), RuntimeError> {
        self.create_token_with(agents, verbs, note, Metadata::new(), actor).await
    }

    /// The same, with values for hooks and expressions.
    pub async fn create_token_with(
        &self,
        agents: BTreeSet<AgentId>,
        verbs: BTreeSet<Verb>,
        note: Option<Box<str>>,
        metadata: Metadata,
        actor: &Actor,
    ) -> Result<(Arc<Token>, String), RuntimeError> {
        let _changes = self.change().await;
        let snapshot = self.snapshot();
        if let Some(missing) = agents.iter().find(|id| !snapshot.agents.contains_key(*id)) {
            return Err(RuntimeError::NoSuchAgent(missing.as_str().into()));
        }
        // It would come alive with whoever has the name next.
        let is_gone = |id: &&AgentId| {
            let state = snapshot.agents.get(*id).map(|entry| &entry.state);
            matches!(state, Some(AgentState::Deleted | AgentState::Deleting(_)))
        };
        if let Some(gone) = agents.iter().find(is_gone) {
            return Err(wrong_state(gone, "deleted", "remove it from config.yaml first"));
        }
        if agents.is_empty() || verbs.is_empty() {
            let what = "a token is for at least one agent and one verb";
            return Err(RuntimeError::Invalid(what.to_owned()));
        }
        if let Some(key) = metadata.keys().find(|key| !is_identifier(key)) {
            let key: String = key.chars().take(100).flat_map(char::escape_debug).collect();
            let what = format!(
                "`{key}` is no key of metadata: use letters, digits and `_`, not a digit first"
            );
            return Err(RuntimeError::Invalid(what));
        }
        let now = self.world.clock.now();
        // Never the same twice, also after one was revoked within the same moment.
        let count = {
            let mut made = self.tokens_made.lock().unwrap_or_else(PoisonError::into_inner);
            let count = made.entry(agents.clone()).or_default();
            *count += 1;
            count.to_string()
        };
        let at = now.as_millis().to_string();
        let mut purpose = vec!["token", &at, &count];
        purpose.extend(agents.iter().map(AgentId::as_str));
        let mut random = self.world.random.stream(&purpose);
        let (id, secret) =
            (random.id()[..12].to_owned(), format!("{}{}", random.id(), random.id()));
        let token = Arc::new(Token {
            id: id.as_str().into(),
            hash: *blake3::hash(secret.as_bytes()).as_bytes(),
            agents,
            verbs,
            note,
            created: now.to_string().into(),
            metadata,
        });
        let mut known = (**self.tokens.known.load()).clone();
        known.insert(token.id.clone(), token.clone());
        self.keep_tokens(known, "token.created", &token, actor).await?;
        Ok((token, format!("{PREFIX}{id}_{secret}")))
    }

    /// Revokes a token at once.
    pub async fn revoke_token(&self, id: &str, actor: &Actor) -> Result<(), RuntimeError> {
        let _changes = self.change().await;
        let mut known = (**self.tokens.known.load()).clone();
        let Some(token) = known.remove(id) else {
            return Err(RuntimeError::NoSuchToken(id.into()));
        };
        self.keep_tokens(known, "token.revoked", &token, actor).await
    }

    async fn keep_tokens(
        &self,
        known: BTreeMap<Box<str>, Arc<Token>>,
        kind: &str,
        token: &Token,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let kept: serde_json::Map<String, Value> =
            known.iter().map(|(id, token)| (id.to_string(), token.to_json())).collect();
        let agents: Vec<&str> = token.agents.iter().map(AgentId::as_str).collect();
        let content = json!({ "token": &*token.id, "agents": agents });
        let batch = vec![
            DaemonCommand::PutValue { key: KEPT.into(), value: Value::Object(kept).to_string() },
            DaemonCommand::Audit(self.entry(actor, kind, 0, content)),
        ];
        self.owner.daemon().commit(batch).await?;
        self.acting.rights_changed(self).await;
        Ok(())
    }

    /// Takes a deleted agent out of every token; one that was for it alone goes with it.
    pub(crate) fn tokens_without(&self, id: &AgentId) -> Option<DaemonCommand> {
        let before = self.tokens.known.load();
        let mut known = BTreeMap::new();
        for (name, token) in before.iter() {
            let mut left = (**token).clone();
            left.agents.remove(id);
            if !left.agents.is_empty() {
                known.insert(name.clone(), Arc::new(left));
            }
        }
        if known == **before {
            return None;
        }
        let kept: serde_json::Map<String, Value> =
            known.iter().map(|(id, token)| (id.to_string(), token.to_json())).collect();
        Some(DaemonCommand::PutValue { key: KEPT.into(), value: Value::Object(kept).to_string() })
    }

    pub(crate) async fn kept_tokens(store: &insula_store::Store) -> Result<Tokens, RuntimeError> {
        Ok(Tokens::load(store.daemon().value(KEPT).await?.as_deref()))
    }
}
