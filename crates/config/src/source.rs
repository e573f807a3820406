//! The texts a configuration was read from, and places in them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A place in one source: where it starts, for people, and which bytes it covers, for
/// showing them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub source: SourceId,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// First byte.
    pub start: u32,
    /// First byte after it.
    pub end: u32,
}

/// Names one of the [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u32);

/// One file as it was read.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path below the home, with `/` between parts.
    pub name: Arc<str>,
    pub text: Arc<str>,
}

/// All files of one load.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Adds a file and names it.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceId {
        let id = SourceId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { name: name.into(), text: text.into() });
        id
    }

    /// The file of that name.
    pub fn get(&self, id: SourceId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The same files with the text at some places blotted out, byte for byte, so that every
    /// place in them stays where it is.
    pub fn without(&self, places: impl Iterator<Item = Span>) -> Self {
        let mut blots: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
        places.for_each(|span| blots.entry(span.source.0).or_default().push(span));
        let mut blotted = self.clone();
        for (source, spans) in blots {
            let source = &mut blotted.files[source as usize];
            let mut text = source.text.to_string();
            for span in spans {
                let start = text.floor_char_boundary(span.start as usize);
                let end = text.ceil_char_boundary(span.end as usize);
                if text.get(start..end).is_some() {
                    text.replace_range(start..end, &"*".repeat(end - start));
                }
            }
            source.text = text.into();
        }
        blotted
    }

    /// The place that stands for a whole file.
    pub fn whole(id: SourceId) -> Span {
        Span { source: id, line: 1, column: 1, start: 0, end: 0 }
    }

    /// `file:line:column`.
    pub fn describe(&self, span: Span) -> impl fmt::Display + use<> {
        format!("{}:{}:{}", self.get(span.source).name, span.line, span.column)
    }

    /// The same for whoever may know about one agent only. In a file of all agents lines move
    /// with what was written about others, so it is named without one.
    pub fn describe_in_general(&self, span: Span) -> String {
        let file = &self.get(span.source).name;
        let is_of_one = file.starts_with("agents/");
        if is_of_one { self.describe(span).to_string() } else { file.to_string() }
    }
}
