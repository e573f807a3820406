//! The keys of the shared part.

use super::agent::{AGENT, APPROVALS, SUBAGENTS};
use super::board::BOARD;
use super::budget::DAEMON_BUDGET;
use super::channel::CHANNEL;
use super::hook::{HOOK, HOOK_EVENT};
use super::one_or_many;
use super::provider::PROVIDER;
use super::timezone::{TIMEZONE, zone_alone};
use crate::rules;
use crate::shape::{Field, Object, Shape::*};

/// `config.yaml`.
pub static TOP: Object = Object {
    required: &[],
    fields: &[
        Field::new("version", Integer { min: 1, max: 1 }, "Version of this format.").default("1"),
        Field::new(
            "model",
            Forms(&[Text(&rules::MODEL), List(&Text(&rules::MODEL))]),
            "The model of every agent that names none.",
        )
        .expand(one_or_many),
        Field::new(
            "timezone",
            Forms(&[Text(&rules::ZONE), Object(&TIMEZONE)]),
            "Where every agent is that does not say: a zone such as `Europe/Berlin`.",
        )
        .default("`UTC`")
        .expand(zone_alone),
        Field::new(
            "default_provider",
            Text(&rules::NAME),
            "Where models go whose prefix is no provider, whole.",
        ),
        Field::new(
            "providers",
            Map { keys: &rules::NAME, values: &Object(&PROVIDER) },
            "Model providers beside the built-in ones.",
        ),
        Field::new(
            "defaults",
            Object(&AGENT),
            "Any key of an agent, for every agent that does not set it.",
        ),
        Field::new("agents", Parts, "The agents, by id."),
        Field::new("bindings", List(&Anything), "Which messages go to which agent.")
            .aliases(&["profile_routes"]),
        Field::new("gateway", Object(&GATEWAY), "What another runtime keeps there."),
        Field::new(
            "channels",
            Map { keys: &rules::PLATFORM, values: &Object(&CHANNEL) },
            "Connections to platforms.",
        ),
        Field::new("budget", Object(&DAEMON_BUDGET), "What all agents together may spend."),
        Field::new(
            "prices",
            Map { keys: &rules::MODEL, values: &Object(&PRICE) },
            "What models cost, by `provider/name`, in US dollars for a million tokens.",
        )
        .default("list prices of well-known models"),
        Field::new(
            "approvals",
            Object(&APPROVALS),
            "How dangerous acts are confirmed, for every agent that does not say.",
        ),
        Field::new(
            "hooks",
            Map { keys: &HOOK_EVENT, values: &List(&Object(&HOOK)) },
            "Hooks of the daemon, which run for every agent.",
        ),
        Field::new("subagents", Object(&SUBAGENTS), "What every agent may hand to children.")
            .aliases(&["subagent"]),
        Field::new(
            "boards",
            Map { keys: &rules::BOARD, values: &Object(&BOARD) },
            "Boards that agents share.",
        ),
        Field::new("listen", Text(&rules::LISTEN), "Where the daemon listens.")
            .default("`127.0.0.1:7717`"),
        Field::new("api", Object(&API), "What those who ask over HTTP may do."),
        Field::new("logging", Object(&LOGGING), "What the daemon writes about its work."),
        Field::new("store", Object(&STORE), "How state is kept."),
    ],
};

/// Settings of another runtime's gateway that mean something here.
static GATEWAY: Object = Object {
    required: &[],
    fields: &[
        Field::new("profile_routes", List(&Anything), "More bindings.").aliases(&["bindings"]),
        Field::new(
            "multiplex_profiles",
            Bool,
            "Whether one daemon serves several agents, which it always does.",
        )
        .default("true"),
    ],
};

/// What a model costs.
static PRICE: Object = Object {
    required: &["input", "output"],
    fields: &[
        Field::new("input", Amount, "Tokens sent."),
        Field::new("output", Amount, "Tokens received, reasoning included."),
        Field::new("cached_input", Amount, "Tokens sent that the provider had cached.")
            .default("the price of `input`"),
        Field::new("cache_write", Amount, "Tokens sent that the provider wrote to its cache.")
            .default("the price of `input`"),
    ],
};

static API: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "changes",
            Bool,
            "Whether whoever comes over HTTP may change anything: files of the configuration, agents, tokens, secrets, skills, jobs. Talking, answering what is asked, stopping turns and boards stay; the command line of this machine is not meant.",
        )
        .default("`true`"),
        Field::new(
            "client_tools",
            Bool,
            "Whether a request to `/v1` may bring tools of its own, which the caller runs.",
        )
        .default("`true`"),
        Field::new(
            "cors",
            List(&Text(&rules::ORIGIN)),
            "Origins whose pages may ask `/v1`, each as a browser names it; they need a token as everybody does.",
        )
        .default("none"),
    ],
};

/// How much is logged.
const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

static LOGGING: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "level",
            Forms(&[
                Choice(LEVELS),
                Map { keys: &rules::LOG_TARGET, values: &Choice(LEVELS) },
            ]),
            "How much; or how much of what: `{default: info, turns: debug}`, by the names of parts such as `turns`, `gateway`, `models`, `mcp` and `store`.",
        )
        .default("`info`"),
        Field::new("format", Choice(&["text", "json"]), "For people or for programs.")
            .default("`text`"),
        Field::new("file", Text(&rules::PATH), "A file instead of standard error."),
        Field::new(
            "otlp",
            Text(&rules::URL),
            "An OpenTelemetry collector that is sent spans over HTTP, such as `http://127.0.0.1:4318`: which agent, session, turn, step and tool, and how long; never what was said. Read at start.",
        )
        .default("none"),
    ],
};

static STORE: Object = Object {
    required: &[],
    fields: &[
        Field::new("kind", Choice(&["sqlite", "postgres"]), "Which store.").default("`sqlite`"),
        Field::new("url", Text(&rules::LINE), "Where PostgreSQL is."),
        Field::new(
            "durability",
            Choice(&["power", "process"]),
            "What a commit survives: a power cut, or the end of the process.",
        )
        .default("`power`"),
        Field::new("open_max", Integer { min: 1, max: 100_000 }, "Agents' databases open at once.")
            .default("256"),
        Field::new("idle_close", Text(&rules::DURATION), "When an unused database is closed.")
            .default("`60s`"),
    ],
};
