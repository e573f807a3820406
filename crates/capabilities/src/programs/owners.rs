//! The user of the host that an agent's programs run as, where the daemon is root.
//!
//! Each agent has its own, which owns nothing else and is never given to another: a process
//! limit counts by user, and what is left of one agent must not be another's. Which one it is
//! is chance: a program sees its own, and numbers in a row would tell it how many others there
//! are. An ordinary user's programs run as that user.

use crate::Capabilities;
use insula_domain::AgentId;
use insula_registry::Home;
use insula_registry::error::RuntimeError;
use insula_sandbox::HostUser;
use insula_store::{DaemonCommand, DaemonLease};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::Mutex;

/// Where the store keeps them.
const KEY: &str = "children.users";
/// The first of the ids; from here on nothing else on a Linux machine takes any.
const FIRST: u32 = 0x7000_0000;
/// Ids of one daemon. Two daemons of one machine have different ones, unless chance has it.
const DAEMON_BITS: u32 = 16;

/// The users of a daemon's agents.
#[derive(Default)]
pub(super) struct Owners {
    known: Mutex<Option<Known>>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Known {
    /// All that were ever given. None is given twice, so nobody inherits what a deleted agent
    /// left.
    given: BTreeSet<u32>,
    agents: BTreeMap<String, u32>,
}

impl Known {
    /// One that was never given, by chance; nothing where hardly any is left.
    fn unused(&self, mut random: impl FnMut() -> u16) -> Option<u32> {
        let mut tries = (0..TRIES_MAX).map(|_| u32::from(random()));
        tries.find(|number| !self.given.contains(number))
    }
}

/// How often chance is tried. A daemon that has given half of its numbers misses once in 2^64.
const TRIES_MAX: usize = 64;

/// Whether programs need a user of their own.
pub(super) fn are_needed() -> bool {
    rustix::process::geteuid().is_root()
}

impl Owners {
    /// The user of an agent's programs, chosen when it first needs one.
    pub(super) async fn of(
        &self,
        caps: &Capabilities,
        agent: &AgentId,
    ) -> Result<HostUser, RuntimeError> {
        let lease = caps.owner.daemon();
        let mut known = self.known.lock().await;
        let mut now = load(&mut known, &lease).await?.clone();
        let number = match now.agents.get(agent.as_str()) {
            Some(number) => *number,
            None => {
                // How many there were before must not show in what this one draws.
                let mut random = caps.world.random.stream(&["children.user", agent.as_str()]);
                let number = now.unused(|| u16::from_be_bytes(random.bytes()));
                let number = number.ok_or_else(|| {
                    RuntimeError::Invalid(
                        "there are no users left for the programs of new agents".to_owned(),
                    )
                })?;
                now.given.insert(number);
                now.agents.insert(agent.to_string(), number);
                save(&lease, &now).await?;
                *known = Some(now);
                number
            }
        };
        let id = FIRST + daemon_part(&caps.home) + number;
        Ok(HostUser { uid: id, gid: id })
    }

    /// Forgets whose a user was. It is not given again.
    pub(super) async fn forget(
        &self,
        lease: &DaemonLease,
        agent: &AgentId,
    ) -> Result<(), RuntimeError> {
        let mut known = self.known.lock().await;
        let mut now = load(&mut known, lease).await?.clone();
        if now.agents.remove(agent.as_str()).is_some() {
            save(lease, &now).await?;
            *known = Some(now);
        }
        Ok(())
    }
}

/// Tells daemons apart by where they are.
fn daemon_part(home: &Home) -> u32 {
    let hash = blake3::hash(home.real_root().as_os_str().as_encoded_bytes());
    let [a, b, ..] = *hash.as_bytes();
    (u32::from(u16::from_be_bytes([a, b])) >> 4) << DAEMON_BITS
}

async fn load<'k>(
    known: &'k mut Option<Known>,
    lease: &DaemonLease,
) -> Result<&'k mut Known, RuntimeError> {
    if known.is_none() {
        let text = lease.value(KEY).await?;
        *known = Some(text.map(|text| parse(&text)).transpose()?.unwrap_or_default());
    }
    Ok(known.get_or_insert_default())
}

fn parse(text: &str) -> Result<Known, RuntimeError> {
    let broken = || RuntimeError::Invalid(format!("`{KEY}` in insula.db can't be read"));
    let value: Value = serde_json::from_str(text).map_err(|_| broken())?;
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let agents = value["agents"].as_object().ok_or_else(broken)?.iter();
    let agents = agents.map(|(name, id)| Some((name.clone(), number(id)?))).collect::<Option<_>>();
    let given = match (&value["given"], number(&value["next"])) {
        (Value::Array(given), _) => given.iter().map(number).collect::<Option<_>>(),
        // They were given in a row once.
        (_, Some(next)) => Some((0..next).collect()),
        _ => None,
    };
    Ok(Known { given: given.ok_or_else(broken)?, agents: agents.ok_or_else(broken)? })
}

async fn save(lease: &DaemonLease, known: &Known) -> Result<(), RuntimeError> {
    let value = json!({ "given": known.given, "agents": known.agents }).to_string();
    let put = DaemonCommand::PutValue { key: KEY.into(), value };
    lease.commit(vec![put]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;

    #[test]
    fn what_was_given_is_not_given_again_and_how_much_was_does_not_show() {
        let few = parse(r#"{"given": [7], "agents": {"a": 7}}"#).unwrap();
        assert_eq!(few.unused(|| 9), Some(9));
        assert_eq!(few.unused(|| 7), None);
        let mut drawn = [7, 7, 8].into_iter();
        assert_eq!(few.unused(|| drawn.next().unwrap()), Some(8));
        // One that was given in a row is known as that.
        let row = parse(r#"{"next": 3, "agents": {"a": 1}}"#).unwrap();
        assert_eq!(row.given, [0, 1, 2].into());
        assert_eq!(row.unused(|| 9), Some(9));
        assert!(parse(r#"{"agents": {}}"#).is_err());
    }
}
