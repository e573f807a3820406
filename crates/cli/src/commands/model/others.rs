//! Agents that name a model themselves: what is written for all does not reach them.

use insula_config::{AgentOutcome, Loaded};
use serde_json::{Value, json};

/// Agents that are told of by name.
const NAMED_MAX: usize = 4;

/// Those that go on with another model.
#[derive(Default)]
pub struct Others {
    agents: Vec<Other>,
    /// Whether the one is among them that answers where nobody is named.
    pub has_default: bool,
}

struct Other {
    id: String,
    model: String,
    /// Where that stands.
    place: Option<String>,
}

impl Others {
    /// Those that this model is not the first of.
    pub fn new(loaded: &Loaded, model: &str) -> Self {
        let mut others = Self::default();
        for (id, outcome) in &loaded.agents {
            let AgentOutcome::Ready(config) = outcome else { continue };
            let Some(first) = config.models.first().map(ToString::to_string) else { continue };
            if first == model {
                continue;
            }
            let is_model = |path: &str| {
                path.strip_prefix("model").is_some_and(|it| it.is_empty() || it.starts_with('.'))
            };
            let place = config.settings.iter().find(|it| is_model(&it.path));
            let place = place.map(|it| it.origin.to_string());
            others.has_default |= config.answers_by_default;
            others.agents.push(Other { id: id.to_string(), model: first, place });
        }
        others
    }

    /// For people: who they are, and what to change.
    pub fn lines(&self) -> Vec<String> {
        let told = self.agents.iter().take(NAMED_MAX).map(|Other { id, model, place }| {
            let place = place.as_deref().unwrap_or("its own settings");
            format!(
                "agent `{id}` names its own model, {model}, and keeps it: change or remove `model` at {place}"
            )
        });
        let more = self.agents.len().saturating_sub(NAMED_MAX);
        let more = (more > 0).then(|| format!("{more} more agents name models of their own"));
        told.chain(more).collect()
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let all = self
            .agents
            .iter()
            .map(|it| json!({ "agent": it.id, "model": it.model, "at": it.place }));
        all.collect()
    }
}
