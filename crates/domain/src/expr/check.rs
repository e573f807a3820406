//! What an expression may contain, decided before it is ever evaluated.

use super::{
    COMPREHENSIONS_MAX, DEPTH_MAX, ExprError, NODES_MAX, Repeats, TEXT_BYTES_MAX, Variable,
};
use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::parser::ParseErrors;
use cel::parser::pratt_parser::{Lexer, TokenKind};

/// Operators, by the names the language gives them inside.
const OPERATORS: &[&str] = &[
    "_?_:_",
    "_&&_",
    "_||_",
    "!_",
    "_-_",
    "_+_",
    "_*_",
    "_/_",
    "_%_",
    "_==_",
    "_!=_",
    "_>=_",
    "_<=_",
    "_>_",
    "_<_",
    "-_",
    "_[_]",
    "@in",
    "@not_strictly_false",
];

/// Functions that a text may call. Left out: whatever multiplies its input (`format`,
/// `replace`), makes types of its own (`bytes`, `timestamp`), or matches patterns.
pub const FUNCTIONS: &[&str] = &[
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "lowerAscii",
    "upperAscii",
    "trim",
    "split",
    "substring",
    "indexOf",
    "lastIndexOf",
    "join",
    "string",
    "int",
    "double",
    "has",
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
];

/// Most of one kind of prefix operator or of `?` in a text: the parser calls itself for each.
const PREFIXES_MAX: usize = 48;

/// Bounds of the text itself, so that the parser's own recursion stays bounded.
pub fn text(text: &str) -> Result<(), ExprError> {
    if text.trim().is_empty() {
        return Err(ExprError::new("the expression is empty"));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(ExprError::new(format!(
            "the expression has {} bytes, and at most {TEXT_BYTES_MAX} are allowed",
            text.len()
        )));
    }
    let mut depth = 0_usize;
    let mut prefixes = 0_usize;
    for (kind, start) in tokens(text) {
        match kind {
            TokenKind::TokLeftBracket | TokenKind::TokLeftBrace | TokenKind::TokLeftParen => {
                depth += 1;
            }
            TokenKind::TokRightBracket | TokenKind::TokRightBrace | TokenKind::TokRightParen => {
                depth = depth.saturating_sub(1);
            }
            TokenKind::TokExclamation | TokenKind::TokMinus | TokenKind::TokQuestion => {
                prefixes += 1;
            }
            _ => {}
        }
        if depth > DEPTH_MAX || prefixes > PREFIXES_MAX {
            return Err(ExprError::at("the expression is nested too deeply", column(text, start)));
        }
    }
    Ok(())
}

/// The first complaint of the parser, in our words, with its place in the whole text.
pub fn syntax(text: &str, errors: &ParseErrors) -> ExprError {
    let Some(error) = errors.errors.iter().find(|error| error.pos.0 > 0).or(errors.errors.first())
    else {
        return ExprError::new("the expression can't be read");
    };
    let line = usize::try_from(error.pos.0).unwrap_or(1).max(1);
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let inside = usize::try_from(error.pos.1).unwrap_or(1).max(1) - 1;
    let what = error.msg.lines().next().unwrap_or_default();
    let what = what.strip_prefix("Syntax error: ").unwrap_or(what);
    let what: String = what.chars().take(160).filter(|letter| !letter.is_control()).collect();
    ExprError::at(what, column(text, before + inside))
}

/// Looks at every node: how many, how deep, which names and functions. Answers what is done
/// again and again.
pub fn tree(text: &str, root: &IdedExpr, variables: &[Variable]) -> Result<Repeats, ExprError> {
    let mut walk = Walk {
        text,
        variables,
        bound: Vec::new(),
        inside: false,
        nodes: 0,
        repeats: Repeats::default(),
        comprehensions: 0,
    };
    walk.node(root, 0)?;
    Ok(walk.repeats)
}

struct Walk<'a> {
    text: &'a str,
    variables: &'a [Variable],
    /// Names that a comprehension around here binds.
    bound: Vec<&'a str>,
    /// Whether this is the body of a comprehension.
    inside: bool,
    nodes: usize,
    repeats: Repeats,
    comprehensions: usize,
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a IdedExpr, depth: usize) -> Result<(), ExprError> {
        self.nodes += 1;
        self.repeats.nodes += usize::from(self.inside);
        // Macros add a few levels of their own, which nobody wrote.
        if depth > DEPTH_MAX * 2 {
            return Err(ExprError::new("the expression is nested too deeply"));
        }
        if self.nodes > NODES_MAX {
            return Err(ExprError::new("the expression has too many parts"));
        }
        let depth = depth + 1;
        match &node.expr {
            Expr::Unspecified => Err(ExprError::new("the expression can't be read")),
            Expr::Literal(LiteralValue::Bytes(_)) => {
                Err(ExprError::new("bytes have no use here; write a text"))
            }
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(name).map(|_| ()),
            Expr::Select(select) => {
                if let Expr::Ident(name) = &select.operand.expr
                    && let Some(variable) = self.variable(name)?
                    && let Some(fields) = variable.fields()
                    && !fields.contains(&select.field.as_str())
                {
                    let near = nearest(&select.field, fields.iter().copied());
                    return Err(self.wrong(
                        &select.field,
                        format!("`{name}` has no `{}`{near}", select.field),
                    ));
                }
                self.node(&select.operand, depth)
            }
            Expr::Call(call) => {
                let name = call.func_name.as_str();
                if !OPERATORS.contains(&name) && !FUNCTIONS.contains(&name) {
                    let near = nearest(name, FUNCTIONS.iter().copied());
                    return Err(self.wrong(name, format!("unknown function `{name}`{near}")));
                }
                self.texts(name, &call.args)?;
                self.repeats.splits |= name == "split";
                if let Some(target) = &call.target {
                    self.node(target, depth)?;
                }
                call.args.iter().try_for_each(|argument| self.node(argument, depth))
            }
            Expr::List(list) => {
                list.elements.iter().try_for_each(|element| self.node(element, depth))
            }
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.node(&entry.key, depth)?;
                    self.node(&entry.value, depth)
                }
                EntryExpr::StructField(_) => Err(ExprError::new("there are no types to make")),
            }),
            Expr::Struct(_) => Err(ExprError::new("there are no types to make")),
            Expr::Comprehension(loops) => {
                if self.inside {
                    return Err(ExprError::new(
                        "one comprehension (`exists`, `all`, `filter`, `map`) is inside another; \
                         that could take without end, and is not allowed",
                    ));
                }
                self.comprehensions += 1;
                if self.comprehensions > COMPREHENSIONS_MAX {
                    return Err(ExprError::new(format!(
                        "at most {COMPREHENSIONS_MAX} comprehensions are allowed"
                    )));
                }
                self.node(&loops.iter_range, depth)?;
                self.node(&loops.accu_init, depth)?;
                let before = self.bound.len();
                self.bound.push(&loops.iter_var);
                self.bound.extend(loops.iter_var2.as_deref());
                self.bound.push(&loops.accu_var);
                self.inside = true;
                self.node(&loops.loop_cond, depth)?;
                self.node(&loops.loop_step, depth)?;
                self.inside = false;
                self.node(&loops.result, depth)?;
                self.bound.truncate(before);
                Ok(())
            }
        }
    }

    /// Metadata is text, also where it was written as a number. What takes it for something else
    /// would never be true, or always; both are worse than an error.
    fn texts(&self, operator: &str, operands: &[IdedExpr]) -> Result<(), ExprError> {
        let field = |node: &IdedExpr| self.metadata_field(node);
        let wrong = |name: String, remedy: String| {
            Err(self.wrong("metadata", format!("`{name}` is a text, also when it is written as a number or a truth value: {remedy}")))
        };
        match (operator, operands) {
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
                let pairs = [(one, other), (other, one)];
                let mut odd =
                    pairs.into_iter().filter_map(|(it, with)| Some((field(it)?, no_text(with)?)));
                match odd.next() {
                    Some((name, value)) => wrong(name, format!("compare it with '{value}'")),
                    None => Ok(()),
                }
            }
            ("@in", [one, list]) => match (field(one), &list.expr) {
                (Some(name), Expr::List(list)) => match list.elements.iter().find_map(no_text) {
                    Some(value) => wrong(name, format!("compare it with '{value}'")),
                    None => Ok(()),
                },
                _ => Ok(()),
            },
            ("_&&_" | "_||_" | "!_" | "_?_:_", operands) => {
                let asked = if operator == "_?_:_" { 1 } else { operands.len() };
                match operands.iter().take(asked).find_map(field) {
                    Some(name) => {
                        let remedy = format!("write `{name} == 'true'`");
                        wrong(name, remedy)
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// How a field of the metadata is written, if this is one.
    fn metadata_field(&self, node: &IdedExpr) -> Option<String> {
        let is_metadata = |node: &IdedExpr| match &node.expr {
            Expr::Ident(name) => name == "metadata" && !self.bound.contains(&name.as_str()),
            Expr::Select(select) => {
                select.field == "metadata"
                    && matches!(&select.operand.expr, Expr::Ident(name) if name == "turn" && !self.bound.contains(&name.as_str()))
            }
            _ => false,
        };
        match &node.expr {
            Expr::Select(select) if !select.test && is_metadata(&select.operand) => {
                Some(format!("metadata.{}", select.field))
            }
            Expr::Call(call) if call.func_name == "_[_]" => match call.args.as_slice() {
                [record, key] if is_metadata(record) => match &key.expr {
                    Expr::Literal(LiteralValue::String(key)) => {
                        Some(format!("metadata.{}", key.inner()))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// The variable of a name, or nothing where a comprehension binds it.
    fn variable(&self, name: &str) -> Result<Option<&'a Variable>, ExprError> {
        if self.bound.contains(&name) {
            return Ok(None);
        }
        let variables: &'a [Variable] = self.variables;
        if let Some(variable) = variables.iter().find(|variable| variable.name() == name) {
            return Ok(Some(variable));
        }
        let near = nearest(name, variables.iter().map(Variable::name));
        Err(self.wrong(name, format!("unknown name `{name}`{near}")))
    }

    /// A complaint about a name, at the first place it is written.
    fn wrong(&self, name: &str, what: String) -> ExprError {
        let place = tokens(self.text).find(|(kind, start)| {
            *kind == TokenKind::TokIdent
                && self.text.get(*start..).is_some_and(|rest| {
                    rest.strip_prefix(name).is_some_and(|after| {
                        !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                    })
                })
        });
        ExprError::at(what, place.map_or(1, |(_, start)| column(self.text, start)))
    }
}

/// A value that is written out and is no text, as it is written.
fn no_text(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Literal(LiteralValue::Int(value)) => Some(value.inner().to_string()),
        Expr::Literal(LiteralValue::UInt(value)) => Some(value.inner().to_string()),
        Expr::Literal(LiteralValue::Double(value)) => Some(value.inner().to_string()),
        Expr::Literal(LiteralValue::Boolean(value)) => Some(value.inner().to_string()),
        Expr::Call(call) if call.func_name == "-_" => {
            call.args.first().and_then(no_text).map(|value| format!("-{value}"))
        }
        _ => None,
    }
}

/// The tokens of a text, with the byte each begins at, up to the first that is none.
fn tokens(text: &str) -> impl Iterator<Item = (TokenKind, usize)> {
    let mut lexer = Lexer::new(text);
    // As many as there are bytes at most, so that no lexer can go on for ever.
    (0..=text.len())
        .map(move |_| lexer.lex())
        .take_while(|token| !matches!(token.kind, TokenKind::TokEnd | TokenKind::TokError))
        .map(|token| (token.kind, token.start))
}

/// The column of a byte, in characters from 1.
fn column(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

/// `; did you mean …`, where something is near enough, or what there is.
fn nearest<'n>(wanted: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    let best = known
        .clone()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4);
    match best {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None => {
            let names: Vec<&str> = known.take(24).collect();
            format!("; known are `{}`", names.join("`, `"))
        }
    }
}
