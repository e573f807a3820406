//! YAML text to a tree in which every value knows its place.
//!
//! The tree keeps what was written: scalars stay text until somebody asks for a number,
//! because `-100123` and `"-100123"` name the same chat, and duplicate keys stay in it, so
//! that whoever owns the map can report them.

use crate::source::{SourceId, Span};
use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError};
use std::collections::{HashMap, HashSet};

/// Deepest nesting of a configuration. The deepest key we define is 7 levels down.
const DEPTH_MAX: usize = 64;

/// Most values in one file, counting what aliases repeat: enough for 100,000 agents, and
/// an end to texts that double themselves.
const NODES_MAX: usize = 4_000_000;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub span: Span,
    /// Which layer of the configuration it came from.
    pub layer: Layer,
    pub value: Value,
}

/// Which layer of the configuration a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The part it belongs to itself.
    Own,
    /// `defaults`.
    Defaults,
    /// A top-level key that agents inherit.
    TopLevel,
    /// A policy that the part names.
    Policy,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A scalar as written. `plain` scalars may be numbers, booleans or null.
    Scalar {
        text: Box<str>,
        /// Whether it stood without quotes.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order it was written.
    Map(Vec<MapEntry>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    pub key: Box<str>,
    /// Where the key stands.
    pub key_span: Span,
    pub value: Node,
}

impl Node {
    /// The text of a scalar that is not null.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Whether this is YAML's null.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true }
            if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// A boolean written without quotes.
    pub fn bool(&self) -> Option<bool> {
        match &self.value {
            Value::Scalar { text, plain: true } => match &**text {
                "true" | "True" | "TRUE" => Some(true),
                "false" | "False" | "FALSE" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A whole number written without quotes; `_` may group digits.
    pub fn integer(&self) -> Option<i64> {
        match &self.value {
            Value::Scalar { text, plain: true } => text.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    /// A finite number written without quotes.
    pub fn number(&self) -> Option<f64> {
        match &self.value {
            Value::Scalar { text, plain: true } => {
                text.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
            }
            _ => None,
        }
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[MapEntry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a key, the first one where it stands twice.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| &*entry.key == key).map(|entry| &entry.value)
    }

    /// The same value marked as coming from `layer`, with all it holds.
    pub fn in_layer(mut self, layer: Layer) -> Self {
        self.set_layer(layer);
        self
    }

    fn set_layer(&mut self, layer: Layer) {
        self.layer = layer;
        match &mut self.value {
            Value::Scalar { .. } => {}
            Value::List(items) => items.iter_mut().for_each(|item| item.set_layer(layer)),
            Value::Map(entries) => {
                entries.iter_mut().for_each(|entry| entry.value.set_layer(layer));
            }
        }
    }

    /// A map in place of this value, with this value under `key`: how shorthands expand.
    pub fn under(self, key: &str) -> Self {
        let (span, layer) = (self.span, self.layer);
        let entry = MapEntry { key: key.into(), key_span: span, value: self };
        Self { span, layer, value: Value::Map(vec![entry]) }
    }

    /// An empty map at `span`.
    pub fn empty_map(span: Span) -> Self {
        Self { span, layer: Layer::Own, value: Value::Map(Vec::new()) }
    }
}

/// Why a text is not YAML, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where it went wrong.
    pub span: Span,
    /// What went wrong.
    pub message: String,
    /// What to look for.
    pub help: Option<&'static str>,
}

/// Parses one document. An empty text is an empty map.
pub fn parse(source: SourceId, text: &str) -> Result<Node, SyntaxError> {
    parse_within(source, text, NODES_MAX)
}

/// The same, where fewer values are plenty.
pub fn parse_within(source: SourceId, text: &str, nodes_max: usize) -> Result<Node, SyntaxError> {
    Reader {
        source,
        text,
        parser: Parser::new_from_str_with_options(text, Options::default()),
        anchors: HashMap::new(),
        count: 0,
        nodes_max,
    }
    .document()
}

struct Reader<'t> {
    source: SourceId,
    text: &'t str,
    parser: Parser<'t, granit_parser::StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    count: usize,
    nodes_max: usize,
}

impl<'t> Reader<'t> {
    fn document(mut self) -> Result<Node, SyntaxError> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    return Err(
                        self.error(span, "a second document starts here; one file holds one")
                    );
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        let whole = Span { source: self.source, line: 1, column: 1, start: 0, end: 0 };
        Ok(match root {
            Some(node) if !node.is_null() => node,
            _ => Node::empty_map(whole),
        })
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), SyntaxError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.span(&span.start, &span.end))),
            Some(Err(error)) => Err(self.scan_error(&error)),
            None => Err(self.error(
                Span { source: self.source, line: 1, column: 1, start: 0, end: 0 },
                "the text ends in the middle of a value",
            )),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, SyntaxError> {
        if depth > DEPTH_MAX {
            return Err(self.too_deep(span));
        }
        self.count += 1;
        self.check_count(span)?;
        let (anchor, value, end) = match event {
            Event::Alias(id) => return self.alias(id, span, depth),
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                (anchor, Value::Scalar { text: text.into(), plain }, span.end)
            }
            Event::SequenceStart(_, anchor, _) => {
                let (items, end) = self.list(depth)?;
                (anchor, Value::List(items), end)
            }
            Event::MappingStart(_, anchor, _) => {
                let (entries, end) = self.map(depth)?;
                (anchor, Value::Map(entries), end)
            }
            _ => return Err(self.error(span, "expected a value here")),
        };
        let node = Node { span: Span { end, ..span }, layer: Layer::Own, value };
        if anchor != 0 {
            self.count += measure(&node).0;
            self.check_count(span)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<(Vec<Node>, u32), SyntaxError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => return Ok((items, span.end)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<(Vec<MapEntry>, u32), SyntaxError> {
        let mut entries = Vec::new();
        let mut merged = Vec::new();
        let end = loop {
            let (event, key_span) = match self.next()? {
                (Event::MappingEnd, span) => break span.end,
                next => next,
            };
            let key = match self.node(event, key_span, depth + 1)?.value {
                Value::Scalar { text, .. } => text,
                _ => return Err(self.error(key_span, "a key must be plain text")),
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if &*key == "<<" {
                merged.push(value);
            } else {
                entries.push(MapEntry { key, key_span, value });
            }
        };
        self.merge(&mut entries, merged)?;
        Ok((entries, end))
    }

    /// `<<: *anchor`: the anchor's keys, where the map has none of its own, wherever in it
    /// they stand.
    fn merge(&self, entries: &mut Vec<MapEntry>, merged: Vec<Node>) -> Result<(), SyntaxError> {
        if merged.is_empty() {
            return Ok(());
        }
        let mut own: HashSet<Box<str>> = entries.iter().map(|entry| entry.key.clone()).collect();
        let sources = merged.into_iter().flat_map(|node| match node.value {
            Value::List(items) => items,
            _ => vec![node],
        });
        for source in sources {
            let Value::Map(merged) = source.value else {
                return Err(self.error(source.span, "`<<` takes a map to merge in"));
            };
            for entry in merged {
                if own.insert(entry.key.clone()) {
                    entries.push(entry);
                }
            }
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span, depth: usize) -> Result<Node, SyntaxError> {
        let Some(node) = self.anchors.get(&id) else {
            return Err(self.error(span, "an alias stands inside the value it names"));
        };
        let (count, below) = measure(node);
        self.count += count;
        self.check_count(span)?;
        if depth + below > DEPTH_MAX {
            return Err(self.too_deep(span));
        }
        Ok(Node { span, ..self.anchors[&id].clone() })
    }

    fn too_deep(&self, span: Span) -> SyntaxError {
        self.error(span, format!("nested more than {DEPTH_MAX} levels deep"))
    }

    fn check_count(&self, span: Span) -> Result<(), SyntaxError> {
        let most = self.nodes_max;
        if self.count > most {
            return Err(self.error(span, format!("more than {most} values in one file")));
        }
        Ok(())
    }

    fn span(&self, start: &granit_parser::Marker, end: &granit_parser::Marker) -> Span {
        let byte = |marker: &granit_parser::Marker| {
            let offset = marker.byte_offset().unwrap_or_else(|| {
                self.text.char_indices().nth(marker.index()).map_or(self.text.len(), |(at, _)| at)
            });
            u32::try_from(offset).unwrap_or(u32::MAX)
        };
        Span {
            source: self.source,
            line: u32::try_from(start.line()).unwrap_or(u32::MAX),
            column: u32::try_from(start.col() + 1).unwrap_or(u32::MAX),
            start: byte(start),
            end: byte(end),
        }
    }

    fn error(&self, span: Span, message: impl Into<String>) -> SyntaxError {
        SyntaxError { span, message: message.into(), help: None }
    }

    fn scan_error(&self, error: &ScanError) -> SyntaxError {
        let marker = error.marker();
        let found =
            self.error(self.span(marker, marker), format!("not valid YAML: {}", error.info()));
        SyntaxError { help: advice(&error.info()), ..found }
    }
}

/// What usually causes an error of the parser, whose own words are about its grammar.
fn advice(info: &str) -> Option<&'static str> {
    const ADVICE: &[(&str, &str)] = &[
        ("tab", "indent with spaces"),
        ("unknown anchor", "an `&anchor` of that name has to stand before it"),
        ("unclosed bracket", "it is opened here"),
        ("unclosed quote", "it is opened here"),
        (
            "mapping values",
            "a text that contains `: ` needs quotes; otherwise check the indentation",
        ),
        ("block mapping", "check the indentation of this line and the one above"),
        ("block collection", "check the indentation of this line and the one above"),
        ("simple key", "a key needs a `:` after it; check the lines above too"),
        ("flow mapping", "a `,` or `}` is missing here or before"),
        ("flow sequence", "a `,` or `]` is missing here or before"),
    ];
    ADVICE.iter().find(|(word, _)| info.contains(word)).map(|(_, advice)| *advice)
}

/// How many values a value is, itself included, and how deep it goes below itself.
fn measure(node: &Node) -> (usize, usize) {
    let add = |(count, depth): (usize, usize), node: &Node| {
        let (more, below) = measure(node);
        (count + more, depth.max(below + 1))
    };
    match &node.value {
        Value::Scalar { .. } => (1, 0),
        Value::List(items) => items.iter().fold((1, 0), add),
        Value::Map(entries) => entries.iter().map(|entry| &entry.value).fold((1, 0), add),
    }
}
