//! Shapes: what a value may look like, as data.
//!
//! One table of shapes (see [`crate::schema`]) drives everything that has to agree: the
//! check that reports every unknown key and wrong type, the JSON schema for editors and
//! the reference page. Checking also tidies: other spellings get their proper names,
//! shorthands become the long form, and what is wrong is taken out after it was reported,
//! so that the code that reads values never sees a malformed one.

use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::source::Span;
use crate::suggest::nearest;
use crate::yaml::{MapEntry, Node, Value};
use std::collections::HashMap;

/// What a value may look like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Text under a rule. Numbers and booleans count as the text they were written as.
    Text(&'static TextRule),
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number that is not negative.
    Amount,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of values of one shape.
    List(&'static Shape),
    /// A map from names to values of one shape.
    Map {
        /// What a name may look like.
        keys: &'static TextRule,
        /// What a value may look like.
        values: &'static Shape,
    },
    /// A map with known keys.
    Object(&'static Object),
    /// A map whose entries are checked by whoever owns each of them.
    Parts,
    /// A map with known keys, checked by whoever owns it.
    Part(&'static Object),
    /// Any of several shapes, told apart by whether a scalar, a list or a map stands there.
    Forms(&'static [Shape]),
    /// Anything at all: values that belong to somebody else's format.
    Anything,
}

/// A map with known keys.
#[derive(Debug)]
pub struct Object {
    /// The keys.
    pub fields: &'static [Field],
    /// Those that must be there.
    pub required: &'static [&'static str],
}

/// A known key.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    /// Other spellings that mean the same.
    pub aliases: &'static [&'static str],
    /// What its value may look like.
    pub shape: Shape,
    /// What it is for, in one sentence.
    pub doc: &'static str,
    /// What holds where it is not written, as shown to people.
    pub default: &'static str,
    /// How a shorthand becomes the long form.
    pub expand: fn(Node) -> Node,
    /// How a value under another spelling becomes one of ours.
    pub from_alias: fn(&mut Node),
}

impl Field {
    /// A key with a value of `shape` and no shorthand.
    pub const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            shape,
            doc,
            default: "",
            expand: |node| node,
            from_alias: |_| {},
        }
    }

    /// The same with other spellings.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same with what holds where it is not written.
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// The same with other spellings whose values differ too.
    pub const fn from_alias(mut self, from_alias: fn(&mut Node)) -> Self {
        self.from_alias = from_alias;
        self
    }

    /// The same with a shorthand.
    pub const fn expand(mut self, expand: fn(Node) -> Node) -> Self {
        self.expand = expand;
        self
    }
}

#[derive(Debug)]
pub struct TextRule {
    /// What the text is, with an article: "a duration such as `60s`".
    pub what: &'static str,
    /// Says what is wrong with a text.
    pub check: fn(&str) -> Result<(), Problem>,
    /// The rule as a regular expression, for editors; empty where there is none.
    pub pattern: &'static str,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, quoting the text.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Problem {
    /// Something wrong, and nothing to say about what to do.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// Says what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names what was probably meant, if anything.
    pub fn suggest(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }
}

impl Shape {
    /// What it is, for "expected …".
    pub fn describe(&self) -> String {
        match self {
            Self::Text(rule) => rule.what.to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Integer { .. } => "a whole number".to_owned(),
            Self::Amount => "a number".to_owned(),
            Self::Choice([word]) => format!("`{word}`"),
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::List(_) => "a list".to_owned(),
            Self::Map { .. } | Self::Object(_) | Self::Parts | Self::Part(_) => "a map".to_owned(),
            Self::Forms(forms) => {
                forms.iter().map(Self::describe).collect::<Vec<_>>().join(", or ")
            }
            Self::Anything => "a value".to_owned(),
        }
    }

    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Anything | Self::Part(_), _)
            | (Self::List(_), Value::List(_))
            | (Self::Map { .. } | Self::Object(_) | Self::Parts, Value::Map(_))
            | (
                Self::Text(_) | Self::Bool | Self::Integer { .. } | Self::Amount | Self::Choice(_),
                Value::Scalar { .. },
            ) => true,
            (Self::Forms(forms), value) => forms.iter().any(|form| form.takes(value)),
            _ => false,
        }
    }
}

/// `` `a`, `b` `` of some names.
pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Checks one owner's part of the configuration.
pub struct Checker<'r> {
    /// Where findings go.
    pub report: &'r mut LoadReport,
    /// Whose part it is.
    pub owner: FindingOwner,
    /// What the part is called in messages: "agent `coder`".
    pub subject: String,
    path: Vec<String>,
}

impl<'r> Checker<'r> {
    /// A checker for the part called `subject`.
    pub fn new(
        report: &'r mut LoadReport,
        owner: FindingOwner,
        subject: impl Into<String>,
    ) -> Self {
        Self { report, owner, subject: subject.into(), path: Vec::new() }
    }

    /// Reports an error.
    pub fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        let at = self.report.diagnostics.len();
        self.report.push(Diagnostic::error(&self.owner, span, message));
        &mut self.report.diagnostics[at]
    }

    fn place(&self) -> String {
        if self.path.is_empty() {
            self.subject.clone()
        } else {
            format!("`{}` of {}", self.path.join("."), self.subject)
        }
    }

    /// Checks and tidies `node`; `false` when it is unusable and must be taken out.
    pub fn admit(&mut self, shape: &Shape, node: &mut Node) -> bool {
        if node.is_null() {
            return self.admit_null(shape, node);
        }
        match (shape, &mut node.value) {
            (Shape::Anything | Shape::Part(_), _) | (Shape::Parts, Value::Map(_)) => true,
            (Shape::Forms(forms), value) => match forms.iter().find(|form| form.takes(value)) {
                Some(form) => self.admit(form, node),
                None => self.mismatch(shape, node),
            },
            (Shape::List(item), Value::List(items)) => {
                items.retain_mut(|node| self.admit(item, node));
                true
            }
            (Shape::Map { keys, values }, Value::Map(entries)) => {
                self.admit_map(keys, values, entries);
                true
            }
            (Shape::Object(object), Value::Map(entries)) => {
                self.admit_object(object, entries, node.span);
                true
            }
            (_, value @ Value::Scalar { .. }) if shape.takes(value) => {
                match scalar_problem(shape, node) {
                    None => true,
                    Some(problem) => {
                        self.problem(node.span, problem);
                        false
                    }
                }
            }
            _ => self.mismatch(shape, node),
        }
    }

    /// A key without a value: empty for collections, which then grant nothing; an error for
    /// a scalar, because a guard that was begun and not written must not mean its default.
    fn admit_null(&mut self, shape: &Shape, node: &mut Node) -> bool {
        match shape {
            Shape::List(_) => node.value = Value::List(Vec::new()),
            Shape::Map { .. } | Shape::Parts => node.value = Value::Map(Vec::new()),
            Shape::Object(object) => {
                node.value = Value::Map(Vec::new());
                self.admit_object(object, &mut Vec::new(), node.span);
            }
            Shape::Anything | Shape::Part(_) => {}
            _ => {
                let place = self.place();
                let found = self.error(node.span, format!("{place} has no value"));
                found.help = Some(format!("give it {}, or remove the key", shape.describe()));
                return false;
            }
        }
        true
    }

    fn problem(&mut self, span: Span, problem: Problem) {
        let message = format!("{} in {}", problem.message, self.place());
        self.error(span, message).help = problem.help;
    }

    fn mismatch(&mut self, shape: &Shape, node: &Node) -> bool {
        let found = match &node.value {
            Value::Scalar { text, .. } => format!("`{}`", shorten(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        };
        let message = format!("expected {}, found {found} in {}", shape.describe(), self.place());
        self.error(node.span, message).label = Some(format!("expected {}", shape.describe()));
        false
    }

    fn admit_map(&mut self, keys: &TextRule, values: &Shape, entries: &mut Vec<MapEntry>) {
        self.report_duplicates(entries);
        entries.retain_mut(|entry| {
            if let Err(problem) = (keys.check)(&entry.key) {
                self.problem(entry.key_span, problem);
                return false;
            }
            self.within(entry.key.to_string(), |checker| checker.admit(values, &mut entry.value))
        });
    }

    fn admit_object(&mut self, object: &Object, entries: &mut Vec<MapEntry>, span: Span) {
        self.report_duplicates(entries);
        self.report_missing(object, entries, span);
        entries.retain_mut(|entry| {
            let known = object
                .fields
                .iter()
                .find(|field| field.name == &*entry.key || field.aliases.contains(&&*entry.key));
            let Some(field) = known else {
                self.unknown_key(object, entry);
                return false;
            };
            if field.name != &*entry.key {
                (field.from_alias)(&mut entry.value);
            }
            let path = entry.key.to_string();
            if !self.within(path, |checker| checker.admit(&field.shape, &mut entry.value)) {
                return false;
            }
            entry.key = field.name.into();
            let empty = Node::empty_map(entry.value.span);
            entry.value = (field.expand)(std::mem::replace(&mut entry.value, empty));
            true
        });
        self.report_twice_spelled(entries);
    }

    fn report_missing(&mut self, object: &Object, entries: &[MapEntry], span: Span) {
        let required = |field: &&Field| object.required.contains(&field.name);
        for field in object.fields.iter().filter(required) {
            let is_there = |entry: &MapEntry| {
                field.name == &*entry.key || field.aliases.contains(&&*entry.key)
            };
            if !entries.iter().any(is_there) {
                let place = self.place();
                self.error(span, format!("{place} needs `{}`", field.name));
            }
        }
    }

    fn unknown_key(&mut self, object: &Object, entry: &MapEntry) {
        let names: Vec<&str> = object.fields.iter().map(|field| field.name).collect();
        let every = object
            .fields
            .iter()
            .flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()));
        let suggestion = nearest(&entry.key, every);
        let place = self.place();
        let message = format!("unknown key `{}` in {place}", shorten(&entry.key));
        let found = self.error(entry.key_span, message);
        match suggestion {
            Some(name) => {
                found.label = Some(format!("did you mean `{name}`?"));
                found.help = Some(format!("did you mean `{name}`?"));
            }
            None => {
                // The names of all platforms are keys of a binding.
                const NAMES_MAX: usize = 26;
                let more = if names.len() > NAMES_MAX { ", …" } else { "" };
                let names = names.into_iter().take(NAMES_MAX).collect::<Vec<_>>().join(", ");
                found.help = Some(format!("known keys: {names}{more}"));
            }
        }
    }

    fn report_duplicates(&mut self, entries: &[MapEntry]) {
        let mut seen = HashMap::with_capacity(entries.len());
        for entry in entries {
            let Some(first) = seen.insert(&*entry.key, entry.key_span) else { continue };
            let place = self.place();
            let found =
                self.error(entry.key_span, format!("`{}` stands twice in {place}", entry.key));
            found.label = Some("second one".to_owned());
            found.related.push((first, "first one".to_owned()));
            found.help = Some("keep one of them".to_owned());
        }
    }

    /// After other spellings got their proper names, two entries may name one setting.
    fn report_twice_spelled(&mut self, entries: &[MapEntry]) {
        let text = |report: &LoadReport, span: Span| {
            let source = &report.sources.get(span.source).text;
            source.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned()
        };
        let mut seen: HashMap<&str, &MapEntry> = HashMap::with_capacity(entries.len());
        for entry in entries {
            let Some(first) = seen.insert(&entry.key, entry) else { continue };
            let (one, two) = (text(self.report, first.key_span), text(self.report, entry.key_span));
            if one != two {
                let place = self.place();
                let message = format!("`{one}` and `{two}` are the same setting in {place}");
                let found = self.error(entry.key_span, message);
                found.related.push((first.key_span, "first one".to_owned()));
                found.help = Some(format!("keep one of them; its name here is `{}`", entry.key));
            }
        }
    }

    fn within<T>(&mut self, part: String, check: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(part);
        let result = check(self);
        self.path.pop();
        result
    }
}

/// What is wrong with a scalar, and what to do.
fn scalar_problem(shape: &Shape, node: &Node) -> Option<Problem> {
    let text = node.text().unwrap_or_default();
    let expected =
        || Problem::new(format!("expected {}, found `{}`", shape.describe(), shorten(text)));
    match shape {
        Shape::Text(rule) => (rule.check)(text).err(),
        Shape::Bool if node.bool().is_none() => Some(match text.to_lowercase().as_str() {
            "yes" | "on" => expected().help("write `true`"),
            "no" | "off" => expected().help("write `false`"),
            "true" | "false" => expected().help("write it without quotes"),
            _ => expected(),
        }),
        Shape::Integer { min, max } => match node.integer() {
            Some(number) if (*min..=*max).contains(&number) => None,
            Some(number) => {
                let range = if min == max {
                    format!("only {min} is accepted")
                } else {
                    format!("{min} to {max} are accepted")
                };
                Some(Problem::new(format!("{number} is out of range")).help(range))
            }
            None => Some(expected()),
        },
        Shape::Amount => match node.number() {
            Some(number) if number >= 0.0 => None,
            Some(number) => Some(Problem::new(format!("{number} is negative"))),
            None => Some(expected()),
        },
        Shape::Choice(words) if !words.contains(&text) => {
            Some(expected().suggest(nearest(text, words.iter().copied())))
        }
        _ => None,
    }
}

/// The start of a text, so that a message stays readable whatever it quotes.
pub fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut shown: String = text.chars().take(CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.replace(|c: char| c.is_control(), "\u{fffd}")
}
