//! Takes out of what is said to an agent what no reader sees, wherever it comes in.

use crate::client::Wishes;
use crate::submit::{Around, Inbound};
use insula_domain::clean::{Removed, replace};
use insula_domain::{Actor, SessionKey};
use insula_registry::clean_schema::{clean_format, clean_tool, cleaned_json};
use insula_registry::context::AgentContext;
use insula_registry::trail::Trail;
use insula_store::{About, AgentCommand, Part};
use serde_json::{Map, Value, json};

/// Makes a message and what stands around it clean. What came by a platform was cleaned when it
/// arrived; here it is what came by the API, the terminal or another program.
pub(crate) fn clean(inbound: &mut Inbound, around: &mut Around, trail: &Trail) {
    let mut removed = Removed::default();
    let brought = inbound.history.iter_mut().flat_map(|(_, parts)| parts);
    for part in brought.chain(&mut inbound.parts) {
        clean_part(part, &mut removed);
    }
    for context in &mut around.context {
        replace(context, &mut removed);
    }
    clean_wishes(&mut around.wishes, &mut removed);
    if !removed.is_empty() {
        let (agent, who) = (&inbound.agent, &inbound.principal);
        around.first.push(cleaned(trail, agent, &inbound.session, who, &removed));
    }
}

fn clean_wishes(wishes: &mut Wishes, removed: &mut Removed) {
    for text in &mut wishes.stop {
        replace(text, removed);
    }
    wishes.stop.retain(|text| !text.is_empty());
    if let Some(format) = &mut wishes.format {
        clean_format(format, removed);
    }
    if !wishes.tools.is_empty() {
        let mut tools = wishes.tools.to_vec();
        tools.iter_mut().for_each(|tool| clean_tool(tool, removed));
        wishes.tools = tools.into();
    }
}

fn clean_part(part: &mut Part, removed: &mut Removed) {
    match part {
        Part::Text(text) | Part::Beside(text) | Part::ToolResult { text, .. } => {
            replace(text, removed);
        }
        Part::Attachment { name, .. } => {
            let mut text = String::from(std::mem::take(name));
            replace(&mut text, removed);
            *name = text.into();
        }
        Part::ToolCall { arguments, .. } => clean_arguments(arguments, removed),
        _ => {}
    }
}

/// Arguments are JSON, where what can't be seen may be written as an escape.
fn clean_arguments(arguments: &mut String, removed: &mut Removed) {
    if let Some(cleaned) = cleaned_json(arguments, removed) {
        *arguments = String::from(Box::<str>::from(cleaned));
    }
    replace(arguments, removed);
}

/// The record of what was taken out of a message.
pub fn cleaned(
    trail: &Trail,
    agent: &AgentContext,
    session: &SessionKey,
    actor: &Actor,
    removed: &Removed,
) -> AgentCommand {
    let counts: Map<String, Value> =
        removed.counts().map(|(kind, count)| (kind.as_str().to_owned(), count.into())).collect();
    let content = json!({ "removed": counts, "examples": removed.examples() });
    let about = About::Key(session.to_string().into());
    AgentCommand::Audit(trail.record(agent, about, actor, "message.cleaned", content))
}
