//! `insula token …`

use super::text;
use crate::arguments::{Less, Token, TokenCreate};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

/// What a token takes away, as the settings of a way in.
fn settings(less: &Less) -> Result<Option<String>, Failure> {
    let Less { tools, without, model, budget, rules } = less;
    let mut all = String::new();
    // JSON is YAML, and quotes what needs to be.
    let mut put = |key: &str, value: Value| all += &format!("{key}: {value}\n");
    let mut table = serde_json::Map::new();
    if !tools.is_empty() {
        table.insert("allow".to_owned(), json!(tools));
    }
    if !without.is_empty() {
        table.insert("deny".to_owned(), json!(without));
    }
    if !table.is_empty() {
        put("tools", table.into());
    }
    if let Some(model) = model {
        put("model", json!(model));
    }
    let mut limits = serde_json::Map::new();
    for pair in budget {
        let limit = pair.split_once('=');
        let Some((key, value)) = limit.and_then(|(k, v)| Some((k, v.parse::<f64>().ok()?))) else {
            let message = format!("`{pair}` is no LIMIT=NUMBER, such as usd_per_day=1.5");
            return Err(Failure::WrongUse(message));
        };
        let whole = value.fract() == 0.0 && key != "usd_per_day";
        #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
        limits.insert(key.to_owned(), if whole { json!(value as i64) } else { json!(value) });
    }
    if !limits.is_empty() {
        put("budget", limits.into());
    }
    if let Some(rules) = rules {
        all += "rules:\n";
        rules.lines().for_each(|line| all += &format!("  {line}\n"));
    }
    Ok((!all.is_empty()).then_some(all))
}

/// What a token may do, and where it is for one scope alone, in which.
fn may(token: &Value) -> String {
    let verbs = super::list(&token["verbs"]);
    match token["scope"].as_str() {
        Some(scope) => format!("{verbs} in {}", output::clean(scope)),
        None => verbs,
    }
}

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Token) -> Result<u8, Failure> {
    match command {
        Token::Create(asked) => {
            let TokenCreate { agents, verbs, scope, note, metadata, less } = *asked;
            let verbs = if verbs.is_empty() { Value::Null } else { json!(verbs) };
            let mut values = serde_json::Map::new();
            for pair in metadata {
                let Some((key, value)) = pair.split_once('=') else {
                    let message = format!("`{pair}` is no KEY=VALUE");
                    return Err(Failure::WrongUse(message));
                };
                values.insert(key.to_owned(), json!(value));
            }
            let agents = reach.ids_of(agents).await?;
            let mut body = json!({
                "agents": agents,
                "verbs": verbs,
                "note": note,
                "metadata": values,
                "less": settings(&less)?,
            });
            if let Some(scope) = scope {
                body["scope"] = scope.into();
            }
            let made = reach.post("/api/tokens", Some(body)).await?;
            answer.give(&made, |made| {
                output::line(&text(made, "token"));
                // Beside the answer: a script takes the token, and nothing else.
                output::notice("keep it: it is not shown again");
            });
        }
        Token::List => {
            let tokens = reach.get("/api/tokens").await?;
            let show = |tokens: &Value| {
                let rows = tokens.as_array().into_iter().flatten().map(|token| {
                    vec![
                        text(token, "id"),
                        super::list(&token["agents"]),
                        may(token),
                        text(token, "created"),
                        super::list(&token["less"]),
                        text(token, "note"),
                    ]
                });
                output::table(&["id", "agents", "may", "created", "less", "note"], rows);
            };
            reach.give(answer, &tokens, show).await;
        }
        Token::Revoke { id } => {
            reach.delete(&format!("/api/tokens/{}", part(&id))).await?;
            answer.give(&json!({ "id": id, "revoked": true }), |_| {
                output::line(&format!("revoked {id}"))
            });
        }
    }
    Ok(0)
}
