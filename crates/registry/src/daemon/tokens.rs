//! Makes and revokes tokens.

use super::lifecycle::wrong_state;
use super::{Actor, Daemon};
use crate::error::RuntimeError;
use crate::registry::{AgentState, Snapshot};
use crate::tokens::{KEPT, PREFIX, Token, TokenReach, Tokens, Verb, kept};
use insula_config::rules::is_identifier;
use insula_config::way_in;
use insula_domain::{AgentId, Metadata, Narrowing};
use insula_store::DaemonCommand;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

/// What a token is to be.
#[derive(Debug, Clone, Default)]
pub struct NewToken {
    /// How far into its agents it reaches. One for a scope is of one agent and only reads.
    pub reach: TokenReach,
    pub agents: BTreeSet<AgentId>,
    pub verbs: BTreeSet<Verb>,
    /// What it is for, in its maker's words.
    pub note: Option<Box<str>>,
    /// Values for hooks and expressions.
    pub metadata: Metadata,
    /// What it takes away from its agents: `tools`, `rules`, `budget` and `model` of a way in.
    pub less: Option<Box<str>>,
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
        let new = NewToken { agents, verbs, note, ..NewToken::default() };
        self.create_token_with(new, actor).await
    }

    /// The same, with all that a token may have.
    pub async fn create_token_with(
        &self,
        new: NewToken,
        actor: &Actor,
    ) -> Result<(Arc<Token>, String), RuntimeError> {
        let NewToken { reach, agents, verbs, note, metadata, less } = new;
        if let TokenReach::Scope(_) = &reach {
            let wrong = if agents.len() > 1 {
                Some("a scope is inside one agent: a token for a scope is for that agent alone")
            } else if verbs.iter().any(|verb| *verb != Verb::Read) {
                Some("a token for a scope can only read: give it the verb `read` and no other")
            } else {
                None
            };
            if let Some(wrong) = wrong {
                return Err(RuntimeError::Invalid(wrong.to_owned()));
            }
        }
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
        let now = self.parts.world.clock.now();
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
        let mut random = self.parts.world.random.stream(&purpose);
        let (id, secret) =
            (random.id()[..12].to_owned(), format!("{}{}", random.id(), random.id()));
        let narrowing = match &less {
            Some(less) => way_in::of_token(&id, less).map_err(RuntimeError::Invalid)?,
            None => None,
        };
        self.has_model(&snapshot, &agents, narrowing.as_deref())?;
        let token = Arc::new(Token {
            id: id.as_str().into(),
            hash: *blake3::hash(secret.as_bytes()).as_bytes(),
            agents,
            verbs,
            reach,
            note,
            created: now.to_string().into(),
            metadata,
            less: less.filter(|_| narrowing.is_some()),
            narrowing,
        });
        let mut known = self.parts.tokens.all();
        known.insert(token.id.clone(), token.clone());
        self.keep_tokens(known, "token.created", &token, actor).await?;
        Ok((token, format!("{PREFIX}{id}_{secret}")))
    }

    /// Whether all agents of a token have the model that it leaves them.
    fn has_model(
        &self,
        snapshot: &Snapshot,
        agents: &BTreeSet<AgentId>,
        narrowing: Option<&Narrowing>,
    ) -> Result<(), RuntimeError> {
        let Some(narrowing) = narrowing.filter(|it| it.model.is_some()) else { return Ok(()) };
        for id in agents {
            let Some(AgentState::Ready(agent)) = snapshot.agents.get(id).map(|it| &it.state) else {
                continue;
            };
            let models = &agent.models.models;
            if !models.iter().any(|it| narrowing.leaves_model(&it.to_string(), &it.name)) {
                let known: Vec<String> = models.iter().map(ToString::to_string).collect();
                return Err(RuntimeError::Invalid(format!(
                    "agent `{id}` does not have model `{}`: use one of {}",
                    narrowing.model.as_deref().unwrap_or_default(),
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Revokes a token at once.
    pub async fn revoke_token(&self, id: &str, actor: &Actor) -> Result<(), RuntimeError> {
        let _changes = self.change().await;
        let mut known = self.parts.tokens.all();
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
        let agents: Vec<&str> = token.agents.iter().map(AgentId::as_str).collect();
        let mut content = json!({ "token": &*token.id, "agents": agents });
        if let Some(scope) = token.scope() {
            content["scope"] = scope.as_str().into();
        }
        let batch = vec![
            DaemonCommand::PutValue { key: KEPT.into(), value: kept(&known) },
            DaemonCommand::Audit(self.parts.trail.entry(actor, kind, 0, content)),
        ];
        self.parts.owner.daemon().commit(batch).await?;
        self.parts.access.tell_of_change().await;
        Ok(())
    }

    /// Takes a deleted agent out of every token; one that was for it alone goes with it.
    pub(crate) fn tokens_without(&self, id: &AgentId) -> Option<DaemonCommand> {
        let before = self.parts.tokens.all();
        let mut known = BTreeMap::new();
        for (name, token) in before.iter() {
            let mut left = (**token).clone();
            left.agents.remove(id);
            if !left.agents.is_empty() {
                known.insert(name.clone(), Arc::new(left));
            }
        }
        if known == before {
            return None;
        }
        Some(DaemonCommand::PutValue { key: KEPT.into(), value: kept(&known) })
    }

    pub(crate) async fn kept_tokens(store: &insula_store::Store) -> Result<Tokens, RuntimeError> {
        Ok(Tokens::load(store.daemon().value(KEPT).await?.as_deref()))
    }
}
