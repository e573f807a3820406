//! The reference page of every key, out of the same tables the check uses.

use crate::enforcement::UNENFORCED;
use crate::schema::{AGENT, BINDING, MATCH, MOVED, TOP};
use crate::shape::{Field, Object, Shape, quoted};
use insula_domain::platform::PLATFORMS;
use std::collections::HashMap;
use std::fmt::Write as _;

const HEAD: &str = "\
# Configuration

Generated from the tables that check a configuration; do not edit. `insula config schema`
prints the same as a JSON schema.

`config.yaml` in the home holds the daemon, defaults, agents and bindings. A folder
`agents/<id>/` may hold an `agent.yaml` with the keys of that agent; a key set in both files
is an error. An agent's own setting comes before `defaults`, then the top level, then what is
built in. What any of them denies stays denied, and the hooks of all of them run.

`${secret:NAME}` stands for a secret: of the agent it is written under, or of the daemon in
the shared part. `${env:NAME}` is read once at start and works in the shared part only. Keys
at the top that start with `x-` are left alone, as room for anchors and notes.
";

/// The page, in Markdown.
pub fn reference() -> String {
    let mut page = Page { out: HEAD.to_owned(), seen: HashMap::new() };
    page.section("Top level", "", &TOP);
    page.section("An agent", "agents.<id>", &AGENT);
    page.section("A binding", "bindings[]", &BINDING);
    page.other_spellings();
    page.not_yet();
    page.out
}

struct Page {
    out: String,
    /// Where each object was described first.
    seen: HashMap<*const Object, String>,
}

impl Page {
    fn section(&mut self, title: &str, path: &str, object: &'static Object) {
        let _ = writeln!(self.out, "\n## {title}\n");
        self.seen.insert(object, path.to_owned());
        self.object(path, object);
    }

    /// The keys of one object, then the objects inside.
    fn object(&mut self, path: &str, object: &'static Object) {
        self.out.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
        let is_platform = |field: &&Field| path == "bindings[]" && PLATFORMS.contains(&field.name);
        for field in object.fields.iter().filter(|field| !is_platform(field)) {
            let name = format!("`{}`", field.name);
            let must = if object.required.contains(&field.name) { " (required)" } else { "" };
            let value = cell(&describe(&field.shape));
            let (default, doc) = (cell(field.default), cell(field.doc));
            let _ = writeln!(self.out, "| {name}{must} | {value} | {default} | {doc} |");
        }
        if path == "bindings[]" {
            self.out.push_str(
                "| a platform's name | a chat, `\"*\"`, or a map of the fields above |  | The same \
                 as `platform` and `chat`, shorter. |\n",
            );
            let _ = writeln!(self.out, "\nPlatforms: {}.", quoted(PLATFORMS));
        }
        for field in object.fields.iter().filter(|field| !is_platform(field)) {
            let Some((inner, suffix)) = inner_object(&field.shape) else { continue };
            let dot = if path.is_empty() { "" } else { "." };
            let inner_path = format!("{path}{dot}{}{suffix}", field.name);
            match self.seen.get(&std::ptr::from_ref(inner)) {
                Some(_) => {}
                None if std::ptr::eq(inner, &raw const AGENT) => {}
                None => {
                    self.seen.insert(inner, inner_path.clone());
                    let _ = writeln!(self.out, "\n### `{inner_path}`\n");
                    self.object(&inner_path, inner);
                }
            }
        }
    }

    fn other_spellings(&mut self) {
        self.out.push_str(
            "\n## Other spellings\n\nKeys of other runtimes, read as ours and shown as ours by \
             `insula check --resolved`.\n\n| there | here |\n| --- | --- |\n",
        );
        let objects = [
            ("", &TOP),
            ("agents.<id>.", &AGENT),
            ("bindings[].", &BINDING),
            ("bindings[].match.", &MATCH),
        ];
        // What holds in every form of a binding stands once.
        let everywhere: Vec<&str> =
            BINDING.fields.iter().flat_map(|field| field.aliases.iter().copied()).collect();
        for (path, object) in objects {
            for field in object.fields {
                let is_new =
                    |alias: &&&str| path != "bindings[].match." || !everywhere.contains(*alias);
                for alias in field.aliases.iter().filter(is_new) {
                    let _ = writeln!(self.out, "| `{path}{alias}` | `{path}{}` |", field.name);
                }
            }
        }
        for moved in MOVED {
            let (outer, inner) = moved.to;
            let from = moved.name;
            let _ = writeln!(self.out, "| `agents.<id>.{from}` | `agents.<id>.{outer}.{inner}` |");
        }
    }

    fn not_yet(&mut self) {
        self.out.push_str(
            "\n## Not in this version\n\nAn agent with one of these does not start, because a \
             guard that nothing enforces is worse than none:\n\n",
        );
        for rule in UNENFORCED {
            let _ = writeln!(self.out, "- `{}`{}", rule.path, rule.when);
        }
    }
}

/// What a value may be, with what lists and maps hold.
fn describe(shape: &Shape) -> String {
    match shape {
        Shape::List(item) => match **item {
            Shape::Object(_) => "a list of maps".to_owned(),
            Shape::Anything => "a list".to_owned(),
            _ => format!("a list, each {}", describe(item)),
        },
        Shape::Integer { min, max } if min == max => min.to_string(),
        Shape::Integer { min, max } if *max < 1_000_000_000 => format!("{min} to {max}"),
        Shape::Integer { min, .. } => format!("a whole number, at least {min}"),
        Shape::Forms(forms) => forms.iter().map(describe).collect::<Vec<_>>().join("; or "),
        _ => shape.describe(),
    }
}

/// The object inside a shape, and what stands between its key and its own keys.
fn inner_object(shape: &Shape) -> Option<(&'static Object, &'static str)> {
    match shape {
        Shape::Object(object) | Shape::Part(object) => Some((object, "")),
        Shape::List(item) => inner_object(item).map(|(object, _)| (object, "[]")),
        Shape::Map { values, .. } => inner_object(values).map(|(object, rest)| match rest {
            "[]" => (object, ".<name>[]"),
            _ => (object, ".<name>"),
        }),
        Shape::Forms(forms) => forms.iter().find_map(inner_object),
        _ => None,
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
