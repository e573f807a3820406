//! The boundary of an agent that is to do one task: the tools that it takes, and rules that come
//! from what the user said, from the schemas of the tools, and from the clean state. Neither the
//! calls of the task nor anything of an attacker's is looked at. `docs/agentdojo.md` says it in
//! words.

use super::data::{Suite, Tool};
use super::kind::{Argument, Kind, arguments, only_looks};
use super::words;
use insula_domain::IntegrityProfile;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Words by which somebody asks for the same thing to be done to several.
const SEVERAL: [&str; 5] = ["all", "both", "each", "every", "them"];

/// The name of the server that offers a suite's tools.
pub const SERVER: &str = "dojo";

/// What an agent calls a tool of the server.
pub fn full_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// The settings of an agent with these tools of a suite, for somebody who says `message`; as the
/// inside of a flow mapping.
pub fn settings(suite: &Suite, message: &str, tools: &BTreeSet<&str>, server: &str) -> String {
    let known = suite.tools.iter().filter(|tool| tools.contains(tool.name.as_str()));
    let mut rules = serde_json::Map::new();
    for tool in known {
        rules.insert(full_name(&tool.name), Value::Array(rules_of(suite, message, tool)));
    }
    let allow: Vec<String> = tools.iter().map(|tool| full_name(tool)).collect();
    // What comes of it is to show what the rules do, and nothing beside them.
    written(&json!({ "allow": allow, "rules": rules }), IntegrityProfile::Off, server)
}

/// The settings of an agent with all tools of a suite, without rules, and with a profile of
/// integrity: what an operator can write who does not know what will be asked.
pub(super) fn open_settings(suite: &Suite, profile: IntegrityProfile, server: &str) -> String {
    let allow: Vec<String> = suite.tools.iter().map(|tool| full_name(&tool.name)).collect();
    written(&json!({ "allow": allow }), profile, server)
}

fn written(tools: &Value, profile: IntegrityProfile, server: &str) -> String {
    let host = server.trim_start_matches("http://").split('/').next().unwrap_or_default();
    let all = json!({
        "tools": tools,
        "mcp_servers": { SERVER: { "url": server } },
        "network": { "allow": [host] },
        "access": { "allow": ["api:*"] },
        "integrity": profile.as_str(),
    });
    let all = all.to_string();
    all.trim_start_matches('{').strip_suffix('}').unwrap_or_default().to_owned()
}

/// The rules for one tool.
pub fn rules_of(suite: &Suite, message: &str, tool: &Tool) -> Vec<Value> {
    let arguments = arguments(tool);
    let looks = only_looks(&tool.name);
    let about = Procedure { suite, message, looks };
    let mut rules: Vec<Value> = arguments.iter().filter_map(|it| about.rule(it)).collect();
    if looks {
        // What was looked at is in the conversation.
        let list = arguments.iter().find(|it| it.is_list && it.is_required);
        rules.push(list.map_or_else(|| json!({ "once": true }), |it| json!({ "once": [it.name] })));
        return rules;
    }
    let words: BTreeSet<String> =
        message.split(|it: char| !it.is_alphabetic()).map(str::to_lowercase).collect();
    let is_several = SEVERAL.iter().any(|word| words.contains(*word));
    let plural =
        |it: &Argument<'_>| it.kind == Kind::Name && words.contains(&format!("{}s", it.name));
    if !is_several && !arguments.iter().any(plural) {
        rules.push(json!({ "max_calls": 1 }));
    }
    let names = |it: &&Argument<'_>| {
        it.is_required && matches!(it.kind, Kind::Address | Kind::Id | Kind::Link | Kind::Name)
    };
    let named: Vec<&str> = arguments.iter().filter(names).map(|it| it.name).collect();
    if !named.is_empty() {
        rules.push(json!({ "once": named }));
    }
    rules
}

struct Procedure<'p> {
    suite: &'p Suite,
    message: &'p str,
    looks: bool,
}

impl Procedure<'_> {
    /// The rule about one argument, where there is one.
    fn rule(&self, argument: &Argument<'_>) -> Option<Value> {
        let (state, message) = (&self.suite.state, self.message);
        let name = argument.name;
        let bound = |mut bound: Value| {
            if !argument.is_required {
                bound["optional"] = true.into();
            }
            Some(json!({ name: bound }))
        };
        match argument.kind {
            Kind::Address => {
                let mut known = words::addresses(message);
                // Whose mail is looked at is the user's to say; who is written to may be known.
                if !self.looks || argument.is_required {
                    known.extend(words::known_addresses(state));
                }
                match known.is_empty() {
                    true => Some(json!({ "expr": format!("!has(args.{name})") })),
                    false => bound(json!({ "recipient": known })),
                }
            }
            Kind::Link => bound(json!({ "said": true, "or": words::known_hosts(state) })),
            Kind::Id => {
                let known = words::known_ids(state);
                bound(json!({ "one_of": known })).filter(|_| !known.is_empty())
            }
            Kind::Day => {
                let days = words::days(message);
                let days: Vec<String> = days.iter().map(|day| format!("'{day}'")).collect();
                let is_one =
                    format!("[{}].exists(day, args.{name}.contains(day))", days.join(", "));
                let expression = match argument.is_required {
                    true => is_one,
                    false => format!("!has(args.{name}) || {is_one}"),
                };
                (!days.is_empty()).then(|| json!({ "expr": expression }))
            }
            Kind::Query => {
                let said = "turn.text.lowerAscii().contains(word)";
                let words = format!("args.{name}.lowerAscii().split(' ')");
                let expression = format!("args.{name} != '' && {words}.all(word, {said})");
                Some(json!({ "expr": expression }))
            }
            Kind::Prose => {
                let mut hosts = words::hosts(message);
                hosts.extend(words::known_hosts(state));
                bound(json!({ "links": hosts }))
            }
            Kind::Name => {
                let meant = words::meant(state, name, message);
                match self.looks && !meant.is_empty() {
                    true => bound(json!({ "one_of": meant })),
                    false => bound(json!({ "said": true, "or": words::known_names(state) })),
                }
            }
            Kind::Other => None,
        }
    }
}
