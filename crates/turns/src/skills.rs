//! Skills in use: by the views that stand in the conversation, so that a turn which goes on
//! after a crash, or another which continues the session, finds the same.
//!
//! `allowed-tools` narrows the rest of the turn in which a skill was viewed. The secrets a skill
//! asks for are given to programs while a view of it stands in what the model is shown.

use crate::gate::Denial;
use crate::history::BYTES_MAX;
use crate::messages::results_of;
use crate::turn::{Broken, Turn};
use crate::untrusted;
use insula_domain::Actor;
use insula_domain::command::{CommandFinding, DangerRule};
use insula_domain::hook::HookEvent;
use insula_domain::{Effect, Group, Selector, ToolNarrowing, ToolVerdict};
use insula_registry::tokens::Verb;
use insula_store::{Message, Part, Window};
use serde_json::Value;
use std::collections::BTreeSet;

/// The skills that messages show to have been viewed.
fn viewed(history: &[Message]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, message) in history.iter().enumerate() {
        for part in &message.parts {
            let Part::ToolCall { id, name, arguments } = part else { continue };
            let is_shown = |result: &Part| matches!(result, Part::ToolResult { call, is_error: false, .. } if call == id);
            let mut results = results_of(history, at).iter().flat_map(|it| &it.parts);
            if &**name != "skill_view" || !results.any(is_shown) {
                continue;
            }
            let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
            names.extend(arguments.get("name").and_then(Value::as_str).map(str::to_owned));
        }
    }
    names
}

impl Turn<'_> {
    /// Refuses a tool that a skill in use takes away.
    pub(super) async fn narrowed(
        &mut self,
        tool: &str,
        history: &[Message],
    ) -> Result<Option<Denial>, Broken> {
        let cx = self.cx;
        if cx.agent.skills.skills.iter().all(|skill| skill.allowed_tools.is_none()) {
            return Ok(None);
        }
        let is_mine = |message: &Message| message.turn == Some(cx.turn);
        if cx.message.is_none() && !self.in_use.is_caught_up {
            // What was compressed into a summary before the crash still holds.
            let page = Window { messages: insula_store::MESSAGE_PAGE_MAX, bytes: BYTES_MAX * 2 };
            let mut kept = cx.agent.store.messages_tail(cx.session, page).await?;
            kept.retain(is_mine);
            self.in_use.names.extend(viewed(&kept));
        }
        self.in_use.is_caught_up = true;
        let from = history.iter().position(is_mine).unwrap_or(history.len());
        self.in_use.names.extend(viewed(&history[from..]));
        let skills = self.in_use.names.iter().filter_map(|name| cx.agent.skills.get(name));
        for skill in skills {
            let Some(allowed) = &skill.allowed_tools else { continue };
            // What a skill leaves is for this turn; a child would have all of it again.
            let hands_on = insula_domain::tool::find(tool)
                .is_some_and(|tool| tool.effects.contains(&Effect::Delegate));
            let mut only = if hands_on { Vec::new() } else { allowed.to_vec() };
            only.push(Selector::Group(Group::Skills));
            let by = format!("skill `{}`, until this turn ends", skill.name);
            let narrowing = ToolNarrowing { only: Some(only), ..ToolNarrowing::by(by) };
            if let ToolVerdict::Out(rule) = cx.agent.tools().narrow(&narrowing).verdict(tool) {
                return Ok(Some(Denial::NotExposed { name: tool.to_owned(), rule }));
            }
        }
        Ok(None)
    }

    /// The skills whose views stand in what the model is shown, where a hook decides about each.
    pub(super) fn viewed_by_leave(&self, history: &[Message]) -> BTreeSet<String> {
        match self.cx.agent.hooks.has(HookEvent::SkillLoad) {
            true => viewed(history),
            false => BTreeSet::new(),
        }
    }

    /// The secrets that skills in use ask for and the agent was granted.
    pub(super) fn variables_in_use(&self, history: &[Message]) -> BTreeSet<Box<str>> {
        let agent = &self.cx.agent;
        if agent.skills.skills.iter().all(|skill| skill.variables.is_empty()) {
            return BTreeSet::new();
        }
        let names = viewed(history);
        let skills = names.iter().filter_map(|name| agent.skills.get(name));
        let wanted = skills.flat_map(|skill| &skill.variables).map(|it| it.name.clone());
        wanted.filter(|name| agent.boundary.secrets.contains(name)).collect()
    }

    /// Whether a change of the agent itself was asked for by admins alone.
    pub(super) fn is_admins_own(&self, finding: &CommandFinding, history: &[Message]) -> bool {
        finding.rule == DangerRule::ChangeSelf && self.is_all_of_admins(history, Verb::Manage)
    }

    /// Whether all that the model was shown came from people who may decide this, so that what
    /// it does is by their word. A message of anybody else may be why it does it, also one of an
    /// earlier turn; and whose words stand in notes, quotations and what tools brought from
    /// outside is not known.
    pub(super) fn is_all_of_admins(&self, history: &[Message], verb: Verb) -> bool {
        let (cx, access) = (self.cx, &self.shop.access);
        let began = &cx.principal;
        // By what holds now as well: who was an admin when the turn began may be none any more.
        let now = self.now.as_deref();
        let may = |principal: &Actor| {
            // Which roles others had who spoke here is not known.
            let who = if principal == began { began } else { principal };
            access.is_admin(&cx.agent, who, verb)
                && now.is_none_or(|now| access.is_admin(now, who, verb))
        };
        // What hooks add is the operator's.
        let is_fine = |it: &Message| it.principal == Actor::Hook || may(&it.principal);
        may(began)
            && history.iter().all(is_fine)
            && !untrusted::is_noted(history)
            && cx.seen.is_own()
    }
}
