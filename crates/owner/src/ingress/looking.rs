//! Commands about the conversation and the agent in it: what was used, who is here, what was said
//! last. Nothing here shows what another conversation holds.

use super::stored::StoredMessage;
use super::{Ingress, IngressContext};
use insula_channel::Happening;
use insula_domain::{Actor, ChatType};
use insula_registry::agent_logs::files;
use insula_store::{StoreError, Totals, UsageOf};
use insula_turns::budget::report::days_ago;
use insula_turns::{SubmitError, Undone};

/// Lines of the log that one answer shows.
const LOG_LINES: usize = 15;
/// Characters of them.
const LOG_CHARS: usize = 3_000;

impl Ingress {
    /// The tools that the agent has here, by all the ways that lead to it.
    pub(super) fn tools(&self, cx: &IngressContext<'_>) -> String {
        let ways = self.access.ways(&cx.agent.id, &cx.envelope.address);
        let served = match cx.agent.through(&ways) {
            Ok(served) => served,
            Err(why) => return format!("I can't serve here: {why}"),
        };
        let known = served.tools().exposed().filter(|tool| served.runs(tool)).map(str::to_owned);
        let all: Vec<String> = known.chain(served.toolbox.names().map(str::to_owned)).collect();
        match all.is_empty() {
            true => "I have no tools here".to_owned(),
            false => format!("I can use here: {}", all.join(", ")),
        }
    }

    /// What somebody used today; an admin hears what everybody did.
    pub(super) async fn usage(&self, cx: &IngressContext<'_>) -> Result<String, StoreError> {
        let today = days_ago(self.now(), 1);
        let store = &cx.agent.store;
        let of = UsageOf::Principal(cx.caller.actor().as_str().into());
        let mut told = format!("you today: {}", used(&store.usage_of(of, today).await?));
        if cx.caller.is_admin() {
            let all = store.usage_of(UsageOf::Agent, today).await?;
            told += &format!("\neverybody today: {}", used(&all));
        }
        Ok(told)
    }

    /// Who spoke in this conversation lately, and who answers.
    pub(super) async fn who(&self, cx: &IngressContext<'_>) -> Result<String, StoreError> {
        let mut people = self.engine.speakers(cx.agent, &cx.session).await?;
        people.insert(cx.caller.actor().to_string());
        let people: Vec<String> = people.into_iter().collect();
        let name = &cx.agent.identity.name;
        Ok(format!("{name} answers; in this conversation speak {}", people.join(", ")))
    }

    /// Has the last message answered again; what is said where it can't be.
    pub(super) async fn retry(&self, cx: &IngressContext<'_>) -> String {
        let IngressContext { agent, caller, envelope, session, .. } = cx;
        let Happening::Said(message) = &envelope.what else { return String::new() };
        let kept = StoredMessage::of(envelope, message, &caller.principal.user);
        let user = caller.principal.user.clone();
        let inbound = self.inbound(agent, session, &envelope.address, user, &kept, &kept);
        match self.engine.retry(inbound).await {
            Ok(Some(turn)) => {
                self.out.follow((*agent).clone(), cx.place(), Some(kept.id()), turn);
                String::new()
            }
            Ok(None) => "there is nothing of yours to answer again".to_owned(),
            Err(SubmitError::UnderWay { .. }) => BUSY.to_owned(),
            Err(SubmitError::Budget(refusal)) => refusal.to_people(),
            Err(error) => super::act::told(agent, "that could not be answered again", &error),
        }
    }

    /// Takes the last exchange out of the conversation.
    pub(super) async fn undo(&self, cx: &IngressContext<'_>) -> String {
        let who: Actor = cx.caller.actor();
        match self.engine.undo(cx.agent, &cx.session, &who).await {
            Ok(Undone::Yes) => {
                "taken back: I go on as if your last message and my answer had not been said. What I did because of it stays done".to_owned()
            }
            Ok(Undone::Nothing) => "there is nothing of yours to take back".to_owned(),
            Ok(Undone::UnderWay) => BUSY.to_owned(),
            Err(error) => super::act::told(cx.agent, "that could not be taken back", &error),
        }
    }

    /// The end of the agent's log, for admins, where nobody reads along.
    pub(super) async fn logs(&self, cx: &IngressContext<'_>) -> String {
        if cx.envelope.address.chat_type != ChatType::Dm {
            return "others read here; say /logs to me in a direct chat".to_owned();
        }
        let folder = self.home.agent(&cx.agent.id);
        let read = self.world.storage.run(move || {
            let day = files::days(&folder).pop()?;
            files::read(&folder, &day, 0).ok().map(|(text, _)| text)
        });
        let Ok(Some(text)) = read.await else { return "my log is empty".to_owned() };
        let lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        let all = lines.join("\n").replace('`', "'");
        let from = all.char_indices().rev().nth(LOG_CHARS).map_or(0, |(at, _)| at);
        format!("```\n{}\n```", &all[from..])
    }
}

/// What is said where a turn has to end first.
pub(super) const BUSY: &str = "I am still at it; /stop ends that first";

/// What was used, for people.
fn used(totals: &Totals) -> String {
    let turns = if totals.turns == 1 { "turn" } else { "turns" };
    let (input, output) = (totals.usage.input, totals.usage.output);
    let mut told = format!("{} {turns}, {input} tokens in, {output} out", totals.turns);
    if totals.usage.cost_micros > 0 {
        told += &format!(", ${:.4}", totals.usage.cost_micros as f64 / 1e6);
    }
    told
}
