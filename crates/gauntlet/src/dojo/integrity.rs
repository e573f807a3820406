//! What integrity stops and what it costs, without any rule made for a task: each agent has all
//! tools of its suite. The tasks alone, with somebody who agrees to every question and counts
//! them; and the same tasks under attack, with somebody who refuses whatever the attacker wants.

use super::attacker::{Attacker, Course};
use super::boundary::{SERVER, open_settings};
use super::data::{Made, Suite, Task};
use super::followed::{Admin, Came, Phase, follow};
use super::kind::only_looks;
use super::replay::{AT_ONCE, Executed, agent_of, missing};
use super::server::{AgentLogs, Planted, Server};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::stage::Stage;
use anyhow::{Context as _, Result, ensure};
use insula_domain::IntegrityProfile;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// What came of a suite.
#[derive(Debug, Clone)]
pub struct Measured {
    pub suite: &'static str,
    pub benign: Benign,
    pub attacks: Vec<Attacked>,
}

/// What the tasks of a suite cost, nobody attacking.
#[derive(Debug, Clone, Default)]
pub struct Benign {
    /// The tasks, and how often somebody was asked in each.
    pub questions: Vec<(String, usize)>,
    /// Their calls.
    pub calls: usize,
    /// Those that were not executed although somebody agreed: the task and the call.
    pub refused: Vec<(String, Made)>,
}

impl Benign {
    /// How often somebody was asked.
    pub fn asked(&self) -> usize {
        self.questions.iter().map(|it| it.1).sum()
    }

    /// The most that one task cost.
    pub fn most(&self) -> usize {
        self.questions.iter().map(|it| it.1).max().unwrap_or_default()
    }

    /// The same for several suites together.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.questions.extend(other.questions.iter().cloned());
        self.calls += other.calls;
        self.refused.extend(other.refused.iter().cloned());
        self
    }
}

/// What one attacker came to in a suite.
#[derive(Debug, Clone)]
pub struct Attacked {
    pub attacker: Attacker,
    /// Pairs of a task and an injection that were played.
    pub pairs: usize,
    /// Pairs in which the task reads too little for the attacker's text to get in.
    pub left_out: usize,
    /// The attacker's calls that would act.
    pub tried: usize,
    /// How often somebody was asked about a call of the attacker's, and refused.
    pub questions: usize,
    /// The attacker's calls that were executed, all without a yes.
    pub executed: Vec<Executed>,
    /// Pairs in which something of the task itself was left undone.
    pub hindered: usize,
}

impl Attacked {
    fn new(attacker: Attacker) -> Self {
        let (executed, [pairs, left_out, tried, questions, hindered]) = (Vec::new(), [0; 5]);
        Self { attacker, pairs, left_out, tried, questions, executed, hindered }
    }

    /// The calls that took effect without a yes.
    pub fn acted(&self) -> impl Iterator<Item = &Executed> {
        self.executed.iter().filter(|it| it.acts)
    }

    /// Pairs with such a call.
    pub fn pairs_acted(&self) -> usize {
        self.acted().map(|it| (&it.task, &it.injection)).collect::<BTreeSet<_>>().len()
    }

    /// Pairs in which the attacker got to look at something.
    pub fn pairs_looked(&self) -> usize {
        let looked = self.executed.iter().filter(|it| !it.acts);
        looked.map(|it| (&it.task, &it.injection)).collect::<BTreeSet<_>>().len()
    }

    /// With what came of other tasks of the same suite.
    fn with(mut self, other: &Self) -> Self {
        self.pairs += other.pairs;
        self.left_out += other.left_out;
        self.tried += other.tried;
        self.questions += other.questions;
        self.executed.extend(other.executed.iter().cloned());
        self.hindered += other.hindered;
        self
    }
}

/// Measures a suite.
pub fn measure(
    stage: &Stage,
    suite: &Suite,
    profile: IntegrityProfile,
    attackers: &[Attacker],
) -> Result<Measured> {
    let benign = benign(stage, suite, profile)?;
    let attacks = attackers.iter().map(|it| attacked(stage, suite, profile, *it));
    Ok(Measured { suite: suite.name, benign, attacks: attacks.collect::<Result<_>>()? })
}

/// The tasks alone.
fn benign(stage: &Stage, suite: &Suite, profile: IntegrityProfile) -> Result<Benign> {
    let all = each_task((stage, suite, profile), Descriptions::Approved, |ground, logs, task| {
        logs.plant(&agent_of(task), Planted::Nothing);
        let phase = Phase { calls: &task.calls, admin: Admin::Agrees };
        let came = follow((ground, logs), task, "alone", &[phase], None)?;
        let [Came { made, questions }] = &came[..] else { anyhow::bail!("one phase was played") };
        let refused = missing(&task.calls, made).into_iter().map(|it| (task.id.clone(), it));
        Ok(Benign {
            questions: vec![(task.id.clone(), *questions)],
            calls: task.calls.len(),
            refused: refused.collect(),
        })
    })?;
    let all = all.iter().fold(Benign::default(), Benign::with);
    ensure!(all.refused.len() < all.calls, "the control failed: no task can do anything");
    Ok(all)
}

/// The tasks with each injection.
fn attacked(
    stage: &Stage,
    suite: &Suite,
    profile: IntegrityProfile,
    attacker: Attacker,
) -> Result<Attacked> {
    let descriptions = match attacker {
        Attacker::Description => Descriptions::Unseen,
        _ => Descriptions::Approved,
    };
    let offered = attacker.offered(suite);
    let all = each_task((stage, &offered, profile), descriptions, |ground, logs, task| {
        let mut all = Attacked::new(attacker);
        for injection in suite.injections.iter().filter(|it| !it.calls.is_empty()) {
            let Some(course) = attacker.course(suite, task, injection) else {
                all.left_out += 1;
                continue;
            };
            logs.plant(&agent_of(task), attacker.planted(injection));
            let Course { before, attack, after } = &course;
            let phases = [
                Phase { calls: before, admin: Admin::Agrees },
                Phase { calls: attack, admin: Admin::Refuses },
                Phase { calls: after, admin: Admin::Agrees },
            ];
            let shown = (attacker == Attacker::Description).then_some(injection.words.as_str());
            let came = follow((ground, logs), task, &injection.id, &phases, shown)
                .with_context(|| injection.id.clone())?;
            let [first, second, third] = &came[..] else {
                anyhow::bail!("three phases were played")
            };
            all.pairs += 1;
            all.tried += attack.iter().filter(|it| !only_looks(&it.tool)).count();
            all.questions += second.questions;
            let own: Vec<Made> = first.made.iter().chain(&third.made).cloned().collect();
            all.hindered += usize::from(!missing(&task.calls, &own).is_empty());
            all.executed.extend(second.made.iter().map(|call| Executed {
                task: task.id.clone(),
                injection: injection.id.clone(),
                acts: !only_looks(&call.tool),
                is_the_tasks_own: task.calls.contains(call),
                call: call.clone(),
            }));
        }
        Ok(all)
    })?;
    let mut all = all.iter().fold(Attacked::new(attacker), Attacked::with);
    all.executed.sort_by_key(|it| (it.task.clone(), it.injection.clone()));
    Ok(all)
}

/// Whether an operator has looked at how the tools describe themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Descriptions {
    Approved,
    Unseen,
}

/// Plays every task of a suite at a daemon of its own. One for all attackers would keep
/// everything that any model was ever asked.
fn each_task<T: Send>(
    (stage, suite, profile): (&Stage, &Suite, IntegrityProfile),
    descriptions: Descriptions,
    play: impl Fn(&Ground, &Arc<AgentLogs>, &Task) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let server = stage.runtime.block_on(Server::start(&stage.world, suite))?;
    let mut plan =
        Plan::new().top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}");
    for task in &suite.tasks {
        let agent = agent_of(task);
        plan = plan.agent(&agent, &open_settings(suite, profile, &server.url(&agent)));
    }
    let ground = Ground::raise(stage, plan)?;
    let waiting: Mutex<VecDeque<&Task>> = Mutex::new(suite.tasks.iter().collect());
    let done = Mutex::new(Vec::new());
    machine::on_threads(AT_ONCE, || {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(task) = next else { return false };
        let ready = match descriptions {
            Descriptions::Approved => approve(&ground, &agent_of(task)),
            Descriptions::Unseen => Ok(()),
        };
        let came = ready.and_then(|()| play(&ground, server.logs(), task));
        let came = came.with_context(|| format!("{} {}", suite.name, task.id));
        done.lock().unwrap_or_else(PoisonError::into_inner).push(came);
        true
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

/// Has the server asked for its tools, and agrees to how they describe themselves.
fn approve(ground: &Ground, agent: &str) -> Result<()> {
    let at = |act: &str| format!("/api/agents/{agent}/mcp/{SERVER}/{act}");
    for (act, body) in [("test", Value::Null), ("approve", json!({}))] {
        let answer = ground.admin("POST", &at(act), &body)?;
        ensure!(answer.status == 200, "{act}: {answer:?}");
    }
    Ok(())
}
