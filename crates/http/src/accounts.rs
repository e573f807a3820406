//! Our accounts on platforms: how each stands and whom it leads to, asking a platform about one,
//! and what one more would need. The admin's to know.

use crate::Server;
use crate::system::FindingView;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_api::{ApiError, ErrorBody};
use insula_config::AccountValue;
use insula_config::schema::CONNECTED;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// One of our accounts.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccountView {
    platform: &'static str,
    account: String,
    /// `connecting`, `connected`, `backing off`, `refused` or `off`.
    state: &'static str,
    /// Why, and what to do; or what it lacks although it is connected.
    reason: Option<String>,
    since: String,
    /// Events heard since the daemon started.
    events: u64,
    /// Failures since the daemon started.
    errors: u64,
    /// The agents that rules for this account or its platform lead to.
    agents: Vec<String>,
    /// The secrets of the daemon that its settings name, and whether each is kept.
    secrets: Vec<NamedSecret>,
}

/// A secret by its name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct NamedSecret {
    name: String,
    kept: bool,
}

/// A platform that there can be accounts of, and what one takes.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlatformView {
    platform: &'static str,
    /// What is done on its side first, in order.
    steps: &'static [&'static str],
    /// The settings that an account needs, and those that it may have.
    required: &'static [&'static str],
    optional: &'static [&'static str],
    /// Which of them are kept as secrets of the daemon. The first is called as the account is.
    secrets: Vec<&'static str>,
}

/// Which account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichAccount {
    platform: String,
    account: String,
}

/// The names of secrets in a setting, as `${secret:NAME}`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let references = text.split("${secret:").skip(1);
    references.filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

/// Every account of ours.
#[utoipa::path(get, path = "/api/accounts", responses((status = 200, body = [AccountView])), security(("token" = [])))]
pub async fn list(State(server): State<Server>) -> Json<Vec<AccountView>> {
    let snapshot = server.registry.snapshot();
    let configured = server.front.accounts();
    let all = server.platforms.accounts(&server.front).into_iter().map(|it| {
        let bindings = snapshot.router.bindings().iter().filter(|binding| {
            binding.matches.platform == it.platform
                && binding.matches.account.as_ref().is_none_or(|name| *name == it.account)
        });
        let agents: BTreeSet<String> = bindings.map(|binding| binding.agent.to_string()).collect();
        let own =
            configured.iter().find(|one| (one.platform, &one.name) == (it.platform, &it.account));
        let values = own.into_iter().flat_map(|own| own.values.values());
        let texts = values.flat_map(|value| match value {
            AccountValue::Text(text) => std::slice::from_ref(text),
            AccountValue::List(all) => all.as_slice(),
        });
        let secrets: BTreeSet<NamedSecret> = texts
            .flat_map(|text| named(text))
            .map(|name| NamedSecret {
                name: name.to_owned(),
                kept: server.front.filled_in(&format!("${{secret:{name}}}")).is_ok(),
            })
            .collect();
        AccountView {
            platform: it.platform.as_str(),
            account: it.account.to_string(),
            state: it.state.as_str(),
            reason: it.reason,
            since: it.since.to_string(),
            events: it.events,
            errors: it.errors,
            agents: agents.into_iter().collect(),
            secrets: secrets.into_iter().collect(),
        }
    });
    Json(all.collect())
}

/// Asks its platform about one account: who we are there, and what we lack.
#[utoipa::path(post, path = "/api/accounts/test", request_body = WhichAccount,
    responses((status = 200, body = FindingView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn test(
    State(server): State<Server>,
    body: Result<Json<WhichAccount>, JsonRejection>,
) -> Result<Json<FindingView>, ApiError> {
    let Json(WhichAccount { platform, account }) = body?;
    let found = server.platforms.examine_account(&server.front, &platform, &account).await;
    let found = found.ok_or_else(|| {
        let (platform, account) = (platform.escape_debug(), account.escape_debug());
        let message = format!("there is no account `{account}` of `{platform}`");
        ApiError::new(StatusCode::NOT_FOUND, "no_such_account", message)
    })?;
    Ok(Json(found.into()))
}

/// The platforms that there can be accounts of, and what each needs.
#[utoipa::path(get, path = "/api/platforms", responses((status = 200, body = [PlatformView])), security(("token" = [])))]
pub async fn platforms() -> Json<Vec<PlatformView>> {
    let all = CONNECTED.iter().map(|it| PlatformView {
        platform: it.platform,
        steps: it.steps(),
        required: it.required,
        optional: it.optional,
        secrets: it.secrets().collect(),
    });
    Json(all.collect())
}
