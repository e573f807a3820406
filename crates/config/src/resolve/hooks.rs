//! Hooks, out of `hooks` of the agent and of the top.

use super::Reader;
use crate::hook::{HOOK_TIMEOUT, HOOK_TIMEOUT_MAX, Hook, HookOwner, HookWay, OnFailure};
use crate::rules;
use crate::yaml::{Layer, Node};
use insula_domain::HostPattern;
use insula_domain::hook::{HookEvent, HookPower, VARIABLES};

/// Most hooks of one event: each is waited for.
const PER_EVENT_MAX: usize = 16;

impl Reader<'_> {
    /// The hooks of an agent: those of the top first, then its own, in the order of the file.
    pub(super) fn hooks(&mut self) -> Vec<Hook> {
        let mut hooks = Vec::new();
        for entry in self.at("hooks").map(Node::entries).unwrap_or_default() {
            let Some(event) = HookEvent::parse(&entry.key) else { continue };
            if entry.value.items().len() > PER_EVENT_MAX {
                let message = format!("`{event}` has more than {PER_EVENT_MAX} hooks");
                self.error(entry.key_span, message, None);
            }
            for node in entry.value.items() {
                hooks.extend(self.hook(event, node));
            }
        }
        hooks
    }

    fn hook(&mut self, event: HookEvent, node: &Node) -> Option<Hook> {
        if let Some(problem) = check_hook(node, event.as_str()) {
            // A way that is written wrongly was said before, and is none.
            if !self.has_error_within(node.span) {
                let help = node.get("expr").or(node.get("command")).or(node.get("http"));
                self.error(node.span, problem, help.map(|_| "keep one of them".to_owned()));
            }
            return None;
        }
        let way = self.way(event, node)?;
        let timeout = match node.get("timeout") {
            None => HOOK_TIMEOUT,
            Some(written) => {
                let timeout = written.text().and_then(rules::duration).unwrap_or(HOOK_TIMEOUT);
                if timeout > HOOK_TIMEOUT_MAX {
                    let most = HOOK_TIMEOUT_MAX.as_secs();
                    let message = format!("a hook of `{event}` may take longer than {most} s");
                    let help = "whatever asks it waits for it: give it less".to_owned();
                    self.error(written.span, message, Some(help));
                }
                timeout
            }
        };
        let observes = event.part() == HookPower::Observes;
        let on_failure = match node.get("on_failure").map(|it| (it.text(), it.span)) {
            // There is nothing to go on with, and whatever stood in for it would be a guess.
            Some((Some("allow"), span)) if event == HookEvent::MemoryScope => {
                let message = format!("a hook of `{event}` can't be allowed to fail");
                let help =
                    "without its answer there is no scope; leave `on_failure` out".to_owned();
                self.error(span, message, Some(help));
                OnFailure::Deny
            }
            Some((Some("allow"), _)) => OnFailure::Allow,
            Some((_, span)) if observes => {
                let message =
                    format!("a hook of `{event}` can't deny: it hears of what has happened");
                self.error(
                    span,
                    message,
                    Some("write `on_failure: allow`, or leave it out".to_owned()),
                );
                OnFailure::Allow
            }
            Some(_) => OnFailure::Deny,
            None if observes => OnFailure::Allow,
            None => OnFailure::Deny,
        };
        let matcher = match node.get("matcher") {
            Some(written) if !event.is_about_a_tool() => {
                let message = format!("a hook of `{event}` has a matcher, and no tool to match");
                self.error(written.span, message, Some("remove the matcher".to_owned()));
                None
            }
            Some(written) => self.matcher(written),
            None => None,
        };
        let place = self.report.sources.get(node.span.source).name.clone();
        Some(Hook {
            event,
            way,
            matcher,
            timeout,
            on_failure,
            owner: owner_of(node),
            policy: self.around.policies.get(&node.span.source).cloned(),
            name: format!("{event} at {place}:{}", node.span.line).into(),
        })
    }

    fn way(&mut self, event: HookEvent, node: &Node) -> Option<HookWay> {
        if let Some(expr) = node.get("expr") {
            return self.expression(expr, VARIABLES).map(HookWay::Expr);
        }
        if let Some(http) = node.get("http") {
            let url = http.text()?;
            if url.contains("${") {
                let message = format!("the address of a hook of `{event}` has a reference in it");
                let help = "references are not followed there: let the server know its callers by where they come from".to_owned();
                self.error(http.span, message, Some(help));
                return None;
            }
            if host_of(url).is_none() {
                let message = format!("the address of a hook of `{event}` has no plain host");
                let help = "write `https://host[:port]/path`".to_owned();
                self.error(http.span, message, Some(help));
                return None;
            }
            return Some(HookWay::Http(url.into()));
        }
        let command = node.get("command")?;
        if !event.is_in_conversation() {
            let message = format!("a hook of `{event}` can't be a command");
            let help = "it is asked outside of any conversation: use `expr` or `http`".to_owned();
            self.error(command.span, message, Some(help));
            return None;
        }
        // Which agent a message goes to is what the daemon's own hooks may still change.
        if event == HookEvent::PreGatewayDispatch && owner_of(node) == HookOwner::Daemon {
            let message = format!("a hook of `{event}` for every agent can't be a command");
            let help = "it is asked before it is settled whose message it is, and so whose sandbox it would run in: use `expr` or `http`, or write the command at the agents".to_owned();
            self.error(command.span, message, Some(help));
            return None;
        }
        command.text().map(|text| HookWay::Command(text.into()))
    }

    /// Names joined by `|`, with `*` for any run of characters.
    fn matcher(&mut self, node: &Node) -> Option<Box<[Box<str>]>> {
        let text = node.text()?;
        let is_name = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.*".contains(&it))
        };
        let parts: Vec<Box<str>> = text.split('|').map(|part| part.trim().into()).collect();
        if !parts.iter().all(|part| is_name(part)) {
            let message = format!("`{}` matches no tool", crate::shape::shorten(text));
            let help = "join names by `|`, with `*` for any run of characters".to_owned();
            self.error(node.span, message, Some(help));
            return None;
        }
        // `*` alone is every tool, and so is no matcher.
        (!parts.iter().any(|part| &**part == "*")).then(|| parts.into())
    }
}

/// Who wrote a hook.
fn owner_of(hook: &Node) -> HookOwner {
    match hook.layer {
        Layer::Own | Layer::Policy => HookOwner::Agent,
        Layer::Defaults | Layer::TopLevel => HookOwner::Daemon,
    }
}

/// The host of a hook's address, which naming it grants.
pub fn host_of(url: &str) -> Option<HostPattern> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let (host, written) = insula_domain::parse_authority(authority).ok()?;
    match written {
        Some(other) if other != port => HostPattern::parse(authority).ok(),
        _ => HostPattern::parse(&host.to_string()).ok(),
    }
}

/// A hook answers in exactly one way.
pub fn check_hook(hook: &Node, event: &str) -> Option<String> {
    let ways = ["expr", "command", "http"].iter().filter(|way| hook.get(way).is_some()).count();
    match ways {
        1 => None,
        0 => Some(format!("a hook of `{event}` needs `expr`, `command` or `http`")),
        _ => Some(format!("a hook of `{event}` answers in more than one way")),
    }
}
