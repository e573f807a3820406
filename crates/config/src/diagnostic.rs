//! What is wrong with a configuration, where, and what to do about it.
//!
//! Every finding belongs to somebody: to one agent, which then does not start, or to the
//! shared part, which then is not applied at all.

use crate::sensitive::{is_sensitive, only_refers};
use crate::source::{Sources, Span};
use crate::yaml::{Node, Value};
use std::collections::HashSet;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Its owner can't be used.
    Error,
    /// Something named is missing or will have no effect.
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FindingOwner {
    /// The part every agent depends on.
    Shared,
    /// Every agent, none of which can be used; the rest of the shared part can.
    EveryAgent,
    /// One agent, by the name it was given, which need not be a valid id.
    Agent(Box<str>),
    /// One rule, which refuses while everything else serves.
    Binding,
    /// One connection to a platform, as `platform.name`, which then does not connect.
    Account(Box<str>),
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    pub owner: FindingOwner,
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to say at the place itself.
    pub label: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// Other places that have to do with it.
    pub related: Vec<(Span, String)>,
    /// Whether the text at the place may be shown.
    pub shows: Shows,
    /// The secret of its owner that this holds for only while it is not set. Which secrets
    /// are set is not written in any file; see [`LoadReport::settle`].
    pub unless_set: Option<Box<str>>,
}

/// Whether the text at a place may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shows {
    /// It may.
    #[default]
    Text,
    /// It is a credential, in this finding and in every other that shows the same line.
    Nothing,
}

impl Diagnostic {
    /// An error of `owner` at `span`.
    pub fn error(owner: &FindingOwner, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, owner, span, message)
    }

    /// A warning of `owner` at `span`.
    pub fn warning(owner: &FindingOwner, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, owner, span, message)
    }

    fn new(
        severity: Severity,
        owner: &FindingOwner,
        span: Span,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            owner: owner.clone(),
            span,
            message: message.into(),
            label: None,
            help: None,
            related: Vec::new(),
            shows: Shows::Text,
            unless_set: None,
        }
    }

    /// Says something at the place itself.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what to do, when there is something to say.
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Says that this does not hold when a secret of its owner is set.
    pub fn unless_set(mut self, secret: &str) -> Self {
        self.unless_set = Some(secret.into());
        self
    }

    /// Keeps the text at the place out of sight.
    pub fn conceal(mut self) -> Self {
        self.shows = Shows::Nothing;
        self
    }

    /// Points at another place.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}

/// Everything found in one load, with the texts it was found in.
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// The findings, in the order of their places.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts.
    pub sources: Sources,
    /// Places of what may be credentials, whether anything was found there or not.
    hidden: Vec<Span>,
}

impl LoadReport {
    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|found| found.severity == Severity::Error)
    }

    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|found| found.severity == Severity::Warning)
    }

    /// Whether `owner` has an error.
    pub fn has_error(&self, owner: &FindingOwner) -> bool {
        self.errors().any(|found| found.owner == *owner)
    }

    /// Whether `owner` has an error about something inside `span`.
    pub(crate) fn has_error_within(&self, owner: &FindingOwner, span: Span) -> bool {
        let within = |inner: Span| {
            inner.source == span.source && span.start <= inner.start && inner.end <= span.end
        };
        self.errors().any(|found| found.owner == *owner && within(found.span))
    }

    /// The places whose text must not be shown.
    pub fn concealed(&self) -> impl Iterator<Item = Span> {
        let found = self.diagnostics.iter().filter(|found| found.shows == Shows::Nothing);
        found.map(|it| it.span).chain(self.hidden.iter().copied())
    }

    /// Keeps what stands where credentials stand out of sight. A finding about something else
    /// may show the same line, and one that a misspelt name led astray has nobody to say so.
    pub(crate) fn hide_credentials(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { .. } => {}
            Value::List(items) => items.iter().for_each(|item| self.hide_credentials(item)),
            Value::Map(entries) => {
                for entry in entries {
                    match is_sensitive(&entry.key) {
                        true => self.hide(&entry.value),
                        false => self.hide_credentials(&entry.value),
                    }
                }
            }
        }
    }

    fn hide(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { text, .. } if only_refers(text) => {}
            Value::Scalar { .. } => self.hidden.push(node.span),
            Value::List(items) => items.iter().for_each(|item| self.hide(item)),
            Value::Map(entries) => entries.iter().for_each(|entry| self.hide(&entry.value)),
        }
    }

    /// Drops findings about secrets that are set after all; `is_set` knows the secrets of one
    /// agent, or of the daemon where the owner is the shared part.
    pub fn settle(&mut self, is_set: impl Fn(&FindingOwner, &str) -> bool) {
        self.diagnostics.retain(|found| {
            found.unless_set.as_deref().is_none_or(|secret| !is_set(&found.owner, secret))
        });
    }

    /// Sorts by place and drops what was found twice, so that a value inherited by a
    /// thousand agents is reported where it stands, once.
    pub(crate) fn tidy(&mut self) {
        self.diagnostics.sort_by(|a, b| {
            let key = |found: &Diagnostic| (found.span.source, found.span.start, found.severity);
            key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
        });
        let mut seen = HashSet::new();
        self.diagnostics
            .retain(|found| seen.insert((found.span, found.severity, found.message.clone())));
    }
}
