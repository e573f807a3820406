//! What `insula doctor` says about accounts: who we are there, and what we lack.

use super::Workshop;
use super::keeper::{identify, make};
use super::settings::{Wanted, wanted};
use crate::adapter::Fault;
use futures_util::{StreamExt as _, stream};
use insula_config::Account;
use insula_runtime::House;
use insula_runtime::doctor::{Finding, Status};

/// Accounts that are asked at the same time.
const AT_ONCE_MAX: usize = 16;

/// Asks each platform about each account. Needs no running gateway.
pub async fn examine(house: &House, workshop: &dyn Workshop) -> Vec<Finding> {
    let accounts = house.snapshot().daemon.accounts.clone();
    stream::iter(accounts)
        .map(async |account| examine_one(house, workshop, &account).await)
        .buffered(AT_ONCE_MAX)
        .collect()
        .await
}

async fn examine_one(house: &House, workshop: &dyn Workshop, account: &Account) -> Finding {
    let (status, detail) = match wanted(house, account) {
        Wanted::Off(why) if !account.enabled || !account.is_built() => (Status::Off, why),
        Wanted::Off(why) => (Status::Bad, why),
        Wanted::On(settings) => match make(workshop, &settings) {
            Err(fault) => told(&fault),
            Ok(adapter) => match identify(&*adapter, &house.world).await {
                Err(fault) => told(&fault),
                Ok(us) if us.missing.is_empty() => {
                    (Status::Good, format!("we are {} ({})", us.name, us.id))
                }
                Ok(us) => {
                    let lacks = us.missing.join("; ");
                    (Status::Notice, format!("we are {} ({}); {lacks}", us.name, us.id))
                }
            },
        },
    };
    // What a platform or a library says may quote a token.
    let detail = house.secrets.known().records().redact(&detail).into_owned();
    Finding { name: format!("account {}.{}", account.platform, account.name), status, detail }
}

fn told(fault: &Fault) -> (Status, String) {
    let what = match fault {
        Fault::Refused(_) => "refused",
        Fault::Broken { .. } => "can't be reached",
    };
    (Status::Bad, format!("{what}: {fault}"))
}
