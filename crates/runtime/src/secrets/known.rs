//! What is known of the secrets at one moment: their names, the daemon's values, and the
//! redactors. Never changes; a change of any secret makes another.

use super::is_same;
use arc_swap::ArcSwapOption;
use insula_config::Owner as ConfigOwner;
use insula_domain::AgentId;
use insula_vault::redact::ANYWHERE_BYTES_MIN;
use insula_vault::{Contents, Owner, Redactor, Secret, SecretName, VaultError};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the secrets at one moment.
#[derive(Default)]
pub struct Known {
    daemon: Arc<DaemonKeys>,
    /// Agents that have a secret; most have none.
    agents: BTreeMap<AgentId, Namespace>,
    replies: Arc<Redactor>,
    records: Arc<Redactor>,
    trouble: Vec<String>,
}

/// What the daemon itself has. The same object as long as none of it changes, so that whoever
/// made something of it can see that it still holds.
#[derive(Default)]
pub(crate) struct DaemonKeys {
    /// By name; why for one that does not open.
    values: BTreeMap<SecretName, Result<Secret, String>>,
    /// From elsewhere than the vault.
    handed: Vec<Secret>,
    redactor: Arc<Redactor>,
}

impl DaemonKeys {
    /// The value of a secret; an error says what to do.
    pub(crate) fn get(&self, name: &str) -> Result<&Secret, String> {
        let name = SecretName::new(name).map_err(|error| error.to_string())?;
        match self.values.get(&name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) => Err(why.clone()),
            None => Err(VaultError::Missing { name, owner: Owner::Daemon }.to_string()),
        }
    }

    fn readable(&self) -> impl Iterator<Item = &Secret> {
        self.values.values().flatten().chain(&self.handed)
    }
}

/// What one agent has.
#[derive(Default)]
struct Namespace {
    names: Vec<SecretName>,
    values: Vec<Secret>,
    /// Made when the agent first needs it: most agents of a large house are idle.
    own: ArcSwapOption<Redactor>,
}

impl Known {
    /// Sorts what was read. What could not be read at all leaves what was known before.
    pub(crate) fn build(
        contents: Result<Contents, VaultError>,
        handed: Vec<Secret>,
        before: &Known,
        mut trouble: Vec<String>,
    ) -> Self {
        let mut values = BTreeMap::new();
        let mut agents: BTreeMap<AgentId, Namespace> = BTreeMap::new();
        match contents {
            Ok(Contents { held, unlisted }) => {
                trouble.extend(unlisted.iter().map(ToString::to_string));
                for secret in held {
                    let value = secret.value.map_err(|error| error.to_string());
                    trouble.extend(value.as_ref().err().cloned());
                    match secret.owner {
                        Owner::Daemon => drop(values.insert(secret.name, value)),
                        Owner::Agent(id) => {
                            let namespace = agents.entry(id).or_default();
                            namespace.names.push(secret.name);
                            namespace.values.extend(value.ok());
                        }
                    }
                }
            }
            Err(error) => {
                trouble.push(error.to_string());
                values.clone_from(&before.daemon.values);
                for (id, known) in &before.agents {
                    let (names, values) = (known.names.clone(), known.values.clone());
                    let own = ArcSwapOption::empty();
                    agents.insert(id.clone(), Namespace { names, values, own });
                }
            }
        }
        trouble.dedup();
        let daemon = if values == before.daemon.values && handed == before.daemon.handed {
            before.daemon.clone()
        } else {
            let mut keys = DaemonKeys { values, handed, redactor: Arc::default() };
            keys.redactor = Arc::new(Redactor::new(keys.readable()));
            Arc::new(keys)
        };
        let all = || daemon.readable().chain(agents.values().flat_map(|it| &it.values));
        // Without secrets of agents the daemon's redactor is all there is to look for.
        let (replies, records) = if agents.values().all(|it| it.values.is_empty()) {
            (daemon.redactor.clone(), daemon.redactor.clone())
        } else {
            let long = |value: &&Secret| value.reveal().trim().len() >= ANYWHERE_BYTES_MIN;
            (Arc::new(Redactor::new(all().filter(long))), Arc::new(Redactor::new(all())))
        };
        Self { daemon, agents, replies, records, trouble }
    }

    /// For what stands in the prompts and in the journal of one agent: its own and the
    /// daemon's.
    pub fn own(&self, agent: &AgentId) -> Arc<Redactor> {
        let Some(namespace) = self.agents.get(agent) else { return self.daemon.redactor.clone() };
        if let Some(own) = namespace.own.load_full() {
            return own;
        }
        // Two that come at once make the same one twice, which harms nobody.
        let values = self.daemon.readable().chain(&namespace.values);
        let own = Arc::new(Redactor::new(values));
        namespace.own.store(Some(own.clone()));
        own
    }

    /// For what leaves a turn, after its agent's own: every secret that can't be guessed.
    pub fn replies(&self) -> Arc<Redactor> {
        self.replies.clone()
    }

    /// A text of one agent on its way out: without its own secrets, the daemon's, and all
    /// that can't be guessed. For whatever shows what an agent or its users said.
    pub fn told(&self, agent: &AgentId, text: String) -> String {
        let mut text = text;
        for redactor in [self.own(agent), self.replies()] {
            if let Cow::Owned(redacted) = redactor.redact(&text) {
                text = redacted;
            }
        }
        text
    }

    /// For what operators read: every secret.
    pub fn records(&self) -> &Redactor {
        &self.records
    }

    /// The daemon's secrets.
    pub(crate) fn daemon(&self) -> &Arc<DaemonKeys> {
        &self.daemon
    }

    /// Whether these were the keys from elsewhere.
    pub(crate) fn was_handed(&self, handed: &[Secret]) -> bool {
        self.daemon.handed == handed
    }

    /// What is wrong with the vault, naming files and never values.
    pub fn trouble(&self) -> &[String] {
        &self.trouble
    }

    /// How many secrets there are.
    pub fn count(&self) -> usize {
        self.daemon.values.len() + self.agents.values().map(|it| it.names.len()).sum::<usize>()
    }

    /// Whether whoever a finding belongs to has a secret of this name, readable or not.
    pub(crate) fn has(&self, owner: &ConfigOwner, name: &str) -> bool {
        match owner {
            ConfigOwner::Agent(id) => self.agents.get(&**id).is_some_and(|namespace| {
                namespace.names.iter().any(|known| known.as_str() == name)
            }),
            owner => {
                is_same(&Owner::Daemon, owner)
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

    /// The same for a record in the trail of one agent: without its own secrets, the daemon's,
    /// and all that can't be guessed. Whoever may read it must not find out by it whether a
    /// short word is another agent's secret.
    pub fn redact_record_of(&self, agent: &AgentId, mut content: Value) -> Value {
        for redactor in [self.own(agent), self.replies()] {
            if !redactor.is_empty() {
                redact_texts(&redactor, &mut content);
            }
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
