//! Section A: one agent against another.

mod history;

use crate::attempt::{Row, Scene, Section};
use crate::ground::{Ground, Plan};
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
    ],
    scenes: &[Scene { name: "two agents", raise: two_agents, attempts: &[history::ATTEMPTS] }],
};

/// Two agents with all that agents can have, strangers to each other.
fn two_agents(stage: &Stage) -> Result<Ground> {
    let settings = "memory: true, access: {allow: ['api:*']}";
    Ground::raise(stage, Plan::new().agent("a", settings).agent("b", settings))
}
