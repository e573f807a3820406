//! The way in: a spec becomes a confined process.

use crate::accounts::{Accounts, ChildAccount};
use crate::cgroup::{Group, Hierarchies};
use crate::child::{Child, Stream, Tree, refusal, supervise};
use crate::conversation::Conversation;
use crate::devices;
use crate::error::Error;
use crate::launcher::{Helper, Launcher, Process, own_id, write_maps};
use crate::output::{Capture, Pace};
use crate::plan::{Assignment, Layers, OuterPlan, Report};
use crate::prepare::{self, Around};
use crate::probe::Machine;
use crate::seccomp::{Allowed, Filters};
use crate::spec::{
    ChildLimits, Hidden, HostUser, Network, Output, QuotaAccount, Spec, Stdin, Walls,
};
use insula_world::{Clock, Listener};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// Setting up takes milliseconds. What takes longer hangs, as on a network share that is gone.
const SETUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Starts confined processes. Dropping the last clone ends all of them.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

struct Shared {
    launcher: Launcher,
    hierarchies: Arc<Hierarchies>,
    clock: Arc<dyn Clock>,
    /// Tried on first use, so that a daemon that starts no child pays nothing.
    machine: tokio::sync::Mutex<Option<Arc<Machine>>>,
    accounts: Accounts,
    /// The filters for every kind of child, compiled once.
    filters: Vec<(Allowed, Vec<u8>)>,
    hidden: Hidden,
}

impl Sandbox {
    /// Starts the launcher. Which layers the machine gives is tried on first use.
    /// No child is ever shown what is `hidden`.
    pub fn new(clock: Arc<dyn Clock>, helper: Helper, hidden: Hidden) -> Result<Self, Error> {
        let hierarchies = Arc::new(Hierarchies::find());
        let launcher = Launcher::start(helper, Arc::clone(&hierarchies))
            .map_err(|error| Error::setup("start the launcher", error))?;
        let filters: std::io::Result<_> = Allowed::ALL
            .map(|may| Ok((may, Filters::compile(may)?.to_bytes())))
            .into_iter()
            .collect();
        Ok(Self {
            shared: Arc::new(Shared {
                launcher,
                hierarchies,
                clock,
                machine: tokio::sync::Mutex::new(None),
                accounts: Accounts::default(),
                filters: filters.map_err(|error| Error::setup("compile the filters", error))?,
                hidden,
            }),
        })
    }

    /// What this machine gives.
    pub async fn machine(&self) -> Arc<Machine> {
        let mut machine = self.shared.machine.lock().await;
        if let Some(known) = &*machine {
            return Arc::clone(known);
        }
        let examining: Pin<Box<dyn Future<Output = Machine> + Send + '_>> =
            Box::pin(Machine::examine(&self.shared.launcher, &self.shared.hierarchies));
        Arc::clone(machine.insert(Arc::new(examining.await)))
    }

    /// Starts a confined process. When this returns, the program runs.
    pub async fn spawn(&self, spec: Spec) -> Result<Child, Error> {
        let machine = self.machine().await;
        let layers = prepare::layers(&spec, &machine)?;
        let owner = prepare::owner(&spec, &machine)?;
        let around = Around {
            layers,
            owner,
            counts_memory: true,
            devices: false,
            hidden: &self.shared.hidden,
            facts: machine.facts(),
        };
        // Whatever is wrong with the spec is found before a process is started for it.
        prepare::plan(&spec, &around)?;
        // Boxed, so that it is compiled here and not by each that starts one.
        let starting: Pin<Box<dyn Future<Output = _> + Send + '_>> =
            Box::pin(self.start(spec, around));
        tokio::select! {
            child = starting => child,
            () = self.shared.clock.sleep(SETUP_TIMEOUT) => {
                Err(Error::setup("set up", "it took too long; is a granted path on a share that hangs?"))
            }
        }
    }

    async fn start(&self, spec: Spec, mut around: Around<'_>) -> Result<Child, Error> {
        let Around { layers, owner, .. } = around;
        let failed = |step: &'static str| move |error: std::io::Error| Error::setup(step, error);
        let (stdout, stdout_inside) = output_pipe()?;
        let (stderr, stderr_inside) = output_pipe()?;
        let place = self.place(&spec, layers, owner).await?;
        let outer = OuterPlan {
            layers,
            parent: own_id(),
            maps_from_parent: owner.1,
            owner: owner.1.then_some((owner.0.uid, owner.0.gid)),
            account: place.number,
            share: place.share,
            attempt: None,
        };
        let launching = self.shared.launcher.launch(outer, place.inside.clone(), Some(spec.limits));
        let (process, channel) = launching.await?;
        around.counts_memory = process.group().is_some_and(Group::counts_memory);
        // Only root can make them; others see the machine's.
        let devices = if owner.1 && layers.mount { devices::make().ok() } else { None };
        around.devices = devices.is_some();
        let plan = prepare::plan(&spec, &around)?;
        let allowed = Allowed {
            proxy: spec.network != Network::None,
            watches: place.watches,
            passes: owner.1 || spec.network != Network::None,
        };
        let filters = self.shared.filters.iter().find(|(may, _)| *may == allowed);
        let filters = filters.map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
        let parcel = crate::channel::parcel(&plan, filters).map_err(failed("write the plan"))?;
        let (stdin, stdin_inside) = input_pipe(&spec.stdin)?;
        let inside = Inside { parcel, stdin: stdin_inside, devices };
        let outputs = [stdout_inside, stderr_inside];
        let met = converse(&channel, &process, owner, layers.user, outputs, inside, &spec).await?;
        self.shared.launcher.have_spare(outer, place.inside);

        let id = process.id();
        let tree = Tree { first: Arc::new(met.first), cause: Arc::new(Mutex::new(None)) };
        let (done, exit) = watch::channel(None);
        let ChildLimits { wall_clock, output_bytes, .. } = spec.limits;
        let clock = Arc::clone(&self.shared.clock);
        tokio::spawn(supervise(process, channel, tree.clone(), clock, wall_clock, done));
        let stdin = match (spec.stdin, stdin) {
            (Stdin::Bytes(bytes), Some(mut sender)) => {
                tokio::spawn(async move {
                    // A child that stops reading is its own affair.
                    drop(sender.write_all(&bytes).await);
                });
                None
            }
            (_, sender) => sender,
        };
        Ok(Child {
            tree,
            exit,
            stdin,
            stdout: stream(stdout, spec.output, output_bytes, &self.shared.clock),
            stderr: stream(stderr, spec.output, output_bytes, &self.shared.clock),
            listener: met.listener,
            id,
        })
    }
}

impl Sandbox {
    /// What each of so many accounts has of what the kernel counts by user, where each is a user
    /// of the machine and where all are one.
    pub(crate) async fn share_of_each(
        &self,
        of: usize,
        users: bool,
    ) -> Result<ChildAccount, Error> {
        let account = QuotaAccount { name: String::new(), of };
        if users {
            return Ok(Accounts::own_user(&account, true));
        }
        self.shared.accounts.place(&self.shared.launcher, &account).await
    }

    /// Whose share a child has of what the kernel counts by user.
    async fn place(
        &self,
        spec: &Spec,
        layers: Layers,
        (_, differs): (HostUser, bool),
    ) -> Result<ChildAccount, Error> {
        match spec.walls {
            Walls::Down => Ok(Accounts::own_user(&spec.account, true)),
            Walls::Up if differs => Ok(Accounts::own_user(&spec.account, true)),
            Walls::Up if layers.user => {
                self.shared.accounts.place(&self.shared.launcher, &spec.account).await
            }
            // Nothing keeps one account's from another's.
            Walls::Up => Ok(Accounts::own_user(&spec.account, false)),
        }
    }
}

/// What goes inside with the plan.
struct Inside {
    parcel: OwnedFd,
    stdin: Option<OwnedFd>,
    devices: Option<OwnedFd>,
}

/// What came out during set-up.
struct Met {
    first: OwnedFd,
    listener: Option<Box<dyn Listener>>,
}

/// Answers the helpers until the program runs.
async fn converse(
    channel: &Conversation,
    process: &Process,
    (owner, maps): (HostUser, bool),
    user: bool,
    outputs: [OwnedFd; 2],
    inside: Inside,
    spec: &Spec,
) -> Result<Met, Error> {
    let failed = |step: &'static str| move |error: std::io::Error| Error::setup(step, error);
    let answer = |descriptors: &[std::os::fd::BorrowedFd<'_>]| {
        channel.tell(&(), descriptors).map_err(failed("answer the helper"))
    };
    let mut inside = Some(inside);
    let mut first = None;
    let mut waiting = false;
    let mut listener = None;
    loop {
        let received = channel.hear().await.map_err(failed("hear the helper"))?;
        let Some((report, descriptors)) = received else {
            return Err(Error::setup("hear the helper", "it ended without a word"));
        };
        let mut descriptors = descriptors.into_iter();
        match report {
            Report::Unshared => {
                if user && maps {
                    write_maps(process.id(), owner.uid, owner.gid).map_err(failed("map ids"))?;
                }
                let join = process.group().map(Group::entrances).unwrap_or_default();
                let outputs = outputs.each_ref().map(|output| output.as_fd());
                let told = channel.tell(&Assignment { join }, &outputs);
                told.map_err(failed("answer the helper"))?;
            }
            Report::Inner => {
                first = descriptors.next();
                if waiting {
                    answer(&[])?;
                }
            }
            Report::Listener => {
                let descriptor =
                    descriptors.next().ok_or(Error::setup("listen", "no listener came"))?;
                listener =
                    Some(crate::listener::from_descriptor(descriptor).map_err(failed("listen"))?);
            }
            Report::Ready => match inside.take() {
                Some(Inside { parcel, stdin, devices }) => {
                    let descriptors: Vec<_> = [Some(&parcel), stdin.as_ref(), devices.as_ref()]
                        .into_iter()
                        .flatten()
                        .map(|fd| fd.as_fd())
                        .collect();
                    answer(&descriptors)?;
                }
                // The program starts only once there is a descriptor to end it by.
                None if first.is_some() => answer(&[])?,
                None => waiting = true,
            },
            Report::Started => {
                let first = first.ok_or(Error::setup("start", "the first process is unknown"))?;
                return Ok(Met { first, listener });
            }
            Report::Failed(failure) => return Err(refusal(failure, &spec.program)),
            Report::Ended { .. } | Report::Held | Report::Account { .. } => {
                return Err(Error::setup("start", "the helper ended before the program began"));
            }
        }
    }
}

fn output_pipe() -> Result<(pipe::Receiver, OwnedFd), Error> {
    let (read, write) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| Error::setup("open a pipe", error))?;
    let read = pipe::Receiver::from_owned_fd(read);
    Ok((read.map_err(|error| Error::setup("open a pipe", error))?, write))
}

fn input_pipe(stdin: &Stdin) -> Result<(Option<pipe::Sender>, Option<OwnedFd>), Error> {
    if *stdin == Stdin::Null {
        return Ok((None, None));
    }
    let (read, write) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| Error::setup("open a pipe", error))?;
    let write = pipe::Sender::from_owned_fd(write);
    Ok((Some(write.map_err(|error| Error::setup("open a pipe", error))?), Some(read)))
}

fn stream(
    receiver: pipe::Receiver,
    output: Output,
    bytes_max: usize,
    clock: &Arc<dyn Clock>,
) -> Stream {
    match output {
        Output::Stream => Stream::Passed(Some(receiver)),
        Output::Capture => {
            let capture = Capture::new(bytes_max);
            let reading = capture.clone().drain(receiver, Arc::clone(clock), Pace::OUTPUT);
            let reader = tokio::spawn(reading);
            Stream::Captured(capture, Some(reader))
        }
    }
}
