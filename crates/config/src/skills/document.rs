//! One `SKILL.md`: YAML between two lines of dashes, then Markdown. Pure.

use super::{DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX, is_name};
use crate::shape::{quoted, shorten};
use crate::source::Sources;
use crate::suggest::nearest;
use crate::yaml::{self, Node, Value};

/// Longest front matter, in bytes.
pub const FRONT_BYTES_MAX: usize = 16 * 1024;
/// Values in it, counting what aliases repeat: ten lines can stand for millions.
const FRONT_VALUES_MAX: usize = 4_000;
/// Longest of the lists in it.
const LIST_MAX: usize = 64;
/// What `requires` may have.
const NEEDS: [&str; 2] = ["programs", "packages"];

/// What a `SKILL.md` says about its skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The skill's name.
    pub name: Box<str>,
    /// What it is for, on one line.
    pub description: Box<str>,
    /// Its version, as its maker counts.
    pub version: Option<Box<str>>,
    /// Its licence.
    pub license: Option<Box<str>>,
    /// Who made it.
    pub author: Option<Box<str>>,
    /// What it needs, in its maker's words.
    pub compatibility: Option<Box<str>>,
    /// What it is about.
    pub tags: Vec<Box<str>>,
    /// What it is listed under.
    pub category: Option<Box<str>>,
    /// The operating systems it works on; empty for all.
    pub platforms: Vec<Box<str>>,
    /// The secrets its programs need.
    pub variables: Vec<Variable>,
    /// What has to be on the machine for its programs.
    pub requires: Requires,
    /// What `requires` says that means nothing here, and what may have been meant.
    pub unread: Vec<Box<str>>,
    /// The tools that are enough for it; `None` when it does not say.
    pub allowed_tools: Option<Vec<Box<str>>>,
    /// The byte where the Markdown begins.
    pub body_at: usize,
}

/// A secret that a skill's programs need, as a variable of their environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The variable, and the secret.
    pub name: Box<str>,
    /// What to ask an operator for.
    pub prompt: Option<Box<str>>,
    /// Where to get it.
    pub help: Option<Box<str>>,
}

/// What has to be on the machine for a skill's programs, as its maker says.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requires {
    /// Programs, by the names under which they are started.
    pub programs: Vec<Box<str>>,
    /// Packages of a language.
    pub packages: Vec<Package>,
}

impl Requires {
    /// Whether nothing has to be there.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.packages.is_empty()
    }
}

/// A package of a language.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub kind: PackageKind,
    pub name: Box<str>,
}

/// Whose package it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PackageKind {
    Python,
    Node,
}

/// Why a `SKILL.md` makes no skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFault {
    /// The line, from 1.
    pub line: u32,
    /// The byte where that line begins.
    pub at: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads a `SKILL.md`.
pub fn parse(text: &str) -> Result<Document, SkillFault> {
    let (front, body_at) = front_matter(text)?;
    let line_of = |line: u32| {
        // The front matter begins on the second line.
        let line = line.saturating_add(1);
        let before = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
        let at = text.split_inclusive('\n').take(before).map(str::len).sum();
        (line, at)
    };
    let fault = |line: u32, message: String| {
        let (line, at) = line_of(line);
        SkillFault { line, at, message }
    };

    let source = Sources::default().add("SKILL.md", front);
    let node = yaml::parse_within(source, front, FRONT_VALUES_MAX)
        .map_err(|error| fault(error.span.line, format!("its front matter: {}", error.message)))?;
    if !matches!(node.value, Value::Map(_)) {
        return Err(fault(1, "its front matter is not a map of keys".to_owned()));
    }
    if let Some(twice) = repeated(&node) {
        return Err(fault(twice.1, format!("`{}` stands twice", twice.0)));
    }
    let fields = Fields { node: &node, fault: &fault };
    let name = fields.required("name")?;
    if !is_name(&name) {
        let message = format!(
            "`name` must be 1 to {NAME_CHARS_MAX} letters, digits, `-`, `_` or `.`, and begin with a letter or digit"
        );
        return Err(fields.at("name", message));
    }
    let description = one_line(&fields.required("description")?);
    let length = description.chars().count();
    if length == 0 || length > DESCRIPTION_CHARS_MAX {
        let message = format!(
            "`description` must have 1 to {DESCRIPTION_CHARS_MAX} characters, and has {length}"
        );
        return Err(fields.at("description", message));
    }
    Ok(Document {
        name,
        description: description.into(),
        version: fields.text("version")?,
        license: fields.text("license")?,
        author: fields.text("author")?,
        compatibility: fields.text("compatibility")?,
        tags: fields.list("tags")?,
        category: fields.text("category")?,
        platforms: fields.list("platforms")?,
        variables: fields.variables()?,
        requires: fields.requires()?,
        unread: fields.unread(),
        allowed_tools: fields.allowed_tools()?,
        body_at,
    })
}

/// The text between the dashes, and where the rest begins.
fn front_matter(text: &str) -> Result<(&str, usize), SkillFault> {
    let fault = |message: &str| SkillFault { line: 1, at: 0, message: message.to_owned() };
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(fault("begins without front matter: its first line must be `---`"));
    }
    let mut end = first.len();
    for line in lines {
        if end - first.len() > FRONT_BYTES_MAX {
            return Err(fault("has a front matter that is too long; keep it below 16 KB"));
        }
        if line.trim_end() == "---" {
            let front = text.get(first.len()..end).unwrap_or_default();
            return Ok((front, end + line.len()));
        }
        end += line.len();
    }
    Err(fault("has no end of its front matter: close it with a line `---`"))
}

fn repeated(node: &Node) -> Option<(&str, u32)> {
    let entries = node.entries();
    let again = entries
        .iter()
        .enumerate()
        .find(|(at, entry)| entries.iter().take(*at).any(|earlier| earlier.key == entry.key));
    again.map(|(_, entry)| (&*entry.key, entry.key_span.line))
}

/// A text without line breaks and doubled spaces.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Fields<'f, F: Fn(u32, String) -> SkillFault> {
    node: &'f Node,
    fault: &'f F,
}

impl<F: Fn(u32, String) -> SkillFault> Fields<'_, F> {
    fn at(&self, key: &str, message: String) -> SkillFault {
        (self.fault)(self.node.get(key).map_or(1, |node| node.span.line), message)
    }

    fn text(&self, key: &str) -> Result<Option<Box<str>>, SkillFault> {
        match self.node.get(key) {
            None => Ok(None),
            Some(node) if node.is_null() => Ok(None),
            Some(node) => match node.text() {
                Some(text) => Ok(Some(text.trim().into())),
                None => Err(self.at(key, format!("`{key}` must be text"))),
            },
        }
    }

    fn required(&self, key: &str) -> Result<Box<str>, SkillFault> {
        let text = self.text(key)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| self.at(key, format!("`{key}` is missing from its front matter")))
    }

    /// A list of texts, or one text with commas.
    fn list(&self, key: &str) -> Result<Vec<Box<str>>, SkillFault> {
        self.list_of(key, self.node.get(key))
    }

    fn list_of(&self, key: &str, node: Option<&Node>) -> Result<Vec<Box<str>>, SkillFault> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Ok(Vec::new());
        };
        let texts: Option<Vec<Box<str>>> = match (&node.value, node.text()) {
            (Value::List(items), _) => items.iter().map(|it| Some(it.text()?.into())).collect(),
            (_, Some(text)) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Some(parts.map(Into::into).collect())
            }
            _ => None,
        };
        let few = texts.filter(|texts| texts.len() <= LIST_MAX);
        few.ok_or_else(|| {
            let message = format!("`{key}` must be a list of at most 64 texts");
            (self.fault)(node.span.line, message)
        })
    }

    /// `requires`: programs and packages by kind, or programs alone as a list.
    fn requires(&self) -> Result<Requires, SkillFault> {
        let key = "requires";
        let node = self.node.get(key).filter(|node| !node.is_null());
        let Some(node) = node else { return Ok(Requires::default()) };
        let (programs, packages) = match &node.value {
            Value::Map(_) => (
                self.list_of("requires.programs", node.get("programs"))?,
                self.list_of("requires.packages", node.get("packages"))?,
            ),
            _ => (self.list(key)?, Vec::new()),
        };
        let wrong = |what: &str, named: &str| {
            let named: String = named.chars().take(100).collect();
            (self.fault)(node.span.line, format!("`{key}`: `{named}` is no name of a {what}"))
        };
        if let Some(odd) = programs.iter().find(|name| !is_program(name)) {
            return Err(wrong("program", odd));
        }
        let packages: Result<Vec<Package>, SkillFault> = packages
            .iter()
            .map(|text| package(text).ok_or_else(|| wrong("package", text)))
            .collect();
        Ok(Requires { programs, packages: packages? })
    }

    /// The keys of `requires` that are none: a slip there would take away a need without a word.
    fn unread(&self) -> Vec<Box<str>> {
        let entries = self.node.get("requires").map(Node::entries).unwrap_or_default();
        let unknown = entries.iter().filter(|entry| !NEEDS.contains(&&*entry.key));
        let told = unknown.take(LIST_MAX).map(|entry| {
            let meant = match nearest(&entry.key, NEEDS) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("it has {}", quoted(&NEEDS)),
            };
            format!("`{}` of `requires` is not read; {meant}", shorten(&entry.key)).into()
        });
        told.collect()
    }

    fn allowed_tools(&self) -> Result<Option<Vec<Box<str>>>, SkillFault> {
        let key = "allowed-tools";
        let Some(node) = self.node.get(key) else { return Ok(None) };
        match (&node.value, node.text()) {
            (Value::List(_), _) => self.list(key).map(Some),
            (_, Some(text)) => Ok(Some(words_outside_parentheses(text))),
            _ if node.is_null() => Ok(Some(Vec::new())),
            _ => Err(self.at(key, format!("`{key}` must be a list of tools"))),
        }
    }

    fn variables(&self) -> Result<Vec<Variable>, SkillFault> {
        let key = "required_environment_variables";
        let Some(node) = self.node.get(key).filter(|node| !node.is_null()) else {
            return Ok(Vec::new());
        };
        if !matches!(&node.value, Value::List(items) if items.len() <= LIST_MAX) {
            return Err(self.at(key, format!("`{key}` must be a list of at most 64 entries")));
        }
        let mut variables: Vec<Variable> = Vec::new();
        for item in node.items() {
            let text = |key: &str| item.get(key).and_then(Node::text).map(Into::into);
            let name: Option<Box<str>> = item.text().map(Into::into).or_else(|| text("name"));
            let Some(name) = name.filter(|name| is_variable(name)) else {
                let message = format!(
                    "`{key}`: each entry needs a `name` of letters, digits and `_`, and none that programs are steered by (PATH, HOME, LD_…)"
                );
                return Err((self.fault)(item.span.line, message));
            };
            if variables.iter().all(|known| known.name != name) {
                variables.push(Variable { name, prompt: text("prompt"), help: text("help") });
            }
        }
        Ok(variables)
    }
}

/// Whether a text can be a variable that a skill asks for.
fn is_variable(name: &str) -> bool {
    let body = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let steers = ["PATH", "HOME", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "PYTHONPATH"];
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(body)
        && !name.starts_with("LD_")
        && !steers.contains(&name)
}

/// Whether a text can be the name of a program: it is looked for where programs are.
fn is_program(name: &str) -> bool {
    let body = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().all(body)
}

/// `pypdf`, `python:pypdf`, `pip:pypdf>=3`, `npm:docx` or `npm:@scope/name@1`. Which version it
/// is has to be seen to by whoever installs it.
fn package(text: &str) -> Option<Package> {
    let (kind, name) = match text.split_once(':') {
        None => (PackageKind::Python, text),
        Some(("python" | "pip" | "pypi", name)) => (PackageKind::Python, name),
        Some(("npm" | "node", name)) => (PackageKind::Node, name),
        Some(_) => return None,
    };
    let name = name.trim();
    let (scope, plain) = match name.strip_prefix('@').and_then(|it| it.split_once('/')) {
        Some((scope, plain)) if kind == PackageKind::Node => (Some(scope), plain),
        _ => (None, name),
    };
    let end = plain.find(['=', '<', '>', '!', '~', '[', ';', '@', ' ']).unwrap_or(plain.len());
    let plain = plain.get(..end).unwrap_or_default();
    let name = match scope {
        Some(scope) if is_program(scope) => format!("@{scope}/{plain}"),
        Some(_) => return None,
        None => plain.to_owned(),
    };
    is_program(plain).then(|| Package { kind, name: name.into() })
}

/// `Read, Bash(git add:*) Write` as three.
fn words_outside_parentheses(text: &str) -> Vec<Box<str>> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(Into::into).collect()
}
