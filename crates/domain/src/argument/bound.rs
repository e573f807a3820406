//! The values that one argument may have.

use super::mention::{Link, links, stands_in};
use super::path::PathGlob;
use super::{ELEMENTS_MAX, FoundArgument};
use crate::command;
use crate::host::{HostPattern, Scheme, parse_authority};
use crate::selector;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Most patterns of one bound: an address book fits, a directory of a company does not.
pub const PATTERNS_MAX: usize = 2_048;

/// The values an argument may have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Bound {
    /// An address on the web, or a host, that one of these covers.
    Host(Vec<HostPattern>),
    /// Somebody to write to: one of these, where `*` stands for a run of letters up to the
    /// next `@`, `:` or `/`.
    Recipient(Vec<Box<str>>),
    /// A path that one of these covers.
    Path(Vec<PathGlob>),
    /// A command line in which every command begins with the words of one of these.
    Command(Vec<Box<[Box<str>]>>),
    /// A text that begins so.
    Prefix(Vec<Box<str>>),
    /// One of these, as written.
    OneOf(Vec<Box<str>>),
    /// What stands in the words that people said in this turn, or one of these.
    Said(Vec<Box<str>>),
    /// A text in which every web address is at one of these hosts.
    Links(Vec<HostPattern>),
    /// A number, at least the one and at most the other.
    Number {
        /// The least.
        min: Option<Number>,
        /// The most.
        max: Option<Number>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(f64);

impl Number {
    /// `None` for what is no number.
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value))
    }

    /// Whether it is greater than another.
    pub fn is_above(self, other: Self) -> bool {
        self.0 > other.0
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The two zeros are equal.
        (self.0 + 0.0).to_bits().hash(state);
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text is no pattern of a bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoundError {
    /// not a host
    #[error("`{text}` is not a host: {why}")]
    Host {
        /// The rejected text.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// not a recipient
    #[error("`{text}` is not a recipient: write it as it is given, with `*` for a part of it")]
    Recipient {
        /// The rejected text.
        text: String,
    },
    /// not a pattern of paths
    #[error("`{text}` is not a pattern of paths: `{why}`")]
    Path {
        /// The rejected text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// not the beginning of a command
    #[error(
        "`{text}` is not the beginning of a command: write the program and maybe its first \
         arguments, without quotes, variables or anything else a shell reads"
    )]
    Command {
        /// The rejected text.
        text: String,
    },
    /// nothing would be allowed, or anything
    #[error("an empty text is the beginning of every other")]
    EmptyPrefix,
}

impl Bound {
    pub fn hosts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BoundError> {
        let host = |text: &str| {
            HostPattern::parse(text)
                .map_err(|error| BoundError::Host { text: text.to_owned(), why: error.to_string() })
        };
        texts.into_iter().map(host).collect::<Result<_, _>>().map(Self::Host)
    }

    /// Hosts that a text may link to; none, and it may not link at all.
    pub fn links<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BoundError> {
        match Self::hosts(texts)? {
            Self::Host(hosts) => Ok(Self::Links(hosts)),
            other => Ok(other),
        }
    }

    pub fn recipients<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BoundError> {
        let recipient = |text: &str| {
            let is_plain = is_recipient(text) && !text.bytes().all(|byte| byte == b'*');
            is_plain
                .then(|| text.to_ascii_lowercase().into())
                .ok_or_else(|| BoundError::Recipient { text: text.to_owned() })
        };
        texts.into_iter().map(recipient).collect::<Result<_, _>>().map(Self::Recipient)
    }

    pub fn paths<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BoundError> {
        let path = |text: &str| {
            PathGlob::parse(text).map_err(|why| BoundError::Path { text: text.to_owned(), why })
        };
        texts.into_iter().map(path).collect::<Result<_, _>>().map(Self::Path)
    }

    /// Beginnings of commands.
    pub fn commands<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BoundError> {
        let words = |text: &str| {
            let wrong = || BoundError::Command { text: text.to_owned() };
            // Written as a shell reads it, so that it means the same here and in a line.
            let plain: Option<Box<[Box<str>]>> = command::plain(text).map(Into::into);
            let is_as_written =
                |words: &[Box<str>]| words.iter().map(|word| &**word).eq(text.split_whitespace());
            plain.filter(|words| !words.is_empty() && is_as_written(words)).ok_or_else(wrong)
        };
        texts.into_iter().map(words).collect::<Result<_, _>>().map(Self::Command)
    }

    /// Beginnings of a text.
    pub fn prefixes<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BoundError> {
        let prefix = |text: &str| match text {
            "" => Err(BoundError::EmptyPrefix),
            text => Ok(text.into()),
        };
        texts.into_iter().map(prefix).collect::<Result<_, _>>().map(Self::Prefix)
    }

    /// What is allowed, as it follows "`url` …".
    pub fn allows(&self) -> String {
        fn any<T>(patterns: &[T], show: impl Fn(&T) -> String) -> String {
            match patterns {
                [] => "nothing".to_owned(),
                patterns => {
                    let shown: Vec<String> =
                        patterns.iter().map(|it| format!("`{}`", show(it))).collect();
                    shown.join(", ")
                }
            }
        }
        match self {
            Self::Host(hosts) => format!("is at {}", any(hosts, ToString::to_string)),
            Self::Recipient(names) => format!("is {}", any(names, ToString::to_string)),
            Self::Path(globs) => format!("is below {}", any(globs, ToString::to_string)),
            Self::Command(prefixes) => {
                format!("runs only commands that begin with {}", any(prefixes, |it| it.join(" ")))
            }
            Self::Prefix(prefixes) => {
                format!("begins with {}", any(prefixes, ToString::to_string))
            }
            Self::OneOf(values) => format!("is {}", any(values, ToString::to_string)),
            Self::Said(values) if values.is_empty() => {
                "is said in the message of this turn".to_owned()
            }
            Self::Said(values) => format!(
                "is said in the message of this turn, or is {}",
                any(values, ToString::to_string)
            ),
            Self::Links(hosts) if hosts.is_empty() => "has no web address in it".to_owned(),
            Self::Links(hosts) => {
                format!("has only web addresses at {}", any(hosts, ToString::to_string))
            }
            Self::Number { min: Some(min), max: Some(max) } => format!("is {min} to {max}"),
            Self::Number { min: Some(min), max: None } => format!("is at least {min}"),
            Self::Number { min: None, max: Some(max) } => format!("is at most {max}"),
            Self::Number { min: None, max: None } => "is a number".to_owned(),
        }
    }

    /// Whether it depends on what people said.
    pub(super) fn looks_at_turn(&self) -> bool {
        matches!(self, Self::Said(_))
    }

    /// Whether a value is within, where people said this; otherwise what is wrong, as it
    /// follows "`url` …".
    pub(super) fn admit(&self, found: &FoundArgument<'_>, said: &str) -> Result<(), String> {
        let wrong = |what: String| Err(format!("{what}; allowed is what {}", self.allows()));
        match found {
            FoundArgument::List(elements) if elements.len() > ELEMENTS_MAX => {
                wrong(format!("has {} elements", elements.len()))
            }
            FoundArgument::List(elements) => {
                elements.iter().try_for_each(|element| match element {
                    FoundArgument::List(_) => wrong("has a list in a list".to_owned()),
                    FoundArgument::Absent => wrong("has an empty element".to_owned()),
                    element => self.admit(element, said),
                })
            }
            FoundArgument::Text(text) => match self.covers_text(text, said) {
                Ok(()) => Ok(()),
                Err(what) => wrong(what),
            },
            FoundArgument::Number(number) => match self {
                Self::Number { min, max } => {
                    let is_within = number.is_finite()
                        && min.is_none_or(|min| *number >= min.0)
                        && max.is_none_or(|max| *number <= max.0);
                    if is_within { Ok(()) } else { wrong(format!("is {number}")) }
                }
                Self::OneOf(values) if values.iter().any(|it| **it == *number.to_string()) => {
                    Ok(())
                }
                Self::Said(values) => {
                    let text = number.to_string();
                    let is_within = values.iter().any(|it| **it == *text) || stands_in(&text, said);
                    if is_within { Ok(()) } else { wrong(format!("is {number}")) }
                }
                Self::OneOf(_) => wrong(format!("is {number}")),
                _ => wrong("is a number".to_owned()),
            },
            FoundArgument::Bool(value) => match self {
                Self::OneOf(values) if values.iter().any(|it| **it == *value.to_string()) => Ok(()),
                _ => wrong(format!("is {value}")),
            },
            FoundArgument::Fields => wrong("has fields of its own".to_owned()),
            FoundArgument::Absent => wrong("is missing".to_owned()),
        }
    }

    fn covers_text(&self, text: &str, said: &str) -> Result<(), String> {
        let is = || format!("is `{}`", clipped(text));
        let covered = match self {
            Self::Host(patterns) => {
                let (host, port, scheme) = web_address(text).ok_or_else(|| {
                    format!("is `{}`, which is no plain web address", clipped(text))
                })?;
                let is_host_alone = patterns.iter().any(|it| it.covers_host(&host));
                let covered = reaches(patterns, &host, port, scheme);
                if let (false, true, Some(port)) = (covered, is_host_alone, port) {
                    return Err(format!(
                        "is `{}`, at port {port}, which a rule has to name (`{host}:{port}`)",
                        clipped(text)
                    ));
                }
                covered
            }
            Self::Recipient(names) => {
                let lower = text.to_ascii_lowercase();
                is_recipient(text)
                    && !text.contains('*')
                    && names.iter().any(|name| is_like_recipient(name, &lower))
            }
            Self::Path(globs) => globs.iter().any(|glob| glob.covers(text)),
            Self::Command(prefixes) => return commands_within(prefixes, text),
            Self::Prefix(prefixes) => prefixes.iter().any(|prefix| text.starts_with(&**prefix)),
            Self::OneOf(values) => values.iter().any(|value| **value == *text),
            Self::Said(values) => {
                values.iter().any(|value| **value == *text) || stands_in(text, said)
            }
            Self::Links(patterns) => {
                let outside = links(text).into_iter().find(|Link { at, .. }| match at {
                    Some((host, port, scheme)) => !reaches(patterns, host, *port, *scheme),
                    None => true,
                });
                return match outside {
                    Some(link) => Err(format!("has `{}` in it", clipped(link.text))),
                    None => Ok(()),
                };
            }
            Self::Number { .. } => return Err("is a text and no number".to_owned()),
        };
        if covered { Ok(()) } else { Err(is()) }
    }
}

/// Whether one of the patterns covers a place. A host without scheme and port may be reached in
/// either way.
fn reaches(
    patterns: &[HostPattern],
    host: &crate::host::Host,
    port: Option<u16>,
    scheme: Option<Scheme>,
) -> bool {
    patterns.iter().any(|it| match (port, scheme) {
        (Some(port), Some(scheme)) => it.covers(host, port, scheme),
        (Some(port), None) => {
            it.covers(host, port, Scheme::Http) || it.covers(host, port, Scheme::Https)
        }
        (None, _) => it.covers_host(host),
    })
}

fn commands_within(prefixes: &[Box<[Box<str>]>], line: &str) -> Result<(), String> {
    let Some(said) = command::said(line) else {
        return Err("has a command that is only known when it runs, or can't be read".to_owned());
    };
    if said.is_empty() {
        return Err("has no command".to_owned());
    }
    for said in said {
        if said.sets_variables {
            return Err(format!("sets variables for a command (`{}`)", clipped(&said.source)));
        }
        if !prefixes.iter().any(|words| said.begins_with(words)) {
            let words: Vec<&str> =
                said.words.iter().map(|word| word.as_deref().unwrap_or("…")).collect();
            return Err(match words.is_empty() {
                true => format!("has `{}`, which names no command", clipped(&said.source)),
                false => format!("runs `{}`", clipped(&words.join(" "))),
            });
        }
    }
    Ok(())
}

/// The host of `https://host[:port]/…` or `host[:port]`, read strictly: whatever two readers
/// could take for different hosts is none.
pub(super) fn web_address(text: &str) -> Option<(crate::host::Host, Option<u16>, Option<Scheme>)> {
    let is_odd = |letter: char| letter.is_control() || letter.is_whitespace() || letter == '\\';
    if text.contains(is_odd) {
        return None;
    }
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let (scheme, rest) = match lower {
        lower if lower.starts_with("https://") => (Some(Scheme::Https), text.get(8..)?),
        lower if lower.starts_with("http://") => (Some(Scheme::Http), text.get(7..)?),
        _ if text.contains('/') => return None,
        _ => (None, text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if scheme.is_none() && end != rest.len() {
        return None;
    }
    let (host, port) = parse_authority(&rest[..end]).ok()?;
    Some((host, port.or(scheme.map(Scheme::default_port)), scheme))
}

/// Nothing that could make it several, or another one to a careless reader.
fn is_recipient(text: &str) -> bool {
    let is_odd = |letter: char| {
        letter.is_control() || letter.is_whitespace() || ",;<>\"'()\\%".contains(letter)
    };
    !text.is_empty() && text.len() <= 320 && !text.contains(is_odd)
}

/// Whether a recipient is like a pattern whose `*` stays within a part of an address.
fn is_like_recipient(pattern: &str, text: &str) -> bool {
    selector::is_like_within(pattern, text, b"@:/")
}

/// As much of a value as a message needs.
fn clipped(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    let mut shown: String =
        text.chars().take(CHARS_MAX).map(|it| if it.is_control() { ' ' } else { it }).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
