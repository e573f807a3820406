//! What became of the calls of a turn that words of others may have brought about, by the agent's
//! audit. Knows nothing of what was called with which arguments.

use insula_store::audit::AUDIT_PAGE_MAX;
use insula_store::{AgentStore, AuditRecord, Seq, StoreError, Turn};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Most records that are looked through for one turn: others are written while one goes on.
const RECORDS_MAX: usize = 20_000;
/// The rule in records that are about it.
const INTEGRITY: &str = "integrity";

/// What became of a call that words of others may have brought about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct RulingView {
    /// The rule, and the setting that says so.
    by: String,
    /// `refused` unasked; or somebody was asked, and it `waits`, or was `approved`, `denied`,
    /// `timed_out` or `stopped`.
    outcome: &'static str,
    /// Who answered.
    answered_by: Option<String>,
}

/// The calls of a turn about which something was ruled, by their ids.
pub(super) async fn of(
    store: &AgentStore,
    turn: &Turn,
) -> Result<BTreeMap<String, RulingView>, StoreError> {
    let mut rulings = Rulings::default();
    let mut after = begin(store, turn).await?;
    for _ in 0..RECORDS_MAX / AUDIT_PAGE_MAX {
        let records = store.audit_after(after, AUDIT_PAGE_MAX).await?;
        let Some(last) = records.last() else { break };
        let is_over = turn.ended_at.is_some_and(|ended| last.at > ended);
        after = last.seq;
        records.iter().for_each(|record| rulings.read(record, turn));
        if is_over {
            break;
        }
    }
    Ok(rulings.by_call)
}

/// A record after which those of the turn are. Records stand in the order of time.
async fn begin(store: &AgentStore, turn: &Turn) -> Result<Seq, StoreError> {
    let head = store.audit_tail(1).await?.last().map_or(0, |record| record.seq.0);
    // All up to the first are older, and the second is not.
    let (mut older, mut newer) = (0, head + 1);
    while newer - older > 1 {
        let middle = older + (newer - older) / 2;
        let found = store.audit_after(Seq(middle - 1), 1).await?;
        match found.first().is_some_and(|record| record.at < turn.accepted_at) {
            true => older = middle,
            false => newer = middle,
        }
    }
    Ok(Seq(older))
}

#[derive(Default)]
struct Rulings {
    by_call: BTreeMap<String, RulingView>,
    /// The calls that were asked for, by the question.
    asked: BTreeMap<String, String>,
}

impl Rulings {
    fn read(&mut self, record: &AuditRecord, turn: &Turn) {
        let content = record.content.as_deref().and_then(|it| serde_json::from_str(it).ok());
        let Some(content) = content.filter(|it: &Value| it["turn"] == turn.id.0) else { return };
        if content["rule"] != INTEGRITY {
            return;
        }
        let text = |name: &str| content[name].as_str().unwrap_or_default().to_owned();
        let fresh = |outcome| RulingView { by: text("about"), outcome, answered_by: None };
        match &*record.kind {
            "approval.asked" => {
                self.asked.insert(text("approval"), text("call"));
                self.by_call.insert(text("call"), fresh("waits"));
            }
            // What somebody refused is refused by them.
            "tool.call" if content["verdict"] == "refused" => {
                self.by_call.entry(text("call")).or_insert_with(|| fresh("refused"));
            }
            kind => {
                let Some(outcome) = outcome(kind) else { return };
                let asked = self.asked.get(&text("approval"));
                if let Some(ruling) = asked.and_then(|call| self.by_call.get_mut(call)) {
                    let is_answer = matches!(outcome, "approved" | "denied");
                    ruling.outcome = outcome;
                    ruling.answered_by = is_answer.then(|| record.actor.to_string());
                }
            }
        }
    }
}

fn outcome(kind: &str) -> Option<&'static str> {
    let outcomes = ["approved", "denied", "timed_out", "stopped"];
    let told = kind.strip_prefix("approval.")?;
    outcomes.into_iter().find(|outcome| *outcome == told)
}
