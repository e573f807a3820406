//! Programs that answer from a script. Nothing is started.

use super::locked;
use async_trait::async_trait;
use insula_world::process::Finished;
use insula_world::{Process, ProcessLauncher, ProcessSpec};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Answers for programs by their path. A program without an answer does not exist.
#[derive(Default)]
pub struct ScriptedProcesses {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: BTreeMap<PathBuf, Answer>,
    launched: Vec<ProcessSpec>,
    killed: Vec<u32>,
}

#[derive(Clone)]
enum Answer {
    Finish(Finished),
    Hang,
}

impl ScriptedProcesses {
    /// From now on `program` ends at once and leaves `finished`.
    pub fn answer(&self, program: impl Into<PathBuf>, finished: Finished) {
        locked(&self.state).answers.insert(program.into(), Answer::Finish(finished));
    }

    /// From now on `program` never ends by itself.
    pub fn hang(&self, program: impl Into<PathBuf>) {
        locked(&self.state).answers.insert(program.into(), Answer::Hang);
    }

    /// Everything that was started, in order, exactly as it was asked for.
    pub fn launched(&self) -> Vec<ProcessSpec> {
        locked(&self.state).launched.clone()
    }

    /// The ids of processes that were dropped before their end. Ids count from 1 in the
    /// order of launching.
    pub fn killed(&self) -> Vec<u32> {
        locked(&self.state).killed.clone()
    }
}

#[async_trait]
impl ProcessLauncher for ScriptedProcesses {
    async fn launch(&self, spec: ProcessSpec) -> io::Result<Box<dyn Process>> {
        let mut state = locked(&self.state);
        let Some(answer) = state.answers.get(&spec.program).cloned() else {
            let reason = format!("no script for `{}`", spec.program.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        };
        state.launched.push(spec);
        let id = u32::try_from(state.launched.len()).map_err(io::Error::other)?;
        Ok(Box::new(Scripted { id, answer, ended: false, state: self.state.clone() }))
    }
}

struct Scripted {
    id: u32,
    answer: Answer,
    ended: bool,
    state: Arc<Mutex<State>>,
}

#[async_trait]
impl Process for Scripted {
    fn id(&self) -> Option<u32> {
        Some(self.id)
    }

    async fn finish(mut self: Box<Self>) -> io::Result<Finished> {
        match self.answer.clone() {
            Answer::Finish(finished) => {
                self.ended = true;
                Ok(finished)
            }
            Answer::Hang => std::future::pending().await,
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        if !self.ended {
            locked(&self.state).killed.push(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(program: &str) -> ProcessSpec {
        ProcessSpec {
            program: program.into(),
            args: vec!["-n".into()],
            env: BTreeMap::new(),
            cwd: "/".into(),
        }
    }

    #[tokio::test]
    async fn a_program_answers_as_scripted_and_is_remembered() {
        let processes = ScriptedProcesses::default();
        let finished = Finished { code: Some(3), stdout: b"out".to_vec(), stderr: vec![] };
        processes.answer("/bin/tool", finished.clone());
        let process = processes.launch(spec("/bin/tool")).await.unwrap();
        assert_eq!(process.finish().await.unwrap(), finished);
        assert_eq!(processes.launched(), [spec("/bin/tool")]);
        assert!(processes.killed().is_empty());
    }

    #[tokio::test]
    async fn a_program_without_a_script_does_not_exist() {
        let refused = ScriptedProcesses::default().launch(spec("/bin/none")).await;
        assert_eq!(refused.err().unwrap().kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn dropping_a_process_kills_it() {
        let processes = ScriptedProcesses::default();
        processes.hang("/bin/hang");
        drop(processes.launch(spec("/bin/hang")).await.unwrap());
        assert_eq!(processes.killed(), [1]);
    }
}
