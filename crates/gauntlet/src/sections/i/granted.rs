//! I5, what settings grant: the rights whose loss is probed, what uses each, and where that shows.

use crate::ground::Ground;
use crate::machine;
use crate::puppet::Call;
use anyhow::Result;
use serde_json::json;

/// How something is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taking {
    /// By an edit of the agent's settings.
    Edit(&'static str),
    /// By this request of an admin's, about the agent.
    Request(&'static str, &'static str),
    /// By the end of the token that asked.
    Revoke,
}

/// A right, the settings that give it, what uses it, and where that shows.
#[derive(Clone, Copy)]
pub struct Probe {
    /// The agent that has it, and the name in [`super::keys::KEYS`].
    pub name: &'static str,
    /// Settings that grant it.
    pub with: &'static str,
    /// How it is taken away.
    pub taking: Taking,
    /// The call that uses it; `MARK` is what shows.
    pub call: fn(&Ground, &str) -> Call,
    /// A command line that uses it from inside a program that already runs.
    pub program: Option<&'static str>,
    /// Whether it took effect.
    pub shows: fn(&Ground, &str, &str) -> Result<bool>,
}

fn write(_: &Ground, mark: &str) -> Call {
    Call::new("write_file", json!({ "path": format!("{mark}.txt"), "content": mark }))
}

fn written(ground: &Ground, agent: &str, mark: &str) -> Result<bool> {
    Ok(ground.has(&format!("agents/{agent}/workspace/{mark}.txt")))
}

fn shared_path(ground: &Ground, mark: &str) -> String {
    let folder = ground.outside.path().join("shared");
    machine::real(&folder).unwrap_or(folder).join(mark).display().to_string()
}

fn write_outside(ground: &Ground, mark: &str) -> Call {
    Call::new("write_file", json!({ "path": shared_path(ground, mark), "content": mark }))
}

fn written_outside(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    Ok(machine::is_there(&ground.outside.path().join("shared").join(mark)))
}

pub(super) fn fetch(ground: &Ground, mark: &str) -> Call {
    Call::new("web_extract", json!({ "urls": [ground.web.url(&format!("/{mark}"))] }))
}

fn fetched(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    Ok(ground.web.seen().iter().any(|seen| seen.line.contains(mark)))
}

fn fetched_with_credential(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    let seen = ground.web.seen();
    Ok(seen.iter().any(|it| it.line.contains(mark) && it.header("x-credential").is_some()))
}

fn search(_: &Ground, mark: &str) -> Call {
    Call::new("web_search", json!({ "query": mark }))
}

fn paint(_: &Ground, mark: &str) -> Call {
    Call::new("image_generate", json!({ "prompt": mark }))
}

/// Whether it was asked for: the puppets make no pictures.
fn painted(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    let asked = ground.puppets.prompts_of("pictures");
    Ok(asked.iter().any(|it| String::from_utf8_lossy(it).contains(mark)))
}

fn shell(command: &str, mark: &str) -> Call {
    Call::new("terminal", json!({ "command": command.replace("MARK", mark) }))
}

fn touch(_: &Ground, mark: &str) -> Call {
    shell("touch MARK.txt", mark)
}

fn print_secret(_: &Ground, mark: &str) -> Call {
    shell("printenv TOKEN > MARK.txt", mark)
}

fn secret_written(ground: &Ground, agent: &str, mark: &str) -> Result<bool> {
    Ok(ground.text(&format!("agents/{agent}/workspace/{mark}.txt")).contains("tellable"))
}

fn mcp(_: &Ground, _: &str) -> Call {
    Call::new("mcp__x__state", json!({ "text": "x" }))
}

fn told_by_server(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    Ok(told(ground, mark).contains("state: x"))
}

/// What calls of the turn with this mark came to.
fn told(ground: &Ground, mark: &str) -> String {
    let prompts: Vec<String> = super::states::requests(ground, mark);
    prompts.concat()
}

fn send(_: &Ground, mark: &str) -> Call {
    Call::new("send_message", json!({ "target": "telegram:ada:-1", "message": mark }))
}

fn sent(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    Ok(ground.telegram()?.sent_to(-1, None).iter().any(|sent| sent.text.contains(mark)))
}

fn delegate(ground: &Ground, mark: &str) -> Call {
    let call = write(ground, mark);
    let script = crate::puppet::Script::steps(vec![crate::puppet::Act::Call(vec![call])]);
    let tag = ground.puppets.learn(script);
    Call::new("delegate_task", json!({ "tasks": [{ "goal": format!("do it {tag}") }] }))
}

fn view(_: &Ground, _: &str) -> Call {
    Call::new("skill_view", json!({ "name": "knot" }))
}

fn viewed(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    Ok(told(ground, mark).contains("over and under"))
}

fn remember(_: &Ground, mark: &str) -> Call {
    Call::new("memory", json!({ "action": "add", "target": "memory", "content": mark }))
}

fn remember_globally(_: &Ground, mark: &str) -> Call {
    let wish = json!({ "action": "add", "target": "memory", "scope": "global", "content": mark });
    Call::new("memory", wish)
}

fn remembered(ground: &Ground, agent: &str, mark: &str) -> Result<bool> {
    let path = format!("/api/agents/{agent}/memory");
    Ok(ground.admin("GET", &path, &serde_json::Value::Null)?.body.contains(mark))
}

fn destroy(_: &Ground, mark: &str) -> Call {
    shell("mkdir MARK && rm -r MARK && touch MARK.txt", mark)
}

fn write_at_desk(_: &Ground, mark: &str) -> Call {
    Call::new("write_file", json!({ "path": mark, "content": mark }))
}

fn peek(ground: &Ground, mark: &str) -> Call {
    let secret = ground.outside.path().join("private");
    let path = machine::real(&secret).unwrap_or(secret).display().to_string();
    shell(&format!("cat {path} > MARK.txt"), mark)
}

fn peeked(ground: &Ground, agent: &str, mark: &str) -> Result<bool> {
    Ok(ground.text(&format!("agents/{agent}/workspace/{mark}.txt")).contains("private words"))
}

/// One model call too many: whatever is called, its result must come to no model.
fn asked_again(ground: &Ground, _: &str, mark: &str) -> Result<bool> {
    let asked = super::states::requests(ground, mark);
    Ok(asked.iter().any(|it| it.contains("\"role\":\"tool\"")))
}

const SECRET: &str = "secrets: [KEY], env: {TOKEN: '${secret:KEY}'}, tools: coding";
const INJECTED: &str = "tools: {profile: coding, also_allow: [web_extract, web_search]}, secrets: [KEY], network: {allow: ['{web_address}'], credentials: [{host: '{web_address}', header: X-Credential, value: 'Bearer ${secret:KEY}', plain_http: true}]}";
const WEB: &str = "tools: {profile: coding, also_allow: [web_extract, web_search]}";

/// The rights, one agent each.
pub const PROBES: &[Probe] = &[
    Probe {
        name: "tools",
        with: "tools: coding",
        taking: Taking::Edit("tools: minimal"),
        call: write,
        program: Some("touch MARK.txt"),
        shows: written,
    },
    Probe {
        name: "rules",
        with: "tools: coding",
        taking: Taking::Edit(
            "tools: {profile: coding, rules: {write_file: {path: {path: 'never/**'}}}}",
        ),
        call: write,
        program: None,
        shows: written,
    },
    Probe {
        name: "hooks",
        with: "tools: coding",
        taking: Taking::Edit(
            "tools: coding, hooks: {pre_tool_call: [{expr: \"tool_name != 'write_file'\"}]}",
        ),
        call: write,
        program: None,
        shows: written,
    },
    Probe {
        name: "files",
        with: "tools: coding, files: {shared: [{path: '{outside}/shared', mode: rw}]}",
        taking: Taking::Edit("tools: coding"),
        call: write_outside,
        program: Some("touch {outside}/shared/MARK"),
        shows: written_outside,
    },
    Probe {
        name: "network",
        with: "tools: {profile: coding, also_allow: [web_extract, web_search]}, network: {allow: ['{web_address}']}",
        taking: Taking::Edit(WEB),
        call: fetch,
        program: Some("python3 -c \"import urllib.request as u; u.urlopen('{web}/MARK')\""),
        shows: fetched,
    },
    Probe {
        name: "credentials",
        with: INJECTED,
        taking: Taking::Edit(
            "tools: {profile: coding, also_allow: [web_extract, web_search]}, secrets: [KEY], network: {allow: ['{web_address}']}",
        ),
        call: fetch,
        program: Some("python3 -c \"import urllib.request as u; u.urlopen('{web}/MARK')\""),
        shows: fetched_with_credential,
    },
    Probe {
        name: "search",
        with: "tools: {profile: coding, also_allow: [web_extract, web_search]}, web: {search: {provider: searxng, base_url: '{web}/'}}",
        taking: Taking::Edit(WEB),
        call: search,
        program: None,
        shows: fetched,
    },
    Probe {
        name: "images",
        with: "tools: {profile: coding, also_allow: [image_generate]}, images: {model: puppet/pictures}",
        taking: Taking::Edit("tools: {profile: coding, also_allow: [image_generate]}"),
        call: paint,
        program: None,
        shows: painted,
    },
    Probe {
        name: "env",
        with: SECRET,
        taking: Taking::Edit("tools: coding"),
        call: print_secret,
        program: Some("printenv TOKEN > MARK.txt"),
        shows: secret_written,
    },
    Probe {
        name: "mcp",
        with: "tools: {profile: coding, also_allow: ['mcp__x__*']}, mcp_servers: {x: {command: python3, args: ['-I', server.py]}}",
        taking: Taking::Edit("tools: {profile: coding, also_allow: ['mcp__x__*']}"),
        call: mcp,
        program: None,
        shows: told_by_server,
    },
    Probe {
        name: "send",
        with: "tools: {profile: coding, also_allow: [send_message]}, send: {to: ['telegram:ada:-1'], flows: [{from: '*', to: 'telegram:ada:-1'}]}",
        taking: Taking::Edit("tools: {profile: coding, also_allow: [send_message]}"),
        call: send,
        program: None,
        shows: sent,
    },
    Probe {
        name: "subagents",
        with: "tools: coding",
        taking: Taking::Edit("tools: coding, subagents: {max_depth: 0}"),
        call: delegate,
        program: None,
        shows: written,
    },
    Probe {
        name: "skills",
        with: "tools: {profile: coding, also_allow: [skill_view]}, skills: [kit]",
        taking: Taking::Edit("tools: {profile: coding, also_allow: [skill_view]}"),
        call: view,
        program: None,
        shows: viewed,
    },
    Probe {
        name: "memory",
        with: "tools: {profile: coding, also_allow: [memory]}, memory: true",
        taking: Taking::Edit("tools: {profile: coding, also_allow: [memory]}, memory: false"),
        call: remember,
        program: None,
        shows: remembered,
    },
    Probe {
        name: "global",
        with: "tools: {profile: coding, also_allow: [memory]}, memory: {global_writes: allow}",
        taking: Taking::Edit(
            "tools: {profile: coding, also_allow: [memory]}, memory: {global_writes: deny}",
        ),
        call: remember_globally,
        program: None,
        shows: remembered,
    },
    Probe {
        name: "approvals",
        with: "tools: coding, approvals: {mode: 'off'}",
        taking: Taking::Edit("tools: coding, approvals: {mode: manual, timeout: 1s}"),
        call: destroy,
        program: None,
        shows: written,
    },
    Probe {
        name: "integrity",
        with: "tools: {profile: coding, also_allow: [web_extract]}, network: {allow: ['{web_address}']}, integrity: 'off'",
        taking: Taking::Edit(
            "tools: {profile: coding, also_allow: [web_extract]}, network: {allow: ['{web_address}']}, integrity: {profile: balanced, tainted: {program: deny}}",
        ),
        call: touch,
        program: None,
        shows: written,
    },
    Probe {
        name: "budget",
        with: "tools: coding",
        taking: Taking::Edit("tools: coding, budget: {tokens_per_day: 1}"),
        call: write,
        program: None,
        shows: asked_again,
    },
    Probe {
        name: "workspace",
        with: "tools: coding, workspace: {path: '{outside}/shared'}",
        taking: Taking::Edit("tools: coding"),
        call: write_at_desk,
        program: None,
        shows: written_outside,
    },
    Probe {
        name: "sandbox",
        with: "tools: coding, sandbox: off",
        taking: Taking::Edit("tools: coding"),
        call: peek,
        program: Some("cat {outside}/private > MARK.txt"),
        shows: peeked,
    },
    Probe {
        name: "paused",
        with: "tools: coding",
        taking: Taking::Request("POST", "/pause"),
        call: write,
        program: Some("touch MARK.txt"),
        shows: written,
    },
    Probe {
        name: "archived",
        with: "tools: coding",
        taking: Taking::Request("POST", "/archive"),
        call: write,
        program: Some("touch MARK.txt"),
        shows: written,
    },
    Probe {
        name: "deleted",
        with: "tools: coding, files: {shared: [{path: '{outside}/shared', mode: rw}]}",
        taking: Taking::Request("DELETE", ""),
        call: write_outside,
        program: Some("touch MARK.txt"),
        shows: written_outside,
    },
    Probe {
        name: "token",
        with: "tools: coding",
        taking: Taking::Revoke,
        call: write,
        program: Some("touch MARK.txt"),
        shows: written,
    },
    Probe {
        name: "secret",
        with: INJECTED,
        taking: Taking::Request("DELETE", "/secrets/KEY"),
        call: fetch,
        program: Some("python3 -c \"import urllib.request as u; u.urlopen('{web}/MARK')\""),
        shows: fetched_with_credential,
    },
];

/// Rights that have attempts of their own, beside the probes.
#[cfg(test)]
const ELSEWHERE: [&str; 4] = ["access", "accounts", "admins", "bindings"];

#[cfg(test)]
mod tests {
    use super::super::keys::{KEYS, Key, TOP};
    use super::*;

    #[test]
    fn every_key_that_grants_has_a_probe() {
        for (key, kind) in KEYS.iter().chain(TOP) {
            let Key::Grants(probe) = kind else { continue };
            let is_there = PROBES.iter().any(|it| it.name == *probe) || ELSEWHERE.contains(probe);
            assert!(is_there, "{key}: no probe `{probe}`");
        }
    }
}
