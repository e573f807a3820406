//! The searches of the web that agents ask: one question each, where it costs nothing or somebody
//! said that it may.

use super::{DoctorFinding, Status, finding};
use crate::Capabilities;
use crate::web::SessionWeb;
use insula_config::web::SearchProvider;
use insula_domain::Actor;
use insula_registry::registry::AgentState;
use insula_tools::Web as _;
use insula_tools::web::Unfetched;
use std::collections::BTreeMap;

/// Tries each search once, for the first agent that asks it.
pub async fn searches(caps: &Capabilities, paid: bool) -> Vec<DoctorFinding> {
    let snapshot = caps.registry.snapshot();
    let mut known = BTreeMap::new();
    for (id, entry) in &snapshot.agents {
        if let AgentState::Ready(agent) = &entry.state
            && let Some(search) = &agent.search
        {
            let key = (search.base_url.clone(), search.api_key.clone());
            known.entry(key).or_insert_with(|| (id, agent, search.provider));
        }
    }
    let mut findings = Vec::new();
    for ((url, _), (id, agent, provider)) in known {
        let name = format!("search of {id}");
        let path = match provider {
            SearchProvider::Searxng => "search?q=insula&format=json",
            SearchProvider::Brave if paid => "res/v1/web/search?q=insula&count=1",
            SearchProvider::Brave => {
                let detail = format!(
                    "{url} counts every search, so none was made; `insula doctor --paid` makes one"
                );
                findings.push(finding(&name, Status::Notice, detail));
                continue;
            }
        };
        let who = Actor::CommandLine;
        let web = SessionWeb::of_operator(caps, agent, &who);
        findings.push(match web.ask(path).await {
            Ok(page) if (200..300).contains(&page.status) => {
                finding(&name, Status::Good, format!("{url} answers"))
            }
            Ok(page) => {
                finding(&name, Status::Bad, format!("{url} answers with status {}", page.status))
            }
            Err(Unfetched::Unsent(error)) => {
                finding(&name, Status::Bad, format!("{url} was not asked: {error}"))
            }
            Err(Unfetched::Sent { why, .. }) => {
                finding(&name, Status::Bad, format!("{url} gave no answer: {why}"))
            }
        });
    }
    findings
}
