//! What an edit would grant or take away.

use super::{Applied, Authority, Level};
use crate::sensitive::HIDDEN;
use crate::shape::shorten;
use insula_domain::{HostPattern, NetworkGrants};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One difference between two configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// Whose it is; `None` for the daemon.
    pub agent: Option<String>,
    /// Which way it goes.
    pub kind: ConfigChangeKind,
    /// What kind of thing: `tool`, `host`, `budget usd_per_day`.
    pub axis: String,
    /// Which one of them, where there are several.
    pub item: String,
    /// The whole of it as a sentence.
    pub what: String,
}

/// Which way a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigChangeKind {
    /// More is possible.
    Grants,
    /// Less is possible.
    Takes,
    /// It is different, and neither more nor less.
    Changes,
}

impl ConfigChangeKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grants => "grants",
            Self::Takes => "takes",
            Self::Changes => "changes",
        }
    }

    #[cfg(test)]
    fn reversed(self) -> Self {
        match self {
            Self::Grants => Self::Takes,
            Self::Takes => Self::Grants,
            Self::Changes => Self::Changes,
        }
    }
}

impl fmt::Display for ConfigChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Every difference, by agent, what is granted first.
pub fn diff(before: &Applied, after: &Applied) -> Vec<ConfigChange> {
    let mut changes = Changes::default();
    for id in union(&before.known(), &after.known()) {
        changes.agent = Some(id.clone());
        changes.agent(&id, before, after);
        let none = BTreeSet::new();
        let old = before.routes.get(&id).unwrap_or(&none);
        let new = after.routes.get(&id).unwrap_or(&none);
        for rule in new.difference(old) {
            changes.push(
                ConfigChangeKind::Grants,
                "route",
                rule,
                format!("{id} now answers {rule}"),
            );
        }
        for rule in old.difference(new) {
            let what = format!("{id} no longer answers {rule}");
            changes.push(ConfigChangeKind::Takes, "route", rule, what);
        }
    }
    changes.agent = None;
    changes.settings("the daemon", &before.daemon, &after.daemon);
    let mut found = changes.found;
    found.sort_by(|a, b| {
        let key = |it: &ConfigChange| (it.agent.is_none(), it.agent.clone(), it.kind);
        key(a).cmp(&key(b))
    });
    found
}

impl Applied {
    fn known(&self) -> BTreeSet<String> {
        self.agents.keys().chain(&self.failed).chain(self.routes.keys()).cloned().collect()
    }
}

fn union(a: &BTreeSet<String>, b: &BTreeSet<String>) -> BTreeSet<String> {
    a.union(b).cloned().collect()
}

#[derive(Default)]
struct Changes {
    agent: Option<String>,
    found: Vec<ConfigChange>,
}

impl Changes {
    fn push(&mut self, kind: ConfigChangeKind, axis: &str, item: &str, what: String) {
        let (axis, item) = (axis.to_owned(), item.to_owned());
        self.found.push(ConfigChange { agent: self.agent.clone(), kind, axis, item, what });
    }

    fn agent(&mut self, id: &str, before: &Applied, after: &Applied) {
        let was_failed = before.failed.contains(id);
        let is_failed = after.failed.contains(id);
        match (before.agents.get(id), after.agents.get(id)) {
            (Some(old), Some(new)) => self.authority(id, old, new),
            (None, Some(_)) => {
                let how = if was_failed { "can start again" } else { "is added" };
                self.push(ConfigChangeKind::Grants, "agent", "", format!("agent `{id}` {how}"));
            }
            (Some(_), None) => {
                let how = if is_failed { "can no longer start" } else { "is removed" };
                self.push(ConfigChangeKind::Takes, "agent", "", format!("agent `{id}` {how}"));
            }
            (None, None) if was_failed != is_failed => {
                let how = if is_failed { "is added and can't start" } else { "is removed" };
                self.push(ConfigChangeKind::Changes, "agent", "", format!("agent `{id}` {how}"));
            }
            (None, None) => {}
        }
    }

    fn authority(&mut self, id: &str, old: &Authority, new: &Authority) {
        let Authority { grants, guards, limits, levels, settings } = new;
        let none = BTreeSet::new();
        for axis in union(&keys(&old.grants), &keys(grants)) {
            let (was, is) =
                (old.grants.get(&axis).unwrap_or(&none), grants.get(&axis).unwrap_or(&none));
            for item in is.difference(was).filter(|item| !is_within(&axis, item, was)) {
                let what = format!("{id} gains {}", named(&axis, item));
                self.push(ConfigChangeKind::Grants, &axis, item, what);
            }
            for item in was.difference(is).filter(|item| !is_within(&axis, item, is)) {
                let what = format!("{id} loses {}", named(&axis, item));
                self.push(ConfigChangeKind::Takes, &axis, item, what);
            }
        }
        for axis in union(&keys(&old.guards), &keys(guards)) {
            let (was, is) =
                (old.guards.get(&axis).unwrap_or(&none), guards.get(&axis).unwrap_or(&none));
            for item in was.difference(is) {
                let what = format!("{id} is no longer held back by {}", named(&axis, item));
                self.push(ConfigChangeKind::Grants, &axis, item, what);
            }
            for item in is.difference(was) {
                let what = format!("{id} is now held back by {}", named(&axis, item));
                self.push(ConfigChangeKind::Takes, &axis, item, what);
            }
        }
        for axis in union(&keys(&old.limits), &keys(limits)) {
            self.limit(id, &axis, old.limits.get(&axis).copied(), limits.get(&axis).copied());
        }
        for axis in union(&keys(&old.levels), &keys(levels)) {
            self.level(id, &axis, old.levels.get(&axis), levels.get(&axis));
        }
        self.settings(id, &old.settings, settings);
    }

    fn limit(&mut self, id: &str, axis: &str, old: Option<u64>, new: Option<u64>) {
        let show = |most: u64| match axis.ends_with("usd_per_day") {
            true => (most as f64 / 1e6).to_string(),
            false => most.to_string(),
        };
        let (kind, how) = match (old, new) {
            (Some(old), Some(new)) if old < new => {
                (ConfigChangeKind::Grants, format!("raised from {} to {}", show(old), show(new)))
            }
            (Some(old), Some(new)) if old > new => {
                (ConfigChangeKind::Takes, format!("lowered from {} to {}", show(old), show(new)))
            }
            (Some(old), None) => (
                ConfigChangeKind::Grants,
                format!("lifted, so there is no limit; it was {}", show(old)),
            ),
            (None, Some(new)) => {
                (ConfigChangeKind::Takes, format!("limited to {}; there was no limit", show(new)))
            }
            _ => return,
        };
        self.push(kind, axis, "", format!("{id}: {axis} {how}"));
    }

    fn level(&mut self, id: &str, axis: &str, old: Option<&Level>, new: Option<&Level>) {
        // A scale that one side does not have goes with something else that is told.
        let (Some(old), Some(new)) = (old, new) else { return };
        let (kind, how) = match old.rank.cmp(&new.rank) {
            Ordering::Less => (ConfigChangeKind::Grants, "loosened"),
            Ordering::Greater => (ConfigChangeKind::Takes, "tightened"),
            Ordering::Equal if old.name != new.name => (ConfigChangeKind::Changes, "changed"),
            Ordering::Equal => return,
        };
        let what = format!("{id}: {axis} {how} from `{}` to `{}`", old.name, new.name);
        self.push(kind, axis, "", what);
    }

    fn settings(
        &mut self,
        whose: &str,
        old: &BTreeMap<String, String>,
        new: &BTreeMap<String, String>,
    ) {
        for axis in union(&keys(old), &keys(new)) {
            let hidden = |text: &String| {
                text.starts_with(HIDDEN) || axis == "soul" || axis == "instructions"
            };
            let how = match (old.get(&axis), new.get(&axis)) {
                (Some(old), Some(new)) if old == new => continue,
                (Some(old), Some(new)) if hidden(old) || hidden(new) => "changed".to_owned(),
                (Some(old), Some(new)) => {
                    format!("changed from `{}` to `{}`", shorten(old), shorten(new))
                }
                (None, Some(new)) if hidden(new) || new.is_empty() => "added".to_owned(),
                (None, Some(new)) => format!("set to `{}`", shorten(new)),
                (Some(old), None) if hidden(old) || old.is_empty() => "removed".to_owned(),
                (Some(old), None) => format!("removed; it was `{}`", shorten(old)),
                (None, None) => continue,
            };
            self.push(ConfigChangeKind::Changes, &axis, "", format!("{whose}: {axis} {how}"));
        }
    }
}

fn keys<T>(map: &BTreeMap<String, T>) -> BTreeSet<String> {
    map.keys().cloned().collect()
}

fn named(axis: &str, item: &str) -> String {
    if item.is_empty() { axis.to_owned() } else { format!("{axis} `{}`", shorten(item)) }
}

/// Whether `set` has `item` under another name: a host below a domain that is there whole.
fn is_within(axis: &str, item: &str, set: &BTreeSet<String>) -> bool {
    if axis != "host" {
        return false;
    }
    let grants = |texts: &mut dyn Iterator<Item = &str>| {
        NetworkGrants::allow(texts.filter_map(|text| HostPattern::parse(text).ok()))
    };
    let set = grants(&mut set.iter().map(String::as_str));
    HostPattern::parse(item).is_ok() && !grants(&mut std::iter::once(item)).exceeds(&set)
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod changes_tests;
