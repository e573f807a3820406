//! What an expression answers whatever its values are, as far as its text alone says so.

use super::Expression;
use cel::common::ast::{Expr, IdedExpr, LiteralValue};

const BOOL: &str = "true or false";
const NUMBER: &str = "a number";
const LIST: &str = "a list";
const MAP: &str = "a map";

impl Expression {
    /// What it answers in some case instead of a name, if its text says so. A null is no
    /// mistake: it is a way to refuse.
    pub fn answers_no_name(&self) -> Option<&'static str> {
        no_name(&self.0.root)
    }

    /// What it answers, where its text alone says that this is neither true nor false.
    pub fn answers_no_truth(&self) -> Option<&'static str> {
        no_truth(&self.0.root)
    }
}

fn no_truth(node: &IdedExpr) -> Option<&'static str> {
    match &node.expr {
        Expr::Literal(LiteralValue::Boolean(_)) => None,
        Expr::Literal(LiteralValue::String(_) | LiteralValue::Bytes(_)) => Some("a text"),
        Expr::Literal(LiteralValue::Null) => Some("nothing"),
        Expr::Literal(_) => Some(NUMBER),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            ("_?_:_", [_, yes, no]) => no_truth(yes).or_else(|| no_truth(no)),
            ("_+_", _) => Some("a sum"),
            (name, _) => called(name).filter(|kind| *kind != BOOL),
        },
        Expr::List(_) => Some(LIST),
        Expr::Map(_) | Expr::Struct(_) => Some(MAP),
        Expr::Comprehension(_) | Expr::Ident(_) | Expr::Select(_) | Expr::Unspecified => None,
    }
}

fn no_name(node: &IdedExpr) -> Option<&'static str> {
    match &node.expr {
        Expr::Literal(literal) => match literal {
            LiteralValue::Boolean(_) => Some(BOOL),
            LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_) => Some(NUMBER),
            LiteralValue::String(_) | LiteralValue::Bytes(_) | LiteralValue::Null => None,
        },
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            ("_?_:_", [_, yes, no]) => no_name(yes).or_else(|| no_name(no)),
            // What is added to something is of its kind.
            ("_+_", [one, other]) => no_name(one).or_else(|| no_name(other)),
            (name, _) => called(name),
        },
        Expr::List(_) => Some(LIST),
        Expr::Map(_) | Expr::Struct(_) => Some(MAP),
        Expr::Ident(name) if name == "metadata" => Some(MAP),
        // `has(…)`.
        Expr::Select(select) if select.test => Some(BOOL),
        Expr::Comprehension(_) => Some("true or false, or a list"),
        Expr::Ident(_) | Expr::Select(_) | Expr::Unspecified => None,
    }
}

fn called(name: &str) -> Option<&'static str> {
    match name {
        "_&&_" | "_||_" | "!_" | "_==_" | "_!=_" | "_>=_" | "_<=_" | "_>_" | "_<_" | "@in"
        | "contains" | "startsWith" | "endsWith" => Some(BOOL),
        "_-_" | "_*_" | "_/_" | "_%_" | "-_" | "size" | "indexOf" | "lastIndexOf" | "int"
        | "double" => Some(NUMBER),
        "split" => Some(LIST),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SCOPE_VARIABLES;

    #[test]
    fn what_is_neither_true_nor_false_is_known_from_the_text() {
        for (text, what) in [
            ("1 + 1", Some("a sum")),
            ("'a'", Some("a text")),
            ("size(user_id)", Some(NUMBER)),
            ("true ? 'a' : false", Some("a text")),
            ("user_id == 'a' && true", None),
            ("metadata.flag", None),
            ("has(metadata.flag)", None),
            ("['a'].exists(it, it == user_id)", None),
        ] {
            let expression = Expression::compile(text, SCOPE_VARIABLES).unwrap();
            assert_eq!(expression.answers_no_truth(), what, "{text}");
        }
    }

    #[test]
    fn what_can_be_no_name_is_known_from_the_text() {
        for (text, answer) in [
            ("true", Some(BOOL)),
            ("channel_id == '1'", Some(BOOL)),
            ("!(topic_id == null)", Some(BOOL)),
            ("has(metadata.org_id)", Some(BOOL)),
            ("metadata.org_id.startsWith('a')", Some(BOOL)),
            ("metadata.exists(key, key == 'a')", Some("true or false, or a list")),
            ("7", Some(NUMBER)),
            ("1 + 2", Some(NUMBER)),
            ("size(channel_id)", Some(NUMBER)),
            ("['a']", Some(LIST)),
            ("channel_id.split('-')", Some(LIST)),
            ("{'a': 'b'}", Some(MAP)),
            ("metadata", Some(MAP)),
            ("topic_id == null ? true : topic_id", Some(BOOL)),
            ("'org:' + metadata.org_id", None),
            ("topic_id == null ? channel_id : topic_id", None),
            ("channel_id == '1' ? null : channel_id", None),
            ("GLOBAL", None),
            ("metadata['org_id']", None),
            ("string(7)", None),
            ("'a' in metadata ? metadata.a : 'none'", None),
        ] {
            let expression = Expression::compile(text, SCOPE_VARIABLES).expect(text);
            assert_eq!(expression.answers_no_name(), answer, "{text}");
        }
    }
}
