//! What is known of the secrets at one moment: their names, the daemon's values, and the
//! redactors. Never changes; a change of any secret makes another.

use super::is_same;
use arc_swap::ArcSwapOption;
use insula_config::FindingOwner as ConfigOwner;
use insula_domain::AgentId;
use insula_vault::strength::is_guessable;
use insula_vault::{Contents, Redactor, Secret, SecretName, SecretOwner, VaultError};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the secrets at one moment.
#[derive(Default)]
pub struct KnownSecrets {
    daemon: Arc<DaemonKeys>,
    /// Agents that have a secret; most have none.
    agents: BTreeMap<AgentId, Namespace>,
    records: Arc<Redactor>,
    trouble: Vec<String>,
}

/// What the daemon itself has. The same object as long as none of it changes, so that whoever
/// made something of it can see that it still holds.
#[derive(Default)]
pub struct DaemonKeys {
    /// By name; why for one that does not open.
    values: BTreeMap<SecretName, Result<Secret, String>>,
    /// From elsewhere than the vault.
    handed: Vec<Secret>,
    /// For what agents see: those that nobody could guess.
    redactor: Arc<Redactor>,
}

impl DaemonKeys {
    /// The value of a secret; an error says what to do.
    pub(crate) fn get(&self, name: &str) -> Result<&Secret, String> {
        let name = SecretName::new(name).map_err(|error| error.to_string())?;
        match self.values.get(&name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) => Err(why.clone()),
            None => Err(VaultError::Missing { name, owner: SecretOwner::Daemon }.to_string()),
        }
    }

    fn readable(&self) -> impl Iterator<Item = &Secret> {
        self.values.values().flatten().chain(&self.handed)
    }

    /// Those that an agent's texts are cleared of. An agent says what words it likes and sees
    /// which are taken out, so a value that is in a list of words would be found that way.
    fn unguessable(&self) -> impl Iterator<Item = &Secret> {
        self.readable().filter(|value| !is_guessable(value.reveal()))
    }
}

/// The secrets of one agent, by name; why for one that does not open. The same object as long as
/// none of them changes.
#[derive(Debug, Default, PartialEq)]
pub struct AgentKeys(BTreeMap<SecretName, Result<Secret, String>>);

impl AgentKeys {
    /// The value of a secret of this agent; an error says what to do.
    pub(crate) fn get(&self, name: &str, agent: &AgentId) -> Result<&Secret, String> {
        let name = SecretName::new(name).map_err(|error| error.to_string())?;
        match self.0.get(&name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) => Err(why.clone()),
            None => {
                let owner = SecretOwner::Agent(agent.clone());
                Err(VaultError::Missing { name, owner }.to_string())
            }
        }
    }

    fn readable(&self) -> impl Iterator<Item = &Secret> {
        self.0.values().flatten()
    }
}

/// What one agent has.
#[derive(Default)]
struct Namespace {
    keys: Arc<AgentKeys>,
    /// Made when the agent first needs it: most agents of a large daemon are idle.
    own: ArcSwapOption<Redactor>,
}

impl KnownSecrets {
    /// Sorts what was read. What could not be read at all leaves what was known before.
    pub(crate) fn build(
        contents: Result<Contents, VaultError>,
        handed: Vec<Secret>,
        before: &KnownSecrets,
        mut trouble: Vec<String>,
    ) -> Self {
        let mut values = BTreeMap::new();
        let mut of_agents: BTreeMap<AgentId, AgentKeys> = BTreeMap::new();
        let mut agents: BTreeMap<AgentId, Namespace> = BTreeMap::new();
        match contents {
            Ok(Contents { held, unlisted }) => {
                trouble.extend(unlisted.iter().map(ToString::to_string));
                for secret in held {
                    let value = secret.value.map_err(|error| error.to_string());
                    trouble.extend(value.as_ref().err().cloned());
                    match secret.owner {
                        SecretOwner::Daemon => drop(values.insert(secret.name, value)),
                        SecretOwner::Agent(id) => {
                            of_agents.entry(id).or_default().0.insert(secret.name, value);
                        }
                    }
                }
            }
            Err(error) => {
                trouble.push(error.to_string());
                values.clone_from(&before.daemon.values);
                for (id, known) in &before.agents {
                    let (keys, own) = (known.keys.clone(), ArcSwapOption::empty());
                    agents.insert(id.clone(), Namespace { keys, own });
                }
            }
        }
        for (id, keys) in of_agents {
            let known = before.agents.get(&id).map(|it| &it.keys).filter(|it| ***it == keys);
            let keys = known.cloned().unwrap_or_else(|| Arc::new(keys));
            agents.insert(id, Namespace { keys, own: ArcSwapOption::empty() });
        }
        trouble.dedup();
        let daemon = if values == before.daemon.values && handed == before.daemon.handed {
            before.daemon.clone()
        } else {
            let mut keys = DaemonKeys { values, handed, redactor: Arc::default() };
            keys.redactor = Arc::new(Redactor::new(keys.unguessable()));
            Arc::new(keys)
        };
        // What is known of an agent stays the same object while nothing of it changes: a secret
        // of somebody else's costs it nothing.
        if Arc::ptr_eq(&daemon, &before.daemon) {
            for (id, namespace) in &agents {
                let known = before.agents.get(id);
                let known = known.filter(|it| Arc::ptr_eq(&it.keys, &namespace.keys));
                namespace.own.store(known.and_then(|it| it.own.load_full()));
            }
        }
        let all = daemon.readable().chain(agents.values().flat_map(|it| it.keys.readable()));
        let records = Arc::new(Redactor::new(all));
        Self { daemon, agents, records, trouble }
    }

    /// For all that is made of one agent's words: its own, and those of the daemon's that
    /// nobody could guess. Nothing else may change a byte of them.
    pub fn own(&self, agent: &AgentId) -> Arc<Redactor> {
        let Some(namespace) = self.agents.get(agent) else { return self.daemon.redactor.clone() };
        if let Some(own) = namespace.own.load_full() {
            return own;
        }
        // Two that come at once make the same one twice, which harms nobody.
        let values = self.daemon.unguessable().chain(namespace.keys.readable());
        let own = Arc::new(Redactor::new(values));
        namespace.own.store(Some(own.clone()));
        own
    }

    /// A text of one agent on its way out. For whatever shows what an agent or its users said.
    pub fn told(&self, agent: &AgentId, text: String) -> String {
        match self.own(agent).redact(&text) {
            Cow::Owned(redacted) => redacted,
            Cow::Borrowed(_) => text,
        }
    }

    /// For what operators read: every secret.
    pub fn records(&self) -> &Redactor {
        &self.records
    }

    /// The daemon's secrets.
    pub fn daemon(&self) -> &Arc<DaemonKeys> {
        &self.daemon
    }

    /// The secrets of one agent, whatever it was granted: for what the daemon does in its name.
    pub(crate) fn agent(&self, agent: &AgentId) -> Arc<AgentKeys> {
        self.agents.get(agent).map(|it| it.keys.clone()).unwrap_or_default()
    }

    /// Whether these were the keys from elsewhere.
    pub(crate) fn was_handed(&self, handed: &[Secret]) -> bool {
        self.daemon.handed == handed
    }

    /// What is wrong with the vault, naming files and never values.
    pub fn trouble(&self) -> &[String] {
        &self.trouble
    }

    /// The daemon's secrets that could be guessed, by name: agents' texts are not cleared of
    /// them.
    pub fn guessable(&self) -> Vec<&SecretName> {
        let weak = |value: &Result<Secret, String>| {
            value.as_ref().is_ok_and(|value| is_guessable(value.reveal()))
        };
        self.daemon.values.iter().filter(|(_, it)| weak(it)).map(|(name, _)| name).collect()
    }

    /// How many secrets there are.
    pub fn count(&self) -> usize {
        self.daemon.values.len() + self.agents.values().map(|it| it.keys.0.len()).sum::<usize>()
    }

    /// Whether whoever a finding belongs to has a secret of this name, readable or not.
    pub(crate) fn has(&self, owner: &ConfigOwner, name: &str) -> bool {
        match owner {
            ConfigOwner::Agent(id) => self.agents.get(&**id).is_some_and(|namespace| {
                namespace.keys.0.keys().any(|known| known.as_str() == name)
            }),
            owner => {
                is_same(&SecretOwner::Daemon, owner)
                    && self.daemon.values.keys().any(|known| known.as_str() == name)
            }
        }
    }

    /// The content of a record of the daemon's own without secrets. Text is redacted and numbers
    /// are not, so that it stays JSON.
    pub fn redact_record(&self, mut content: Value) -> Value {
        if !self.records.is_empty() {
            redact_texts(&self.records, &mut content);
        }
        content
    }

    /// The same for a record in the trail of one agent, cleared as its replies are. Whoever may
    /// read it must not find out by it whether a word is another agent's secret.
    pub fn redact_record_of(&self, agent: &AgentId, mut content: Value) -> Value {
        let own = self.own(agent);
        if !own.is_empty() {
            redact_texts(&own, &mut content);
        }
        content
    }
}

fn redact_texts(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_texts(redactor, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| redact_texts(redactor, value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
