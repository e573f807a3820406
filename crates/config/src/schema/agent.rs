//! The keys of an agent.

use super::POSITIVE;
use super::budget::BUDGET;
use super::conversation::{GROUP, SESSIONS};
use super::files::{FILES, WORKSPACE};
use super::hook::{HOOK, HOOK_EVENT};
use super::job::{BOOT, HEARTBEAT, JOB};
use super::kept::{AUDIT, NOTICES, QUOTES};
use super::memory::MEMORY;
use super::moved::translate_toolsets;
use super::one_or_many;
use super::outside::{IMAGES, MCP_SERVER, NETWORK, WEB};
use super::provider::PROVIDER_OF_AGENT;
use super::reach::{LINK, SEND};
use super::sandbox::SANDBOX;
use super::timezone::{TIMEZONE, zone_alone};
use super::tools::{PROFILES, TOOLS, expand_tools};
use super::voice::VOICE;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};
use crate::yaml::{Node, Value};
use insula_domain::PUBLIC_WEB;

/// An agent, in `agents.<id>`, `agents/<id>/agent.yaml` and `defaults`.
pub static AGENT: Object = Object {
    required: &[],
    fields: &[
        Field::new("default", Bool, "Answers where no binding matches. At most one agent.")
            .default("false"),
        Field::new("name", Text(&rules::LINE), "What people see it called.").default("the id"),
        Field::new("description", Text(&rules::TEXT), "What it is for, for people who choose one."),
        Field::new(
            "model",
            Forms(&[Text(&rules::MODEL), List(&Text(&rules::MODEL))]),
            "`provider/name`, or a list that is tried in order.",
        )
        .default("`rehearsal/rehearsal`")
        .expand(one_or_many),
        Field::new(
            "model_choices",
            List(&Text(&rules::MODEL)),
            "Models that people may have answer in their conversation instead, by `/model`.",
        )
        .default("none"),
        Field::new(
            "providers",
            Map { keys: &rules::NAME, values: &Object(&PROVIDER_OF_AGENT) },
            "Model providers of its own, with keys of its own. One that has the name of a shared one takes its place, whole.",
        ),
        Field::new("personality", Text(&rules::TEXT), "Who it is. Takes the place of SOUL.md.")
            .default("the agent's SOUL.md, else the home's, else a built-in line"),
        Field::new(
            "tools",
            Forms(&[Choice(PROFILES), List(&Text(&rules::TOOL)), Object(&TOOLS)]),
            "What it may use: a profile, an exact list, or the long form.",
        )
        .aliases(&["toolsets"])
        .from_alias(translate_toolsets)
        .default("`full`")
        .expand(expand_tools),
        Field::new(
            "skills",
            List(&Text(&rules::NAME)),
            "Bundles of skills beside its own folder: folders of the home's `skills/`.",
        ),
        Field::new("memory", Forms(&[Bool, Object(&MEMORY)]), "Whether and how it remembers.")
            .default("false")
            .expand(|node| match node.value {
                Value::Scalar { .. } => node.under("enabled"),
                _ => node,
            }),
        Field::new(
            "workspace",
            Forms(&[Text(&rules::PATH), Object(&WORKSPACE)]),
            "Where its files live: a folder, or the long form.",
        )
        .expand(|node| match node.value {
            Value::Scalar { .. } => node.under("path"),
            _ => node,
        }),
        Field::new("files", Object(&FILES), "Which other files it reaches."),
        Field::new(
            "sandbox",
            Forms(&[Choice(&["off", "false"]), Object(&SANDBOX)]),
            "How its child processes are confined. `off` takes the wall down.",
        )
        .expand(|node| match &node.value {
            Value::Scalar { .. } => {
                let on = Value::Scalar { text: "true".into(), plain: true };
                Node { value: on, ..node }.under("off")
            }
            _ => node,
        }),
        Field::new(
            "env",
            Map { keys: &rules::IDENTIFIER, values: &Text(&rules::TEXT) },
            "The environment of its programs; `${secret:NAME}` where it was granted.",
        ),
        Field::new(
            "network",
            Forms(&[Choice(&[PUBLIC_WEB]), List(&Text(&rules::HOST)), Object(&NETWORK)]),
            "Which hosts it reaches: a list, or `public` for the web without private addresses.",
        )
        .default("none")
        .expand(|node| match node.value {
            Value::List(_) => node.under("allow"),
            Value::Scalar { .. } => one_or_many(node).under("allow"),
            Value::Map(_) => node,
        }),
        Field::new("web", Object(&WEB), "How it asks the web."),
        Field::new(
            "images",
            Object(&IMAGES),
            "Who makes pictures for it. Naming a model gives it `image_generate`.",
        )
        .default("none, and so no `image_generate`"),
        Field::new(
            "voice",
            Object(&VOICE),
            "Who hears voice memos for it, and whether and by whom it answers aloud.",
        ),
        Field::new(
            "secrets",
            List(&Text(&rules::IDENTIFIER)),
            "Secrets of its vault it may use, by name.",
        ),
        Field::new(
            "mcp_servers",
            Map { keys: &rules::NAME, values: &Object(&MCP_SERVER) },
            "MCP servers of its own.",
        ),
        Field::new(
            "isolation",
            Choice(&["context", "process", "container"]),
            "How hard its wall is.",
        )
        .default("context"),
        Field::new("subagents", Object(&SUBAGENTS), "What it may hand to children."),
        Field::new("budget", Object(&BUDGET), "What it may spend."),
        Field::new("access", Object(&ACCESS), "Who may talk to it. Nobody unless named."),
        Field::new("approvals", Object(&APPROVALS), "How dangerous acts are confirmed."),
        Field::new(
            "integrity",
            Forms(&[Choice(INTEGRITY_PROFILES), Object(&INTEGRITY)]),
            "What it does unasked once it has read words of others: pages, mail, results of servers.",
        )
        .default("`balanced`"),
        Field::new(
            "hooks",
            Map { keys: &HOOK_EVENT, values: &List(&Object(&HOOK)) },
            "Programs and expressions that watch or decide.",
        ),
        Field::new(
            "policies",
            List(&Text(&rules::NAME)),
            "Installed policies that hold for it: folders of the home's `policies/`.",
        ),
        Field::new(
            "links",
            List(&Object(&LINK)),
            "Agents it may ask, tell something, or hand conversations to. Each leads one way.",
        )
        .default("none"),
        Field::new(
            "send",
            Object(&SEND),
            "Where it may send messages on its own, by `send_message`.",
        ),
        Field::new(
            "cron",
            Map { keys: &rules::NAME, values: &Object(&JOB) },
            "What it does by the clock, by name.",
        ),
        Field::new(
            "heartbeat",
            Object(&HEARTBEAT),
            "How often it looks around on its own: a job of that name.",
        )
        .default("never"),
        Field::new(
            "boot",
            Forms(&[Text(&rules::TEXT), Object(&BOOT)]),
            "What it is told once when the daemon has started. Takes the place of BOOT.md.",
        )
        .default("the agent's BOOT.md, else nothing")
        .expand(|node| match node.value {
            Value::Scalar { .. } => node.under("prompt"),
            _ => node,
        }),
        Field::new(
            "timezone",
            Forms(&[Text(&rules::ZONE), Object(&TIMEZONE)]),
            "Where it is: by which clock it is told what time it is, and when its days begin.",
        )
        .default("`UTC`")
        .expand(zone_alone),
        Field::new("logs", Object(&LOGS), "What is written down of what happens to it: a file a day in `agents/<id>/logs`."),
        Field::new("sessions", Object(&SESSIONS), "How conversations are kept apart."),
        Field::new(
            "quote",
            Choice(QUOTES),
            "Whether a reply quotes the message that it answers: in every chat, where several people write, or never.",
        )
        .default("`always`"),
        Field::new(
            "notices",
            Object(&NOTICES),
            "When its home chat (`/sethome`) is told what becomes of it.",
        ),
        Field::new("audit", Object(&AUDIT), "How long its audit records are kept."),
        Field::new("group", Object(&GROUP), "How it behaves among several people."),
        Field::new(
            "metadata",
            Map { keys: &rules::IDENTIFIER, values: &Text(&rules::TEXT) },
            "Values for hooks and expressions.",
        ),
    ],
};

/// What an agent may hand to children.
pub static SUBAGENTS: Object = Object {
    required: &[],
    fields: &[
        Field::new("model", Text(&rules::MODEL), "What children run on.")
            .default("the agent's model"),
        Field::new("models", List(&Text(&rules::MODEL)), "What a call may choose from."),
        Field::new("max_depth", Integer { min: 0, max: 16 }, "How deep children nest.")
            .default("1"),
        Field::new(
            "max_children",
            Integer { min: 0, max: 256 },
            "How many of one parent run at once; more wait.",
        )
        .default("3"),
        Field::new(
            "max_total",
            Integer { min: 0, max: 10_000 },
            "How many in one turn, theirs included.",
        )
        .default("16"),
        Field::new("max_iterations", POSITIVE, "Model calls of one child.").default("50"),
        Field::new("timeout", Text(&rules::DURATION), "How long a child may run.").default("`10m`"),
        Field::new(
            "approvals",
            Choice(&["deny", "inherit"]),
            "Whether children may ask for approval.",
        )
        .default("`deny`"),
    ],
};

static ACCESS: Object = Object {
    required: &[],
    fields: &[
        Field::new("allow", List(&Text(&rules::IDENTITY)), "Who may talk to it.").default("nobody"),
        Field::new("admins", List(&Text(&rules::IDENTITY)), "Who may approve and change it."),
        Field::new(
            "people",
            Map { keys: &rules::NAME, values: &List(&Text(&rules::IDENTITY)) },
            "People with several identities.",
        ),
        Field::new(
            "unknown",
            Choice(&["pair", "ignore"]),
            "What others get in a direct message: a code that an admin can approve, or nothing. In groups, nothing.",
        )
        .default("`pair`"),
    ],
};

/// How dangerous acts are confirmed, for the daemon or an agent.
pub static APPROVALS: Object = Object {
    required: &[],
    fields: &[
        Field::new("mode", Choice(&["manual", "smart", "off"]), "Who confirms.")
            .default("`manual`"),
        Field::new(
            "timeout",
            Text(&rules::DURATION),
            "How long silence lasts before it is denial.",
        )
        .default("`60s`"),
        Field::new("separation", Bool, "Nobody confirms what they asked for, admins included.")
            .default("false"),
        Field::new(
            "opaque",
            Choice(&["allow", "ask", "deny"]),
            "What becomes of a command whose words do not say what it does: a script, code, a substitution.",
        )
        .default("`allow` in a turn of admins alone inside the whole sandbox, `ask` elsewhere"),
    ],
};

const INTEGRITY_PROFILES: &[&str] = &["strict", "balanced", "off"];

/// What an agent does unasked once it has read words of others.
static INTEGRITY: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "profile",
            Choice(INTEGRITY_PROFILES),
            "`balanced`: what reaches beyond its own workspace and conversation needs a yes. `strict`: programs and requests to the network do too, whatever the sender said. `off`: nothing does.",
        )
        .default("`balanced`"),
        Field::new(
            "trusted",
            List(&Text(&rules::TRUSTED)),
            "Sources whose words count as the operator's.",
        ),
        Field::new(
            "tainted",
            Map { keys: &rules::TAINTED, values: &Choice(&["ask", "deny", "allow"]) },
            "What becomes of an act, or of calls of a tool or of those like `mcp__mail__get_*`, in such a turn. What names a tool most closely counts.",
        )
        .default("`ask`"),
    ],
};

static LOGS: Object = Object {
    required: &[],
    fields: &[Field::new(
        "keep",
        Text(&rules::DURATION),
        "How long a day's file is kept: `1d` to `3650d`.",
    )
    .default("`14d`")],
};
