//! Accounts, who may talk, and which messages go where.

use super::Reading;
use crate::doc::texts;
use crate::names::{self, secret_name};
use crate::plan::{AccountPlan, BindingPlan, Fate, Note, Plan, SecretPlan};
use insula_config::yaml::{MapEntry, Node};
use insula_domain::{AgentId, Platform};
use serde_json::{Map, Value, json};

/// The account of a channel that names none.
pub(super) const ONLY_ACCOUNT: &str = "default";

/// Keys of theirs that make an account here.
const SETTINGS: [(&str, &str, bool); 11] = [
    ("botToken", "token", true),
    ("token", "token", true),
    ("accessToken", "token", true),
    ("appToken", "app_token", true),
    ("homeserver", "homeserver", false),
    ("userId", "user", false),
    ("account", "user", false),
    ("baseUrl", "base_url", false),
    ("httpUrl", "base_url", false),
    ("serverUrl", "base_url", false),
    ("webhookSecret", "secret", true),
];

/// Takes over channels and bindings.
pub(super) fn take(plan: &mut Plan, reading: &Reading<'_>) {
    bindings(plan, reading);
    for channel in reading.get(&["channels"]).map(Node::entries).unwrap_or_default() {
        let from = reading.doc.place(channel.key_span);
        if &*channel.key == "defaults" {
            continue;
        }
        let Some(platform) = names::platform(&channel.key) else {
            let note = "no platform of that name is here";
            plan.row(
                Fate::NoPlace,
                None,
                Note { what: &format!("channel {}", channel.key), from, note },
            );
            continue;
        };
        let accounts = channel.value.get("accounts").map(Node::entries).unwrap_or_default();
        account(plan, reading, (platform, ONLY_ACCOUNT), channel);
        access(plan, reading, platform, channel);
        topics(plan, reading, (platform, ONLY_ACCOUNT), channel);
        for inner in accounts {
            account(plan, reading, (platform, &inner.key), inner);
            access(plan, reading, platform, inner);
            topics(plan, reading, (platform, &inner.key), inner);
        }
    }
    one_of_each(plan);
}

fn account(
    plan: &mut Plan,
    reading: &Reading<'_>,
    (platform, name): (Platform, &str),
    entry: &MapEntry,
) {
    let mut settings = Map::new();
    let what = format!("{platform} account {name}");
    let from = reading.doc.place(entry.key_span);
    for (theirs, ours, secret) in SETTINGS {
        let Some(node) = entry.value.get(theirs).filter(|it| !it.is_null()) else { continue };
        if !secret {
            settings.insert(ours.to_owned(), json!(node.text().unwrap_or_default()));
            continue;
        }
        let kind = if ours == "token" { "" } else { ours };
        let parts = [platform.as_str(), name, kind];
        let secret =
            secret_name(&parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>());
        settings.insert(ours.to_owned(), json!(format!("${{secret:{secret}}}")));
        match reading.resolved(node) {
            Ok(value) => plan.secrets.push(SecretPlan {
                agent: None,
                name: secret,
                value,
                from: reading.doc.place(node.span),
            }),
            Err(missing) => {
                let note = format!(
                    "its token was in {missing}; set it by `insula secret set --daemon {secret}`"
                );
                plan.row(
                    Fate::Changes,
                    None,
                    Note { what: &what, from: from.clone(), note: &note },
                );
            }
        }
    }
    if settings.is_empty() {
        let has_more = entry.value.get("accounts").is_some();
        if !has_more {
            let note =
                "it has no token: a login of the other program can't be taken over, make a new one";
            plan.row(Fate::NoPlace, None, Note { what: &what, from, note });
        }
        return;
    }
    if entry.value.get("enabled").and_then(Node::bool) == Some(false) {
        settings.insert("enabled".to_owned(), json!(false));
    }
    plan.row(
        Fate::Comes,
        None,
        Note { what: &what, from: from.clone(), note: "its token goes to the vault" },
    );
    let account =
        AccountPlan { platform: platform.to_string(), name: name.to_owned(), settings, from };
    plan.accounts.push(account);
}

/// The agents that messages of a platform can reach.
fn reached(plan: &Plan, reading: &Reading<'_>, platform: Platform) -> Vec<AgentId> {
    let bound = plan.bindings.iter().filter(|it| {
        it.fields.contains_key(platform.as_str())
            || it.fields.get("match").is_some_and(|at| at["platform"] == platform.as_str())
    });
    let mut ids: Vec<AgentId> = bound.map(|it| it.agent.clone()).collect();
    ids.extend(plan.agents.iter().filter(|it| it.is_default).map(|it| it.id.clone()));
    let topics = reading.get(&["channels"]).map(Node::entries).unwrap_or_default();
    let topics = topics.iter().filter(|it| names::platform(&it.key) == Some(platform));
    for (_, _, agent, _) in topics.flat_map(|it| topics_of(&it.value)) {
        ids.extend(agent.text().and_then(names::agent_id));
    }
    ids.sort();
    ids.dedup();
    ids.retain(|id| plan.agents.iter().any(|it| it.id == *id));
    ids
}

/// Lets somebody talk to whoever messages of a platform can reach.
pub(super) fn allow(plan: &mut Plan, reading: &Reading<'_>, platform: Platform, who: &[String]) {
    for id in reached(plan, reading, platform) {
        if let Some(agent) = plan.agents.iter_mut().find(|it| it.id == id) {
            who.iter().for_each(|who| agent.add(&["access", "allow"], format!("{platform}:{who}")));
        }
    }
}

fn access(plan: &mut Plan, reading: &Reading<'_>, platform: Platform, entry: &MapEntry) {
    let node = &entry.value;
    let get = |key: &str| node.get(key);
    let say = |plan: &mut Plan, fate: Fate, at: &Node, what: &str, note: &str| {
        let from = reading.doc.place(at.span);
        plan.row(fate, None, Note { what: &format!("{platform} {what}"), from, note });
    };
    if let Some(list) = get("allowFrom") {
        let clean = |it: String| it.trim_start_matches(&format!("{platform}:")).to_owned();
        let (everybody, people): (Vec<String>, Vec<String>) =
            texts(list).into_iter().map(clean).partition(|it| it == "*");
        if !people.is_empty() {
            allow(plan, reading, platform, &people);
            let note = format!(
                "{} in access.allow of the agents they can reach; what is dangerous is approved by access.admins, which names nobody yet",
                people.len()
            );
            say(plan, Fate::Comes, list, "allowFrom", &note);
        }
        if !everybody.is_empty() {
            say(
                plan,
                Fate::Closed,
                list,
                "allowFrom",
                "everybody could talk to it; here nobody can who is not named. Add them to access.allow",
            );
        }
    }
    if let Some(policy) = get("dmPolicy") {
        match policy.text() {
            Some("open") => say(
                plan,
                Fate::Closed,
                policy,
                "dmPolicy",
                "strangers were answered; here they get a code that an admin can approve",
            ),
            Some("pairing") => {
                say(plan, Fate::Comes, policy, "dmPolicy", "strangers get a code, as there")
            }
            _ => say(
                plan,
                Fate::Changes,
                policy,
                "dmPolicy",
                "strangers get a code that an admin can approve; write `access: {unknown: ignore}` for silence",
            ),
        }
    }
    let has_groups = get("groups").is_some_and(|it| !it.entries().is_empty())
        || get("guilds").is_some_and(|it| !it.entries().is_empty())
        || get("groupAllowFrom").is_some_and(|it| !texts(it).is_empty());
    if has_groups || get("groupPolicy").and_then(Node::text) == Some("open") {
        for id in reached(plan, reading, platform) {
            let agent = plan.agents.iter_mut().find(|it| it.id == id);
            agent.into_iter().for_each(|it| it.serves_groups = true);
        }
    }
    if let Some(policy) = get("groupPolicy").filter(|it| it.text() == Some("open")) {
        say(
            plan,
            Fate::Closed,
            policy,
            "groupPolicy",
            "everybody in any group could talk to it; here only those whom access.allow names. `platform:chat:ID` there lets a whole group in",
        );
    }
    if let Some(list) = get("groupAllowFrom").filter(|it| !texts(it).is_empty()) {
        say(
            plan,
            Fate::Closed,
            list,
            "groupAllowFrom",
            "these could talk in groups alone, which can't be said here; add them to access.allow if they may talk to it anywhere",
        );
    }
    for group in get("groups").map(Node::entries).unwrap_or_default() {
        let mention = group.value.get("requireMention");
        if let Some(at) = mention.filter(|it| it.bool() == Some(false)) {
            let what = format!("group {}", group.key);
            say(
                plan,
                Fate::Closed,
                at,
                &what,
                "it answered everything there; here it answers when it is mentioned. Bind the chat with `group: {respond: all}` if you mean it",
            );
        }
    }
}

type Topic<'n> = (&'n str, &'n str, &'n Node, &'n MapEntry);

/// Topics that have an agent of their own: chat, topic, agent.
fn topics_of(channel: &Node) -> Vec<Topic<'_>> {
    let mut found = Vec::new();
    for group in channel.get("groups").map(Node::entries).unwrap_or_default() {
        for topic in group.value.get("topics").map(Node::entries).unwrap_or_default() {
            if let Some(agent) = topic.value.get("agentId") {
                found.push((&*group.key, &*topic.key, agent, topic));
            }
        }
    }
    found
}

fn topics(
    plan: &mut Plan,
    reading: &Reading<'_>,
    (platform, account): (Platform, &str),
    channel: &MapEntry,
) {
    for (chat, topic, agent, entry) in topics_of(&channel.value) {
        let from = reading.doc.place(entry.key_span);
        let what = format!("topic {topic} of {chat}");
        let id = agent.text().and_then(names::agent_id);
        let Some(id) = id.filter(|id| plan.agents.iter().any(|it| it.id == *id)) else {
            let note = "its agent is not there, so that the rule is left out";
            plan.row(Fate::Trouble, None, Note { what: &what, from, note });
            continue;
        };
        let mut fields = Map::new();
        fields.insert(
            platform.to_string(),
            json!({ "account": account, "chat": chat, "topic": topic }),
        );
        plan.row(
            Fate::Comes,
            Some(&id),
            Note { what: &what, from: from.clone(), note: "a binding" },
        );
        plan.bindings.push(BindingPlan { agent: id, fields, from });
    }
}

fn bindings(plan: &mut Plan, reading: &Reading<'_>) {
    for rule in reading.get(&["bindings"]).map(Node::items).unwrap_or_default() {
        let from = reading.doc.place(rule.span);
        let trouble = |plan: &mut Plan, note: &str| {
            plan.row(Fate::Trouble, None, Note { what: "binding", from: from.clone(), note });
        };
        let id = rule.get("agentId").and_then(Node::text).and_then(names::agent_id);
        let Some(id) = id.filter(|id| plan.agents.iter().any(|it| it.id == *id)) else {
            trouble(plan, "its agent is not there, so that the rule is left out");
            continue;
        };
        let Some(at) = rule.get("match") else {
            trouble(plan, "it does not say what it matches");
            continue;
        };
        let text = |key: &str| at.get(key).and_then(Node::text);
        let Some(platform) = text("channel").and_then(names::platform) else {
            trouble(plan, "its channel is not known here");
            continue;
        };
        let mut fields = Map::new();
        fields.insert("platform".to_owned(), json!(platform.as_str()));
        match text("accountId") {
            Some("*") => {}
            account => {
                fields.insert("account".to_owned(), json!(account.unwrap_or(ONLY_ACCOUNT)));
            }
        }
        if let Some(peer) = at.get("peer") {
            let part = |key: &str| peer.get(key).and_then(Node::text).unwrap_or_default();
            match part("id").split_once(":topic:") {
                Some((chat, topic)) => {
                    fields.insert("chat".to_owned(), json!(chat));
                    fields.insert("topic".to_owned(), json!(topic));
                }
                None => {
                    let kind = if part("kind") == "dm" { "direct" } else { part("kind") };
                    fields.insert("peer".to_owned(), json!({ "kind": kind, "id": part("id") }));
                }
            }
        }
        for (theirs, ours) in [("guildId", "guild"), ("teamId", "team")] {
            if let Some(value) = text(theirs) {
                fields.insert(ours.to_owned(), json!(value));
            }
        }
        let roles = at.get("roles").map(texts).unwrap_or_default();
        if !roles.is_empty() {
            fields.insert("roles".to_owned(), json!(roles));
        }
        let mut whole = Map::new();
        whole.insert("match".to_owned(), Value::Object(fields));
        plan.row(
            Fate::Comes,
            Some(&id),
            Note { what: "binding", from: from.clone(), note: "a binding" },
        );
        plan.bindings.push(BindingPlan { agent: id, fields: whole, from });
    }
}

/// Of two rules for the same messages the first one counted there; two are an error here.
fn one_of_each(plan: &mut Plan) {
    let mut kept: Vec<BindingPlan> = Vec::new();
    for binding in std::mem::take(&mut plan.bindings) {
        match kept.iter().find(|it| it.fields == binding.fields) {
            None => kept.push(binding),
            Some(first) => {
                let note = format!("an earlier rule leads the same messages to `{}`", first.agent);
                let agent = binding.agent.clone();
                plan.row(
                    Fate::NoPlace,
                    Some(&agent),
                    Note { what: "binding", from: binding.from, note: &note },
                );
            }
        }
    }
    plan.bindings = kept;
}
