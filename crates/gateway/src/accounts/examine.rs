//! What `insula doctor` says about accounts: who we are there, and what we lack.

use super::Connections;
use super::keeper::{identify, make};
use super::settings::{AccountPlan, is_reference, sketch, wanted};
use futures_util::{StreamExt as _, stream};
use insula_capabilities::doctor::{DoctorFinding, Status};
use insula_channel::{AdapterFactory, ConnectFault};
use insula_config::Account;
use insula_registry::Front;

/// Accounts that are asked at the same time.
const AT_ONCE_MAX: usize = 16;

/// Asks each platform about each account. Needs no running gateway; where one is, its adapters
/// also tell what they met.
pub async fn examine(
    front: &Front,
    factory: &dyn AdapterFactory,
    running: Option<&Connections>,
) -> Vec<DoctorFinding> {
    let accounts = front.accounts();
    stream::iter(accounts)
        .map(async |account| examine_one(front, factory, running, &account).await)
        .buffered(AT_ONCE_MAX)
        .collect()
        .await
}

/// The same about one account.
pub async fn examine_one(
    front: &Front,
    factory: &dyn AdapterFactory,
    running: Option<&Connections>,
    account: &Account,
) -> DoctorFinding {
    let connected = running.and_then(|running| running.adapter(account.platform, &account.name));
    let (status, detail) = match wanted(front, account) {
        AccountPlan::Off(why) if !account.enabled || !account.is_built() => (Status::Off, why),
        AccountPlan::Off(why) => (Status::Bad, why),
        AccountPlan::On(settings) => match connected.map_or_else(|| make(factory, &settings), Ok) {
            Err(fault) => told(&fault),
            Ok(adapter) => match identify(&*adapter, front.world()).await {
                Err(fault) => told(&fault),
                Ok(us) => {
                    let status = match us.missing.is_empty() {
                        true => Status::Good,
                        false => Status::Notice,
                    };
                    let whole =
                        [vec![format!("we are {} ({})", us.name, us.id)], us.missing, us.about];
                    (status, whole.concat().join("; "))
                }
            },
        },
    };
    // What a platform or a library says may quote a token.
    let detail = front.redacted(&detail);
    DoctorFinding { name: format!("account {}.{}", account.platform, account.name), status, detail }
}

/// An account that would be refused, whatever its platform says.
#[derive(Debug)]
pub struct Misfit<'a> {
    pub account: &'a Account,
    /// The setting that is wrong, where it is one that is there.
    pub key: Option<&'a str>,
    /// What is wrong.
    pub why: String,
}

/// The accounts that no adapter can be made for. Asks no platform and reads no secret: what
/// refers to one is taken to fit.
pub fn misfits<'a>(accounts: &'a [Account], factory: &dyn AdapterFactory) -> Vec<Misfit<'a>> {
    let is_wanted = |it: &&Account| it.enabled && it.is_built() && it.problem.is_none();
    let misfit = |account: &'a Account| {
        let Err(ConnectFault::Refused(why)) = make(factory, &sketch(account)) else { return None };
        // Faults name settings as everything here names things.
        let named = why.split('`').skip(1).step_by(2);
        let mut known = named.filter_map(|word| account.values.get_key_value(word));
        let key = known.next();
        let is_secret = key.is_some_and(|(_, value)| is_reference(value));
        let key = key.map(|(key, _)| &**key);
        (!is_secret).then(|| Misfit { account, key, why: why.to_string() })
    };
    accounts.iter().filter(is_wanted).filter_map(misfit).collect()
}

fn told(fault: &ConnectFault) -> (Status, String) {
    let what = match fault {
        ConnectFault::Refused(_) => "refused",
        ConnectFault::Broken { .. } => "can't be reached",
    };
    (Status::Bad, format!("{what}: {fault}"))
}
