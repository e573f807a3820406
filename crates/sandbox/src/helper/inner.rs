//! The inner helper: the first process inside. Builds the walls, starts the program, reaps
//! whatever is left to it, and ends when the program ends, which ends everything inside.

use super::{memory, network, root, rules, start};
use crate::channel;
use crate::plan::{Failure, InnerPlan, Report};
use crate::seccomp::Filters;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process,
};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

/// How often the tree's memory is counted where no cgroup does.
const WATCH_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

pub(super) fn run() -> ExitCode {
    // A failure before there is a channel has nobody to be told to.
    let Ok(channel) = setup() else { return ExitCode::FAILURE };
    let report = match confine(&channel) {
        Ok(report) => report,
        Err(failure) => Report::Failed(failure),
    };
    drop(channel::send(&channel, &report, &[]));
    ExitCode::SUCCESS
}

fn setup() -> io::Result<OwnedFd> {
    die_with_parent()?;
    rustix::process::setsid()?;
    Ok(rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?)
}

fn die_with_parent() -> rustix::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
}

/// Tells the daemon something and waits for its answer: whoever gets one knows that the daemon
/// was alive after the death signal was set.
fn ask(channel: &OwnedFd, report: &Report) -> Result<Vec<OwnedFd>, Failure> {
    let answer = channel::send(channel, report, &[]).and_then(|()| channel::receive::<()>(channel));
    match answer {
        Ok(Some(((), descriptors))) => Ok(descriptors),
        Ok(None) => Err(Failure::setup("ask", io::Error::other("the daemon has ended"))),
        Err(error) => Err(Failure::setup("ask", error)),
    }
}

fn confine(channel: &OwnedFd) -> Result<Report, Failure> {
    let failed = |step: &'static str| move |error| Failure::setup(step, io::Error::from(error));
    let mut descriptors = ask(channel, &Report::Ready)?.into_iter();
    let no_plan = || Failure::setup("plan", io::Error::other("there was none"));
    let parcel = descriptors.next().ok_or_else(no_plan)?;
    let (plan, filters): (InnerPlan, _) =
        channel::unpack(&parcel).map_err(|error| Failure::setup("plan", error))?;
    drop(parcel);
    let stdin = if plan.stdin { descriptors.next() } else { None };
    let devices = if plan.devices { descriptors.next() } else { None };

    if plan.layers.network
        && let Some(port) = plan.proxy_port
    {
        let listener = network::open_listener(port).map_err(failed("listen for the proxy"))?;
        channel::send(channel, &Report::Listener, &[listener.as_fd()])
            .map_err(|error| Failure::setup("pass the listener", error))?;
    }
    if plan.layers.uts {
        rustix::system::sethostname(b"insula").map_err(failed("name the host"))?;
    }
    // The files for this go with the host's root; the effect is on what is started later.
    let priority = start::Priority::open();
    let sources = match plan.layers.mount {
        true => Some(root::Sources::pick_up(&plan, devices)?),
        false => None,
    };
    if let Some(ids) = plan.become_ids {
        rules::become_ids(ids).map_err(failed("become the child's user"))?;
        // A change of ids takes the death signal off.
        die_with_parent().map_err(failed("die with the parent"))?;
    }
    let shared = match sources {
        Some(sources) => sources.build(&plan)?,
        None => root::Shared::ALL,
    };
    if !plan.layers.pid {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).map_err(failed("adopt orphans"))?;
    }
    rules::limit(&plan).map_err(failed("set limits"))?;
    rules::drop_rights().map_err(failed("drop rights"))?;
    die_with_parent().map_err(failed("die with the parent"))?;
    // What is inside must not write into the memory of the one that reports on it.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(failed("close its own memory"))?;
    if plan.layers.landlock {
        rules::landlock(&plan)?;
    }
    if plan.layers.seccomp {
        let filters = Filters::from_bytes(&filters)
            .ok_or_else(|| Failure::setup("seccomp", io::Error::other("no filters came")))?;
        rules::seccomp(&filters)?;
        rules::close_shared(shared)?;
    }
    ask(channel, &Report::Ready)?;

    priority.lower(plan.idle);
    let program = start::program(&plan, stdin)?;
    channel::send(channel, &Report::Started, &[])
        .map_err(|error| Failure::setup("report", error))?;
    let report = watch(program, &plan).map_err(failed("wait"))?;
    if !plan.layers.pid {
        hunt();
    }
    Ok(report)
}

/// Waits for the program's end, and reaps what was orphaned meanwhile.
fn watch(program: Pid, plan: &InnerPlan) -> rustix::io::Result<Report> {
    if !plan.watch_memory {
        loop {
            if let Some(status) = reap(program, WaitOptions::empty())? {
                return Ok(ended(status, false));
            }
        }
    }
    let descriptor = rustix::process::pidfd_open(program, PidfdFlags::empty())?;
    loop {
        let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
        match rustix::event::poll(&mut polled, Some(&WATCH_INTERVAL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        while let Some(found) = reap_one(WaitOptions::NOHANG)? {
            if found.0 == program {
                return Ok(ended(found.1, false));
            }
        }
        if memory::of_all() > plan.memory_bytes {
            return Ok(Report::Ended { code: None, signal: None, memory: true });
        }
    }
}

fn ended(status: WaitStatus, memory: bool) -> Report {
    Report::Ended { code: status.exit_status(), signal: status.terminating_signal(), memory }
}

fn reap(program: Pid, options: WaitOptions) -> rustix::io::Result<Option<WaitStatus>> {
    Ok(reap_one(options)?.filter(|found| found.0 == program).map(|found| found.1))
}

fn reap_one(options: WaitOptions) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    match rustix::process::wait(options) {
        Err(rustix::io::Errno::INTR) => Ok(None),
        other => other,
    }
}

/// Ends every descendant, where there is no namespace that would: as often as it takes, since
/// they may be starting others.
pub(super) fn hunt() {
    loop {
        let own = rustix::process::getpid().as_raw_nonzero();
        let children = start::read(&format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        for child in children.split_whitespace() {
            if let Some(child) = child.parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(child, Signal::KILL);
            }
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
