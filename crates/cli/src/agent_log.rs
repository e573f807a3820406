//! Gives each agent's log the events that name it. The daemon's own log has them too.

use insula_domain::AgentId;
use insula_registry::agent_logs::AgentLogs;
use insula_registry::secrets::SecretBook;
use insula_world::Clock;
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::sync::Arc;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer};

/// The field that says whose an event is.
const AGENT: &str = "agent";

/// Passes events on to the logs of the agents they name, without secrets.
pub struct AgentLayer {
    pub logs: Arc<AgentLogs>,
    pub secrets: Arc<SecretBook>,
    pub clock: Arc<dyn Clock>,
}

/// What agents' logs hear: what the daemon's own hears unless told otherwise, and turns.
pub fn heard() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target(insula_turns::LOG, LevelFilter::DEBUG)
        .with_target(insula_registry::lives::LOG, LevelFilter::DEBUG)
        .with_target("rmcp", LevelFilter::OFF)
}

impl<S: Subscriber> Layer<S> for AgentLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let Fields(mut fields) = fields;
        let Some(Value::String(agent)) = fields.remove(AGENT) else { return };
        let Ok(agent) = AgentId::new(&agent) else { return };
        let now = self.clock.now();
        let mut line = Map::new();
        line.insert("at".to_owned(), now.to_string().into());
        line.insert("level".to_owned(), event.metadata().level().as_str().into());
        line.insert("message".to_owned(), fields.remove("message").unwrap_or_default());
        for (name, value) in fields {
            line.entry(name).or_insert(value);
        }
        let line = Value::Object(line).to_string();
        let known = self.secrets.known();
        self.logs.push(agent, now, known.records().redact(&line).into_owned());
    }
}

/// The fields of an event.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}
