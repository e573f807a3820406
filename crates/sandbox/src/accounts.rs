//! The accounts of an ordinary user's children: a user namespace each, made on first use and
//! kept while the sandbox is.

use crate::error::Error;
use crate::launcher::{Inside, Launcher, own_id};
use crate::plan::{Attempt, Layers, OuterPlan, Report};
use crate::quota::{Quotas, Share};
use crate::spec::QuotaAccount;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Accounts that are kept. The one that was made first is made again when it is needed.
const ACCOUNTS_MAX: usize = 4_096;

/// All accounts, by name and share.
#[derive(Default)]
pub(crate) struct Accounts {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    opened: u64,
    open: BTreeMap<(String, usize), Open>,
}

#[derive(Clone)]
struct Open {
    number: u64,
    namespace: Arc<OwnedFd>,
    bounded: bool,
}

/// What a child is started with.
pub(crate) struct ChildAccount {
    /// Which account it is, to tell helpers apart that wait.
    pub(crate) number: Option<u64>,
    /// Its namespace.
    pub(crate) inside: Inside,
    /// What all of its children may have.
    pub(crate) share: Share,
    /// Whether a child may watch files: only where what it takes by that is its account's.
    pub(crate) watches: bool,
}

impl Accounts {
    /// The place of a child whose account is a namespace.
    pub(crate) async fn place(
        &self,
        launcher: &Launcher,
        account: &QuotaAccount,
    ) -> Result<ChildAccount, Error> {
        let share = Quotas::find().share(account.of);
        let mut known = self.known.lock().await;
        let key = (account.name.clone(), account.of);
        let open = match known.open.get(&key) {
            Some(open) => open.clone(),
            None => {
                if known.open.len() >= ACCOUNTS_MAX {
                    let first = known.open.iter().min_by_key(|(_, open)| open.number);
                    if let Some(first) = first.map(|(key, _)| key.clone()) {
                        known.open.remove(&first);
                    }
                }
                known.opened += 1;
                let (namespace, bounded) = open(launcher, share).await?;
                let namespace = Arc::new(namespace);
                let made = Open { number: known.opened, namespace, bounded };
                known.open.insert(key, made.clone());
                made
            }
        };
        let watches = open.bounded && share.watchers > 0;
        Ok(ChildAccount { number: Some(open.number), inside: Some(open.namespace), share, watches })
    }

    /// The place of a child whose account is a user of the machine, or that has none.
    pub(crate) fn own_user(account: &QuotaAccount, watches: bool) -> ChildAccount {
        ChildAccount {
            number: None,
            inside: None,
            share: Quotas::find().share(account.of),
            watches,
        }
    }
}

/// Has a helper make the namespace.
async fn open(launcher: &Launcher, share: Share) -> Result<(OwnedFd, bool), Error> {
    let plan = OuterPlan {
        layers: Layers::default(),
        parent: own_id(),
        maps_from_parent: false,
        owner: None,
        account: None,
        share,
        attempt: Some(Attempt::Account),
    };
    let failed = |reason: &str| Error::setup("make an account", reason);
    let (_process, channel) = launcher.launch(plan, None, None).await?;
    match channel.hear().await.map_err(|error| failed(&error.to_string()))? {
        Some((Report::Account { bounded }, descriptors)) => {
            let namespace = descriptors.into_iter().next();
            Ok((namespace.ok_or_else(|| failed("no namespace came"))?, bounded))
        }
        Some((Report::Failed(failure), _)) => Err(failed(&failure.reason)),
        _ => Err(failed("the helper gave no answer")),
    }
}
