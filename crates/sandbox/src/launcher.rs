//! The one thread that starts helpers.
//!
//! A helper dies with the thread that started it, not with the process: one started by a
//! worker of the runtime would be ended whenever that worker is. So this thread lives as long
//! as the sandbox, and only it forks. It also does the little blocking work around that:
//! making cgroups, waiting for helpers that have ended.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the owner of the sandbox's processes: its thread, its helpers, their id maps"
)]

use crate::cgroup::{Group, Hierarchies};
use crate::error::Error;
use crate::spec::Limits;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// The program that becomes the helper when its first argument says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    program: PathBuf,
}

impl Helper {
    /// The running program itself, even if its file was replaced meanwhile. Its `main` must
    /// call [`helper_main`](crate::helper_main) first.
    pub fn itself() -> Self {
        Self { program: PathBuf::from("/proc/self/exe") }
    }

    /// Another program whose `main` calls [`helper_main`](crate::helper_main), as tests use.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }
}

/// What the thread is asked for.
enum Job {
    Start { request: Box<Request>, reply: oneshot::Sender<io::Result<Started>> },
    Bury { child: std::process::Child, group: Option<Group> },
    Stop,
}

/// A helper to start.
pub(crate) struct Request {
    pub(crate) command: &'static str,
    pub(crate) channel: OwnedFd,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    /// The limits to make a cgroup for.
    pub(crate) limits: Option<Limits>,
}

/// A helper that runs.
struct Started {
    child: std::process::Child,
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

    pub(crate) async fn launch(&self, request: Request) -> Result<Process, Error> {
        let (reply, answer) = oneshot::channel();
        let job = Job::Start { request: Box::new(request), reply };
        self.jobs.send(job).map_err(|_| Error::Stopped)?;
        let started = answer.await.map_err(|_| Error::Stopped)?;
        let Started { child, group } =
            started.map_err(|error| Error::setup("start the helper", error))?;
        Ok(Process { child: Some(child), group, jobs: self.jobs.clone() })
    }
}

fn serve(helper: &Helper, hierarchies: &Hierarchies, queue: &mpsc::Receiver<Job>) {
    // Groups whose last process was not quite gone yet.
    let mut lingering: Vec<Group> = vec![];
    while let Ok(job) = queue.recv() {
        match job {
            Job::Start { request, reply } => {
                // Whoever asked may have gone; then the helper is killed by being dropped here.
                if let Err(Ok(Started { mut child, group })) =
                    reply.send(start(helper, hierarchies, *request))
                {
                    drop(child.kill());
                    drop(child.wait());
                    lingering.extend(group);
                }
            }
            Job::Bury { mut child, group } => {
                drop(child.wait());
                lingering.extend(group);
            }
            Job::Stop => return,
        }
        lingering.retain(|group| !group.remove());
    }
}

fn start(helper: &Helper, hierarchies: &Hierarchies, request: Request) -> io::Result<Started> {
    let output = |pipe: Option<OwnedFd>| pipe.map_or_else(Stdio::null, Stdio::from);
    let group = request.limits.and_then(|limits| hierarchies.make(&limits));
    let child = Command::new(&helper.program)
        .arg0("insula")
        .arg(request.command)
        .env_clear()
        .stdin(Stdio::from(request.channel))
        .stdout(output(request.stdout))
        .stderr(output(request.stderr))
        .spawn();
    let started = child.map(|child| Started { child, group });
    if let Ok(Started { child, group: Some(group) }) = &started {
        // The helper waits for its plan, so nothing has started outside the group.
        group.add(child.id())?;
    }
    started
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
