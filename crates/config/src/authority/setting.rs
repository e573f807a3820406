//! What the typed configuration of an agent does not carry, read from what was written.

use super::{Authority, fingerprint, shown};
use crate::rules;
use crate::settings::Setting;
use serde_json::Value as Json;

impl Authority {
    /// What the typed configuration does not carry yet, from what was written.
    pub(super) fn read_setting(&mut self, setting: &Setting) {
        let path = &*setting.path;
        let value = &setting.value;
        match path {
            "access.allow" => self.grant_each("user", value),
            "access.admins" => self.grant_each("admin", value),
            "access.unknown" => {
                let name = value.as_str().unwrap_or_default();
                self.level(path, u64::from(name == "pair"), name);
            }
            "sandbox.optional" => self.grant_each("running without", value),
            "sandbox.off" if *value == true => self.grant("running outside the sandbox", ""),
            "group.observe" if *value == true => self.grant("reading along in groups", ""),
            "group.threads" if *value == true => self.grant("answering in threads", ""),
            "group.invites" if *value == false => self.guard("refusal of invitations", ""),
            "group.respond" => {
                let name = value.as_str().unwrap_or_default();
                let scale = ["never", "mention", "all"];
                let rank = scale.iter().position(|word| *word == name).unwrap_or(1);
                self.level(path, rank as u64, name);
            }
            _ if is_read_elsewhere(path) => {}
            _ => match path.split_once('.') {
                Some(("budget", name)) => self.read_budget(name, value),
                Some(("sandbox", name)) => self.read_sandbox(name, value),
                Some(("hooks", event)) => self.read_hooks(event, value),
                Some(("tools", rule)) => {
                    for item in value.as_array().into_iter().flatten() {
                        self.guard("argument rule", format!("{rule} {item}"));
                    }
                }
                Some(("access", person)) => {
                    let person = person.strip_prefix("people.").unwrap_or(person);
                    for identity in value.as_array().into_iter().flatten() {
                        let identity = identity.as_str().unwrap_or_default();
                        self.grant("linked identity", format!("{person} = {identity}"));
                    }
                }
                _ => self.set(path, shown(path, value)),
            },
        }
    }

    fn grant_each(&mut self, kind: &str, list: &Json) {
        for item in list.as_array().into_iter().flatten() {
            let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            self.grant(kind, text);
        }
    }

    fn read_budget(&mut self, name: &str, value: &Json) {
        let text = value.as_str().unwrap_or_default();
        let most = if name.ends_with("usd_per_day") {
            value.as_f64().or_else(|| text.parse().ok()).map(|usd: f64| (usd * 1e6).round() as u64)
        } else {
            value.as_u64().or_else(|| text.parse().ok())
        };
        most.into_iter().for_each(|most| self.limit(&format!("budget {name}"), most));
    }

    fn read_sandbox(&mut self, name: &str, value: &Json) {
        let text = value.as_str().unwrap_or_default();
        let millis = rules::duration(text).and_then(|d| u64::try_from(d.as_millis()).ok());
        let most = value.as_u64().or_else(|| rules::size(text)).or(millis);
        most.into_iter().for_each(|most| self.limit(&format!("sandbox {name}"), most));
    }

    fn read_hooks(&mut self, event: &str, list: &Json) {
        for hook in list.as_array().into_iter().flatten() {
            let way = ["expr", "command", "http"].iter().find_map(|way| hook.get(way)?.as_str());
            // An address may carry a token behind its host.
            let way = way.unwrap_or_default();
            let way = match way.split_once("://") {
                Some((scheme, rest)) => {
                    format!("{scheme}://{}", rest.split(['/', '?']).next().unwrap_or_default())
                }
                None => way.to_owned(),
            };
            let mark = fingerprint(&hook.to_string(), 2);
            self.guard("hook", format!("{event}: {way} #{mark}"));
        }
    }
}

/// Settings that the typed configuration carries, and that are compared there.
fn is_read_elsewhere(path: &str) -> bool {
    const WHOLE: &[&str] = &[
        "default",
        "model",
        "personality",
        "tools.profile",
        "tools.also_allow",
        "tools.allow",
        "tools.deny",
        "skills",
        "memory",
        "memory.enabled",
        "memory.scope",
        "memory.also_read",
        "memory.global_writes",
        "workspace.path",
        "workspace.scope",
        "files.shared",
        "files.stale_writes",
        "sandbox.off",
        "network.allow",
        "network.credentials",
        "web.search.base_url",
        "images.model",
        "images.price",
        "voice.hear.model",
        "voice.hear.command",
        "voice.speak.model",
        "voice.speak.command",
        "secrets",
        "isolation",
        "links",
        "send.to",
        "send.flows",
        "sessions.dm",
        "sessions.search",
        "sessions.group",
        "group.observe",
        "group.invites",
        "group.threads",
    ];
    const BELOW: &[&str] = &["approvals.", "subagents."];
    WHOLE.contains(&path) || BELOW.iter().any(|prefix| path.starts_with(prefix))
}
