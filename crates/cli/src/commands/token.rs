//! `insula token …`

use super::text;
use crate::arguments::Token;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Value, json};

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
        Token::Create { agents, verbs, scope, note, metadata } => {
            let verbs = if verbs.is_empty() { Value::Null } else { json!(verbs) };
            let mut values = serde_json::Map::new();
            for pair in metadata {
                let Some((key, value)) = pair.split_once('=') else {
                    let message = format!("`{pair}` is no KEY=VALUE");
                    return Err(Failure::WrongUse(message));
                };
                values.insert(key.to_owned(), json!(value));
            }
            let mut body =
                json!({ "agents": agents, "verbs": verbs, "note": note, "metadata": values });
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
            answer.give(&tokens, |tokens| {
                let rows = tokens.as_array().into_iter().flatten().map(|token| {
                    vec![
                        text(token, "id"),
                        super::list(&token["agents"]),
                        may(token),
                        text(token, "created"),
                        text(token, "note"),
                    ]
                });
                output::table(&["id", "agents", "may", "created", "note"], rows);
            });
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
