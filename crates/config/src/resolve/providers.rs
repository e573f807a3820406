//! The providers that one agent asks: those of its own, and shared ones that it may use.

use super::Reader;
use crate::model::{Lack, Provider, Providers};
use crate::source::Span;
use crate::written_providers;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Reader<'_> {
    /// Its own providers, which from here on stand in the place of shared ones of their names.
    pub(super) fn own_providers(&mut self) -> BTreeMap<Box<str>, Provider> {
        // Most agents have none, and of a broken file every look at all errors counts.
        let written = self.at("providers");
        if written.is_none() {
            return BTreeMap::new();
        }
        let errors = self.report.errors().count();
        let own = written_providers::read(self.report, &self.owner, written);
        self.failed |= self.report.errors().count() > errors;
        if own.is_empty() {
            return own;
        }
        let all = self.providers.with_own(&own);
        for name in own.keys() {
            let Some(node) = written.and_then(|it| it.get(name)) else { continue };
            match all.lacks(name) {
                Some(Lack::Secret(secret)) => self.missing_secret(node.span, secret),
                Some(Lack::Key) => {
                    let message = format!("provider `{name}` of agent `{}` has no key", self.id);
                    let help = format!(
                        "write `api_key: \"${{secret:NAME}}\"` under its `providers.{name}`, and set it with `insula secret set {} NAME`",
                        self.id
                    );
                    self.warn(node.span, message, Some(help));
                }
                Some(Lack::Address) => {
                    let message =
                        format!("provider `{name}` of agent `{}` has no address", self.id);
                    let help = format!("write `base_url` under its `providers.{name}`");
                    self.warn(node.span, message, Some(help));
                }
                None => {}
            }
        }
        self.providers = Cow::Owned(all);
        own
    }

    /// Notes that it asks a provider. One that is not shared with it is told of: the agent serves,
    /// and whoever talks to it hears the same.
    pub(super) fn asks(&mut self, provider: &str, span: Span) {
        if self.at("providers").is_some_and(|own| own.get(provider).is_some()) {
            return;
        }
        if self.around.providers.admits(provider, self.id) {
            self.asked.push((provider.into(), span));
            return;
        }
        let message = not_shared(provider, self.id.as_str());
        if self.report.diagnostics.iter().any(|it| it.owner == self.owner && it.message == message)
        {
            return;
        }
        let help = ways_to_have(provider, self.id.as_str());
        self.warn(span, message, Some(help));
    }
}

/// What is said of a provider that an agent asks and may not use.
pub fn not_shared(provider: &str, agent: &str) -> String {
    format!("provider `{provider}` is not shared with agent `{agent}`")
}

/// What helps: a grant, or a key of the agent's own.
pub fn ways_to_have(provider: &str, agent: &str) -> String {
    let own = match Providers::usual_secret(provider) {
        Some(secret) => format!(
            "`insula agents set {agent} providers '{{{provider}: {{}}}}'`, then `insula secret set {agent} {secret}`"
        ),
        None => "write it under the agent's own `providers`, with `api_key: \"${secret:NAME}\"`"
            .to_owned(),
    };
    format!(
        "add `{agent}` to `providers.{provider}.agents` in config.yaml, or let it pay itself: {own}"
    )
}
