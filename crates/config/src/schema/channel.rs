//! The keys of a connection to a platform, and which platform takes which of them.

use super::way_in;
use crate::rules;
use crate::shape::{Field, Object, Shape::*};

/// `channels.<platform>`.
pub static CHANNEL: Object = Object {
    required: &["accounts"],
    fields: &[Field::new(
        "accounts",
        Map { keys: &rules::NAME, values: &Part(&ACCOUNT) },
        "Its accounts, by name.",
    )],
};

/// `channels.<platform>.accounts.<name>`. What is wrong in one account keeps that account from
/// connecting, and nothing else.
pub static ACCOUNT: Object = Object {
    required: &[],
    fields: &[
        Field::new("enabled", Bool, "Whether it connects.").default("true"),
        Field::new("token", Text(&rules::LINE), "`${secret:NAME}`, in the daemon's namespace."),
        Field::new("base_url", Text(&rules::URL), "The server, on Mattermost; elsewhere another one than the platform's own."),
        Field::new("mode", Choice(&["polling", "webhook", "socket"]), "How messages come in."),
        Field::new("homeserver", Text(&rules::URL), "Matrix: the server."),
        Field::new("user", Text(&rules::LINE), "Matrix and others: the bot's own name."),
        Field::new(
            "recovery_key",
            Text(&rules::LINE),
            "Matrix: `${secret:NAME}`, the recovery key under which keys of encrypted rooms are in the server's backup.",
        )
        .default("no backup"),
        Field::new(
            "secret",
            Text(&rules::LINE),
            "What requests to `/hooks/<platform>/<name>` are checked with.",
        ),
        Field::new(
            "public_url",
            Text(&rules::URL),
            "Where the platform reaches this daemon, in mode `webhook` or for buttons.",
        ),
        Field::new(
            "number",
            Text(&rules::LINE),
            "Signal: the account's number with its country, or its UUID.",
        ),
        Field::new(
            "profile_name",
            Text(&rules::LINE),
            "Signal: the name that people see; as the account has it when left out.",
        ),
        Field::new(
            "phone_number_id",
            Text(&rules::LINE),
            "WhatsApp: the id of the number, as Meta's dashboard shows it.",
        ),
        Field::new(
            "verify_token",
            Text(&rules::LINE),
            "WhatsApp: what Meta says when it asks whether this is the place; chosen by you.",
        ),
        Field::new(
            "reopen_template",
            Text(&rules::LINE),
            "WhatsApp: an approved template with one gap, for whoever has not written for 24 hours.",
        ),
        Field::new("reopen_language", Text(&rules::LINE), "WhatsApp: the template's language.")
            .default("`en`"),
        Field::new("app_token", Text(&rules::LINE), "Slack: the token of the socket."),
        Field::new(
            "uncertain",
            Choice(&["resend", "hold"]),
            "What becomes of a message that may or may not have been sent when the daemon was cut off.",
        )
        .default("`resend`"),
        Field::new(
            "working",
            Choice(&["typing", "reaction", "both", "none"]),
            "How a chat sees that something is being worked on, where the platform has it.",
        )
        .default("`typing`, and `reaction` where the platform has no sign of writing"),
        Field::new(
            "template",
            Text(&rules::TEXT),
            "Webhooks: the message, with `{{ path }}` for values of the payload.",
        )
        .default("the payload"),
        Field::new("chat", Text(&rules::TEXT), "Webhooks: the chat it is said in, as a template.")
            .default("the account's name"),
        Field::new(
            "event",
            Text(&rules::TEXT),
            "Webhooks: what a repetition of the same event has in common, as a template.",
        )
        .default("the signature"),
        Field::new(
            "deliver",
            Text(&rules::DESTINATION),
            "Webhooks: where replies go, as `platform:account:chat[:topic]`.",
        ),
        Field::new("callback", Text(&rules::URL), "Webhooks: the address replies are posted to."),
        Field::new(
            "window",
            Text(&rules::DURATION),
            "Webhooks: how old, or how far ahead, a signed request may be.",
        )
        .default("`5m`"),
        Field::new(
            "origins",
            List(&Text(&rules::ORIGIN)),
            "Web chat: pages that may open it, beside the daemon's own.",
        ),
        way_in::TOOLS,
        way_in::RULES,
        way_in::BUDGET,
        way_in::MODEL,
        way_in::GROUP,
        Field::new(
            "metadata",
            Map { keys: &rules::IDENTIFIER, values: &Text(&rules::TEXT) },
            "Values for hooks and expressions.",
        ),
    ],
};

/// What the accounts of one platform are made from.
pub struct AccountKeys {
    /// The platform.
    pub platform: &'static str,
    /// What an account can't do without.
    pub required: &'static [&'static str],
    /// What it may have besides, and besides what every account may have.
    pub optional: &'static [&'static str],
    /// What of that an example shows: one that is set up the usual way needs it.
    pub usual: &'static [&'static str],
    /// What two connections of one bot have in common: none of them is given twice, since each
    /// would take the other's events. Nothing where a platform gives several all they hear.
    pub identity: &'static [&'static str],
    /// Whether it calls `public_url`, and by `https://` alone.
    pub calls_by_https: bool,
}

impl AccountKeys {
    /// Those of a platform that this version connects to.
    pub fn of(platform: &str) -> Option<&'static Self> {
        CONNECTED.iter().find(|keys| keys.platform == platform)
    }
}

/// Settings that nobody should read in a file.
const SECRETS: [&str; 2] = ["token", "secret"];

impl AccountKeys {
    /// What of that which it can't do without is kept as a secret. The first is called as the
    /// account is.
    pub fn secrets(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().copied().filter(|key| SECRETS.contains(key))
    }
}

/// What every account may have.
pub const EVERY_ACCOUNT: [&str; 9] =
    ["enabled", "uncertain", "working", "metadata", "tools", "rules", "budget", "model", "group"];

/// The platforms that this version connects to.
pub static CONNECTED: &[AccountKeys] = &[
    AccountKeys {
        platform: "discord",
        required: &["token"],
        optional: &["base_url"],
        usual: &[],
        identity: &["token"],
        calls_by_https: false,
    },
    AccountKeys {
        platform: "matrix",
        required: &["homeserver", "token"],
        optional: &["user", "recovery_key"],
        usual: &[],
        identity: &["token"],
        calls_by_https: false,
    },
    AccountKeys {
        platform: "mattermost",
        required: &["base_url", "token"],
        optional: &["secret", "public_url"],
        usual: &[],
        identity: &["token", "base_url"],
        calls_by_https: false,
    },
    AccountKeys {
        platform: "signal",
        required: &["number"],
        optional: &["base_url", "profile_name"],
        usual: &[],
        identity: &["number", "base_url"],
        calls_by_https: false,
    },
    AccountKeys {
        platform: "slack",
        required: &["token"],
        optional: &["app_token", "mode", "secret", "public_url", "base_url"],
        usual: &["app_token"],
        identity: &["token"],
        calls_by_https: true,
    },
    AccountKeys {
        platform: "telegram",
        required: &["token"],
        optional: &["base_url", "mode", "secret", "public_url"],
        usual: &[],
        identity: &["token"],
        calls_by_https: true,
    },
    AccountKeys {
        platform: "web",
        required: &[],
        optional: &["origins"],
        usual: &[],
        identity: &[],
        calls_by_https: false,
    },
    AccountKeys {
        platform: "webhook",
        required: &["secret"],
        optional: &["template", "chat", "event", "deliver", "callback", "window"],
        usual: &[],
        identity: &[],
        calls_by_https: false,
    },
    AccountKeys {
        platform: "whatsapp",
        required: &["token", "secret", "phone_number_id", "verify_token"],
        optional: &["base_url", "public_url", "reopen_template", "reopen_language"],
        usual: &[],
        identity: &["phone_number_id"],
        calls_by_https: true,
    },
];
