//! Expressions that an operator writes (CEL): which scope a memory belongs to, whether a tool
//! may be called so, what a hook says. Compiled once under bounds, evaluated often; no I/O, no
//! clock, and nothing of it can wait.
//!
//! The language comes from a crate that only this folder knows. It can't be interrupted, so
//! that everything it might take long over is bounded before it begins: the text, its depth
//! and its nodes when it is compiled; what is bound to its variables when it is evaluated. It
//! is called behind a wall that a panic does not pass.

mod check;
mod kind;
mod value;

#[cfg(test)]
#[path = "expr_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "limit_tests.rs"]
mod limit_tests;

pub use value::{Bindings, Record, Value};

use cel::parser::PrattParser;
use cel::{Context, Env, ExecutionError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::{fmt, hash};

/// Longest text of an expression, in bytes. A policy that needs more is a hook's work.
pub const TEXT_BYTES_MAX: usize = 2_048;

/// Deepest nesting of an expression: each level is a few frames of the evaluating stack.
pub const DEPTH_MAX: usize = 24;

/// Most nodes of an expression, after its macros are written out.
pub const NODES_MAX: usize = 256;

/// Most comprehensions (`exists`, `filter`, …) beside each other. None is inside another.
pub const COMPREHENSIONS_MAX: usize = 4;

/// Most bytes that are bound to the variables of one evaluation.
pub const INPUT_BYTES_MAX: usize = 256 * 1024;

/// Most values that are bound to the variables of one evaluation, all lists and maps counted.
pub const INPUT_VALUES_MAX: usize = 8_192;

/// Deepest nesting of a bound value.
pub const INPUT_DEPTH_MAX: usize = 32;

/// Most work of an expression with comprehensions: how often a body may run, times its nodes,
/// times the longest text it could copy each time. Some tens of milliseconds at worst.
pub const WORK_MAX: usize = 256 * 1024 * 1024;

/// Longest text in an answer, in bytes, and most texts in a list.
pub const ANSWER_BYTES_MAX: usize = 4_096;
/// Most texts in an answer that is a list.
pub const ANSWER_TEXTS_MAX: usize = 64;

/// A name that an expression may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    name: &'static str,
    /// The fields it has, where no others can be asked for.
    fields: Option<&'static [&'static str]>,
}

impl Variable {
    /// A value, or a map whose keys are not known beforehand (`args`, `metadata`).
    pub const fn open(name: &'static str) -> Self {
        Self { name, fields: None }
    }

    /// A map with exactly these fields: another one is a mistake in the text.
    pub const fn record(name: &'static str, fields: &'static [&'static str]) -> Self {
        Self { name, fields: Some(fields) }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The fields it has, where no others can be asked for.
    pub fn fields(&self) -> Option<&'static [&'static str]> {
        self.fields
    }
}

/// Why an expression was refused, or gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ExprError {
    /// What is wrong, in words of the text.
    pub what: String,
    /// Where in the text, counted in characters from 1; 1 where it is about the whole.
    pub column: usize,
}

impl ExprError {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), column: 1 }
    }

    fn at(what: impl Into<String>, column: usize) -> Self {
        Self { what: what.into(), column }
    }
}

/// What an expression answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// A list of texts, maybe empty.
    Texts(Vec<String>),
    /// What stands for the agent's global scope, which no text can name.
    Global,
}

impl Answer {
    /// What kind it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Text(_) => "a text",
            Self::Texts(_) => "a list of texts",
            Self::Global => "GLOBAL",
        }
    }
}

/// An expression that was found good. Cheap to clone.
#[derive(Clone)]
pub struct Expression(Arc<Compiled>);

struct Compiled {
    text: Box<str>,
    root: cel::IdedExpr,
    repeats: Repeats,
}

/// What an expression does again for each element of a list.
#[derive(Debug, Clone, Copy, Default)]
struct Repeats {
    /// Nodes inside comprehensions; none, and the work is linear.
    nodes: usize,
    /// Whether a text is made into a list somewhere.
    splits: bool,
}

/// Operators, functions and macros as the language has them. Which of them a text may use is
/// decided when it is compiled.
static STANDARD: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::default().with_optional_support(false).with_stdlib();
    // Adding to a fresh environment can't meet a name that is taken; were it to, the functions
    // would be missing and every call of one refused.
    let _ = env.add_extension(cel::extensions::strings);
    Arc::new(env)
});

impl Expression {
    /// Compiles a text that may use these variables and no others.
    pub fn compile(text: &str, variables: &[Variable]) -> Result<Self, ExprError> {
        check::text(text)?;
        let parser = PrattParser::new()
            .max_recursion_depth(DEPTH_MAX as u16)
            .error_recovery_limit(1)
            .error_reporting_limit(4)
            .max_expression_node_count(NODES_MAX * 4);
        let parsed = catch_unwind(AssertUnwindSafe(|| parser.parse(text)));
        let root = match parsed {
            Ok(Ok(root)) => root,
            Ok(Err(errors)) => return Err(check::syntax(text, &errors)),
            Err(_) => return Err(ExprError::new("the expression can't be read")),
        };
        let repeats = check::tree(text, &root, variables)?;
        Ok(Self(Arc::new(Compiled { text: text.into(), root, repeats })))
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What it answers with these values. A missing field, a wrong type, a null, a division
    /// by zero and the like are errors, never an answer.
    pub fn evaluate(&self, bindings: &Bindings) -> Result<Answer, ExprError> {
        bindings.check(self.0.repeats)?;
        let answered = catch_unwind(AssertUnwindSafe(|| {
            let mut context = Context::with_env(Arc::clone(&STANDARD));
            context.set_variable_resolver(bindings);
            cel::Value::resolve_val(&self.0.root, &context)
                .map_err(|error| ExprError::new(in_words(&error)))
                .and_then(|found| value::answer(found.as_ref()))
        }));
        answered.unwrap_or_else(|_| Err(ExprError::new("the expression broke down")))
    }

    /// Whether it holds: an answer that is neither true nor false is an error.
    pub fn holds(&self, bindings: &Bindings) -> Result<bool, ExprError> {
        match self.evaluate(bindings)? {
            Answer::Bool(holds) => Ok(holds),
            other => Err(ExprError::new(format!(
                "the expression answers {}, and must answer true or false",
                other.kind()
            ))),
        }
    }
}

/// What went wrong, without the values it went wrong with: those may be anybody's words.
fn in_words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("there is no `{}`", clip(key)),
        ExecutionError::UndeclaredReference(name) => format!("`{}` has no value", clip(name)),
        ExecutionError::NoSuchOverload(overload) => {
            let operator = overload.function().trim_matches(['_', '@']);
            let types = overload.argument_types().join("` and `");
            format!("`{operator}` does not take `{}`", clip(&types))
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            format!("`{operator}` does not take `{}` and `{}`", left.type_of(), right.type_of())
        }
        ExecutionError::UnexpectedType { got, want } => {
            format!("found {}, where {} was expected", clip(got), clip(want))
        }
        ExecutionError::ValuesNotComparable(..) => "these two can't be compared".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "the number is too large".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "the list is not that long".to_owned(),
        ExecutionError::FunctionError { function, .. } => {
            format!("`{}` can't be computed here", clip(function))
        }
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("found {actual} arguments, where {expected} were expected")
        }
        _ => "it can't be computed with these values".to_owned(),
    }
}

/// As much of a name as a message needs.
fn clip(text: &str) -> String {
    text.chars().take(64).filter(|letter| !letter.is_control()).collect()
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Expression {}

impl hash::Hash for Expression {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.0.text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}
