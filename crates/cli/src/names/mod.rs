//! Things by what they are called: who says a name instead of an id is understood where one alone
//! has it, who mistypes one is told which was probably meant, and lists have names beside ids.

mod asking;
pub mod files;
mod known;
pub mod things;

pub use known::short;

use axum::http::StatusCode;
use insula_config::suggest::nearest;
use serde_json::Value;

/// Where the paths of one agent begin.
const OF_AN_AGENT: &str = "/api/agents/";

/// The id of the only agent that is called so, where none has that for its id.
pub fn id_of(agents: &Value, called: &str) -> Option<String> {
    let all = agents.as_array()?;
    if all.iter().any(|it| it["id"] == called) {
        return None;
    }
    let is_called = |it: &&Value| it["name"].as_str().is_some_and(|name| same(name, called));
    let mut found = all.iter().filter(is_called);
    match (found.next(), found.next()) {
        (Some(one), None) => one["id"].as_str().map(str::to_owned),
        _ => None,
    }
}

/// Whether a path is about one agent and says no word of which.
pub fn names_nobody(path: &str) -> bool {
    path.strip_prefix(OF_AN_AGENT).is_some_and(|it| it.is_empty() || it.starts_with(['/', '?']))
}

/// Whether an answer says that there is no such agent.
pub fn is_unknown_agent(status: StatusCode, answer: &[u8]) -> bool {
    let told = || serde_json::from_slice::<Value>(answer).unwrap_or_default();
    status == StatusCode::NOT_FOUND && told()["error"]["code"] == "no_such_agent"
}

/// The path with the id of the only agent that is called as it says.
pub fn by_name(agents: &Value, path: &str) -> Option<String> {
    let rest = path.strip_prefix(OF_AN_AGENT)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (called, rest) = rest.split_at(end);
    let called = insula_domain::percent::decode(called)?;
    let is_called = |agent: &&Value| agent["name"].as_str().is_some_and(|name| same(name, &called));
    let mut found = agents.as_array()?.iter().filter(is_called);
    match (found.next(), found.next()) {
        (Some(one), None) => Some(format!("{OF_AN_AGENT}{}{rest}", one["id"].as_str()?)),
        _ => None,
    }
}

fn same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// The answer, with who was probably meant.
pub fn with_suggestion(agents: &Value, answer: Vec<u8>) -> Vec<u8> {
    let Ok(mut told) = serde_json::from_slice::<Value>(&answer) else { return answer };
    let message = told["error"]["message"].as_str().unwrap_or_default().to_owned();
    let Some(said) = message.split('`').nth(1) else { return answer };
    let all = || agents.as_array().into_iter().flatten();
    let called = all().filter(|it| it["name"].as_str().is_some_and(|name| same(name, said)));
    let called: Vec<String> =
        called.filter_map(|it| it["id"].as_str().map(str::to_owned)).collect();
    if called.len() > 1 {
        told["error"]["message"] = things::several(said, &called).into();
        return told.to_string().into_bytes();
    }
    let known: Vec<&str> =
        all().flat_map(|it| [it["id"].as_str(), it["name"].as_str()]).flatten().collect();
    let more = match nearest(said, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`insula agents list` has them all".to_owned(),
    };
    told["error"]["message"] = format!("{message}; {more}").into();
    told.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_agent_is_meant_by_its_id_or_by_a_name_that_it_has_alone() {
        let agents = json!([{ "id": "coder", "name": "Ada" }, { "id": "main", "name": "main" },
            { "id": "a", "name": "Twin" }, { "id": "b", "name": "Twin" }]);
        assert_eq!(id_of(&agents, "ada").as_deref(), Some("coder"));
        assert_eq!(id_of(&agents, "coder"), None, "it is one already");
        assert_eq!(id_of(&agents, "twin"), None, "two are called so");
    }

    #[test]
    fn an_agent_is_found_by_its_name_where_one_has_it() {
        let agents = json!([
            { "id": "coder", "name": "Ada the Coder" },
            { "id": "one", "name": "Twin" },
            { "id": "two", "name": "twin" },
        ]);
        let found = |path: &str| by_name(&agents, path);
        let tools = found("/api/agents/ada%20the%20coder/tools?x=1");
        assert_eq!(tools.as_deref(), Some("/api/agents/coder/tools?x=1"));
        assert_eq!(found("/api/agents/Ada%20the%20Coder").as_deref(), Some("/api/agents/coder"));
        assert_eq!(found("/api/agents/twin"), None);
        assert_eq!(found("/api/agents/nobody/tools"), None);
        assert_eq!(found("/api/status"), None);
    }

    #[test]
    fn no_word_is_no_agent() {
        for path in ["/api/agents/", "/api/agents//tools", "/api/agents/?limit=1"] {
            assert!(names_nobody(path), "{path}");
        }
        for path in ["/api/agents", "/api/agents?x=1", "/api/agents/a", "/api/agents/%20/tools"] {
            assert!(!names_nobody(path), "{path}");
        }
    }

    #[test]
    fn who_was_probably_meant_is_said() {
        let agents = json!([{ "id": "coder", "name": "Ada" }, { "id": "a", "name": "Twin" },
            { "id": "b", "name": "Twin" }]);
        let told = |said: &str| {
            let answer = json!({ "error": { "code": "no_such_agent", "message": format!("no agent `{said}` here") } });
            let told = with_suggestion(&agents, answer.to_string().into_bytes());
            serde_json::from_slice::<Value>(&told).unwrap()["error"]["message"].to_string()
        };
        assert_eq!(told("cdoer"), "\"no agent `cdoer` here; did you mean `coder`?\"");
        assert!(told("xyzzy").contains("insula agents list"));
        assert_eq!(told("twin"), "\"several are called `twin`; say the id: a, b\"");
    }
}
