//! Rules for single texts: names, durations, hosts, references to secrets.
//!
//! Each rule is both a check and a parser; the table uses the check, the code that reads
//! values uses the parser, and neither can disagree with the other.

mod destination;
mod quantity;
mod references;

pub use destination::{ChatDestination, destination};
pub use quantity::{duration, size};
pub use references::{Reference, references};

use crate::job_words::{Deliver, JobScope, moment};
use crate::shape::{Problem, TextRule, shorten};
use crate::suggest::nearest;
use insula_domain::percent::Encoded;
use insula_domain::platform::PLATFORMS;
use insula_domain::{
    Act, AgentId, BoardName, ChatId, ChatSelector, FlowSource, HostPattern, Platform, Profile,
    RuledTools, Selector, TrustedSource, Zone,
};
use insula_schedule::{ActiveHours, Form};
use std::net::SocketAddr;

/// Longest free text in a configuration: a personality fits, a book does not.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The parts of the daemon that log, and what stands for all others.
const LOG_TARGETS: [&str; 16] = [
    "default",
    "adapters",
    "api",
    "capabilities",
    "channel",
    "gateway",
    "http",
    "mcp",
    "memory",
    "models",
    "owner",
    "registry",
    "sandbox",
    "store",
    "turns",
    "wire",
];

/// Longest expression. Expressions can't be interrupted, so they are short.
pub const EXPRESSION_BYTES_MAX: usize = 2_000;

/// Declares a rule.
macro_rules! rule {
    ($(#[$doc:meta])* $name:ident, $what:literal, $pattern:literal, $check:expr) => {
        $(#[$doc])*
        pub static $name: TextRule = TextRule { what: $what, check: $check, pattern: $pattern };
    };
}

rule!(
    /// Any text, bounded.
    TEXT, "text", "", |text| {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Problem::new(format!("text of {} bytes", text.len()))
                .help(format!("at most {TEXT_BYTES_MAX} are accepted")));
        }
        Ok(())
    }
);
rule!(
    /// A short line for people.
    LINE, "a line of text", "", |text| {
        if text.trim().is_empty() || text.chars().count() > 500 || text.contains('\n') {
            return Err(Problem::new("expected one line of 1 to 500 characters"));
        }
        Ok(())
    }
);
rule!(
    /// The name of an agent that may not exist: whoever refers to it decides.
    AGENT_NAME, "an agent id", "^[a-z0-9][a-z0-9_-]{0,63}$", |text| (LINE.check)(text)
);
rule!(
    /// The id of an agent.
    AGENT, "an agent id", "^[a-z0-9][a-z0-9_-]{0,63}$",
    |text| AgentId::new(text).map(drop).map_err(|error| Problem::new(error.to_string()))
);
rule!(
    /// A name for something an operator configures: an account, provider, server, board.
    NAME, "a name", "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", |text| {
        let body = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let ok = text.len() <= 64
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(body);
        if ok { Ok(()) } else {
            Err(Problem::new(format!("`{}` is not a name", shorten(text)))
                .help("use letters, digits, `_`, `.` and `-`, at most 64, a letter or digit first"))
        }
    }
);
rule!(
    /// The name of a board, which names a file too.
    BOARD, "a name of lower-case letters", "^[a-z0-9][a-z0-9_-]{0,63}$", |text| {
        match BoardName::new(text) {
            Ok(_) => Ok(()),
            Err(_) => Err(Problem::new(format!("`{}` can't name a board", shorten(text)))
                .help("use a-z, 0-9, `_` and `-`, at most 64, a letter or digit first")),
        }
    }
);
rule!(
    /// A key of metadata, usable in expressions as `metadata.key`.
    IDENTIFIER, "an identifier", "^[A-Za-z_][A-Za-z0-9_]{0,127}$", |text| {
        if is_identifier(text) { Ok(()) } else {
            Err(Problem::new(format!("`{}` is not an identifier", shorten(text)))
                .help("use letters, digits and `_`, not a digit first"))
        }
    }
);
rule!(
    /// The value of an HTTP header, or references to it.
    HEADER_VALUE, "the value of a header", "", |text| {
        let is_sent = |c: char| c == '\t' || (' '..='~').contains(&c);
        if text.len() <= 4_096 && text.chars().all(is_sent) { Ok(()) } else {
            Err(Problem::new("expected one line of ASCII, at most 4096 characters"))
        }
    }
);
rule!(
    /// An id that a platform made.
    EXTERNAL_ID, "an id", "",
    |text| ChatId::new(text).map(drop)
        .map_err(|error| Problem::new(error.to_string().replace("chat id", "an id")))
);
rule!(
    /// An account of a platform, or all of them.
    ACCOUNT_OR_ALL, "a name, or `*`", "^([A-Za-z0-9][A-Za-z0-9_.-]{0,63}|[*])$",
    |text| if text == "*" { Ok(()) } else { (NAME.check)(text) }
);
rule!(
    /// A platform.
    PLATFORM, "a platform", "", |text| Platform::new(text).map(drop).map_err(|error| {
        Problem::new(error.to_string()).suggest(nearest(text, PLATFORMS.iter().copied()))
    })
);
rule!(
    /// `provider/name`.
    MODEL, "a model such as `anthropic/claude-sonnet-4-5`", "^[^\\s/]+/\\S+$", |text| {
        match text.split_once('/') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty()
                && !text.contains(char::is_whitespace) && text.len() <= 256 => Ok(()),
            _ => Err(Problem::new(format!("`{}` is not a model", shorten(text)))
                .help("write `provider/name`, such as `anthropic/claude-sonnet-4-5`")),
        }
    }
);
rule!(
    /// A tool, a group of tools or a pattern of MCP tools.
    TOOL, "a tool, `group:…` or `mcp__…`", "", |text| Selector::parse(text).map(drop).map_err(|_| {
        if text.starts_with("mcp__") {
            return no_pattern(text);
        }
        let unknown = Problem::new(format!("unknown tool `{}`", shorten(text)));
        if Profile::parse(text).is_some() {
            let also = "also_allow: […]";
            return unknown.help(format!(
                "`{text}` is a profile: write `tools: {text}`, or `tools: {{profile: {text}, {also}}}`"
            ));
        }
        unknown
            .suggest(nearest(text, insula_domain::tool::known_names()))
    })
);
rule!(
    /// Whose words an operator takes for their own.
    TRUSTED, "a source such as `web:docs.rs`, `mcp:server/tool` or `folder:/srv/handbook`", "",
    |text| TrustedSource::parse(text).map(drop).ok_or_else(|| {
        Problem::new(format!("`{}` is no source of words", shorten(text)))
            .help("write `web:HOST`, `web:*.DOMAIN`, `mcp:SERVER`, `mcp:SERVER/TOOL`, `folder:/PATH`, `person:PLATFORM:ID`, `agent:ID`, `skill:NAME` or `client:TOOL`")
    })
);
rule!(
    /// A tool, a pattern of MCP tools, or an act that tools have in common.
    TAINTED, "an act, a tool or `mcp__…`", "", |text| {
        let acts = Act::ALL.map(Act::as_str);
        if acts.contains(&text) || RuledTools::parse(text).is_ok() {
            return Ok(());
        }
        if text.starts_with("mcp__") {
            return Err(no_pattern(text));
        }
        let known = acts.into_iter().chain(insula_domain::tool::known_names());
        Err(Problem::new(format!("`{}` is neither an act nor a tool", shorten(text)))
            .help(format!("acts are {}; tools of servers are `mcp__<server>__<tool>`", acts.join(", ")))
            .suggest(nearest(text, known)))
    }
);
rule!(
    /// A host or `*.domain`.
    HOST, "a host such as `api.example.org`, `*.example.org` or `127.0.0.1:8080`", "",
    |text| HostPattern::parse(text).map(drop)
        .map_err(|error| Problem::new(format!("`{}` is not a host", shorten(text))).help(error.to_string()))
);
rule!(
    /// A header that somebody may set, as for a credential.
    HEADER, "a header such as `Authorization`", "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$", |text| {
        if insula_domain::network::is_credential_header(text) {
            return Ok(());
        }
        Err(Problem::new(format!("`{}` is no header that can be set", shorten(text)))
            .help("name a header, such as `Authorization`; those that frame a message are not for this"))
    }
);
rule!(
    /// A duration.
    DURATION, "a duration such as `60s`, `5m` or `1h`", "^[0-9]+(ms|s|m|h|d)$", |text| {
        duration(text).map(drop).ok_or_else(|| {
            Problem::new(format!("`{}` is not a duration", shorten(text)))
                .help("write a number and `ms`, `s`, `m`, `h` or `d`, such as `60s`")
        })
    }
);
rule!(
    /// A number of bytes.
    SIZE, "a size such as `512MB`", "^[0-9]+(B|KB|MB|GB)?$", |text| {
        size(text).map(drop).ok_or_else(|| {
            Problem::new(format!("`{}` is not a size", shorten(text)))
                .help("write a number and `KB`, `MB` or `GB`, such as `512MB`")
        })
    }
);
rule!(
    /// A time of day.
    TIME_OF_DAY, "a time of day such as `04:00`", "^[0-2][0-9]:[0-5][0-9]$", |text| {
        let parts = text.split_once(':').filter(|(h, m)| h.len() == 2 && m.len() == 2);
        let valid = parts.and_then(|(h, m)| Some((h.parse::<u8>().ok()?, m.parse::<u8>().ok()?)))
            .is_some_and(|(h, m)| h < 24 && m < 60);
        if valid { Ok(()) } else {
            Err(Problem::new(format!("`{}` is not a time of day", shorten(text)))
                .help("write hours and minutes, such as `04:00`"))
        }
    }
);
rule!(
    /// A part of the daemon that logs.
    LOG_TARGET, "a part that logs, such as `turns`, or `default`", "^[a-z]+$", |text| {
        if LOG_TARGETS.contains(&text) {
            return Ok(());
        }
        let help = match nearest(text, LOG_TARGETS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("one of {}", LOG_TARGETS.join(", ")),
        };
        Err(Problem::new(format!("`{}` is no part that logs", shorten(text))).help(help))
    }
);
rule!(
    /// A time zone.
    ZONE, "a time zone such as `Europe/Berlin`", "", |text| {
        if Zone::named(text).is_some() {
            return Ok(());
        }
        let help = match Zone::nearest(text) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write a name of the tz database, such as `Europe/Berlin` or `UTC`".to_owned(),
        };
        Err(Problem::new(format!("`{}` is no time zone", shorten(text))).help(help))
    }
);
rule!(
    /// A schedule.
    SCHEDULE, "a schedule such as `every 2h`, `30 8 * * 1-5` or `every weekday at 8:30`", "", |text| {
        Form::parse(text).map(drop).map_err(|error| Problem::new(error.to_string()))
    }
);
rule!(
    /// A moment.
    MOMENT, "a moment such as `2026-12-31T23:59`", "", |text| {
        moment(text, &Zone::utc()).map(drop).map_err(Problem::new)
    }
);
rule!(
    /// Hours of a day.
    HOURS, "hours such as `08:00-22:00`", "", |text| {
        text.parse::<ActiveHours>().map(drop).map_err(Problem::new)
    }
);
rule!(
    /// Where the reply of a job goes.
    DELIVER, "`none`, `origin`, `agent` or a place such as `telegram:main:-100123`", "", |text| {
        match (Deliver::parse(text), text.parse::<insula_domain::Audience>()) {
            (Some(_), _) => Ok(()),
            (None, Err(error)) => Err(no_place(text, &error.to_string())),
            (None, Ok(_)) => Ok(()),
        }
    }
);
rule!(
    /// Whose memory a job has.
    JOB_SCOPE, "`job`, `chat`, `global` or a context such as `chat:telegram:main:-100123`", "", |text| {
        match JobScope::parse(text) {
            Some(_) => Ok(()),
            None => Err(Problem::new(format!("`{}` is no scope of a job", shorten(text)))
                .help("write `job`, `chat`, `global`, or a context such as `chat:telegram:main:-100123`")),
        }
    }
);
rule!(
    /// Somebody: an identity, or a name that was given to several.
    WHO, "an identity such as `telegram:12345`, or a name of `access.people`", "", |text| {
        if text.contains(':') { (IDENTITY.check)(text) } else { (NAME.check)(text) }
    }
);
rule!(
    /// Where to listen.
    LISTEN, "an address such as `127.0.0.1:7717`", "", |text| {
        text.parse::<SocketAddr>().map(drop)
            .map_err(|_| Problem::new(format!("`{}` is not an address", shorten(text)))
                .help("write IP and port, such as `127.0.0.1:7717`"))
    }
);
rule!(
    /// An `http` or `https` address.
    URL, "an http or https address", "^https?://", |text| {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        match rest {
            Some(rest) if !rest.is_empty() && !rest.starts_with('/') && !text.contains(char::is_whitespace) => Ok(()),
            _ => Err(Problem::new(format!("`{}` is not an http or https address", shorten(text)))),
        }
    }
);
rule!(
    /// Where a browser says that a page comes from.
    ORIGIN, "an origin such as `https://chat.example.org`", "^https?://[^/]+$", |text| {
        (URL.check)(text)?;
        if text.splitn(4, '/').count() > 3 {
            return Err(Problem::new(format!("`{}` is more than an origin", shorten(text)))
                .help("write scheme, host and port alone, such as `https://chat.example.org`"));
        }
        if text.contains('*') {
            return Err(Problem::new(format!("`{}` names no single site", shorten(text)))
                .help("list each origin whole; patterns are not taken"));
        }
        Ok(())
    }
);
rule!(
    /// A chat of one of our accounts.
    DESTINATION, "a destination such as `telegram:main:-100123:7`", "^[a-z]+:[^:]+:[^:]+(:[^:]+)?$",
    |text| destination(text).map(drop)
);
rule!(
    /// A path: absolute, or below the operator's home by `~/`.
    PATH, "a path that starts with `/` or `~/`", "^(/|~/)", |text| {
        if (text.starts_with('/') || text.starts_with("~/") || text == "~") && !text.contains('\0') {
            Ok(())
        } else {
            Err(Problem::new(format!("`{}` is not a full path", shorten(text)))
                .help("start it with `/` or `~/`"))
        }
    }
);
rule!(
    /// Somebody: `platform:user`, `platform:role:name`, `platform:chat:id` or `platform:*`.
    IDENTITY, "somebody, such as `telegram:12345` or `discord:role:staff`", "^[a-z]+:.+$", |text| {
        let Some((platform, who)) = text.split_once(':') else {
            return Err(Problem::new(format!("`{}` names nobody", shorten(text)))
                .help("write `platform:user`, such as `telegram:12345`"));
        };
        (PLATFORM.check)(platform)?;
        if who != "*" && who.contains('*') {
            return Err(Problem::new(format!("`{}` names nobody", shorten(text)))
                .help(format!("a `*` stands alone: `{platform}:*` is everybody there")));
        }
        let who = who.strip_prefix("role:").or_else(|| who.strip_prefix("chat:")).unwrap_or(who);
        (EXTERNAL_ID.check)(who)
    }
);
rule!(
    /// A place of an account's, or all of them.
    PLACES, "a place such as `telegram:main:-100123`, `telegram:main:-100123:7` or `telegram:main:*`",
    "^[a-z]+:[^:]+:[^:]+(:[^:]+)?$",
    |text| text.parse::<ChatSelector>().map(drop).map_err(|error| no_place(text, &error.to_string()))
);
rule!(
    /// Where words come from.
    FLOW_SOURCE, "a place such as `telegram:main:-100123` or `telegram:main:*`, or `*` for anywhere",
    "^(\\*|[a-z]+:[^:]+:[^:]+(:[^:]+)?)$",
    |text| text.parse::<FlowSource>().map(drop).map_err(|error| no_place(text, &error.to_string()))
);
rule!(
    /// A number, negative ones included.
    NUMBER, "a number", "^-?[0-9][0-9_]*(\\.[0-9]+)?$", |text| {
        match text.replace('_', "").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(()),
            _ => Err(Problem::new(format!("`{}` is not a number", shorten(text)))),
        }
    }
);
rule!(
    /// An expression.
    EXPRESSION, "an expression", "", |text| {
        if text.trim().is_empty() || text.len() > EXPRESSION_BYTES_MAX {
            return Err(Problem::new(format!("an expression has 1 to {EXPRESSION_BYTES_MAX} bytes")));
        }
        Ok(())
    }
);

/// What is wrong with what begins like a pattern of MCP tools.
fn no_pattern(text: &str) -> Problem {
    Problem::new(format!("`{}` is not a pattern of MCP tools", shorten(text)))
        .help("write `mcp__<server>__<tool>`, with `*` for any run of characters")
}

/// What is wrong with a place. Ids of some platforms have colons in them, and are written in
/// the encoding of session keys.
fn no_place(text: &str, error: &str) -> Problem {
    let mut parts = text.splitn(3, ':');
    let help = match (parts.next(), parts.next(), parts.next()) {
        (Some(platform), Some(account), Some(chat)) if Platform::new(platform).is_ok() => {
            format!("a chat whose id has such characters is `{platform}:{account}:{}`", Encoded(chat))
        }
        _ => "write `platform:account:chat` or `platform:account:chat:topic`, with `*` for every chat".to_owned(),
    };
    Problem::new(error.to_owned()).help(help)
}

/// Whether a text can be a key of metadata, or the name of a variable.
pub fn is_identifier(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
