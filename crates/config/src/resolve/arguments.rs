//! Argument rules, out of `tools.rules` of an agent or `rules` of a way in.

use super::Reader;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::source::Span;
use crate::suggest::nearest;
use crate::yaml::{Node, Value};
use insula_domain::argument::{
    Absent, Alike, ArgumentRule, ArgumentRules, Bound, BoundError, Demand, Number, PATTERNS_MAX,
    VARIABLES, names_of,
};
use insula_domain::expr::Expression;
use insula_domain::{Selector, tool};

/// Where an expression about the whole call stands, beside the arguments.
const EXPRESSION: &str = "expr";

/// Where the most calls in one turn stand.
const CALLS: &str = "max_calls";

/// Where it stands which calls are not made twice in one turn.
const ONCE: &str = "once";

/// Where it stands that results are read in quarantine.
const QUARANTINE: &str = "quarantine";

/// Most arguments that make two calls alike.
const ALIKE_MAX: usize = 8;

impl Reader<'_> {
    pub(super) fn argument_rules(&mut self) -> ArgumentRules {
        let subject = format!("agent `{}`", self.id);
        let node = self.at("tools.rules");
        let mut reader = RuleReader::new(self.report, &self.owner, &subject);
        let rules = reader.rules(node);
        self.failed |= reader.failed;
        rules
    }

    /// An expression over these variables; what is wrong with it is in the report.
    pub(super) fn expression(
        &mut self,
        node: &Node,
        variables: &[insula_domain::expr::Variable],
    ) -> Option<Expression> {
        let subject = format!("agent `{}`", self.id);
        let mut reader = RuleReader::new(self.report, &self.owner, &subject);
        let expression = reader.expression(node, variables);
        self.failed |= reader.failed;
        expression
    }
}

/// Reads rules of one part of the configuration.
pub(crate) struct RuleReader<'r> {
    report: &'r mut LoadReport,
    owner: &'r FindingOwner,
    /// What the part is called in messages.
    subject: &'r str,
    failed: bool,
}

impl<'r> RuleReader<'r> {
    pub(crate) fn new(
        report: &'r mut LoadReport,
        owner: &'r FindingOwner,
        subject: &'r str,
    ) -> Self {
        Self { report, owner, subject, failed: false }
    }

    fn error(&mut self, span: Span, message: String, help: Option<String>) {
        self.failed = true;
        self.report.push(Diagnostic::error(self.owner, span, message).maybe_help(help));
    }

    fn warn(&mut self, span: Span, message: String, help: Option<String>) {
        self.report.push(Diagnostic::warning(self.owner, span, message).maybe_help(help));
    }

    fn has_error_within(&self, span: Span) -> bool {
        self.report.has_error_within(self.owner, span)
    }

    /// The rules of a map from tools to their rules.
    pub(crate) fn rules(&mut self, node: Option<&Node>) -> ArgumentRules {
        let mut rules = Vec::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
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
        let is_map = matches!(node.value, Value::Map(_));
        match name {
            CALLS if !is_map => return self.calls_rule(tools, node).into_iter().collect(),
            ONCE if !is_map => return self.once_rule(tools, node).into_iter().collect(),
            QUARANTINE if !is_map => {
                return self.quarantine_rule(tools, node).into_iter().collect();
            }
            _ if !is_map => return self.expression_rule(tools, name, node).into_iter().collect(),
            _ => {}
        }
        let Some(at) = self.argument_place(name, node) else { return Vec::new() };
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
            if matches!(&*entry.key, "min" | "max" | "optional" | "said" | "or") {
                continue;
            }
            let may_be_empty = &*entry.key == "links";
            if entry.value.items().is_empty()
                && !may_be_empty
                && !self.has_error_within(entry.value.span)
            {
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
                    let message = format!("{problem} in the rules of {}", self.subject);
                    self.error(entry.value.span, message, None);
                }
            }
        }
        match (node.get("said").and_then(Node::bool), node.get("or")) {
            (Some(true), or) => {
                let values = or.map(Node::items).unwrap_or_default();
                match bound(tools, &at, "or", values) {
                    Ok(Bound::OneOf(values)) => add("said", Bound::Said(values)),
                    Ok(_) => {}
                    Err(problem) => {
                        let message = format!("{problem} in the rules of {}", self.subject);
                        self.error(node.span, message, None);
                    }
                }
            }
            (_, Some(or)) => {
                let message = format!("`or` of `{name}` in the rule for `{tools}` stands alone");
                let help = "write `said: true` beside it, or `one_of` instead of it".to_owned();
                self.error(or.span, message, Some(help));
            }
            (_, None) => {}
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
            let help = "give it `host`, `recipient`, `path`, `command`, `prefix`, `one_of`, \
                        `said: true`, `links`, `min` or `max`";
            self.error(node.span, message, Some(help.to_owned()));
        }
        rules
    }

    /// The names of an argument's fields, from the outside in.
    fn argument_place(&mut self, name: &str, node: &Node) -> Option<Box<[Box<str>]>> {
        let at: Box<[Box<str>]> = name.split('.').map(Into::into).collect();
        if at.iter().any(|part| part.is_empty()) {
            let message = format!("`{name}` names no argument");
            self.error(node.span, message, Some("write it as the tool takes it".to_owned()));
            return None;
        }
        Some(at)
    }

    /// How many calls there may be in one turn.
    fn calls_rule(&mut self, tools: &Selector, node: &Node) -> Option<ArgumentRule> {
        let max = node.text().and_then(|text| text.parse::<u32>().ok()).filter(|max| *max > 0);
        let Some(max) = max else {
            let message = format!("`{CALLS}` in the rule for `{tools}` is no count of calls");
            let help =
                "write a whole number from 1; to take a tool away, name it under `tools.deny`";
            self.error(node.span, message, Some(help.to_owned()));
            return None;
        };
        let name = format!("{tools}.{CALLS}").into();
        Some(ArgumentRule { tools: tools.clone(), demand: Demand::Calls { max }, name })
    }

    /// Which calls are not made twice in one turn: the same ones, or those that have arguments
    /// in common.
    fn once_rule(&mut self, tools: &Selector, node: &Node) -> Option<ArgumentRule> {
        let alike = match (&node.value, node.bool()) {
            (Value::Scalar { .. }, Some(true)) => Alike::Call,
            (Value::List(items), _) if (1..=ALIKE_MAX).contains(&items.len()) => {
                let mut places = Vec::new();
                for item in items {
                    let name = item.text()?;
                    let place = self.argument_place(name, item)?;
                    self.check_argument(tools, name, &place[0], item, Absent::Allowed);
                    places.push(place);
                }
                Alike::Arguments(places.into())
            }
            _ => {
                let message = format!("`{ONCE}` in the rule for `{tools}` says nothing");
                let help = format!(
                    "write `true`, for calls that are the same, or list 1 to {ALIKE_MAX} arguments \
                     that no two calls may have in common"
                );
                self.error(node.span, message, Some(help));
                return None;
            }
        };
        let name = format!("{tools}.{ONCE}").into();
        Some(ArgumentRule { tools: tools.clone(), demand: Demand::Once(alike), name })
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

    fn quarantine_rule(&mut self, tools: &Selector, node: &Node) -> Option<ArgumentRule> {
        let Some(is_on) = node.bool() else {
            let message = format!("`{QUARANTINE}` in the rule for `{tools}` is true or false");
            self.error(node.span, message, None);
            return None;
        };
        let name = format!("{tools}.{QUARANTINE}").into();
        let rule = ArgumentRule { tools: tools.clone(), demand: Demand::Quarantine, name };
        is_on.then_some(rule)
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
                        arguments stands under `expr`, a count of calls under `max_calls`";
            self.error(node.span, message, Some(help.to_owned()));
            return None;
        }
        let expression = self.expression(node, VARIABLES)?;
        if let Some(what) = expression.answers_no_truth() {
            let message = format!(
                "the expression of the rule for `{tools}` answers {what}, and must answer true or false"
            );
            self.error(node.span, message, None);
            return None;
        }
        let name = format!("{tools}.{EXPRESSION}").into();
        Some(ArgumentRule { tools: tools.clone(), demand: Demand::Holds(expression), name })
    }

    pub(crate) fn expression(
        &mut self,
        node: &Node,
        variables: &[insula_domain::expr::Variable],
    ) -> Option<Expression> {
        match Expression::compile(node.text()?, variables) {
            Ok(expression) => Some(expression),
            Err(error) => {
                let message = format!(
                    "{} (column {} of the expression) in {}",
                    error.what, error.column, self.subject
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
        "links" => Bound::links(texts()),
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
