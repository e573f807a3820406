//! The outer helper: leaves the host's namespaces, starts the inner helper in the new ones,
//! and tells the daemon when all of it is over.

use super::{INNER, account, inner, network, proc, root, rules, start, view};
use crate::channel;
use crate::plan::{Assignment, Attempt, Failure, Layers, OuterPlan, Report};
use crate::seccomp::{Allowed, Filters};
use nix::sched::CloneFlags;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{PidfdFlags, Signal, WaitOptions, pidfd_open, waitpid};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

pub(super) fn run() -> ExitCode {
    let channel = match setup() {
        Ok(channel) => channel,
        // There is nobody to tell: the daemon sees the channel end.
        Err(_) => return ExitCode::FAILURE,
    };
    let report = match confine(&channel) {
        Ok(report) => report,
        Err(failure) => Report::Failed(failure),
    };
    match channel::send(&channel, &report, &[]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn setup() -> io::Result<OwnedFd> {
    start::close_inherited()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?)
}

fn confine(channel: &OwnedFd) -> Result<Report, Failure> {
    let (plan, inside): (OuterPlan, _) = match channel::receive(channel) {
        Ok(Some(received)) => received,
        Ok(None) => return Err(Failure::setup("plan", io::Error::other("there was none"))),
        Err(error) => return Err(Failure::setup("plan", error)),
    };
    // The death signal is set; if the parent died before, nobody would send it.
    if start::parent() != plan.parent {
        return Err(Failure::setup("start", io::Error::other("the daemon has ended")));
    }
    match plan.attempt {
        Some(Attempt::Landlock) => {
            rules::try_landlock()?;
            return Ok(Report::Held);
        }
        Some(Attempt::Seccomp) => {
            let filters = Filters::compile(Allowed::NOTHING_SPECIAL)
                .map_err(|error| Failure::setup("seccomp", error))?;
            rules::seccomp(&filters)?;
            return Ok(Report::Held);
        }
        Some(Attempt::Account) => return account::open(channel, plan.share),
        Some(Attempt::Unshare | Attempt::View) | None => {}
    }

    let ids = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mut apart = flags(plan.layers);
    let own_user = plan.owner.filter(|_| plan.layers.user);
    if own_user.is_none()
        && let Some(account) = inside.first()
    {
        account::enter(account, plan.share)?;
    }
    let outside = match plan.layers.network {
        true => leave_network(plan.layers, ids)?,
        false => ids,
    };
    // Root's network is root's; only then is the child's user what counts.
    if let Some(owner) = own_user {
        account::enter_own(owner, plan.share)?;
        apart.remove(CloneFlags::CLONE_NEWUSER);
    }
    leave(apart)?;
    // Rights in a namespace that another user made take the death signal off; and whoever died
    // before it is back would send none.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Failure::setup("die with the daemon", error))?;
    if start::parent() != plan.parent {
        return Err(Failure::setup("start", io::Error::other("the daemon has ended")));
    }
    if plan.layers.user && !plan.maps_from_parent {
        start::map_ids(ids, outside).map_err(|error| Failure::setup("map ids", error))?;
    }
    match plan.attempt {
        None => {}
        Some(Attempt::View) => {
            root::try_mount().map_err(|error| Failure::setup("mount in a namespace", error))?;
            view::attempt()?;
            return Ok(Report::Held);
        }
        Some(_) => {
            use_once(plan.layers)?;
            return Ok(Report::Held);
        }
    }
    let tell = |report: Report| {
        channel::send(channel, &report, &[]).map_err(|error| Failure::setup("report", error))
    };
    tell(Report::Unshared)?;
    let (assignment, outputs): (Assignment, _) = match channel::receive(channel) {
        Ok(Some(received)) => received,
        _ => return Err(Failure::setup("wait", io::Error::other("the daemon went away"))),
    };
    take_outputs(outputs).map_err(|error| Failure::setup("open the output", error))?;
    for file in &assignment.join {
        start::join(file).map_err(|error| Failure::setup("join a cgroup", error))?;
    }
    if plan.layers.mount {
        leave_groups()?;
    }
    if plan.layers.user {
        keep_rights_over_exec().map_err(|error| Failure::setup("rights", error))?;
    }

    if !plan.layers.pid {
        // Nothing but this process outlives an inner helper that is killed, so what that one
        // had started comes here to be ended.
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own))
            .map_err(|error| Failure::setup("adopt orphans", error))?;
    }
    let first = channel.try_clone().and_then(|channel| start::again(INNER, channel));
    let first =
        first.map_err(|error| Failure::setup("start the inner helper", account::crowded(error)))?;
    let descriptor = pidfd_open(first, PidfdFlags::empty())
        .map_err(|error| Failure::setup("watch the inner helper", error))?;
    channel::send(channel, &Report::Inner, &[descriptor.as_fd()])
        .map_err(|error| Failure::setup("report", error))?;
    if !plan.layers.pid {
        stay(channel, &descriptor).map_err(|error| Failure::setup("wait", error))?;
    }
    drop(descriptor);

    // What the program did, the inner helper has said. This is for the one that could not.
    loop {
        match waitpid(Some(first), WaitOptions::empty()) {
            Ok(Some((_, status))) => {
                if !plan.layers.pid {
                    inner::hunt();
                }
                return Ok(Report::Ended {
                    code: status.exit_status(),
                    signal: status.terminating_signal(),
                    memory: false,
                });
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failure::setup("wait", error)),
        }
    }
}

/// Waits for the inner helper to end or the daemon to die. Where no namespace ends with this
/// process it must not be killed beside the daemon: it ends what the program has started.
fn stay(channel: &OwnedFd, inner: &OwnedFd) -> rustix::io::Result<()> {
    rustix::process::set_parent_process_death_signal(None)?;
    loop {
        let mut polled =
            [PollFd::new(inner, PollFlags::IN), PollFd::new(channel, PollFlags::empty())];
        match rustix::event::poll(&mut polled, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error),
        }
        if polled[1].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            inner::hunt();
        }
        return Ok(());
    }
}

/// Standard output and error, which the helper began without.
fn take_outputs(outputs: Vec<OwnedFd>) -> io::Result<()> {
    let mut outputs = outputs.into_iter();
    if let (Some(stdout), Some(stderr)) = (outputs.next(), outputs.next()) {
        nix::unistd::dup2_stdout(stdout)?;
        nix::unistd::dup2_stderr(stderr)?;
    }
    Ok(())
}

/// Does in the new namespaces what the inner helper will do there: some machines let them be
/// made and refuse all use of them.
fn use_once(layers: Layers) -> Result<(), Failure> {
    if layers.mount {
        root::try_mount().map_err(|error| Failure::setup("mount in a namespace", error))?;
    }
    if layers.uts {
        rustix::system::sethostname(b"insula").map_err(|error| Failure::setup("name", error))?;
    }
    Ok(())
}

fn flags(layers: Layers) -> CloneFlags {
    let mut flags = CloneFlags::empty();
    flags.set(CloneFlags::CLONE_NEWUSER, layers.user);
    flags.set(CloneFlags::CLONE_NEWPID, layers.pid);
    flags.set(CloneFlags::CLONE_NEWNS, layers.mount);
    flags.set(CloneFlags::CLONE_NEWIPC, layers.ipc);
    flags.set(CloneFlags::CLONE_NEWUTS, layers.uts);
    flags
}

fn leave(flags: CloneFlags) -> Result<(), Failure> {
    let left = nix::sched::unshare(flags);
    left.map_err(|error| Failure::setup("leave the host's namespaces", error))
}

/// Leaves the network for one of its own, of which the child will see its own part alone; the
/// ids it has afterwards.
///
/// The files of a network belong to the user who is 0 where it is made, and only that one can
/// close them. So an ordinary user becomes that first, in a namespace of users around the
/// child's. The network is then not the child's to change, and its loopback is raised here.
fn leave_network(layers: Layers, ids: (u32, u32)) -> Result<(u32, u32), Failure> {
    let mut outside = ids;
    if ids.0 != 0 && layers.user {
        leave(CloneFlags::CLONE_NEWUSER)?;
        start::map_ids((0, 0), ids).map_err(|error| Failure::setup("map ids", error))?;
        outside = (0, 0);
    }
    leave(CloneFlags::CLONE_NEWNET)?;
    proc::close_network_counters()
        .map_err(|error| Failure::setup("close the counters of the network", error))?;
    // A kernel without the setting has no more than its own bound, which is no reason to refuse.
    drop(network::bound_buffers());
    network::raise_loopback().map_err(|error| Failure::setup("raise the loopback", error))?;
    Ok(outside)
}

/// Leaves the view of the host's cgroups: their names count the children of the daemon. To be
/// called once it has joined its own.
fn leave_groups() -> Result<(), Failure> {
    match nix::sched::unshare(CloneFlags::CLONE_NEWCGROUP) {
        // A kernel without cgroups has none to be seen.
        Ok(()) | Err(nix::errno::Errno::EINVAL) => Ok(()),
        Err(error) => Err(Failure::setup("leave the host's cgroups", error)),
    }
}

/// The rights over the new namespaces would be lost when the inner helper is executed, since
/// no id inside is 0.
fn keep_rights_over_exec() -> io::Result<()> {
    let held = rustix::thread::capabilities(None)?;
    let permitted = held.permitted;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: permitted, permitted, inheritable: permitted },
    )?;
    for right in NEEDED {
        rustix::thread::configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}

/// What the inner helper needs to build its walls: to mount, to become another id, to reach
/// granted files of that id, to raise the loopback, to name the host, to drop the rest.
const NEEDED: [CapabilitySet; 7] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SETUID,
    CapabilitySet::SETGID,
    CapabilitySet::SETPCAP,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::DAC_READ_SEARCH,
];
