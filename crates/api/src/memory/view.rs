//! Fragments and where they came from, as they are shown.

use crate::Api;
use crate::caller::Within;
use crate::numbers::{Number, Numbers};
use insula_memory::Seen;
use insula_registry::AgentContext;
use insula_store::{Fragment, MemorySource, Provenance};
use serde::Serialize;
use utoipa::ToSchema;

/// Where a fragment came from.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProvenanceView {
    /// `null` for what was not taken in yet.
    record: Option<i64>,
    source: &'static str,
    principal: String,
    platform: String,
    #[schema(value_type = Option<Object>)]
    session: Option<Number>,
    message: Option<u64>,
    call: Option<String>,
    generation: u64,
    at: String,
    approved_by: Option<String>,
    /// The audiences that the words came from, where a turn wrote them.
    audience: Option<String>,
    /// The fragments whose words went into it.
    #[schema(value_type = Vec<Object>)]
    from: Vec<Number>,
    hash: Option<String>,
    previous: Option<String>,
}

/// Something remembered.
#[derive(Debug, Serialize, ToSchema)]
pub struct FragmentView {
    /// `null` for what somebody wrote into a file and was not taken in yet.
    #[schema(value_type = Option<Object>)]
    id: Option<Number>,
    scope: String,
    /// `memory`, `user`, or the day of a daily note.
    target: String,
    text: String,
    /// Whether it is kept from every model.
    blocked: bool,
    blocked_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<ProvenanceView>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ProvenanceView {
    /// A record, as this reader sees it.
    pub(super) fn of(numbers: &Numbers, record: Provenance) -> Self {
        let origin = record.origin;
        Self {
            record: Some(record.seq.0),
            source: origin.source.as_str(),
            principal: origin.principal.to_string(),
            platform: origin.platform.into(),
            session: origin.session.map(|session| numbers.session(session)),
            message: origin.message.map(|message| message.0),
            call: origin.call.map(Into::into),
            generation: origin.generation,
            at: origin.at.to_string(),
            approved_by: origin.approved_by.map(|by| by.to_string()),
            audience: origin.label.map(Into::into),
            from: record.parents.iter().map(|id| numbers.fragment(*id)).collect(),
            hash: Some(hex(&record.mac)),
            previous: Some(hex(&record.prev)),
        }
    }
}

impl FragmentView {
    /// As somebody sees it who sees so much: where words came from may be another scope.
    pub(super) fn within(self, within: Within<'_>) -> Self {
        match within {
            Within::Whole => self,
            Within::Scope(_) => Self { provenance: None, ..self },
        }
    }
}

/// A fragment as it is shown.
pub(super) fn view(
    api: &Api,
    numbers: &Numbers,
    agent: &AgentContext,
    fragment: Fragment,
    record: Option<Provenance>,
) -> FragmentView {
    FragmentView {
        id: Some(numbers.fragment(fragment.id)),
        scope: fragment.scope.to_string(),
        target: fragment.target.name(),
        text: api.secrets.known().told(&agent.id, fragment.text),
        blocked: fragment.blocked.is_some(),
        blocked_reason: fragment.blocked.map(Into::into),
        provenance: record.map(|record| ProvenanceView::of(numbers, record)),
    }
}

/// What a look found, as it is shown.
pub(super) fn seen(api: &Api, numbers: &Numbers, agent: &AgentContext, seen: Seen) -> FragmentView {
    match seen {
        Seen::Known(fragment, record) => view(api, numbers, agent, fragment, Some(record)),
        Seen::Written { scope, target, text, blocked } => FragmentView {
            id: None,
            scope: scope.to_string(),
            target: target.name(),
            text: api.secrets.known().told(&agent.id, text),
            blocked: blocked.is_some(),
            blocked_reason: blocked.map(Into::into),
            provenance: Some(ProvenanceView {
                record: None,
                source: MemorySource::ExternalEdit.as_str(),
                principal: "file".to_owned(),
                platform: "file".to_owned(),
                session: None,
                message: None,
                call: None,
                generation: agent.generation.0,
                at: api.world.clock.now().to_string(),
                approved_by: None,
                audience: None,
                from: Vec::new(),
                hash: None,
                previous: None,
            }),
        },
    }
}
