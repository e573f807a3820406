//! The isolation matrix: every agent, every kind of resource, every owner; reading, writing,
//! calling. What is printed was tried on a running daemon, and is compared with a golden file,
//! so that a change of who reaches what is a line in a diff.
//!
//! The kinds hang on lists that the daemon itself has (`lists.rs`): a table of its store, a
//! route of its API, an effect of a tool or a key of an agent that belongs to no kind fails.

mod lists;
mod probes;

use crate::attempt::{Attempt, Outcome, Row, Scene, Section, Verdict};
use crate::ground::{Ground, Plan};
use crate::hold;
use crate::stage::Stage;
use anyhow::Result;
use serde_json::{Value, json};

/// What an agent can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What is remembered.
    MemoryScope,
    /// Files and folders.
    File,
    /// Its database, and the daemon's.
    Database,
    /// Secrets of the vault.
    Secret,
    /// Tools, skills and the settings that make a table of them.
    Tool,
    /// MCP servers.
    McpServer,
    /// Programs that run.
    Process,
    /// Conversations, their messages and turns.
    Session,
    /// Questions, answers and grants.
    Approval,
    /// Scheduled turns.
    CronJob,
    /// Shared boards.
    Board,
    /// The audit trail.
    Audit,
    /// Tokens of the API.
    Token,
    /// Routes: bindings, accounts, deliveries, who may talk.
    Route,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::MemoryScope,
        Self::File,
        Self::Database,
        Self::Secret,
        Self::Tool,
        Self::McpServer,
        Self::Process,
        Self::Session,
        Self::Approval,
        Self::CronJob,
        Self::Board,
        Self::Audit,
        Self::Token,
        Self::Route,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryScope => "memory scope",
            Self::File => "file",
            Self::Database => "database",
            Self::Secret => "secret",
            Self::Tool => "tool",
            Self::McpServer => "MCP server",
            Self::Process => "process",
            Self::Session => "session",
            Self::Approval => "approval",
            Self::CronJob => "cron job",
            Self::Board => "board",
            Self::Audit => "audit",
            Self::Token => "token",
            Self::Route => "route",
        }
    }
}

/// What is done with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is seen.
    Read,
    /// It is changed.
    Write,
    /// It is made to do something.
    Call,
}

impl Action {
    const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Call];

    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Call => "call",
        }
    }
}

/// What came of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// It took effect.
    Yes,
    /// It was tried by every way there is, and nothing came of it.
    No,
    /// There is nothing to try.
    Nothing,
    /// There is no such feature; that was looked at.
    Absent,
}

impl Cell {
    fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Nothing => "-",
            Self::Absent => "absent",
        }
    }

    /// Whether something took effect.
    fn of(took_effect: bool) -> Self {
        if took_effect { Self::Yes } else { Self::No }
    }
}

/// Who acts: two agents that have everything, and a worker that has little.
const AGENTS: [&str; 3] = ["a", "b", "worker"];

/// What it is compared with.
const GOLDEN: &str = include_str!("../../matrix.golden");

/// The daemon of the matrix.
fn raise(stage: &Stage) -> Result<Ground> {
    let rich = |id: &str| {
        format!(
            "memory: {{enabled: true, scope: global}}, secrets: [KEY], env: {{TOKEN: '${{secret:KEY}}'}}, approvals: {{timeout: 10m, opaque: allow}}, mcp_servers: {{of-{id}: {{command: python3, args: [server.py]}}}}"
        )
    };
    let boards = AGENTS.map(|id| format!("  of-{id}: {{agents: {{{id}: manage}}}}\n")).concat();
    let mut plan = Plan::new().top(&format!("boards:\n{boards}"));
    plan = plan.agent("a", &rich("a")).agent("b", &rich("b"));
    plan = plan.agent("worker", "tools: [group:files, todo]");
    for id in AGENTS {
        plan =
            plan.file(&format!("agents/{id}/workspace/note.txt"), &format!("{{canary:{id}-file}}"));
        plan = plan.file(&format!("agents/{id}/workspace/run.sh"), "echo ran > ran.txt\n");
        plan = plan.file(
            &format!("agents/{id}/workspace/server.py"),
            include_str!("../../assets/mcp_server.py"),
        );
        if id != "worker" {
            plan = plan.secret(id, "KEY", &format!("{{canary:{id}-secret}}"));
        }
    }
    Ground::raise(stage, plan)
}

/// The rows of one kind, as they stand in the golden file.
fn rows(ground: &Ground, kind: Kind) -> Result<String> {
    let mut text = String::new();
    for actor in AGENTS {
        for owner in AGENTS {
            let mut line = format!("{:<14}{actor:<8}{owner:<8}", kind.as_str());
            for action in Action::ALL {
                let cell = probes::tried(ground, kind, action, actor, owner)?;
                line += &format!("{:<14}", format!("{}: {}", action.as_str(), cell.as_str()));
            }
            text += line.trim_end();
            text.push('\n');
        }
    }
    Ok(text)
}

const HEAD: &str = "# Who reaches what, as tried on a running daemon. `insula-gauntlet --matrix` prints it.\n# resource    agent   owner   reading       writing       calling\n";

/// The matrix as text.
pub fn print(stage: &Stage) -> Result<String> {
    let ground = raise(stage)?;
    lists::checked(&ground)?;
    let mut text = HEAD.to_owned();
    for kind in Kind::ALL {
        text += &rows(&ground, kind)?;
    }
    Ok(text)
}

/// The same for programs, from its text.
pub fn json(text: &str) -> Value {
    let cell = |text: &str| text.split_once(": ").map_or("", |(_, cell)| cell).to_owned();
    let row = |line: &str| {
        let part = |from: usize, len: usize| {
            line.get(from..).map_or("", |it| &it[..len.min(it.len())]).trim()
        };
        json!({
            "resource": part(0, 14), "agent": part(14, 8), "owner": part(22, 8),
            "read": cell(part(30, 14)), "write": cell(part(44, 14)), "call": cell(part(58, 14)),
        })
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

fn compared(ground: &Ground, kind: Kind) -> Outcome {
    let now = rows(ground, kind)?;
    let golden: Vec<&str> =
        GOLDEN.lines().filter(|line| line.starts_with(&format!("{:<14}", kind.as_str()))).collect();
    for (now, then) in now.lines().zip(golden.iter().copied().chain(std::iter::repeat(""))) {
        hold!(now == then, "`{now}` instead of `{then}`; if it is meant, print the matrix anew");
    }
    hold!(golden.len() == now.lines().count(), "the golden file has {} rows of it", golden.len());
    let is_absent = now.lines().all(|line| line.contains(Cell::Absent.as_str()));
    Ok(match is_absent {
        true => Verdict::NotRun(format!("the feature does not exist: {}", kind.as_str())),
        false => Verdict::Held,
    })
}

fn listed(ground: &Ground) -> Outcome {
    match lists::checked(ground) {
        Ok(()) => Ok(Verdict::Held),
        Err(error) => Ok(Verdict::Broken(format!("{error:#}"))),
    }
}

const fn of(variant: &'static str, run: fn(&Ground) -> Outcome) -> Attempt {
    Attempt { row: "M1", variant, run }
}

const ATTEMPTS: &[Attempt] = &[
    of("memory scope", |ground| compared(ground, Kind::MemoryScope)),
    of("file", |ground| compared(ground, Kind::File)),
    of("database", |ground| compared(ground, Kind::Database)),
    of("secret", |ground| compared(ground, Kind::Secret)),
    of("tool", |ground| compared(ground, Kind::Tool)),
    of("MCP server", |ground| compared(ground, Kind::McpServer)),
    of("process", |ground| compared(ground, Kind::Process)),
    of("session", |ground| compared(ground, Kind::Session)),
    of("approval", |ground| compared(ground, Kind::Approval)),
    of("cron job", |ground| compared(ground, Kind::CronJob)),
    of("board", |ground| compared(ground, Kind::Board)),
    of("audit", |ground| compared(ground, Kind::Audit)),
    of("token", |ground| compared(ground, Kind::Token)),
    of("route", |ground| compared(ground, Kind::Route)),
    Attempt { row: "M2", variant: "every table, route, effect and key has a kind", run: listed },
];

/// The matrix as a section of the gauntlet.
pub const SECTION: Section = Section {
    id: "M",
    title: "the isolation matrix",
    is_fatal: true,
    rows: &[
        Row { id: "M1", what: "every agent, kind of resource and owner; read, write, call" },
        Row { id: "M2", what: "no kind of resource without a row" },
    ],
    scenes: &[Scene { name: "matrix", raise, attempts: &[ATTEMPTS] }],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_file_has_a_row_for_every_kind_agent_and_owner() {
        for kind in Kind::ALL {
            for actor in AGENTS {
                for owner in AGENTS {
                    let head = format!("{:<14}{actor:<8}{owner:<8}", kind.as_str());
                    let count = GOLDEN.lines().filter(|line| line.starts_with(&head)).count();
                    assert_eq!(count, 1, "{head}");
                }
            }
            assert!(ATTEMPTS.iter().any(|attempt| attempt.variant == kind.as_str()), "{kind:?}");
        }
    }

    #[test]
    fn in_the_golden_file_nobody_reaches_what_is_anothers() {
        let across = GOLDEN.lines().filter(|line| !line.starts_with('#')).filter(|line| {
            let words: Vec<&str> = line[14..].split_whitespace().take(2).collect();
            words[0] != words[1]
        });
        let mut count = 0;
        for line in across {
            assert!(!line.contains("yes"), "{line}");
            count += 1;
        }
        assert_eq!(count, Kind::ALL.len() * 6);
    }
}
