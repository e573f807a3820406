//! From an agent's boundary to what the sandbox is asked for.

use super::owners;
use crate::Capabilities;
use insula_config::programs::{ProgramLimits, Programs};
use insula_domain::{AccessMode, Switch};
use insula_registry::context::AgentContext;
use insula_sandbox::{
    ChildLimits, HostUser, Layer, Network, Priority, QuotaAccount, Spec, Walls, give_to, shell,
};
use insula_tools::workspace::GivenFolder;
use insula_tools::{Files, HandError, ToolError};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

/// Memory of a program and all it starts, unless configured: enough for a compiler.
const MEMORY_BYTES: u64 = 2 << 30;
/// How long a program may run, unless configured.
const WALL_CLOCK: Duration = Duration::from_secs(600);
/// Where programs are looked for, unless `env` says otherwise.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// The port of the proxy, as the program sees it. Each has a network of its own.
const PROXY_PORT: u16 = 3128;

const ROOT: HostUser = HostUser { uid: 0, gid: 0 };

/// What a program of an agent is given.
pub(crate) struct Outfit {
    /// The sandbox's part, all but what is run.
    pub(crate) spec: Spec,
    /// What could not be given, for the model to be told when something fails.
    pub(crate) withheld: Vec<String>,
    /// The folders that were granted, as the environment names them to git.
    pub(crate) git: BTreeMap<OsString, OsString>,
}

/// What the variables are called by which git is configured.
const GIT_COUNT: &str = "GIT_CONFIG_COUNT";

/// Lets git work in these folders, whoever they belong to: a program runs as a user of its agent,
/// and git refuses what is another's. Nothing but what was granted is named.
fn trusted_by_git(folders: &[PathBuf]) -> BTreeMap<OsString, OsString> {
    let below = |folder: &PathBuf| folder.join("*");
    let values: Vec<PathBuf> = folders.iter().flat_map(|it| [it.clone(), below(it)]).collect();
    if values.is_empty() {
        return BTreeMap::new();
    }
    let mut env = BTreeMap::from([(GIT_COUNT.into(), values.len().to_string().into())]);
    for (at, value) in values.into_iter().enumerate() {
        env.insert(format!("GIT_CONFIG_KEY_{at}").into(), "safe.directory".into());
        env.insert(format!("GIT_CONFIG_VALUE_{at}").into(), value.into());
    }
    env
}

impl Outfit {
    /// Tells git of the granted folders, where nobody tells it anything in the same way.
    pub(crate) fn tell_git(&mut self) {
        if !self.spec.env.contains_key(OsStr::new(GIT_COUNT)) {
            self.spec.env.extend(self.git.clone());
        }
    }
}

/// How long a program may run, whoever asks.
pub(super) fn wall_clock(programs: &Programs) -> Duration {
    programs.limits.wall_clock.unwrap_or(WALL_CLOCK)
}

/// What every program of `agent` runs under, with nothing of the agent's: no folders, no network,
/// no environment but what programs are found by.
pub(super) async fn bare(caps: &Capabilities, agent: &AgentContext) -> Result<Spec, ToolError> {
    let failed = |error: String| ToolError::Hand(HandError(error));
    let programs = &agent.programs;
    let shell = shell().ok_or_else(|| failed("there is no shell on this machine".to_owned()))?;
    let mut spec = Spec::new(shell);
    spec.walls = if programs.sandbox == Switch::Off { Walls::Down } else { Walls::Up };
    if owners::are_needed() && spec.walls == Walls::Up {
        let own = caps.programs.owners.of(caps, &agent.id).await;
        spec.owner = Some(own.map_err(|error| failed(error.to_string()))?);
    }
    spec.env.insert("PATH".into(), PATH.into());
    spec.env.insert("LANG".into(), "C.UTF-8".into());
    spec.account =
        QuotaAccount { name: agent.id.to_string(), of: caps.registry.snapshot().agents.len() };
    spec.limits = limits(&programs.limits);
    spec.priority = Priority::Normal;
    spec.optional = programs.optional.iter().filter_map(|name| Layer::from_name(name)).collect();
    Ok(spec)
}

/// What a program of `agent` is given, in the conversation that has these files.
pub(crate) async fn outfit(
    caps: &Capabilities,
    agent: &AgentContext,
    files: &Files,
) -> Result<Outfit, ToolError> {
    let failed = |error: String| ToolError::Hand(HandError(error));
    let mut spec = bare(caps, agent).await?;
    let (programs, walls) = (&agent.programs, spec.walls);
    // Without a sandbox they run as root, stripped of what lets root write everywhere: folders
    // that were given to the agent's user have to come back.
    let gets = if owners::are_needed() { spec.owner.or(Some(ROOT)) } else { None };
    let (mut withheld, mut granted) = (Vec::new(), Vec::new());
    let home = caps.home.real_root();
    for folder in files.folders().await? {
        if let Some(why) = around_home(&home, &folder) {
            withheld.push(why);
            continue;
        }
        if spec.cwd == Path::new("/") {
            spec.cwd.clone_from(&folder.real);
        }
        let writes = match (folder.mode, gets) {
            // What it may only read it has to be able to enter, and nobody but its user can.
            (AccessMode::Ro, Some(gets)) if is_own(caps, agent, &folder) => {
                own(caps, agent, &folder, gets, &mut withheld).await?;
                false
            }
            (AccessMode::Ro, _) => false,
            (AccessMode::Rw, None) => true,
            (AccessMode::Rw, Some(gets)) => own(caps, agent, &folder, gets, &mut withheld).await?,
        };
        spec.executes.push(folder.real.clone());
        granted.push(folder.real.clone());
        if writes { &mut spec.writes } else { &mut spec.reads }.push(folder.real);
    }
    spec.executes.push(PathBuf::from("/tmp"));
    let home = match walls {
        Walls::Up => Path::new("/tmp"),
        Walls::Down => spec.cwd.as_path(),
    };
    let home = home.as_os_str().to_owned();
    spec.env.extend([("HOME".into(), home), ("TERM".into(), "dumb".into())]);
    for (name, value) in &programs.env {
        let value = agent.secrets.resolve(value).await;
        let value = value.map_err(|error| failed(format!("`env.{name}`: {error}")))?;
        spec.env.insert(name.to_string().into(), value.reveal().into());
    }
    spec.network = match (agent.boundary.network.is_none(), walls) {
        (false, Walls::Up) => Network::Proxy { port: PROXY_PORT },
        _ => Network::None,
    };
    let mut outfit = Outfit { spec, withheld, git: trusted_by_git(&granted) };
    outfit.tell_git();
    Ok(outfit)
}

/// Why programs don't get a folder that has the home in it; `None` for others.
///
/// The home has the keys of everything. Whoever grants a folder around it means the rest of
/// that folder, and the sandbox can't leave a part out.
pub(super) fn around_home(home: &Path, folder: &GivenFolder) -> Option<String> {
    let path = folder.path.display();
    home.starts_with(&folder.real).then(|| {
        format!(
            "`{path}` contains the daemon's home, so programs don't get it; the operator can grant folders inside it"
        )
    })
}

/// Whether a folder is one of the agent itself, in the home.
fn is_own(caps: &Capabilities, agent: &AgentContext, folder: &GivenFolder) -> bool {
    folder.path.starts_with(caps.home.agent(&agent.id))
}

/// Whether a folder can be written to by the agent's user. Those of the agent itself are given
/// to it; those of others stay theirs.
async fn own(
    caps: &Capabilities,
    agent: &AgentContext,
    folder: &GivenFolder,
    owner: HostUser,
    withheld: &mut Vec<String>,
) -> Result<bool, ToolError> {
    if !is_own(caps, agent, folder) {
        if folder.uid == owner.uid {
            return Ok(true);
        }
        // Without a sandbox it is for the machine to say who writes where.
        if owner == ROOT {
            return Ok(true);
        }
        withheld.push(format!(
            "programs can't write to `{0}`: it belongs to user {1} and they run as {2}; the operator can run `chown -R {2} {0}`",
            folder.path.display(),
            folder.uid,
            owner.uid
        ));
        return Ok(false);
    }
    let key = (folder.real.clone(), owner.uid);
    let given = &caps.programs.given;
    if folder.uid == owner.uid
        && given.lock().unwrap_or_else(PoisonError::into_inner).contains(&key)
    {
        return Ok(true);
    }
    let path = folder.real.clone();
    let done = caps.world.storage.run(move || give_to(&path, owner)).await;
    let done =
        done.map_err(|error| error.to_string()).and_then(|it| it.map_err(|it| it.to_string()));
    done.map_err(|error| {
        let path = folder.path.display();
        ToolError::Hand(HandError(format!("`{path}` can't be given to the agent's user: {error}")))
    })?;
    given.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    Ok(true)
}

fn limits(asked: &ProgramLimits) -> ChildLimits {
    let otherwise = ChildLimits { memory_bytes: MEMORY_BYTES, ..ChildLimits::default() };
    let ProgramLimits { memory, processes, file_size, descriptors, cpu_time, wall_clock, output } =
        *asked;
    ChildLimits {
        memory_bytes: memory.unwrap_or(otherwise.memory_bytes),
        processes: processes.unwrap_or(otherwise.processes),
        file_bytes: file_size.unwrap_or(otherwise.file_bytes),
        descriptors: descriptors.unwrap_or(otherwise.descriptors),
        cpu_time: cpu_time.unwrap_or(otherwise.cpu_time),
        wall_clock: Some(wall_clock.unwrap_or(WALL_CLOCK)),
        output_bytes: output
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(otherwise.output_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_that_is_written_is_the_one_that_holds() {
        let asked = ProgramLimits {
            memory: Some(1),
            processes: Some(2),
            file_size: Some(3),
            descriptors: Some(4),
            cpu_time: Some(Duration::from_secs(5)),
            wall_clock: Some(Duration::from_secs(6)),
            output: Some(7),
        };
        let expected = ChildLimits {
            memory_bytes: 1,
            processes: 2,
            file_bytes: 3,
            descriptors: 4,
            cpu_time: Duration::from_secs(5),
            wall_clock: Some(Duration::from_secs(6)),
            output_bytes: 7,
        };
        assert_eq!(limits(&asked), expected);
        assert_eq!(limits(&ProgramLimits::default()).memory_bytes, MEMORY_BYTES);
    }

    #[test]
    fn git_is_told_of_the_granted_folders_and_of_nothing_else() {
        assert_eq!(trusted_by_git(&[]), BTreeMap::new());
        let told = trusted_by_git(&["/srv/a".into(), "/srv/b c".into()]);
        let of = |name: &str| told[OsStr::new(name)].to_str().unwrap().to_owned();
        assert_eq!((told.len(), of(GIT_COUNT)), (9, "4".to_owned()));
        let values: Vec<String> = (0..4).map(|at| of(&format!("GIT_CONFIG_VALUE_{at}"))).collect();
        assert_eq!(values, ["/srv/a", "/srv/a/*", "/srv/b c", "/srv/b c/*"]);
        assert!((0..4).all(|at| of(&format!("GIT_CONFIG_KEY_{at}")) == "safe.directory"));
    }

    #[test]
    fn a_layer_is_optional_by_the_name_that_the_refusal_gives_it() {
        for layer in Layer::ALL.into_iter().filter(|layer| layer.is_required()) {
            let yaml = format!("agents: {{a: {{sandbox: {{optional: [{layer}]}}}}}}\n");
            let mut files = insula_config::FilesSnapshot::default();
            files.config = insula_config::files::FileState::Text(yaml.as_str().into());
            let (report, _) = insula_config::load(&files, &std::collections::BTreeMap::new());
            assert_eq!(report.errors().count(), 0, "{layer}");
        }
    }
}
