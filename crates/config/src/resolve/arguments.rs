//! Argument rules, out of `tools.rules`.

use super::Reader;
use crate::suggest::nearest;
use crate::yaml::{Node, Value};
use insula_domain::argument::{
    Absent, ArgumentRule, ArgumentRules, Bound, BoundError, Demand, Number, PATTERNS_MAX,
    VARIABLES, names_of,
};
use insula_domain::expr::Expression;
use insula_domain::{Selector, tool};

/// Where an expression about the whole call stands, beside the arguments.
const EXPRESSION: &str = "expr";

impl Reader<'_> {
    pub(super) fn argument_rules(&mut self) -> ArgumentRules {
        let mut rules = Vec::new();
        for entry in self.at("tools.rules").map(Node::entries).unwrap_or_default() {
            let Ok(tools) = Selector::parse(&entry.key) else { continue };
            for item in entry.value.items() {
                if item.entries().is_empty() && !self.has_error_within(item.span) {
                    let message = format!("the rule for `{}` says nothing", entry.key);
                    let help = "name an argument and its bound, or remove the rule".to_owned();
                    self.error(item.span, message, Some(help));
                }
                for part in item.entries() {
                    rules.extend(self.argument_rule(&tools, &part.key, &part.value));
                }
            }
        }
        ArgumentRules::new(rules)
    }

    fn argument_rule(&mut self, tools: &Selector, name: &str, node: &Node) -> Vec<ArgumentRule> {
        if let Value::Scalar { .. } = node.value {
            return self.expression_rule(tools, name, node).into_iter().collect();
        }
        let at: Box<[Box<str>]> = name.split('.').map(Into::into).collect();
        if at.iter().any(|part| part.is_empty()) {
            let message = format!("`{name}` names no argument");
            self.error(node.span, message, Some("write it as the tool takes it".to_owned()));
            return Vec::new();
        }
        let absent = match node.get("optional").and_then(Node::bool) {
            Some(true) => Absent::Allowed,
            _ => Absent::Refused,
        };
        let mut rules = Vec::new();
        let mut add = |key: &str, bound: Bound| {
            let demand = Demand::Argument { at: at.clone(), bound, absent };
            let name = format!("{tools}.{name}.{key}").into();
            rules.push(ArgumentRule { tools: tools.clone(), demand, name });
        };
        self.check_argument(tools, name, &at[0], node, absent);
        for entry in node.entries() {
            if matches!(&*entry.key, "min" | "max" | "optional") {
                continue;
            }
            if entry.value.items().is_empty() && !self.has_error_within(entry.value.span) {
                let message = format!(
                    "`{}` of `{name}` in the rule for `{tools}` lists nothing, so every call would be refused",
                    entry.key
                );
                let help = "list what is allowed; to take a tool away, name it under `tools.deny`";
                self.error(entry.value.span, message, Some(help.to_owned()));
                continue;
            }
            match bound(tools, &at, &entry.key, entry.value.items()) {
                Ok(bound) => add(&entry.key, bound),
                Err(problem) => {
                    let message = format!("{problem} in `tools.rules` of agent `{}`", self.id);
                    self.error(entry.value.span, message, None);
                }
            }
        }
        let number = |key: &str| {
            let text = node.get(key).and_then(Node::text)?;
            text.replace('_', "").parse().ok().and_then(Number::new)
        };
        match (number("min"), number("max")) {
            (None, None) => {}
            (Some(min), Some(max)) if min.is_above(max) => {
                let message = format!(
                    "`min: {min}` of `{name}` in the rule for `{tools}` is above `max: {max}`, so no number is allowed"
                );
                let span = node.get("min").map_or(node.span, |min| min.span);
                self.error(span, message, Some("exchange them, or keep one".to_owned()));
            }
            (min, max) => {
                let key = if max.is_some() { "max" } else { "min" };
                add(key, Bound::Number { min, max });
            }
        }
        if rules.is_empty() && !self.has_error_within(node.span) {
            let message = format!("the rule for `{name}` of `{tools}` bounds nothing");
            let help = "give it `host`, `recipient`, `path`, `command`, `prefix`, `one_of`, `min` \
                        or `max`";
            self.error(node.span, message, Some(help.to_owned()));
        }
        rules
    }

    /// Looks whether the tools of a rule have the argument it is about.
    fn check_argument(
        &mut self,
        tools: &Selector,
        name: &str,
        first: &str,
        node: &Node,
        absent: Absent,
    ) {
        let known = tool::CATALOGUE.iter().filter(|tool| tools.covers(tool));
        let known: Vec<(&str, &[&str])> =
            known.filter_map(|tool| Some((tool.name, names_of(tool.name)?))).collect();
        let without: Vec<&str> =
            known.iter().filter(|(_, has)| !has.contains(&first)).map(|(tool, _)| *tool).collect();
        if without.is_empty() {
            return;
        }
        if without.len() == known.len() {
            let names = known.iter().flat_map(|(_, has)| has.iter().copied());
            let help = match nearest(first, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let mut all: Vec<&str> = names.collect();
                    all.sort_unstable();
                    all.dedup();
                    format!("there are `{}`", all.join("`, `"))
                }
            };
            let message = format!("`{tools}` has no argument `{name}`");
            return self.error(node.span, message, Some(help));
        }
        if absent == Absent::Refused {
            let message = format!(
                "`{name}` in the rule for `{tools}` is no argument of `{}`: every call of that is refused",
                without.join("`, `")
            );
            let help = "name the tools that have it, or say `optional: true`";
            self.warn(node.span, message, Some(help.to_owned()));
        }
    }

    fn expression_rule(
        &mut self,
        tools: &Selector,
        name: &str,
        node: &Node,
    ) -> Option<ArgumentRule> {
        if name != EXPRESSION {
            let message = format!("the bound of `{name}` in the rule for `{tools}` is no map");
            let help = "write a bound, such as `{one_of: [a, b]}`; an expression over all \
                        arguments stands under `expr`";
            self.error(node.span, message, Some(help.to_owned()));
            return None;
        }
        let expression = self.expression(node, VARIABLES)?;
        let name = format!("{tools}.{EXPRESSION}").into();
        Some(ArgumentRule { tools: tools.clone(), demand: Demand::Holds(expression), name })
    }

    /// An expression over these variables; what is wrong with it is in the report.
    pub(super) fn expression(
        &mut self,
        node: &Node,
        variables: &[insula_domain::expr::Variable],
    ) -> Option<Expression> {
        match Expression::compile(node.text()?, variables) {
            Ok(expression) => Some(expression),
            Err(error) => {
                let message = format!(
                    "{} (column {} of the expression) in agent `{}`",
                    error.what, error.column, self.id
                );
                self.error(node.span, message, None);
                None
            }
        }
    }
}

fn bound(tools: &Selector, at: &[Box<str>], key: &str, items: &[Node]) -> Result<Bound, String> {
    if items.len() > PATTERNS_MAX {
        return Err(format!("{} values where at most {PATTERNS_MAX} are accepted", items.len()));
    }
    let texts = || items.iter().filter_map(Node::text);
    let bound = match key {
        "host" => Bound::hosts(texts()),
        "recipient" => Bound::recipients(texts()),
        "path" => Bound::paths(texts()),
        "command" => Bound::commands(texts()),
        // The beginning of a text says nothing about what stands behind a `;`, so where the
        // text is a command line, each of its commands is meant.
        "prefix" if is_command_line(tools, at) => Bound::commands(texts()),
        "prefix" => Bound::prefixes(texts()),
        _ => Ok(Bound::OneOf(texts().map(Into::into).collect())),
    };
    bound.map_err(|error: BoundError| error.to_string())
}

/// Whether an argument is a line for a shell.
fn is_command_line(tools: &Selector, at: &[Box<str>]) -> bool {
    let shell = tool::find("terminal").is_some_and(|terminal| tools.covers(terminal));
    shell && matches!(at, [name] if &**name == "command")
}
