//! What an agent reaches outside of the daemon: hosts, the web, MCP servers.

use super::one_or_many;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};
use insula_domain::PUBLIC_WEB;

pub(super) static NETWORK: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "allow",
            Forms(&[Choice(&[PUBLIC_WEB]), List(&Text(&rules::HOST))]),
            "Hosts it reaches; `public` is every host with a public address.",
        )
        .default("none")
        .expand(one_or_many),
        Field::new(
            "credentials",
            List(&Object(&CREDENTIAL)),
            "Headers that are set on the way out, unseen by programs and model.",
        ),
    ],
};

static CREDENTIAL: Object = Object {
    required: &["host", "header", "value"],
    fields: &[
        Field::new("host", Text(&rules::HOST), "The host it is for, within `allow`."),
        Field::new("header", Text(&rules::HEADER), "The header, such as `Authorization`."),
        Field::new(
            "value",
            Text(&rules::TEXT),
            "Its value, such as `Bearer ${secret:NAME}`, of secrets that were granted.",
        ),
        Field::new("plain_http", Bool, "Whether it is also sent where everyone can read it.")
            .default("false"),
    ],
};

pub(super) static WEB: Object = Object {
    required: &[],
    fields: &[Field::new(
        "search",
        Object(&WEB_SEARCH),
        "The search behind `web_search`. Naming it grants its host to that tool, and to nothing else.",
    )
    .default("none, and so no `web_search`")],
};

static WEB_SEARCH: Object = Object {
    required: &["provider"],
    fields: &[
        Field::new("provider", Choice(&["searxng", "brave"]), "Which protocol it speaks."),
        Field::new("base_url", Text(&rules::URL), "Where it is; needed for `searxng`.")
            .default("Brave's own address"),
        Field::new(
            "api_key",
            Text(&rules::LINE),
            "`${secret:NAME}`, in the agent's namespace; needed for `brave`.",
        ),
    ],
};

pub(super) static IMAGES: Object = Object {
    required: &["model"],
    fields: &[
        Field::new(
            "model",
            Text(&rules::MODEL),
            "`provider/name`, of a provider of kind `openai`: `POST images/generations` below its `base_url`.",
        ),
        Field::new(
            "api_key",
            Text(&rules::LINE),
            "`${secret:NAME}`, in the agent's namespace; sent instead of the provider's own key.",
        )
        .default("the provider's own"),
        Field::new(
            "sizes",
            List(&Text(&rules::LINE)),
            "Sizes that may be asked for, such as `1024x1024`; the first where none is.",
        )
        .default("the provider's own"),
        Field::new("quality", Text(&rules::LINE), "How well it is made, in the provider's words.")
            .default("the provider's own"),
        Field::new("price", Amount, "What one picture costs, in US dollars.")
            .default("by its tokens, and `prices` of its model"),
    ],
};

pub(super) static MCP_SERVER: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "command",
            Text(&rules::LINE),
            "A program that speaks MCP on its standard streams.",
        ),
        Field::new("args", List(&Text(&rules::TEXT)), "Its arguments."),
        Field::new(
            "env",
            Map { keys: &rules::IDENTIFIER, values: &Text(&rules::TEXT) },
            "Its environment, beside `PATH`, `HOME` and `LANG`; `${secret:NAME}` where it was granted.",
        ),
        Field::new("url", Text(&rules::URL), "A server that speaks MCP over HTTP."),
        Field::new(
            "headers",
            Map { keys: &rules::HEADER, values: &Text(&rules::HEADER_VALUE) },
            "Headers sent to it; `${secret:NAME}` where it was granted.",
        ),
        Field::new("timeout", Text(&rules::DURATION), "How long a call may take.").default("`60s`"),
        Field::new("connect_timeout", Text(&rules::DURATION), "How long connecting may take.")
            .default("`30s`"),
        Field::new("idle", Text(&rules::DURATION), "When a connection is closed that nobody uses.")
            .default("`15m`"),
        Field::new("enabled", Bool, "Whether it is used.").default("true"),
        Field::new("tools", Object(&MCP_TOOLS), "Which of its tools are used."),
        Field::new(
            "sends",
            Bool,
            "Whether its tools count as saying something outside of the conversation.",
        )
        .default("true"),
        Field::new(
            "on_change",
            Choice(&["approve", "report"]),
            "What becomes of a tool that it adds or describes otherwise than before: hidden until `insula mcp approve`, or shown and reported.",
        )
        .default("`approve`"),
    ],
};

static MCP_TOOLS: Object = Object {
    required: &[],
    fields: &[
        Field::new(
            "include",
            List(&Text(&rules::LINE)),
            "Only these; `*` stands for any run of characters.",
        ),
        Field::new("exclude", List(&Text(&rules::LINE)), "Not these, in the same way."),
    ],
};
