//! Calls as they are meant: arguments are mended by the tool's own schema when an answer is taken,
//! before it is journalled. So the journal, the gate, approvals, hooks and the tool see the same.

use crate::prompt::SKILL_VIEW;
use crate::turn::Turn;
use insula_models::ToolSchema;
use insula_models::text_calls::text_call;
use insula_store::Part;
use insula_tools::mend::mend;
use insula_tools::{Habits, ToolRef, nearest};
use serde_json::{Map, Value, json};

/// Names of tools that a refusal lists.
const LISTED_MAX: usize = 24;

/// What to call instead of a tool that there is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    /// What may have been meant.
    pub near: Vec<String>,
    /// What there is.
    pub offered: Vec<String>,
}

impl Turn<'_> {
    /// The parts of an answer, with the arguments of its calls as they are meant.
    /// `own` are the tools of the agent's that the model was shown.
    pub(super) fn mended(&mut self, mut parts: Vec<Part>, own: &[ToolSchema]) -> Vec<Part> {
        for part in &mut parts {
            let Part::ToolCall { id, name, arguments } = part else { continue };
            if self.is_skill(name) {
                *arguments = json!({ "name": &**name }).to_string();
                *name = SKILL_VIEW.into();
                self.mends.insert(id.clone(), vec!["a skill was called as a tool".to_owned()]);
                continue;
            }
            let mended = match (self.cx.wishes.find(name, own), self.tool(name)) {
                // Of a tool of whoever asks, its schema is all that is known.
                (Some(theirs), _) => {
                    let nothing = |_: &Map<String, Value>| Vec::new();
                    mend(theirs.parameters.get(), &Habits::default(), nothing, arguments)
                }
                (None, Some(tool)) => {
                    let left_out = |given: &Map<String, Value>| tool.left_out(given);
                    mend(tool.parameters(), &tool.habits(), left_out, arguments)
                }
                (None, None) => None,
            };
            let Some(mended) = mended else { continue };
            *arguments = Value::Object(mended.arguments).to_string();
            let mends = mended.mends.iter().map(ToString::to_string).collect();
            self.mends.insert(id.clone(), mends);
        }
        parts
    }

    /// Whether a name is that of a skill and of nothing else. To call one can only mean to do what
    /// it says, and that begins with looking at it.
    fn is_skill(&self, name: &str) -> bool {
        let agent = &self.cx.agent;
        agent.skills.get(name).is_some()
            && agent.tools().verdict(SKILL_VIEW).is_in()
            && self.tool(name).is_none()
            && self.cx.wishes.tools.iter().all(|tool| *tool.name != *name)
            && insula_domain::tool::find(name).is_none()
    }

    /// A tool of the agent's own, or one that is built in.
    fn tool(&self, name: &str) -> Option<ToolRef> {
        let built_in = || self.shop.built.iter().copied().find(|tool| tool.name() == name);
        self.cx.agent.toolbox.find(name).or_else(|| built_in().map(ToolRef::BuiltIn))
    }

    /// What there is instead of a tool that exists nowhere.
    pub(super) fn instead_of(
        &self,
        name: &str,
        history: &[insula_store::Message],
    ) -> Option<Instead> {
        if self.tool(name).is_some() || insula_domain::tool::find(name).is_some() {
            return None;
        }
        let tools = self.shop.tools_in(&self.cx.agent, history);
        let names = || tools.iter().map(|tool| &*tool.name);
        let near = nearest(name, names()).into_iter().map(str::to_owned).collect();
        let offered = names().take(LISTED_MAX).map(str::to_owned).collect();
        Some(Instead { near, offered })
    }

    /// Notes in the record of a call whether it came as text, and what of it was mended.
    pub(super) fn note_form(&self, call: &str, content: &mut Value) {
        if let Some(form) = text_call(call) {
            content["as_text"] = json!(form.as_str());
        }
        if let Some(mends) = self.mends.get(call) {
            content["mended"] = json!(mends);
        }
    }
}
