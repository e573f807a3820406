//! A text of theirs with the places of what stands in it: YAML, or JSON as people write it.

use crate::json5;
use crate::place::Place;
use insula_config::source::{Sources, Span};
use insula_config::yaml::{self, MapEntry, Node, Value as Written};
use serde_json::{Map, Number, Value};

/// Most values of one text.
const NODES_MAX: usize = 400_000;

/// Deepest chain of texts that take in others.
const INCLUDE_DEPTH_MAX: usize = 10;

/// What gives the text of a name.
type Load<'l> = &'l dyn Fn(&str) -> Result<String, String>;

/// A text that was read, with those that it takes in.
pub(crate) struct Doc {
    sources: Sources,
    pub(crate) root: Node,
}

impl Doc {
    /// Reads YAML.
    pub(crate) fn yaml(file: &str, text: String) -> Result<Self, (Place, String)> {
        let mut sources = Sources::default();
        let id = sources.add(file, text.as_str());
        let root = yaml::parse_within(id, &text, NODES_MAX).map_err(|error| {
            (Place { file: file.to_owned(), line: Some(error.span.line as usize) }, error.message)
        })?;
        Ok(Self { sources, root })
    }

    /// Reads JSON with what people add to it: comments, commas at ends, keys without quotes.
    pub(crate) fn json5(file: &str, text: String) -> Result<Self, (Place, String)> {
        Self::json5_with(file, text, &|_| Err("nothing can be taken in here".to_owned()))
    }

    /// The same, where `$include` takes in other texts by their names.
    pub(crate) fn json5_with(
        file: &str,
        text: String,
        load: Load<'_>,
    ) -> Result<Self, (Place, String)> {
        let mut sources = Sources::default();
        let root = taken_in(&mut sources, (file, text), load, 0)?;
        Ok(Self { sources, root })
    }

    /// Where something of it stands.
    pub(crate) fn place(&self, span: Span) -> Place {
        let file = self.sources.get(span.source).name.to_string();
        Place { file, line: Some(span.line as usize) }
    }
}

fn taken_in(
    sources: &mut Sources,
    (file, text): (&str, String),
    load: Load<'_>,
    depth: usize,
) -> Result<Node, (Place, String)> {
    let id = sources.add(file, text.as_str());
    let root = json5::parse(id, &text)
        .map_err(|(line, why)| (Place { file: file.to_owned(), line: Some(line as usize) }, why))?;
    included(sources, root, (file, load), depth)
}

/// Puts what is taken in below what stands beside it.
fn included(
    sources: &mut Sources,
    node: Node,
    (file, load): (&str, Load<'_>),
    depth: usize,
) -> Result<Node, (Place, String)> {
    let Node { span, layer, value } = node;
    let value = match value {
        Written::Scalar { .. } => value,
        Written::List(items) => {
            let items = items.into_iter().map(|it| included(sources, it, (file, load), depth));
            Written::List(items.collect::<Result<_, _>>()?)
        }
        Written::Map(entries) => {
            let mut whole: Vec<MapEntry> = Vec::new();
            let (names, rest): (Vec<MapEntry>, Vec<MapEntry>) =
                entries.into_iter().partition(|it| &*it.key == "$include");
            for name in names.iter().flat_map(|it| texts(&it.value)) {
                let at = Place { file: file.to_owned(), line: Some(span.line as usize) };
                if depth >= INCLUDE_DEPTH_MAX {
                    return Err((at, "texts take in one another without end".to_owned()));
                }
                let text = load(&name).map_err(|why| (at, format!("`{name}`: {why}")))?;
                let inner = taken_in(sources, (&name, text), load, depth + 1)?;
                if let Written::Map(entries) = inner.value {
                    entries.into_iter().for_each(|entry| merge(&mut whole, entry));
                }
            }
            for mut entry in rest {
                entry.value = included(sources, entry.value, (file, load), depth)?;
                merge(&mut whole, entry);
            }
            Written::Map(whole)
        }
    };
    Ok(Node { span, layer, value })
}

/// One more entry: in place of another of its name, or, where both are maps, together with it.
fn merge(whole: &mut Vec<MapEntry>, entry: MapEntry) {
    let Some(old) = whole.iter_mut().find(|it| it.key == entry.key) else {
        return whole.push(entry);
    };
    match (&mut old.value.value, entry.value.value) {
        (Written::Map(old), Written::Map(new)) => new.into_iter().for_each(|it| merge(old, it)),
        (_, value) => {
            old.value = Node { span: entry.value.span, layer: entry.value.layer, value };
            old.key_span = entry.key_span;
        }
    }
}

/// A value as it was meant: what stands without quotes may be a number or a truth.
pub(crate) fn json(node: &Node) -> Value {
    match &node.value {
        Written::Map(entries) => {
            let entries = entries.iter().map(|it| (it.key.to_string(), json(&it.value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Written::List(items) => items.iter().map(json).collect(),
        Written::Scalar { .. } if node.is_null() => Value::Null,
        Written::Scalar { text, .. } => {
            let whole = node.integer().map(|it| Value::Number(it.into()));
            let truth = node.bool().map(Value::Bool);
            let number = || node.number().and_then(Number::from_f64).map(Value::Number);
            truth.or(whole).or_else(number).unwrap_or_else(|| Value::String(text.to_string()))
        }
    }
}

/// The texts of a list, or of a text that has them between commas, or that is such a list in
/// JSON: people's tools write each.
pub(crate) fn texts(node: &Node) -> Vec<String> {
    let clean = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let all: Vec<String> = match &node.value {
        Written::List(items) => items.iter().filter_map(Node::text).map(clean).collect(),
        _ => match node.text() {
            Some(text) => {
                let text = text.trim();
                let inner = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
                inner.unwrap_or(text).split(',').map(clean).collect()
            }
            None => Vec::new(),
        },
    };
    all.into_iter().filter(|text| !text.is_empty()).collect()
}
