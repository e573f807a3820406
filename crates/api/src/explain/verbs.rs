//! What is asked about, one function a verb.

use super::boards;
use super::files::{self, Access};
use super::tools::{call, without};
use super::{Finding, Subject};
use insula_config::agent::GlobalWrites;
use insula_domain::{AgentId, Audience, LinkKind, Linking, Sending};

/// Every verb, with what it takes.
pub(super) const VERBS: [(&str, &str); 12] = [
    ("read", "PATH|BOARD"),
    ("write", "PATH|BOARD"),
    ("call", "TOOL"),
    ("send", "PLACE"),
    ("ask", "AGENT"),
    ("notify", "AGENT"),
    ("handoff", "AGENT"),
    ("remember", ""),
    ("schedule", ""),
    ("connect", "HOST"),
    ("see", "AGENT"),
    ("talk", ""),
];

/// What is found out about a question; an error says what is wrong with it.
pub(super) fn find(
    subject: &Subject<'_>,
    verb: &str,
    what: Option<&str>,
) -> Result<Finding, String> {
    let known = VERBS.iter().find(|(name, _)| *name == verb).ok_or_else(|| {
        let names: Vec<&str> = VERBS.iter().map(|(name, _)| *name).collect();
        format!(
            "`{}` is nothing that can be explained; there are {}",
            verb.escape_debug(),
            names.join(", ")
        )
    })?;
    let named = || {
        what.filter(|it| !it.is_empty())
            .ok_or_else(|| format!("name what it is about: `{} {}`", known.0, known.1))
    };
    Ok(match verb {
        "read" => on(subject, Access::Read, named()?)?,
        "write" => on(subject, Access::Write, named()?)?,
        "call" => call(subject, named()?),
        "send" => send(subject, named()?)?,
        "ask" => link(subject, LinkKind::Ask, named()?)?,
        "notify" => link(subject, LinkKind::Notify, named()?)?,
        "handoff" => link(subject, LinkKind::Handoff, named()?)?,
        "remember" => remember(subject),
        "schedule" => schedule(subject),
        "connect" => connect(subject, named()?),
        "see" => see(subject, named()?)?,
        _ => talk(subject)?,
    })
}

/// What is on a board, or in a file.
fn on(subject: &Subject<'_>, access: Access, what: &str) -> Result<Finding, String> {
    Ok(match boards::named(subject, what)? {
        Some(named) => boards::find(subject, access, &named),
        None => files::find(subject, access, what),
    })
}

fn send(subject: &Subject<'_>, place: &str) -> Result<Finding, String> {
    let to: Audience = place.parse().map_err(|_| {
        format!("`{place}` is no place: write platform:account:chat or platform:account:chat:topic")
    })?;
    let grants = &subject.agent.boundary.messages;
    if let Some(finding) = without(subject, "send_message") {
        return Ok(finding);
    }
    let label = subject.label();
    let flows =
        format!("let it: `send: {{flows: [{{from: \"{}\", to: \"{to}\"}}]}}`", from(&label));
    Ok(match grants.decide(&label, &to) {
        Sending::Allowed if subject.address.is_some() => {
            Finding::yes("`send.to` has it, and everyone there could read what was said here")
                .by(["send"])
        }
        Sending::Allowed => Finding::yes("`send.to` has it").by(["send"]).note(
            "what was said where others read stays there, unless `send.flows` lets it go; name where with --as",
        ),
        Sending::Granted => Finding::yes("`send.flows` lets what was said here go there").by(["send"]),
        Sending::NotThere => Finding::no("`send.to` does not have it")
            .by(["send"])
            .change(format!("name it: `send: {{to: [\"{to}\"]}}`")),
        Sending::Wider { .. } | Sending::Unknown => {
            Finding::no("not everyone there may read what was said here").by(["send"]).change(flows)
        }
    })
}

fn from(label: &insula_domain::Label) -> String {
    label.audiences_alone().to_string()
}

fn agent_id(subject: &Subject<'_>, name: &str) -> Result<AgentId, String> {
    let snapshot = subject.api.registry.snapshot();
    let id = AgentId::new(name).ok().filter(|id| snapshot.agents.contains_key(id));
    id.ok_or_else(|| format!("there is no agent `{}`", name.escape_debug()))
}

fn link(subject: &Subject<'_>, kind: LinkKind, name: &str) -> Result<Finding, String> {
    let (agent, api) = (&subject.agent, subject.api);
    let to = agent_id(subject, name)?;
    let links = &agent.boundary.links;
    if to == agent.id {
        return Ok(Finding::no("it is itself, and nothing links an agent to itself"));
    }
    if links.find(&to, kind).is_none() {
        let mut finding = Finding::no(format!("no link of it leads to `{to}` to {kind}"))
            .by(["links"])
            .change(format!("link it: `links: [{{to: {to}, as: {kind}}}]`"));
        if api.registry.snapshot().link(&to, &agent.id, kind).is_some() {
            finding = finding.note(format!("`{to}` has one to it, and a link leads one way"));
        }
        return Ok(finding);
    }
    if let Some(finding) = without(subject, kind.tool()) {
        return Ok(finding);
    }
    let other = api.registry.context_of(&to).map_err(|error| error.to_string())?;
    let hearers = api.access.hearers(&other, subject.address.as_ref());
    let label = subject.label();
    let decided = links.decide((&agent.id, &to), kind, None, (&label, &hearers));
    let finding = match decided {
        Linking::Allowed(link) => {
            let finding = Finding::yes(format!("a link leads to `{to}` to {kind}"));
            match kind {
                LinkKind::Ask => finding.note(format!(
                    "it waits {} s at most, and the question passes {} links at most",
                    link.timeout_ms / 1_000,
                    link.max_depth
                )),
                _ => finding,
            }
        }
        Linking::Wider { .. } | Linking::Unknown => {
            Finding::no(format!("others hear `{to}` who may not read what was said here"))
                .change(format!("let it go along: `carry: [\"{}\"]` of the link", from(&label)))
        }
        Linking::NoLink | Linking::Cycle | Linking::TooDeep { .. } => Finding::no(decided.as_str()),
    };
    let finding = finding.by(["links"]).note(format!("who else hears `{to}`: {hearers}"));
    Ok(match subject.address {
        None if !hearers.is_nobody() => {
            finding.note("what was said where others read stays behind; name where with --as")
        }
        _ => finding,
    })
}

fn remember(subject: &Subject<'_>) -> Finding {
    let agent = &subject.agent;
    if let Some(finding) = without(subject, "memory") {
        return finding;
    }
    let Some(memory) = &agent.memory else {
        return Finding::no("memory is off").by(["memory"]).change("turn it on: `memory: true`");
    };
    let everywhere = match memory.global_writes {
        GlobalWrites::Allow => "for every conversation it may",
        GlobalWrites::Approve => "for every conversation an admin has to agree",
        GlobalWrites::Deny => "for every conversation it may not",
    };
    Finding::yes("memory is on")
        .by(["memory"])
        .note(format!(
            "each conversation has its own, by `memory.scope: {}`",
            agent.conversations.scope.as_str()
        ))
        .note(format!("{everywhere} (`memory.global_writes`)"))
}

fn schedule(subject: &Subject<'_>) -> Finding {
    match without(subject, "cronjob") {
        Some(finding) => finding.by(["cron"]),
        None => Finding::asks("it has `cronjob`, and who is no admin needs the word of one")
            .by(["tools"])
            .note("what is written under `cron` runs without anybody's word"),
    }
}

fn connect(subject: &Subject<'_>, host: &str) -> Finding {
    match subject.agent.boundary.network.allows(host) {
        true => Finding::yes("`network.allow` has it").by(["network"]),
        false => Finding::no("`network.allow` does not have it")
            .by(["network"])
            .change(format!("name it: `network: {{allow: [{host}]}}`")),
    }
}

/// What of another agent it can see.
fn see(subject: &Subject<'_>, name: &str) -> Result<Finding, String> {
    let (agent, api) = (&subject.agent, subject.api);
    let other = agent_id(subject, name)?;
    if other == agent.id {
        return Ok(Finding::yes("it is itself"));
    }
    let snapshot = api.registry.snapshot();
    let context = snapshot.agents.get(&other).and_then(|entry| entry.state.context());
    let mut ways = Vec::new();
    for kind in LinkKind::ALL {
        if agent.boundary.links.find(&other, kind).is_some() && kind == LinkKind::Ask {
            ways.push(format!("what `{other}` answers when it asks, by a link of its own"));
        }
        if context.is_some_and(|it| it.boundary.links.find(&agent.id, kind).is_some()) {
            ways.push(format!("what `{other}` says to it, by a link of `{other}` to {kind}"));
        }
    }
    let own = agent.boundary.files.shared.iter();
    let theirs = context.map(|it| &it.boundary.files.shared);
    for shared in
        own.filter(|it| theirs.is_some_and(|all| all.iter().any(|its| its.path == it.path)))
    {
        ways.push(format!("what stands in `{}`, which both were given", shared.path));
    }
    let shared = boards::shared(subject, &other);
    ways.extend(shared.iter().map(|(_, way)| way.clone()));
    let mut finding = match ways.is_empty() {
        true => Finding::no(format!(
            "nothing leads from `{other}` to it: conversations, memory, files and secrets are each agent's alone"
        )),
        false => Finding::yes(format!("only {}", ways.join("; "))),
    };
    for (board, _) in &shared {
        finding = finding.right(board, &agent.id).right(board, &other);
    }
    Ok(finding.by(["links", "files.shared"]))
}

fn talk(subject: &Subject<'_>) -> Result<Finding, String> {
    match subject.address {
        // Who may not was told before.
        Some(_) => Ok(Finding::yes("`access` of the agent lets them in").by(["access"])),
        None => Err("name who: --as telegram:5".to_owned()),
    }
}
