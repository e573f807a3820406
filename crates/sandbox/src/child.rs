//! A confined process that runs, and how it ended.

use crate::conversation::Conversation;
use crate::error::Error;
use crate::launcher::Process;
use crate::output::{Capture, Captured};
use crate::plan::{Failure, FailureKind, Report};
use insula_world::{Clock, Listener};
use rustix::process::{Signal, pidfd_send_signal};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a shell adds to the number of the signal that ended its child.
const SHELL_SIGNAL: i32 = 128;

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// [`Limits::memory_bytes`](crate::ChildLimits::memory_bytes).
    Memory,
    /// [`Limits::processes`](crate::ChildLimits::processes).
    Processes,
    /// [`Limits::file_bytes`](crate::ChildLimits::file_bytes).
    FileSize,
    /// [`Limits::cpu_time`](crate::ChildLimits::cpu_time).
    CpuTime,
    /// [`Limits::wall_clock`](crate::ChildLimits::wall_clock).
    WallClock,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitOutcome {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which none of its limits sent.
    Signaled(i32),
    /// By a limit.
    Ended(Limit),
    /// By [`Child::kill`].
    Killed,
}

/// How a process ended, and which limits it had reached by then, whether they ended it or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub outcome: ExitOutcome,
    pub reached: BTreeSet<Limit>,
}

impl Exit {
    /// Whether it ended by itself with code 0.
    pub fn is_success(&self) -> bool {
        self.outcome == ExitOutcome::Exited(0)
    }
}

/// How a process ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
}

/// A confined process that runs. Dropping it kills it and all it has started.
pub struct Child {
    pub(crate) tree: Tree,
    pub(crate) exit: watch::Receiver<Option<Result<Exit, String>>>,
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    pub(crate) listener: Option<Box<dyn Listener>>,
    pub(crate) id: u32,
}

impl Child {
    /// The number of the process that all of it descends from, as the host knows it. While the
    /// child has not ended, it means nothing else.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Where to write what it reads, once, if the spec asked for a pipe.
    pub fn take_stdin(&mut self) -> Option<pipe::Sender> {
        self.stdin.take()
    }

    /// Its standard output, once, if the spec asked for a stream.
    pub fn take_stdout(&mut self) -> Option<pipe::Receiver> {
        self.stdout.take()
    }

    /// Its standard error, once, if the spec asked for a stream.
    pub fn take_stderr(&mut self) -> Option<pipe::Receiver> {
        self.stderr.take()
    }

    /// The listener of its proxy's port, once, if the spec asked for one. Whoever accepts on
    /// it is the child's whole network.
    pub fn take_listener(&mut self) -> Option<Box<dyn Listener>> {
        self.listener.take()
    }

    /// What it has written so far to standard output and standard error.
    pub fn output(&self) -> (Captured, Captured) {
        (self.stdout.snapshot(), self.stderr.snapshot())
    }

    /// How it ended, if it has.
    pub fn try_exit(&self) -> Option<Result<Exit, Error>> {
        self.exit.borrow().clone().map(told)
    }

    /// Waits until it and all it started are gone.
    pub async fn wait(&mut self) -> Result<Exit, Error> {
        let exit = self.exit.wait_for(Option::is_some).await.map_err(|_| Error::Stopped)?;
        exit.clone().map_or(Err(Error::Stopped), told)
    }

    /// Waits until it is gone and takes what it wrote.
    pub async fn finish(mut self) -> Result<Finished, Error> {
        let exit = self.wait().await?;
        let stdout = self.stdout.finish().await;
        let stderr = self.stderr.finish().await;
        Ok(Finished { exit, stdout, stderr })
    }

    /// Kills it and all it has started, and waits until they are gone.
    pub async fn kill(&mut self) -> Result<Exit, Error> {
        self.tree.end(Cause::Killed);
        self.wait().await
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.tree.end(Cause::Killed);
    }
}

fn told(exit: Result<Exit, String>) -> Result<Exit, Error> {
    exit.map_err(|reason| Error::Setup { step: "watch".to_owned(), reason })
}

/// One of the two streams a child writes.
pub(crate) enum Stream {
    Captured(Capture, Option<JoinHandle<io::Result<()>>>),
    Passed(Option<pipe::Receiver>),
}

impl Stream {
    fn take(&mut self) -> Option<pipe::Receiver> {
        match self {
            Self::Captured(..) => None,
            Self::Passed(receiver) => receiver.take(),
        }
    }

    fn snapshot(&self) -> Captured {
        match self {
            Self::Captured(capture, _) => capture.snapshot(),
            Self::Passed(_) => Captured::default(),
        }
    }

    async fn finish(&mut self) -> Captured {
        if let Self::Captured(_, reader) = self
            && let Some(reader) = reader.take()
        {
            // Every writer is gone, so the reader is at the end or will be.
            drop(reader.await);
        }
        self.snapshot()
    }
}

/// Why a tree was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Killed,
    WallClock,
}

/// The first process inside. When it ends, the kernel ends the others.
#[derive(Clone)]
pub(crate) struct Tree {
    pub(crate) first: Arc<OwnedFd>,
    pub(crate) cause: Arc<Mutex<Option<Cause>>>,
}

impl Tree {
    fn end(&self, cause: Cause) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        // It may have ended already; a descriptor never means another process.
        let _ = pidfd_send_signal(&*self.first, Signal::KILL);
    }
}

/// Waits for a child's end, and brings it about when its time is over. Holds the helper, so
/// that it is buried whatever becomes of the [`Child`].
pub(crate) async fn supervise(
    process: Process,
    channel: Conversation,
    tree: Tree,
    clock: Arc<dyn Clock>,
    wall_clock: Option<Duration>,
    done: watch::Sender<Option<Result<Exit, String>>>,
) {
    let reports = collect(&channel);
    tokio::pin!(reports);
    let report = if let Some(limit) = wall_clock {
        tokio::select! {
            report = &mut reports => report,
            () = clock.sleep(limit) => {
                tree.end(Cause::WallClock);
                reports.await
            }
        }
    } else {
        reports.await
    };
    let cause = *tree.cause.lock().unwrap_or_else(PoisonError::into_inner);
    let exit = judge(report, cause, &process);
    // Buried before anyone is told, so that whoever is told finds nothing left.
    drop(process);
    done.send_replace(Some(exit));
}

/// The first report on the program's end, once the helpers have gone.
async fn collect(channel: &Conversation) -> Option<Report> {
    let mut first = None;
    while let Ok(Some((report, _))) = channel.hear().await {
        if matches!(report, Report::Ended { .. } | Report::Failed(_)) {
            first.get_or_insert(report);
        }
    }
    first
}

fn judge(report: Option<Report>, cause: Option<Cause>, process: &Process) -> Result<Exit, String> {
    let mut reached = BTreeSet::new();
    let group = process.group();
    if group.is_some_and(crate::cgroup::Group::ran_out_of_processes) {
        reached.insert(Limit::Processes);
    }
    let mut out_of_memory = group.is_some_and(crate::cgroup::Group::ran_out_of_memory);
    let outcome = match (cause, report) {
        (Some(Cause::WallClock), _) => {
            reached.insert(Limit::WallClock);
            ExitOutcome::Ended(Limit::WallClock)
        }
        (Some(Cause::Killed), None) => ExitOutcome::Killed,
        (_, Some(Report::Ended { code, signal, memory })) => {
            out_of_memory |= memory;
            let by = |number: i32| signal == Some(number) || code == Some(SHELL_SIGNAL + number);
            if by(libc::SIGXCPU) {
                reached.insert(Limit::CpuTime);
            }
            if by(libc::SIGXFSZ) {
                reached.insert(Limit::FileSize);
            }
            match (code, signal) {
                (Some(code), _) if !(out_of_memory && code == SHELL_SIGNAL + libc::SIGKILL) => {
                    ExitOutcome::Exited(code)
                }
                _ if out_of_memory => ExitOutcome::Ended(Limit::Memory),
                (_, Some(libc::SIGXCPU)) => ExitOutcome::Ended(Limit::CpuTime),
                (_, Some(libc::SIGXFSZ)) => ExitOutcome::Ended(Limit::FileSize),
                _ if cause == Some(Cause::Killed) => ExitOutcome::Killed,
                (_, Some(signal)) => ExitOutcome::Signaled(signal),
                (_, None) => ExitOutcome::Killed,
            }
        }
        (_, Some(Report::Failed(failure))) => return Err(failure.reason),
        (None, _) => return Err("the helper was killed".to_owned()),
        (Some(Cause::Killed), Some(_)) => ExitOutcome::Killed,
    };
    if out_of_memory {
        reached.insert(Limit::Memory);
    }
    Ok(Exit { outcome, reached })
}

/// What to tell the caller about a step that failed.
pub(crate) fn refusal(failure: Failure, program: &std::path::Path) -> Error {
    match failure.kind {
        FailureKind::Setup => Error::Setup { step: failure.step, reason: failure.reason },
        FailureKind::Grant(path) => Error::Grant { path: path.into(), reason: failure.reason },
        FailureKind::Execute => Error::Execute {
            program: program.to_owned(),
            source: failure
                .errno
                .map_or_else(|| io::Error::other(failure.reason), io::Error::from_raw_os_error),
        },
    }
}
