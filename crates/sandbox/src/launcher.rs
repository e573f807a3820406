//! The one thread that starts helpers.
//!
//! A helper dies with the thread that started it, not with the process: one started by a
//! worker of the runtime would be ended whenever that worker is. So this thread lives as long
//! as the sandbox, and only it forks. It also does the little blocking work around that:
//! making cgroups, waiting for helpers that have ended.
//!
//! While children are being started it keeps a spare helper: one that has left the host's
//! namespaces and waits to be told for whom. Whoever asks next does not wait for that.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the owner of the sandbox's processes: its thread, its helpers, their id maps"
)]

use crate::cgroup::{Group, Hierarchies};
use crate::channel;
use crate::conversation::Conversation;
use crate::error::Error;
use crate::helper::{BUILD, OUTER, SAME};
use crate::plan::OuterPlan;
use crate::spec::ChildLimits;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::oneshot;

/// The program that becomes the helper when its first argument says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    program: Program,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Program {
    /// Whichever of the two is there, found out by the launcher.
    Found,
    At(PathBuf),
}

/// The running program, even if its file was replaced meanwhile.
const ITSELF: &str = "/proc/self/exe";

/// The helper as a program of its own.
const BESIDE: &str = "insula-confine";

impl Helper {
    /// The small program beside the running one, if it was built from the same sources, else
    /// the running one. Starting a large program costs milliseconds, twice for each child; that
    /// is all the difference between the two. The running program's `main` must call
    /// [`helper_main`](crate::helper_main) first.
    pub fn found() -> Self {
        Self { program: Program::Found }
    }

    /// Another program whose `main` calls [`helper_main`](crate::helper_main), as tests use.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: Program::At(program.into()) }
    }

    /// The file to start.
    fn program(&self) -> PathBuf {
        match &self.program {
            Program::At(program) => program.clone(),
            Program::Found => beside().unwrap_or_else(|| PathBuf::from(ITSELF)),
        }
    }
}

/// The small program, if it is there and is of this build: one that an update left behind would
/// not understand what it is told.
fn beside() -> Option<PathBuf> {
    let program = std::fs::read_link(ITSELF).ok()?.parent()?.join(BESIDE);
    let status = Command::new(&program)
        .arg(SAME)
        .arg(BUILD.to_string())
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success()).then_some(program)
}

/// The namespace of the account that a helper is to be inside of, if there is one.
pub(crate) type Inside = Option<Arc<OwnedFd>>;

/// What the thread is asked for.
enum Job {
    Start {
        plan: OuterPlan,
        account: Inside,
        limits: Option<ChildLimits>,
        reply: oneshot::Sender<io::Result<Started>>,
    },
    Spare(OuterPlan, Inside),
    Bury {
        child: std::process::Child,
        group: Option<Group>,
    },
    Stop,
}

/// A helper that runs, and follows its plan by itself.
struct Begun {
    plan: OuterPlan,
    child: std::process::Child,
    channel: OwnedFd,
}

impl Begun {
    /// Itself, unless something ended it while it waited.
    fn alive(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }
}

/// A helper with its cgroup.
struct Started {
    begun: Begun,
    group: Option<Group>,
}

/// The handle of the thread; when it goes, the thread ends, and with it every child.
pub(crate) struct Launcher {
    jobs: mpsc::Sender<Job>,
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // Running children hold senders too, so the queue would not end by itself.
        drop(self.jobs.send(Job::Stop));
    }
}

impl Launcher {
    pub(crate) fn start(helper: Helper, hierarchies: Arc<Hierarchies>) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        std::thread::Builder::new()
            .name("sandbox".to_owned())
            .spawn(move || serve(&helper, &hierarchies, &queue))?;
        Ok(Self { jobs })
    }

    /// A helper that follows this plan, and the daemon's end of its channel. If there are limits
    /// it gets a cgroup for them.
    pub(crate) async fn launch(
        &self,
        plan: OuterPlan,
        account: Inside,
        limits: Option<ChildLimits>,
    ) -> Result<(Process, Conversation), Error> {
        let failed = |error| Error::setup("start the helper", error);
        let (reply, answer) = oneshot::channel();
        let job = Job::Start { plan, account, limits, reply };
        self.jobs.send(job).map_err(|_| Error::Stopped)?;
        let started = answer.await.map_err(|_| Error::Stopped)?;
        let Started { begun: Begun { child, channel, .. }, group } = started.map_err(failed)?;
        let process = Process { child: Some(child), group, jobs: self.jobs.clone() };
        Ok((process, Conversation::new(channel).map_err(failed)?))
    }

    /// Has a spare helper begin, if there is none. For when a child has been started, so that
    /// it does not take the processor from it.
    pub(crate) fn have_spare(&self, plan: OuterPlan, account: Inside) {
        drop(self.jobs.send(Job::Spare(plan, account)));
    }
}

/// How long a spare helper waits. Children come in bursts; a daemon at rest has no process
/// beside its own.
const SPARE_KEPT: Duration = Duration::from_secs(30);

fn serve(helper: &Helper, hierarchies: &Hierarchies, queue: &mpsc::Receiver<Job>) {
    let program = helper.program();
    let mut spare: Option<Begun> = None;
    // Groups whose last process was not quite gone yet.
    let mut lingering: Vec<Group> = vec![];
    loop {
        let job = match &spare {
            None => queue.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            Some(_) => queue.recv_timeout(SPARE_KEPT),
        };
        match job {
            Ok(Job::Start { plan, account, limits, reply }) => {
                let fit = spare.take_if(|spare| spare.plan == plan);
                let begun = match fit.and_then(Begun::alive) {
                    Some(begun) => Ok(begun),
                    None => begin(&program, plan, &account),
                };
                let started = begun.and_then(|begun| enclose(begun, hierarchies, limits));
                // Whoever asked may have gone.
                if let Err(Ok(Started { begun, group })) = reply.send(started) {
                    end(begun);
                    lingering.extend(group);
                }
            }
            // One that can't begin is no loss: the next to ask will be told why.
            Ok(Job::Spare(plan, account)) => {
                // One for somebody else is of no use to whoever comes next, most likely the same.
                if let Some(other) = spare.take_if(|spare| spare.plan != plan) {
                    end(other);
                }
                spare = spare.or_else(|| begin(&program, plan, &account).ok());
            }
            Ok(Job::Bury { mut child, group }) => {
                drop(child.wait());
                lingering.extend(group);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => spare.take().into_iter().for_each(end),
            Ok(Job::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                spare.into_iter().for_each(end);
                return;
            }
        }
        lingering.retain(|group| !group.remove());
    }
}

fn begin(program: &Path, plan: OuterPlan, account: &Inside) -> io::Result<Begun> {
    let (own, theirs) = channel::pair()?;
    let child = Command::new(program)
        .arg0("insula")
        .arg(OUTER)
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let begun = Begun { plan, child, channel: own };
    let inside: Vec<_> = account.iter().map(|account| account.as_fd()).collect();
    match channel::send(&begun.channel, &plan, &inside) {
        Ok(()) => Ok(begun),
        Err(error) => {
            end(begun);
            Err(error)
        }
    }
}

/// Puts a helper into a cgroup for its limits. It waits for its assignment, so no child has
/// started outside the group.
fn enclose(
    begun: Begun,
    hierarchies: &Hierarchies,
    limits: Option<ChildLimits>,
) -> io::Result<Started> {
    let group = limits.and_then(|limits| hierarchies.make(&limits));
    if let Some(Err(error)) = group.as_ref().map(|group| group.add(begun.child.id())) {
        end(begun);
        group.map(|group| group.remove());
        return Err(error);
    }
    Ok(Started { begun, group })
}

fn end(mut begun: Begun) {
    drop(begun.child.kill());
    drop(begun.child.wait());
}

/// A running helper. Dropping it kills it, and with it all that is inside.
pub(crate) struct Process {
    child: Option<std::process::Child>,
    group: Option<Group>,
    jobs: mpsc::Sender<Job>,
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, std::process::Child::id)
    }

    /// Its cgroup, if there is one.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It is not waited for yet, so its id is still its own.
            drop(child.kill());
            let job = Job::Bury { child, group: self.group.take() };
            if let Err(mpsc::SendError(Job::Bury { mut child, group })) = self.jobs.send(job) {
                // The launcher has gone; what it started is dead or dying.
                drop(child.wait());
                group.map(|group| group.remove());
            }
        }
    }
}

/// Whether there is something at a place where a program was named.
pub fn is_there(path: &Path) -> bool {
    path.exists()
}

/// The shell of this machine that commands are run by: the richer one where there is one. Both
/// are among what every child may execute.
pub fn shell() -> Option<PathBuf> {
    ["/bin/bash", "/bin/sh"].into_iter().map(PathBuf::from).find(|path| path.exists())
}

/// This process's id, for the helper to know its parent by.
pub(crate) fn own_id() -> u32 {
    std::process::id()
}

/// Maps one user and group of the host into the helper's namespace, under the same numbers.
pub(crate) fn write_maps(helper: u32, uid: u32, gid: u32) -> io::Result<()> {
    std::fs::write(format!("/proc/{helper}/uid_map"), format!("{uid} {uid} 1"))?;
    std::fs::write(format!("/proc/{helper}/gid_map"), format!("{gid} {gid} 1"))
}
