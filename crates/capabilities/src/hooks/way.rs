//! How hooks that are not expressions are asked: a program in the agent's sandbox, or a
//! server that the operator named.

use super::Occasion;
use crate::Capabilities;
use crate::programs::{HookProgram, Prints};
use insula_config::hook::{Hook, HookOwner};
use insula_store::{About, SessionId};
use serde_json::{Map, Value};

/// Runs a program: the payload on its standard input, the answer on its standard output.
pub(super) async fn command(
    caps: &Capabilities,
    hook: &Hook,
    occasion: &Occasion<'_>,
    command: &str,
    payload: &Map<String, Value>,
) -> Result<Vec<u8>, String> {
    let (Some(files), Some((_, session))) = (occasion.files, occasion.session) else {
        return Err("there is no conversation here for a program to run in".to_owned());
    };
    // Whoever is admitted has turns for a bound; before that there is none.
    let _room = match hook.event.is_before_the_door() {
        true => Some(occasion.agent.hooks.crowd.enter().await?),
        false => None,
    };
    // Beside the configuration, where no agent can write: a guard is no use to somebody who
    // can change it.
    let owner = match hook.owner {
        HookOwner::Daemon => None,
        HookOwner::Agent => Some(occasion.agent.id.clone()),
    };
    let (home, policy) = (caps.home.clone(), hook.policy.clone());
    let folder = caps.world.storage.run(move || match &policy {
        Some(policy) => home.policy(policy).map(Some),
        None => Ok(home.hooks(owner.as_ref())),
    });
    let folder = folder.await;
    let folder = folder.map_err(|error| error.to_string())??;
    let program = HookProgram {
        agent: occasion.agent,
        session,
        principal: occasion.principal,
        files,
        folder: folder.as_deref(),
        command,
        timeout: hook.timeout,
        answer_max: crate::programs::ANSWER_BYTES_MAX,
        prints: Prints::Answer,
    };
    program.run(caps, text(payload)).await
}

/// Posts the payload; the answer is the body. Naming the address grants its host, to this hook
/// and to nothing else.
pub(super) async fn http(
    caps: &Capabilities,
    hook: &Hook,
    occasion: &Occasion<'_>,
    url: &str,
    payload: &Map<String, Value>,
) -> Result<Vec<u8>, String> {
    let host = insula_config::hook_host(url).ok_or("the address has no plain host")?;
    crate::programs::post(
        caps,
        occasion.agent,
        occasion.principal,
        whose(occasion),
        (url, host),
        text(payload),
        hook.timeout,
    )
    .await
}

/// Whose matter it is. What a conversation says before it has a session is known by its key.
fn whose(occasion: &Occasion<'_>) -> About {
    match occasion.session {
        None => About::Agent,
        Some((key, SessionId(0))) => About::Key(key.to_string().into()),
        Some((_, id)) => About::Session(id),
    }
}

fn text(payload: &Map<String, Value>) -> Vec<u8> {
    // A map of values always has a text.
    serde_json::to_vec(payload).unwrap_or_default()
}
