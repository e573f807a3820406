//! A call that stands in a text.

use crate::request::ToolSchema;
use serde_json::Value;

/// How a call was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In a code fence.
    Fence,
    /// Between tags such as `<tool_call>`.
    Tag,
    /// `<function=NAME><parameter=KEY>…`.
    Xml,
    /// Behind `[TOOL_CALLS]`.
    Mistral,
    /// Behind `<|python_tag|>`.
    Python,
    /// JSON and nothing around it.
    Json,
    /// `functools[…]`.
    Functools,
    /// Between DeepSeek's tokens.
    DeepSeek,
    /// In the shape that the server was told to hold the model to.
    Schema,
}

/// What stands at a place where calls may begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Calls, and where they end.
    Block { end: usize, calls: Vec<Found>, form: Form },
    /// It can still become calls.
    Unfinished,
    /// Something else.
    No,
}

/// Calls in JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Sequence {
    /// Calls, and where the last of them ends.
    Calls(Vec<Found>, usize),
    /// Calls of which the text ends inside the last.
    CutOff(Vec<Found>),
    Unfinished,
    No,
}

/// What the ids of calls begin with that came as text.
pub const TEXT_CALL_ID: &str = "text_";

/// The form of a call that came as text, by its id.
pub fn text_call(id: &str) -> Option<Form> {
    let form = id.strip_prefix(TEXT_CALL_ID)?.split('_').next()?;
    Form::ALL.into_iter().find(|known| known.as_str() == form)
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 9] = [
        Self::Fence,
        Self::Tag,
        Self::Xml,
        Self::Mistral,
        Self::Python,
        Self::Json,
        Self::Functools,
        Self::DeepSeek,
        Self::Schema,
    ];

    /// Its name in a record, of letters alone.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fence => "fence",
            Self::Tag => "tag",
            Self::Xml => "xml",
            Self::Mistral => "mistral",
            Self::Python => "python",
            Self::Json => "json",
            Self::Functools => "functools",
            Self::DeepSeek => "deepseek",
            Self::Schema => "schema",
        }
    }
}

/// A call that stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    /// As they were written: JSON, if the model was right. Where the text ends inside of them,
    /// they do, too.
    pub arguments: String,
}

/// The tools a model was shown, by name.
#[derive(Debug, Clone, Default)]
pub struct ToolNames(Vec<Shown>);

#[derive(Debug, Clone)]
struct Shown {
    name: String,
    /// The arguments it can do without; `None` for all of them.
    optional: Option<Vec<String>>,
}

impl ToolNames {
    /// Tools of which no more than their names is known.
    #[cfg(test)]
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let shown = |name: String| Shown { name, optional: Some(vec![]) };
        Self(names.into_iter().map(Into::into).map(shown).collect())
    }

    pub fn of(tools: &[ToolSchema]) -> Self {
        let shown = |tool: &ToolSchema| {
            let schema: Value = serde_json::from_str(tool.parameters.get()).unwrap_or_default();
            let required = schema.get("required").and_then(Value::as_array);
            let is_needed = |name: &String| {
                required.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(name)))
            };
            let fields = schema.get("properties").and_then(Value::as_object);
            let names = fields.into_iter().flat_map(|it| it.keys());
            let optional = Some(names.filter(|name| !is_needed(name)).cloned().collect());
            Shown { name: tool.name.to_string(), optional }
        };
        Self(tools.iter().map(shown).collect())
    }

    /// With names of what is no tool and is called as if it were: whatever such a call says, it
    /// says of nothing that there is.
    pub fn and(mut self, mistakable: &[Box<str>]) -> Self {
        let shown = |name: &str| Shown { name: name.to_owned(), optional: None };
        self.0.extend(mistakable.iter().map(|name| shown(name)));
        self
    }

    /// The tool that is meant by a name, as the model was shown it. Some models write where
    /// functions stand before what they are called.
    pub fn find(&self, written: &str) -> Option<&str> {
        let bare = ["functions.", "function.", "tools."]
            .iter()
            .find_map(|before| written.strip_prefix(before))
            .unwrap_or(written);
        let named = |wanted: &str| self.0.iter().map(|it| &*it.name).find(|name| *name == wanted);
        named(written).or_else(|| named(bare))
    }

    /// Whether a name may become one of them when more of it has come.
    pub fn may_become(&self, begun: &str) -> bool {
        self.0.iter().any(|tool| tool.name.starts_with(begun))
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|tool| &*tool.name)
    }

    /// Whether a tool can do without an argument.
    pub fn is_optional(&self, tool: &str, argument: &str) -> bool {
        let tool = self.0.iter().find(|it| it.name == tool);
        tool.is_some_and(|it| {
            it.optional.as_ref().is_none_or(|it| it.iter().any(|name| name == argument))
        })
    }
}

/// The length of the blanks that a text begins with, and of separators among them.
pub fn blank_len(text: &str, separators: &[char]) -> usize {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || separators.contains(&c));
    text.len() - rest.len()
}
