//! The keys of a binding.

use super::way_in;
use crate::rules;
use crate::shape::{Field, Object, Shape, Shape::*};
use insula_domain::platform::PLATFORMS;

static TEXT_VALUE: Shape = Text(&rules::TEXT);
static EXTERNAL_ID: Shape = Text(&rules::EXTERNAL_ID);
static PEER_FORMS: [Shape; 2] = [Text(&rules::EXTERNAL_ID), Object(&KIND_OF_PEER)];

/// A sender or a chat, as other runtimes write it.
static KIND_OF_PEER: Object = Object {
    required: &["kind", "id"],
    fields: &[
        Field::new(
            "kind",
            Choice(&["direct", "dm", "group", "channel"]),
            "Whether it is a sender, in a direct message, or a chat.",
        ),
        Field::new("id", Text(&rules::EXTERNAL_ID), "Its id; `\"*\"` for every one of the kind."),
    ],
};
static PLATFORM_FORMS: [Shape; 2] = [Text(&rules::EXTERNAL_ID), Object(&UNDER_PLATFORM)];

/// The keys of a rule that name its agent.
pub const AGENT_KEYS: [&str; 3] = ["agent", "profile", "agentId"];

const AGENT_ID: Field = Field::new("agent", Text(&rules::AGENT_NAME), "The agent that answers.")
    .aliases(&["profile", "agentId"]);
const CHAT: Field = Field::new("chat", Text(&rules::EXTERNAL_ID), "A chat.").aliases(&["chat_id"]);
const TOPIC: Field =
    Field::new("topic", Text(&rules::EXTERNAL_ID), "A topic or thread of the chat.").aliases(&[
        "topic_id",
        "thread_id",
        "thread",
    ]);
const USER: Field =
    Field::new("user", Text(&rules::EXTERNAL_ID), "A sender.").aliases(&["user_id"]);
const PEER: Field = Field::new("peer", Text(&rules::EXTERNAL_ID), "A sender, in a direct message.");
const ROLE: Field = Field::new("role", Text(&rules::EXTERNAL_ID), "A role of the sender.");
const GUILD: Field =
    Field::new("guild", Text(&rules::EXTERNAL_ID), "A guild.").aliases(&["guild_id"]);
const TEAM: Field = Field::new("team", Text(&rules::EXTERNAL_ID), "A team.").aliases(&["team_id"]);
const CHAT_TYPE: Field =
    Field::new("chat_type", Choice(&["dm", "group", "channel", "thread"]), "A kind of chat.");
const ACCOUNT: Field = Field::new(
    "account",
    Text(&rules::ACCOUNT_OR_ALL),
    "One of the platform's accounts; `\"*\"` for all of them.",
)
.default("all of them");
const PLATFORM: Field = Field::new("platform", Text(&rules::PLATFORM), "A platform.");
/// A kind of rule and notes on it, which other runtimes have.
const KIND: Field = Field::new("type", Choice(&["route"]), "What other runtimes call a binding.");
const COMMENT: Field = Field::new("comment", Text(&rules::TEXT), "A note, for people.");
const PRIORITY: Field = Field::new(
    "priority",
    Integer { min: -1_000_000, max: 1_000_000 },
    "Among rules with the same fields, which role wins when a sender has several: the highest.",
)
.default("0");
const METADATA: Field = Field::new(
    "metadata",
    Map { keys: &rules::IDENTIFIER, values: &TEXT_VALUE },
    "Values for hooks and expressions.",
);

/// A binding: the agent, and the fields a message must have, in any of three forms.
pub static BINDING: Object = Object { required: &["agent"], fields: &WITH_PLATFORMS };

const OWN: [Field; 21] = [
    AGENT_ID,
    PLATFORM,
    ACCOUNT,
    CHAT,
    CHAT_TYPE,
    TOPIC,
    USER,
    PEER,
    ROLE,
    GUILD,
    TEAM,
    PRIORITY,
    way_in::TOOLS,
    way_in::RULES,
    way_in::BUDGET,
    way_in::MODEL,
    way_in::GROUP,
    METADATA,
    KIND,
    COMMENT,
    Field::new("match", Object(&MATCH), "The same fields, spelled out."),
];

/// Each platform's name is a key too, with a chat, `"*"` or a map of fields.
const FORM: Field = Field::new(
    "",
    Forms(&PLATFORM_FORMS),
    "A chat of this platform, `\"*\"` for all of it, or the fields of a rule.",
);

static WITH_PLATFORMS: [Field; OWN.len() + PLATFORMS.len()] = {
    let mut fields = [FORM; OWN.len() + PLATFORMS.len()];
    let mut index = 0;
    while index < OWN.len() {
        fields[index] = OWN[index];
        index += 1;
    }
    while index < fields.len() {
        fields[index].name = PLATFORMS[index - OWN.len()];
        index += 1;
    }
    fields
};

/// The fields a message is matched by, spelled out: also as another runtime does.
pub static MATCH: Object = Object {
    required: &[],
    fields: &[
        PLATFORM.aliases(&["channel", "provider"]),
        ACCOUNT.aliases(&["accountId", "account_id"]),
        CHAT,
        CHAT_TYPE,
        TOPIC,
        USER,
        Field::new(
            "peer",
            Forms(&PEER_FORMS),
            "A sender, in a direct message; or, with a `kind`, a sender or a chat.",
        ),
        ROLE,
        Field::new(
            "roles",
            List(&EXTERNAL_ID),
            "Roles of the sender, of which one is enough: a rule for each.",
        ),
        GUILD.aliases(&["guild_id", "guildId"]),
        TEAM.aliases(&["team_id", "teamId"]),
        PRIORITY,
    ],
};

/// What stands under a platform's name in a binding.
pub static UNDER_PLATFORM: Object = Object {
    required: &[],
    fields: &[ACCOUNT, CHAT, CHAT_TYPE, TOPIC, USER, PEER, ROLE, GUILD, TEAM, PRIORITY],
};
