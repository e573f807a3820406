//! What the daemon itself runs by, as it is kept and compared.

use super::{shown, told_of};
use crate::account::{Account, AccountValue};
use crate::budget::{DaemonBudget, ModelPrice};
use crate::daemon::DaemonConfig;
use crate::load::Loaded;
use insula_domain::AgentId;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Its settings, by what they are called.
pub(super) fn settings(loaded: &Loaded) -> BTreeMap<String, String> {
    let daemon = &loaded.daemon;
    let mut settings = BTreeMap::from([
        ("listen".to_owned(), daemon.listen.to_string()),
        ("store.durability".to_owned(), daemon.store.durability.as_str().to_owned()),
    ]);
    if !daemon.api.changes {
        settings.insert("api.changes".to_owned(), "false".to_owned());
    }
    if !daemon.api.client_tools {
        settings.insert("api.client_tools".to_owned(), "false".to_owned());
    }
    if !daemon.api.cors.is_empty() {
        settings.insert("api.cors".to_owned(), daemon.api.cors.join(","));
    }
    for account in &daemon.accounts {
        let name = format!("account {}.{}", account.platform, account.name);
        settings.insert(name, account_text(account));
    }
    for (name, provider) in &daemon.providers.configured {
        let place = provider.base_url.as_deref().unwrap_or_default();
        let mut text = format!("{} {place}", provider.kind);
        if let Some(agents) = &provider.agents {
            let agents: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
            text += &format!(" for {}", agents.join(","));
        }
        settings.insert(format!("provider {name}"), text);
    }
    if let Some(provider) = &daemon.providers.default {
        settings.insert("default_provider".to_owned(), provider.to_string());
    }
    settings.extend(budget(daemon));
    settings
}

/// The settings of an account: a credential as a mark that only tells whether it changed.
fn account_text(account: &Account) -> String {
    if !account.enabled {
        return "off".to_owned();
    }
    let values = account.values.iter().map(|(key, value)| {
        let value = match value {
            AccountValue::Text(text) => shown(key, &Json::from(&**text)),
            AccountValue::List(texts) => texts.join(","),
        };
        format!("{key}={value}")
    });
    let less = account.narrowing.iter().map(|it| told_of(it).trim_start().to_owned());
    values.chain(less).collect::<Vec<_>>().join(" ")
}

/// What all agents together may spend, and what it is counted by.
fn budget(daemon: &DaemonConfig) -> impl Iterator<Item = (String, String)> {
    let DaemonBudget { own, per_user } = daemon.budget;
    let parts = [("budget", own), ("budget.per_user", per_user)];
    let limits = parts.into_iter().flat_map(|(part, limits)| {
        [
            (format!("{part}.usd_per_day"), limits.usd_micros_per_day.map(dollars)),
            (format!("{part}.tokens_per_day"), limits.tokens_per_day.map(|it| it.to_string())),
            (format!("{part}.turns_per_minute"), limits.turns_per_minute.map(|it| it.to_string())),
        ]
    });
    let limits = limits.filter_map(|(name, most)| Some((name, most?)));
    let prices = daemon.prices.iter().map(|(model, price)| {
        let ModelPrice { input, output, cached_input, cache_write } = *price;
        let all = [input, output, cached_input, cache_write].map(dollars).join(" ");
        (format!("price of {model}"), all)
    });
    limits.chain(prices)
}

fn dollars(micros: u64) -> String {
    (micros as f64 / 1e6).to_string()
}
