//! The providers of a daemon by name, and what `provider/model` means.

use crate::anthropic::Anthropic;
use crate::chain::Link;
use crate::endpoint::SpecError;
use crate::ollama::Ollama;
use crate::openai::OpenAi;
use crate::provider::Provider;
use crate::rehearsal::{self, Rehearsal};
use crate::spec::{Kind, ProviderSpec};
use insula_wire::Transport;
use std::collections::BTreeMap;
use std::sync::Arc;

impl ProviderSpec {
    /// The provider alone, ready to use.
    pub fn build(&self, transport: &Transport) -> Result<Arc<dyn Provider>, SpecError> {
        Ok(match self.kind {
            Kind::OpenAi => Arc::new(OpenAi::new(transport, self)?),
            Kind::Anthropic => Arc::new(Anthropic::new(transport, self)?),
            Kind::Ollama => Arc::new(Ollama::new(transport, self)?),
            Kind::Rehearsal => Arc::new(Rehearsal::named(self.name.clone())),
        })
    }
}

/// The providers there are, by name. `rehearsal` is always among them.
#[derive(Clone)]
pub struct Providers {
    by_name: BTreeMap<Arc<str>, Arc<dyn Provider>>,
}

/// A model's name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModel {
    /// There is no provider of that name.
    #[error("no provider `{provider}` for the model `{model}`; there are: {known}")]
    NoProvider {
        /// The provider that was named.
        provider: String,
        /// The whole name.
        model: String,
        /// The providers there are.
        known: String,
    },
    /// The name has no provider in it.
    #[error("the model `{model}` must be written as provider/model")]
    NotAPair {
        /// The name.
        model: String,
    },
}

impl Providers {
    /// Builds every provider of `specs`. Providers that can't be built are returned beside
    /// the ones that can: one wrong address does not take the others away.
    pub fn build(transport: &Transport, specs: &[ProviderSpec]) -> (Self, Vec<SpecError>) {
        let mut by_name: BTreeMap<Arc<str>, Arc<dyn Provider>> = BTreeMap::new();
        let mut faults = vec![];
        for spec in specs {
            match spec.build(transport) {
                Ok(_) if by_name.contains_key(&spec.name) => {
                    faults.push(SpecError::Twice { provider: spec.name.to_string() });
                }
                Ok(provider) => {
                    by_name.insert(spec.name.clone(), provider);
                }
                Err(fault) => faults.push(fault),
            }
        }
        let rehearsal: Arc<str> = rehearsal::NAME.into();
        by_name.entry(rehearsal.clone()).or_insert_with(|| Arc::new(Rehearsal::named(rehearsal)));
        (Self { by_name }, faults)
    }

    /// The provider of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Provider>> {
        self.by_name.get(name)
    }

    /// The names of the providers, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(|name| &**name)
    }

    /// What `provider/model` means. A model's own name may hold slashes. `rehearsal` alone
    /// means `rehearsal/rehearsal`.
    pub fn resolve(&self, model: &str) -> Result<Link, UnknownModel> {
        let pair =
            if model == rehearsal::NAME { Some((model, model)) } else { model.split_once('/') };
        let pair = pair.filter(|(provider, name)| !provider.is_empty() && !name.is_empty());
        let (provider, name) =
            pair.ok_or_else(|| UnknownModel::NotAPair { model: model.to_owned() })?;
        match self.get(provider) {
            Some(found) => Ok(Link::new(found.clone(), name)),
            None => Err(UnknownModel::NoProvider {
                provider: provider.to_owned(),
                model: model.to_owned(),
                known: self.names().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}
