//! The rules a process can't lift: Landlock, the filter of calls, limits, and no rights.

use super::root::{self, Shared};
use crate::plan::{Failure, Grant, InnerPlan};
use crate::seccomp::{self, Filters};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _,
    RulesetError, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::io;
use std::path::Path;

/// The first version with rules for files, TCP, abstract sockets and signals.
const LANDLOCK: ABI = ABI::V6;

/// The helpers count as processes of the child's user too.
const HELPERS: u64 = 2;

/// More rights than any kernel knows.
const RIGHTS_MAX: u32 = 64;

/// Whether Landlock can be had in full.
pub(super) fn try_landlock() -> Result<(), Failure> {
    let ruleset = ruleset(CompatLevel::HardRequirement);
    let restricted = ruleset.and_then(RulesetCreated::restrict_self);
    restricted.map(drop).map_err(|error| Failure::setup("landlock", io::Error::other(error)))
}

fn ruleset(level: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()
}

/// Puts Landlock's rules on this process and all it starts.
pub(super) fn landlock(plan: &InnerPlan) -> Result<(), Failure> {
    let put_on = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let execute = BitFlags::from(AccessFs::Execute);
        // No devices and no pipes: whoever reads the folder later would wait on one, or worse.
        let special = AccessFs::MakeChar
            | AccessFs::MakeBlock
            | AccessFs::MakeFifo
            | AccessFs::MakeSock
            | AccessFs::IoctlDev;
        let write = AccessFs::from_all(LANDLOCK) & !special & !execute;
        // A rule for a folder holds for what is mounted below it too. So `/tmp` gives more than
        // a workspace only while there is none in it.
        let below = |grant: &Grant| Path::new(&grant.path).starts_with("/tmp");
        let own = if plan.grants.iter().any(below) {
            write
        } else {
            write | AccessFs::MakeFifo | AccessFs::MakeSock
        };

        let mut rules = ruleset(CompatLevel::HardRequirement)?;
        let mut allow = |path: &Path, access: BitFlags<AccessFs>| -> Result<(), RulesetError> {
            let Ok(descriptor) = PathFd::new(path) else { return Ok(()) };
            let access =
                if root::is_folder(path) { access } else { access & AccessFs::from_file(LANDLOCK) };
            (&mut rules).add_rule(PathBeneath::new(descriptor, access))?;
            Ok(())
        };
        for path in root::system() {
            allow(Path::new(path), read | execute)?;
        }
        allow(Path::new("/etc"), read)?;
        allow(Path::new("/proc"), read)?;
        allow(Path::new("/dev"), AccessFs::ReadDir.into())?;
        for path in root::DEVICES {
            allow(Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile)?;
        }
        if plan.layers.mount {
            // The root holds nothing but what was granted, so its names are no secret, and its
            // `/tmp` is the child's own.
            allow(Path::new("/"), AccessFs::ReadDir.into())?;
            allow(Path::new("/tmp"), own)?;
        }
        for grant in &plan.grants {
            allow(Path::new(&grant.path), if grant.write { write } else { read })?;
        }
        for path in &plan.executes {
            allow(Path::new(path), execute)?;
        }
        if let Some(port) = plan.proxy_port {
            rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
        rules.restrict_self()?;
        Ok(())
    };
    put_on().map_err(|error| Failure::setup("landlock", io::Error::other(error)))
}

/// Puts the filters of calls on.
pub(super) fn seccomp(filters: &Filters) -> Result<(), Failure> {
    for program in &filters.programs {
        seccompiler::apply_filter(program)
            .map_err(|error| Failure::setup("seccomp", io::Error::other(error)))?;
    }
    Ok(())
}

/// Takes from the child what would reach others by files that it has in common with them.
pub(super) fn close_shared(shared: Shared) -> Result<(), Failure> {
    if shared == Shared::default() {
        return Ok(());
    }
    let filter = seccomp::on_shared_files(shared.system);
    let filter = filter.map_err(|error| Failure::setup("seccomp", error))?;
    seccompiler::apply_filter(&filter)
        .map_err(|error| Failure::setup("seccomp", io::Error::other(error)))
}

/// Sets the limits the kernel keeps for each process or user.
pub(super) fn limit(plan: &InnerPlan) -> rustix::io::Result<()> {
    let cpu = plan.cpu_seconds.max(1);
    for (resource, current, maximum) in [
        (Resource::Core, 0, 0),
        // The first signal can be caught, the second can't.
        (Resource::Cpu, cpu, cpu.saturating_add(1)),
        (Resource::Data, plan.memory_bytes, plan.memory_bytes),
        (Resource::Fsize, plan.file_bytes, plan.file_bytes),
        (Resource::Nofile, plan.descriptors, plan.descriptors),
        (Resource::Nproc, plan.processes + HELPERS, plan.processes + HELPERS),
        (Resource::Memlock, 64 << 10, 64 << 10),
        (Resource::Msgqueue, 0, 0),
        (Resource::Nice, 0, 0),
        (Resource::Rtprio, 0, 0),
        (Resource::Sigpending, 1024, 1024),
    ] {
        // A limit that is already lower stays.
        let existing = rustix::process::getrlimit(resource);
        let lower = |wanted: u64| existing.maximum.map_or(wanted, |held| held.min(wanted));
        let limits = Rlimit { current: Some(lower(current)), maximum: Some(lower(maximum)) };
        setrlimit(resource, limits)?;
    }
    Ok(())
}

/// Becomes another user and group, and leaves every other group. The rights stay until the
/// walls are built, also where there is no user namespace and the ids of root are left.
pub(super) fn become_ids((uid, gid): (u32, u32)) -> rustix::io::Result<()> {
    let held = rustix::thread::capabilities(None)?;
    rustix::thread::set_keep_capabilities(true)?;
    let uid = rustix::process::Uid::from_raw(uid);
    let gid = rustix::process::Gid::from_raw(gid);
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    rustix::thread::set_capabilities(None, held)
}

/// Gives up every right, for good.
pub(super) fn drop_rights() -> rustix::io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    for number in 0..RIGHTS_MAX {
        let right = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::capability_is_in_bounding_set(right) {
            Ok(true) => {}
            Ok(false) => continue,
            // Beyond the last right the kernel knows.
            Err(_) => break,
        }
        // Without the right to do so, as an ordinary user outside a namespace, it can't be
        // done, and no_new_privs keeps set-uid programs from giving any.
        match rustix::thread::remove_capability_from_bounding_set(right) {
            Ok(()) | Err(rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error),
        }
    }
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    rustix::thread::set_no_new_privs(true)
}
