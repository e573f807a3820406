//! Section A: one agent against another.

mod approvals;
mod cancelled;
mod change;
mod collisions;
mod environment;
mod exhaustion;
mod existence;
mod files;
mod guessing;
mod history;
mod links;
mod lists;
mod mcp;
mod names;
mod naming;
mod policy;
mod processes;
mod reborn;
mod remains;
pub mod withdrawn;

use crate::attempt::{Row, Scene, Section};
use crate::ground::{Ground, Plan};
use crate::sections::boards;
use crate::stage::Stage;
use anyhow::Result;

/// The section.
pub const SECTION: Section = Section {
    id: "A",
    title: "one agent against another",
    is_fatal: true,
    rows: &[
        Row { id: "A1", what: "search another's history" },
        Row { id: "A2", what: "list what is another's" },
        Row { id: "A3", what: "reach another's files" },
        Row { id: "A4", what: "overwrite its own policy" },
        Row { id: "A5", what: "read environments" },
        Row { id: "A6", what: "declare another's MCP server" },
        Row { id: "A7", what: "steer another's process" },
        Row { id: "A8", what: "pass on an approval" },
        Row { id: "A9", what: "run beside another's approvals" },
        Row { id: "A10", what: "use everything up" },
        Row { id: "A11", what: "change itself while another runs" },
        Row { id: "A12", what: "name another in an argument" },
        Row { id: "A13", what: "learn that another exists" },
        Row { id: "A14", what: "use what a cancelled request left" },
        Row { id: "A15", what: "collide with another's names" },
        Row { id: "A16", what: "ask another through a link" },
        Row { id: "A17", what: "two names that look alike" },
        Row { id: "A18", what: "take a deleted agent's name" },
        Row { id: "A19", what: "guess another's secret" },
    ],
    scenes: &[
        Scene {
            name: "two agents",
            raise: two_agents,
            attempts: &[
                history::ATTEMPTS,
                lists::ATTEMPTS,
                policy::ATTEMPTS,
                environment::ATTEMPTS,
                processes::ATTEMPTS,
            ],
        },
        Scene { name: "two agents' files", raise: two_agents, attempts: &[files::ATTEMPTS] },
        Scene { name: "two agents' names", raise: two_agents, attempts: &[naming::ATTEMPTS] },
        Scene {
            name: "two agents again",
            raise: two_agents,
            attempts: &[
                existence::ATTEMPTS,
                cancelled::ATTEMPTS,
                collisions::ATTEMPTS,
                names::ATTEMPTS,
            ],
        },
        Scene { name: "links", raise: links::linked, attempts: &[links::ATTEMPTS] },
        Scene { name: "MCP servers", raise: mcp::served, attempts: &[mcp::ATTEMPTS] },
        Scene { name: "approvals", raise: approvals::asking, attempts: &[approvals::ATTEMPTS] },
        Scene { name: "greed", raise: exhaustion::greedy, attempts: &[exhaustion::ATTEMPTS] },
        Scene { name: "change", raise: change::changing, attempts: &[change::ATTEMPTS] },
        Scene { name: "deletion", raise: reborn::doomed, attempts: &[reborn::ATTEMPTS] },
        Scene { name: "deletions", raise: reborn::mortals, attempts: &[reborn::IN_MEMORY] },
        Scene { name: "guesses", raise: guessing::guesses, attempts: &[guessing::ATTEMPTS] },
        Scene { name: "remains", raise: remains::leaving, attempts: &[remains::ATTEMPTS] },
        Scene { name: "withdrawn", raise: withdrawn::withdrawn, attempts: &[withdrawn::ATTEMPTS] },
        Scene { name: "boards", raise: boards::raise, attempts: &[boards::AGENTS] },
        Scene { name: "two bots", raise: two_bots, attempts: &[collisions::ATTACHMENTS] },
    ],
};

const GUARD: &str = "#!/bin/sh\ncat > /dev/null\necho '{\"decision\": \"allow\"}'\n";

/// Two agents with all that agents can have, as open inside as they can be, and strangers to
/// each other.
fn two_agents(stage: &Stage) -> Result<Ground> {
    let open = "memory: {enabled: true, scope: global}, approvals: {mode: 'off'}, secrets: [KEY], env: {TOKEN: '${secret:KEY}'}";
    let a = format!(
        "{open}, files: {{shared: [{{path: '{{outside}}/shared', mode: rw}}]}}, hooks: {{pre_tool_call: [{{matcher: cronjob, command: 'sh ./guard.sh', timeout: 30s}}]}}"
    );
    let skill = |name: &str, canary: &str| {
        format!(
            "---\nname: {name}\ndescription: how it is done\n---\nIt is done so: {{canary:{canary}}}\n"
        )
    };
    let plan = Plan::new().agent("a", &a).agent("b", open);
    let plan = plan.secret("a", "KEY", "{canary:a-secret}").secret("b", "KEY", "{canary:b-secret}");
    let plan = plan.daemon_secret("DAEMON_KEY", "{canary:daemon-secret}");
    let plan = plan.file("agents/a/SOUL.md", "You are a.\n").file("agents/a/hooks/guard.sh", GUARD);
    let plan = plan.file("agents/a/skills/both/SKILL.md", &skill("both", "a-both"));
    let plan = plan.file("agents/b/skills/both/SKILL.md", &skill("both", "b-both"));
    let plan = plan.file("agents/b/skills/craft/SKILL.md", &skill("craft", "b-skill"));
    let plan = plan.file("agents/b/SOUL.md", "You are b. {canary:b-soul}\n");
    let plan = plan.file("agents/b/workspace/secret.txt", "{canary:b-file}\n");
    Ground::raise(stage, plan)
}

/// Two agents, each behind a bot of its own, that one person talks to.
fn two_bots(stage: &Stage) -> Result<Ground> {
    let open = "access: {allow: ['telegram:42']}, approvals: {mode: 'off'}";
    let plan = Plan::new().agent("a", open).agent("b", open).bot("7:a", "ada").bot("8:b", "bob");
    let plan = plan.binding("agent: a, telegram: {account: ada}");
    Ground::raise(stage, plan.binding("agent: b, telegram: {account: bob}"))
}
