//! What an expression works on, and what comes out of it. A value knows its own size, so
//! that the bounds of an evaluation cost nothing to check.

use super::{
    ANSWER_BYTES_MAX, ANSWER_TEXTS_MAX, Answer, ExprError, INPUT_BYTES_MAX, INPUT_DEPTH_MAX,
    INPUT_VALUES_MAX, NODES_MAX, Repeats, WORK_MAX,
};
use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Something that can be bound to a variable.
pub struct Value {
    inner: Box<dyn Val>,
    size: Size,
}

/// How much there is of a value.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    bytes: usize,
    values: usize,
    depth: usize,
    longest_text: usize,
    longest_list: usize,
}

impl Size {
    fn leaf(bytes: usize) -> Self {
        Self { bytes: bytes + 8, values: 1, depth: 1, longest_text: bytes, longest_list: 0 }
    }

    /// Beside another one.
    fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            values: self.values.saturating_add(other.values),
            depth: self.depth.max(other.depth),
            longest_text: self.longest_text.max(other.longest_text),
            longest_list: self.longest_list.max(other.longest_list),
        }
    }

    /// As one list or map of so many.
    fn inside(self, length: usize) -> Self {
        Self {
            depth: self.depth.saturating_add(1),
            longest_list: self.longest_list.max(length),
            ..self
        }
    }
}

impl Value {
    fn new(inner: impl Val + 'static, size: Size) -> Self {
        Self { inner: Box::new(inner), size }
    }

    /// Nothing. Most operators refuse it.
    pub fn null() -> Self {
        Self::new(CelNull, Size::leaf(0))
    }

    /// Yes or no.
    pub fn bool(value: bool) -> Self {
        Self::new(CelBool::from(value), Size::leaf(0))
    }

    /// A whole number.
    pub fn int(value: i64) -> Self {
        Self::new(CelInt::from(value), Size::leaf(0))
    }

    /// Any other number.
    pub fn double(value: f64) -> Self {
        Self::new(CelDouble::from(value), Size::leaf(0))
    }

    pub fn text(value: impl Into<String>) -> Self {
        let value = value.into();
        let size = Size::leaf(value.len());
        Self::new(CelString::from(value), size)
    }

    pub fn list(values: impl IntoIterator<Item = Self>) -> Self {
        let mut size = Size::leaf(0);
        let values: Vec<Box<dyn Val>> = values
            .into_iter()
            .map(|value| {
                size = size.and(value.size);
                value.inner
            })
            .collect();
        let size = size.inside(values.len());
        Self::new(CelList::from(values), size)
    }

    /// A list of texts.
    pub fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::list(values.into_iter().map(Self::text))
    }

    /// What stands for the agent's global scope. No expression can make one: bytes, which it
    /// is made of, can't be written or computed.
    pub fn global() -> Self {
        Self::new(CelBytes::from(Vec::new()), Size::leaf(0))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A map under construction.
#[derive(Debug, Default)]
pub struct Record {
    entries: HashMap<CelMapKey<'static>, Box<dyn Val>>,
    size: Size,
}

impl Record {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more field. The last one of a name counts.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Value) -> Self {
        self.insert(name, value);
        self
    }

    /// Adds a field. The last one of a name counts.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        let name = name.into();
        self.size = self.size.and(Size::leaf(name.len())).and(value.size);
        self.entries.insert(CelMapKey::from(name), value.inner);
    }

    /// The map.
    pub fn build(self) -> Value {
        let size = self.size.and(Size::leaf(0)).inside(self.entries.len());
        Value::new(CelMap::from(self.entries), size)
    }
}

/// What the variables of an expression stand for, in one evaluation or in many. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub struct Bindings {
    variables: Vec<(&'static str, Arc<Value>)>,
}

impl Bindings {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more variable. The last one of a name counts.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Arc<Value>>) -> Self {
        self.bind(name, value);
        self
    }

    /// Binds a variable. The last one of a name counts.
    pub fn bind(&mut self, name: &'static str, value: impl Into<Arc<Value>>) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
    }

    /// Whether an evaluation with these stays within bounds.
    pub(super) fn check(&self, repeats: Repeats) -> Result<(), ExprError> {
        let size =
            self.variables.iter().fold(Size::default(), |sum, (_, value)| sum.and(value.size));
        let too = if size.bytes > INPUT_BYTES_MAX {
            Some(format!("{} bytes, and at most {INPUT_BYTES_MAX} are", size.bytes))
        } else if size.values > INPUT_VALUES_MAX {
            Some(format!("{} values, and at most {INPUT_VALUES_MAX} are", size.values))
        } else if size.depth > INPUT_DEPTH_MAX {
            Some(format!("{} levels, and at most {INPUT_DEPTH_MAX} are", size.depth))
        } else {
            // A text can be split into a list as long as itself.
            let split = if repeats.splits { size.longest_text } else { 0 };
            let rounds = size.longest_list.max(NODES_MAX).max(split);
            let copied = size.longest_text.max(64);
            let work = rounds.saturating_mul(copied).saturating_mul(repeats.nodes);
            (work > WORK_MAX)
                .then(|| "a text or a list that is too long for a comprehension to be".to_owned())
        };
        match too {
            None => Ok(()),
            Some(too) => Err(ExprError::new(format!("what it looks at has {too} allowed"))),
        }
    }
}

impl VariableResolver for Bindings {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let (_, value) = self.variables.iter().find(|(name, _)| *name == variable)?;
        Some(CowVal::Borrowed(value.inner.as_ref()))
    }
}

/// What came out, if it is something anybody asks for.
pub fn answer(found: &dyn Val) -> Result<Answer, ExprError> {
    if let Some(value) = found.downcast_ref::<CelBool>() {
        return Ok(Answer::Bool(*value.inner()));
    }
    if found.downcast_ref::<CelBytes<'_>>().is_some() {
        return Ok(Answer::Global);
    }
    if let Some(text) = text(found)? {
        return Ok(Answer::Text(text));
    }
    if let Some(list) =
        found.as_iterable().filter(|_| found.downcast_ref::<CelList<'_>>().is_some())
    {
        let mut texts = Vec::new();
        let mut elements = list.iter();
        while let Some(element) = elements.next() {
            let text = text(element)?.ok_or_else(|| {
                ExprError::new("the expression answers a list with something that is no text")
            })?;
            if texts.len() == ANSWER_TEXTS_MAX {
                return Err(ExprError::new(format!(
                    "the expression answers more than {ANSWER_TEXTS_MAX} texts"
                )));
            }
            texts.push(text);
        }
        return Ok(Answer::Texts(texts));
    }
    Err(ExprError::new(format!(
        "the expression answers a {}, and must answer true or false, a text or a list of texts",
        found.get_type().name()
    )))
}

fn text(found: &dyn Val) -> Result<Option<String>, ExprError> {
    let Some(text) = found.downcast_ref::<CelString<'_>>() else { return Ok(None) };
    let text = text.inner();
    if text.len() > ANSWER_BYTES_MAX {
        return Err(ExprError::new(format!(
            "the expression answers a text of {} bytes, and at most {ANSWER_BYTES_MAX} are allowed",
            text.len()
        )));
    }
    Ok(Some(text.to_owned()))
}
