//! Secrets in use: set, list and remove them while the daemon runs, and keep their values out
//! of everything that is said, logged or recorded.
//!
//! The vault keeps secrets; this room knows which are set, hands the daemon's to its
//! providers, and keeps redactors ready, built when a secret changes and never for a turn.
//!
//! There are two redactors, because hiding a text tells whoever sees the hole that it was
//! there:
//!
//! - **own**: the secrets of one agent, and those of the daemon's that nobody could guess
//!   ([`insula_vault::strength`]). Prompts, journal, deltas, replies, errors, what is sent, and
//!   the agent's own trail are redacted with this one alone. With another agent's secrets in
//!   it, what that agent keeps would change bytes of this one's (rule 10), and whoever makes
//!   this one speak could try out a list of words on it.
//! - **records**: every secret of every namespace. For what only operators read: the log, the
//!   daemon's own trail, and what is wrong with accounts.
//!
//! A key that `providers` takes from the environment, or that stands in the file and looks
//! like one, counts as a secret of the daemon here, although no vault keeps it; so does the token
//! of its own command line.

mod accounts;
mod granted;
mod known;

pub use granted::GrantedSecrets;
pub use known::KnownSecrets;
pub use known::{AgentKeys, DaemonKeys};

use crate::home::Home;
use arc_swap::{ArcSwap, ArcSwapOption};
use insula_config::model::Provider;
use insula_config::rules::{Reference, references};
use insula_config::{DaemonConfig, FindingOwner as ConfigOwner, LoadReport, looks_like_credential};
use insula_vault::redact::ANYWHERE_BYTES_MIN;
use insula_vault::{Secret, SecretOwner, Vault};
use insula_world::World;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is wrong with a secret of the daemon's that could be guessed.
pub const GUESSABLE: &str =
    "this value could be guessed, so agents' texts are not cleared of it; use a long random one";

/// The vault of a daemon, and what is known of it now.
pub struct SecretBook {
    pub(crate) vault: Vault,
    known: ArcSwap<KnownSecrets>,
    /// What opens the daemon itself, which no vault and no configuration names.
    pub(crate) master: ArcSwapOption<Secret>,
}

impl SecretBook {
    /// The book of a home, with nothing read yet.
    pub(crate) fn new(home: &Home, world: &World) -> Self {
        Self {
            vault: Vault::at(home.root(), world),
            known: ArcSwap::default(),
            master: ArcSwapOption::empty(),
        }
    }

    /// What is known now. Never waits.
    pub fn known(&self) -> Arc<KnownSecrets> {
        self.known.load_full()
    }

    /// Reads the vault and makes redactors of what is there. `handed` are the daemon's secrets
    /// that come from elsewhere. What can't be read is kept as trouble: it stops nobody who
    /// does not need it, and what the daemon can't read it can't let out either.
    pub(crate) async fn read(&self, handed: Vec<Secret>, world: &World) {
        let mut trouble: Vec<String> = Vec::new();
        if let Err(error) = self.vault.check().await {
            trouble.push(error.to_string());
        }
        let contents = self.vault.contents().await;
        let before = self.known();
        let built =
            world.storage.run(move || KnownSecrets::build(contents, handed, &before, trouble));
        match built.await {
            Ok(known) => self.known.store(Arc::new(known)),
            Err(error) => tracing::error!(%error, "the redactors could not be made anew"),
        }
    }

    /// The report without findings about secrets that are set.
    pub(crate) fn settled(&self, report: Arc<LoadReport>) -> Arc<LoadReport> {
        if report.diagnostics.iter().all(|found| found.unless_set.is_none()) {
            return report;
        }
        let (known, mut report) = (self.known(), LoadReport::clone(&report));
        report.settle(|owner, name| known.has(owner, name));
        Arc::new(report)
    }
}

/// Takes findings about secrets that are set out of a report, for a home that nobody opened.
/// Where the vault can't be listed they stay.
pub async fn settle(home: &Home, world: &World, report: &mut LoadReport) {
    let Ok(names) = Vault::at(home.root(), world).names().await else { return };
    report.settle(|owner, name| {
        names.iter().any(|(of, entry)| is_same(of, owner) && entry.name.as_str() == name)
    });
}

/// Whether a namespace is that of whoever a finding belongs to.
fn is_same(namespace: &SecretOwner, owner: &ConfigOwner) -> bool {
    match (namespace, owner) {
        (SecretOwner::Agent(id), ConfigOwner::Agent(name)) => id.as_str() == &**name,
        (SecretOwner::Daemon, ConfigOwner::Shared | ConfigOwner::Account(_)) => true,
        _ => false,
    }
}

/// The keys and headers of providers that do not come from the vault: from the environment, or as
/// they stand in the file. Names such as `none` or `lm-studio`, which people give to local models,
/// are no secrets and occur in ordinary texts.
pub(crate) fn handed(daemon: &DaemonConfig, env: &BTreeMap<String, String>) -> Vec<Secret> {
    let mut values = Vec::new();
    for text in daemon.providers.configured.values().flat_map(Provider::sent) {
        let found = references(text).unwrap_or_default();
        if found.is_empty() && looks_like_credential(text) {
            values.push(Secret::new(text));
        }
        let named = found.into_iter().filter_map(|reference| match reference {
            Reference::Env(name) => env.get(name),
            Reference::Secret(_) => None,
        });
        let long = named.filter(|value| value.trim().len() >= ANYWHERE_BYTES_MIN);
        values.extend(long.map(|value| Secret::new(value.as_str())));
    }
    values.extend(accounts::handed(daemon, env));
    values
}
