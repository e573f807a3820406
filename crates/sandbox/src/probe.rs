//! What this machine gives, found out by trying each layer in a process of its own.

use crate::cgroup::Hierarchies;
use crate::devices;
use crate::error::Error;
use crate::helper::facts;
use crate::launcher::{Launcher, own_id};
use crate::plan::{Attempt, Facts, Layers, OuterPlan, Report};
use crate::quota::Quotas;
use crate::spec::{HostUser, Layer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether a layer can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It was put on and held.
    Enforced,
    /// It could not be put on, for this reason.
    Missing(String),
}

/// What a machine gives to the user the daemon runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    layers: BTreeMap<Layer, Availability>,
    owner: HostUser,
    facts: Facts,
}

impl Machine {
    /// Whether a layer can be had.
    pub fn availability(&self, layer: Layer) -> Availability {
        let unknown = || Availability::Missing("it was not tried".to_owned());
        self.layers.get(&layer).cloned().unwrap_or_else(unknown)
    }

    /// Whether the daemon runs as root.
    pub fn is_root(&self) -> bool {
        self.owner.uid == 0
    }

    /// The ids the daemon runs as.
    pub(crate) fn owner(&self) -> HostUser {
        self.owner
    }

    /// What every child is told of it.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Why a layer can't be had, if it can't.
    pub(crate) fn fault(&self, layer: Layer) -> Option<&str> {
        match self.layers.get(&layer) {
            Some(Availability::Enforced) => None,
            Some(Availability::Missing(reason)) => Some(reason),
            None => Some("it was not tried"),
        }
    }

    /// A machine with everything but these.
    #[cfg(test)]
    pub(crate) fn pretend(owner: HostUser, missing: &[Layer]) -> Self {
        let availability = |layer| match missing.contains(&layer) {
            true => Availability::Missing("for the test".to_owned()),
            false => Availability::Enforced,
        };
        let layers = Layer::ALL.map(|layer| (layer, availability(layer))).into();
        Self { layers, owner, facts: Facts::default() }
    }

    /// Tries every layer.
    pub(crate) async fn examine(launcher: &Launcher, hierarchies: &Arc<Hierarchies>) -> Self {
        let owner = HostUser {
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
        };
        let alone = Layers::default();
        let user = attempt(launcher, Layers { user: true, ..alone }, Attempt::Unshare).await;
        // An ordinary user gets the other namespaces only inside one of users.
        let base = Layers { user: user == Availability::Enforced, ..alone };
        let mut layers = BTreeMap::from([(Layer::UserNamespace, user)]);
        for (layer, wanted, how) in [
            (Layer::PidNamespace, Layers { pid: true, ..base }, Attempt::Unshare),
            (Layer::MountNamespace, Layers { mount: true, ..base }, Attempt::Unshare),
            (Layer::NetworkNamespace, Layers { network: true, ..base }, Attempt::Unshare),
            (Layer::IpcNamespace, Layers { ipc: true, ..base }, Attempt::Unshare),
            (Layer::UtsNamespace, Layers { uts: true, ..base }, Attempt::Unshare),
            (Layer::Landlock, alone, Attempt::Landlock),
            (Layer::Seccomp, alone, Attempt::Seccomp),
            (Layer::SystemView, Layers { mount: true, ..base }, Attempt::View),
        ] {
            layers.insert(layer, attempt(launcher, wanted, how).await);
        }
        let devices = match devices::make() {
            Ok(_) => Availability::Enforced,
            Err(error) => Availability::Missing(format!("no device node can be made: {error}")),
        };
        layers.insert(Layer::OwnDevices, devices);
        let cgroup = |fault: Option<&str>| match fault {
            None => Availability::Enforced,
            Some(reason) => Availability::Missing(reason.to_owned()),
        };
        layers.insert(Layer::MemoryCgroup, cgroup(hierarchies.memory_fault()));
        layers.insert(Layer::PidsCgroup, cgroup(hierarchies.pids_fault()));
        Self { layers, owner, facts: facts() }
    }
}

/// Tries one layer.
async fn attempt(launcher: &Launcher, layers: Layers, how: Attempt) -> Availability {
    let tried = async {
        let plan = OuterPlan {
            layers,
            parent: own_id(),
            maps_from_parent: false,
            owner: None,
            account: None,
            share: Quotas::find().share(1),
            attempt: Some(how),
        };
        let (_process, channel) = launcher.launch(plan, None, None).await?;
        channel.hear().await.map_err(|error| Error::setup("probe", error))
    };
    match tried.await {
        Ok(Some((Report::Held, _))) => Availability::Enforced,
        Ok(Some((Report::Failed(failure), _))) => {
            Availability::Missing(format!("{}: {}", failure.step, failure.reason))
        }
        Ok(_) => Availability::Missing("the helper gave no answer".to_owned()),
        Err(error) => Availability::Missing(error.to_string()),
    }
}
