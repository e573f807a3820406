//! The programs of an agent that run now, and what each of them sees: what is written where one
//! looks may be what it does next, and it may carry that on to wherever it writes.

use insula_domain::{AccessMode, AgentId, Switch};
use insula_registry::context::AgentContext;
use insula_sandbox::Spec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A program that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveProgram {
    sight: Sight,
    writes: Vec<PathBuf>,
    reach: ProgramReach,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Sight {
    /// These folders, with all below them.
    Folders(Vec<PathBuf>),
    /// Whatever is on the machine.
    Everything,
}

/// Whether what a program does stays with its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramReach {
    /// It does.
    Inside,
    /// It can tell somebody something, or change what others have.
    Outside,
}

impl ProgramReach {
    /// How far programs of an agent reach.
    pub fn of(agent: &AgentContext) -> Self {
        let mut shared = agent.boundary.files.shared.iter();
        let is_out = agent.programs.sandbox == Switch::Off
            || !agent.boundary.network.is_none()
            || agent.workspace.is_shared()
            || shared.any(|it| it.mode == AccessMode::Rw);
        if is_out { Self::Outside } else { Self::Inside }
    }
}

impl LiveProgram {
    /// One that sees these folders and can write to some of them.
    pub fn new(sees: Vec<PathBuf>, writes: Vec<PathBuf>, reach: ProgramReach) -> Self {
        Self { sight: Sight::Folders(sees), writes, reach }
    }

    /// A program of an agent that is about to start.
    pub(super) fn of(agent: &AgentContext, spec: &Spec) -> Self {
        let folders = || spec.writes.iter().chain(&spec.reads).cloned().collect();
        let sight = match agent.programs.sandbox {
            Switch::Off => Sight::Everything,
            Switch::On => Sight::Folders(folders()),
        };
        Self { sight, writes: spec.writes.clone(), reach: ProgramReach::of(agent) }
    }

    /// Whether it sees what is at a place, or some of what is below.
    pub fn sees(&self, place: &Path) -> bool {
        let touches = |folder: &PathBuf| place.starts_with(folder) || folder.starts_with(place);
        match &self.sight {
            Sight::Folders(folders) => folders.iter().any(touches),
            Sight::Everything => true,
        }
    }

    /// The folders that it was given to write to.
    pub fn writes(&self) -> &[PathBuf] {
        &self.writes
    }

    pub fn reach(&self) -> ProgramReach {
        self.reach
    }
}

/// The programs that run, by whose they are.
#[derive(Default)]
pub(super) struct LivePrograms(Mutex<Now>);

#[derive(Default)]
struct Now {
    agents: BTreeMap<AgentId, BTreeMap<u64, LiveProgram>>,
    started: u64,
}

/// Takes a program out once it has ended.
pub struct Alive {
    among: Arc<LivePrograms>,
    agent: AgentId,
    number: u64,
}

impl LivePrograms {
    /// Counts a program among those of its agent for as long as what is returned is kept.
    pub(super) fn enter(self: &Arc<Self>, agent: &AgentId, program: LiveProgram) -> Alive {
        let mut now = self.now();
        now.started += 1;
        let number = now.started;
        now.agents.entry(agent.clone()).or_default().insert(number, program);
        Alive { among: self.clone(), agent: agent.clone(), number }
    }

    pub(super) fn of(&self, agent: &AgentId) -> Vec<LiveProgram> {
        let now = self.now();
        now.agents.get(agent).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let mut now = self.among.now();
        let Some(programs) = now.agents.get_mut(&self.agent) else { return };
        programs.remove(&self.number);
        if programs.is_empty() {
            now.agents.remove(&self.agent);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;

    fn program(sight: Sight) -> LiveProgram {
        LiveProgram { sight, writes: Vec::new(), reach: ProgramReach::Inside }
    }

    #[test]
    fn a_program_sees_its_folders_and_what_they_lie_in() {
        let one = program(Sight::Folders(vec!["/srv/a".into()]));
        for (place, is_seen) in
            [("/srv/a", true), ("/srv/a/b/c", true), ("/srv", true), ("/srv/ab", false)]
        {
            assert_eq!(one.sees(Path::new(place)), is_seen, "{place}");
            assert!(program(Sight::Everything).sees(Path::new(place)), "{place}");
        }
    }

    #[test]
    fn an_agent_has_the_programs_that_run_and_no_others() {
        let (live, ids) = (Arc::new(LivePrograms::default()), ["a", "b"]);
        let [a, b] = ids.map(|id| AgentId::new(id).unwrap());
        let one = live.enter(&a, program(Sight::Everything));
        let other = live.enter(&a, program(Sight::Folders(Vec::new())));
        assert_eq!((live.of(&a).len(), live.of(&b).len()), (2, 0));
        drop(one);
        assert_eq!(live.of(&a), [program(Sight::Folders(Vec::new()))]);
        drop(other);
        assert!(live.of(&a).is_empty() && live.now().agents.is_empty());
    }
}
