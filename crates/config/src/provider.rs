//! How models are asked: what the configuration says of a provider, or of one of its models.

use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::rules::{self, references};
use crate::settings::to_json;
use crate::yaml::Node;
use std::collections::BTreeMap;
use std::time::Duration;

/// Members of a request that are not the operator's to set: what is said, what may be called, and
/// how it comes back.
const OURS: [&str; 5] = ["model", "messages", "system", "tools", "stream"];
/// The most bytes of what is added to a request.
const EXTRA_BYTES_MAX: usize = 16 * 1024;

/// What is set for all models of a provider, or for one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ModelSettings {
    /// Headers, as they were written.
    pub headers: BTreeMap<Box<str>, Box<str>>,
    /// Members of the body, as the text of a JSON object; empty for none.
    pub extra_body: Box<str>,
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub idle: Option<Duration>,
    pub max_tokens: Option<u32>,
    pub context_window: Option<u32>,
    pub sees_images: Option<bool>,
    pub parallel_calls: Option<bool>,
    pub tool_calls: Option<Box<str>>,
    pub constrained: Option<bool>,
    pub reasoning_effort: Option<Box<str>>,
    pub temperature: Option<Thousandths>,
    pub top_p: Option<Thousandths>,
    pub top_k: Option<u32>,
    pub min_p: Option<Thousandths>,
    pub presence_penalty: Option<Thousandths>,
    pub frequency_penalty: Option<Thousandths>,
    pub repeat_penalty: Option<Thousandths>,
    pub seed: Option<u32>,
}

/// A number, to the third place behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Thousandths(pub u16);

impl Thousandths {
    /// As a number.
    pub fn as_f32(self) -> f32 {
        f32::from(self.0) / 1_000.0
    }
}

/// Reads the settings of a provider, or of a model `of` one, from a checked tree.
pub(crate) fn read(
    report: &mut LoadReport,
    owner: &FindingOwner,
    node: &Node,
    of: Option<&ModelSettings>,
) -> ModelSettings {
    let timeout = node.get("timeout");
    for entry in timeout.map(Node::entries).unwrap_or_default() {
        if entry.value.text().and_then(rules::duration) == Some(Duration::ZERO) {
            let message = format!("`{}` of a provider's `timeout` leaves no time", entry.key);
            let found = Diagnostic::error(owner, entry.value.span, message);
            report.push(found.help("every request would fail; leave it out for the usual time"));
        }
    }
    room(report, owner, node, of);
    let duration = |key: &str| timeout?.get(key)?.text().and_then(rules::duration);
    let whole = |key: &str| node.get(key)?.integer().and_then(|it| u32::try_from(it).ok());
    let flag = |key: &str| node.get(key).and_then(Node::bool);
    let word = |key: &str| node.get(key).and_then(Node::text).map(Into::into);
    let headers = node.get("headers").map(Node::entries).unwrap_or_default();
    let headers = headers.iter().filter_map(|it| Some((it.key.clone(), it.value.text()?.into())));
    let headers = headers.collect();
    let extra_body = extra_body(report, owner, node);
    let mut amount = |key: &str, most: u16| amount((report, owner), node, key, most);
    ModelSettings {
        temperature: amount("temperature", 2),
        top_p: amount("top_p", 1),
        min_p: amount("min_p", 1),
        presence_penalty: amount("presence_penalty", 2),
        frequency_penalty: amount("frequency_penalty", 2),
        repeat_penalty: amount("repeat_penalty", 2),
        headers,
        extra_body,
        connect: duration("connect"),
        first_byte: duration("first_byte"),
        idle: duration("idle"),
        max_tokens: whole("max_tokens"),
        context_window: whole("context_window"),
        sees_images: flag("sees_images"),
        parallel_calls: flag("parallel_calls"),
        tool_calls: word("tool_calls"),
        constrained: flag("constrained"),
        reasoning_effort: word("reasoning_effort"),
        top_k: whole("top_k"),
        seed: whole("seed"),
    }
}

/// Whether an answer of the longest kind leaves room for a question.
fn room(report: &mut LoadReport, owner: &FindingOwner, node: &Node, of: Option<&ModelSettings>) {
    let whole = |key: &str| node.get(key)?.integer().and_then(|it| u32::try_from(it).ok());
    // What is said of the provider alone was looked at there.
    let Some(place) = node.get("max_tokens").or_else(|| node.get("context_window")) else { return };
    let tokens = whole("max_tokens").or_else(|| of?.max_tokens);
    let window = whole("context_window").or_else(|| of?.context_window);
    let (Some(tokens), Some(window)) = (tokens, window) else { return };
    if tokens >= window {
        let message = format!(
            "`max_tokens` of {tokens} leaves no room for a question in a `context_window` of {window}"
        );
        let found = Diagnostic::error(owner, place.span, message);
        report.push(found.help("both are counted in tokens, and the window holds the answer too"));
    }
}

fn amount(
    (report, owner): (&mut LoadReport, &FindingOwner),
    node: &Node,
    key: &str,
    most: u16,
) -> Option<Thousandths> {
    let node = node.get(key)?;
    let number = node.number()?;
    let thousandths = (number * 1_000.0).round();
    if !(0.0..=f64::from(most) * 1_000.0).contains(&thousandths) {
        let message = format!("{number} is out of range in `{key}` of a provider");
        let found = Diagnostic::error(owner, node.span, message);
        report.push(found.help(format!("0 to {most} are accepted")));
        return None;
    }
    // Between 0 and 2000, as was just looked at.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let thousandths = thousandths as u16;
    Some(Thousandths(thousandths))
}

fn extra_body(report: &mut LoadReport, owner: &FindingOwner, node: &Node) -> Box<str> {
    let Some(extra) = node.get("extra_body") else { return "".into() };
    let mut refuse = |node: &Node, message: String, help: &str| {
        report.push(Diagnostic::error(owner, node.span, message).help(help));
    };
    for entry in extra.entries().iter().filter(|entry| OURS.contains(&&*entry.key)) {
        let message = format!("`{}` can't be set in `extra_body`", entry.key);
        refuse(&entry.value, message, "it says what is asked, and is written for each request");
    }
    if extra.entries().is_empty() {
        return "".into();
    }
    let text = to_json(extra).to_string();
    if references(&text).is_ok_and(|found| !found.is_empty()) {
        let message = "a secret or a variable can't stand in `extra_body`".to_owned();
        refuse(extra, message, "write it in `headers`");
    }
    if text.len() > EXTRA_BYTES_MAX {
        let message = format!("`extra_body` has {} bytes", text.len());
        refuse(extra, message, &format!("at most {EXTRA_BYTES_MAX} are accepted"));
        return "".into();
    }
    text.into()
}
