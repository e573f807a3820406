//! The account that a child's share of the kernel's counts is taken from.
//!
//! The kernel counts processes, waiting signals and watches of files by user, in each user
//! namespace and in all those around it. Whoever makes a namespace pays for what is in it: so
//! where the daemon is root, a namespace is made by its child's own user, in a process that
//! does nothing else. An ordinary user's children would all be paid for by that user; there, one
//! namespace an account is made first, with bounds of its own, and children's are made inside.

use super::{MAKER, start};
use crate::channel;
use crate::plan::{Failure, Report};
use crate::quota::Share;
use nix::sched::CloneFlags;
use rustix::process::{Resource, Rlimit, WaitOptions, setrlimit, waitpid};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

/// What an account's namespace bounds, by its files in `/proc/sys/user`.
fn bounds(share: Share) -> [(&'static str, u64); 4] {
    [
        ("max_inotify_instances", share.watchers),
        ("max_inotify_watches", share.watches),
        ("max_fanotify_groups", 0),
        ("max_fanotify_marks", 0),
    ]
}

/// Makes the namespace of an account, and sends it. Where it can't be bounded, that is said
/// with it.
pub(super) fn open(channel: &OwnedFd, share: Share) -> Result<Report, Failure> {
    let failed = |step: &'static str| move |error: io::Error| Failure::setup(step, error);
    let ids = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(|error| Failure::setup("make an account", error))?;
    start::map_ids(ids, ids).map_err(failed("map ids"))?;
    let bound = bounds(share).into_iter().try_for_each(|(file, most)| {
        let path = format!("/proc/sys/user/{file}");
        match start::write(&path, &most.to_string()) {
            // A kernel that does not count it has nothing to bound.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            written => written,
        }
    });
    let namespace = start::open("/proc/self/ns/user").map_err(failed("open an account"))?;
    channel::send(channel, &Report::Account { bounded: bound.is_ok() }, &[namespace.as_fd()])
        .map_err(failed("report"))?;
    Ok(Report::Held)
}

/// Enters the namespace of an account, so that what is made from here on is inside.
pub(super) fn enter(account: &OwnedFd, share: Share) -> Result<(), Failure> {
    nix::sched::setns(account, CloneFlags::CLONE_NEWUSER)
        .map_err(|error| Failure::setup("enter an account", error))?;
    limit(share).map_err(|error| Failure::setup("bound an account", error))
}

/// Has a process of these ids make the child's user namespace, and enters it.
pub(super) fn enter_own((uid, gid): (u32, u32), share: Share) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::setup("make the child's user namespace", error);
    let (own, theirs) = channel::pair().map_err(failed)?;
    let maker = start::again(MAKER, theirs).map_err(failed)?;
    channel::send(&own, &(uid, gid, share), &[]).map_err(failed)?;
    let made = channel::receive::<Option<String>>(&own).map_err(failed)?;
    match made {
        Some((None, _)) => {}
        Some((Some(why), _)) => return Err(failed(io::Error::other(why))),
        None => return Err(failed(io::Error::other("nobody made it"))),
    }
    let path = format!("/proc/{}/ns/user", maker.as_raw_nonzero());
    let namespace = start::open(&path).map_err(failed)?;
    nix::sched::setns(namespace, CloneFlags::CLONE_NEWUSER)
        .map_err(|error| Failure::setup("enter the child's user namespace", error))?;
    // It waits for the end of the channel, and then is no more needed.
    drop(own);
    let _ = waitpid(Some(maker), WaitOptions::empty());
    Ok(())
}

/// What it means that no process can be started, in words.
pub(super) fn crowded(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other(
            "the agent's programs have as many processes as they may have at once; end some, or wait until some end",
        ),
        _ => error,
    }
}

/// The process that makes a namespace for whoever started it, and goes.
pub(super) fn make() -> ExitCode {
    let Ok(channel) = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3) else {
        return ExitCode::FAILURE;
    };
    let Ok(Some(((uid, gid, share), _))) = channel::receive::<(u32, u32, Share)>(&channel) else {
        return ExitCode::FAILURE;
    };
    let why = become_and_make(uid, gid, share).err().map(|error| error.to_string());
    if channel::send(&channel, &why, &[]).is_ok() {
        let _ = channel::receive::<()>(&channel);
    }
    ExitCode::SUCCESS
}

fn become_and_make(uid: u32, gid: u32, share: Share) -> io::Result<()> {
    limit(share)?;
    let (uid, gid) = (rustix::process::Uid::from_raw(uid), rustix::process::Gid::from_raw(gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(nix::sched::unshare(CloneFlags::CLONE_NEWUSER)?)
}

/// A namespace holds all that its maker's user has to what the maker's own limits were.
fn limit(share: Share) -> io::Result<()> {
    for (resource, most) in
        [(Resource::Nproc, share.processes), (Resource::Sigpending, share.signals)]
    {
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |held| held.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}
