//! The user of the host that an agent's programs run as, where the daemon is root.
//!
//! Each agent has its own, which owns nothing else and is never given to another: a process
//! limit counts by user, and what is left of one agent must not be another's. An ordinary
//! user's programs run as that user.

use crate::error::RuntimeError;
use crate::house::House;
use insula_domain::AgentId;
use insula_sandbox::Owner;
use insula_store::DaemonCommand;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::sync::Mutex;

/// Where the store keeps them.
const KEY: &str = "children.users";
/// The first of the ids; from here on nothing else on a Linux machine takes any.
const FIRST: u32 = 0x7000_0000;
/// Ids of one house. Two houses of one machine have different ones, unless chance has it.
const HOUSE_BITS: u32 = 16;

/// The users of a house's agents.
#[derive(Default)]
pub(super) struct Owners {
    known: Mutex<Option<Known>>,
}

#[derive(Default, Clone)]
struct Known {
    /// The next one to give. None is given twice, so nobody inherits what a deleted agent left.
    next: u32,
    agents: BTreeMap<String, u32>,
}

/// Whether programs need a user of their own.
pub(super) fn are_needed() -> bool {
    rustix::process::geteuid().is_root()
}

impl Owners {
    /// The user of an agent's programs, chosen when it first needs one.
    pub(super) async fn of(&self, house: &House, agent: &AgentId) -> Result<Owner, RuntimeError> {
        let mut known = self.known.lock().await;
        let mut now = load(&mut known, house).await?.clone();
        let number = match now.agents.get(agent.as_str()) {
            Some(number) => *number,
            None => {
                let number = now.next;
                if number >> HOUSE_BITS != 0 {
                    return Err(RuntimeError::Invalid(
                        "there are no users left for the programs of new agents".to_owned(),
                    ));
                }
                now.next += 1;
                now.agents.insert(agent.to_string(), number);
                save(house, &now).await?;
                *known = Some(now);
                number
            }
        };
        let id = FIRST + house_part(house) + number;
        Ok(Owner { uid: id, gid: id })
    }

    /// Forgets whose a user was. It is not given again.
    pub(super) async fn forget(&self, house: &House, agent: &AgentId) -> Result<(), RuntimeError> {
        let mut known = self.known.lock().await;
        let mut now = load(&mut known, house).await?.clone();
        if now.agents.remove(agent.as_str()).is_some() {
            save(house, &now).await?;
            *known = Some(now);
        }
        Ok(())
    }
}

/// Tells houses apart by where they are.
fn house_part(house: &House) -> u32 {
    let hash = blake3::hash(house.home.real_root().as_os_str().as_encoded_bytes());
    let [a, b, ..] = *hash.as_bytes();
    (u32::from(u16::from_be_bytes([a, b])) >> 4) << HOUSE_BITS
}

async fn load<'k>(
    known: &'k mut Option<Known>,
    house: &House,
) -> Result<&'k mut Known, RuntimeError> {
    if known.is_none() {
        let text = house.store.daemon().value(KEY).await?;
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
    Ok(Known {
        next: number(&value["next"]).ok_or_else(broken)?,
        agents: agents.ok_or_else(broken)?,
    })
}

async fn save(house: &House, known: &Known) -> Result<(), RuntimeError> {
    let value = json!({ "next": known.next, "agents": known.agents }).to_string();
    let put = DaemonCommand::PutValue { key: KEY.into(), value };
    house.store.daemon().commit(vec![put], &house.fence).await?;
    Ok(())
}
